//! How the last run ended if it did not return.

use core::ffi::{CStr, c_char};

use penfuzz_abi::{self as abi, action};
use penfuzz_target::recorded::Precondition;

use super::{Evaluator, RunStatus};
use crate::{
    fault::Fault,
    guard::{self, End},
};

/// Distinguishes the key of a fault whose input violates a likely precondition.
const VIOLATION: u64 = 0x9e37_79b9_7f4a_7c15;

/// Is this an end, other than a return, that an emitted test can expect?
pub(super) const fn is_normal(end: &End) -> bool {
    matches!(end.stop, abi::stop::EXIT | abi::stop::THROW)
}

impl Evaluator {
    /// Stores how a call ended that did not return.
    pub(super) fn note_end(&mut self, returned: bool) {
        self.last_end = (!returned).then(guard::last_end);
        if self.last_end.is_some_and(|end| end.is_asynchronous()) {
            self.shared.abandon_heap();
        }
    }

    #[cold]
    #[inline(never)]
    pub(super) fn look_at_end(&mut self, returned: bool) -> RunStatus {
        self.note_end(returned);
        if self.n_improved() > 0 {
            self.remember_closest();
        }
        if self.ended_next_to_inferred_block() {
            return self.forget_run();
        }
        if self.has_stopped(abi::stop::REJECTED) {
            return self.reject_run();
        }
        if self.is_cut_short() {
            return self.rerun_with_full_fuel();
        }
        if self.has_stopped(abi::stop::STRAYED) {
            self.last_end = None;
        }
        if self.last_end.is_some_and(|end| !is_normal(&end)) { RunStatus::Faulted } else { RunStatus::Returned }
    }

    fn is_cut_short(&self) -> bool {
        self.fuel_cap < self.fuel && self.has_stopped(abi::stop::FUEL)
    }

    /// Was the last run stopped for this reason, one of [`abi::stop`]?
    pub(super) fn has_stopped(&self, reason: u32) -> bool {
        self.last_end.as_ref().is_some_and(|end| end.stop == reason)
    }

    /// Repeats a run that used up its fuel cap with all the fuel if it took a new branch. Otherwise the run counts as
    /// returned.
    fn rerun_with_full_fuel(&mut self) -> RunStatus {
        if !self.has_hits() {
            self.last_end = None;
            return RunStatus::Returned;
        }
        let fuel_cap = self.fuel_cap;
        self.set_fuel_cap(self.fuel);
        // SAFETY: `input` holds `input_size` bytes.
        let x = unsafe { core::slice::from_raw_parts(self.input, self.input_size) }.to_vec();
        let ran = self.run(&x);
        self.set_fuel_cap(fuel_cap);
        ran
    }

    /// If a C++ exception left the function in the last run: the name of its type as `std::type_info::name` returns it;
    /// empty for an exception of another language. Such a run has no result.
    #[must_use]
    pub fn thrown(&self) -> Option<String> {
        if !self.has_stopped(abi::stop::THROW) {
            return None;
        }
        // SAFETY: as in `run`.
        let name = unsafe { (*self.state).exit_status } as *const c_char;
        if name.is_null() {
            return Some(String::new());
        }
        // SAFETY: a constant of the target or of one of its libraries, which stay loaded.
        let name = unsafe { CStr::from_ptr(name) }.to_string_lossy();
        // GCC marks a type that is local to one file by a star, which is not part of the name.
        Some(name.strip_prefix('*').unwrap_or(&name).to_owned())
    }

    /// The exit status of the last run, as the parent of the process would see it, if it ended by `exit`, `_exit`,
    /// `_Exit` or `quick_exit`; `None` if the function returned or failed. Such a run has no result.
    #[must_use]
    pub fn exit_status(&self) -> Option<u8> {
        // SAFETY: as in `run`.
        self.has_stopped(abi::stop::EXIT).then(|| unsafe { (*self.state).exit_status } as u8)
    }

