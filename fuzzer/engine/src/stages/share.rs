//! How evaluations are divided between minimization and havoc: by what each has found lately.

use libafl_bolts::impl_serdeany;
use serde::{Deserialize, Serialize};

/// What havoc gets of every turn at least and at most. Each can do what the other cannot: havoc has no goal and no
/// distance, minimization changes numbers only.
const LEAST: f64 = 1.0 / 64.0;
const MOST: f64 = 0.25;

/// Evaluations after which a find counts half.
const HALF_LIFE: f64 = 20_000.0;

/// Finds per evaluation that are as good as none.
const NOTHING: f64 = 1.0 / HALF_LIFE;

/// Evaluations and finds of one of the two, both fading.
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

    /// Finds per evaluation.
    fn rate(&self) -> f64 {
        self.finds / (self.evaluations + HALF_LIFE / 16.0)
    }
}

/// Metadata of the LibAFL state.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Shares {
    minimization: Yield,
    havoc: Yield,
    /// Evaluations that minimization has made since havoc's last turn.
    ahead: u64,
}

impl_serdeany!(Shares);

/// Finds that both are believed to have made before the first evaluation: the beginning is where havoc finds most.
const HOPE: f64 = 4.0;

impl Default for Shares {
    fn default() -> Self {
        let hope = Yield { finds: HOPE, evaluations: 0.0 };
        Self { minimization: hope, havoc: hope, ahead: 0 }
    }
}

impl Shares {
    /// Notes a turn of minimization.
    pub fn note_minimization(&mut self, evaluations: u64, finds: usize) {
        self.fade(evaluations);
        self.minimization.note(evaluations, finds);
        self.ahead += evaluations;
    }

    /// Notes a turn of havoc.
    pub fn note_havoc(&mut self, evaluations: u64, finds: usize) {
        self.fade(evaluations);
        self.havoc.note(evaluations, finds);
        self.ahead = 0;
    }

    /// Both fade with all evaluations, those of minimization and those of havoc.
    fn fade(&mut self, evaluations: u64) {
        self.minimization.fade(evaluations);
        self.havoc.fade(evaluations);
    }

    /// Evaluations for the next turn of havoc.
    #[must_use]
    pub fn of_havoc(&self) -> u64 {
        let (havoc, minimization) = (self.havoc.rate(), self.minimization.rate());
        // Where neither finds anything, an evaluation of havoc is the dearer one: a mutant costs more than a step on a line.
        let share = (havoc / (havoc + minimization + NOTHING)).clamp(LEAST, MOST);
        (self.ahead as f64 * share / (1.0 - share)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_finds_more_gets_more() {
        let turn = |havoc: usize, minimization: usize| {
            let mut shares = Shares::default();
            for _ in 0..20 {
                shares.note_minimization(1000, minimization);
                shares.note_havoc(1000, havoc);
            }
            shares.note_minimization(1000, 0);
            shares.of_havoc()
        };
        assert!(turn(5, 0) > 4 * turn(0, 5), "{} {}", turn(5, 0), turn(0, 5));
        assert!(turn(0, 1000) >= 15, "never nothing: {}", turn(0, 1000));
    }

    #[test]
    fn old_finds_fade() {
        let mut shares = Shares::default();
        shares.note_minimization(100, 0);
        shares.note_havoc(100, 50);
        shares.note_minimization(1000, 0);
        let before = shares.of_havoc();
        shares.note_minimization(1_000_000, 0);
        shares.note_havoc(1_000_000, 0);
        shares.note_minimization(1000, 0);
        let after = shares.of_havoc();
        assert!(before > 10 * after && after > 0, "{before} {after}");
    }
}
