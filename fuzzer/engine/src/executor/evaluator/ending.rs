//! How the last run ended when it did not return.

use penfuzz_cc::abi;

use super::Evaluator;
use crate::executor::{fault::Fault, guard::End};

impl Evaluator {
    /// The exit status of the last run, as the parent of the process would see it, when it ended by `exit`, `_exit`, `_Exit` or
    /// `quick_exit`; `None` when the function returned or failed. Such a run has no result.
    #[must_use]
    pub fn exit_status(&self) -> Option<u8> {
        // SAFETY: as in `run`.
        self.has_stopped(abi::stop::EXIT).then(|| unsafe { (*self.state).exit_status } as u8)
    }

    /// The place of the fault of the last run, see [`Fault::key`].
    #[must_use]
    pub fn fault_key(&self) -> Option<u64> {
        self.last_fault().map(|end| self.faults.key(end))
    }

    /// The fault of the last run.
    #[must_use]
    pub fn fault(&self) -> Option<Fault> {
        self.last_fault().map(|end| self.described(self.faults.read(end), end))
    }

    fn last_fault(&self) -> Option<&End> {
        self.last_end.as_ref().filter(|end| end.stop != abi::stop::EXIT)
    }
}
