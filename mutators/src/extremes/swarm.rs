//! Swarms: sets of points in a small window that move by each other's differences.
//!
//! In a window of some `2^24` neighbouring arguments, each intermediate result of a function is nearly linear in the
//! argument. So is its *phase*, the fraction of an ulp at which it is rounded: `phase(x) = a + b x` modulo 1, for each
//! of the roundings. The error is largest where all phases are near certain values at once. Two points with large
//! errors nearly have these phases, so their difference is a step that changes each phase only slightly: `x + (a - b)`
//! nearly has the phases of `x`. That is the mutation of differential evolution (Storn and Price, *Differential
//! Evolution*, 1997) with factor 1 and without crossover. Within a window, it finds larger errors in some thousands of
//! evaluations than uniform samples do in a hundred times as many.
//!
//! It is not known in advance which window is best. So many swarms start, and of those that end a [`Stage`] the best
//! [`FACTOR`]th continue in the next one with [`FACTOR`] times as many steps, if they still improved (asynchronous
//! successive halving: Li et al., *A System for Massively Parallel Hyperparameter Tuning*, 2020). New windows lie
//!
//! - next to the best windows of the stages, at all distances, because the size of possible errors changes smoothly
//!   with the argument;
//! - at the sum of a place and the difference of two others, as numbers: if the function reduces its argument by a
//!   period, the remainder is near those of the places;
//! - around large values of cells;
//! - around the hints of the caller.

use std::collections::VecDeque;

use libafl_bolts::rands::Rand;

use super::{Extremes, NoisyObjective, WindowCost, away, between, cell::Cell};
use crate::{evaluate::Stop, line, view::Kind};

/// Number of points of a swarm in its first stage. Each further stage adds half as many.
const MEMBERS: usize = 48;
/// Minimum number of members for steps by differences. With fewer members, points are drawn uniformly from the window.
const SAMPLED: usize = 32;
/// Maximum number of draws of a second member with the sign of the first: at members of different signs the roundings
/// have opposite directions.
const OF_ONE_SIGN: usize = 8;
/// Number of steps of a swarm in its first stage. Each further stage has [`FACTOR`] times as many as the one before it.
const FIRST_STEPS: u64 = 1024;
const FACTOR: usize = 4;
/// Number of stages.
const STAGES: usize = 6;
/// Range of the binary exponents of half the width of a window.
const WIDTHS: (u32, u32) = (22, 36);
/// Number of bits by which a window is narrowed where values are unrelated, and the least exponent of half its width.
const NARROWED: u32 = 4;
const NARROWEST: u32 = 14;
/// One in [`ROUGH`] new swarms goes on if the values of its narrowed window are still unrelated. The others are
/// dropped, and count as [`GIVEN_UP`] steps.
const ROUGH: usize = 8;
const GIVEN_UP: u64 = 64;
/// For each stage: the number of last values to compare with, of best places, and of swarms that wait for the next
/// stage.
const VALUES: usize = 64;
const PLACES: usize = 32;
const WAITING: usize = 16;
/// Places are in one neighbourhood if their positions are equal without this many low bits.
const NEAR: u32 = 44;
/// Maximum number of bits of the distance of a new window: four binades of a double.
const FARTHEST: u32 = 54;
/// One in this many new windows lies at a sum of places.
const COMBINED: usize = 4;
/// Number of tournament sizes, `2^0` to `2^(TOURNAMENT-1)`: the best of that many random cells gives a swarm its place.
const TOURNAMENT: usize = 11;
/// Number of steps of all swarms between two rounds of the cells. [`CHEAP`] cheap steps count as one.
const STEPS: u64 = 32_768;
const CHEAP: u64 = 8;
/// Maximum number of steps that are proposed before they are evaluated together.
const BATCH: u64 = 32;

/// A point with a large value.
#[derive(Debug)]
struct Member {
    value: f64,
    /// Whether the value was negative; `value` is its magnitude.
    is_negative: bool,
    at: Box<[u64]>,
}

