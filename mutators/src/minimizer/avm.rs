//! The default minimizer: alternating variables on the ULP line, with substitutions.
//!
//! # Algorithm
//! 1. Line searches: minimize along the [ULP line](crate::line) of each number in turn, by exploratory moves and secant
//!    steps. Repeat until a round over all numbers does not decrease the value, or until 3 rounds have decreased it by
//!    less than a quarter each.
//! 2. Substitutions: try the first candidate of each of the [`MOVES`] for each number, then the second ones, and so on,
//!    because the first candidates of every list are the likely ones. In runs of bytes, also try the candidates of the
//!    [`RUN_MOVES`]. After a decrease by a quarter or more, go to step 1.
//! 3. When a whole cycle of step 2 has not decreased the value: search both edges of the plateau of each number, where
//!    the value increases. After a decrease, go to step 1; otherwise the point is a local minimum.
//!
//! A candidate of step 2 with the same value is accepted with probability 1/8, because the value of a condition such as
//! `(n & 1) == 0` is the same almost everywhere.
//!
//! The search does not allocate, except for one buffer if the layout has runs of bytes and the dictionary has tokens.
//! It is valid for every metric. With [`Metric::Ulp`](crate::evaluate::Metric::Ulp) the secant steps are exact, and a
//! comparison with a constant takes two or three evaluations.
//!
//! # Reference
//! B. Korel, *Automated Software Test Data Generation*, IEEE TSE 16(8), 1990.

use std::sync::Arc;

use libafl_bolts::rands::Rand;

use super::{
    LocalMinimizer, edge,
    line_ulp::{self, is_slow},
    probe::{Probe, Verdict},
};
use crate::{
    dictionary::Dictionary,
    evaluate::{RepresentingFunction, Stop},
    moves::{At, MOVES, RUN_MOVES},
    view::Layout,
};

/// One candidate in this many is accepted if it has the same value.
const TIES: usize = 8;

/// Maximum number of rounds of step 1 with slow gains, see [`is_slow`].
const MAX_SLOW: u32 = 2;

/// Minimizes by line searches on the ULP line of each number, then by substitution of the candidates of all [`MOVES`],
/// then by a search at the edges of plateaus; the [module](self) has the steps. Ends at a local minimum of all of
/// these.
///
/// Exact for all kinds of numbers; NaN, infinities and signed zeros are points of the ULP line like others.
#[derive(Debug, Clone)]
pub struct Avm {
    dictionary: Arc<Dictionary>,
    lines_only: bool,
}

impl Avm {
    /// A minimizer whose substitutions include the values of the dictionary.
    #[must_use]
    pub fn new(dictionary: Arc<Dictionary>) -> Self {
        Self { dictionary, lines_only: false }
    }

    /// Makes the minimizer end after step 1, and begin it with a random number of the layout: tens of evaluations
    /// instead of hundreds, for use from many starts.
    #[must_use]
    pub fn lines_only(self) -> Self {
        Self { lines_only: true, ..self }
    }

    /// The name under which [`create`](super::create) finds it: [`LocalMinimizer::name`] for any generator.
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
            // The start is often a perturbation of a point that satisfies a condition before the wanted one. With a
            // fixed order, the perturbed number, if it were the first, would always be moved back before any other is
            // tried.
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

/// The constants of one minimization.
struct Search<'a> {
    layout: &'a Layout,
    dictionary: &'a Dictionary,
}

