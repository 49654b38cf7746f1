//! Imports the finds of other fuzzers. They are evaluated like seeds, and kept if they saturate a branch.

use std::{
    collections::VecDeque,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use libafl::inputs::BytesInput;
use penfuzz_directory::output::state::MOST_FATAL_INPUTS;
use penfuzz_engine::stages::finds;
use penfuzz_error::Error;
use penfuzz_executor::HasEvaluator;
use penfuzz_target::hash::of_bytes;

use super::{Campaign, Executor, Manager, State};
use crate::{
    sync::{Import, Importer},
    worker_shm::WorkerShm,
};

/// Maximum time of imports between two rounds of the search: a corpus may have a million inputs, or inputs that hang.
const SLICE: Duration = Duration::from_millis(100);

/// Number of worker deaths under one input after which it is not imported again. A single death may be chance: another
/// process may have killed the worker.
const TOO_MANY_DEATHS: usize = 2;

/// Inputs of other fuzzers that are not evaluated yet.
pub(super) struct Imports {
    importer: Importer,
    waiting: VecDeque<Import>,
    /// The part `op` in the names of kept inputs while an import is evaluated.
    op: Option<String>,
    /// When the next slice begins: the search gets as much time as the last slice took.
    next_slice: Instant,
}

impl Imports {
    /// Returns `None` if there is no directory to import from. Only the first worker warns about directories that
    /// cannot be used.
    pub(super) fn begin(dirs: &[PathBuf], own: &Path, is_first: bool) -> Result<Option<Self>, Error> {
        if dirs.is_empty() {
            return Ok(None);
        }
        let mut importer = Importer::new(dirs, own)?;
        if !is_first {
            importer.messages();
        }
        let waiting = VecDeque::new();
        Ok(Some(Self { importer, waiting, op: None, next_slice: Instant::now() }))
    }

    /// The part `op` in the names of inputs that are kept now; `None` if the search found them.
    pub(super) fn op(&self) -> Option<&str> {
        self.op.as_deref()
    }

    /// Polls the directories if all inputs are evaluated. Returns whether inputs are waiting and may be evaluated now.
    /// Messages for the user go to `shm`.
    fn fill(&mut self, now: Instant, shm: &WorkerShm) -> bool {
        if now < self.next_slice {
            return false;
        }
        if self.waiting.is_empty() {
            self.waiting = self.importer.poll(now).into();
            for message in self.importer.messages() {
                shm.warn(&message);
            }
        }
        !self.waiting.is_empty()
    }

    fn has_more(&self) -> bool {
        !self.waiting.is_empty() || self.importer.has_more()
    }
}

impl Campaign<'_> {
    /// Evaluates some inputs of other fuzzers. Returns whether more are waiting.
    pub(super) fn import<Z>(
        &mut self,
        fuzzer: &mut Z,
        executor: &mut Executor,
        state: &mut State,
        manager: &mut Manager,
    ) -> Result<bool, Error>
    where
        Z: libafl::Evaluator<Executor, Manager, BytesInput, State>,
    {
        let Some(imports) = &mut self.imports else { return Ok(false) };
        let begun = Instant::now();
        if imports.fill(begun, self.shm) {
            while begun.elapsed() < SLICE && !self.clock.is_over(executor.evaluator()) {
                let Some(import) = self.imports.as_mut().and_then(|i| i.waiting.pop_front()) else { break };
                let Some(bytes) = self.fitted(import.bytes, executor) else { continue };
                self.set_op(Some(format!("sync,{}", import.from)));
                finds::submit(vec![bytes], fuzzer, executor, state, manager)?;
                self.sync(executor, state)?;
            }
            self.set_op(None);
        }
        let Some(imports) = &mut self.imports else { return Ok(false) };
        imports.next_slice = Instant::now() + begun.elapsed();
        Ok(imports.has_more())
    }

    fn set_op(&mut self, op: Option<String>) {
        if let Some(imports) = &mut self.imports {
            imports.op = op;
        }
    }

    /// Truncates or zero-extends an input to the size that the function takes, so that the kept input is the one
    /// evaluated. If the size is an argument, the input is not extended. `None` for an input that has killed workers
    /// repeatedly.
    pub(super) fn fitted(&self, mut bytes: Vec<u8>, executor: &Executor) -> Option<Vec<u8>> {
        let evaluator = executor.evaluator();
        let given = bytes.len().min(evaluator.input_size());
        bytes.resize(evaluator.input_size(), 0);
        let deaths = if self.store.saved.fatal_inputs.is_empty() {
            0
        } else {
            let hash = of_bytes(&bytes);
            self.store.saved.fatal_inputs.iter().filter(|k| **k == hash).count()
        };
        if evaluator.function().is_harness() {
            bytes.truncate(given);
        }
        (deaths < TOO_MANY_DEATHS).then_some(bytes)
    }

    /// Records that a worker died under this input, so that it is not imported too often. The input must have the size
    /// that the function takes.
    pub(super) fn note_death_under(&mut self, fatal_input: &[u8]) {
        if self.imports.is_some() || self.exchange.is_some() {
            let fatal_inputs = &mut self.store.saved.fatal_inputs;
            fatal_inputs.truncate(MOST_FATAL_INPUTS - 1);
            fatal_inputs.insert(0, of_bytes(fatal_input));
        }
    }
}
