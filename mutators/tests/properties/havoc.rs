//! The mutators of LibAFL, on inputs of any length.

use std::sync::Arc;

use libafl::{
    inputs::BytesInput,
    mutators::{MutationResult, MutatorsTuple},
    state::HasRand,
};
use libafl_bolts::{HasLen, rands::XorShift64Rand};
use penfuzz_mutators::{
    dictionary::Dictionary,
    havoc::numeric_mutations,
    view::{Layout, Slot},
};
use proptest::{collection::vec, prelude::*};

use super::{config, layouts};

/// A state with a random generator only, which is all that the mutators require.
struct OnlyRand(XorShift64Rand);

impl HasRand for OnlyRand {
    type Rand = XorShift64Rand;

    fn rand(&self) -> &Self::Rand {
        &self.0
    }

    fn rand_mut(&mut self) -> &mut Self::Rand {
        &mut self.0
    }
}

/// Applies the mutator number `index`.
fn mutated(layout: &Layout, seed: u64, index: usize, bytes: &[u8]) -> (MutationResult, Vec<u8>) {
    let mut mutations = numeric_mutations(&Arc::new(layout.clone()), &Arc::new(Dictionary::general()));
    let mut input = BytesInput::new(bytes.to_vec());
    let mut state = OnlyRand(XorShift64Rand::with_seed(seed));
    let result = mutations.get_and_mutate(index.into(), &mut state, &mut input).expect("no mutator fails");
    (result, input.into())
}

fn n_mutators() -> usize {
    numeric_mutations(&Arc::default(), &Arc::default()).len()
}

proptest! {
    #![proptest_config(config(200))]

    #[test]
    fn moves_change_one_number_that_lies_within_the_input(
        layout in layouts(0..4), bytes in vec(any::<u8>(), 0..40), seed in any::<u64>()
    ) {
        for index in 0..n_mutators() - 1 {
            let (result, after) = mutated(&layout, seed, index, &bytes);
            prop_assert_eq!(result == MutationResult::Mutated, after != bytes, "mutator {}", index);
            prop_assert_eq!(after.len(), bytes.len());
            if result == MutationResult::Mutated {
                let is_only_change = |slot: &&Slot| {
                    let (start, end) = (slot.offset, slot.end());
                    after[..start] == bytes[..start] && after[end..] == bytes[end..]
                };
                let changed = layout.fitting(bytes.len()).iter().find(is_only_change);
                prop_assert!(changed.is_some(), "mutator {}: {:?}", index, after);
            }
        }
    }

    #[test]
    fn a_structured_point_has_the_size_of_the_layout(
        layout in layouts(0..4), bytes in vec(any::<u8>(), 0..40), seed in any::<u64>()
    ) {
        let (result, after) = mutated(&layout, seed, n_mutators() - 1, &bytes);
        if layout.is_empty() {
            prop_assert_eq!((result, after), (MutationResult::Skipped, bytes));
        } else {
            prop_assert_eq!((result, after.len()), (MutationResult::Mutated, layout.size()));
        }
    }
}
