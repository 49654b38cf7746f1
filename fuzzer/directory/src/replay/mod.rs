//! Evaluates inputs again, each in a process of its own, so that one that ends its process is a result and not a failure.

pub mod exhaust;
pub mod fatal_input;
pub mod fresh;
pub mod generated;
pub mod long_input;
pub mod open;
pub mod session;
