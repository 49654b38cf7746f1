//! Sequences of calls: an input contains the arguments of each call, and the number of calls to make.
//!
//! The numbers of every call have the same kinds in the same order. The numbers of calls that are not made are
//! inactive, like array elements after the length ([`crate::group`]).

use libafl_bolts::rands::Rand;
use serde::{Deserialize, Serialize};

use crate::view::Slot;

/// The layout of a sequence of calls, as indices of slots.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Steps {
    /// The slot with the number of calls to make, at least 1.
    pub count: usize,
    /// The first slot of the first call.
    pub first: usize,
    /// Number of slots per call.
    pub per_call: usize,
    /// Number of calls that have slots.
    pub capacity: usize,
}

impl Steps {
    /// Index of the slot after the last call.
    #[must_use]
    pub const fn end(&self) -> usize {
        self.first + self.per_call * self.capacity
    }

    /// Number of calls to make, from 1 to the capacity.
    ///
    /// # Panics
    /// If `x` ends before a slot does.
    #[must_use]
    pub fn made(&self, x: &[u8], slots: &[Slot]) -> usize {
        (slots[self.count].get(x) as usize).clamp(1, self.capacity)
    }

    /// Sets the number of calls to make.
    ///
    /// # Panics
    /// If `x` ends before a slot does.
    pub fn set_made(&self, x: &mut [u8], slots: &[Slot], n: usize) {
        slots[self.count].set(x, n as u64);
    }

    /// Whether the slot belongs to no call, or to a call that is made.
    pub(crate) fn is_made(&self, index: usize, x: &[u8], slots: &[Slot]) -> bool {
        let own = (self.first..self.end()).contains(&index);
        !own || (index - self.first) / self.per_call < self.made(x, slots)
    }

    fn of(&self, call: usize) -> core::ops::Range<usize> {
        let first = self.first + call * self.per_call;
        first..first + self.per_call
    }

    fn copy(&self, x: &mut [u8], slots: &[Slot], from: usize, to: usize) {
        for (from, to) in self.of(from).zip(self.of(to)) {
            let raw = slots[from].get(x);
            slots[to].set(x, raw);
        }
    }

    /// Removes a call; the calls after it move up. The number of calls stays at least 1.
    ///
    /// # Panics
    /// If `x` ends before a slot does.
    pub fn remove(&self, x: &mut [u8], slots: &[Slot], call: usize) {
        let made = self.made(x, slots);
        for to in call..made - 1 {
            self.copy(x, slots, to + 1, to);
        }
        self.set_made(x, slots, (made - 1).max(1));
    }

    /// Sets the numbers of the calls that are not made to 0.
    ///
    /// # Panics
    /// If `x` ends before a slot does.
    pub fn clear_others(&self, x: &mut [u8], slots: &[Slot]) {
        let from = self.first + self.made(x, slots) * self.per_call;
        slots[from..self.end()].iter().for_each(|slot| slot.set(x, 0));
    }

    /// Changes the number of calls, repeats a call, removes one, copies one over another, or swaps two. Does not
    /// allocate.
    ///
    /// # Panics
    /// If `x` ends before a slot does.
    pub fn rearrange<R: Rand>(&self, rng: &mut R, slots: &[Slot], x: &mut [u8]) {
        let made = self.made(x, slots);
        let (a, b) = (rng.below_or_zero(made), rng.below_or_zero(made));
        match rng.below_or_zero(6) {
            0 => self.set_made(x, slots, rng.below_or_zero(self.capacity) + 1),
            1 => self.set_made(x, slots, (made + 1).min(self.capacity)),
            2 if made < self.capacity => {
                (a..made).rev().for_each(|from| self.copy(x, slots, from, from + 1));
                self.set_made(x, slots, made + 1);
            }
            3 if made > 1 => self.remove(x, slots, a),
            4 => self.copy(x, slots, a, b),
            _ => {
                for (i, j) in self.of(a).zip(self.of(b)) {
                    let (one, other) = (slots[i].get(x), slots[j].get(x));
                    slots[i].set(x, other);
                    slots[j].set(x, one);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use libafl_bolts::rands::StdRand;

    use super::*;
    use crate::{
        domain::Domain,
        simplify::{Simplifier, Verdict},
        view::{Kind, Layout},
    };

    /// A layout of up to four calls with one integer each.
    fn layout() -> Layout {
        let kinds = [Kind::U8, Kind::I32, Kind::I32, Kind::I32, Kind::I32];
        let domain = Domain::new(Kind::U8, 1, 4).expect("a range");
        let steps = Steps { count: 0, first: 1, per_call: 1, capacity: 4 };
        Layout::packed(&kinds).with_domains(vec![(0, domain)]).with_steps(steps)
    }

    fn input(layout: &Layout, made: u64, values: [i32; 4]) -> Vec<u8> {
        let mut x = vec![0; layout.size()];
        layout.slots()[0].set(&mut x, made);
        for (slot, value) in layout.slots()[1..].iter().zip(values) {
            slot.set(&mut x, u64::from(value.cast_unsigned()));
        }
        x
    }

    #[test]
    fn calls_that_are_not_made_are_inactive() {
        let layout = layout();
        let x = input(&layout, 2, [7, 8, 9, 10]);
        let active: Vec<usize> = (0..layout.len()).filter(|i| layout.is_active(*i, &x)).collect();
        assert_eq!(active, [0, 1, 2]);
    }

    #[test]
    fn a_sequence_is_shrunk_to_the_fewest_calls() {
        let layout = layout();
        // The property: the last call has a 9, and an earlier one a 7.
        let values = |x: &[u8]| -> Vec<u64> {
            let steps = layout.steps().expect("calls");
            layout.slots()[1..].iter().take(steps.made(x, layout.slots())).map(|s| s.get(x)).collect()
        };
        let mut x = input(&layout, 4, [7, 5, 6, 9]);
        Simplifier::new().simplify(&mut x, &layout, |y| {
            let all = values(y);
            if all.last() == Some(&9) && all.contains(&7) { Verdict::Holds } else { Verdict::Fails }
        });
        assert_eq!(x, input(&layout, 2, [7, 9, 0, 0]));
    }

    #[test]
    fn calls_are_rearranged_as_a_whole() {
        let layout = layout();
        let mut rng = StdRand::with_seed(1);
        let mut seen = std::collections::HashSet::new();
        for _ in 0..1000 {
            let mut x = input(&layout, 2, [7, 8, 0, 0]);
            layout.steps().expect("calls").rearrange(&mut rng, layout.slots(), &mut x);
            assert!(layout.is_normal(&x), "the number of calls is in its range");
            seen.insert(x);
        }
        for (made, values) in
            [(1, [8, 8, 0, 0]), (2, [8, 7, 0, 0]), (2, [7, 7, 0, 0]), (3, [7, 7, 8, 0]), (4, [7, 8, 0, 0])]
        {
            assert!(seen.contains(&input(&layout, made, values)), "{made} {values:?}");
        }
    }
}
