//! What other fuzzers find, into the campaign: evaluated like seeds, kept if it saturates a branch.

use std::{
    collections::VecDeque,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use libafl::inputs::BytesInput;
use penfuzz_engine::{error::Error, executor::HasEvaluator, stages::finds};

use super::{Campaign, Executor, Manager, State};
use crate::{
    campaign::{cluster::message::hash, worker_shm::WorkerShm},
    sync::{Import, Importer},
};

/// Time between two turns of the search that imports may take: a corpus may hold a million inputs, or endless loops.
const SLICE: Duration = Duration::from_millis(100);

/// Deaths of workers under one input before it is not imported again. One may be chance: a worker is killed from outside.
const TOO_MANY_DEATHS: usize = 2;

/// Deaths that are saved.
const DEATHS: usize = 1000;

/// Inputs on their way from other fuzzers.
pub(super) struct Imports {
    importer: Importer,
    waiting: VecDeque<Import>,
    /// As in names: the import whose finds are being kept.
    op: Option<String>,
    /// The search begins again only after as much time as the last slice took.
    next_slice: Instant,
}

impl Imports {
    /// Nothing when there is no directory to import from. What is wrong with the directories is told by the first worker.
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

    /// What names of kept inputs say instead of the search, while an import is being kept.
    pub(super) fn op(&self) -> Option<&str> {
        self.op.as_deref()
    }

    /// Looks for new inputs when the last ones are done; true when some wait and it is their turn. What the user should know
    /// goes to `shm`.
    fn fill(&mut self, now: Instant, shm: &WorkerShm) -> bool {
        if now < self.next_slice {
            return false;
        }
        if self.waiting.is_empty() {
            self.waiting = self.importer.poll(now).into();
            for message in self.importer.messages() {
                shm.say(&message);
            }
        }
        !self.waiting.is_empty()
    }

    fn has_more(&self) -> bool {
        !self.waiting.is_empty() || self.importer.has_more()
    }
}

impl Campaign<'_> {
    /// Evaluates some of what has come from other fuzzers; true when more is waiting.
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

    /// An input in the size that the function takes, so that what is kept is what was evaluated: cut, and continued with
    /// zeros unless the size is an argument. `None` for one that has killed workers.
    fn fitted(&self, mut bytes: Vec<u8>, executor: &Executor) -> Option<Vec<u8>> {
        let evaluator = executor.evaluator();
        let given = bytes.len().min(evaluator.input_size());
        bytes.resize(evaluator.input_size(), 0);
        let deaths = if self.store.saved.fatal_inputs.is_empty() {
            0
        } else {
            let hash = hash(&bytes[..]);
            self.store.saved.fatal_inputs.iter().filter(|k| **k == hash).count()
        };
        if evaluator.function().is_harness() {
            bytes.truncate(given);
        }
        (deaths < TOO_MANY_DEATHS).then_some(bytes)
    }

    /// Notes the input under which the last worker died, in the size that the function takes.
    pub(super) fn suspect(&mut self, fatal_input: &[u8]) {
        if self.imports.is_some() {
            let fatal_inputs = &mut self.store.saved.fatal_inputs;
            fatal_inputs.truncate(DEATHS - 1);
            fatal_inputs.insert(0, hash(fatal_input));
        }
    }
}
