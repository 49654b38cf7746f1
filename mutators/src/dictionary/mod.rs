//! Values to substitute: constants harvested from the program, and special values of each kind.
//!
//! Numeric code compares its arguments with constants, and often compares words of their encoding instead of the
//! numbers (`if (ix >= 0x7ff00000)`). So an integer constant of the program is interpreted as a number, as the high or
//! low word of a double, and as the encoding of a float. [`Dictionary`] derives all these values once; a pick is one
//! indexed load.
//!
//! Strings and characters of the program are tokens: bytes for consecutive slots of one byte.

mod derive;
mod special;

use std::collections::HashSet;

use libafl_bolts::rands::Rand;

use crate::view::Kind;

/// Two lists of raw bits per kind, each without repetition: values harvested from the program, and special values. It
/// also holds the tokens of the program.
///
/// The default is [`Dictionary::general`].
///
/// # Example
/// ```
/// use penfuzz_mutators::{dictionary::Dictionary, view::Kind};
///
/// // `if (ix >= 0x7ff00000)` compares the high word of a double.
/// let dictionary = Dictionary::new(&[], &[0x7ff0_0000]);
/// assert!(dictionary.harvested(Kind::F64).contains(&f64::INFINITY.to_bits()));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dictionary {
    /// Indexed by `Kind as usize`.
    lists: Vec<List>,
    tokens: Vec<Vec<u8>>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct List {
    harvested: Vec<u64>,
    special: Vec<u64>,
}

impl Dictionary {
    /// A dictionary of the constants of a program: `floats` as the bits of doubles, `integers` sign-extended to 64
    /// bits.
    ///
    /// A constant gives itself, its negative and its neighbours in each kind; an integer is interpreted as described
    /// above. NaN, infinities and signed zeros are constants like others.
    #[must_use]
    pub fn new(floats: &[u64], integers: &[i64]) -> Self {
        let lists = Kind::ALL.iter().map(|&kind| List::new(kind, floats, integers)).collect();
        Self { lists, tokens: Vec::new() }
    }

    /// Adds tokens: strings, without the final 0 byte, and characters with which the program compares. Empty ones and
    /// repetitions are dropped.
    #[must_use]
    pub fn with_tokens(mut self, tokens: impl IntoIterator<Item = Vec<u8>>) -> Self {
        let mut known: HashSet<Vec<u8>> = self.tokens.iter().cloned().collect();
        let is_new = |token: &Vec<u8>| !token.is_empty() && known.insert(token.clone());
        self.tokens.extend(tokens.into_iter().filter(is_new));
        self
    }

    /// The tokens, in the order in which they were added. None is empty.
    #[must_use]
    pub fn tokens(&self) -> &[Vec<u8>] {
        &self.tokens
    }

    /// A dictionary of special values only, for programs whose constants are unknown.
    #[must_use]
    pub fn general() -> Self {
        Self::new(&[], &[])
    }

    /// Raw bits of the values derived from the program's constants; the constants themselves come first.
    #[must_use]
    pub fn harvested(&self, kind: Kind) -> &[u64] {
        &self.lists[kind as usize].harvested
    }

    /// Raw bits of the special values of the kind: zeros, ones, limits, and for floats infinities, quiet and signalling
    /// NaN, subnormals and more, of both signs. Never empty.
    #[must_use]
    pub fn special(&self, kind: Kind) -> &[u64] {
        &self.lists[kind as usize].special
    }

    /// Raw bits of all values of the kind, the harvested ones first.
    pub fn iter(&self, kind: Kind) -> impl Iterator<Item = u64> + '_ {
        self.harvested(kind).iter().chain(self.special(kind)).copied()
    }

    /// Raw bits of a random value: a harvested and a special one are equally likely, unless nothing is harvested.
    #[must_use]
    pub fn pick<R: Rand>(&self, rng: &mut R, kind: Kind) -> u64 {
        let (harvested, special) = (self.harvested(kind), self.special(kind));
        let random = rng.next();
        // The lowest bit selects the list. The high bits select the entry, by multiplication.
        let list = if random & 1 == 0 && !harvested.is_empty() { harvested } else { special };
        list[((u128::from(random) * list.len() as u128) >> 64) as usize]
    }
}

