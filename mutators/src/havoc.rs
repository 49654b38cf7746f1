//! Float-aware mutators for any LibAFL fuzzer whose inputs are bytes.
//!
//! Byte-level havoc hits a double's exponent by luck. These mutators know where the numbers are and change them as numbers:
//! steps on the ULP line, special values, constants of the program, low bits, related arguments, sign and exponent.
//! Combine them with LibAFL's own: `havoc_mutations().merge(numeric_mutations(layout, dictionary))`.
//!
//! An input too short for a slot is mutated in the slots that fit, and skipped if none does.

use std::{borrow::Cow, sync::Arc};

use libafl::{
    Error,
    corpus::CorpusId,
    inputs::{HasMutatorBytes, ResizableMutator},
    mutators::{MutationResult, Mutator},
    state::HasRand,
};
use libafl_bolts::{
    Named,
    rands::Rand,
    tuples::{tuple_list, tuple_list_type},
};

use crate::{
    dictionary::Dictionary,
    moves::{At, BitFlip, Harvested, LowBits, Move, Reform, Related, Special, UlpStep},
    structured,
    view::Layout,
};

/// Applies one random candidate of a [`Move`] to one random number of the input.
#[derive(Debug, Clone)]
pub struct MoveMutator<M> {
    chosen: M,
    name: Cow<'static, str>,
    layout: Arc<Layout>,
    dictionary: Arc<Dictionary>,
}

impl<M: Move> MoveMutator<M> {
    /// For inputs of this layout.
    #[must_use]
    pub fn new(chosen: M, layout: Arc<Layout>, dictionary: Arc<Dictionary>) -> Self {
        let name = Cow::Borrowed(chosen.name());
        Self { chosen, name, layout, dictionary }
    }
}

impl<M> Named for MoveMutator<M> {
    fn name(&self) -> &Cow<'static, str> {
        &self.name
    }
}

impl<I, S, M> Mutator<I, S> for MoveMutator<M>
where
    I: HasMutatorBytes,
    S: HasRand,
    M: Move,
{
    fn mutate(&mut self, state: &mut S, input: &mut I) -> Result<MutationResult, Error> {
        let x = input.mutator_bytes_mut();
        let slots = self.layout.fitting(x.len());
        if slots.is_empty() {
            return Ok(MutationResult::Skipped);
        }
        let rng = state.rand_mut();
        let at = At { x, slots, slot: rng.below_or_zero(slots.len()), dictionary: &self.dictionary };
        let count = self.chosen.count(&at);
        if count == 0 {
            return Ok(MutationResult::Skipped);
        }
        let (slot, old) = (at.target(), at.raw());
        let raw = self.chosen.candidate(&at, rng.below_or_zero(count));
        if raw == old {
            return Ok(MutationResult::Skipped);
        }
        slot.set(x, raw);
        Ok(MutationResult::Mutated)
    }

    fn post_exec(&mut self, _state: &mut S, _new_corpus_id: Option<CorpusId>) -> Result<(), Error> {
        Ok(())
    }
}

/// Replaces the whole input by a [structured] random point of the layout's size.
#[derive(Debug, Clone)]
pub struct StructuredPointMutator {
    layout: Arc<Layout>,
    dictionary: Arc<Dictionary>,
}

impl StructuredPointMutator {
    /// For inputs of this layout.
    #[must_use]
    pub const fn new(layout: Arc<Layout>, dictionary: Arc<Dictionary>) -> Self {
        Self { layout, dictionary }
    }
}

impl Named for StructuredPointMutator {
    fn name(&self) -> &Cow<'static, str> {
        static NAME: Cow<'static, str> = Cow::Borrowed("structured-point");
        &NAME
    }
}

impl<I, S> Mutator<I, S> for StructuredPointMutator
where
    I: HasMutatorBytes + ResizableMutator<u8>,
    S: HasRand,
{
    fn mutate(&mut self, state: &mut S, input: &mut I) -> Result<MutationResult, Error> {
        if self.layout.is_empty() {
            return Ok(MutationResult::Skipped);
        }
        input.resize(self.layout.size(), 0);
        structured::fill(state.rand_mut(), &self.layout, &self.dictionary, input.mutator_bytes_mut());
        Ok(MutationResult::Mutated)
    }

    fn post_exec(&mut self, _state: &mut S, _new_corpus_id: Option<CorpusId>) -> Result<(), Error> {
        Ok(())
    }
}