    /// Discards a run in which an assumption does not hold. Only the branches of assumptions stay recorded, because
    /// they guide the search to inputs for which the assumptions hold.
    pub(super) fn reject_run(&mut self) -> RunStatus {
        self.last_end = None;
        self.rejected_at = self.evaluations();
        // SAFETY: as in `run`.
        let state = unsafe { &mut *self.state };
        let n = (state.hits as usize).min(self.taken.len());
        let mut left = 0;
        for i in 0..n {
            let b = self.taken[i];
            let Some(outcome) = self.outcomes.get_mut(b as usize) else { continue };
            if self.target.sites[self.target.site_of(b as usize)].is_assumption() {
                self.taken[left] = b;
                left += 1;
            } else {
                *outcome = 0;
            }
        }
        state.hits = left as u32;
        // A goal that was reached before the assumption does not count.
        if left == 0 && state.r == 0 {
            state.r = u64::MAX;
        }
        RunStatus::Returned
    }

    /// Did the alarm or the memory limit end the last run?
    #[must_use]
    pub fn ended_by_alarm_or_memory(&self) -> bool {
        self.last_end.is_some_and(|end| end.signal == libc::SIGALRM || end.stop == guard::STOP_MEMORY)
    }

    /// Returns the place of the assumption that does not hold for `x`, as `FILE:LINE`; `None` if all hold, or if no
    /// site shows the place. Arms all branches.
    pub fn unmet_assumption(&mut self, x: &[u8]) -> Option<String> {
        self.arm(|_| action::RECORD);
        self.run(x);
        let mut hits = Vec::new();
        self.take_hits(&mut hits);
        if !self.is_rejected() {
            return None;
        }
        let sites = &self.target.sites;
        let rejects = |b: &u32| {
            let site = &sites[self.target.site_of(*b as usize)];
            site.rejects(*b as usize - site.first_branch).then(|| format!("{}:{}", site.file, site.line))
        };
        hits.iter().find_map(rejects)
    }

    /// Was an assumption violated in the last run?
    #[must_use]
    pub fn is_rejected(&self) -> bool {
        self.rejected_at != 0 && self.rejected_at == self.evaluations()
    }

    /// The text of the check (`PEN_CHECK`) that failed in the last run.
    pub(super) fn failed_check(&self) -> Option<String> {
        if !self.has_stopped(abi::stop::CHECK) {
            return None;
        }
        // SAFETY: as in `run`.
        let text = unsafe { (*self.state).exit_status } as *const c_char;
        // SAFETY: a constant of the target, which stays loaded.
        (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
    }

    /// The key of the last run's fault; see [`Fault::key`]. At one place, an input that violates a likely precondition
    /// has another fault than an input that violates none.
    #[must_use]
    pub fn fault_key(&self) -> Option<u64> {
        let key = self.last_fault().map(|end| self.faults.key(end))?;
        Some(if self.violates_precondition() { key ^ VIOLATION } else { key })
    }

    /// Whether the last run failed at the place of the fault with this key, whatever its input violates.
    #[must_use]
    pub fn failed_at(&self, key: u64) -> bool {
        self.last_fault().map(|end| self.faults.key(end)).is_some_and(|place| place == key || place == key ^ VIOLATION)
    }

    /// Sets the likely preconditions that distinguish faults.
    pub fn set_preconditions(&mut self, preconditions: Vec<Precondition>) {
        self.preconditions = preconditions;
    }

    fn violates_precondition(&self) -> bool {
        if self.preconditions.is_empty() {
            return false;
        }
        // SAFETY: `input` holds the input of the last run, of `input_size` bytes.
        let x = unsafe { core::slice::from_raw_parts(self.input, self.input_size) };
        self.preconditions.iter().any(|p| p.is_violated(self.function(), x))
    }

    /// The signal of the last run's fault, and the address that faulted.
    #[must_use]
    pub fn fault_signal(&self) -> Option<(i32, u64)> {
        self.last_fault().map(|end| (end.signal, end.address))
    }

    /// If the last run ended because the function freed memory that `malloc` had not allocated: its address.
    #[must_use]
    pub fn freed_unallocated(&self) -> Option<u64> {
        self.last_fault().filter(|end| self.faults.has_freed_unallocated(end))?;
        // SAFETY: as in `run`.
        Some(unsafe { (*self.state).exit_status }.cast_unsigned())
    }

    /// The fault of the last run.
    #[must_use]
    pub fn fault(&self) -> Option<Fault> {
        let key = self.fault_key()?;
        self.last_fault().map(|end| Fault { key, ..self.described(self.faults.read(end), end) })
    }

    fn last_fault(&self) -> Option<&End> {
        self.last_end.as_ref().filter(|end| !is_normal(end))
    }
}
