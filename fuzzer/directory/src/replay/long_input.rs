//! Decides whether an input that uses up its fuel hangs, or only takes long.
//!
//! Fuel ends an evaluation after about a millisecond, as a search needs it. For a user this limit means nothing. So for
//! one input per place the function is run again in a child process, with all sites disarmed and without a fuel limit,
//! for the time limit of an evaluation (`--timeout`). If the input returns in that time, it is kept like any other,
//! with the branches that it takes.

use core::sync::atomic::AtomicU32;
use std::time::{Duration, Instant};

use penfuzz_executor::{Evaluator, Fault, FaultKind, evaluator::RunStatus};
use penfuzz_system::process::child::{self, Limit};
use serde::{Deserialize, Serialize};

use super::session::silence;
use crate::output::store::LongRun;

/// How an input that has used up its fuel ends without a fuel limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    /// It returns within the time limit.
    Returns(LongRun),
    /// It fails in another way.
    Fails(Fault),
    /// It does not return within the time limit.
    Hangs,
}

/// The longest time that [`run_here`] takes, with room for a busy machine: one disarmed run, and one recording run in
/// each placement of arguments, each of them until the alarm.
#[must_use]
pub fn patience(timeout: Duration) -> Duration {
    timeout * 3 + Duration::from_secs(1)
}

/// Runs an input in this process, whose guard must end evaluations after `timeout`. Records which of `branches` it
/// takes; there is one flag per branch of the target. If a recording run takes longer than `timeout`, only the branches
/// up to then are recorded.
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
        None => Answer::Returns(LongRun { milliseconds: time.as_millis() as u64, covers }),
    }
}

/// The same in a child process; `None` if the child dies, does not end, or `stop` is set before it ends.
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
        if evaluator.detach_from_supervisor(timeout).is_ok() {
            send(&run_here(evaluator, branches, bytes, timeout));
        }
    };
    child::run(work, |given| answer = Some(given), Limit::Unless(Instant::now() + patience(timeout), stop));
    answer
}

/// The fault of an input that has used up its fuel, and that does not return within the time limit either.
#[must_use]
pub fn hang_fault(fault: Fault, timeout: Duration) -> Fault {
    Fault { reason: format!("{}, nor within {timeout:?}", fault.reason), ..fault }
}
