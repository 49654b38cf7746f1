//! Switching mutants on and off. A target has them only if it was compiled with `-fpen-mutants`.

use penfuzz_abi::{self as abi, Traced, action, metric, site_kind};

use super::{Evaluator, RunStatus};

impl Evaluator {
    /// From now on the runs are those of a mutant, by the number of its branch ([`penfuzz_abi::site_kind::MUTATION`]), with all other
    /// sites at rest; or with `None` those of the original, with all at rest.
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

    /// Makes runs of the original that pass a mutation point count as ones that infect all its mutants, or not any more.
    pub fn let_reach_infect(&mut self, reaches: bool) {
        // SAFETY: as in `run`.
        unsafe { (*self.state).reach_infects = reaches.into() };
    }

    /// Arms the mutation points in scope for [`Evaluator::trace_values`], and nothing else.
    pub fn arm_values(&mut self) {
        self.set_metric(metric::ULP, u64::MAX);
        self.arm(|_| 0);
        let actions = self.target.actions();
        for site in self.sites.iter().map(|s| &self.target.sites[*s]).filter(|s| s.kind == site_kind::MUTATION) {
            // SAFETY: there are `n_branches` action bytes, read only while the target runs.
            unsafe { actions.add(site.first_branch).write(action::ARMED) };
        }
    }

    /// Runs the original, or a mutant, and writes the values that it computes at the armed mutation points to `trace`, as many as
    /// fit into its capacity, in order; of the mutant's own point there are none. Returns how the run has ended, and whether all
    /// values are there.
    pub fn trace_values(&mut self, mutant: Option<usize>, bytes: &[u8], trace: &mut Vec<Traced>) -> (RunStatus, bool) {
        self.switch_to(mutant);
        let ran = self.run_traced(bytes, trace);
        self.switch_to(None);
        ran
    }

    /// The branch whose action byte is at `actions`, an entry of a trace.
    #[must_use]
    pub fn branch_at(&self, actions: *const u8) -> usize {
        actions as usize - self.target.actions() as usize
    }

    /// Has the last run used up its fuel?
    #[must_use]
    pub fn is_out_of_fuel(&self) -> bool {
        self.has_stopped(abi::stop::FUEL)
    }
}
