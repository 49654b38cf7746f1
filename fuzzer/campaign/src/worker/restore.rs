//! Starts a worker with the finds of earlier workers, the inputs that killed them, and the seeds.

use core::sync::atomic::Ordering;
use std::{io, path::Path, time::Duration};

use libafl::{HasMetadata, corpus::Corpus, inputs::BytesInput, state::HasSolutions};
use penfuzz_directory::{
    output::manifest,
    replay::fatal_input::{self, Death},
};
use penfuzz_engine::{saturation::Saturation, stages::finds};
use penfuzz_error::Error;
use penfuzz_executor::{
    Evaluator, HasEvaluator,
    fresh::{FreshProcessRunner, FreshResult},
};
use penfuzz_prove::stated::StoredProofs;
use penfuzz_system::{
    files::{foreign, inputs::InputReader},
    process::streams,
};
use penfuzz_target::{program::Target, recorded};

use super::{Campaign, Executor, Manager, State};
use crate::{Proofs, prepare::recorded_calls, saved_state, worker_shm::StopReason};

impl Campaign<'_> {
    /// Evaluates the inputs of earlier workers and of the other clients, and the seeds, and restores the saved state.
    /// Returns false if one of these inputs has left the process in a state in which it must be replaced.
    pub(super) fn restore<Z>(
        &mut self,
        fuzzer: &mut Z,
        executor: &mut Executor,
        state: &mut State,
        manager: &mut Manager,
    ) -> Result<bool, Error>
    where
        Z: libafl::Evaluator<Executor, Manager, BytesInput, State>,
    {
        let count = executor.evaluator().evaluations();
        let resumed = self.store.is_resumed();
        let kept: Vec<Vec<u8>> =
            self.store.queue().iter().chain(self.store.pending()).map(|(_, bytes)| bytes.clone()).collect();
        let is_first = self.shm.searching.load(Ordering::Relaxed) == 0;
        let size = executor.evaluator().input_size();
        let mut seeds = self.options.run.hints.clone();
        if !resumed || !is_first {
            seeds.extend(self.seeds(size, is_first)?);
        }
        let first_recorded = seeds.len();
        if !resumed || !is_first {
            seeds.extend(self.recorded(executor.evaluator())?);
        }
        let recorded = first_recorded..seeds.len();
        if !resumed || !is_first {
            // Variables that are inputs start with the values that they have in the program.
            seeds.extend(executor.evaluator().model().and_then(penfuzz_target::inputs::Model::at_start));
        }
        if resumed && is_first && seeds.is_empty() {
            // The seeds of a resumed campaign are not tried, neither by this worker nor by one that replaces it.
            self.shm.seeds_tried.store(u64::MAX, Ordering::Relaxed);
            penfuzz_system::errln!(
                "penfuzz: resuming {} with {} inputs after {count} evaluations",
                self.store.dir().display(),
                self.store.queue().len() + self.store.pending().len(),
            );
        }
        streams::disconnect(&[libc::STDERR_FILENO])?;
        self.shm.searching.store(1, Ordering::Release);
        if let Some(fresh) = self.fresh.as_mut().filter(|_| !self.store.saved.unconfirmed.is_empty()) {
            fresh.note_difference();
        }
        let lost = self.shm.finds();
        // Read before the target runs, which may change the working directory.
        let of_others = self.inputs_of_other_clients();
        self.shm.restoring.store(1, Ordering::Release);
        executor.set_only_fresh(self.only_fresh);
        for input in [kept, lost, of_others].into_iter().flatten() {
            finds::submit(vec![input], fuzzer, executor, state, manager)?;
            if executor.evaluator().needs_restart() {
                return Ok(false);
            }
        }
        for bytes in saved_state::restore(state, &self.store.saved)? {
            fuzzer.add_input(state, executor, manager, BytesInput::new(bytes))?;
        }
        let excluded = self.proved(executor.evaluator().target());
        for pending in state.metadata_mut::<Saturation>()?.exclude(&excluded) {
            fuzzer.add_input(state, executor, manager, BytesInput::new(pending.bytes))?;
        }
        saved_state::restore_progress(executor.evaluator_mut(), &self.store.saved);
        let fatal_inputs = self.shm.fatal_inputs();
        for (death, bytes) in fatal_inputs.iter().filter_map(|(n, bytes)| Some((Death::of_number(*n)?, bytes))) {
            self.note_death_under(bytes);
            self.record_death(death, bytes, executor.evaluator_mut(), state)?;
        }
        if !fatal_inputs.is_empty() {
            // Written at once, because the next death may come before the next save.
            executor.evaluator_mut().set_evaluations(count);
            self.flush(executor, state)?;
        }
        let again = if self.is_over() { Vec::new() } else { self.store.to_run_again() };
        for bytes in again {
            finds::submit(vec![bytes.clone()], fuzzer, executor, state, manager)?;
            if executor.evaluator().needs_restart() {
                // Otherwise this input would also force a restart of the next worker before that one has searched.
                self.store.note_costly(&bytes);
                break;
            }
        }
        if executor.unanswered() > 0 {
            self.shm.warn(&format!(
                "{} of the kept inputs end the process that evaluates them and are set aside",
                executor.unanswered()
            ));
        }
        executor.set_only_fresh(false);
        self.shm.restoring.store(0, Ordering::Release);
        if resumed {
            // Repeated evaluations are not counted.
            executor.evaluator_mut().set_evaluations(count);
        }
        let tried = self.shm.seeds_tried.load(Ordering::Relaxed).min(seeds.len() as u64);
        for (i, seed) in seeds.into_iter().enumerate().skip(tried as usize) {
            if self.is_over() {
                break;
            }
            // The seed may kill this worker. The next one then continues with the next seed, and with the finds so far.
            self.shm.seeds_tried.fetch_add(1, Ordering::Relaxed);
            if recorded.contains(&i) && !self.returns(&seed) {
                continue;
            }
            let known = (state.metadata::<Saturation>()?.generation, state.solutions().count());
            finds::submit(vec![seed.clone()], fuzzer, executor, state, manager)?;
            if known != (state.metadata::<Saturation>()?.generation, state.solutions().count()) {
                // The seed is not tried again, so the next worker needs it in the journal, even if it is not on disk
                // yet.
                executor.evaluator_mut().note_find(&seed);
            }
            self.sync(executor, state)?;
        }
        self.sync(executor, state)?;
        Ok(true)
    }

    /// Whether the stop flag is set. Then only the report must be written.
    fn is_over(&self) -> bool {
        self.shm.stop_reason() != StopReason::None
    }

    /// The branches that were proved unreachable in an earlier pause or an earlier run of this campaign.
    fn proved(&self, target: &Target) -> Vec<usize> {
        if self.options.run.proofs == Proofs::Off {
            return Vec::new();
        }
        let dir = self.place.farm.as_ref().map_or_else(|| self.store.dir(), |farm| &farm.root);
        let stated = manifest::read(dir).map(|manifest| StoredProofs::read(dir, &manifest)).unwrap_or_default();
        stated.proved().filter_map(|place| place.number(target)).collect()
    }

    /// Runs the input that killed a worker again, and records its branches and its fault.
    fn record_death(
        &mut self,
        death: Death,
        bytes: &[u8],
        evaluator: &mut Evaluator,
        state: &mut State,
    ) -> Result<(), Error> {
        // If no process can be created, the branches stay unknown.
        let taken = self.run_again(bytes, evaluator).ok().flatten().map(|(_, taken)| taken);
        if taken.is_none() && !death.stuck {
            // The process died of something that other evaluations, or other processes, did to it.
            return Ok(());
        }
        self.keep_death(death, bytes, &taken.unwrap_or_default(), evaluator, state)
    }

    /// Runs an input in a separate process. Returns how it kills that process, and the branches that it takes before;
    /// `None` if it does not kill the process.
    pub(super) fn run_again(
        &self,
        bytes: &[u8],
        evaluator: &mut Evaluator,
    ) -> Result<Option<(Death, Vec<u32>)>, Error> {
        fatal_input::run_again(
            evaluator,
            &self.scope,
            bytes,
            self.options.settings.limits().timeout * 2 + Duration::from_secs(1),
        )
    }

    /// Records the branches and the fault of an input that kills its process.
    pub(super) fn keep_death(
        &mut self,
        death: Death,
        bytes: &[u8],
        taken: &[u32],
        evaluator: &Evaluator,
        state: &mut State,
    ) -> Result<(), Error> {
        let saturation = state.metadata_mut::<Saturation>()?;
        let new: Vec<u32> = taken.iter().copied().filter(|b| !saturation.is_covered(*b as usize)).collect();
        saturation.cover_by_fatal(taken);
        let place = new.last().or(taken.last()).map_or_else(
            || "a run that could not be repeated".to_owned(),
            |last| {
                let target = evaluator.target();
                let site = &target.sites[target.site_of(*last as usize)];
                format!("{} (after {}:{})", target.functions[site.function].name, site.file, site.line)
            },
        );
        let ms = (self.shm.seconds(self.begun) * 1e3) as u64;
        // Deaths of the same kind that cover nothing new count as one fault.
        if !self.store.keep_fault(bytes, &death.fault(&[], place.clone()), ms) && !new.is_empty() {
            self.store.keep_fault(bytes, &death.fault(&new, place), ms);
        }
        Ok(())
    }

    /// Whether the function returns for the input of a recorded call, in a fresh process. The call itself returned, so
    /// an input that fails lacks some of its memory.
    fn returns(&mut self, input: &[u8]) -> bool {
        let Some(fresh) = &mut self.fresh else { return true };
        matches!(fresh.run_fresh(input), FreshResult::Ended { fault: None, .. })
    }

    /// The recorded calls of the function under test in the directory of seeds, as inputs.
    fn recorded(&self, evaluator: &Evaluator) -> Result<Vec<Vec<u8>>, Error> {
        let calls = recorded_calls(self.options, evaluator.target(), evaluator.function_index())?;
        let mut inputs: Vec<Vec<u8>> = Vec::new();
        for input in calls.iter().filter_map(|call| recorded::input_of(evaluator.function(), call)) {
            if !inputs.contains(&input) {
                inputs.push(input);
            }
        }
        Ok(inputs)
    }

    /// The seeds in the order of their names, each cut to the size that the target uses. Files that are not inputs are
    /// left out; only the first worker warns about them. Recorded calls are no inputs yet.
    fn seeds(&self, size: usize, is_first: bool) -> Result<Vec<Vec<u8>>, Error> {
        let Some(dir) = &self.options.run.seeds else { return Ok(Vec::new()) };
        let unreadable = |p: &Path, e: io::Error| penfuzz_error::failed(p, "cannot be read as seeds", e);
        let (mut seeds, mut reader) = (Vec::new(), InputReader::of_size(size));
        for name in foreign::names(dir).map_err(|e| unreadable(dir, e))? {
            let path = dir.join(name);
            if recorded::is_of_recording(&path) {
                continue;
            }
            seeds.extend(reader.read(&path).map_err(|e| unreadable(&path, e))?);
        }
        if let Some(message) = reader.message().filter(|_| is_first) {
            penfuzz_system::errln!("penfuzz: {message}");
        }
        Ok(seeds)
    }
}
