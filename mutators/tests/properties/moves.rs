//! The candidates of the moves.

use penfuzz_mutators::{
    dictionary::Dictionary,
    moves::{At, MOVES},
};
use proptest::{collection::vec, prelude::*};

use super::{config, layouts};

proptest! {
    #![proptest_config(config(64))]

    #[test]
    fn every_candidate_fits_its_kind(
        (layout, x) in layouts(1..5).prop_flat_map(|layout| {
            let bytes = vec(any::<u8>(), layout.size());
            (Just(layout), bytes)
        }),
        float in any::<u64>(),
        integer in any::<i64>(),
    ) {
        let dictionary = Dictionary::new(&[float], &[integer]);
        for (i, slot) in layout.slots().iter().enumerate() {
            let at = At::new(&x, &layout, i, &dictionary);
            for tested in MOVES {
                for index in 0..tested.count(&at) {
                    let raw = tested.candidate(&at, index);
                    prop_assert_eq!(raw & !slot.kind.mask(), 0, "{} {:?} {:x}", tested.name(), slot, raw);
                }
            }
        }
    }
}
