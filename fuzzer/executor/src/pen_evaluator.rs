//! The interface of an evaluator for goals and stages, independent of where the target runs.

use penfuzz_abi::{Compared, action};

use super::{
    Evaluator,
    evaluator::{Changes, RunStatus},
};

/// Evaluates the representing function `FOO_R` of one function under test (`CoverMe`, Sect. 3.2), and records the
/// branches it takes.
///
/// A *branch* is a number below [`PenEvaluator::n_branches`]. An *action* is one byte of [`penfuzz_abi::action`].
/// [`Evaluator`] implements the trait for targets that are loaded into this process; another implementation may run its
/// target elsewhere. Methods with a default body concern features that an implementation may lack: closest inputs,
/// fuel, faults, a journal.
pub trait PenEvaluator {
    /// Calls the function at `x`, an input of any length.
    fn run(&mut self, x: &[u8]) -> RunStatus;

    /// `r` of the last run in the metric's representation (see [`penfuzz_mutators::evaluate::Metric`]): 0 for a wanted
    /// input, the goal's `r0` if no armed site was passed.
    fn r(&self) -> u64;

    /// Number of runs so far.
    fn evaluations(&self) -> u64;

    /// Size of an input in bytes.
    fn input_size(&self) -> usize;

    /// Number of branches of the target, in scope or not.
    fn n_branches(&self) -> usize;

    /// The metric that is set, one of [`penfuzz_abi::metric`].
    fn metric(&self) -> u32;

    /// Sets the metric and the value of `r` before each run.
    fn set_metric(&mut self, metric: u32, r0: u64);

    /// Sets the distance of a strict comparison whose operands are equal, finite and at least 0; only the metric
    /// [`penfuzz_abi::metric::SQUARED`] uses it.
    fn set_epsilon(&mut self, _epsilon: f64) {}

    /// Sets the action byte of every branch in scope: bits of [`penfuzz_abi::action`] except NEAR and ARMED, which
    /// are derived from the others.
    fn arm(&mut self, action_of: impl FnMut(usize) -> u8);

    /// Arms the open branches and a goal. `action_of` returns the actions of an open branch, and 0 for any other
    /// branch; `goal` lists branches with additional actions. `changes` lists every branch for which `action_of`
    /// changed, so that an implementation can write only the bytes that differ. If `tracks` is false,
    /// [`penfuzz_abi::action::TRACK`] has no effect.
    fn arm_changed(
        &mut self,
        _changes: Changes<'_>,
        action_of: impl Fn(usize) -> u8,
        goal: &[(usize, u8)],
        tracks: bool,
    ) {
        let shown = if tracks { u8::MAX } else { !action::TRACK };
        let besides = |b: usize| goal.iter().filter(|g| g.0 == b).fold(0, |all, g| all | g.1);
        self.arm(|b| (action_of(b) & shown) | besides(b));
    }

    /// Stops recording, wanting and tracking these branches.
    fn disarm(&mut self, branches: &[u32]);

    /// Sets `r` for each branch with [`penfuzz_abi::action::LEAD`] when a run misses it.
    fn set_leads(&mut self, leads: impl Iterator<Item = (usize, u64)>);

    /// Sets the path that runs are compared with, see [`penfuzz_abi::State::path`]. Both slices must have equal
    /// length; an empty path disables the comparison.
    fn set_path(&mut self, path: &[u32], back: &[u32], bits: u32);

    /// Did runs since the last [`PenEvaluator::take_hits`] take a recorded branch?
    fn has_hits(&self) -> bool;

    /// Moves the recorded branches that were taken to `into`, replacing its contents.
    fn take_hits(&mut self, into: &mut Vec<u32>);

    /// The branch that last changed `r` (`CoverMe`, Sect. 5: the conditional whose other side is deemed infeasible).
    fn last_branch(&self) -> usize;

    /// Did the last run fail at a new place?
    fn is_new_fault(&mut self) -> bool {
        false
    }

    /// Did the alarm or the memory limit end the last run?
    fn ended_by_alarm_or_memory(&self) -> bool {
        false
    }

    /// The smallest distance to a tracked branch so far, and the input that has it.
    fn closest(&self, _branch: usize) -> Option<(u64, &[u8])> {
        None
    }