/// A set of points with large values in a window.
#[derive(Debug)]
struct Swarm {
    window: Vec<(u64, u64)>,
    width: u32,
    stage: usize,
    /// The best value at the beginning of this stage.
    before: f64,
    /// Steps left in this stage.
    left: u64,
    /// The points, by value in descending order.
    members: Vec<Member>,
}

impl Swarm {
    fn best(&self) -> f64 {
        self.members.first().map_or(0.0, |m| m.value)
    }

    /// Narrows the window around its middle.
    fn narrow(&mut self) {
        self.width -= NARROWED;
        for (least, greatest) in &mut self.window {
            let (middle, half) = (least.midpoint(*greatest), (*greatest - *least) >> (NARROWED + 1));
            (*least, *greatest) = (middle - half, middle + half);
        }
    }

    fn room(&self) -> usize {
        MEMBERS + self.stage * MEMBERS / 2
    }

    /// Whether a point with this value becomes a member.
    fn admits(&self, value: f64) -> bool {
        value > 0.0
            && (self.members.len() < self.room() || self.members.last().is_some_and(|least| value > least.value))
    }

    fn insert(&mut self, value: f64, is_negative: bool, at: &[u64]) {
        let place = self.members.partition_point(|m| m.value > value);
        // The same point has the same value, so only members with this value are compared.
        if self.members[place..].iter().take_while(|m| m.value == value).any(|known| *known.at == *at) {
            return;
        }
        let at = if self.members.len() == self.room() {
            let mut last = self.members.pop().expect("there are members").at;
            last.copy_from_slice(at);
            last
        } else {
            at.into()
        };
        self.members.insert(place, Member { value, is_negative, at });
    }

    /// Proposes the next point: a member plus the difference of two members, or minus it. Better members are more
    /// likely. If both points are outside the window, a uniformly distributed point of the window.
    fn propose<R: Rand>(&self, rng: &mut R, x: &mut [u64]) {
        let n = self.members.len();
        if n >= SAMPLED {
            let mut draw = || rng.below_or_zero(n);
            let from = draw().min(draw());
            let (a, mut b) = (draw(), draw());
            for _ in 0..OF_ONE_SIGN {
                if self.members[a].is_negative == self.members[b].is_negative {
                    break;
                }
                b = draw();
            }
            if a != b && (self.step(x, from, a, b) || self.step(x, from, b, a)) {
                return;
            }
        }
        for (x, (least, greatest)) in x.iter_mut().zip(&self.window) {
            *x = between(rng, *least, *greatest);
        }
    }

    /// Sets `x` to `from + (a - b)` of these members; returns false if that is outside the window.
    fn step(&self, x: &mut [u64], from: usize, a: usize, b: usize) -> bool {
        let at = |i: usize| &self.members[i].at;
        let mut is_within = true;
        for (d, (least, greatest)) in self.window.iter().enumerate() {
            x[d] = at(from)[d].wrapping_add(at(a)[d]).wrapping_sub(at(b)[d]);
            is_within &= (*least..=*greatest).contains(&x[d]);
        }
        is_within
    }
}

/// The results of the swarms that finished a stage.
#[derive(Debug, Default)]
struct Stage {
    /// The best values of the last [`VALUES`] swarms.
    values: VecDeque<f64>,
    /// The largest values with their places and the widths of their windows; in descending order.
    places: Vec<(f64, Box<[u64]>, u32)>,
    /// The swarms that may continue in the next stage, by best value in descending order.
    waiting: Vec<Swarm>,
}

impl Stage {
    /// Takes the best waiting swarm, if it is among the best [`FACTOR`]th of the last values.
    fn promoted(&mut self) -> Option<Swarm> {
        let best = self.waiting.first()?.best();
        let better = self.values.iter().filter(|v| **v >= best).count();
        (better <= self.values.len() / FACTOR && self.values.len() >= FACTOR).then(|| self.waiting.remove(0))
    }

