//! Searches for points that kill mutants of a specification.

use std::time::Instant;

use libafl_bolts::rands::{Rand, StdRand};

use super::{
    Answer, Specification,
    constraints::Frontier,
    equivalence,
    operators::{Change, Mutant},
    suite::{self, Expectation, Kill},
};

use crate::{
    enclosure::interval::{self, Interval, NoEnclosure},
    fpcore::Expr,
};

/// Precision of enclosures in bits; the second is used if the first does not decide.
const BITS: [u32; 2] = [160, 640];
/// An accuracy mutant is killed where it allows more than this additional error, in multiples of ε (the paper's value).
pub(super) const OVERLAP: f64 = 1e3;
/// Maximum number of evaluations for a mutant, if their number is not limited.
const POINTS: u64 = 256;

/// Whether the specification allows the result of a mutant at a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    /// It allows no result of the mutant: the mutant is killed.
    Invalid,
    /// It allows one.
    Valid,
    /// That is not decided, or the specification has no value there.
    Undecided,
}

/// How points are chosen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Points {
    /// At random, a quarter of them corners of the box. Not the first: in a corner variables are often equal.
    #[default]
    Random,
    /// At random from the box only: the black box of the paper.
    Uniform,
    /// By interval constraints: Algorithm 1 of the paper ([`constraints`](super::constraints)).
    Constraints,
}

/// How tests of a specification are generated.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// The seed of random points.
    pub seed: u64,
    /// How points are chosen.
    pub points: Points,
    /// The number of evaluations, divided equally among the mutants that live. By default, each mutant has 256 points.
    /// An evaluation is that of a mutant and the specification, at a point or over a part of the box.
    pub evaluations: Option<u64>,
    /// Whether mutants that live are proved equivalent.
    pub proves: bool,
}

struct Search<'a> {
    specification: &'a Specification,
    options: Options,
    rng: StdRand,
    evaluations: u64,
}

/// Searches for tests that kill as many mutants as possible. Deterministic for a seed.
pub fn search(specification: &Specification, all: &[Mutant], options: Options) -> Answer {
    let began = Instant::now();
    let mut search = Search { specification, options, rng: StdRand::with_seed(options.seed), evaluations: 0 };
    let mut killed = vec![false; all.len()];
    let tests = search.rounds(all, &mut killed);
    let evaluations = search.evaluations;
    let is_unkillable = |m: &Mutant| options.proves && equivalence::is_equivalent(specification, m);
    let unkillable: Vec<_> = all.iter().zip(&killed).map(|(m, killed)| !killed && is_unkillable(m)).collect();
    let seconds = began.elapsed().as_secs_f64();
    let tests = search.fewest(all, tests);
    let suite = tests.iter().map(|x| search.expectation(all, x)).collect();
    Answer { tests, suite, evaluations, seconds, ..Answer::new(specification, all, &killed, &unkillable) }
}

