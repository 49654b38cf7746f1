//! Simplification under an arbitrary property of the input.

use std::hash::{DefaultHasher, Hash, Hasher};

use penfuzz_mutators::{
    simplicity::{Simplicity, of},
    simplify::{Simplifier, Verdict},
    view::Layout,
};
use proptest::prelude::*;

use super::{config, layouts, raw};

/// A layout, and an input of numbers of all magnitudes that is up to 4 bytes shorter or longer.
fn input() -> impl Strategy<Value = (Layout, Vec<u8>)> {
    layouts(0..5).prop_flat_map(|layout| {
        let numbers: Vec<_> = layout.slots().iter().map(|slot| raw(slot.kind)).collect();
        (Just(layout), numbers, -4..=4isize).prop_map(|(layout, numbers, more)| {
            let mut x = vec![0xa5; layout.size() + 4];
            for (slot, raw) in layout.slots().iter().zip(numbers) {
                slot.set(&mut x, raw);
            }
            x.truncate(layout.size().saturating_add_signed(more));
            (layout, x)
        })
    })
}

/// The keys of the numbers that lie within the input, the least simple first.
fn keys(layout: &Layout, x: &[u8]) -> Vec<Simplicity> {
    let mut keys: Vec<_> = layout.fitting(x.len()).iter().map(|slot| of(slot.kind, slot.get(x))).collect();
    keys.sort_unstable_by(|a, b| b.cmp(a));
    keys
}

proptest! {
    #![proptest_config(config(128))]

    /// The property holds for the start and, by a hash of the bytes, for one in `rarity` of all other inputs.
    #[test]
    fn the_result_has_the_property_and_is_no_less_simple(
        (layout, start) in input(),
        rarity in prop_oneof![1..50u64, Just(u64::MAX)],
        salt in any::<u64>(),
        budget in 0..3000u32,
    ) {
        let has_property = |y: &[u8]| {
            let mut hasher = DefaultHasher::new();
            (salt, y).hash(&mut hasher);
            y == start || hasher.finish().is_multiple_of(rarity)
        };
        let (mut x, mut left) = (start.clone(), budget);
        let changed = Simplifier::new().simplify(&mut x, &layout, |y| {
            assert_eq!(y.len(), start.len());
            match left.checked_sub(1) {
                None => return Verdict::Stop,
                Some(rest) => left = rest,
            }
            if has_property(y) { Verdict::Holds } else { Verdict::Fails }
        });
        prop_assert!(has_property(&x), "{:?} -> {:?}", start, x);
        prop_assert_eq!(changed, x != start);
        prop_assert!(keys(&layout, &x) <= keys(&layout, &start), "{:?} -> {:?}", start, x);
        let end = layout.fitting(x.len()).last().map_or(0, |slot| slot.end());
        prop_assert_eq!(&x[end..], &start[end..], "bytes without a number stay");
    }

    /// If every input has the property, only zeros are left.
    #[test]
    fn numbers_that_do_not_matter_become_zero((layout, mut x) in input()) {
        Simplifier::new().simplify(&mut x, &layout, |_| Verdict::Holds);
        for slot in layout.fitting(x.len()) {
            prop_assert_eq!(slot.get(&x), 0);
        }
    }
}
