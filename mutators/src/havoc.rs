//! Float-aware mutators for any LibAFL fuzzer whose inputs are bytes.
//!
//! Byte-level havoc changes the exponent of a double only by chance. These mutators change an input as the numbers that
//! a [`Layout`] places in it: by steps on the ULP line, special values, constants of the program, low bits, values
//! derived from other arguments, sign and exponent. They require a state with a generator ([`HasRand`], of any type)
//! and an input of bytes ([`HasMutatorBytes`]).
//!
//! An input that is shorter than the layout is mutated in the slots that it holds entirely, and skipped if there is
//! none. A [`MoveMutator`] keeps the length and all bytes outside one slot.
//!
//! # Example
//! One scheduler over LibAFL's own mutators and the numeric ones.
//! ```
//! use std::sync::Arc;
//!
//! use libafl::{
//!     corpus::{Corpus, InMemoryCorpus, Testcase},
//!     inputs::BytesInput,
//!     mutators::{HavocScheduledMutator, Mutator, havoc_mutations},
//!     state::StdState,
//! };
//! use libafl_bolts::{rands::StdRand, tuples::Merge};
//! use penfuzz_mutators::{dictionary::Dictionary, havoc::numeric_mutations, view::Layout};
//!
//! let (layout, dictionary) = (Arc::new(Layout::doubles(16)), Arc::new(Dictionary::general()));
//! let mutations = havoc_mutations().merge(numeric_mutations(&layout, &dictionary));
//! let mut mutator = HavocScheduledMutator::new(mutations);
//!
//! let mut input = BytesInput::new(vec![1; 16]);
//! let mut corpus = InMemoryCorpus::new();
//! corpus.add(Testcase::new(input.clone()))?;
//! let mut state = StdState::new(StdRand::with_seed(1), corpus, InMemoryCorpus::new(), &mut (), &mut ())?;
//! mutator.mutate(&mut state, &mut input)?;
//! # Ok::<(), libafl::Error>(())
//! ```

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

/// Replaces one number of the input, drawn uniformly, by one candidate of a [`Move`], drawn uniformly.
///
/// The result is `Skipped`, and the input unchanged, if the input holds no whole slot, if the move has no candidate for
/// the drawn slot, or if the candidate equals the present value.
#[derive(Debug, Clone)]
pub struct MoveMutator<M> {
    /// The kind of replacement.
    replacement: M,
    name: Cow<'static, str>,
    layout: Arc<Layout>,
    dictionary: Arc<Dictionary>,
}

impl<M: Move> MoveMutator<M> {
    /// A mutator that is named after its move, for inputs of this layout.
    #[must_use]
    pub fn new(replacement: M, layout: Arc<Layout>, dictionary: Arc<Dictionary>) -> Self {
        let name = Cow::Borrowed(replacement.name());
        Self { replacement, name, layout, dictionary }
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
        let count = self.replacement.count(&at);
        if count == 0 {
            return Ok(MutationResult::Skipped);
        }
        let (slot, old) = (at.target(), at.raw());
        let raw = self.replacement.candidate(&at, rng.below_or_zero(count));
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

/// Replaces the numbers of the input by [structured] random ones.
///
/// The input is cut or zero-padded to the size of the layout first. The result is `Skipped`, and the input unchanged,
/// if the layout has no slot.
#[derive(Debug, Clone)]
pub struct StructuredPointMutator {
    layout: Arc<Layout>,
    dictionary: Arc<Dictionary>,
}

impl StructuredPointMutator {
    /// A mutator for inputs of this layout.
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

/// The tuple of mutators that [`numeric_mutations`] makes.
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

/// A [`MoveMutator`] for each kind of [`Move`], and a [`StructuredPointMutator`], for a scheduled mutator such as
/// LibAFL's `HavocScheduledMutator`.
#[must_use]
pub fn numeric_mutations(layout: &Arc<Layout>, dictionary: &Arc<Dictionary>) -> NumericMutationsType {
    fn of<M: Move>(replacement: M, layout: &Arc<Layout>, dictionary: &Arc<Dictionary>) -> MoveMutator<M> {
        MoveMutator::new(replacement, layout.clone(), dictionary.clone())
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
