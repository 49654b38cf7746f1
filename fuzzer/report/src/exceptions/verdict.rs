//! The verdict of a campaign that searches for floating-point exceptions: keys `verdict` and `operations` of
//! `report.json`.

use serde::{Deserialize, Serialize};

/// The operations in scope that can raise an exception as far as the compiler knows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operations {
    /// All of them.
    pub total: usize,
    /// Those that raise an exception for some input.
    pub found: usize,
    /// Those that no input makes raise any exception that was searched for, as two solvers have proved.
    pub proved_free: usize,
    /// The others: no input was found, and at least one exception is not proved impossible.
    pub open: usize,
}

/// Whether a function is free of exceptions, in itself and in the functions that it calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExceptionVerdict {
    /// No operation can raise an exception: all are proved free.
    FreeProved,
    /// No exception was found, but some operations are open.
    FreeSearched,
    /// An operation raises an exception for some input.
    Exceptions,
}

impl Operations {
    /// Sorts `total` operations: `found` raise an exception, and `proved_free` others are proved free.
    #[must_use]
    pub fn new(total: usize, found: usize, proved_free: usize) -> Self {
        Self { total, found, proved_free, open: total.saturating_sub(found + proved_free) }
    }

    /// The verdict on the function.
    #[must_use]
    pub fn verdict(self) -> ExceptionVerdict {
        match self {
            Self { found: 1.., .. } => ExceptionVerdict::Exceptions,
            Self { open: 0, .. } => ExceptionVerdict::FreeProved,
            _ => ExceptionVerdict::FreeSearched,
        }
    }
}

impl core::ops::Add for Operations {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            total: self.total + other.total,
            found: self.found + other.found,
            proved_free: self.proved_free + other.proved_free,
            open: self.open + other.open,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_open_operation_is_no_proof() {
        let verdict = |found, proved| Operations::new(5, found, proved).verdict();
        assert_eq!(verdict(0, 5), ExceptionVerdict::FreeProved);
        assert_eq!(verdict(0, 4), ExceptionVerdict::FreeSearched);
        assert_eq!(verdict(1, 4), ExceptionVerdict::Exceptions);
        assert_eq!(Operations::new(0, 0, 0).verdict(), ExceptionVerdict::FreeProved, "nothing can raise anything");
        assert_eq!(Operations::new(5, 2, 1).open, 2);
    }
}
