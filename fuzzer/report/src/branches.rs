//! The branches of a report: their sites, their states and their counts.

use serde::{Deserialize, Serialize};

use super::{
    arg::{Arg, Operand},
    model::is_zero,
    proof::{Code, Proof},
};

/// A branch of a report. As JSON it is an array `[site, branch]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "(usize, usize)", into = "(usize, usize)")]
pub struct BranchIndex {
    /// The index of its site in the report's `sites`.
    pub site: usize,
    /// Its index in the site's `branches`.
    pub branch: usize,
}

impl From<(usize, usize)> for BranchIndex {
    fn from((site, branch): (usize, usize)) -> Self {
        Self { site, branch }
    }
}

impl From<BranchIndex> for (usize, usize) {
    fn from(index: BranchIndex) -> Self {
        (index.site, index.branch)
    }
}

/// Counts of branches in scope.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Branches {
    /// All branches of all sites in scope, or the campaign's other goals ([`Report::goals`]).
    pub total: usize,
    /// Taken by an input that ends normally: the function returns or calls `exit`. The emitted tests take all of them.
    pub covered: usize,
    /// Taken only by inputs that crash or hang; not counted in `covered`.
    #[serde(default)]
    pub covered_by_crash_only: usize,
    /// Taken only by evaluations that ran after others, and not by the same input in a fresh process; not counted in
    /// `covered`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub depends_on_earlier_calls: usize,
    /// Taken by an input only with some contents of uninitialized memory (local variables, blocks from `malloc`), and
    /// not with others; not counted in `covered`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub depends_on_uninitialized: usize,
    /// Taken by an input whose emitted test does not build or fails ([`Report::failed_tests`]); not counted in
    /// `covered`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub without_test: usize,
    /// Covered, and every descendant is covered or given up: `CoverMe`, Def. 3.2.
    pub saturated: usize,
    /// Not covered although their search budget is spent, without those that depend on earlier calls or on
    /// uninitialized memory.
    pub given_up: usize,
    /// Proved unreachable by two solvers; not counted in `given_up`.
    pub proved_unreachable: usize,
}

impl Branches {
    /// Number of branches that are not proved unreachable.
    #[must_use]
    pub fn reachable(&self) -> usize {
        self.total.saturating_sub(self.proved_unreachable)
    }
}

/// One conditional.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Site {
    /// Function that contains it.
    pub function: String,
    /// Source file.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1; 0 when unknown.
    pub column: u32,
    /// `branch`, `switch` or `select`; `comparison` in a search for boundary values, `operation` in a search for
    /// exceptions.
    pub kind: String,
    /// For an operation, its C notation: `*`, `log`, `(int)`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub operation: String,
    /// The comparison that decides it, for example `<=`; empty if it is not a single comparison.
    pub predicate: String,
    /// The unit of its distances: `floats` or `integers` between the operands; empty if it is not a single comparison.
    #[serde(default)]
    pub distance_unit: String,
    /// If no input executes it: the closest branch of an executed condition, counted in conditionals between them, as
    /// indices `[site, branch]` into `sites`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits_for: Option<BranchIndex>,
    /// Its number in the compiled code; `None` in a report that an older penfuzz wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<Code>,
    /// Its branches: true then false, or one per destination of a switch (default first).
    pub branches: Vec<Branch>,
}

impl Site {
    /// Returns whether some input has executed the condition. A comparison that ran has a distance, even if only a
    /// crashing input ran it.
    #[must_use]
    pub fn is_executed(&self) -> bool {
        self.branches.iter().any(|b| !b.status.is_untaken() || b.best_distance.is_some())
    }
}

/// One side of a site.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Branch {
    /// `true`, `false`, `default`, or the case values of a switch destination (`case 1, 2`); `below`, `equal` or
    /// `above` for a comparison; `overflow`, `underflow`, `subnormal`, `divide-by-zero`, `invalid` or `inexact` for an
    /// operation.
    pub outcome: String,
    /// Its state.
    pub status: Status,
    /// Number of evaluations that the targeted search made for this branch, covered or not. Each evaluation counts for
    /// at most one branch, so the sum over the branches is at most that of the campaign. 0 for the other searches, and
    /// for branches that were covered during the search for another one.
    pub evaluations: u64,
    /// Number of evaluations when the branch was first taken; `None` if it is not covered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub covered_at: Option<u64>,
    /// The smallest branch distance seen (ULPs or integer difference); `None` if its site was never reached or the
    /// condition has no distance. 0 for a covered branch.
    pub best_distance: Option<u64>,
    /// The input that covers it or came closest, as arguments; `None` if there is none.
    pub input: Option<Vec<Arg>>,
    /// For an uncovered branch, the simplified input that reached `best_distance`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub best_input: Option<Vec<Arg>>,
    /// For equal operands: the arguments of further inputs that meet this boundary value. `input` is not among them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub further: Vec<Vec<Arg>>,
    /// For an open branch, the number of kept inputs that execute its condition, if there are at least four and all are
    /// equally far from the branch: its operands may not depend on the arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unchanged_over: Option<usize>,
    /// The operands, if `input` meets this boundary value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub met: Option<Met>,
    /// The result of the solvers, if no input takes the branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<Proof>,
}

impl Branch {
    /// Returns whether no input has taken it yet in a fresh process.
    #[must_use]
    pub fn is_open(&self) -> bool {
        matches!(
            self.status,
            Status::GivenUp
                | Status::Uncovered
                | Status::DependsOnEarlierCalls
                | Status::DependsOnUninitialized
                | Status::WithoutTest
        )
    }
}

/// The comparison where a boundary value was first met.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Met {
    /// The operand before the operator.
    pub left: Operand,
    /// The operand after the operator.
    pub right: Operand,
    /// `true` or `false`: whether the condition holds there.
    pub outcome: String,
}

/// State of a branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Covered together with all its descendants.
    Saturated,
    /// Covered, but some descendant is still open.
    Covered,
    /// Only an input that crashed or hung took it.
    CoveredByCrash,
    /// Not covered; its budget is spent.
    GivenUp,
    /// Not covered; budget is left.
    Uncovered,
    /// Taken only by evaluations that ran after others: the same input does not take it in a fresh process.
    DependsOnEarlierCalls,
    /// Taken only with some contents of uninitialized memory: the function reads a variable that it has not written.
    DependsOnUninitialized,
    /// Taken by an input, but the emitted test with this input does not build or fails.
    WithoutTest,
    /// Two solvers proved that no execution takes it.
    ProvedUnreachable,
}

impl Status {
    /// Returns whether no evaluation has taken it.
    #[must_use]
    pub fn is_untaken(self) -> bool {
        matches!(self, Self::GivenUp | Self::Uncovered | Self::ProvedUnreachable)
    }
}
