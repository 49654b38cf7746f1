//! Steps of plus or minus `2^k` on the [ULP line](crate::line): from the next value to the next binade and beyond.

use super::{At, Move};
use crate::line;

/// Moves the number by `2^k` steps up and down the ULP line, for every `k` below the width of the kind. At the ends of
/// the line the step is shorter. Steps from finite floats may lead to infinities and NaN.
#[derive(Debug, Clone, Copy, Default)]
pub struct UlpStep;

impl Move for UlpStep {
    fn name(&self) -> &'static str {
        "ulp-step"
    }

    fn count(&self, at: &At) -> usize {
        2 * at.target().kind.bits() as usize
    }

    fn candidate(&self, at: &At, index: usize) -> u64 {
        let kind = at.target().kind;
        let position = line::position(kind, at.raw());
        line::raw(kind, line::step(kind, position, index.is_multiple_of(2), 1 << (index / 2)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{moves::testing::candidates, view::Kind};

    #[test]
    fn a_step_of_two_to_the_52_doubles_or_halves() {
        let got = candidates(&UlpStep, &[(Kind::F64, 3.0f64.to_bits())]);
        assert!(got.contains(&6.0f64.to_bits()) && got.contains(&1.5f64.to_bits()), "{got:x?}");
    }
}
