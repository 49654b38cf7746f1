//! Flips of single bits of the encoding, because code that takes a number apart tests single bits.

use super::{At, Move};

/// Flips one of the bits of the kind. Candidate 0 flips the topmost, which is the sign of floats and signed integers.
#[derive(Debug, Clone, Copy, Default)]
pub struct BitFlip;

impl Move for BitFlip {
    fn name(&self) -> &'static str {
        "bit-flip"
    }

    fn count(&self, at: &At) -> usize {
        at.target().kind.bits() as usize
    }

    fn candidate(&self, at: &At, index: usize) -> u64 {
        at.raw() ^ (1 << (at.target().kind.bits() as usize - 1 - index))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{moves::testing::candidates, view::Kind};

    #[test]
    fn the_sign_comes_first() {
        assert_eq!(candidates(&BitFlip, &[(Kind::F32, 0x3f80_0000)])[0], 0xbf80_0000);
    }
}
