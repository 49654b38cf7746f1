//! Instrumented code computes what plain code computes, and reports the branches that it takes.
//!
//! Every program here is built twice, by pen-cc and by the same clang without it, and the results are compared bit for
//! bit: with nothing armed, and with every branch recorded, wanted and tracked in both metrics.

#[path = "semantics/bytes.rs"]
mod bytes;
#[path = "semantics/conditions.rs"]
mod conditions;
#[path = "semantics/environment.rs"]
mod environment;
#[path = "semantics/fdlibm.rs"]
mod fdlibm;
#[path = "semantics/moves.rs"]
mod moves;
#[path = "semantics/mutants.rs"]
mod mutants;
#[path = "semantics/operands.rs"]
mod operands;
#[path = "semantics/operations.rs"]
mod operations;
#[path = "semantics/outcomes.rs"]
mod outcomes;
#[path = "semantics/paths.rs"]
mod paths;
#[path = "semantics/predicates.rs"]
mod predicates;
#[path = "semantics/rounding.rs"]
mod rounding;
#[path = "semantics/series.rs"]
mod series;
#[path = "semantics/switches.rs"]
mod switches;
#[allow(dead_code, reason = "shared with the benchmark, which uses another part of it")]
#[path = "semantics/twin.rs"]
mod twin;