impl Search<'_> {
    /// Step 1, beginning with slot number `first`. Does nothing while the site is not reached, because the value has no
    /// slope.
    fn lines(&self, probe: &mut Probe, first: usize) -> Result<(), Stop> {
        let mut slow_gains = 0;
        while slow_gains <= MAX_SLOW {
            let before = probe.best();
            let slots = self.layout.slots();
            for i in (first..slots.len()).chain(0..first) {
                if probe.is_done() || probe.best() == u64::MAX {
                    return Ok(());
                }
                if self.layout.is_active(i, probe.x()) {
                    line_ulp::minimize(probe, slots[i])?;
                }
            }
            if probe.best() == before {
                break;
            }
            slow_gains += u32::from(is_slow(probe.metric(), before, probe.best()));
        }
        Ok(())
    }

    /// Step 3; returns whether the value decreased.
    fn edges(&self, probe: &mut Probe) -> Result<bool, Stop> {
        for (i, &slot) in self.layout.slots().iter().enumerate() {
            let matters = probe.best() != u64::MAX && self.layout.is_active(i, probe.x());
            if matters && edge::search(probe, slot)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Step 2.
    fn substitutions<R: Rand>(&self, probe: &mut Probe, rng: &mut R) -> Result<(), Stop> {
        let (mut index, mut rounds_without_gain) = (0, 0);
        loop {
            let round = self.round(probe, rng, index)?;
            if probe.is_done() || round.longest == 0 {
                return Ok(());
            }
            rounds_without_gain = if round.improved { 0 } else { rounds_without_gain + 1 };
            if rounds_without_gain >= round.longest {
                return Ok(());
            }
            index = (index + 1) % round.longest;
        }
    }

    /// One round of step 2: candidate number `index` of every list that has one.
    fn round<R: Rand>(&self, probe: &mut Probe, rng: &mut R, index: usize) -> Result<Round, Stop> {
        let mut round = Round { improved: false, longest: 0 };
        for (i, &slot) in self.layout.slots().iter().enumerate() {
            if !self.layout.is_active(i, probe.x()) {
                continue;
            }
            for choice in MOVES {
                let at = At::new(probe.x(), self.layout, i, self.dictionary);
                let count = choice.count(&at);
                round.longest = round.longest.max(count);
                if index >= count {
                    continue;
                }
                let raw = choice.candidate(&at, index);
                let (keep_ties, before) = (rng.below_or_zero(TIES) == 0, probe.best());
                let verdict = probe.try_raw(slot, raw, keep_ties)?;
                if self.is_done_after(probe, &mut round, verdict, before)? {
                    return Ok(round);
                }
            }
            for choice in RUN_MOVES {
                let at = At::new(probe.x(), self.layout, i, self.dictionary);
                let count = choice.count(&at);
                round.longest = round.longest.max(count);
                let Some(span) = (index < count).then(|| choice.span(&at, index)).flatten() else { continue };
                let (keep_ties, before) = (rng.below_or_zero(TIES) == 0, probe.best());
                let verdict = probe.try_bytes(span, |bytes| choice.write(self.dictionary, index, bytes), keep_ties)?;
                if self.is_done_after(probe, &mut round, verdict, before)? {
                    return Ok(round);
                }
            }
        }
        Ok(round)
    }

    /// Continues after a trial of step 2, before which the value was `before`. Returns whether the value is 0 now.
    fn is_done_after(&self, probe: &mut Probe, round: &mut Round, verdict: Verdict, before: u64) -> Result<bool, Stop> {
        if verdict != Verdict::Better {
            return Ok(false);
        }
        round.improved = true;
        // After a slow gain, line searches would repeat what they did before.
        if !is_slow(probe.metric(), before, probe.best()) {
            self.lines(probe, 0)?;
        }
        Ok(probe.is_done())
    }
}

/// The result of one round of substitutions.
struct Round {
    /// Whether the value decreased.
    improved: bool,
    /// Length of the longest list of candidates.
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
        (result, f.evaluations)
    }

    #[test]
    fn a_zero_at_the_start_costs_one_evaluation() {
        assert_eq!(solve(&Layout::doubles(8), Counted::new(9, |_: &[u8]| 0)), (Ok(0), 1));
    }

    #[test]
    fn coupled_arguments_are_found_by_substitution() {
        // The value is constant except for two equalities. Only a constant satisfies the first, and then the other
        // argument satisfies the second.
        let f = exact(|x: &[f64]| 2 * u64::from(x[0] != 1.5) + u64::from(x[1] != -x[0] || x[1] == 0.0));
        let (result, n) = solve(&Layout::doubles(16), Counted::new(5000, f));
        assert_eq!(result, Ok(0), "{n} evaluations");
    }

    #[test]
    fn integers_and_bools_are_searched_too() {
        let layout = Layout::packed(&[Kind::I32, Kind::Bool, Kind::U64]);
        let slots = layout.slots().to_vec();
        let f = move |x: &[u8]| {
            let (a, b, c) = (slots[0].get(x) as i32, slots[1].get(x), slots[2].get(x));
            u64::from(a.abs_diff(-12_345)) + (1 - b) + (c.abs_diff(1 << 60) >> 2)
        };
        let (result, n) = solve(&layout, Counted::new(200, f));
        assert_eq!(result, Ok(0), "{n} evaluations");
    }

    /// Number of evaluations until the function is 0, from a start of zeros, with these tokens.
    fn solve_with_tokens(layout: &Layout, tokens: &[&[u8]], is_wanted: impl Fn(&[u8]) -> bool) -> u64 {
        let mut f = Counted::new(100_000, |x: &[u8]| u64::from(!is_wanted(x)));
        let mut avm = Avm::new(Arc::new(Dictionary::general().with_tokens(tokens.iter().map(|t| t.to_vec()))));
        let result = avm.minimize(&mut f, &mut vec![0; layout.size()], layout, &mut StdRand::with_seed(2));
        assert_eq!(result, Ok(0), "{} evaluations", f.evaluations);
        f.evaluations
    }

    #[test]
    fn tokens_are_found_without_a_distance() {
        let layout = Layout::packed(&[Kind::U8; 12]);
        let tokens: [&[u8]; 3] = [b"TRUE", b"FALSE", b","];
        let anywhere = |x: &[u8]| x.windows(5).any(|w| w == b"FALSE");
        let n = solve_with_tokens(&layout, &tokens, anywhere);
        assert!(n <= 600, "{n} evaluations");
        let both = |x: &[u8]| x.windows(6).any(|w| w == b"FALSE," || w == b",FALSE");
        let in_steps = |x: &[u8]| u64::from(!anywhere(x)) + u64::from(!both(x));
        let mut f = Counted::new(100_000, in_steps);
        let mut avm = Avm::new(Arc::new(Dictionary::general().with_tokens(tokens.map(<[u8]>::to_vec))));
        let result = avm.minimize(&mut f, &mut [0; 12], &layout, &mut StdRand::with_seed(2));
        assert_eq!(result, Ok(0), "{} evaluations", f.evaluations);
    }

    /// The distance to a text with GGA at a fixed place, for a condition that is evaluated only if the checksum is
    /// right. The format is `$`, any text, `*`, and the exclusive or of the text as two hexadecimal digits.
    fn distance_after_checksum(x: &[u8]) -> u64 {
        let Some(end) = x.iter().position(|b| *b == b'*').filter(|end| end + 2 < x.len()) else { return u64::MAX };
        let sum = x[1..end].iter().fold(0, |sum, b| sum ^ b);
        if x[0] != b'$' || format!("{sum:02X}").as_bytes() != &x[end + 1..end + 3] {
            return u64::MAX;
        }
        x[3..6].iter().zip(b"GGA").map(|(a, b)| u64::from(a.abs_diff(*b))).sum()
    }

    #[test]
    fn a_token_is_found_behind_a_checksum() {
        for start in [*b"$AAAAAAAA*00", *b"$abcdefgh*08"] {
            let mut f = Counted::new(4_000, distance_after_checksum);
            let tokens = [b"GGA".to_vec(), b"RMC".to_vec(), b",".to_vec()];
            let mut avm = Avm::new(Arc::new(Dictionary::general().with_tokens(tokens)));
            let result =
                avm.minimize(&mut f, &mut start.clone(), &Layout::packed(&[Kind::I8; 12]), &mut StdRand::with_seed(2));
            assert_eq!(result, Ok(0), "{} evaluations", f.evaluations);
        }
    }

    #[test]
    fn a_local_minimum_ends_the_search() {
        let (result, n) = solve(&Layout::doubles(8), Counted::new(1_000_000, |_: &[u8]| 7));
        assert_eq!(result, Ok(7), "{n} evaluations");
    }
}
