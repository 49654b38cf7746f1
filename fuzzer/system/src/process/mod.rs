//! Processes: forking, waiting with a deadline, children that send messages, process trees, interrupts, shared memory, `errno`, loaded code.
//!
//! Every fork of this program is made by [`fork::fork`], and every wait for a child by [`wait`].

pub mod child;
pub mod errno;
pub mod fork;
pub mod interrupts;
pub mod service;
pub mod shared_memory;
pub mod streams;
pub mod tree;
pub mod wait;