impl Default for Dictionary {
    /// [`Dictionary::general`].
    fn default() -> Self {
        Self::general()
    }
}

impl List {
    /// The values of one kind.
    fn new(kind: Kind, floats: &[u64], integers: &[i64]) -> Self {
        Self {
            harvested: each_once(kind, |emit| derive::harvest(kind, floats, integers, emit)),
            special: each_once(kind, |emit| special::values(kind, emit)),
        }
    }
}

/// The values that `values` emits, truncated to the kind's width, in the order of their first occurrences. Generated
/// code has tens of thousands of constants, so a set finds the repetitions.
fn each_once(kind: Kind, values: impl FnOnce(&mut dyn FnMut(u64))) -> Vec<u64> {
    let (mut list, mut known) = (Vec::new(), HashSet::new());
    values(&mut |raw| {
        let raw = raw & kind.mask();
        if known.insert(raw) {
            list.push(raw);
        }
    });
    list
}

#[cfg(test)]
mod tests {
    use libafl_bolts::rands::StdRand;

    use super::*;

    #[test]
    fn an_integer_constant_is_interpreted_as_a_high_word() {
        let values = Dictionary::new(&[], &[0x7ff0_0000]);
        for low in [0, 1, 0xffff_ffff] {
            assert!(values.harvested(Kind::F64).contains(&(0x7ff0_0000_0000_0000 | low)), "{low:x}");
        }
    }

    #[test]
    fn an_integer_constant_is_interpreted_as_a_number_and_an_encoding() {
        let values = Dictionary::new(&[], &[0x3f80_0000]);
        assert!(values.harvested(Kind::F64).contains(&f64::from(0x3f80_0000).to_bits()), "(double)c");
        assert!(values.harvested(Kind::F32).contains(&0x3f80_0000), "c as the bits of a float");
        assert!(values.harvested(Kind::I32).contains(&0x3f7f_ffff), "c - 1");
    }

    #[test]
    fn a_float_constant_comes_with_neighbours_and_its_negative() {
        let c = 0.693f64;
        let values = Dictionary::new(&[c.to_bits()], &[]);
        for expected in [c.to_bits(), (-c).to_bits(), c.to_bits() + 1, c.to_bits() - 1] {
            assert!(values.harvested(Kind::F64).contains(&expected), "{:e}", f64::from_bits(expected));
        }
    }

    #[test]
    fn nothing_is_repeated() {
        let values = Dictionary::new(&[1.0f64.to_bits(); 3], &[1, 1, -1, 0]);
        for kind in Kind::ALL {
            for list in [values.harvested(kind), values.special(kind)] {
                let mut sorted = list.to_vec();
                sorted.sort_unstable();
                sorted.dedup();
                assert_eq!(sorted.len(), list.len(), "{kind:?}");
            }
        }
    }

    #[test]
    fn tokens_are_neither_empty_nor_repeated() {
        let values = Dictionary::general().with_tokens([b"GET".to_vec(), Vec::new()]);
        let values = values.with_tokens([b"\0a".to_vec(), b"GET".to_vec()]);
        assert_eq!(values.tokens(), [b"GET".to_vec(), b"\0a".to_vec()]);
    }

    #[test]
    fn special_doubles_include_every_class() {
        let values = Dictionary::general();
        let has = |class: fn(f64) -> bool| values.special(Kind::F64).iter().any(|&b| class(f64::from_bits(b)));
        assert!(has(f64::is_nan) && has(f64::is_infinite) && has(f64::is_subnormal));
        assert!(has(|v| v == 0.0 && v.is_sign_negative()) && has(|v| v.is_nan() && v.is_sign_negative()));
    }

    #[test]
    fn pick_draws_from_both_lists() {
        let values = Dictionary::new(&[12345.0f64.to_bits()], &[]);
        let mut rng = StdRand::with_seed(3);
        let harvested = (0..1000)
            .filter(|_| {
                let raw = values.pick(&mut rng, Kind::F64);
                values.harvested(Kind::F64).contains(&raw)
            })
            .count();
        assert!((400..600).contains(&harvested), "{harvested}");
    }
}
