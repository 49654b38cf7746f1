//! Keeps the finds of a worker: they are noted in memory at once, written to disk together every 100 ms, and displayed
//! once they are on disk.

use core::sync::atomic::Ordering;
use std::{io, time::Duration};

use libafl::{
    HasMetadata,
    corpus::Corpus,
    state::{HasCorpus, HasSolutions},
};
use penfuzz_directory::{
    output::{afl_files, reports},
    replay::fresh::Zygote,
};
use penfuzz_engine::{
    saturation::{BranchCounts, Saturation},
    stages::budget::Spent,
};
use penfuzz_error::Error;
use penfuzz_executor::{Fault, HasEvaluator, evaluator::RunStatus};
use penfuzz_mutators::view::Kind;
use penfuzz_system::{files::reserve, process::deadline};

use super::{Campaign, End, Executor, State, import};
use crate::{assembly as report_assembly, saved_state, worker::disk, worker_shm::StopReason};

/// Seconds between two writes of state, statistics and reports.
const STATE_EVERY: f64 = 5.0;

/// The same time for the state after a worker was killed: unsaved state is lost if the next worker dies.
const STATE_AFTER_DEATH: f64 = 0.2;

/// The time between two reports of a running campaign, as a multiple of the time that a report takes: with thousands of
/// covered branches, a report takes seconds.
const REPORT_PAUSE: f64 = 20.0;

/// No report of the running campaign begins when less than this, or than twice the time of the last report, is left.
const REPORT_AT_END: Duration = Duration::from_secs(2);