impl Search<'_> {
    /// Searches for each mutant in turn: once, or until the evaluations are used up. Returns the tests.
    fn rounds(&mut self, all: &[Mutant], killed: &mut [bool]) -> Vec<Vec<f64>> {
        let mut frontiers: Vec<Option<Frontier>> = all.iter().map(|_| None).collect();
        let mut tests = Vec::new();
        loop {
            let before = self.evaluations;
            for i in 0..all.len() {
                if killed[i] || self.left() == 0 {
                    continue;
                }
                let Some(test) = self.kill(&all[i], &mut frontiers[i], self.share(&killed[i..])) else { continue };
                for (other, is_killed) in all.iter().zip(killed.iter_mut()).filter(|(_, killed)| !**killed) {
                    *is_killed = self.left() > 0 && self.verdict(other, &test) == Verdict::Invalid;
                }
                // This test kills it, whatever `verdict` finds.
                killed[i] = true;
                tests.push(test);
            }
            if self.options.evaluations.is_none() || self.left() == 0 || self.evaluations == before {
                return tests;
            }
        }
    }

    /// The evaluations that are left.
    fn left(&self) -> u64 {
        self.options.evaluations.map_or(u64::MAX, |all| all.saturating_sub(self.evaluations))
    }

    /// The evaluations for the first of these mutants: an equal share of what is left.
    fn share(&self, killed: &[bool]) -> u64 {
        let live = killed.iter().filter(|killed| !**killed).count() as u64;
        if self.options.evaluations.is_some() { (self.left() / live.max(1)).max(1) } else { POINTS }
    }

    /// Searches for a point that kills the mutant, with about this number of evaluations.
    fn kill(&mut self, mutant: &Mutant, frontier: &mut Option<Frontier>, share: u64) -> Option<Vec<f64>> {
        let end = self.evaluations + share;
        let mut n = 0_u64;
        while self.evaluations < end {
            let x = if self.options.points == Points::Constraints {
                self.solution(mutant, frontier)?
            } else {
                self.point(mutant, n % 4 == 3 && self.options.points == Points::Random)
            };
            if self.verdict(mutant, &x) == Verdict::Invalid {
                return Some(x);
            }
            n += 1;
        }
        None
    }

    /// Returns the next point of the search by constraints.
    fn solution(&mut self, mutant: &Mutant, frontier: &mut Option<Frontier>) -> Option<Vec<f64>> {
        let frontier = frontier.get_or_insert_with(|| Frontier::of(self.specification, mutant));
        let part = frontier.next(self.specification, mutant);
        self.evaluations += std::mem::take(&mut frontier.bounded);
        let x =
            part?.iter().map(|(low, high)| (low + (high - low) * self.rng.next_float()).clamp(*low, *high)).collect();
        Some(self.rounded(x))
    }

    /// Returns a point in the format of the arguments.
    fn rounded(&self, x: Vec<f64>) -> Vec<f64> {
        if self.specification.is_single { x.into_iter().map(|x| f64::from(x as f32)).collect() } else { x }
    }

    /// Returns a random point, or a random corner of the box; for a larger domain, of the part that was added.
    fn point(&mut self, mutant: &Mutant, is_corner: bool) -> Vec<f64> {
        let mut coordinate = |(i, (_, low, high)): (usize, &(String, f64, f64))| {
            let at = if is_corner { self.rng.below_or_zero(2) as f64 } else { self.rng.next_float() };
            let (low, high) = match mutant.change {
                Change::Bound(changed, low, high) if changed == i => (low, high),
                _ => (*low, *high),
            };
            (low + (high - low) * at).clamp(low, high)
        };
        let x = self.specification.variables.iter().enumerate().map(&mut coordinate).collect();
        self.rounded(x)
    }

    fn is_outside(&self, x: &[f64]) -> bool {
        self.specification.variables.iter().zip(x).any(|((_, low, high), x)| x < low || x > high)
    }

    fn verdict(&mut self, mutant: &Mutant, x: &[f64]) -> Verdict {
        self.evaluations += 1;
        let is_outside = self.is_outside(x);
        let mut last = Verdict::Undecided;
        for bits in BITS {
            let original = self.at(&self.specification.body, x, bits);
            last = match (&mutant.change, original) {
                // The specification allows no result there; the mutant allows that of the expression.
                (Change::Bound(..), value) if is_outside => {
                    return if value.is_ok() { Verdict::Invalid } else { Verdict::Undecided };
                }
                (_, Err(_)) => Verdict::Undecided,
                _ if is_outside => return Verdict::Undecided,
                (Change::Bound(..), _) => return Verdict::Valid,
                (Change::Accuracy(i), Ok(value)) => {
                    let more = value.least_magnitude() * (10_f64.powi(*i) - 1.0);
                    return if more > OVERLAP { Verdict::Invalid } else { Verdict::Valid };
                }
                (Change::Body(body), Ok(value)) => match self.at(body, x, bits) {
                    Ok(other) => compared(&value, &other, self.specification.accuracy),
                    // A test expects a number.
                    Err(NoEnclosure::Undefined) => return Verdict::Invalid,
                    Err(NoEnclosure::Unknown) => Verdict::Undecided,
                },
            };
            if last != Verdict::Undecided {
                break;
            }
        }
        last
    }

    fn at(&self, body: &Expr, x: &[f64], bits: u32) -> Result<Interval, NoEnclosure> {
        let names = self.specification.variables.iter().map(|(name, ..)| name.clone());
        let mut scope: Vec<_> = names.zip(x.iter().map(|x| interval::exactly(*x, bits))).collect();
        interval::enclose(body, &mut scope, bits)
    }

    /// Returns what an implementation may return at a point, and the mutants that the point kills.
    fn expectation(&mut self, all: &[Mutant], x: &[f64]) -> Expectation {
        let accuracy = self.specification.accuracy;
        let [_, bits] = BITS;
        let allowed = if self.is_outside(x) { None } else { self.at(&self.specification.body, x, bits).ok() };
        let mut kills = Vec::new();
        for mutant in all {
            if self.verdict(mutant, x) == Verdict::Invalid {
                let body = if let Change::Body(body) = &mutant.change { self.at(body, x, bits).ok() } else { None };
                let results = body.map(|value| suite::allowed(&value, accuracy));
                kills.push(Kill { class: mutant.class.name(), change: mutant.text.clone(), results });
            }
        }
        Expectation { point: x.to_vec(), allowed: allowed.map(|value| suite::allowed(&value, accuracy)), kills }
    }

    /// Selects few of the tests that kill as many mutants, greedily by the number of remaining mutants that each kills.
    fn fewest(&mut self, all: &[Mutant], tests: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
        let mut kills = |test: &Vec<f64>| -> Vec<usize> {
            (0..all.len()).filter(|i| self.verdict(&all[*i], test) == Verdict::Invalid).collect()
        };
        let mut left: Vec<_> = tests.into_iter().map(|t| (kills(&t), t)).collect();
        let mut chosen = Vec::new();
        while let Some(best) = (0..left.len()).max_by_key(|i| (left[*i].0.len(), usize::MAX - i)) {
            let (killed, test) = left.swap_remove(best);
            if killed.is_empty() {
                break;
            }
            for (kills, _) in &mut left {
                kills.retain(|k| !killed.contains(k));
            }
            chosen.push(test);
        }
        chosen
    }
}

