//! Tests of the search for maxima.

use libafl_bolts::rands::StdRand;

use super::*;
use crate::line;

/// A function of this many evaluations.
struct Noise<F> {
    of: F,
    left: u64,
    best: f64,
    /// Whether values of several points are `1 - 3 * of`: of both signs, that with the largest magnitude negative.
    is_signed: bool,
    /// The widest window in which values are not unrelated, and the last window that was entered.
    smooth: Option<u64>,
    inside: (u64, u64),
    /// Evaluations in windows that are not wider.
    steps: u64,
}

impl<F: FnMut(&[u64]) -> f64> Noise<F> {
    fn new(left: u64, of: F) -> Self {
        Self { of, left, best: 0.0, is_signed: false, smooth: None, inside: (0, u64::MAX), steps: 0 }
    }
}

impl<F: FnMut(&[u64]) -> f64> NoisyObjective for Noise<F> {
    fn value_at(&mut self, at: &[u64]) -> Result<f64, Stop> {
        self.left = self.left.checked_sub(1).ok_or(Stop::End)?;
        let value = (self.of)(at);
        self.best = self.best.max(value);
        Ok(value)
    }

    fn values_at(&mut self, at: &[u64], values: &mut [f64]) -> Result<(), Stop> {
        let (least, greatest) = self.inside;
        if self.smooth.is_some_and(|smooth| greatest - least <= smooth) {
            assert!(at.iter().all(|x| (least..=greatest).contains(x)), "a swarm stays in its window");
            self.steps += at.len() as u64;
        }
        one_by_one(self, at, values)?;
        if self.is_signed {
            for value in values.iter_mut() {
                *value = 1.0 - 3.0 * *value;
            }
        }
        Ok(())
    }

    fn enter(&mut self, window: &[(u64, u64)]) -> WindowCost {
        self.inside = window[0];
        match self.smooth {
            None => WindowCost::Usual,
            Some(smooth) if window[0].1 - window[0].0 > smooth => WindowCost::Rough,
            Some(_) => WindowCost::Cheap,
        }
    }
}

/// A pseudorandom number from 0 to 1.
fn noise(x: u64) -> f64 {
    let mixed = (x ^ x >> 31).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    ((mixed ^ mixed >> 32) >> 11) as f64 / (1u64 << 53) as f64
}

fn best(regions: Vec<Vec<(u64, u64)>>, evaluations: u64, seed: u64, of: impl FnMut(&[u64]) -> f64) -> f64 {
    let mut f = Noise::new(evaluations, of);
    let mut search = Extremes::new(regions);
    assert_eq!(search.run(&mut f, &mut StdRand::with_seed(seed), &[]), Stop::End);
    let peaks = search.peaks().iter().map(|p| p.value).fold(0.0, f64::max);
    assert!(peaks <= f.best, "a peak was evaluated");
    f.best
}

/// Noise below a narrow hill: about one uniform sample in a million lies in the upper tenth of the hill, which is 2^-20
/// of the line.
#[test]
fn a_narrow_hill_under_noise_is_found() {
    let top = 0x4321_0000_0000_0000u64;
    let hill = |x: u64| 1.0 / (1.0 + (x.abs_diff(top) as f64 / (1u64 << 44) as f64).powi(2)).sqrt();
    let of = |at: &[u64]| hill(at[0]) * noise(at[0]) + noise(at[0]) * 0.3;
    for seed in 1..=5 {
        let regions = cut(vec![vec![(0, u64::MAX)]], 256);
        let found = best(regions, 1_000_000, seed, of);
        assert!(found > 1.28, "seed {seed}: {found} of 1.3");
    }
}

#[test]
fn a_corner_of_two_arguments_is_found() {
    let of = |at: &[u64]| (at[0] as f64 / 1e6) * (1.0 - at[1] as f64 / 1e6) * (0.5 + 0.5 * noise(at[0] ^ at[1] << 20));
    let found = best(cut(vec![vec![(0, 1_000_000), (0, 1_000_000)]], 64), 300_000, 1, of);
    assert!(found > 0.99, "{found} of 1");
}