    fn finish(&mut self, swarm: Swarm) {
        let Some(Member { value, at, .. }) = swarm.members.first() else { return };
        if self.values.len() == VALUES {
            self.values.pop_front();
        }
        self.values.push_back(*value);
        self.note_place(*value, at, swarm.width);
        if *value > swarm.before {
            let rank = self.waiting.partition_point(|w| w.best() >= *value);
            self.waiting.insert(rank, swarm);
            self.waiting.truncate(WAITING);
        }
    }

    /// Keeps the best place of each neighbourhood.
    fn note_place(&mut self, value: f64, at: &[u64], width: u32) {
        let is_near = |other: &[u64]| other.iter().zip(at).all(|(a, b)| a >> NEAR == b >> NEAR);
        match self.places.iter().position(|p| is_near(&p.1)) {
            Some(i) if self.places[i].0 >= value => return,
            Some(i) => drop(self.places.remove(i)),
            None => {}
        }
        let rank = self.places.partition_point(|p| p.0 >= value);
        self.places.insert(rank, (value, at.into(), width));
        self.places.truncate(PLACES);
    }
}

/// All swarms; the best of each stage continue in the next one.
#[derive(Debug, Default)]
pub(super) struct Swarms {
    stages: [Stage; STAGES],
    current: Option<Swarm>,
}

impl Swarms {
    fn next<R: Rand>(&mut self, rng: &mut R, from: &Places) -> Option<Swarm> {
        for stage in (0..STAGES - 1).rev() {
            if let Some(mut swarm) = self.stages[stage].promoted() {
                swarm.before = swarm.best();
                swarm.stage += 1;
                swarm.left = FIRST_STEPS * (FACTOR as u64).pow(swarm.stage as u32);
                return Some(swarm);
            }
        }
        self.new_swarm(rng, from)
    }

    /// The sum of a place and the difference of two others, as numbers. If the function reduces its argument by a
    /// period, or by a lattice of periods, the remainder is near those of the places.
    fn combined<R: Rand>(&self, rng: &mut R, begun: usize, from: &Places) -> Vec<u64> {
        let mut draw = || {
            let places = &self.stages[rng.below_or_zero(begun)].places;
            &places[rng.below_or_zero(places.len())].1
        };
        let (x, a, b) = (draw(), draw(), draw());
        let sum = |d: usize| {
            let kind = from.kinds[d];
            let number = |at: &[u64]| kind.to_real(line::raw(kind, at[d]));
            let sum = number(x) + (number(a) - number(b));
            let (least, greatest) = from.ends[d];
            if sum.is_nan() { x[d] } else { line::position(kind, kind.from_real(sum)).clamp(least, greatest) }
        };
        (0..from.ends.len()).map(sum).collect()
    }

    /// The middle of a new window, and the exponent of half its width.
    fn place<R: Rand>(&self, rng: &mut R, from: &Places) -> Option<(Vec<u64>, u32)> {
        let (least, greatest) = WIDTHS;
        let mut width = least + rng.below_or_zero((greatest - least + 1) as usize) as u32;
        let begun = self.stages.iter().take_while(|s| !s.places.is_empty()).count();
        let at = if begun > 0 && !from.kinds.is_empty() && rng.below_or_zero(COMBINED) == 0 {
            self.combined(rng, begun, from)
        } else if begun > 0 && rng.below_or_zero(8) < 5 {
            let places = &self.stages[rng.below_or_zero(begun)].places;
            let n = places.len();
            let (_, place, known) = &places[rng.below_or_zero(n).min(rng.below_or_zero(n))];
            if rng.below_or_zero(2) == 0 {
                width = *known;
            }
            beside(rng, place, width, from.ends)
        } else if !from.hints.is_empty() && rng.below_or_zero(2) == 0 {
            from.hints[rng.below_or_zero(from.hints.len())].clone()
        } else {
            large(rng, from.cells)?
        };
        Some((at, width))
    }