/// Compares the intervals `other`·(1 ± ε) and `value`·(1 ± ε): the mutant is killed if they are disjoint.
fn compared(value: &Interval, other: &Interval, accuracy: f64) -> Verdict {
    let bits = value.low.prec();
    let widest = |v: &Interval| v.low.clone().abs().max(&v.high.clone().abs());
    // Each rounding error here is below 2^-100 of the sum.
    let sum = rug::Float::with_val(bits, widest(value) + widest(other));
    let tolerance: rug::Float = sum * (accuracy * (1.0 + 1e-12));
    let apart =
        rug::Float::with_val(bits, &other.low - &value.high).max(&rug::Float::with_val(bits, &value.low - &other.high));
    if apart > tolerance {
        return Verdict::Invalid;
    }
    let width =
        rug::Float::with_val(bits, &value.high - &value.low) + rug::Float::with_val(bits, &other.high - &other.low);
    if width > tolerance {
        return Verdict::Undecided;
    }
    Verdict::Valid
}

#[cfg(test)]
mod tests {
    use super::{super::operators, *};
    use crate::fpcore::parsed;

    /// The mutants of a core whose text begins with `change`, searched with these points and evaluations.
    fn found(core: &str, change: &str, points: Points, evaluations: Option<u64>) -> Answer {
        let specification = Specification::of(&parsed(core).expect("a core"), None).expect("a specification");
        let all: Vec<_> =
            operators::mutants(&specification).into_iter().filter(|m| m.text.starts_with(change)).collect();
        assert!(!all.is_empty(), "there are such mutants");
        search(&specification, &all, Options { seed: 1, points, evaluations, proves: false })
    }

    /// The constant counts only for x below about 1e-5, and not at 0.
    const SPIKE: &str = "(FPCore (x) :pre (<= 0 x 1) (+ 1 (exp (* -1000000 x))))";

    #[test]
    fn constraints_find_a_small_region_that_random_points_miss() {
        for points in [Points::Random, Points::Uniform] {
            assert_eq!(found(SPIKE, "-1000000 → ", points, Some(1000)).mutants.killed, 0, "{points:?}");
        }
        let answer = found(SPIKE, "-1000000 → ", Points::Constraints, Some(1000));
        assert_eq!(answer.mutants.killed, answer.mutants.total, "{:?}", answer.live);
    }

    #[test]
    fn constraints_end_when_no_part_is_left() {
        let core = "(FPCore (x) :pre (<= 1 x 2) (* x x))";
        let answer = found(core, "x → (fabs x)", Points::Constraints, Some(1_000_000));
        assert_eq!((answer.mutants.killed, answer.tests.len()), (0, 0));
        assert!(answer.evaluations < 10, "x is positive: {} evaluations", answer.evaluations);
    }

    #[test]
    fn the_number_of_evaluations_is_limited() {
        for points in [Points::Random, Points::Uniform, Points::Constraints] {
            let answer = found(SPIKE, "", points, Some(300));
            assert!(answer.evaluations <= 303, "{points:?}: {}", answer.evaluations);
            assert!(answer.mutants.killed > 20, "{points:?}: {}", answer.mutants.killed);
        }
    }

    #[test]
    fn constraints_kill_by_larger_domains_and_tolerances() {
        let core = "(FPCore (x) :pre (<= 1 x 1000) (* x x))";
        for change in ["lower bound", "upper bound", "accuracy times 1e8"] {
            assert_eq!(found(core, change, Points::Constraints, Some(100)).mutants.killed, 1, "{change}");
        }
    }
}
