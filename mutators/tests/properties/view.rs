//! The typed view of a byte input.

use penfuzz_mutators::view::{Kind, Layout};
use proptest::{collection::vec, prelude::*};

use super::{config, layouts, number};

/// A layout and an input at least as long.
fn input() -> impl Strategy<Value = (Layout, Vec<u8>)> {
    layouts(0..8).prop_flat_map(|layout| {
        let length = layout.size()..=layout.size() + 8;
        (Just(layout), vec(any::<u8>(), length))
    })
}

/// The bits of the input that the layout reads: all of every number, but only the low bits of `Bool` and `Rounding`.
fn read_bits(layout: &Layout, length: usize) -> Vec<u8> {
    let mut bits = vec![0; length];
    for slot in layout.slots() {
        bits[slot.offset..slot.end()].copy_from_slice(&slot.kind.mask().to_le_bytes()[..slot.kind.size()]);
    }
    bits
}

proptest! {
    #![proptest_config(config(500))]

    /// Decodes every number of one input and encodes it into another.
    #[test]
    fn raw_bits_survive_decoding_and_encoding((layout, x) in input(), filler in any::<u8>()) {
        let mut y = vec![filler; x.len()];
        for slot in layout.slots() {
            slot.set(&mut y, slot.get(&x));
        }
        let whole = |i: usize| layout.slots().iter().any(|slot| (slot.offset..slot.end()).contains(&i));
        for (i, bits) in read_bits(&layout, x.len()).into_iter().enumerate() {
            let expected = if whole(i) { x[i] & bits } else { filler };
            prop_assert_eq!(y[i], expected, "byte {} of {:?}", i, layout);
        }
    }

    #[test]
    fn a_store_changes_its_slot_only((layout, x) in input(), raw in any::<u64>()) {
        for slot in layout.slots() {
            let mut y = x.clone();
            slot.set(&mut y, raw);
            prop_assert_eq!(slot.get(&y), raw & slot.kind.mask());
            prop_assert_eq!(&y[..slot.offset], &x[..slot.offset]);
            prop_assert_eq!(&y[slot.end()..], &x[slot.end()..]);
        }
    }

    #[test]
    fn positions_on_the_ulp_line_survive((layout, x) in input()) {
        let mut y = vec![0; x.len()];
        for slot in layout.slots() {
            slot.set_position(&mut y, slot.position(&x));
            prop_assert_eq!(slot.get(&y), slot.get(&x));
        }
    }

    #[test]
    fn fitting_slots_are_those_that_end_within_the_input(layout in layouts(0..8), length in 0..80usize) {
        let expected: Vec<_> = layout.slots().iter().copied().filter(|slot| slot.end() <= length).collect();
        prop_assert_eq!(layout.fitting(length), expected);
    }

    /// A double cannot hold all integers beyond `2^53`, nor, in single precision, the payload of a NaN.
    #[test]
    fn values_survive_as_reals((kind, raw) in number()) {
        let real = kind.to_real(raw);
        let through = kind.from_real(real);
        if real.is_nan() {
            prop_assert!(kind.to_real(through).is_nan());
        } else if kind.is_float() || real.abs() < 2f64.powi(53) {
            prop_assert_eq!(through, raw);
        } else {
            prop_assert!(matches!(kind, Kind::I64 | Kind::U64));
            prop_assert_eq!(kind.to_real(through).to_bits(), real.to_bits());
        }
    }
}
