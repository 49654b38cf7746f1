//! Processes: forking, waiting with a deadline, children that send messages, process trees, interrupts, shared memory,
//! `errno`, loaded code.
//!
//! [`fork::fork`] makes every fork of this program, and [`wait`] every wait for a child.

pub mod child;
pub mod errno;
pub mod fork;
pub mod interrupts;
pub mod service;
pub mod shared_memory;
pub mod streams;
pub mod tree;
pub mod wait;