    /// Are closest inputs stored, now or in other rounds of the search?
    fn tracks(&self) -> bool {
        true
    }

    /// Fuel of a run that is not cut short: number of loop iterations and calls.
    fn fuel(&self) -> i64 {
        i64::MAX
    }

    /// Fuel used by the last run.
    fn fuel_used(&self) -> u64 {
        0
    }

    /// Ends runs early after `fuel`, unless they take a recorded branch.
    fn set_fuel_cap(&mut self, _fuel: i64) {}

    /// Sets whether runs store the operands of comparisons at armed two-way sites.
    fn set_measuring(&mut self, _measures: bool) {}

    /// Calls `look` with the branch that was taken, the other branch, and the operands, for the latest passes since the
    /// last call, in order. An implementation that cannot measure never calls it.
    fn take_compared(&mut self, _look: impl FnMut(usize, usize, &Compared)) {}

    /// Stores an input that takes a new branch, or fails at a new place, where it survives the death of this process.
    fn note_find(&mut self, _x: &[u8]) {}

    /// Must the process be replaced, because the target holds too much memory or may have left locks held?
    fn needs_restart(&self) -> bool {
        false
    }
}

impl PenEvaluator for Evaluator {
    #[inline]
    fn run(&mut self, x: &[u8]) -> RunStatus {
        Self::run(self, x)
    }

    #[inline]
    fn r(&self) -> u64 {
        Self::r(self)
    }

    #[inline]
    fn evaluations(&self) -> u64 {
        Self::evaluations(self)
    }

    fn input_size(&self) -> usize {
        Self::input_size(self)
    }

    fn n_branches(&self) -> usize {
        self.target().n_branches
    }

    fn metric(&self) -> u32 {
        Self::metric(self)
    }

    fn set_metric(&mut self, metric: u32, r0: u64) {
        Self::set_metric(self, metric, r0);
    }

    fn set_epsilon(&mut self, epsilon: f64) {
        Self::set_epsilon(self, epsilon);
    }

    fn arm(&mut self, action_of: impl FnMut(usize) -> u8) {
        Self::arm(self, action_of);
    }

    fn arm_changed(
        &mut self,
        changes: Changes<'_>,
        action_of: impl Fn(usize) -> u8,
        goal: &[(usize, u8)],
        tracks: bool,
    ) {
        Self::arm_changed(self, changes, action_of, goal, tracks);
    }

    fn disarm(&mut self, branches: &[u32]) {
        Self::disarm(self, branches);
    }

    fn set_leads(&mut self, leads: impl Iterator<Item = (usize, u64)>) {
        Self::set_leads(self, leads);
    }

    fn set_path(&mut self, path: &[u32], back: &[u32], bits: u32) {
        Self::set_path(self, path, back, bits);
    }

    #[inline]
    fn has_hits(&self) -> bool {
        Self::has_hits(self)
    }

    fn take_hits(&mut self, into: &mut Vec<u32>) {
        Self::take_hits(self, into);
    }

    fn last_branch(&self) -> usize {
        Self::last_branch(self)
    }

    fn is_new_fault(&mut self) -> bool {
        Self::is_new_fault(self)
    }

    fn ended_by_alarm_or_memory(&self) -> bool {
        Self::ended_by_alarm_or_memory(self)
    }

    fn closest(&self, branch: usize) -> Option<(u64, &[u8])> {
        Self::closest(self, branch)
    }

    fn tracks(&self) -> bool {
        Self::tracks(self)
    }

    fn fuel(&self) -> i64 {
        Self::fuel(self)
    }

    #[inline]
    fn fuel_used(&self) -> u64 {
        Self::fuel_used(self)
    }

    fn set_fuel_cap(&mut self, fuel: i64) {
        Self::set_fuel_cap(self, fuel);
    }

    fn set_measuring(&mut self, measures: bool) {
        Self::set_measuring(self, measures);
    }

    fn take_compared(&mut self, look: impl FnMut(usize, usize, &Compared)) {
        Self::take_compared(self, look);
    }

    fn note_find(&mut self, x: &[u8]) {
        Self::note_find(self, x);
    }

    #[inline]
    fn needs_restart(&self) -> bool {
        Self::needs_restart(self)
    }
}
