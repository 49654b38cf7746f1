//! Start points of a search: special values, and points at which errors of numeric functions are often large.

use std::time::Instant;

use libafl_bolts::rands::Rand;
use penfuzz_mutators::{
    extremes::away,
    line,
    view::{Kind, Layout, Slot},
};

/// Number of combinations of special values of several arguments.
const COMBINATIONS: usize = 20_000;
/// Together with their negatives, values of which all combinations are tried in functions of two arguments.
const EXTREME: [f64; 7] = [0.0, 1.0, f64::INFINITY, f64::NAN, f64::MAX, f64::MIN_POSITIVE, 5e-324];
/// Number of points near 1, of points near branch boundaries, and of points near the boundaries of the result's
/// binades.
const HINTS: usize = 4096;
/// Evaluation limit of the search for boundaries, and limit of boundaries between two starts, in functions of one
/// argument.
const MAX_CALLS: usize = 1 << 16;
const MAX_BOUNDARIES: usize = 16;
/// The same in functions of several arguments. There are boundaries along each argument for each value of the others,
/// so the evaluations go to more pairs of starts rather than to more boundaries of one pair.
const ASKED_OF_SEVERAL: usize = 1 << 20;
const ENDS_OF_SEVERAL: usize = 4;
/// Number of multiples of π/4 for each power of two.
const MULTIPLES: u64 = 4;

/// Returns start points, as positions of the arguments.
#[must_use]
pub fn starts<R: Rand>(layout: &Layout, rng: &mut R) -> Vec<Vec<u64>> {
    let lists: Vec<Vec<u64>> = layout.slots().iter().map(|slot| values(layout, *slot)).collect();
    match &lists[..] {
        [one] => one.iter().map(|p| vec![*p]).collect(),
        _ if lists.iter().any(Vec::is_empty) => Vec::new(),
        _ => (0..COMBINATIONS).map(|_| combination(layout, &lists, rng)).collect(),
    }
}

/// Returns special values of several arguments: a quarter of the combinations has only the most special values (zeros
/// of both signs, infinities, NaN and the like), a quarter has one of these in one argument, and a quarter has the same
/// value in all arguments.
fn combination<R: Rand>(layout: &Layout, lists: &[Vec<u64>], rng: &mut R) -> Vec<u64> {
    let any = |list: &[u64], rng: &mut R| list[rng.below_or_zero(list.len())];
    let mut at: Vec<u64> = lists.iter().map(|list| any(list, rng)).collect();
    let (way, one) = (rng.below_or_zero(4), rng.below_or_zero(lists.len()));
    for (d, slot) in layout.slots().iter().enumerate() {
        let kind = slot.kind;
        let is_special = way == 0 || way == 1 && d == one;
        let chosen = if is_special && kind.is_float() {
            let x = EXTREME[rng.below_or_zero(EXTREME.len())];
            line::position(kind, kind.from_real(if rng.below_or_zero(2) == 0 { x } else { -x }))
        } else if way == 2 && kind == layout.slots()[0].kind {
            at[0]
        } else {
            continue;
        };
        let domain = layout.domains().find(|(s, _)| *s == *slot).map(|(_, domain)| domain);
        if domain.is_none_or(|domain| domain.contains(kind, line::raw(kind, chosen))) {
            at[d] = chosen;
        }
    }
    at
}

/// Returns random points with magnitudes near 1 more often than others: the exponent of a float is `2^u - 1` or `-2^u`,
/// with `u` drawn uniformly. Most numeric functions behave the same in each binade that is far from 1.
pub fn near_one<R: Rand>(ends: &[(u64, u64)], layout: &Layout, rng: &mut R) -> Vec<Vec<u64>> {
    let one = |rng: &mut R, slot: &Slot, (least, greatest): (u64, u64)| {
        let kind = slot.kind;
        let exponent = ((10.0 * rng.next_float()).exp2() - 1.0).floor();
        let exponent = if rng.below_or_zero(2) == 0 { exponent } else { -1.0 - exponent };
        let size = exponent.exp2() * (1.0 + rng.next_float());
        let x = if rng.below_or_zero(2) == 0 { size } else { -size };
        line::position(kind, kind.from_real(x)).clamp(least, greatest)
    };
    (0..HINTS).map(|_| layout.slots().iter().zip(ends).map(|(slot, ends)| one(rng, slot, *ends)).collect()).collect()
}

