//! Where the memory that arguments point to lies during a run, and what comes of it.
//!
//! A search runs with blocks at the end of their pages, which shows accesses behind them. Accesses before them reach the rest
//! of the page and go unnoticed, so what counts is run again with blocks at the start of their pages.

use super::{Evaluator, RunStatus};
use crate::{
    fault::Fault,
    guard::{self, End},
};

impl Evaluator {
    /// Runs one input with blocks at the end of their pages, and again with blocks at the start. Returns the recorded branches
    /// that it takes. An input that fails or takes other branches then has failed: an emitted test, with blocks in yet another
    /// place, might take any branches.
    pub fn run_apart(&mut self, bytes: &[u8]) -> (RunStatus, Vec<u32>) {
        let (ran, hits) = self.run_at(None, bytes);
        let ran = if ran == RunStatus::Returned { self.check_other_placements(bytes, &hits) } else { ran };
        (ran, hits)
    }

    /// Runs one input once, and returns the recorded branches that it takes.
    pub fn run_once(&mut self, bytes: &[u8]) -> (RunStatus, Vec<u32>) {
        self.run_at(None, bytes)
    }

    /// Runs an input again that has returned and taken `hits`, in each other placement; the actions must be the same. That does
    /// not count as evaluations, and costs nothing for a function without pointers.
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
        // A function whose result depends on earlier calls may differ as well: only what differs each time is due to the placement.
        let as_before = self.run_at(None, bytes) == (RunStatus::Returned, hits.to_vec());
        if !as_before || self.run_at(Some(other), bytes) != first {
            self.last_end = None;
            return RunStatus::Returned;
        }
        self.last_end = end.or(Some(End::afterwards(guard::STOP_PLACEMENT, self.function().address as u64 + 1)));
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

    /// Bytes that the last run left as result (first cell) and behind pointers (see [`penfuzz_target::program::Parameter::cell`]).
    #[must_use]
    pub fn output(&self) -> Vec<u128> {
        match &self.blocks {
            Some(blocks) => vec![blocks.result()],
            None => self.output.contents(),
        }
    }

    /// Did the last run leave these cells ([`Evaluator::output`])? Nothing is allocated.
    #[must_use]
    pub fn has_left(&self, cells: impl Iterator<Item = u128>) -> bool {
        match &self.blocks {
            Some(blocks) => cells.eq([blocks.result()]),
            None => self.output.are(cells),
        }
    }

    /// Can a run leave more than [`Evaluator::output`] has: structures, arrays, results of several calls?
    #[must_use]
    pub fn leaves_more(&self) -> bool {
        self.blocks.is_some()
    }

    /// The raw bits of the result of the last run, in the low [`Kind::bits`](penfuzz_mutators::view::Kind::bits); the others are
    /// undefined. Nothing is allocated.
    #[inline]
    #[must_use]
    pub fn result(&self) -> u64 {
        match &self.blocks {
            Some(blocks) => blocks.result() as u64,
            None => self.output.result() as u64,
        }
    }

    /// What the last run left in a member of a structure to fill in: raw bits in the low [`Kind::bits`](penfuzz_mutators::view::Kind::bits) at a
    /// place of [`Function::output_members`](penfuzz_target::program::Function::output_members). 0 for a function with a model. Nothing is allocated.
    #[inline]
    #[must_use]
    pub fn output_word(&self, place: usize) -> u64 {
        if self.blocks.is_some() { 0 } else { self.output.word(place) }
    }

    fn place_blocks(&mut self, other: Option<usize>) {
        match &mut self.blocks {
            Some(blocks) => blocks.place(other.is_some()),
            None => _ = self.output.place(other),
        }
    }

    fn describe_place(&self, address: u64) -> Option<String> {
        self.blocks.as_ref().map_or_else(|| self.output.describe(address), |blocks| blocks.describe(address))
    }

    /// Adds which argument a fault at an address beside it belongs to.
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
