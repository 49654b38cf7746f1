//! An input that uses up its fuel: is it a hang, or does it only take long?
//!
//! Fuel ends an evaluation after about a millisecond, which a search needs. It is no measure for a user. So for one input per
//! place the function is run once more, in a process of its own, with all sites at rest and as much fuel as it takes, for the
//! time limit of an evaluation (`--timeout`). An input that returns then is kept like any other, with the branches that it takes.

use core::sync::atomic::AtomicU32;
use std::time::{Duration, Instant};

use penfuzz_executor::{Evaluator, Fault, FaultKind, evaluator::RunStatus};
use penfuzz_system::process::child::{self, Limit};
use serde::{Deserialize, Serialize};

use super::session::silence;
use crate::output::store::Long;

/// How an input ends that has used up its fuel and gets more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    /// It returns in time.
    Returns(Long),
    /// It fails in another way.
    Fails(Fault),
    /// It does not return in time.
    Hangs,
}

/// The longest that [`run_here`] takes, with room for a busy machine: a run at rest, and one that records in each placement of
/// arguments, each of them until the alarm.
#[must_use]
pub fn patience(timeout: Duration) -> Duration {
    timeout * 3 + Duration::from_secs(1)
}

/// Runs an input in this process, whose guard must end evaluations after `timeout`. Returns which of `branches` it takes; there is
/// one flag per branch of the target. When a run that records takes longer than `timeout`, those are returned that it has
/// taken by then.
pub fn run_here(evaluator: &mut Evaluator, branches: &[bool], bytes: &[u8], timeout: Duration) -> Answer {
    let fuel = evaluator.set_fuel(i64::MAX);
    let answer = with_all_fuel(evaluator, branches, bytes, timeout);
    evaluator.set_fuel(fuel);
    answer
}

fn with_all_fuel(evaluator: &mut Evaluator, branches: &[bool], bytes: &[u8], timeout: Duration) -> Answer {
    evaluator.arm(|_| 0);
    let begun = Instant::now();
    let ran = evaluator.run(bytes);
    let time = begun.elapsed();
    let not_in_time = |fault: Fault| if fault.kind == FaultKind::Hang { Answer::Hangs } else { Answer::Fails(fault) };
    if ran == RunStatus::Faulted {
        return evaluator.fault().map_or(Answer::Hangs, not_in_time);
    }
    if time > timeout {
        return Answer::Hangs;
    }
    let (_, covers) = evaluator.record(branches, bytes);
    match evaluator.fault().filter(|f| f.kind == FaultKind::Crash) {
        Some(fault) => Answer::Fails(fault),
        None => Answer::Returns(Long { milliseconds: time.as_millis() as u64, covers }),
    }
}

/// The same in a process of its own; `None` when that dies, does not end, or `stop` is set before it ends.
pub fn decide(
    evaluator: &mut Evaluator,
    branches: &[bool],
    bytes: &[u8],
    timeout: Duration,
    stop: &'static AtomicU32,
) -> Option<Answer> {
    let mut answer = None;
    let work = |send: &mut dyn FnMut(&Answer)| {
        silence();
        if evaluator.on_its_own(timeout).is_ok() {
            send(&run_here(evaluator, branches, bytes, timeout));
        }
    };
    child::run(work, |given| answer = Some(given), Limit::Unless(Instant::now() + patience(timeout), stop));
    answer
}

/// The fault of an input that has used up its fuel and did not return in time either.
#[must_use]
pub fn hang(fault: Fault, timeout: Duration) -> Fault {
    Fault { reason: format!("{}, nor within {timeout:?}", fault.reason), ..fault }
}
