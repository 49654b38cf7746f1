//! A filter on system calls for programs that run the code under test, such as the emitted tests. It is for accidents:
//! code under test may send signals to every process of its user, or change their limits.
//!
//! Refused calls fail with `EPERM`: signals to all processes or to this one, limits and memory of other processes, the
//! owner of a descriptor's signals, sockets unless they are allowed. `ptrace` is allowed, because the leak sanitizer of
//! a project that is compiled with it needs it.

use std::{collections::BTreeMap, io};

use seccompiler::{
    BpfProgram, SeccompAction,
    SeccompCmpArgLen::{Dword, Qword},
    SeccompCmpOp::{Eq, Ne},
    SeccompCondition, SeccompFilter, SeccompRule,
};

/// The filter. It survives `exec`, and child processes inherit it.
#[derive(Debug, Clone)]
pub struct Confinement(BpfProgram);

impl Confinement {
    /// The filter for children of this process.
    ///
    /// # Errors
    /// On an architecture without such filters.
    pub fn new(allow_network: bool) -> io::Result<Self> {
        let all_processes = u64::from((-1_i32).cast_unsigned());
        let this_process = u64::from(std::process::id());
        let is = |argument, value| SeccompCondition::new(argument, Dword, Eq, value);
        let other = |argument| SeccompCondition::new(argument, Qword, Ne, 0);
        let mut rules = vec![
            (libc::SYS_kill, vec![is(0, all_processes), is(0, this_process)]),
            (libc::SYS_tgkill, vec![is(0, this_process)]),
            (libc::SYS_prlimit64, vec![other(0)]),
            (libc::SYS_fcntl, vec![is(1, libc::F_SETOWN as u64), is(1, F_SETOWN_EX)]),
            (libc::SYS_process_vm_writev, Vec::new()),
            (libc::SYS_pidfd_open, Vec::new()),
        ];
        if !allow_network {
            rules.push((libc::SYS_socket, Vec::new()));
        }
        let rules: Result<BTreeMap<_, _>, _> = rules
            .into_iter()
            .map(|(call, conditions)| {
                let rules: Result<Vec<_>, _> = conditions.into_iter().map(|c| SeccompRule::new(vec![c?])).collect();
                rules.map(|rules| (call, rules))
            })
            .collect();
        let filter = rules.and_then(|rules| {
            let architecture = std::env::consts::ARCH.try_into()?;
            SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::Errno(libc::EPERM as u32), architecture)
        });
        filter.and_then(|filter| Ok(Self(filter.try_into()?))).map_err(io::Error::other)
    }

    /// Installs the filter for this thread. Makes only system calls.
    ///
    /// # Errors
    /// If the system refuses it.
    pub fn apply(&self) -> io::Result<()> {
        seccompiler::apply_filter(&self.0).map_err(|_| io::ErrorKind::Unsupported.into())
    }
}

/// `F_SETOWN_EX` of Linux, which libc does not define.
const F_SETOWN_EX: u64 = 15;
