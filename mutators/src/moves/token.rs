//! Tokens: the strings and characters of the program, written over consecutive bytes of an input, or inserted there.
//!
//! A string is compared as a whole, so a search that replaces one byte at a time may find no better byte. The other
//! [moves](crate::moves) replace one number; these replace several.

use core::ops::Range;

use libafl_bolts::rands::Rand;

use super::At;
use crate::{
    dictionary::Dictionary,
    view::{Slot, run_length},
};

/// A kind of move that replaces consecutive bytes of a run: a list of candidates. A run is a sequence of adjacent slots
/// of one byte, see [`run_length`]. Must not allocate.
pub trait RunMove: Sync {
    /// The name, unique among [`RUN_MOVES`](super::RUN_MOVES) and [`MOVES`](super::MOVES).
    fn name(&self) -> &'static str;

    /// Number of candidates that begin at the slot; 0 if it is in no run.
    fn count(&self, at: &At) -> usize;

    /// The bytes of the input that candidate number `index` replaces, which must be below [`count`](Self::count).
    /// `None` if the run is too short for the candidate, or if another candidate gives the same bytes.
    fn span(&self, at: &At, index: usize) -> Option<Range<usize>>;

    /// Writes candidate number `index` to the bytes of its [`span`](Self::span), which still have their old values.
    ///
    /// # Panics
    /// May panic if there is no such candidate or `bytes` has another length than the span.
    fn write(&self, dictionary: &Dictionary, index: usize, bytes: &mut [u8]);
}

/// Whether there are tokens, and the slot is followed by another one of its run.
pub(super) fn has_tokens(at: &At) -> bool {
    !at.dictionary.tokens().is_empty() && run_length(at.slots, at.slot, 2) >= 2
}

/// Writes a token of the dictionary from the slot on.
///
/// There are four candidates for each token: it replaces as many bytes as it has, or it is inserted, which moves the
/// rest of the run back and drops its last bytes; each without and with a 0 byte after it, which ends a string. The
/// plain replacements by all tokens come first.
#[derive(Debug, Clone, Copy, Default)]
pub struct Token;

/// Number of candidates for each token.
const FORMS: usize = 4;

/// The parts of a candidate.
struct Form<'a> {
    token: &'a [u8],
    is_inserted: bool,
    is_ended: bool,
}

impl<'a> Form<'a> {
    fn of(dictionary: &'a Dictionary, index: usize) -> Self {
        let tokens = dictionary.tokens();
        let form = index / tokens.len();
        Self { token: &tokens[index % tokens.len()], is_inserted: form >= 2, is_ended: form % 2 == 1 }
    }

    /// Number of bytes, including the 0 byte if there is one.
    const fn size(&self) -> usize {
        self.token.len() + self.is_ended as usize
    }
}

impl RunMove for Token {
    fn name(&self) -> &'static str {
        "token"
    }

    fn count(&self, at: &At) -> usize {
        // The moves of one number cover single bytes: a token of one byte is an integer constant, too.
        if has_tokens(at) { FORMS * at.dictionary.tokens().len() } else { 0 }
    }

    fn span(&self, at: &At, index: usize) -> Option<Range<usize>> {
        let form = Form::of(at.dictionary, index);
        let limit = if form.is_inserted { usize::MAX } else { form.size() };
        let rest = run_length(at.slots, at.slot, limit);
        let (start, size) = (at.target().offset, form.size());
        match form.is_inserted {
            // Without a byte to move back, an insertion would be a replacement.
            true if size < rest => Some(start..start + rest),
            false if size <= rest => Some(start..start + size),
            _ => None,
        }
    }

    fn write(&self, dictionary: &Dictionary, index: usize, bytes: &mut [u8]) {
        let form = Form::of(dictionary, index);
        let (size, kept) = (form.size(), bytes.len() - form.size());
        if form.is_inserted {
            bytes.copy_within(..kept, size);
        }
        bytes[..form.token.len()].copy_from_slice(form.token);
        if form.is_ended {
            bytes[size - 1] = 0;
        }
    }
}

/// Writes a random token into the run from slot number `slot` on. Returns false, without a change to `x`, if the drawn
/// token does not fit. Draws no random number if the slot is in no run, or if there is no token.
pub(crate) fn write_random<R: Rand>(
    rng: &mut R,
    slots: &[Slot],
    slot: usize,
    dictionary: &Dictionary,
    x: &mut [u8],
) -> bool {
    let at = At { x, slots, slot, dictionary };
    let count = Token.count(&at);
    if count == 0 {
        return false;
    }
    let index = rng.below_or_zero(count);
    let Some(span) = Token.span(&at, index) else { return false };
    Token.write(dictionary, index, &mut x[span]);
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::{Kind, Layout};

    fn dictionary(tokens: &[&[u8]]) -> Dictionary {
        Dictionary::general().with_tokens(tokens.iter().map(|t| t.to_vec()))
    }

    /// The points that result from `x` by the candidates at a slot.
    fn points(layout: &Layout, dictionary: &Dictionary, x: &[u8], slot: usize) -> Vec<Vec<u8>> {
        let at = At::new(x, layout, slot, dictionary);
        let make = |index| {
            let mut point = x.to_vec();
            Token.write(dictionary, index, &mut point[Token.span(&at, index)?]);
            Some(point)
        };
        (0..Token.count(&at)).filter_map(make).collect()
    }

    #[test]
    fn a_token_replaces_or_is_inserted() {
        let layout = Layout::packed(&[Kind::U8, Kind::I8, Kind::U8, Kind::U8, Kind::U8]);
        let made = points(&layout, &dictionary(&[b"AB"]), b"vwxyz", 1);
        assert_eq!(made, [b"vAByz", b"vAB\0z", b"vABwx", b"vAB\0w"].map(|x| x.to_vec()));
    }

    #[test]
    fn the_bytes_beside_the_run_stay() {
        let layout = Layout::packed(&[Kind::U8, Kind::U8, Kind::U8, Kind::I16, Kind::U8, Kind::U8]);
        for point in points(&layout, &dictionary(&[b"A", b"AB", b"ABC", b"ABCD"]), b"rstuvwx", 0) {
            assert_eq!(&point[3..], b"uvwx", "{point:?}");
        }
    }

    #[test]
    fn a_token_that_is_too_long_is_left_out() {
        let layout = Layout::packed(&[Kind::U8; 3]);
        assert_eq!(points(&layout, &dictionary(&[b"ABC"]), b"xyz", 0), [b"ABC".to_vec()]);
        assert!(points(&layout, &dictionary(&[b"ABC"]), b"xyz", 1).is_empty());
    }

    #[test]
    fn slots_outside_runs_have_no_candidates() {
        let dictionary = dictionary(&[b"A"]);
        for kinds in [&[Kind::F64, Kind::F64][..], &[Kind::U8, Kind::I16], &[Kind::Bool, Kind::Bool], &[Kind::U8]] {
            let layout = Layout::packed(kinds);
            let x = vec![0; layout.size()];
            assert_eq!(Token.count(&At::new(&x, &layout, 0, &dictionary)), 0, "{kinds:?}");
        }
        let layout = Layout::packed(&[Kind::U8; 4]);
        assert_eq!(Token.count(&At::new(&[0; 4], &layout, 0, &Dictionary::general())), 0, "no token");
    }
}
