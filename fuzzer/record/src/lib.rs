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

mod address_space;
mod likely;
mod programs;
mod ptrace;
mod recording;
mod tracer;
mod walk;

pub use likely::write_likely;
pub use recording::{Recorded, Recording};
pub use tracer::{Traced, trace};
