//! Distinguishes inputs that hang from inputs that only run long, with [`long_input`].

use libafl::{
    HasMetadata,
    corpus::{Corpus, CorpusId},
    state::HasSolutions,
};
use penfuzz_directory::{
    output::store::LongRun,
    replay::long_input::{self, Answer},
};
use penfuzz_engine::saturation::{Saturation, feedback::LongPlaces};
use penfuzz_error::Error;
use penfuzz_executor::{Fault, HasEvaluator};

use super::{Campaign, Executor, State};

impl Campaign<'_> {
    /// Classifies the new solutions that have exhausted their fuel. Meanwhile the supervisor sees no progress, as
    /// during a report.
    pub(super) fn classify_hangs(&mut self, executor: &mut Executor, state: &mut State) -> Result<(), Error> {
        while self.classified_solutions < state.solutions().count() {
            let id = state.solutions().nth(self.classified_solutions);
            self.classified_solutions += 1;
            let fault = state.solutions().get(id)?.borrow().metadata::<Fault>()?.clone();
            if fault.is_out_of_fuel {
                let _pause = self.shm.without_evaluations();
                self.classify_hang(id, fault, executor, state)?;
            }
        }
        Ok(())
    }

    fn classify_hang(
        &mut self,
        id: CorpusId,
        fault: Fault,
        executor: &mut Executor,
        state: &mut State,
    ) -> Result<(), Error> {
        let bytes: Vec<u8> = state.solutions().cloned_input_for_id(id)?.into();
        let answer = if let Some(known) = self.store.long(&bytes) {
            Some(Answer::Returns(known.clone()))
        } else if let Some(fresh) = &self.fresh {
            fresh.decide(&bytes)
        } else {
            let (evaluator, timeout) = (executor.evaluator_mut(), self.options.settings.limits().timeout);
            long_input::decide(evaluator, &self.scope.recorded, &bytes, timeout, &self.shm.stop)
        };
        let known = match answer {
            Some(Answer::Returns(long)) => {
                let _ = state.solutions().get(id)?.borrow_mut().metadata_map_mut().remove::<Fault>();
                return self.keep_long(&bytes, fault.key, long, executor, state);
            }
            Some(Answer::Fails(other)) => other,
            Some(Answer::Hangs) => long_input::hang_fault(fault, self.options.settings.limits().timeout),
            None => return Ok(()),
        };
        state.solutions().get(id)?.borrow_mut().add_metadata(known);
        Ok(())
    }

    /// Keeps a long-running input. Its branches count like those of any input that returns.
    fn keep_long(
        &mut self,
        bytes: &[u8],
        place: u64,
        mut long: LongRun,
        executor: &Executor,
        state: &mut State,
    ) -> Result<(), Error> {
        state.metadata_or_insert_with(LongPlaces::default).0.insert(place);
        let saturation = state.metadata_mut::<Saturation>()?;
        // The branches may come from an edited file.
        long.covers.retain(|b| (*b as usize) < saturation.len());
        saturation.cover(&long.covers, false);
        let ms = (self.shm.seconds(self.begun) * 1e3) as u64;
        let evaluations = executor.evaluator().evaluations();
        self.store.keep_long(bytes, long, ms, evaluations, self.options.run.search.name());
        Ok(())
    }
}
