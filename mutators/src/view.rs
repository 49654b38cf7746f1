//! A typed view of a byte input: the numbers in it, read and written in place.
//!
//! The corpus contains bytes and not numbers, because byte-level havoc, the numeric mutators and other fuzzers (AFL++)
//! then share one queue. Besides, `f64` does not implement `Hash`, which an input of LibAFL must.
//!
//! A [`Layout`] gives the kinds and offsets of the numbers. They are stored little-endian, without alignment, and
//! accessed without allocation. The raw bits of a number are a `u64`, zero-extended from the width of its [`Kind`];
//! they keep NaN payloads and signed zeros.

use serde::{Deserialize, Serialize};

pub use crate::kind::{Kind, NEAREST, RAISED};
use crate::{domain::Domain, group::Group, line, sequence::Steps};

/// The place of one number in a byte input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Slot {
    /// Type of the number.
    pub kind: Kind,
    /// Offset of the first byte, in bytes from the start of the input.
    pub offset: usize,
}

impl Slot {
    /// Offset of the first byte after the number.
    #[must_use]
    pub const fn end(self) -> usize {
        self.offset + self.kind.size()
    }

    /// The raw bits, zero-extended. `Bool` and `Rounding` have fewer bits than their byte; the other bits are ignored.
    ///
    /// # Panics
    /// If `x` ends before the slot does.
    #[inline]
    #[must_use]
    pub fn get(self, x: &[u8]) -> u64 {
        let x = &x[self.offset..];
        // One load of the right width: a copy of variable length would be a function call, several times in each step
        // of a search.
        let raw = match self.kind.size() {
            1 => u64::from(x[0]),
            2 => u64::from(u16::from_le_bytes(first(x))),
            4 => u64::from(u32::from_le_bytes(first(x))),
            _ => u64::from_le_bytes(first(x)),
        };
        raw & self.kind.mask()
    }

    /// Stores the low [`Kind::bits`] of `raw`; the other bits of the slot become 0.
    ///
    /// # Panics
    /// If `x` ends before the slot does.
    #[inline]
    pub fn set(self, x: &mut [u8], raw: u64) {
        let bytes = (raw & self.kind.mask()).to_le_bytes();
        let x = &mut x[self.offset..];
        match self.kind.size() {
            1 => x[0] = bytes[0],
            2 => x[..2].copy_from_slice(&bytes[..2]),
            4 => x[..4].copy_from_slice(&bytes[..4]),
            _ => x[..8].copy_from_slice(&bytes),
        }
    }

    /// The value as a double, converted by [`Kind::to_real`].
    ///
    /// # Panics
    /// If `x` ends before the slot does.
    #[must_use]
    pub fn real(self, x: &[u8]) -> f64 {
        self.kind.to_real(self.get(x))
    }

    /// Stores the value closest to `value`, converted by [`Kind::from_real`].
    ///
    /// # Panics
    /// If `x` ends before the slot does.
    pub fn set_real(self, x: &mut [u8], value: f64) {
        self.set(x, self.kind.from_real(value));
    }

    /// The position of the value on the [ULP line](crate::line), in `[0, 2^bits)`.
    ///
    /// # Panics
    /// If `x` ends before the slot does.
    #[must_use]
    pub fn position(self, x: &[u8]) -> u64 {
        line::position(self.kind, self.get(x))
    }

    /// Stores the value at a position of the [ULP line](crate::line). Bits beyond the kind's width are ignored.
    ///
    /// # Panics
    /// If `x` ends before the slot does.
    pub fn set_position(self, x: &mut [u8], position: u64) {
        self.set(x, line::raw(self.kind, position));
    }
}

/// The first `N` bytes.
fn first<const N: usize>(x: &[u8]) -> [u8; N] {
    x[..N].try_into().expect("N bytes are N bytes")
}