    /// A swarm in a new window.
    fn new_swarm<R: Rand>(&self, rng: &mut R, from: &Places) -> Option<Swarm> {
        let (at, width) = self.place(rng, from)?;
        let half = 1u64 << width;
        let window = |(x, (least, greatest)): (&u64, &(u64, u64))| {
            (x.saturating_sub(half).max(*least), x.saturating_add(half).min(*greatest))
        };
        let window = at.iter().zip(from.ends).map(window).collect();
        Some(Swarm { window, width, stage: 0, before: 0.0, left: FIRST_STEPS, members: Vec::with_capacity(MEMBERS) })
    }
}

/// The inputs to the placement of new windows.
struct Places<'a> {
    cells: &'a [Cell],
    ends: &'a [(u64, u64)],
    hints: &'a [Vec<u64>],
    kinds: &'a [Kind],
}

/// A position at a distance of about `2^k` from `place` in each argument, with `k` drawn uniformly from `width` on.
fn beside<R: Rand>(rng: &mut R, place: &[u64], width: u32, ends: &[(u64, u64)]) -> Vec<u64> {
    let moved = |(x, (least, greatest)): (&u64, &(u64, u64))| {
        let bits = (u64::BITS - (greatest - least).leading_zeros()).min(FARTHEST);
        let least_k = width.min(bits);
        let k = least_k + rng.below_or_zero((bits - least_k).max(1) as usize) as u32;
        away(rng, *x, k, (*least, *greatest))
    };
    place.iter().zip(ends).map(moved).collect()
}

/// The position of a large value: from the best of a random number of cells.
fn large<R: Rand>(rng: &mut R, cells: &[Cell]) -> Option<Vec<u64>> {
    let first = |c: &&Cell| c.best.first().map_or(0.0, |b| b.0);
    let n = 1 << rng.below_or_zero(TOURNAMENT);
    let drawn = (0..n).map(|_| &cells[rng.below_or_zero(cells.len())]);
    let cell = drawn.max_by(|a, b| first(a).total_cmp(&first(b))).filter(|c| !c.best.is_empty())?;
    Some(cell.best[rng.below_or_zero(cell.best.len())].1.to_vec())
}

impl Extremes {
    /// The position of a new window of one argument.
    pub(super) fn place<R: Rand>(&self, rng: &mut R) -> Option<u64> {
        let from = Places { cells: &self.cells, ends: &self.ends, hints: &self.hints, kinds: &self.kinds };
        self.swarms.place(rng, &from).map(|(at, _)| at[0])
    }

    /// One round of the swarms: [`STEPS`] steps.
    pub(super) fn swarm<F: NoisyObjective, R: Rand>(&mut self, f: &mut F, rng: &mut R) -> Result<(), Stop> {
        let mut left = STEPS * CHEAP;
        while left > 0 {
            let from = Places { cells: &self.cells, ends: &self.ends, hints: &self.hints, kinds: &self.kinds };
            let next = self.swarms.current.take().or_else(|| self.swarms.next(rng, &from));
            let Some(mut swarm) = next else { return Ok(()) };
            let ground = enter_window(f, &mut swarm);
            let is_new = swarm.members.is_empty();
            if ground == WindowCost::Rough && is_new && rng.below_or_zero(ROUGH) > 0 {
                left = left.saturating_sub(GIVEN_UP * CHEAP);
                continue;
            }
            let cost = if ground == WindowCost::Cheap { 1 } else { CHEAP };
            let n = swarm.left.min(left.div_ceil(cost));
            self.move_swarm(f, rng, &mut swarm, n)?;
            left = left.saturating_sub(n * cost);
            swarm.left -= n;
            if swarm.left == 0 {
                let stage = swarm.stage;
                self.swarms.stages[stage].finish(swarm);
            } else {
                self.swarms.current = Some(swarm);
            }
        }
        Ok(())
    }

