//! Passes the finds of a stage to LibAFL's feedbacks, corpus and pending pool.

use libafl::{Error, Evaluator as LibaflEvaluator, HasMetadata, corpus::Corpus, inputs::BytesInput, state::HasCorpus};

use crate::{
    goals::{Aim, Goal, Record},
    saturation::Saturation,
};
use penfuzz_executor::{HasEvaluator, PenEvaluator};

/// Passes finds to LibAFL, which runs each once more and lets the feedbacks decide.
///
/// # Errors
/// The errors of LibAFL.
pub fn submit<E, EM, S, Z>(
    finds: Vec<Vec<u8>>,
    fuzzer: &mut Z,
    executor: &mut E,
    state: &mut S,
    manager: &mut EM,
) -> Result<(), Error>
where
    E: HasEvaluator,
    S: HasMetadata,
    Z: LibaflEvaluator<E, EM, BytesInput, S>,
{
    let fuel = executor.evaluator().fuel();
    executor.evaluator_mut().set_fuel_cap(fuel);
    for bytes in finds {
        let saturation = state.metadata::<Saturation>()?;
        // A stage without distances may have found the input: only this run saves it as the closest input to the
        // branches next to its path. A search without distances does not need the closest inputs, and its evaluations
        // would be slower from then on.
        if executor.evaluator().tracks() {
            Aim(None).arm(executor.evaluator_mut(), saturation);
        } else {
            Record.arm(executor.evaluator_mut(), saturation);
        }
        fuzzer.evaluate_input(state, executor, manager, &BytesInput::new(bytes))?;
    }
    for pending in state.metadata_mut::<Saturation>()?.take_ready() {
        fuzzer.add_input(state, executor, manager, BytesInput::new(pending.bytes))?;
    }
    Ok(())
}

/// Gives branches up, and moves the pending inputs that thereby saturate a branch into the corpus.
///
/// # Errors
/// The errors of LibAFL.
pub fn give_up<E, EM, S, Z>(
    branches: &[usize],
    fuzzer: &mut Z,
    executor: &mut E,
    state: &mut S,
    manager: &mut EM,
) -> Result<(), Error>
where
    E: HasEvaluator,
    S: HasMetadata,
    Z: LibaflEvaluator<E, EM, BytesInput, S>,
{
    let ready = state.metadata_mut::<Saturation>()?.give_up_all(branches);
    for pending in ready {
        fuzzer.add_input(state, executor, manager, BytesInput::new(pending.bytes))?;
    }
    Ok(())
}

/// A start point that is known to reach something: an input of the corpus or of the pending pool, selected by the
/// random number `pick`. `None` if there is no such input.
///
/// # Errors
/// If the corpus cannot return its entry.
pub fn known_input<S>(state: &S, pick: u64) -> Result<Option<Vec<u8>>, Error>
where
    S: HasMetadata + HasCorpus<BytesInput>,
{
    let pending = &state.metadata::<Saturation>()?.pending;
    let n = state.corpus().count() + pending.len();
    if n == 0 {
        return Ok(None);
    }
    let i = (pick % n as u64) as usize;
    if let Some(p) = pending.get(i) {
        return Ok(Some(p.bytes.clone()));
    }
    let id = state.corpus().nth(i - pending.len());
    let input = state.corpus().cloned_input_for_id(id)?;
    Ok(Some(input.into()))
}
