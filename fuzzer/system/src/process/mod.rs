//! Processes: forking, waiting with a deadline, children that send messages, process trees, interrupts, shared memory,
//! `errno`, loaded code.
//!
//! [`fork::fork`] makes every fork of this program, and [`wait`] every wait for a child.

pub mod child;
pub mod confinement;
pub mod deadline;
pub mod errno;
pub mod fork;
pub mod interrupts;
pub mod own_memory;

pub mod run;
pub mod service;
pub mod shared_memory;
pub mod streams;
pub mod tree;
pub mod wait;

/// The CPU time of this process in seconds.
#[must_use]
pub fn cpu_time() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for the result.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}
