//! Detects sums and differences inside a function that cancel: their result has lost most of the bits of the operands.

use penfuzz_abi::{Traced, operation as op};

use super::Objective;

/// Mask of the operation in [`Traced::what`].
const OPERATION: u32 = 0xff;
/// A sum cancels if its result is smaller than the larger operand by this factor: 20 bits are lost.
const CANCELS: f64 = 1.0 / 1_048_576.0;

impl Objective<'_> {
    /// Returns whether the operations of the function can be recorded.
    pub(crate) fn has_operations(&self) -> bool {
        self.pair.twin.is_some()
    }

    /// Returns the signs of the sums and differences of a run: for each, twice its branch, plus 1 for a negative
    /// result. Sorted, without duplicates; empty if the operations cannot be recorded.
    pub(crate) fn signs_of_sums(&mut self, at: &[u64]) -> Vec<u32> {
        if !self.record_at(at) {
            return Vec::new();
        }
        let Some(twin) = &self.pair.twin else { return Vec::new() };
        let sums = self.traced[0].iter().filter_map(|traced| Some((traced, sum(traced)?)));
        let code = |(traced, (_, result)): (&Traced, (f64, f64))| {
            2 * twin.evaluator.branch_at(traced.actions) as u32 + u32::from(result < 0.0)
        };
        let mut codes: Vec<u32> = sums.map(code).collect();
        codes.sort_unstable();
        codes.dedup();
        codes
    }

    /// Returns whether a sum or difference cancels in the run at a point.
    pub(crate) fn cancels(&mut self, at: &[u64]) -> bool {
        let cancels = |(size, result): (f64, f64)| result.abs() < CANCELS * size;
        self.record_at(at) && self.traced[0].iter().filter_map(sum).any(cancels)
    }

    fn record_at(&mut self, at: &[u64]) -> bool {
        self.place(at);
        let Some(twin) = self.pair.twin.as_mut() else { return false };
        twin.evaluator.trace_again(&self.x, &mut self.traced[0])
    }
}

/// Returns the size of the larger operand and the result, for a sum or difference of floats.
fn sum(traced: &Traced) -> Option<(f64, f64)> {
    let [a, b, c] = traced.operands.map(f64::from_bits);
    let size = match traced.what & OPERATION {
        op::ADD | op::SUBTRACT => a.abs().max(b.abs()),
        op::FMA => (a * b).abs().max(c.abs()),
        _ => return None,
    };
    Some((size, f64::from_bits(traced.result))).filter(|(size, result)| size.is_finite() && !result.is_nan())
}
