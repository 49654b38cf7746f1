//! The roundings of the run at a point.

use penfuzz_mutators::{
    extremes::{COORDINATES, Roundings},
    line,
    view::Kind,
};

use super::{super::roundings::Runs, Objective};

impl Objective<'_> {
    /// `None` where they are not known.
    pub(super) fn roundings_at(&mut self, position: u64, jumps: [i64; COORDINATES]) -> Option<Roundings> {
        let number = |position: u64| f64::from_bits(line::raw(Kind::F64, position));
        let x = number(position);
        let ulp = number(position.checked_add(1)?) - x;
        if !self.trace(position, 0) {
            return None;
        }
        let y = f64::from_bits(self.pair.twin.as_ref()?.evaluator.result());
        let mut times = [1.0; COORDINATES];
        let is_congruent = jumps[1] != 0;
        if is_congruent {
            for (i, jump) in jumps.iter().enumerate() {
                // Back, where a step forwards leads to another binade.
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
        let (high, low) = self.reference(x)?;
        if !high.is_normal() {
            return None;
        }
        let unit = f64::from_bits((high.to_bits() >> 52 & 0x7ff).checked_sub(52).filter(|e| *e > 0)? << 52);
        let [trace, first, second] = &self.traced;
        let runs = Runs {
            trace,
            x: (x, ulp),
            steps: jumps.map(|jump| jump as f64 * ulp),
            others: is_congruent.then_some([(&first[..], times[0]), (&second[..], times[1])]),
        };
        let all = self.roundings.of(&runs, (y, 1.0 / unit))?;
        Some(Roundings { error: ((y - high) - low) / unit, all })
    }

    /// Records the operations of a run.
    fn trace(&mut self, position: u64, to: usize) -> bool {
        self.place(&[position]);
        let Some(twin) = self.pair.twin.as_mut() else { return false };
        twin.evaluator.trace_again(&self.x, &mut self.traced[to])
    }
}

/// Are numbers of one sign and exponent?
fn same_binade(a: f64, b: f64) -> bool {
    a.to_bits() >> 52 == b.to_bits() >> 52
}