/// Returns points near branch boundaries, at all distances up to a binade: a part of the domain that the code handles
/// separately may be narrow, and lies between two boundaries.
pub fn near_boundaries<R: Rand>(
    branch_ends: &[Vec<u64>],
    ends: &[(u64, u64)],
    layout: &Layout,
    rng: &mut R,
) -> Vec<Vec<u64>> {
    if branch_ends.is_empty() {
        return Vec::new();
    }
    let one = |rng: &mut R| {
        let mut at = branch_ends[rng.below_or_zero(branch_ends.len())].clone();
        for ((x, slot), ends) in at.iter_mut().zip(layout.slots()).zip(ends) {
            let k = rng.below_or_zero(slot.kind.fraction_bits() as usize + 1) as u32;
            *x = away(rng, *x, k, *ends);
        }
        at
    };
    (0..HINTS).map(|_| one(rng)).collect()
}

/// Draws points from a list: uniformly by the logarithm of the rank, so that the first ones are drawn most.
pub fn first_ones<R: Rand>(all: &[Vec<u64>], rng: &mut R) -> Vec<Vec<u64>> {
    let rank = |rng: &mut R| (all.len() as f64).powf(rng.next_float()) as usize - 1;
    let n = if all.is_empty() { 0 } else { HINTS };
    (0..n).map(|_| all[rank(rng).min(all.len() - 1)].clone()).collect()
}

/// Returns neighbours for which `of` returns different values, such as the sets of branches that they cover. They are
/// found by bisection between consecutive `starts`, along one argument; for functions of one argument, starts near 1
/// come first. `of` is called about [`MAX_CALLS`] times at most, or [`ASKED_OF_SEVERAL`], divided by `costs`, the
/// relative cost of a call; between two starts at most [`MAX_BOUNDARIES`] boundaries are searched for, or
/// [`ENDS_OF_SEVERAL`].
pub fn boundaries<T: PartialEq + Clone>(
    starts: &[Vec<u64>],
    layout: &Layout,
    until: Instant,
    costs: usize,
    mut of: impl FnMut(&[u64]) -> T,
) -> Vec<Vec<u64>> {
    let mut pairs: Vec<usize> = (1..starts.len()).collect();
    let (most, most_ends) = if let [slot] = layout.slots() {
        let ones = [1.0, -1.0].map(|x| line::position(slot.kind, slot.kind.from_real(x)));
        pairs.sort_by_key(|i| ones.iter().map(|one| starts[*i][0].abs_diff(*one)).min());
        (MAX_CALLS, MAX_BOUNDARIES)
    } else {
        (ASKED_OF_SEVERAL, ENDS_OF_SEVERAL)
    };
    let (mut found, mut asked) = (Vec::new(), 0);
    for i in pairs {
        if asked >= most / costs || Instant::now() >= until {
            break;
        }
        let d = (i - 1) % layout.slots().len();
        let mut at = starts[i - 1].clone();
        let mut ask = |x: u64| {
            asked += 1;
            at[d] = x;
            (x, of(&at))
        };
        let mut parts = vec![(ask(starts[i - 1][d]), ask(starts[i][d]))];
        let mut ends = Vec::new();
        while let Some((a, b)) = parts.pop().filter(|_| ends.len() < most_ends) {
            if a.1 == b.1 {
                continue;
            }
            if a.0.abs_diff(b.0) <= 1 {
                ends.push([a.0, b.0]);
                continue;
            }
            let middle = ask(a.0.midpoint(b.0));
            parts.extend([(a, middle.clone()), (middle, b)]);
        }
        found.extend(ends.into_iter().flatten().map(|x| {
            at[d] = x;
            at.clone()
        }));
    }
    found
}

