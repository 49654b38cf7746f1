//! The default minimizer: alternating variables on the ULP line, with substitutions.
//!
//! # Algorithm
//! 1. For each number in turn: line search by probe and extrapolation, until rounds over all numbers improve
//!    nothing, or little.
//! 2. Substitution: go through all [`MOVES`] of all numbers side by side (first candidates of every list, then second
//!    ones…), so that the likely candidates of every list come early. After a clear improvement, step 1 again.
//! 3. When a whole cycle of step 2 has improved nothing: go to both edges of the plateau of each number, where the value
//!    gets worse. If nothing is better there either, the point is a local minimum.
//!
//! A candidate of step 2 that neither improves nor worsens is accepted now and then: conditions such as `(n & 1) == 0` are
//! flat almost everywhere.
//!
//! It evaluates, it does not allocate. Any metric will do; with [`Metric::Ulp`](crate::evaluate::Metric::Ulp) the
//! extrapolation is exact and a comparison with a constant takes two or three evaluations.
//!
//! # Reference
//! B. Korel, *Automated Software Test Data Generation*, IEEE TSE 16(8), 1990.

use std::sync::Arc;

use libafl_bolts::rands::Rand;

use super::{
    LocalMinimizer, edge,
    line_ulp::{self, creeps},
    probe::{Probe, Verdict},
};
use crate::{
    dictionary::Dictionary,
    evaluate::{RepresentingFunction, Stop},
    moves::{At, MOVES},
    view::Layout,
};

/// One tie in this many is accepted.
const TIES: usize = 8;

/// Rounds over all lines that may gain less than a quarter.
const MAX_CREEPING: u32 = 2;

/// See the module.
#[derive(Debug, Clone)]
pub struct Avm {
    dictionary: Arc<Dictionary>,
    lines_only: bool,
}

impl Avm {
    /// Substitutes the values of a dictionary.
    #[must_use]
    pub fn new(dictionary: Arc<Dictionary>) -> Self {
        Self { dictionary, lines_only: false }
    }

    /// Ends after step 1: tens of evaluations instead of hundreds, for use from many starts.
    #[must_use]
    pub fn lines_only(self) -> Self {
        Self { lines_only: true, ..self }
    }

    /// The name under which [`create`](super::create) finds it: as [`LocalMinimizer::name`], without a type of generator.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        "avm"
    }
}

impl<R: Rand> LocalMinimizer<R> for Avm {
    fn name(&self) -> &'static str {
        self.name()
    }

    fn minimize(
        &mut self,
        f: &mut dyn RepresentingFunction,
        x: &mut [u8],
        layout: &Layout,
        rng: &mut R,
    ) -> Result<u64, Stop> {
        let mut probe = Probe::start(f, x)?;
        let search = Search { layout, dictionary: &self.dictionary };
        if self.lines_only {
            // Around a point that solves a condition before the wanted one, the number that was just moved away would be the
            // first to move back.
            search.lines(&mut probe, rng.below_or_zero(layout.len().max(1)))?;
            return Ok(probe.best());
        }
        loop {
            search.lines(&mut probe, 0)?;
            if probe.is_done() {
                return Ok(0);
            }
            search.substitutions(&mut probe, rng)?;
            if probe.is_done() || !search.edges(&mut probe)? {
                return Ok(probe.best());
            }
        }
    }
}

/// What stays the same during one minimization.
struct Search<'a> {
    layout: &'a Layout,
    dictionary: &'a Dictionary,
}

