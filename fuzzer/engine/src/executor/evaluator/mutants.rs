//! Switching mutants on and off. A target has them only if it was compiled with `-fpen-mutants`.

use penfuzz_cc::abi::{self, action, metric};

use super::Evaluator;

impl Evaluator {
    /// From now on the runs are those of a mutant, by the number of its branch ([`penfuzz_cc::abi::site_kind::MUTATION`]), with all other
    /// sites at rest; or with `None` those of the original, with all at rest.
    pub fn set_mutant(&mut self, branch: Option<usize>) {
        self.set_metric(metric::ULP, u64::MAX);
        self.arm(|b| if Some(b) == branch { action::RECORD } else { 0 });
        let actions = self.target.actions();
        // SAFETY: as in `run`; the branch has an action byte, of which only the address is compared.
        unsafe { (*self.state).mutant = branch.map_or(core::ptr::null(), |b| actions.add(b).cast_const()) };
    }

    /// Has the last run used up its fuel?
    #[must_use]
    pub fn is_out_of_fuel(&self) -> bool {
        self.has_stopped(abi::stop::FUEL)
    }
}