    /// Takes `n` steps of a swarm.
    fn move_swarm<F: NoisyObjective, R: Rand>(
        &mut self,
        f: &mut F,
        rng: &mut R,
        swarm: &mut Swarm,
        n: u64,
    ) -> Result<(), Stop> {
        let (mut points, mut values) = (core::mem::take(&mut self.points), core::mem::take(&mut self.values));
        let dimensions = self.x.len();
        let mut left = n;
        while left > 0 {
            let batch = left.min(BATCH);
            points.resize(batch as usize * dimensions, 0);
            values.resize(batch as usize, 0.0);
            points.chunks_exact_mut(dimensions).for_each(|x| swarm.propose(rng, x));
            f.values_at(&points, &mut values)?;
            for (x, value) in points.chunks_exact(dimensions).zip(&values) {
                if swarm.admits(value.abs()) {
                    swarm.insert(value.abs(), *value < 0.0, x);
                    self.x.copy_from_slice(x);
                    self.note_best(value.abs());
                }
            }
            left -= batch;
        }
        (self.points, self.values) = (points, values);
        Ok(())
    }
}

/// Announces the window of a swarm. Narrows the window of a new swarm while its values are unrelated.
fn enter_window<F: NoisyObjective>(f: &mut F, swarm: &mut Swarm) -> WindowCost {
    loop {
        let ground = f.enter(&swarm.window);
        if ground != WindowCost::Rough || !swarm.members.is_empty() || swarm.width < NARROWEST + NARROWED {
            return ground;
        }
        swarm.narrow();
    }
}

#[cfg(test)]
mod tests {
    use libafl_bolts::rands::StdRand;

    use super::*;

    #[test]
    fn a_new_window_lies_at_a_sum_of_places_as_numbers() {
        let position = |x: f64| line::position(Kind::F64, x.to_bits());
        let known = [10.5, 1e3, 1e3 + 6.25];
        let mut swarms = Swarms::default();
        for x in known {
            swarms.stages[0].note_place(1.0, &[position(x)], 14);
        }
        let ends = [(position(-4e3), position(4e3))];
        let from = Places { cells: &[], ends: &ends, hints: &[], kinds: &[Kind::F64] };
        let mut rng = StdRand::with_seed(1);
        let found: Vec<f64> =
            (0..200).map(|_| f64::from_bits(line::raw(Kind::F64, swarms.combined(&mut rng, 1, &from)[0]))).collect();
        assert!(found.contains(&16.75) && found.contains(&4.25), "10.5 and the difference of the others: {found:?}");
        let is_sum = |x: &f64| known.iter().any(|k| known.iter().any(|a| known.iter().any(|b| *x == k + (a - b))));
        assert!(found.iter().all(is_sum), "{found:?}");
    }

    #[test]
    fn a_sum_that_leaves_the_box_goes_to_its_end() {
        let position = |x: f64| line::position(Kind::F64, x.to_bits());
        let mut swarms = Swarms::default();
        for x in [1.0, f64::MAX, -f64::MAX] {
            swarms.stages[0].note_place(1.0, &[position(x)], 14);
        }
        let ends = [(position(-f64::MAX), position(f64::MAX))];
        let from = Places { cells: &[], ends: &ends, hints: &[], kinds: &[Kind::F64] };
        let mut rng = StdRand::with_seed(1);
        for _ in 0..200 {
            let at = swarms.combined(&mut rng, 1, &from)[0];
            assert!((ends[0].0..=ends[0].1).contains(&at));
        }
    }

    /// Members with positive values lie at multiples of 1000, those with negative values 300 above. A difference of two
    /// members of one sign keeps this property.
    #[test]
    fn differences_are_of_members_of_one_sign() {
        let mut swarm =
            Swarm { window: vec![(0, 100_000)], width: 16, stage: 0, before: 0.0, left: 0, members: Vec::new() };
        for i in 0..SAMPLED as u64 {
            let is_negative = i % 2 == 1;
            swarm.insert(1.0, is_negative, &[i * 1000 + if is_negative { 300 } else { 0 }]);
        }
        let (mut rng, mut x) = (StdRand::with_seed(1), [0]);
        let mut of_two_signs = 0;
        for _ in 0..1000 {
            swarm.propose(&mut rng, &mut x);
            of_two_signs += u32::from([600, 700].contains(&(x[0] % 1000)));
        }
        assert!(of_two_signs < 10, "{of_two_signs} of 1000; half of the pairs have two signs");
    }
}
