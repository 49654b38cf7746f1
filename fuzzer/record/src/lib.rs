//! Runs a command, such as `make check`, and records the calls that its programs make to functions which pen-cc has
//! compiled. A campaign on such a function then starts with arguments as real callers pass them.
//!
//! The programs are not changed. The recorder traces them (`ptrace`): it places a breakpoint at the entry of each
//! function, reads the arguments and the memory that they lead to, and removes the breakpoint after some calls. So a
//! function that is called a million times costs no more than one that is called a hundred times.
//!
//! | file | holds |
//! | --- | --- |
//! | `tracer` | the event loop: processes and threads of the command, and what stopped them |
//! | `ptrace` | the system calls of the tracer |
//! | `address_space` | memory, mapped files and breakpoints of a process |
//! | `programs` | the functions of a file that can be recorded |
//! | `walk` | the memory that arguments lead to |
//! | `likely` | conditions that hold for all recorded calls |
//! | `recording` | the files of a recording, without equal calls |

#![warn(clippy::print_stdout, clippy::print_stderr)]

#[cfg(target_arch = "x86_64")]
mod address_space;
mod likely;
#[cfg(target_arch = "x86_64")]
mod programs;
#[cfg(target_arch = "x86_64")]
mod ptrace;
#[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "nothing is recorded there"))]
mod recording;
#[cfg(target_arch = "x86_64")]
mod tracer;
#[cfg(target_arch = "x86_64")]
mod walk;

use std::{
    path::PathBuf,
    process::{Command, ExitStatus},
};

use penfuzz_error::Error;

pub use likely::write_likely;
pub use recording::{Recorded, Recording};

/// A command that has ended.
#[derive(Debug, Clone)]
pub struct Traced {
    /// How it ended.
    pub status: ExitStatus,
    /// The programs and libraries of pen-cc that it has executed, in alphabetical order.
    pub programs: Vec<PathBuf>,
}

/// Runs the command with its standard streams, and records the calls that it and its children make. Returns when all of
/// them have ended.
///
/// # Errors
/// When the command cannot be started or traced, or a call cannot be written. Then the command and its children are
/// killed when this process ends. On processors other than x86-64.
pub fn trace(command: &mut Command, recording: &mut Recording) -> Result<Traced, Error> {
    #[cfg(target_arch = "x86_64")]
    return tracer::trace(command, recording);
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = (command, recording);
        Err(Error::new("record needs an x86-64 processor: it reads the arguments from the registers of that"))
    }
}