#[test]
fn a_box_of_few_points_is_searched_to_its_end() {
    let found = best(vec![vec![(5, 9)]], 1000, 1, |at| at[0] as f64);
    assert_eq!(found, 9.0);
}

#[test]
fn peaks_lie_in_their_regions() {
    let mut f = Noise::new(100_000, |at: &[u64]| noise(at[0]));
    let mut search = Extremes::new(cut(vec![vec![(100, 100_000_000)]], 16));
    search.run(&mut f, &mut StdRand::with_seed(1), &[vec![100]]);
    for peak in search.peaks() {
        let (least, greatest) = peak.ends[0];
        assert!((least..=greatest).contains(&peak.at[0]) && peak.value > 0.9, "{peak:?}");
    }
}

/// Four roundings whose phases are linear in the argument: the largest sum is at a corner, near which one of millions
/// of points lies.
#[test]
fn the_largest_sum_of_roundings_in_a_window_is_found() {
    let phase = |x: u64, slope: u64| (x.wrapping_mul(slope) >> 11) as f64 / (1u64 << 53) as f64;
    let slopes = [0x9e37_79b9_7f4a_7c15u64, 0xc2b2_ae3d_27d4_eb4f, 0x1656_67b1_9e37_79f9, 0xd6e8_feb8_6659_fd93];
    let of = |at: &[u64]| slopes.iter().map(|s| phase(at[0], *s)).sum::<f64>();
    let most = |seed| best(vec![vec![(1 << 40, (1 << 40) + (1 << 26))]], 200_000, seed, of);
    let mut rng = StdRand::with_seed(1);
    let uniform = (0..200_000).map(|_| of(&[(1 << 40) + (rng.next() >> 38)])).fold(0.0, f64::max);
    let found: Vec<f64> = (1..=5).map(most).collect();
    assert!(found.iter().all(|f| 4.0 - f < (4.0 - uniform) / 2.0), "{found:?} of 4, and {uniform} of uniform samples");
}

#[test]
fn windows_with_unrelated_values_are_narrowed() {
    let mut f = Noise { smooth: Some(1 << 20), ..Noise::new(1_000_000, |at: &[u64]| noise(at[0])) };
    let mut search = Extremes::new(cut(vec![vec![(0, u64::MAX)]], 256));
    search.run(&mut f, &mut StdRand::with_seed(1), &[]);
    assert!(f.steps > 700_000, "{} steps of a million in narrow windows", f.steps);
}

#[test]
fn negative_values_count_as_their_absolute_values() {
    let mut search = Extremes::new(vec![vec![(0, 1 << 30)]]);
    let mut f = Noise { is_signed: true, ..Noise::new(200_000, |at: &[u64]| noise(at[0])) };
    search.run(&mut f, &mut StdRand::with_seed(1), &[]);
    let peak = search.peaks()[0].value;
    assert!(1.99 < peak && peak <= 2.0, "{peak}");
}

#[test]
fn a_position_away_is_at_its_distance_or_at_an_end() {
    let (x, ends, mut rng) = (1000, (400, 100_000), StdRand::with_seed(1));
    let all: Vec<u64> = (0..100).map(|_| away(&mut rng, x, 9, ends)).collect();
    let is_away = |p: &u64| (512..1024).contains(&p.abs_diff(x)) || *p == ends.0;
    assert!(all.iter().all(is_away), "{all:?}");
    assert!(
        all.contains(&ends.0) && all.iter().any(|p| *p > x) && all.iter().any(|p| *p < x && *p > ends.0),
        "{all:?}"
    );
}

#[test]
#[should_panic(expected = "is_within")]
fn a_hint_outside_of_the_box_is_refused() {
    let _ = Extremes::new(vec![vec![(5, 9)]]).with_hints(vec![vec![10]]);
}

