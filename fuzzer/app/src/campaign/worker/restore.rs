//! How a worker begins: with what earlier ones left, the seeds, and the inputs that killed the last one.

use core::sync::atomic::Ordering;
use std::{io, path::Path, time::Duration};

use libafl::{HasMetadata, corpus::Corpus, inputs::BytesInput, state::HasSolutions};
use penfuzz_engine::{
    error::Error,
    executor::{Evaluator, HasEvaluator},
    saturation::Saturation,
    stages::finds,
};

use super::{Campaign, Executor, Manager, State, silence};
use crate::{
    campaign::saved_state,
    replay::fatal_input::{self, Death},
};

impl Campaign<'_> {
    /// Seeds, or what an earlier run left.
    pub(super) fn take_up<Z>(
        &mut self,
        fuzzer: &mut Z,
        executor: &mut Executor,
        state: &mut State,
        manager: &mut Manager,
    ) -> Result<(), Error>
    where
        Z: libafl::Evaluator<Executor, Manager, BytesInput, State>,
    {
        let count = executor.evaluator().evaluations();
        let resumed = self.store.is_resumed();
        let kept: Vec<Vec<u8>> =
            self.store.queue().iter().chain(self.store.pending()).map(|(_, bytes)| bytes.clone()).collect();
        let is_first = self.shm.searching.load(Ordering::Relaxed) == 0;
        let seeds = if resumed && is_first { Vec::new() } else { self.seeds()? };
        if resumed && is_first {
            // A later worker goes on with the seeds of a new campaign, but not with those of an old one.
            self.shm.seeds_tried.store(u64::MAX, Ordering::Relaxed);
            eprintln!(
                "penfuzz: resuming {} with {} inputs after {count} evaluations",
                self.store.dir().display(),
                self.store.queue().len() + self.store.pending().len(),
            );
        }
        silence(&[libc::STDERR_FILENO])?;
        self.shm.searching.store(1, Ordering::Release);
        let lost = self.shm.finds();
        finds::submit(kept, fuzzer, executor, state, manager)?;
        finds::submit(lost, fuzzer, executor, state, manager)?;
        finds::submit(self.of_the_others(), fuzzer, executor, state, manager)?;
        for bytes in saved_state::restore(state, &self.store.saved)? {
            fuzzer.add_input(state, executor, manager, BytesInput::new(bytes))?;
        }
        saved_state::restore_progress(executor.evaluator_mut(), &self.store.saved);
        let fatal_inputs = self.shm.fatal_inputs();
        for (death, bytes) in fatal_inputs.iter().filter_map(|(n, bytes)| Some((Death::of_number(*n)?, bytes))) {
            self.suspect(bytes);
            self.explain(death, bytes, executor.evaluator_mut(), state)?;
        }
        if !fatal_inputs.is_empty() {
            // At once: the next death may come before the next time to save.
            executor.evaluator_mut().set_evaluations(count);
            self.settle(executor, state)?;
        }
        finds::submit(self.store.to_run_again(), fuzzer, executor, state, manager)?;
        if resumed {
            // Looking again at what was known is no new evaluation.
            executor.evaluator_mut().set_evaluations(count);
        }
        let tried = self.shm.seeds_tried.load(Ordering::Relaxed).min(seeds.len() as u64);
        for seed in seeds.into_iter().skip(tried as usize) {
            // One may kill this worker: the next goes on behind it, and knows what was found before.
            self.shm.seeds_tried.fetch_add(1, Ordering::Relaxed);
            let known = (state.metadata::<Saturation>()?.generation, state.solutions().count());
            finds::submit(vec![seed.clone()], fuzzer, executor, state, manager)?;
            if known != (state.metadata::<Saturation>()?.generation, state.solutions().count()) {
                // It is not tried again, so the next worker must hear of it even if it is not on the disk by then.
                executor.evaluator_mut().note_find(&seed);
            }
            self.sync(executor, state)?;
        }
        self.sync(executor, state)
    }

    /// Finds out what the input did that killed the last worker.
    fn explain(
        &mut self,
        death: Death,
        bytes: &[u8],
        evaluator: &mut Evaluator,
        state: &mut State,
    ) -> Result<(), Error> {
        let patience = self.options.timeout * 2 + Duration::from_secs(1);
        let taken = fatal_input::branches_taken(evaluator, &self.scope, bytes, patience)?;
        if taken.is_none() && death.is_from_outside() {
            return Ok(());
        }
        let saturation = state.metadata_mut::<Saturation>()?;
        let taken = taken.unwrap_or_default();
        let new: Vec<u32> = taken.iter().copied().filter(|b| !saturation.is_covered(*b as usize)).collect();
        saturation.cover(&taken, true);
        let place = new.last().or(taken.last()).map_or_else(
            || "a run that could not be repeated".to_owned(),
            |last| {
                let target = evaluator.target();
                let site = &target.sites[target.site_of(*last as usize)];
                format!("{} (after {}:{})", target.functions[site.function].name, site.file, site.line)
            },
        );
        let ms = (self.shm.seconds(self.begun) * 1e3) as u64;
        // The first death of a kind stands for all in which nothing new is seen.
        if !self.store.keep_fault(bytes, &death.fault(&[], place.clone()), ms) && !new.is_empty() {
            self.store.keep_fault(bytes, &death.fault(&new, place), ms);
        }
        Ok(())
    }

    fn seeds(&self) -> Result<Vec<Vec<u8>>, Error> {
        let Some(dir) = &self.options.seeds else { return Ok(Vec::new()) };
        let unreadable = |p: &Path, e: &io::Error| {
            penfuzz_engine::error::at(
                p,
                format!("cannot be read as seeds: {}", penfuzz_engine::program::kind::plain(e)),
            )
        };
        let mut files = Vec::new();
        for entry in std::fs::read_dir(dir).map_err(|e| unreadable(dir, &e))? {
            let path = entry.map_err(|e| unreadable(dir, &e))?.path();
            if path.is_file() {
                files.push(path);
            }
        }
        files.sort();
        files.iter().map(|p| std::fs::read(p).map_err(|e| unreadable(p, &e))).collect()
    }
}
