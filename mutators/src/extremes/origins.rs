//! The choice of how new windows are proposed, by the yield of earlier windows.
//!
//! Probability matching (Goldberg, 1990; Thierens, *An Adaptive Pursuit Strategy for Allocating Operator
//! Probabilities*, GECCO 2005): the probability of a proposal is proportional to the points expected in its windows.

use libafl_bolts::rands::Rand;

/// Number of binary exponents of the distance to a place.
pub(super) const DISTANCES: usize = 28;
/// Decay factor of the statistics per round.
const MEMORY: f64 = 0.95;
/// Minimum (decayed) number of windows of a proposal before its yield counts.
const TRIED: f64 = 4.0;
/// One window in this many is drawn by the yield of earlier ones.
const YIELD_INTERVAL: usize = 2;

/// How a window is proposed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Proposal {
    /// At any place.
    New,
    /// At a distance from one of the best windows, or from one of those next to which better ones may lie. The field is
    /// the index of the binary exponent of the distance.
    Best(usize),
    Reach(usize),
}

impl Proposal {
    const ALL: usize = 1 + 2 * DISTANCES;

    fn number(self) -> usize {
        match self {
            Self::New => 0,
            Self::Best(k) => 1 + k,
            Self::Reach(k) => 1 + DISTANCES + k,
        }
    }

    fn with_number(number: usize) -> Self {
        match number.checked_sub(1) {
            None => Self::New,
            Some(k) if k < DISTANCES => Self::Best(k),
            Some(k) => Self::Reach(k - DISTANCES),
        }
    }
}

/// Decayed statistics of one proposal: the number of its windows, and the sum of its shares of the points expected in
/// each round.
#[derive(Debug, Clone, Copy, Default)]
struct Yield {
    tried: f64,
    share: f64,
    /// Number of points expected in this round.
    expected: f64,
}

impl Yield {
    fn of_one(self) -> f64 {
        if self.tried < TRIED { 0.0 } else { self.share / self.tried }
    }
}

/// The statistics of all proposals, by number.
#[derive(Debug)]
pub(super) struct ProposalStats([Yield; Proposal::ALL]);

impl Default for ProposalStats {
    fn default() -> Self {
        Self([Yield::default(); Proposal::ALL])
    }
}

impl ProposalStats {
    /// Counts a window of this proposal.
    pub fn note_tried(&mut self, origin: Proposal) {
        self.0[origin.number()].tried += 1.0;
    }

    /// Records the expected number of points better than the best in a window of this proposal; more than 1 count as 1.
    pub fn note_expected(&mut self, origin: Proposal, points: f64) {
        self.0[origin.number()].expected += points.min(1.0);
    }

    /// Ends a round: updates the shares and applies the decay.
    pub fn end_round(&mut self) {
        let all: f64 = self.0.iter().map(|one| one.expected).sum();
        for one in &mut self.0 {
            let share = if all > 0.0 { one.expected / all } else { 0.0 };
            *one = Yield { tried: MEMORY * one.tried, share: MEMORY * (one.share + share), expected: 0.0 };
        }
    }

    /// Draws the proposal of the next window by the yields. `None` if it should not depend on them.
    pub fn draw<R: Rand>(&self, rng: &mut R) -> Option<Proposal> {
        let all: f64 = self.0.iter().map(|one| one.of_one()).sum();
        if rng.below_or_zero(YIELD_INTERVAL) > 0 || all <= 0.0 {
            return None;
        }
        let mut rest = rng.next_float() * all;
        let is_drawn = |one: &Yield| {
            rest -= one.of_one();
            rest < 0.0
        };
        self.0.iter().position(is_drawn).map(Proposal::with_number)
    }
}

#[cfg(test)]
mod tests {
    use libafl_bolts::rands::StdRand;

    use super::*;

    #[test]
    fn an_origin_has_a_number() {
        for number in 0..Proposal::ALL {
            assert_eq!(Proposal::with_number(number).number(), number);
        }
    }

    /// One of three proposals yields nine tenths of the expected points; later another one does, with far fewer points.
    #[test]
    fn origins_of_good_windows_are_drawn_more_often() {
        let [none, good, other] = [Proposal::New, Proposal::Best(3), Proposal::Reach(20)];
        let mut origins = ProposalStats::default();
        let mut rng = StdRand::with_seed(1);
        assert_eq!(origins.draw(&mut rng), None, "nothing is known");
        let mut turns = |origins: &mut ProposalStats, (good, other, points): (Proposal, Proposal, f64), n: usize| {
            for _ in 0..n {
                for origin in [none, good, other] {
                    for _ in 0..20 {
                        origins.note_tried(origin);
                    }
                }
                origins.note_expected(good, 0.9 * points);
                origins.note_expected(other, 0.1 * points);
                origins.end_round();
            }
            let drawn: Vec<_> = (0..2000).filter_map(|_| origins.draw(&mut rng)).collect();
            let share = |of| drawn.iter().filter(|origin| **origin == of).count() as f64 / drawn.len() as f64;
            assert!((900..1100).contains(&drawn.len()), "half of them: {}", drawn.len());
            (share(none), share(good), share(other))
        };
        let (of_none, of_good, of_other) = turns(&mut origins, (good, other, 1.0), 10);
        assert!(of_none == 0.0 && (0.85..0.95).contains(&of_good) && of_other > 0.05, "{of_good} {of_other}");
        let (_, now_good, now_other) = turns(&mut origins, (other, good, 1e-6), 100);
        assert!((0.85..0.95).contains(&now_good) && now_other > 0.05, "{now_good} {now_other}");
    }
}
