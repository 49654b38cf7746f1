//! Processes: children that are forked off or started, trees of them, signals, and memory that they share.

pub mod child;
pub mod interrupts;
pub mod service;
pub mod shared_memory;
pub mod tree;
