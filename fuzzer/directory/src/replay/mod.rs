//! Evaluates inputs again, in child processes, so that an input that ends its process is a result and not a failure of
//! penfuzz.

pub mod exhaust;
pub mod expendable;
pub mod fatal_input;
pub mod fresh;
pub mod generated;
pub mod long_input;
pub mod open;
pub mod session;
mod uninitialized;
