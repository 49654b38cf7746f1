//! Searches for points that kill mutants of a specification, at random.

use std::time::Instant;

use libafl_bolts::rands::{Rand, StdRand};

use super::{
    Answer, Specification, equivalence,
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
/// Maximum number of random points that are tried for a mutant; a quarter of them are corners of the box.
const POINTS: usize = 256;

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

struct Search<'a> {
    specification: &'a Specification,
    rng: StdRand,
    evaluations: u64,
}

/// Searches for tests that kill as many mutants as possible. Deterministic for a seed.
pub fn search(specification: &Specification, all: &[Mutant], seed: u64) -> Answer {
    let began = Instant::now();
    let mut search = Search { specification, rng: StdRand::with_seed(seed), evaluations: 0 };
    let mut tests: Vec<Vec<f64>> = Vec::new();
    let mut killed = vec![false; all.len()];
    for (i, mutant) in all.iter().enumerate() {
        if killed[i] {
            continue;
        }
        let Some(test) = search.kill(mutant) else { continue };
        for (other, is_killed) in all.iter().zip(&mut killed).filter(|(_, killed)| !**killed) {
            *is_killed = search.verdict(other, &test) == Verdict::Invalid;
        }
        // This test kills it, whatever `verdict` finds.
        killed[i] = true;
        tests.push(test);
    }
    let evaluations = search.evaluations;
    let unkillable: Vec<_> =
        all.iter().zip(&killed).map(|(m, killed)| !killed && equivalence::is_equivalent(specification, m)).collect();
    let seconds = began.elapsed().as_secs_f64();
    let tests = search.fewest(all, tests);
    let suite = tests.iter().map(|x| search.expectation(all, x)).collect();
    Answer { tests, suite, evaluations, seconds, ..Answer::new(specification, all, &killed, &unkillable) }
}

impl Search<'_> {
    /// Searches for a point that kills the mutant.
    fn kill(&mut self, mutant: &Mutant) -> Option<Vec<f64>> {
        (0..POINTS).find_map(|n| {
            let x = self.point(mutant, n % 4 == 0);
            (self.verdict(mutant, &x) == Verdict::Invalid).then_some(x)
        })
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
        let x = self.specification.variables.iter().enumerate().map(&mut coordinate);
        if self.specification.is_single { x.map(|x| f64::from(x as f32)).collect() } else { x.collect() }
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
