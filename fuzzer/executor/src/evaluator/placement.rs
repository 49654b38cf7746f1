//! Placement of the memory behind pointer arguments, and checks that the placement does not change the result.
//!
//! During a search, blocks lie at the end of their pages, so that accesses after a block fault. Accesses before a block
//! hit the rest of its page and are not noticed. So inputs that count are run again with blocks at the start of their
//! pages.

use super::{Evaluator, RunStatus};
use crate::{
    blocks::Placement,
    fault::Fault,
    guard::{self, End},
};

impl Evaluator {
    /// Runs one input with blocks at the end of their pages, and again with blocks at the start. Returns the recorded
    /// branches that it takes. An input that fails, or takes other branches in the second run, is a failure: in an
    /// emitted test, where blocks lie elsewhere again, it might take any branches.
    pub fn run_in_all_placements(&mut self, bytes: &[u8]) -> (RunStatus, Vec<u32>) {
        let (ran, hits) = self.run_at(None, bytes);
        let ran = if ran == RunStatus::Returned { self.check_other_placements(bytes, &hits) } else { ran };
        (ran, hits)
    }

    /// Runs one input once and returns the recorded branches that it takes.
    pub fn run_once(&mut self, bytes: &[u8]) -> (RunStatus, Vec<u32>) {
        self.run_at(None, bytes)
    }

    /// Runs one input once with other distances between its blocks, so that values that depend on addresses differ.
    pub fn run_scattered(&mut self, bytes: &[u8]) -> (RunStatus, Vec<u32>) {
        if let Some(blocks) = &mut self.blocks {
            blocks.place(Placement::Scattered);
        }
        let ran = self.run(bytes);
        self.place_blocks(None);
        let mut hits = Vec::new();
        self.take_hits(&mut hits);
        (ran, hits)
    }

    /// Repeats an input that returned and took `hits`, in each other placement; the actions must be unchanged. The runs
    /// are not counted as evaluations. A function without pointers is not run again.
    pub(crate) fn check_other_placements(&mut self, bytes: &[u8], hits: &[u32]) -> RunStatus {
        let count = self.evaluations();
        let n = if self.blocks.is_some() { 1 } else { self.output.other_placements() };
        let fails = (0..n).any(|i| self.check_placement(i, bytes, hits) == RunStatus::Faulted);
        self.set_evaluations(count);
        if fails { RunStatus::Faulted } else { RunStatus::Returned }
    }

    fn check_placement(&mut self, other: usize, bytes: &[u8], hits: &[u32]) -> RunStatus {
        let first = self.run_at(Some(other), bytes);
        if first.0 == RunStatus::Returned && first.1 == hits {
            return RunStatus::Returned;
        }
        let end = self.last_end;
        if end.is_some_and(|end| self.describe_place(end.address).is_some()) {
            return RunStatus::Faulted;
        }
        // A function whose result depends on earlier calls may differ as well. Only a reproducible difference is due to
        // the placement.
        let as_before = self.run_at(None, bytes) == (RunStatus::Returned, hits.to_vec());
        if !as_before || self.run_at(Some(other), bytes) != first {
            self.last_end = None;
            return RunStatus::Returned;
        }
        self.last_end = end.or(Some(End::after_return(guard::STOP_PLACEMENT, self.function().address as u64 + 1)));
        RunStatus::Faulted
    }

    fn run_at(&mut self, other: Option<usize>, bytes: &[u8]) -> (RunStatus, Vec<u32>) {
        self.place_blocks(other);
        let ran = self.run(bytes);
        self.place_blocks(None);
        let mut hits = Vec::new();
        self.take_hits(&mut hits);
        (ran, hits)
    }

    /// The bytes that the last run left as result (first cell) and behind pointers (see
    /// [`penfuzz_target::program::Parameter::cell`]).
    #[must_use]
    pub fn output(&self) -> Vec<u128> {
        match &self.blocks {
            Some(blocks) => vec![blocks.result()],
            None => self.output.contents(),
        }
    }

    /// Does [`Evaluator::output`] of the last run equal these cells? Does not allocate.
    #[must_use]
    pub fn output_equals(&self, cells: impl Iterator<Item = u128>) -> bool {
        match &self.blocks {
            Some(blocks) => cells.eq([blocks.result()]),
            None => self.output.are(cells),
        }
    }

    /// Can a run produce output that [`Evaluator::output`] does not include: structures, arrays, results of several
    /// calls?
    #[must_use]
    pub fn has_composed_output(&self) -> bool {
        self.blocks.is_some()
    }

    /// The raw bits of the result of the last run, in the low [`Kind::bits`](penfuzz_mutators::view::Kind::bits); the
    /// other bits are undefined. Does not allocate.
    #[inline]
    #[must_use]
    pub fn result(&self) -> u64 {
        match &self.blocks {
            Some(blocks) => blocks.result() as u64,
            None => self.output.result() as u64,
        }
    }

    /// The value that the last run wrote to a member of an output structure, as raw bits in the low
    /// [`Kind::bits`](penfuzz_mutators::view::Kind::bits). `place` is a place of
    /// [`Function::output_members`](penfuzz_target::program::Function::output_members). Returns 0 for a function with a
    /// model. Does not allocate.
    #[inline]
    #[must_use]
    pub fn output_word(&self, place: usize) -> u64 {
        if self.blocks.is_some() { 0 } else { self.output.word(place) }
    }

    fn place_blocks(&mut self, other: Option<usize>) {
        match &mut self.blocks {
            Some(blocks) => blocks.place(if other.is_some() { Placement::Starts } else { Placement::Ends }),
            None => _ = self.output.place(other),
        }
    }

    fn describe_place(&self, address: u64) -> Option<String> {
        self.blocks.as_ref().map_or_else(|| self.output.describe(address), |blocks| blocks.describe(address))
    }

    /// Adds to the reason of a fault the argument next to whose memory the address lies, or the text of a failed check.
    pub(super) fn described(&self, mut fault: Fault, end: &End) -> Fault {
        if end.signal == libc::SIGSEGV
            && let Some(side) = self.describe_place(end.address)
        {
            fault.reason = format!("{}, {side}", fault.reason);
        }
        if let Some(text) = self.failed_check() {
            fault.reason = format!("PEN_CHECK({text}) fails");
        }
        fault
    }
}