/// Returns the special values of one argument in its domain, as positions.
fn values(layout: &Layout, slot: Slot) -> Vec<u64> {
    let kind = slot.kind;
    let mut all = Vec::new();
    let mut add = |raw: u64| {
        let p = line::position(kind, raw);
        all.extend([line::down(p, 1), p, line::up(kind, p, 1)]);
    };
    let both = |x: f64, add: &mut dyn FnMut(u64)| {
        add(kind.from_real(x));
        add(kind.from_real(-x));
    };
    if kind.is_float() {
        for x in [f64::NAN, f64::INFINITY, 0.0, f64::MAX] {
            both(x, &mut add);
        }
        let (least, greatest) = if kind == Kind::F32 { (-149, 127) } else { (-1074, 1023) };
        for e in least..=greatest {
            let power = power_of_two(e);
            for x in [power, power * 1.5] {
                both(x, &mut add);
            }
            if (0..60).contains(&e) {
                for i in 0..MULTIPLES {
                    let x = (power + i as f64 * (power / MULTIPLES as f64)).floor() * core::f64::consts::FRAC_PI_4;
                    both(x, &mut add);
                }
                for x in [power + 0.5, power - 0.5, power + 1.0, power - 1.0] {
                    both(x, &mut add);
                }
            }
        }
    } else {
        (0..kind.bits()).for_each(|k| add(1 << k));
        (0..16).for_each(&mut add);
    }
    let domain = layout.domains().find(|(s, _)| *s == slot).map(|(_, d)| d);
    all.retain(|p| domain.is_none_or(|d| d.contains(kind, line::raw(kind, *p))));
    all.sort_unstable();
    all.dedup();
    all
}

