//! Which numbers of an input matter: the elements of an array up to its length, of a string up to its end, and of
//! memory that exists.
//!
//! An input has room for the largest array. The elements after the length, which the input itself gives, are inactive:
//! they do not reach the function under test, so a search spends no evaluation on them.

use serde::{Deserialize, Serialize};

use crate::view::Slot;

/// The number of elements of an array, as a function of the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Length {
    /// A constant length.
    Fixed(usize),
    /// `times * n + plus` of an integer `n` of the input.
    Linear {
        /// The integer.
        n: Slot,
        /// Factor.
        times: i64,
        /// Summand.
        plus: i64,
    },
    /// `a * b + plus` of two integers, which may be the same.
    Product {
        /// The first integer.
        a: Slot,
        /// The second integer.
        b: Slot,
        /// Summand.
        plus: i64,
    },
}

impl Length {
    /// The length for an input, clamped to `0..=capacity`.
    ///
    /// # Panics
    /// If `x` ends before a slot does.
    #[must_use]
    pub fn of(self, x: &[u8], capacity: usize) -> usize {
        let value = |slot: Slot| i128::from(slot.kind.to_integer(slot.get(x)).unwrap_or(0));
        let wanted = match self {
            Self::Fixed(n) => return n.min(capacity),
            Self::Linear { n, times, plus } => value(n) * i128::from(times) + i128::from(plus),
            Self::Product { a, b, plus } => value(a) * value(b) + i128::from(plus),
        };
        usize::try_from(wanted.max(0)).unwrap_or(usize::MAX).min(capacity)
    }

    /// The integers of the input on which the length depends.
    #[must_use]
    pub fn integers(self) -> Vec<Slot> {
        match self {
            Self::Fixed(_) => Vec::new(),
            Self::Linear { n, .. } => vec![n],
            Self::Product { a, b, .. } if a == b => vec![a],
            Self::Product { a, b, .. } => vec![a, b],
        }
    }

    /// The largest value of one of its integers at which the length is within `capacity`. For a product, both integers
    /// have this value.
    #[must_use]
    pub fn largest(self, capacity: usize) -> u64 {
        let capacity = i64::try_from(capacity).unwrap_or(i64::MAX);
        let within = |plus: i64| capacity.saturating_sub(plus).max(0);
        match self {
            Self::Fixed(_) => u64::MAX,
            Self::Linear { times, plus, .. } => (within(plus) / times.max(1)) as u64,
            Self::Product { plus, .. } => within(plus).isqrt() as u64,
        }
    }
}

/// Consecutive slots that are elements of one array.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    /// Index of the first slot.
    pub first: usize,
    /// Number of slots per element, at least 1.
    pub per_element: usize,
    /// Number of elements that have slots.
    pub capacity: usize,
    /// Number of elements of the array.
    pub length: Length,
    /// Whether the elements are characters, of which those after the first 0 do not matter.
    pub is_string: bool,
    /// Flags of the pointers that lead to the array: if one of them is not 0, a pointer is null and the array is
    /// absent.
    pub absent: Vec<Slot>,
}

impl Group {
    /// Index of the slot after the last one.
    #[must_use]
    pub const fn end(&self) -> usize {
        self.first + self.per_element * self.capacity
    }

    /// The number of slots, counted from the first one, that matter in `x`.
    ///
    /// # Panics
    /// If a slot ends beyond `x`.
    #[must_use]
    pub fn active(&self, x: &[u8], slots: &[Slot]) -> usize {
        if self.absent.iter().any(|flag| flag.get(x) != 0) {
            return 0;
        }
        let n = self.length.of(x, self.capacity) * self.per_element;
        if !self.is_string {
            return n;
        }
        let characters = &slots[self.first..self.first + n];
        characters.iter().position(|slot| slot.get(x) == 0).map_or(n, |end| end + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::{Kind, Layout};

    fn layout(length: Length, is_string: bool) -> Layout {
        let kinds = [Kind::I32, Kind::U8, Kind::U8, Kind::U8, Kind::U8, Kind::F64];
        let group = Group { first: 1, per_element: 1, capacity: 4, length, is_string, absent: Vec::new() };
        Layout::packed(&kinds).with_groups(vec![group])
    }

    fn active(layout: &Layout, x: &[u8]) -> Vec<usize> {
        (0..layout.len()).filter(|i| layout.is_active(*i, x)).collect()
    }

    #[test]
    fn elements_after_the_length_are_inactive() {
        let n = Layout::packed(&[Kind::I32]).slots()[0];
        let layout = layout(Length::Linear { n, times: 1, plus: 1 }, false);
        let mut x = [1; 16];
        for (value, wanted) in [(1, vec![0, 1, 2, 5]), (-7, vec![0, 5]), (99, vec![0, 1, 2, 3, 4, 5])] {
            n.set(&mut x, i64::from(value) as u64);
            assert_eq!(active(&layout, &x), wanted, "{value}");
        }
    }

    #[test]
    fn a_string_ends_with_its_first_zero() {
        let layout = layout(Length::Fixed(4), true);
        assert_eq!(active(&layout, &[0, 0, 0, 0, 7, 0, 7, 7, 0, 0, 0, 0, 0, 0, 0, 0]), [0, 1, 2, 5]);
        assert_eq!(active(&layout, &[7; 16]), [0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn absent_arrays_are_inactive() {
        let flag = Layout::packed(&[Kind::Bool]).slots()[0];
        let group = Group {
            first: 1,
            per_element: 1,
            capacity: 1,
            length: Length::Fixed(1),
            is_string: false,
            absent: vec![flag],
        };
        let layout = Layout::packed(&[Kind::Bool, Kind::U8]).with_groups(vec![group]);
        assert_eq!(active(&layout, &[0, 9]), [0, 1]);
        assert_eq!(active(&layout, &[1, 9]), [0]);
    }
}
