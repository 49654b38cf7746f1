//! Roundings of the run at a point, and their contributions to its error.

use penfuzz_mutators::{
    extremes::{COORDINATES, Roundings},
    line,
    view::Kind,
};

use super::{
    super::{
        roundings::Runs,
        sources::{Source, Sources},
        worker::Message,
    },
    Objective,
};

/// Least ulp for which roundings are computed: 4096 times the smallest double.
const LEAST_UNIT: f64 = f64::from_bits(1 << 12);

impl Objective<'_> {
    /// Returns the roundings of the run at a position, and how they move along `jumps`, in positions; `None` if they
    /// are not known.
    pub(super) fn roundings_at(&mut self, position: u64, jumps: [i64; COORDINATES]) -> Option<Roundings> {
        if !self.pair.has_roundings() {
            return None;
        }
        let x = number(position);
        let ulp = number(position.checked_add(1)?) - x;
        let y = self.record(position)?;
        let mut times = [1.0; COORDINATES];
        let is_congruent = jumps[1] != 0;
        if is_congruent {
            for (i, jump) in jumps.iter().enumerate() {
                // Step backwards if a step forwards leads to another binade.
                let steps = [*jump, jump.checked_neg()?];
                let at = steps.map(|steps| position.checked_add_signed(steps));
                let is_beside = |at: &Option<u64>| at.is_some_and(|at| same_binade(number(at), x));
                let side = at.iter().position(is_beside)?;
                times[i] = if side == 0 { 1.0 } else { -1.0 };
                if !self.trace(at[side]?, i + 1) {
                    return None;
                }
            }
        }
        let (error, unit) = self.error_at(x, y)?;
        let [trace, first, second] = &self.traced;
        let runs = Runs {
            trace,
            x: (x, ulp),
            steps: jumps.map(|jump| jump as f64 * ulp),
            others: is_congruent.then_some([(&first[..], times[0]), (&second[..], times[1])]),
        };
        let all = self.roundings.of(&runs, (y, unit))?;
        Some(Roundings { error, all, fixed: self.roundings.fixed() })
    }

    /// Sends the contribution of each operation to the error at an input, if it is known.
    pub(crate) fn send_sources(&mut self, bytes: &[u8]) {
        let Some(slot) = self.pair.layout().slots().first().filter(|_| self.pair.has_roundings()) else { return };
        let position = line::position(slot.kind, slot.get(bytes));
        if let Some(sources) = self.sources_at(position) {
            self.send(&Message::Sources(sources));
        }
    }

    fn sources_at(&mut self, position: u64) -> Option<Sources> {
        let y = self.record(position)?;
        let x = number(position);
        let (error, unit) = self.error_at(x, y)?;
        let trace = &self.traced[0];
        let runs = Runs { trace, x: (x, 0.0), steps: [0.0; COORDINATES], others: None };
        let all = self.roundings.contributions(&runs, (y, unit))?;
        let evaluator = &self.pair.twin.as_ref()?.evaluator;
        let source = |(at, ulp): (usize, f64)| Source { branch: evaluator.branch_at(trace[at].actions), ulp };
        Some(Sources::of(error, all.into_iter().map(source)))
    }

    /// Records the operations of the run at a position. Returns its result.
    fn record(&mut self, position: u64) -> Option<f64> {
        if !self.trace(position, 0) {
            return None;
        }
        Some(f64::from_bits(self.pair.twin.as_ref()?.evaluator.result()))
    }

    /// Returns the error of a result in units in the last place of the exact value, and this unit.
    fn error_at(&mut self, x: f64, y: f64) -> Option<(f64, f64)> {
        let (high, low) = self.reference(x)?;
        if !high.is_normal() {
            return None;
        }
        let exponent = high.to_bits() >> 52 & 0x7ff;
        let unit = match exponent.checked_sub(52) {
            Some(e) if e > 0 => f64::from_bits(e << 52),
            _ => f64::from_bits(1 << (exponent - 1)),
        };
        // Below that the low part of the reference has too few bits.
        (unit >= LEAST_UNIT).then_some((((y - high) - low) / unit, unit))
    }

    /// Records the operations of the run at a position into buffer `to`. Returns false if that fails.
    fn trace(&mut self, position: u64, to: usize) -> bool {
        self.place(&[position]);
        let Some(twin) = self.pair.twin.as_mut() else { return false };
        twin.evaluator.trace_again(&self.x, &mut self.traced[to])
    }
}

fn number(position: u64) -> f64 {
    f64::from_bits(line::raw(Kind::F64, position))
}

/// Returns whether both numbers have the same sign and exponent.
fn same_binade(a: f64, b: f64) -> bool {
    a.to_bits() >> 52 == b.to_bits() >> 52
}
