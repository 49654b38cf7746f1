//! Divides the evaluations between minimization and the secondary searches, by what each has found lately.

use libafl::HasMetadata;
use libafl_bolts::impl_serdeany;
use serde::{Deserialize, Serialize};

use penfuzz_executor::PenEvaluator;

/// Minimum and (`MOST`) maximum share of one secondary search in every round. Each search can do what the others
/// cannot: havoc has no goal and no distance, structured values try all goals at once, minimization changes numbers
/// only.
const LEAST: f64 = 1.0 / 64.0;
const MOST: f64 = 0.25;

/// In a secondary search, the fuel of an evaluation is the whole fuel divided by two to this power.
const FUEL_CAP: u32 = 6;

/// Number of evaluations after which a find counts half.
const HALF_LIFE: f64 = 20_000.0;

/// Number of finds per evaluation that is negligible.
const NEGLIGIBLE_RATE: f64 = 1.0 / HALF_LIFE;

/// A secondary search, in addition to minimization.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecondarySearch {
    Havoc,
    Sampling,
}

/// The length of a round.
#[derive(Debug, Clone, Copy)]
pub(super) enum RoundLength {
    Fixed(u64),
    /// Depends on what the search and minimization have found lately.
    Shared(SecondarySearch),
}

impl RoundLength {
    /// Number of evaluations of the next round.
    pub(super) fn budget<S: HasMetadata>(self, state: &mut S) -> u64 {
        match self {
            Self::Fixed(evaluations) => evaluations,
            Self::Shared(search) => state.metadata_or_insert_with(Shares::default).of(search),
        }
    }

    /// Records a round.
    pub(super) fn note<S: HasMetadata>(self, state: &mut S, evaluations: u64, finds: usize) {
        if let Self::Shared(search) = self {
            state.metadata_or_insert_with(Shares::default).note(search, evaluations, finds);
        }
    }

    /// Limits the fuel of evaluations in secondary searches, so that short evaluations come first.
    pub(super) fn limit_fuel<V: PenEvaluator>(self, evaluator: &mut V) {
        if matches!(self, Self::Shared(_)) {
            evaluator.set_fuel_cap(evaluator.fuel() >> FUEL_CAP);
        }
    }
}

/// Evaluations and finds of one search; both decay with time.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
struct Yield {
    evaluations: f64,
    finds: f64,
}

impl Yield {
    fn fade(&mut self, evaluations: u64) {
        let fading = (-(evaluations as f64) / HALF_LIFE).exp2();
        self.evaluations *= fading;
        self.finds *= fading;
    }

    fn note(&mut self, evaluations: u64, finds: usize) {
        self.evaluations += evaluations as f64;
        self.finds += finds as f64;
    }

    /// Number of finds per evaluation.
    fn rate(&self) -> f64 {
        self.finds / (self.evaluations + HALF_LIFE / 16.0)
    }
}

/// The finds of a secondary search, and the evaluations that minimization has made since its last round.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
struct Account {
    found: Yield,
    ahead: u64,
}

/// The finds of all searches; metadata of the LibAFL state.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Shares {
    minimization: Yield,
    /// The secondary searches, indexed by [`SecondarySearch`].
    beside: [Account; 2],
}

impl_serdeany!(Shares);

/// Finds that each search is credited with before the first evaluation, because secondary searches find most at the
/// beginning.
const INITIAL_FINDS: f64 = 4.0;

impl Default for Shares {
    fn default() -> Self {
        let hope = Yield { finds: INITIAL_FINDS, evaluations: 0.0 };
        Self { minimization: hope, beside: [Account { found: hope, ahead: 0 }; 2] }
    }
}

impl Shares {
    /// Records a round of minimization.
    pub fn note_minimization(&mut self, evaluations: u64, finds: usize) {
        self.fade(evaluations);
        self.minimization.note(evaluations, finds);
        for account in &mut self.beside {
            account.ahead += evaluations;
        }
    }

    /// Records a round of a secondary search.
    pub fn note(&mut self, search: SecondarySearch, evaluations: u64, finds: usize) {
        self.fade(evaluations);
        let account = &mut self.beside[search as usize];
        account.found.note(evaluations, finds);
        account.ahead = 0;
    }

    /// Lets the counts of all searches decay, whichever search made the evaluations.
    fn fade(&mut self, evaluations: u64) {
        self.minimization.fade(evaluations);
        for account in &mut self.beside {
            account.found.fade(evaluations);
        }
    }

    /// Number of evaluations for the next round of a secondary search.
    #[must_use]
    pub fn of(&self, search: SecondarySearch) -> u64 {
        let Account { found, ahead } = self.beside[search as usize];
        // If neither finds anything, an evaluation of havoc costs more: a mutant costs more than a step on a line.
        let share = (found.rate() / (found.rate() + self.minimization.rate() + NEGLIGIBLE_RATE)).clamp(LEAST, MOST);
        (ahead as f64 * share / (1.0 - share)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_with_more_finds_gets_more_evaluations() {
        let turn = |havoc: usize, minimization: usize| {
            let mut shares = Shares::default();
            for _ in 0..20 {
                shares.note_minimization(1000, minimization);
                shares.note(SecondarySearch::Havoc, 1000, havoc);
            }
            shares.note_minimization(1000, 0);
            shares.of(SecondarySearch::Havoc)
        };
        assert!(turn(5, 0) > 4 * turn(0, 5), "{} {}", turn(5, 0), turn(0, 5));
        assert!(turn(0, 1000) >= 15, "at least the minimum share: {}", turn(0, 1000));
    }

    #[test]
    fn each_has_turns_of_its_own() {
        let mut shares = Shares::default();
        shares.note_minimization(1000, 0);
        assert_eq!(shares.of(SecondarySearch::Havoc), shares.of(SecondarySearch::Sampling));
        shares.note(SecondarySearch::Havoc, 100, 0);
        assert_eq!(shares.of(SecondarySearch::Havoc), 0);
        assert!(shares.of(SecondarySearch::Sampling) > 100, "{}", shares.of(SecondarySearch::Sampling));
    }

    #[test]
    fn old_finds_fade() {
        let mut shares = Shares::default();
        shares.note_minimization(100, 0);
        shares.note(SecondarySearch::Havoc, 100, 50);
        shares.note_minimization(1000, 0);
        let before = shares.of(SecondarySearch::Havoc);
        shares.note_minimization(1_000_000, 0);
        shares.note(SecondarySearch::Havoc, 1_000_000, 0);
        shares.note_minimization(1000, 0);
        let after = shares.of(SecondarySearch::Havoc);
        assert!(before > 10 * after && after > 0, "{before} {after}");
    }
}
