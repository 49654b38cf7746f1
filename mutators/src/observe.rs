//! Observations of an evaluation besides its value: the conditions on the way to the wanted branch, with their
//! operands.
//!
//! A distance is one unsigned number. It has no sign, and it does not exist for conditions after an equality that
//! fails. Newton's method, secants and corrections of single bits need the operands of every condition that a run
//! passes.

use crate::distance::Relation;

/// A condition on the way to the wanted branch, as a run passed it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Observation {
    /// A unique number of the condition.
    pub condition: u32,
    /// Number of conditions between this one and the wanted branch; 0 for the condition of the wanted branch itself.
    pub level: u32,
    /// The relation that must hold on the way to the wanted branch.
    pub relation: Relation,
    /// The operands at the last pass, or at a pass in which the relation held.
    pub operands: Operands,
    /// Whether the relation holds.
    pub holds: bool,
}

/// The two operands of a condition.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Operands {
    /// Both are floats, `float` converted to `double`.
    Floats(f64, f64),
    /// Both are integers, extended to 64 bits by the signedness of the comparison. Equalities are signed.
    Integers(i128, i128),
    /// The condition is not one comparison of numbers.
    None,
}

impl Observation {
    /// Whether the operands must be equal.
    #[must_use]
    pub fn is_equality(&self) -> bool {
        self.relation == Relation::Eq
    }

    /// The left operand minus the right one. NaN if there are no operands or one is NaN. The difference of equal
    /// infinities is 0.
    #[must_use]
    pub fn gap(&self) -> f64 {
        match self.operands {
            Operands::Floats(a, b) if a == b => 0.0,
            Operands::Floats(a, b) => a - b,
            Operands::Integers(a, b) => (a - b) as f64,
            Operands::None => f64::NAN,
        }
    }

    /// The bits in which integer operands differ; 0 for other operands.
    #[must_use]
    pub fn different_bits(&self) -> u64 {
        if let Operands::Integers(a, b) = self.operands { (a ^ b) as u64 } else { 0 }
    }

    /// Whether both operands are integers.
    #[must_use]
    pub fn is_integer(&self) -> bool {
        matches!(self.operands, Operands::Integers(..))
    }

    /// The gap that the search aims for: 0 for an equality; otherwise half the bound beyond the bound, so that the next
    /// step does not end just before it again. For `|e| < t` it leads to `|e| = t / 2`.
    #[must_use]
    pub fn aim(&self) -> f64 {
        let bound = match self.operands {
            Operands::Floats(_, b) => b.abs() / 2.0,
            Operands::Integers(_, b) => (b.unsigned_abs() as f64 / 2.0).min(4.0),
            Operands::None => 0.0,
        };
        let beyond = if bound > 0.0 && bound.is_finite() { bound } else { self.gap().abs() / 8.0 };
        match self.relation {
            Relation::Eq => 0.0,
            Relation::Lt | Relation::Le => -beyond,
            Relation::Gt | Relation::Ge => beyond,
            Relation::Ne => 1.0,
        }
    }

    /// Whether the relation would hold for operands with this gap.
    #[must_use]
    pub fn would_hold(&self, gap: f64) -> bool {
        self.relation.holds(&gap, &0.0)
    }
}