/// The kinds and offsets of the numbers in a byte input. The default has no number.
///
/// # Example
/// ```
/// use penfuzz_mutators::view::{Kind, Layout};
///
/// // The arguments of `void f(double x, int n)`.
/// let layout = Layout::packed(&[Kind::F64, Kind::I32]);
/// let mut x = vec![0; layout.size()];
/// layout.set_reals(&mut x, &[1.5, -3.0]);
/// assert_eq!(layout.slots()[1].get(&x), 0xffff_fffd);
/// assert_eq!(layout.reals(&x), [1.5, -3.0]);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Layout {
    slots: Vec<Slot>,
    size: usize,
    /// In the order of their slots; no two groups share a slot.
    #[serde(default)]
    groups: Vec<Group>,
    /// Slots that are the length of a group, by index, each with the largest length within the capacity.
    #[serde(default)]
    lengths: Vec<(usize, u64)>,
    /// Slots with a domain, by index.
    #[serde(default)]
    pub(crate) domains: Vec<(usize, Domain)>,
    /// The sequence of calls, if an input is one.
    #[serde(default)]
    steps: Option<Steps>,
}

impl Layout {
    /// A layout of numbers of these kinds, in this order from offset 0, without padding.
    #[must_use]
    pub fn packed(kinds: &[Kind]) -> Self {
        let mut size = 0;
        let append = |&kind: &Kind| {
            let slot = Slot { kind, offset: size };
            size = slot.end();
            slot
        };
        let slots = kinds.iter().map(append).collect();
        Self { slots, size, ..Self::default() }
    }

    /// A layout of these slots, which must be in the order of their offsets and not overlap.
    #[must_use]
    pub fn of_slots(slots: Vec<Slot>) -> Self {
        let size = slots.last().map_or(0, |slot| slot.end());
        Self { slots, size, ..Self::default() }
    }

    /// Declares arrays and strings: the numbers of a group matter only within its length.
    #[must_use]
    pub fn with_groups(mut self, mut groups: Vec<Group>) -> Self {
        groups.sort_by_key(|group| group.first);
        for group in &groups {
            let largest = group.length.largest(group.capacity);
            for slot in group.length.integers() {
                let Some(index) = self.slots.iter().position(|s| *s == slot) else { continue };
                match self.lengths.iter_mut().find(|(known, _)| *known == index) {
                    Some((_, least)) => *least = largest.min(*least),
                    None => self.lengths.push((index, largest)),
                }
            }
        }
        self.groups = groups;
        self
    }

    /// Declares a sequence of calls: the numbers of calls beyond the number of calls do not matter.
    ///
    /// # Panics
    /// If there are fewer slots than the calls need, or if the number of calls is not before the first call.
    #[must_use]
    pub fn with_steps(mut self, steps: Steps) -> Self {
        assert!(
            steps.end() <= self.len() && steps.count < steps.first,
            "the slots of all calls exist and follow the number of calls"
        );
        self.lengths.push((steps.count, steps.capacity as u64));
        self.steps = Some(steps);
        self
    }

    /// The sequence of calls, if an input is one.
    #[must_use]
    pub const fn steps(&self) -> Option<&Steps> {
        self.steps.as_ref()
    }

    /// Arrays and strings, in the order of their slots.
    #[must_use]
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// The slots that are the length of an array, by index, each with the largest length within the array's capacity.
    #[must_use]
    pub fn lengths(&self) -> &[(usize, u64)] {
        &self.lengths
    }

    /// Whether the number in slot `index` reaches the function under test, given the other values of `x`.
    ///
    /// # Panics
    /// If a slot ends beyond `x`.
    #[inline]
    #[must_use]
    pub fn is_active(&self, index: usize, x: &[u8]) -> bool {
        let is_made = self.steps.as_ref().is_none_or(|steps| steps.is_made(index, x, &self.slots));
        is_made && (self.groups.is_empty() || self.is_active_in_group(index, x))
    }