impl Campaign<'_> {
    /// Notes new finds. If a write is due, writes them to disk and then updates the counters in shared memory.
    pub(super) fn sync(&mut self, executor: &mut Executor, state: &mut State) -> Result<(), Error> {
        self.hold.restore_process_state();
        self.classify_hangs(executor, state)?;
        self.note_finds(state, executor.evaluator().evaluations())?;
        if self.disk.is_due() || (self.shm.is_nearly_full() && !self.disk.is_failing()) {
            self.flush(executor, state)?;
        }
        Ok(())
    }

    pub(super) fn note_finds(&mut self, state: &State, evaluations: u64) -> Result<(), Error> {
        self.store.saved.evaluations = evaluations;
        let saturation = state.metadata::<Saturation>()?;
        if core::mem::replace(&mut self.synced_generation, saturation.generation) != saturation.generation {
            self.sync_inputs(state, saturation, evaluations)?;
        }
        self.sync_faults(state)
    }

    /// Writes everything that is due, then updates the counters. If writing fails, all data stays in memory and is
    /// written at the next attempt.
    pub(super) fn flush(&mut self, executor: &mut Executor, state: &State) -> Result<(), Error> {
        let _pause = self.shm.without_evaluations();
        self.hold.restore_process_state();
        if executor.evaluator().needs_restart() {
            self.reserve.release();
        }
        // Finds that are only in the journal would be lost when the journal is emptied.
        self.note_finds(state, executor.evaluator().evaluations())?;
        let done = self.write_due(executor, state)?;
        let missing = if done.is_ok() && self.disk.is_failing() { self.store.losses().missing } else { 0 };
        self.disk.note(&done, self.store.unwritten(), missing, self.shm);
        self.update_counters(state.metadata::<Saturation>()?);
        Ok(())
    }

    fn write_due(&mut self, executor: &mut Executor, state: &State) -> Result<io::Result<()>, Error> {
        // After a failure, any of the files may be the one that failed.
        let all = self.disk.is_failing() || executor.evaluator().needs_restart();
        let seconds = self.shm.seconds(self.begun);
        if let Err(e) = self.write_finds() {
            return Ok(Err(e));
        }
        let every = if self.store.saved.workers > 1 { STATE_AFTER_DEATH } else { STATE_EVERY };
        if all || self.store.has_new_faults() || seconds - self.state_written >= every {
            self.remember(executor, state)?;
            if let Err(e) = self.store.save() {
                return Ok(Err(e));
            }
            self.state_written = seconds;
        }
        if self.disk.is_failing() || seconds - self.report_written >= STATE_EVERY {
            self.report_written = seconds;
            return self.write_reports(StopReason::None, executor, state);
        }
        Ok(Ok(()))
    }

    /// Writes the finds, and then empties the journal.
    fn write_finds(&mut self) -> io::Result<()> {
        self.store.flush()?;
        self.shm.forget_finds();
        self.shm.forget_fatal_inputs();
        Ok(())
    }

    fn sync_inputs(&mut self, state: &State, saturation: &Saturation, evaluations: u64) -> Result<(), Error> {
        let ms = (self.shm.seconds(self.begun) * 1e3) as u64;
        let op =
            self.imports.as_ref().and_then(import::Imports::op).unwrap_or(self.options.run.search.name()).to_owned();
        let corpus = state.corpus();
        for i in self.synced_kept..corpus.count() {
            let mut input: Vec<u8> = corpus.cloned_input_for_id(corpus.nth(i))?.into();
            self.layout.normalise(&mut input);
            self.store.keep(&input, ms, evaluations, &op);
        }
        self.synced_kept = corpus.count();
        for pending in &saturation.pending {
            let mut input = pending.bytes.clone();
            self.layout.normalise(&mut input);
            self.store.keep_pending(&input, ms, evaluations, &op);
        }
        Ok(())
    }

    fn sync_faults(&mut self, state: &State) -> Result<(), Error> {
        let solutions = state.solutions();
        if self.classified_solutions == self.synced_solutions {
            return Ok(());
        }
        let ms = (self.shm.seconds(self.begun) * 1e3) as u64;
        for i in self.synced_solutions..self.classified_solutions {
            // There is no fault if the input has returned with more fuel.
            let Ok(fault) = solutions.get(solutions.nth(i))?.borrow().metadata::<Fault>().cloned() else { continue };
            let mut bytes: Vec<u8> = solutions.cloned_input_for_id(solutions.nth(i))?.into();
            self.layout.normalise(&mut bytes);
            self.store.keep_fault(&bytes, &fault, ms);
        }
        self.synced_solutions = self.classified_solutions;
        Ok(())
    }

    /// Keeps one input of a function without branches, so that it has a test, too: 1 for the first argument, 2 for the
    /// second, and so on, because equal arguments would not reveal swapped arguments. Skipped if an earlier worker
    /// died, because this input may be the cause.
    fn keep_any(&mut self, executor: &mut Executor) {
        if !self.store.queue().is_empty() || self.store.saved.workers > 1 {
            return;
        }
        let evaluator = executor.evaluator_mut();
        let mut x = vec![0; evaluator.input_size()];
        let is_number = |kind| !matches!(kind, Kind::Rounding | Kind::Bool);
        for (i, slot) in self.layout.slots().iter().enumerate().filter(|(_, slot)| is_number(slot.kind)) {
            slot.set_real(&mut x, (i + 1) as f64);
        }
        self.layout.normalise(&mut x);
        let ran = evaluator.run(&x);
        let (ms, evaluations) = ((self.shm.seconds(self.begun) * 1e3) as u64, evaluator.evaluations());
        match evaluator.fault().filter(|_| ran == RunStatus::Faulted) {
            Some(fault) => {
                self.store.keep_fault(&x, &fault, ms);
            }
            None => self.store.keep(&x, ms, evaluations, self.options.run.search.name()),
        }
    }

    fn update_counters(&self, saturation: &Saturation) {
        let BranchCounts { total, covered, saturated, given_up } = saturation.counts();
        let files = self.store.counts();
        let set = |cell: &core::sync::atomic::AtomicU64, value: usize| cell.store(value as u64, Ordering::Relaxed);
        set(&self.shm.total, total);
        set(&self.shm.kept, files.kept);
        set(&self.shm.crashes, files.crashes);
        set(&self.shm.hangs, files.hangs);
        set(&self.shm.unwritten, self.store.unwritten());
        if self.store.unwritten() == 0 {
            // Only finds that are on disk are displayed.
            set(&self.shm.covered, covered);
            set(&self.shm.covered_by_crash, saturation.covered_by_crash_only());
            set(&self.shm.saturated, saturated);
            set(&self.shm.given_up, given_up);
        }
    }

    fn write_afl(&mut self, stop: StopReason, evaluations: u64, state: &State) -> Result<(), Error> {
        let saturation = state.metadata::<Saturation>()?;
        let BranchCounts { total, covered, .. } = saturation.counts();
        let files = self.store.counts();
        let moment = afl_files::CampaignFigures {
            seconds: self.shm.seconds(self.begun),
            evaluations,
            kept: files.kept,
            imported: self.store.queue().iter().filter(|(name, _)| name.contains(",sync:")).count(),
            pending: files.pending,
            crashes: files.crashes,
            hangs: files.hangs,
            covered,
            total,
            rounds: state.metadata::<Spent>().map_or(0, |spent| spent.rounds(saturation)),
            timeout: self.options.settings.limits().timeout.as_millis(),
        };
        self.statistics.write(self.store.dir(), &self.options.settings.target, &moment, stop.is_end());
        Ok(())
    }

    /// Copies to the store the part of the LibAFL state that `state.json` holds.
    fn remember(&mut self, executor: &Executor, state: &State) -> Result<(), Error> {
        saved_state::remember(state, &mut self.store.saved)?;
        saved_state::remember_progress(executor.evaluator(), state, &mut self.store.saved)?;
        self.store.saved.evaluations = executor.evaluator().evaluations();
        self.store.saved.seconds = self.shm.seconds(self.begun);
        Ok(())
    }

    pub(super) fn finish(mut self, stop: StopReason, executor: &mut Executor, state: &State) -> Result<End, Error> {
        let _pause = self.shm.without_evaluations();
        self.hold.restore_process_state();
        self.reserve.release();
        self.note_finds(state, executor.evaluator().evaluations())?;
        // If the report kills this worker, the next one evaluates in fresh processes only.
        self.shm.restoring.store(1, Ordering::Release);
        if !state.metadata::<Saturation>()?.has_goals() && !self.only_fresh {
            self.keep_any(executor);
        }
        self.remember(executor, state)?;
        let mut done = self.write_finds().and_then(|()| self.store.save());
        if done.is_ok() {
            done = self.write_reports(stop, executor, state)?;
        }
        self.update_counters(state.metadata::<Saturation>()?);
        if self.fresh.as_ref().is_some_and(Zygote::is_lost) {
            // The report lacks inputs that could not be replayed: the next worker writes another one.
            return Ok(End::NeedsRestart);
        }
        match done {
            Ok(()) if stop == StopReason::Stuck => Ok(End::Stuck),
            Ok(()) => Ok(End::Finished),
            // The target took the descriptors while the report was made. The next worker does not call it.
            Err(_) if !self.only_fresh && !reserve::is_left() => Ok(End::NeedsRestart),
            Err(e) => Err(disk::lost(self.store.dir(), &e, self.store.losses())),
        }
    }

    /// Writes statistics and reports, also during a running campaign.
    fn write_reports(
        &mut self,
        stop: StopReason,
        executor: &mut Executor,
        state: &State,
    ) -> Result<io::Result<()>, Error> {
        self.write_afl(stop, executor.evaluator().evaluations(), state)?;
        let saturation = state.metadata::<Saturation>()?;
        let begun = self.shm.seconds(self.begun);
        // The next worker writes the report: in a child of this process, the heap of the C library may be locked.
        let is_late = executor.evaluator().needs_restart();
        // A report that the limit would interrupt would only delay the last one.
        let ends_soon = deadline::left().is_some_and(|left| left < REPORT_AT_END.max(self.report_time * 2));
        let is_early =
            stop == StopReason::None && (begun < self.report_due || is_late || ends_soon) && !self.disk.is_failing();
        if self.place.farm.is_some() || is_early {
            return Ok(Ok(()));
        }
        let sources = report_assembly::ReportInputs {
            dir: self.store.dir(),
            options: self.options,
            inputs: &self.store.inputs(),
            fault_inputs: self.store.fault_inputs(),
            saved: &self.store.saved,
            saturation,
            spent: state.metadata::<Spent>().ok(),
            scope: &self.scope,
            stop,
            fresh: self.fresh.as_ref(),
            only_fresh: self.only_fresh,
        };
        let report = report_assembly::report(executor.evaluator_mut(), &sources, &mut self.shrinker);
        self.hold.restore_process_state();
        if self.fresh.as_ref().is_some_and(Zygote::is_lost) {
            // The next worker writes a report in which every test is confirmed.
            return Ok(Ok(()));
        }
        let written = reports::write_all(self.store.dir(), &report);
        let ended = self.shm.seconds(self.begun);
        self.report_time = Duration::from_secs_f64((ended - begun).max(0.0));
        self.report_due = ended + REPORT_PAUSE * (ended - begun);
        Ok(written)
    }
}
