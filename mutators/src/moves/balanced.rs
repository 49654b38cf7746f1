//! Tokens that keep a checksum: the byte after the token compensates for what the token changes.

use core::ops::Range;

use super::{
    At,
    token::{RunMove, has_tokens},
};
use crate::{dictionary::Dictionary, view::run_length};

/// Writes a token of the dictionary from the slot on, and changes the byte after it so that the exclusive or, or the
/// sum modulo 256, of all bytes stays the same.
///
/// A text with a checksum is rejected after every change of a single place, so a search that changes one place at a
/// time makes no progress. There are two candidates for each token; those by exclusive or come first.
#[derive(Debug, Clone, Copy, Default)]
pub struct Balanced;

impl RunMove for Balanced {
    fn name(&self) -> &'static str {
        "balanced"
    }

    fn count(&self, at: &At) -> usize {
        if has_tokens(at) { 2 * at.dictionary.tokens().len() } else { 0 }
    }

    fn span(&self, at: &At, index: usize) -> Option<Range<usize>> {
        let tokens = at.dictionary.tokens();
        let size = tokens[index % tokens.len()].len() + 1;
        let start = at.target().offset;
        (size <= run_length(at.slots, at.slot, size)).then(|| start..start + size)
    }

    fn write(&self, dictionary: &Dictionary, index: usize, bytes: &mut [u8]) {
        let tokens = dictionary.tokens();
        let token = &tokens[index % tokens.len()];
        let is_sum = index >= tokens.len();
        let (replaced, behind) = bytes.split_at_mut(token.len());
        for (byte, new) in replaced.iter_mut().zip(token) {
            behind[0] =
                if is_sum { behind[0].wrapping_add(*byte).wrapping_sub(*new) } else { behind[0] ^ *byte ^ *new };
            *byte = *new;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::{Kind, Layout};

    #[test]
    fn the_checksum_stays() {
        let dictionary = Dictionary::general().with_tokens([b"GGA".to_vec(), b",".to_vec()]);
        let layout = Layout::packed(&[Kind::U8; 6]);
        let x = *b"$abcde";
        let at = At::new(&x, &layout, 1, &dictionary);
        assert_eq!(Balanced.count(&at), 4);
        let xor = |x: &[u8]| x.iter().fold(0, |sum, b| sum ^ b);
        let sum = |x: &[u8]| x.iter().fold(0u8, |sum, b| sum.wrapping_add(*b));
        for (index, token) in [(0, "GGA"), (1, ","), (2, "GGA"), (3, ",")] {
            let span = Balanced.span(&at, index).expect("there is room");
            let mut y = x;
            Balanced.write(&dictionary, index, &mut y[span]);
            assert!(y[1..].starts_with(token.as_bytes()), "{y:?}");
            assert!(if index < 2 { xor(&y) == xor(&x) } else { sum(&y) == sum(&x) }, "{y:?}");
            assert_eq!(y[token.len() + 2..], x[token.len() + 2..], "only one byte more");
        }
    }

    #[test]
    fn a_token_without_a_byte_behind_has_no_span() {
        let dictionary = Dictionary::general().with_tokens([b"GGA".to_vec()]);
        let layout = Layout::packed(&[Kind::U8; 3]);
        assert_eq!(Balanced.span(&At::new(b"abc", &layout, 0, &dictionary), 0), None);
    }
}
