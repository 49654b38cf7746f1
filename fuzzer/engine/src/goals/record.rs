//! Goal without distances, which only records new branches.

use penfuzz_abi::metric;
use penfuzz_executor::PenEvaluator;

use super::{Goal, arm_open, record_if_new};
use crate::saturation::Saturation;

/// Records every goal that is not covered yet, or only by a crash.
#[derive(Debug, Clone, Copy)]
pub struct Record;

impl Goal for Record {
    fn metric(&self) -> u32 {
        metric::ULP
    }

    fn r0(&self) -> u64 {
        u64::MAX
    }

    fn action(&self, saturation: &Saturation, branch: usize) -> u8 {
        record_if_new(saturation, branch)
    }

    fn arm<V: PenEvaluator>(&self, evaluator: &mut V, saturation: &Saturation) {
        evaluator.set_metric(self.metric(), self.r0());
        arm_open(evaluator, saturation, &[], false);
    }
}
