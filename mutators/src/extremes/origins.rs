//! Where new windows come from, by what came of earlier ones.
//!
//! Probability matching (Goldberg, 1990; Thierens, *An Adaptive Pursuit Strategy for Allocating Operator Probabilities*, GECCO 2005): an origin is drawn as often as
//! much is to be expected of its windows.

use libafl_bolts::rands::Rand;

/// Exponents of the distance to a place.
pub(super) const DISTANCES: usize = 28;
/// What a turn before counts for one now.
const MEMORY: f64 = 0.95;
/// Windows of an origin from which on it counts.
const TRIED: f64 = 4.0;
/// Windows drawn by what came of others, in this many.
const OF: usize = 2;

/// Where a window comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// Anywhere.
    New,
    /// At a distance from one of the best windows, or of those beside which there may be better ones: the number of its exponent.
    Best(usize),
    Reach(usize),
}

impl Origin {
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

/// Of one origin: its windows, and what was to be expected in them, as a share of what was to be expected in all windows of the same turn.
#[derive(Debug, Clone, Copy, Default)]
struct Yield {
    tried: f64,
    share: f64,
    /// In this turn.
    expected: f64,
}

impl Yield {
    fn of_one(self) -> f64 {
        if self.tried < TRIED { 0.0 } else { self.share / self.tried }
    }
}

/// What came of windows of each origin.
#[derive(Debug)]
pub(super) struct Origins([Yield; Origin::ALL]);

impl Default for Origins {
    fn default() -> Self {
        Self([Yield::default(); Origin::ALL])
    }
}

impl Origins {
    /// A window of this origin.
    pub fn note_tried(&mut self, origin: Origin) {
        self.0[origin.number()].tried += 1.0;
    }

    /// So many points better than the best were to be expected in it.
    pub fn note_expected(&mut self, origin: Origin, points: f64) {
        self.0[origin.number()].expected += points.min(1.0);
    }

    /// A turn is over.
    pub fn end_turn(&mut self) {
        let all: f64 = self.0.iter().map(|one| one.expected).sum();
        for one in &mut self.0 {
            let share = if all > 0.0 { one.expected / all } else { 0.0 };
            *one = Yield { tried: MEMORY * one.tried, share: MEMORY * (one.share + share), expected: 0.0 };
        }
    }

    /// The origin of the next window, by what came of others. `None` for one that does not depend on that.
    pub fn draw<R: Rand>(&self, rng: &mut R) -> Option<Origin> {
        let all: f64 = self.0.iter().map(|one| one.of_one()).sum();
        if rng.below_or_zero(OF) > 0 || all <= 0.0 {
            return None;
        }
        let mut rest = rng.next_float() * all;
        let is_drawn = |one: &Yield| {
            rest -= one.of_one();
            rest < 0.0
        };
        self.0.iter().position(is_drawn).map(Origin::with_number)
    }
}

#[cfg(test)]
mod tests {
    use libafl_bolts::rands::StdRand;

    use super::*;

    #[test]
    fn an_origin_has_a_number() {
        for number in 0..Origin::ALL {
            assert_eq!(Origin::with_number(number).number(), number);
        }
    }

    /// Of three origins one has nine tenths of what is to be expected, and then another, for far fewer points.
    #[test]
    fn origins_of_good_windows_are_drawn_more_often() {
        let [none, good, other] = [Origin::New, Origin::Best(3), Origin::Reach(20)];
        let mut origins = Origins::default();
        let mut rng = StdRand::with_seed(1);
        assert_eq!(origins.draw(&mut rng), None, "nothing is known");
        let mut turns = |origins: &mut Origins, (good, other, points): (Origin, Origin, f64), n: usize| {
            for _ in 0..n {
                for origin in [none, good, other] {
                    for _ in 0..20 {
                        origins.note_tried(origin);
                    }
                }
                origins.note_expected(good, 0.9 * points);
                origins.note_expected(other, 0.1 * points);
                origins.end_turn();
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
