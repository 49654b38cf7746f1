//! Domains: the values of a number with which a function under test is called.
//!
//! A search writes any value into a slot. Before a call, the value is mapped into the domain: a value of the domain
//! stays, and any other is wrapped around the [ULP line](crate::line), modulo the number of values in the domain. So
//! random bits give all values of the domain equally often, one step on the line leads to a neighbour, and no input is
//! wasted. Clamping would map most random numbers to the two ends.

use serde::{Deserialize, Serialize};

use crate::{
    kind::Kind,
    line,
    view::{Layout, Slot},
};

/// The values of one kind from a least to a greatest one, both included, by their positions on the ULP line.
///
/// # Example
/// ```
/// use penfuzz_mutators::{
///     domain::Domain,
///     view::{Kind, Layout},
/// };
///
/// let latitude = Domain::new(Kind::F64, (-90.0f64).to_bits(), 90.0f64.to_bits()).expect("an interval");
/// let layout = Layout::doubles(8).with_domain(0, latitude);
/// let mut x = 1e300f64.to_le_bytes();
/// layout.normalise(&mut x);
/// assert!(f64::from_le_bytes(x).abs() <= 90.0);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Domain {
    least: u64,
    greatest: u64,
}

impl Domain {
    /// The values from `least` to `greatest`, given as raw bits. If an end of a float domain is a zero, both zeros are
    /// included, because they are equal. `None` if there is no value in between.
    #[must_use]
    pub const fn new(kind: Kind, least: u64, greatest: u64) -> Option<Self> {
        let sign = 1 << (kind.bits() - 1);
        let magnitudes = kind.mask() & !sign;
        let low = if kind.is_float() && least & magnitudes == 0 { sign } else { least };
        let high = if kind.is_float() && greatest & magnitudes == 0 { 0 } else { greatest };
        let (least, greatest) = (line::position(kind, low), line::position(kind, high));
        if least <= greatest { Some(Self { least, greatest }) } else { None }
    }

    /// All numbers of a kind that are neither NaN nor infinite; `None` for kinds that are not floats.
    #[must_use]
    pub const fn finite(kind: Kind) -> Option<Self> {
        let sign = 1 << (kind.bits() - 1);
        let greatest = match kind {
            Kind::F32 => f32::MAX.to_bits() as u64,
            Kind::F64 => f64::MAX.to_bits(),
            _ => return None,
        };
        Self::new(kind, greatest | sign, greatest)
    }

    /// The positions of the least and the greatest value on the ULP line.
    #[must_use]
    pub const fn positions(self) -> (u64, u64) {
        (self.least, self.greatest)
    }

    /// Whether the value of these raw bits is in the domain.
    #[must_use]
    pub const fn contains(self, kind: Kind, raw: u64) -> bool {
        let position = line::position(kind, raw);
        self.least <= position && position <= self.greatest
    }

    /// Maps these raw bits into the domain; a value of the domain stays.
    #[must_use]
    pub const fn wrap(self, kind: Kind, raw: u64) -> u64 {
        if self.contains(kind, raw) {
            return raw;
        }
        // This cannot overflow to 2^64, because the whole line contains every value.
        let count = self.greatest - self.least + 1;
        let above = line::position(kind, raw).wrapping_sub(self.least) & kind.mask();
        line::raw(kind, self.least + above % count)
    }
}

impl Layout {
    /// Sets the domains of the numbers at these indices, in place of earlier ones.
    ///
    /// # Panics
    /// If there is no slot at an index.
    #[must_use]
    pub fn with_domains(mut self, domains: Vec<(usize, Domain)>) -> Self {
        assert!(domains.iter().all(|(index, _)| *index < self.len()), "each domain has a slot");
        self.domains = domains;
        self
    }

    /// Adds a domain for the number at this index.
    ///
    /// # Panics
    /// If there is no slot at the index.
    #[must_use]
    pub fn with_domain(mut self, index: usize, domain: Domain) -> Self {
        assert!(index < self.len(), "each domain has a slot");
        self.domains.push((index, domain));
        self
    }

    /// Whether any number has a domain.
    #[inline]
    #[must_use]
    pub const fn has_domains(&self) -> bool {
        !self.domains.is_empty()
    }

