//! The roundings of the run at a point.

use penfuzz_mutators::{extremes::Roundings, line, view::Kind};

use super::Objective;

impl Objective<'_> {
    /// `None` where they are not known.
    pub(super) fn roundings_at(&mut self, position: u64) -> Option<Roundings> {
        let x = f64::from_bits(line::raw(Kind::F64, position));
        let next = f64::from_bits(line::raw(Kind::F64, position.checked_add(1)?));
        self.place(&[position]);
        let twin = self.pair.twin.as_mut()?;
        if !twin.evaluator.trace_again(&self.x, &mut self.traced) {
            return None;
        }
        let y = f64::from_bits(twin.evaluator.result());
        let (high, low) = self.reference(x)?;
        if !high.is_normal() {
            return None;
        }
        let ulp = f64::from_bits((high.to_bits() >> 52 & 0x7ff).checked_sub(52).filter(|e| *e > 0)? << 52);
        let all = self.roundings.of(&self.traced, (x, next - x), (y, 1.0 / ulp))?;
        Some(Roundings { error: ((y - high) - low) / ulp, all })
    }
}
