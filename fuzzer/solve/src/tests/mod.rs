//! Compares the evaluator with the processor, with a solver, and with the emitted C code; reads formulas.

mod agreement;
mod random;
mod reading;
mod reals;