/// The mutators of [`numeric_mutations`].
pub type NumericMutationsType = tuple_list_type!(
    MoveMutator<UlpStep>,
    MoveMutator<Special>,
    MoveMutator<Harvested>,
    MoveMutator<LowBits>,
    MoveMutator<Related>,
    MoveMutator<Reform>,
    MoveMutator<BitFlip>,
    StructuredPointMutator,
);

/// All of them, for a scheduled mutator such as LibAFL's `HavocScheduledMutator`.
#[must_use]
pub fn numeric_mutations(layout: &Arc<Layout>, dictionary: &Arc<Dictionary>) -> NumericMutationsType {
    fn of<M: Move>(chosen: M, layout: &Arc<Layout>, dictionary: &Arc<Dictionary>) -> MoveMutator<M> {
        MoveMutator::new(chosen, layout.clone(), dictionary.clone())
    }
    tuple_list!(
        of(UlpStep, layout, dictionary),
        of(Special, layout, dictionary),
        of(Harvested, layout, dictionary),
        of(LowBits, layout, dictionary),
        of(Related, layout, dictionary),
        of(Reform, layout, dictionary),
        of(BitFlip, layout, dictionary),
        StructuredPointMutator::new(layout.clone(), dictionary.clone()),
    )
}

#[cfg(test)]
mod tests {
    use libafl::{
        inputs::BytesInput,
        mutators::{HavocScheduledMutator, MutatorsTuple, havoc_mutations},
    };
    use libafl_bolts::{rands::XorShift64Rand, tuples::Merge};

    use super::*;

    /// All that the mutators require of a state: a generator, of any type.
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

    fn parts() -> (Arc<Layout>, Arc<Dictionary>, OnlyRand) {
        (Arc::new(Layout::doubles(16)), Arc::default(), OnlyRand(XorShift64Rand::with_seed(1)))
    }

    #[test]
    fn one_number_changes_and_the_length_stays() {
        let (layout, dictionary, mut state) = parts();
        let mut mutator = MoveMutator::new(UlpStep, layout, dictionary);
        let mut input = BytesInput::new(vec![1; 19]);
        let result = mutator.mutate(&mut state, &mut input).unwrap();
        let bytes = input.mutator_bytes();
        let same = [bytes[..8] == [1; 8], bytes[8..16] == [1; 8], bytes[16..] == [1; 3]];
        assert_eq!(result, MutationResult::Mutated);
        assert!(same == [true, false, true] || same == [false, true, true], "{bytes:?}");
    }

    #[test]
    fn too_short_an_input_is_skipped() {
        let (layout, dictionary, mut state) = parts();
        let mut mutator = MoveMutator::new(Special, layout, dictionary);
        let result = mutator.mutate(&mut state, &mut BytesInput::new(vec![1; 7])).unwrap();
        assert_eq!(result, MutationResult::Skipped);
    }

    #[test]
    fn an_input_that_was_cut_does_no_harm() {
        let (layout, dictionary, mut state) = parts();
        let mut mutations = numeric_mutations(&layout, &dictionary);
        for length in 0..20 {
            for _ in 0..50 {
                mutations.mutate_all(&mut state, &mut BytesInput::new(vec![3; length])).unwrap();
            }
        }
    }

    #[test]
    fn a_structured_point_has_the_size_of_the_layout() {
        let (layout, dictionary, mut state) = parts();
        let mut input = BytesInput::new(Vec::new());
        StructuredPointMutator::new(layout, dictionary).mutate(&mut state, &mut input).unwrap();
        assert_eq!(input.mutator_bytes().len(), 16);
    }

    #[test]
    fn they_merge_with_stock_havoc() {
        let (layout, dictionary, mut state) = parts();
        let merged = numeric_mutations(&layout, &dictionary);
        let mut mutator = HavocScheduledMutator::new(merged);
        let result = mutator.mutate(&mut state, &mut BytesInput::new(vec![1; 16]));
        assert!(result.is_ok());
        let _ = havoc_mutations().merge(numeric_mutations(&layout, &dictionary));
    }
}