/// Exact, including subnormal numbers.
fn power_of_two(e: i32) -> f64 {
    if e < -1022 { f64::from_bits(1 << (e + 1074)) } else { f64::from_bits(((e + 1023) as u64) << 52) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use libafl_bolts::rands::StdRand;
    use penfuzz_mutators::domain::Domain;
    use std::time::Duration;

    fn later() -> Instant {
        Instant::now() + Duration::from_mins(10)
    }

    #[test]
    fn all_ends_near_one_are_found() {
        let layout = Layout::packed(&[Kind::F64]);
        let starts = starts(&layout, &mut StdRand::with_seed(1));
        let number = |p: u64| f64::from_bits(line::raw(Kind::F64, p));
        // Boundaries of the result's binades: it is a power of two at each of these arguments.
        let thresholds = [1.001, 1.002, 1.003, 1.25, 3.7, 900.5];
        let found =
            boundaries(&starts, &layout, later(), 1, |at| thresholds.iter().filter(|t| number(at[0]) >= **t).count());
        for t in thresholds {
            assert!(found.contains(&vec![line::position(Kind::F64, t.to_bits())]), "{t}");
        }
        let (drawn, all) = (first_ones(&found, &mut StdRand::with_seed(1)), found.len());
        let share = |n: usize| drawn.iter().filter(|at| found[..n].contains(at)).count();
        assert!(all > 8 && share(all) == HINTS && (HINTS / 2..HINTS).contains(&share(4)), "{} of {all}", share(4));
        assert!(first_ones(&[], &mut StdRand::with_seed(1)).is_empty());
    }

    /// A boundary as in `pow`: it overflows near 1 in a part of the domain with its own code. 1 itself is also a
    /// special case.
    #[test]
    fn boundary_of_two_arguments_is_found() {
        let layout = Layout::packed(&[Kind::F64, Kind::F64]);
        let number = |p: u64| f64::from_bits(line::raw(Kind::F64, p));
        let log = |at: &[u64]| number(at[1]) * (number(at[0]) - 1.0);
        let part = |at: &[u64]| match (number(at[0]), number(at[1]).abs() > 2f64.powi(31)) {
            (1.0, _) => 0,
            (_, false) => 1,
            (x, _) if (x - 1.0).abs() < 1e-6 => 2 + i32::from(log(at) > 709.0) + 2 * i32::from(log(at) < -709.0),
            _ => 5,
        };
        for seed in 1..=5 {
            let starts = starts(&layout, &mut StdRand::with_seed(seed));
            let found = boundaries(&starts, &layout, later(), 1, part);
            let n = found.iter().filter(|at| part(at) == 2 && log(at).abs() > 708.9).count();
            assert!(n > 4, "seed {seed}: {n} of {}", found.len());
        }
    }

    #[test]
    fn boundary_search_has_evaluation_limit() {
        let layout = Layout::packed(&[Kind::F64]);
        let starts = starts(&layout, &mut StdRand::with_seed(1));
        let mut asked = 0;
        let found = boundaries(&starts, &layout, later(), 1, |at| {
            asked += 1;
            at[0]
        });
        assert!((MAX_CALLS..MAX_CALLS + 2000).contains(&asked) && found.len() > 1000, "{asked}, {}", found.len());
        assert!(boundaries(&starts, &layout, Instant::now(), 1, |at| at[0]).is_empty(), "there is no time");
        asked = 0;
        let _ = boundaries(&starts, &layout, later(), 8, |at| {
            asked += 1;
            at[0]
        });
        assert!((MAX_CALLS / 8..MAX_CALLS / 8 + 2000).contains(&asked), "{asked}, where it costs eight times as much");
    }

    #[test]
    fn points_lie_beside_the_ends_of_branches() {
        let layout = Layout::packed(&[Kind::F64, Kind::I32]);
        let (one, box_ends) = (line::position(Kind::F64, 1f64.to_bits()), [(0, u64::MAX), (0, 100)]);
        assert!(near_boundaries(&[], &box_ends, &layout, &mut StdRand::with_seed(1)).is_empty());
        let all = near_boundaries(&[vec![one, 7], vec![one + 1, 7]], &box_ends, &layout, &mut StdRand::with_seed(1));
        let distances: Vec<u64> = all.iter().map(|at| at[0].abs_diff(one)).collect();
        let binade = 1u64 << 53;
        for bits in (0..50).step_by(10) {
            let near = distances.iter().filter(|d| (1 << bits..1 << (bits + 10)).contains(*d)).count();
            assert!((500..1100).contains(&near), "{near} of {HINTS} at 2^{bits} and more");
        }
        assert!(distances.iter().all(|d| *d <= binade) && all.iter().all(|at| [6, 8].contains(&at[1])));
    }

    #[test]
    fn two_arguments_are_zeros_of_both_signs_and_equal() {
        let layout = Layout::packed(&[Kind::F64, Kind::F64]);
        let all = starts(&layout, &mut StdRand::with_seed(1));
        let zero = |x: f64| line::position(Kind::F64, x.to_bits());
        for pair in [[0.0, -0.0], [-0.0, 0.0], [f64::INFINITY, -0.0]] {
            assert!(all.contains(&pair.map(zero).to_vec()), "{pair:?}");
        }
        assert!(all.iter().filter(|at| at[0] == at[1]).count() > COMBINATIONS / 8);
    }

    #[test]
    fn starts_lie_in_the_box() {
        let domain = Domain::new(Kind::F64, 1f64.to_bits(), 100f64.to_bits()).expect("a range");
        let layout = Layout::packed(&[Kind::F64]).with_domain(0, domain);
        let all = starts(&layout, &mut StdRand::with_seed(1));
        let values: Vec<f64> = all.iter().map(|p| f64::from_bits(line::raw(Kind::F64, p[0]))).collect();
        assert!(values.iter().all(|x| (1.0..=100.0).contains(x)), "{values:?}");
        assert!(values.contains(&(64.0 - f64::EPSILON * 32.0)), "the double below 64");
    }
}