/// The absolute value of a weighted sum of roundings. Each rounding is that of a multiple of the remainder of the
/// argument modulo 2 pi, plus its sine.
struct Periodic {
    left: u64,
    best: f64,
    /// For each rounding: units by which the rounded value moves per unit of the remainder, without the sine; and the
    /// weight.
    roundings: [(f64, f64); 6],
}

/// The unit of the remainder. [`SINE`] is the factor of the sine, in units.
const UNIT: f64 = 1.0 / 68_719_476_736.0;
const SINE: f64 = 4_398_046_511_104.0;

/// The remainder modulo 2 pi, between -pi and pi, of this many positions in the binade of `2^21`.
fn left(positions: i128) -> f64 {
    let mut rest = positions;
    for _ in 0..period::BITS - (52 - 21) {
        rest = 2 * rest % period::TWO_PI;
    }
    let rest = if 2 * rest.abs() > period::TWO_PI { rest - period::TWO_PI * rest.signum() } else { rest };
    rest as f64 / (1i128 << period::BITS) as f64
}

impl Periodic {
    fn new(evaluations: u64) -> Self {
        let roundings =
            [(1.618, 0.1), (0.377_123, 0.2), (2.871_3, 0.05), (0.541_196, 0.1), (1.137_11, 0.25), (0.251_41, 0.3)];
        Self { left: evaluations, best: 0.0, roundings }
    }

    fn left(at: u64) -> f64 {
        left((f64::from_bits(line::raw(Kind::F64, at)) * f64::exp2(52.0 - 21.0)) as i128)
    }

    fn errors(&self, at: u64) -> impl Iterator<Item = f64> {
        let left = Self::left(at);
        self.roundings.into_iter().map(move |(slope, _)| {
            let exact = slope * left / UNIT + SINE * left.sin();
            exact.round_ties_even() - exact
        })
    }
}

impl NoisyObjective for Periodic {
    fn value_at(&mut self, at: &[u64]) -> Result<f64, Stop> {
        self.left = self.left.checked_sub(1).ok_or(Stop::End)?;
        let value =
            self.errors(at[0]).zip(self.roundings).map(|(error, (_, weight))| error * weight).sum::<f64>().abs();
        self.best = self.best.max(value);
        Ok(value)
    }

    fn roundings(&mut self, at: u64, jumps: [i64; COORDINATES]) -> Option<Roundings> {
        let steps = jumps.map(|jump| left(jump.into()));
        let (sine, cosine) = Self::left(at).sin_cos();
        let bend = -0.5 * SINE * sine * steps[0] * steps[0];
        let all: Vec<Rounding> = self
            .errors(at)
            .zip(self.roundings)
            .map(|(error, (slope, weight))| {
                let slope = steps.map(|step| (slope / UNIT + SINE * cosine) * step);
                Rounding { error, weight, slope, bend, ..Rounding::default() }
            })
            .collect();
        Some(Roundings { error: all.iter().map(|r| r.error * r.weight).sum(), all, ..Roundings::default() })
    }
}

/// All arguments are between `2^21` and `2^22`, where one position is millions of units. Must succeed for all of seven
/// seeds.
#[test]
fn largest_error_after_argument_reduction_is_found() {
    let position = |x: f64| line::position(Kind::F64, x.to_bits());
    let ends = (position(2_097_152.0), position(4_194_304.0) - 1);
    let found = |kinds: Option<Kind>| {
        let best = |seed| {
            let mut f = Periodic::new(100_000);
            let mut search = Extremes::new(vec![vec![ends]]);
            if let Some(kind) = kinds {
                search = search.with_kinds(vec![kind]);
            }
            search.run(&mut f, &mut StdRand::with_seed(seed), &[]);
            f.best
        };
        let mut all = [1, 2, 3, 4, 5, 6, 7].map(best);
        all.sort_by(f64::total_cmp);
        all
    };
    let (with, without) = (found(Some(Kind::F64)), found(None));
    assert!(with[0] > 0.475 && with[3] > without[3] + 0.01, "of 0.5: {with:?}, and {without:?} with neighbours alone");
}