    fn is_active_in_group(&self, index: usize, x: &[u8]) -> bool {
        let behind = self.groups.partition_point(|group| group.first <= index);
        let Some(group) = behind.checked_sub(1).map(|i| &self.groups[i]) else { return true };
        index >= group.end() || index - group.first < group.active(x, &self.slots)
    }

    /// A layout of `n_bytes / 8` doubles; up to 7 bytes at the end have no slot.
    #[must_use]
    pub fn doubles(n_bytes: usize) -> Self {
        Self::packed(&vec![Kind::F64; n_bytes / 8])
    }

    /// The slots, in the order of their offsets.
    #[must_use]
    pub fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// Number of bytes from the start of the input to the end of the last slot.
    #[must_use]
    pub const fn size(&self) -> usize {
        self.size
    }

    /// Number of slots.
    #[must_use]
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether there is no slot.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// The slots that lie entirely within an input of `n_bytes`, which may be shorter than the layout after a
    /// byte-level mutation.
    #[must_use]
    pub fn fitting(&self, n_bytes: usize) -> &[Slot] {
        let n = self.slots.partition_point(|slot| slot.end() <= n_bytes);
        &self.slots[..n]
    }

    /// The numbers as doubles, in slot order, converted by [`Kind::to_real`].
    ///
    /// # Panics
    /// If `x` is shorter than [`size`](Self::size).
    #[must_use]
    pub fn reals(&self, x: &[u8]) -> Vec<f64> {
        self.slots.iter().map(|slot| slot.real(x)).collect()
    }

    /// Stores doubles, in slot order, converted by [`Kind::from_real`]. Surplus values are ignored; slots without a
    /// value stay as they are.
    ///
    /// # Panics
    /// If `x` is shorter than [`size`](Self::size).
    pub fn set_reals(&self, x: &mut [u8], values: &[f64]) {
        for (slot, &value) in self.slots.iter().zip(values) {
            slot.set_real(x, value);
        }
    }
}

/// Number of slots in the run from slot number `first` on, at most `limit`; 0 if that slot is in no run.
///
/// A run is a sequence of slots of one byte ([`Kind::I8`], [`Kind::U8`]) without gaps: the elements of a string.
///
/// # Panics
/// If there is no slot of that number.
#[must_use]
pub fn run_length(slots: &[Slot], first: usize, limit: usize) -> usize {
    let is_byte = |slot: &Slot| matches!(slot.kind, Kind::I8 | Kind::U8);
    let start = slots[first].offset;
    let in_run = |(i, slot): &(usize, &Slot)| is_byte(slot) && slot.offset == start + i;
    slots[first..].iter().enumerate().take(limit).take_while(in_run).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_slots_follow_one_another() {
        let layout = Layout::packed(&[Kind::I8, Kind::F64, Kind::Bool, Kind::F32]);
        let offsets: Vec<usize> = layout.slots().iter().map(|s| s.offset).collect();
        assert_eq!((offsets, layout.size()), (vec![0, 1, 9, 10], 14));
    }

    #[test]
    fn doubles_ignore_a_partial_group() {
        assert_eq!(Layout::doubles(23), Layout::packed(&[Kind::F64, Kind::F64]));
    }

    #[test]
    fn a_run_ends_at_other_kinds_and_at_gaps() {
        let layout = Layout::packed(&[Kind::F64, Kind::U8, Kind::I8, Kind::U8, Kind::I16, Kind::I8]);
        let of = |first, limit| run_length(layout.slots(), first, limit);
        assert_eq!([of(0, 9), of(1, 9), of(1, 2), of(3, 9), of(4, 9), of(5, 9)], [0, 3, 2, 1, 0, 1]);
        let apart = [0, 1, 3].map(|offset| Slot { kind: Kind::U8, offset });
        assert_eq!(run_length(&apart, 0, 9), 2);
    }

    #[test]
    fn bool_reads_its_lowest_bit_only() {
        let slot = Slot { kind: Kind::Bool, offset: 0 };
        assert_eq!((slot.get(&[0xfe]), slot.get(&[0xff])), (0, 1));
    }
}