    /// The slots that have a domain, each with its domain.
    pub fn domains(&self) -> impl Iterator<Item = (Slot, Domain)> {
        self.restricted(self.size())
    }

    fn restricted(&self, n_bytes: usize) -> impl Iterator<Item = (Slot, Domain)> {
        let all = self.domains.iter().map(|(index, domain)| (self.slots()[*index], *domain));
        all.filter(move |(slot, _)| slot.end() <= n_bytes)
    }

    /// Maps each number of an input that has a domain into it. Numbers that end beyond `x` are ignored.
    pub fn normalise(&self, x: &mut [u8]) {
        for (slot, domain) in self.restricted(x.len()) {
            slot.set(x, domain.wrap(slot.kind, slot.get(x)));
        }
    }

    /// Whether each number of an input is in its domain. Numbers that end beyond `x` are ignored.
    #[must_use]
    pub fn is_normal(&self, x: &[u8]) -> bool {
        self.restricted(x.len()).all(|(slot, domain)| domain.contains(slot.kind, slot.get(x)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reals(least: f64, greatest: f64) -> Domain {
        Domain::new(Kind::F64, least.to_bits(), greatest.to_bits()).expect("a range")
    }

    fn integers(least: i64, greatest: i64) -> Option<Domain> {
        Domain::new(Kind::I32, least.cast_unsigned(), greatest.cast_unsigned())
    }

    #[test]
    fn values_of_the_domain_stay() {
        let range = reals(-90.0, 90.0);
        for value in [-90.0, -1e-310, -0.0, 0.0, 45.5, 90.0] {
            assert_eq!(range.wrap(Kind::F64, f64::to_bits(value)), value.to_bits(), "{value}");
        }
    }

    #[test]
    fn other_values_are_mapped_into_it() {
        let range = reals(-90.0, 90.0);
        for value in [f64::NAN, -f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300, -90.000_000_1, 91.0] {
            let wrapped = f64::from_bits(range.wrap(Kind::F64, value.to_bits()));
            assert!((-90.0..=90.0).contains(&wrapped), "{value} becomes {wrapped}");
        }
        let small = integers(1, 8).expect("a range");
        for value in [0i32, 9, -1, i32::MIN, i32::MAX] {
            let wrapped = small.wrap(Kind::I32, u64::from(value.cast_unsigned()));
            assert!((1..=8).contains(&wrapped), "{value} becomes {wrapped}");
        }
        assert_eq!(small.wrap(Kind::I32, 9), 1, "the value after the last one wraps around to the first one");
    }

    #[test]
    fn a_zero_at_the_end_stands_for_both() {
        for range in [reals(0.0, 1.0), reals(-1.0, -0.0), reals(-0.0, 0.0)] {
            assert!(range.contains(Kind::F64, 0.0f64.to_bits()) && range.contains(Kind::F64, (-0.0f64).to_bits()));
        }
    }

    #[test]
    fn finite_is_everything_but_nan_and_infinities() {
        for kind in [Kind::F32, Kind::F64] {
            let finite = Domain::finite(kind).expect("floats have one");
            for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
                let raw = kind.from_real(value);
                assert!(!finite.contains(kind, raw) && kind.to_real(finite.wrap(kind, raw)).is_finite(), "{value}");
            }
        }
        assert_eq!(Domain::finite(Kind::I32), None);
    }

    #[test]
    fn contradictory_ends_have_no_domain() {
        assert_eq!(integers(5, 1), None);
        assert!(integers(-5, -5).is_some());
    }

    #[test]
    fn all_values_are_a_domain_too() {
        let all = Domain::new(Kind::U64, 0, u64::MAX).expect("a range");
        assert_eq!(all.wrap(Kind::U64, 7), 7);
    }

    #[test]
    fn an_input_is_normalised_in_place() {
        let layout = Layout::packed(&[Kind::F64, Kind::I32]).with_domains(vec![(1, integers(1, 8).expect("a range"))]);
        let mut x = vec![0; layout.size()];
        assert!(layout.has_domains() && !layout.is_normal(&x));
        layout.normalise(&mut x);
        assert!(layout.is_normal(&x), "{x:?}");
        layout.normalise(&mut x[..9]);
    }
}