impl Search<'_> {
    /// Step 1. Nothing to follow where the site was not reached at all.
    fn lines(&self, probe: &mut Probe, first: usize) -> Result<(), Stop> {
        let mut creeping = 0;
        while creeping <= MAX_CREEPING {
            let before = probe.best();
            let (before_first, from_first) = self.layout.slots().split_at(first);
            for &slot in from_first.iter().chain(before_first) {
                if probe.is_done() || probe.best() == u64::MAX {
                    return Ok(());
                }
                line_ulp::minimize(probe, slot)?;
            }
            if probe.best() == before {
                break;
            }
            creeping += u32::from(creeps(probe.metric(), before, probe.best()));
        }
        Ok(())
    }

    /// Step 3.
    fn edges(&self, probe: &mut Probe) -> Result<bool, Stop> {
        for &slot in self.layout.slots() {
            if probe.best() != u64::MAX && edge::search(probe, slot)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Step 2.
    fn substitutions<R: Rand>(&self, probe: &mut Probe, rng: &mut R) -> Result<(), Stop> {
        let (mut index, mut quiet) = (0, 0);
        loop {
            let round = self.round(probe, rng, index)?;
            if probe.is_done() || round.longest == 0 {
                return Ok(());
            }
            quiet = if round.improved { 0 } else { quiet + 1 };
            if quiet >= round.longest {
                return Ok(());
            }
            index = (index + 1) % round.longest;
        }
    }

    /// Candidate number `index` of every list that has one.
    fn round<R: Rand>(&self, probe: &mut Probe, rng: &mut R, index: usize) -> Result<Round, Stop> {
        let mut round = Round { improved: false, longest: 0 };
        for (i, &slot) in self.layout.slots().iter().enumerate() {
            for choice in MOVES {
                let at = At::new(probe.x(), self.layout, i, self.dictionary);
                let count = choice.count(&at);
                round.longest = round.longest.max(count);
                if index >= count {
                    continue;
                }
                let raw = choice.candidate(&at, index);
                let (keep_ties, before) = (rng.below_or_zero(TIES) == 0, probe.best());
                if probe.try_raw(slot, raw, keep_ties)? == Verdict::Better {
                    round.improved = true;
                    // Where it only creeps, the lines have been searched before.
                    if !creeps(probe.metric(), before, probe.best()) {
                        self.lines(probe, 0)?;
                    }
                    if probe.is_done() {
                        return Ok(round);
                    }
                }
            }
        }
        Ok(round)
    }
}

/// What one round of substitutions came to.
struct Round {
    improved: bool,
    /// Length of the longest list.
    longest: usize,
}

#[cfg(test)]
mod tests {
    use libafl_bolts::rands::StdRand;

    use super::*;
    use crate::{
        testing::{Counted, exact},
        view::Kind,
    };

    fn solve(layout: &Layout, mut f: Counted<impl FnMut(&[u8]) -> u64>) -> (Result<u64, Stop>, u64) {
        let mut x = vec![0; layout.size()];
        let mut avm = Avm::new(Arc::default());
        let result = avm.minimize(&mut f, &mut x, layout, &mut StdRand::with_seed(2));
        (result, f.made)
    }

    #[test]
    fn a_zero_at_the_start_costs_one_evaluation() {
        assert_eq!(solve(&Layout::doubles(8), Counted::new(9, |_: &[u8]| 0)), (Ok(0), 1));
    }

    #[test]
    fn coupled_arguments_are_found_by_substitution() {
        // Flat but for two equalities: only a constant, then a copy of the other argument help.
        let f = exact(|x: &[f64]| 2 * u64::from(x[0] != 1.5) + u64::from(x[1] != -x[0] || x[1] == 0.0));
        let (result, made) = solve(&Layout::doubles(16), Counted::new(5000, f));
        assert_eq!(result, Ok(0), "{made} evaluations");
    }

    #[test]
    fn integers_and_bools_are_searched_too() {
        let layout = Layout::packed(&[Kind::I32, Kind::Bool, Kind::U64]);
        let slots = layout.slots().to_vec();
        let f = move |x: &[u8]| {
            let (a, b, c) = (slots[0].get(x) as i32, slots[1].get(x), slots[2].get(x));
            u64::from(a.abs_diff(-12_345)) + (1 - b) + (c.abs_diff(1 << 60) >> 2)
        };
        let (result, made) = solve(&layout, Counted::new(200, f));
        assert_eq!(result, Ok(0), "{made} evaluations");
    }

    #[test]
    fn a_local_minimum_ends_the_search() {
        let (result, made) = solve(&Layout::doubles(8), Counted::new(1_000_000, |_: &[u8]| 7));
        assert_eq!(result, Ok(7), "{made} evaluations");
    }
}
