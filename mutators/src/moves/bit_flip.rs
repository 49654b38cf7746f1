//! Single bits of the encoding.

use super::{At, Move};

/// Flips one bit; number 0 is the topmost, the sign.
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
