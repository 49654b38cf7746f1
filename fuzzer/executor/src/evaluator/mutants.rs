//! Enables and disables mutants. A target has mutants only if it was compiled with `-fpen-mutants`.

use penfuzz_abi::{self as abi, Traced, action, metric, site_kind};

use super::{Evaluator, RunStatus};

impl Evaluator {
    /// Selects the mutant that the next runs execute, by the number of its branch
    /// ([`penfuzz_abi::site_kind::MUTATION`]); `None` selects the original. All other sites are disarmed.
    pub fn set_mutant(&mut self, branch: Option<usize>) {
        self.set_metric(metric::ULP, u64::MAX);
        if self.armed.is_alone {
            // Only two bytes change.
            if let Some(before) = self.armed.mutant {
                self.set_byte(before, 0);
            }
            if let Some(branch) = branch {
                self.set_byte(branch, action::RECORD);
            }
            self.choose_metric();
        } else {
            self.arm(|b| if Some(b) == branch { action::RECORD } else { 0 });
        }
        (self.armed.mutant, self.armed.is_alone) = (branch, true);
        self.switch_to(branch);
    }

    fn switch_to(&mut self, branch: Option<usize>) {
        let actions = self.target.actions();
        // SAFETY: as in `run`; the branch has an action byte, of which only the address is compared.
        unsafe { (*self.state).mutant = branch.map_or(core::ptr::null(), |b| actions.add(b).cast_const()) };
    }

    /// Sets whether a run of the original that passes a mutation point takes the branches of all its mutants, as if
    /// each mutant had infected the state.
    pub fn set_reach_infects(&mut self, reaches: bool) {
        // SAFETY: as in `run`.
        unsafe { (*self.state).reach_infects = reaches.into() };
    }

    /// Arms the mutation points in scope for [`Evaluator::trace_values`]. All other sites are disarmed.
    pub fn arm_values(&mut self) {
        self.set_metric(metric::ULP, u64::MAX);
        self.arm(|_| 0);
        let actions = self.target.actions();
        for site in self.sites.iter().map(|s| &self.target.sites[*s]).filter(|s| s.kind == site_kind::MUTATION) {
            // SAFETY: there are `n_branches` action bytes, read only while the target runs.
            unsafe { actions.add(site.first_branch).write(action::ARMED) };
        }
    }

    /// Runs the original or a mutant. Writes the values computed at the armed mutation points to `trace`, in order, up
    /// to its capacity. The mutant's own point produces no values. Returns how the run ended, and whether `trace` holds
    /// all values.
    pub fn trace_values(&mut self, mutant: Option<usize>, bytes: &[u8], trace: &mut Vec<Traced>) -> (RunStatus, bool) {
        self.switch_to(mutant);
        let ran = self.run_traced(bytes, trace);
        self.switch_to(None);
        ran
    }

    /// The branch whose action byte is at `actions` in an entry of a trace.
    #[must_use]
    pub fn branch_at(&self, actions: *const u8) -> usize {
        actions as usize - self.target.actions() as usize
    }

    /// Did the last run use up its fuel?
    #[must_use]
    pub fn is_out_of_fuel(&self) -> bool {
        self.has_stopped(abi::stop::FUEL)
    }
}
