//! The kinds of sites.

/// A two-way branch.
pub const BRANCH: u8 = 0;
/// A `switch`.
pub const SWITCH: u8 = 1;
/// A `select`: a conditional without a branch in the code.
pub const SELECT: u8 = 2;
/// The comparison `a op b` of the two-way site directly before it; its branches are [`side`](super::side).
pub const COMPARISON: u8 = 3;
/// A floating-point operation; its branches are [`exception`](super::exception). Only with `-fpen-exceptions`.
pub const OPERATION: u8 = 4;
/// An expression of `&&` and `||`; its branches are the ways through it ([`Decision`](super::Decision)). Only with
/// `-fpen-decisions`.
pub const DECISION: u8 = 5;
/// A mutation point: branch `k` is taken where mutant `k` would compute another value. Only with `-fpen-mutants`.
pub const MUTATION: u8 = 6;
