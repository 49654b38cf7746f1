//! An input that killed a worker: what is kept of it, and which branches it took.
//!
//! No handler runs when a target dies of SIGKILL or leaves by a raw system call, so nobody knows where it was. The next
//! worker therefore runs the input once more, in a process of its own that writes the branches it takes to shared memory.
//! They count as covered; otherwise the search would walk the same way into the same death for ever.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    time::{Duration, Instant},
};

use penfuzz_cc::abi::{action, metric};
use penfuzz_engine::{
    error::Error,
    executor::{Evaluator, Fault, FaultKind, fault::signal_name},
    saturation::Scope,
};

use crate::process::shared_memory;

/// How a worker was killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Death {
    /// The signal; 0 when the target ended the process.
    pub signal: i32,
    /// The supervisor killed it, because even the alarm had not helped.
    pub stuck: bool,
}

impl Death {
    /// For the shm; never 0.
    #[must_use]
    pub fn to_number(self) -> u32 {
        (self.signal.unsigned_abs() << 2) | (u32::from(self.stuck) << 1) | 1
    }

    /// From the shm.
    #[must_use]
    pub fn of_number(number: u32) -> Option<Self> {
        (number & 1 == 1).then_some(Self { signal: (number >> 2) as i32, stuck: number & 2 != 0 })
    }

    /// Can it be somebody else's doing: the user's, or the kernel's, when memory is short? Only the input tells.
    #[must_use]
    pub fn is_from_outside(self) -> bool {
        !self.stuck && [libc::SIGKILL, libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGQUIT].contains(&self.signal)
    }

    /// The fault; deaths of the same kind are told apart by `branches` that were not known before.
    #[must_use]
    pub fn fault(self, branches: &[u32], place: String) -> Fault {
        let mut hasher = DefaultHasher::new();
        (self.to_number(), branches).hash(&mut hasher);
        let (kind, reason) = match self {
            Self { stuck: true, .. } => (FaultKind::Hang, "no end, even after the alarm".to_owned()),
            Self { signal: 0, .. } => (FaultKind::Crash, "ends the process".to_owned()),
            Self { signal, .. } => (FaultKind::Crash, format!("kills the process: {}", signal_name(signal))),
        };
        Fault { kind, key: hasher.finish(), reason, place, stack: Vec::new(), is_cheap: false }
    }
}

/// Memory that parent and child share: one byte per branch, and one that is raised when the target lets the child live.
struct Shared {
    first: *mut u8,
    n: usize,
}

impl Shared {
    fn map(n: usize) -> Result<Self, Error> {
        let first = shared_memory::bytes(n)
            .ok_or_else(|| Error::new("cannot share memory with the process that runs a killing input again"))?;
        Ok(Self { first: first.as_ptr(), n })
    }

    /// The branches that are raised; `None` when the child lived.
    fn branches(&self) -> Option<Vec<u32>> {
        // SAFETY: `n` bytes are mapped, and the child that wrote to them has ended.
        let (lived, branches) = unsafe { core::slice::from_raw_parts(self.first, self.n) }.split_last()?;
        (*lived == 0).then(|| (0u32..).zip(branches).filter(|(_, b)| **b != 0).map(|(i, _)| i).collect())
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: mapped by `map`, and nobody holds a reference to it.
        unsafe { libc::munmap(self.first.cast(), self.n) };
    }
}

/// As [`run_again`], without the death.
///
/// # Errors
/// As there.
pub fn branches_taken(
    evaluator: &mut Evaluator,
    scope: &Scope,
    bytes: &[u8],
    patience: Duration,
) -> Result<Option<Vec<u32>>, Error> {
    Ok(run_again(evaluator, scope, bytes, patience)?.map(|(_, branches)| branches))
}

/// How `bytes` kills its process, or is killed when `patience` ends, and the branches in scope that it takes before; `None` when
/// this time it does not kill.
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
    let shared = Shared::map(n + 1)?;
    // SAFETY: no other thread runs, so the child may do anything.
    let child = unsafe { libc::fork() };
    if child < 0 {
        return Err(Error::new("cannot start a process that runs a killing input again"));
    }
    if child == 0 {
        // SAFETY: the child is on its own; it ends here, whatever the target does.
        unsafe {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            evaluator.set_metric(metric::ULP, u64::MAX);
            evaluator.arm(|b| if scope.branches[b] { action::RECORD } else { 0 });
            (*evaluator.target().state()).outcomes = shared.first;
            let _ = evaluator.run(bytes);
            shared.first.add(n).write_volatile(1);
            libc::_exit(0)
        }
    }
    let death = wait(child, Instant::now() + patience);
    Ok(shared.branches().map(|branches| (death, branches)))
}

/// Waits for a child, and kills it at the deadline.
fn wait(child: i32, deadline: Instant) -> Death {
    let (mut status, mut stuck) = (0, false);
    // SAFETY: our own child.
    while unsafe { libc::waitpid(child, &raw mut status, libc::WNOHANG) } == 0 {
        if Instant::now() > deadline {
            stuck = true;
            // SAFETY: as above.
            unsafe { libc::kill(child, libc::SIGKILL) };
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Death { signal: if libc::WIFSIGNALED(status) { libc::WTERMSIG(status) } else { 0 }, stuck }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_death_can_be_written_to_the_board() {
        for death in [Death { signal: 0, stuck: false }, Death { signal: libc::SIGKILL, stuck: true }] {
            assert_eq!(Death::of_number(death.to_number()), Some(death));
        }
        assert_eq!(Death::of_number(0), None);
    }

    #[test]
    fn deaths_are_told_apart_by_signal_and_branches() {
        let key = |signal, branches: &[u32]| Death { signal, stuck: false }.fault(branches, String::new()).key;
        assert_ne!(key(9, &[]), key(0, &[]));
        assert_ne!(key(9, &[]), key(9, &[4]));
        assert_eq!(key(9, &[4]), key(9, &[4]));
    }
}
