//! The conditionals, comparisons and operations of a target.

use penfuzz_abi as abi;

use super::{decision::Decision, edges::Edges};

/// One conditional, comparison or operation.
#[derive(Debug, Clone)]
pub struct Site {
    /// Index into [`Target::functions`].
    pub function: usize,
    /// Source file.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1; 0 if unknown.
    pub column: u32,
    /// One of [`abi::site_kind`].
    pub kind: u8,
    /// `llvm::CmpInst::Predicate`, or 255.
    pub predicate: u8,
    /// One of [`abi::operand`].
    pub operand: u8,
    /// Width in bits of an integer operand; for an operation, that of its floats.
    pub width: u8,
    /// For an operation, its name in C syntax; otherwise empty.
    pub name: String,
    /// Bit per branch: 0 if the compiler can exclude the branch, or only the compiler made it.
    pub possible: u32,
    /// One of [`abi::operation`].
    pub operation: u32,
    /// For a conditional of an assumption: [`abi::ASSUMED`], and a bit for each branch that leads to the rejection.
    /// Otherwise 0.
    pub assumption: u32,
    /// Number of its first branch; the other branches have the following numbers.
    pub first_branch: usize,
    /// Number of branches.
    pub n_branches: usize,
    /// Number of its first case among those of the target; the other cases have the following numbers.
    pub first_case: usize,
    /// Cases of a switch, ascending by value: the value, and the branch within the site.
    pub cases: Vec<(i64, usize)>,
    /// What control can reach from each branch.
    pub edges: Vec<Edges>,
    /// For a decision: its conditions.
    pub decision: Option<Decision>,
    /// For a condition: the index of its decision in [`Target::sites`].
    pub part_of: Option<usize>,
}

impl Site {
    /// Is this a site at which control can go different ways?
    #[must_use]
    pub fn is_conditional(&self) -> bool {
        self.kind <= abi::site_kind::SELECT
    }

    /// Is it a part of an assumption? Its branches are not goals.
    #[must_use]
    pub const fn is_assumption(&self) -> bool {
        self.assumption != 0
    }

    /// Is branch `k` one of the source? An exception that no handler catches takes a branch that only the compiler
    /// made.
    #[must_use]
    pub const fn is_in_source(&self, k: usize) -> bool {
        k >= 32 || self.possible >> k & 1 == 1
    }

    /// The number of its branches that are those of the source; 0 if it is no conditional.
    #[must_use]
    pub fn branches_of_source(&self) -> usize {
        if self.is_conditional() { (0..self.n_branches).filter(|k| self.is_in_source(*k)).count() } else { 0 }
    }

    /// Does branch `k` lead to the rejection of the evaluation?
    #[must_use]
    pub const fn rejects(&self, k: usize) -> bool {
        self.is_assumption() && k < 30 && self.assumption >> k & 1 == 1
    }

    /// Is it an addition or subtraction of floats? Its result is exact if it is subnormal, so its branch
    /// [`abi::exception::UNDERFLOW`] raises no flag.
    #[must_use]
    pub const fn is_sum(&self) -> bool {
        matches!(self.operation, abi::operation::ADD | abi::operation::SUBTRACT)
    }

    /// The numbers of its branches.
    #[must_use]
    pub fn branches(&self) -> core::ops::Range<usize> {
        self.first_branch..self.first_branch + self.n_branches
    }
}
