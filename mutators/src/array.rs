//! Moves of whole arrays, because conditions test whether elements are sorted, are equal, or have a given neighbour.

use libafl_bolts::rands::Rand;

use crate::{
    group::Group,
    line,
    view::{Layout, Slot},
};

/// Rearranges a random array of `x` within its length: sorts, reverses or shifts a part, swaps two elements, copies an
/// element to another one, to a part or to all, or exchanges it with another number of the input. Once in 8 times,
/// changes the length of an array instead. Does nothing if the array has no element. Does not allocate.
///
/// # Panics
/// If a slot ends beyond `x`.
pub fn rearrange<R: Rand>(rng: &mut R, layout: &Layout, x: &mut [u8]) {
    if let Some((index, largest)) = pick(rng, layout.lengths())
        && rng.below_or_zero(8) == 0
    {
        layout.slots()[*index].set(x, rng.below_or_zero(*largest as usize + 1) as u64);
        return;
    }
    let Some(group) = pick(rng, layout.groups()) else { return };
    let n = group.active(x, layout.slots());
    let elements = &layout.slots()[group.first..group.first + n];
    if elements.is_empty() {
        return;
    }
    let (a, b) = (rng.below_or_zero(n), rng.below_or_zero(n));
    let (low, high) = (a.min(b), a.max(b) + 1);
    let per_element = group.per_element;
    match rng.below_or_zero(9) {
        0 => sort(rng, &elements[low..high], per_element, x),
        1 => (0..(high - low) / 2).for_each(|i| swap(elements[low + i], elements[high - 1 - i], x)),
        2 => swap(elements[a], elements[b], x),
        3 => copy(elements[a], elements[b], x),
        4 => elements[low..high].iter().for_each(|to| copy(elements[a], *to, x)),
        5 => (low + 1..high).rev().for_each(|i| copy(elements[i - 1], elements[i], x)),
        6 => (low..high - 1).for_each(|i| copy(elements[i + 1], elements[i], x)),
        7 => elements.iter().for_each(|to| copy(elements[a], *to, x)),
        _ => exchange(rng, layout, group, elements[a], x),
    }
}

fn pick<'a, R: Rand, T>(rng: &mut R, all: &'a [T]) -> Option<&'a T> {
    all.get(rng.below_or_zero(all.len().max(1)))
}

/// Copies a number to another slot; a number of another kind is converted through a double.
fn copy(from: Slot, to: Slot, x: &mut [u8]) {
    if from.kind == to.kind {
        to.set(x, from.get(x));
    } else {
        to.set_real(x, from.real(x));
    }
}

fn swap(a: Slot, b: Slot, x: &mut [u8]) {
    if a.kind == b.kind {
        let raw = a.get(x);
        a.set(x, b.get(x));
        b.set(x, raw);
    }
}

/// Sorts every `stride`th number by its position on the ULP line, by insertion, in random direction.
fn sort<R: Rand>(rng: &mut R, elements: &[Slot], stride: usize, x: &mut [u8]) {
    let down = rng.coinflip(0.3);
    let at = |slot: Slot, x: &[u8]| line::position(slot.kind, slot.get(x));
    for i in stride..elements.len() {
        let mut j = i;
        while j >= stride && (at(elements[j - stride], x) > at(elements[j], x)) != down {
            if elements[j - stride].kind != elements[j].kind || at(elements[j - stride], x) == at(elements[j], x) {
                break;
            }
            swap(elements[j - stride], elements[j], x);
            j -= stride;
        }
    }
}

/// Copies an element to a random number outside the array, or that number to the element.
fn exchange<R: Rand>(rng: &mut R, layout: &Layout, group: &Group, element: Slot, x: &mut [u8]) {
    let outside = layout.slots().len() - (group.end() - group.first);
    if outside == 0 {
        return;
    }
    let index = rng.below_or_zero(outside);
    let index = if index < group.first { index } else { index + group.end() - group.first };
    let other = layout.slots()[index];
    if rng.coinflip(0.5) {
        copy(element, other, x);
    } else {
        copy(other, element, x);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use libafl_bolts::rands::StdRand;

    use super::*;
    use crate::{group::Length, view::Kind};

    fn layout() -> Layout {
        let kinds = [Kind::I32, Kind::F64, Kind::F64, Kind::F64, Kind::F64, Kind::F64];
        let n = Layout::packed(&kinds).slots()[0];
        let length = Length::Linear { n, times: 1, plus: 0 };
        let group = Group { first: 1, per_element: 1, capacity: 4, length, is_string: false, absent: Vec::new() };
        Layout::packed(&kinds).with_groups(vec![group])
    }

    #[test]
    fn arrays_become_sorted_reversed_and_equal_within_their_length() {
        let layout = layout();
        let mut seen = HashSet::new();
        for seed in 0..2000 {
            let mut x = vec![0; layout.size()];
            layout.set_reals(&mut x, &[3.0, 5.0, -7.0, 6.0, 8.0, 9.0]);
            rearrange(&mut StdRand::with_seed(seed), &layout, &mut x);
            let reals = layout.reals(&x);
            assert_eq!(reals[4], 8.0, "behind the length");
            seen.insert(format!("{:?}", &reals[1..4]));
        }
        for wanted in ["[-7.0, 5.0, 6.0]", "[6.0, 5.0, -7.0]", "[6.0, -7.0, 5.0]", "[5.0, 5.0, 5.0]", "[5.0, 9.0, 6.0]"]
        {
            assert!(seen.contains(wanted), "{wanted}: {seen:?}");
        }
    }

    #[test]
    fn an_empty_array_stays() {
        let layout = layout();
        for seed in 0..200 {
            let mut x = vec![0; layout.size()];
            rearrange(&mut StdRand::with_seed(seed), &layout, &mut x);
            assert!(layout.reals(&x)[1..].iter().all(|v| *v == 0.0));
        }
    }
}
