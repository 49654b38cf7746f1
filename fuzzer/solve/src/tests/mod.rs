//! The evaluator against the processor, against a solver, and against the emitted C.

mod agreement;
mod random;
mod reading;
