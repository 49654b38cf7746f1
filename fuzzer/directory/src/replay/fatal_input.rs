//! An input that killed a worker: how it is recorded, and which branches it took.
//!
//! If a target dies of SIGKILL or exits by a raw system call, no handler runs, so the place is unknown. The next worker
//! therefore runs the input again in a child process, which writes the branches that it takes to shared memory. These
//! branches count as covered. Otherwise the search would take the same branches to the same death again and again.

use core::sync::atomic::Ordering;
use std::{
    os::unix::process::ExitStatusExt,
    time::{Duration, Instant},
};

use penfuzz_abi::{action, metric};
use penfuzz_engine::saturation::Scope;
use penfuzz_error::Error;
use penfuzz_executor::{Evaluator, Fault, FaultKind, fault::signal_name};
use penfuzz_target::hash::StableHash;

use penfuzz_system::process::{fork, shared_memory::SharedBytes, wait};

/// How a worker was killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Death {
    /// The signal; 0 if the target itself ended the process.
    pub signal: i32,
    /// True if the supervisor killed the worker because not even the alarm ended the evaluation.
    pub stuck: bool,
}

impl Death {
    /// The worker panicked: the target has probably overwritten memory of the process.
    pub const DAMAGED: Self = Self { signal: 127, stuck: false };

    /// The cause in words, such as `SIGKILL`.
    #[must_use]
    pub fn cause(self) -> String {
        match self.signal {
            0 => "ended by the target".to_owned(),
            _ if self == Self::DAMAGED => "memory outside of the target's variables was overwritten".to_owned(),
            signal => signal_name(signal),
        }
    }

    /// Encodes it as a number for the worker's shared memory; never 0.
    #[must_use]
    pub fn to_number(self) -> u32 {
        (self.signal.unsigned_abs() << 2) | (u32::from(self.stuck) << 1) | 1
    }

    /// Decodes a number from the worker's shared memory; `None` if it does not encode a death.
    #[must_use]
    pub fn of_number(number: u32) -> Option<Self> {
        (number & 1 == 1).then_some(Self { signal: (number >> 2) as i32, stuck: number & 2 != 0 })
    }

    /// The fault for this death. Its key depends on `branches`, those that no earlier input has covered, to distinguish
    /// deaths of the same kind.
    #[must_use]
    pub fn fault(self, branches: &[u32], place: String) -> Fault {
        let mut hash = StableHash::new();
        hash.u32(self.to_number()).count(branches.len());
        for branch in branches {
            hash.u32(*branch);
        }
        let (kind, reason) = match self {
            Self { stuck: true, .. } => (FaultKind::Hang, "did not return, even after the alarm".to_owned()),
            Self { signal: 0, .. } => (FaultKind::Crash, "ends the process".to_owned()),
            Self::DAMAGED => (FaultKind::Crash, "overwrites memory outside of its variables".to_owned()),
            Self { signal, .. } => (FaultKind::Crash, format!("kills the process: {}", signal_name(signal))),
        };
        Fault { kind, key: hash.finish(), reason, place, stack: Vec::new(), is_cheap: false, is_out_of_fuel: false }
    }
}

/// The branches that `bytes` takes before it kills its process ([`run_again`]).
///
/// # Errors
/// Those of [`run_again`].
pub fn branches_taken(
    evaluator: &mut Evaluator,
    scope: &Scope,
    bytes: &[u8],
    patience: Duration,
) -> Result<Option<Vec<u32>>, Error> {
    Ok(run_again(evaluator, scope, bytes, patience)?.map(|(_, branches)| branches))
}

/// Runs `bytes` in a child process, and kills the child after `patience`. Returns how the child died, and the branches
/// in scope that it took before; `None` if this time the input does not kill its process.
///
/// # Errors
/// When the system has no memory or process to spare.
pub fn run_again(
    evaluator: &mut Evaluator,
    scope: &Scope,
    bytes: &[u8],
    patience: Duration,
) -> Result<Option<(Death, Vec<u32>)>, Error> {
    let n = evaluator.target().n_branches;
    // One byte per branch, and a last byte that the child sets if it survives.
    let shared = SharedBytes::map(n + 1)
        .ok_or_else(|| Error::new("cannot share memory with the process that runs a killing input again"))?;
    let child = fork::fork(|| {
        evaluator.set_metric(metric::ULP, u64::MAX);
        evaluator.arm(|b| if scope.branches[b] { action::RECORD } else { 0 });
        // SAFETY: the state belongs to the loaded target, and nothing else in the child uses its outcomes. There is a
        // byte for each branch, and only this process writes it.
        unsafe { (*evaluator.target().state()).outcomes = shared.as_mut_ptr() };
        let _ = evaluator.run(bytes);
        shared.cells()[n].store(1, Ordering::Relaxed);
        0
    })
    .map_err(|e| Error::because("cannot start a process that runs a killing input again", e))?;
    let ended = wait::wait_until(child, Instant::now() + patience);
    let is_set = |i: &usize| shared.cells()[*i].load(Ordering::Relaxed) != 0;
    if is_set(&n) {
        return Ok(None);
    }
    let death = Death { signal: ended.status.signal().unwrap_or(0), stuck: ended.is_late };
    Ok(Some((death, (0..n).filter(is_set).map(|b| b as u32).collect())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_death_is_read_back_from_its_number() {
        for death in [Death { signal: 0, stuck: false }, Death { signal: libc::SIGKILL, stuck: true }] {
            assert_eq!(Death::of_number(death.to_number()), Some(death));
        }
        assert_eq!(Death::of_number(0), None);
    }

    #[test]
    fn deaths_differ_by_signal_and_branches() {
        let key = |signal, branches: &[u32]| Death { signal, stuck: false }.fault(branches, String::new()).key;
        assert_ne!(key(9, &[]), key(0, &[]));
        assert_ne!(key(9, &[]), key(9, &[4]));
        assert_eq!(key(9, &[4]), key(9, &[4]));
    }
}
