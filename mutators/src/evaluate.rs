//! The representing function as the searches see it.

use core::fmt;

/// A representing function `FOO_R(x) >= 0` whose zeros are the wanted inputs (CoverMe, Sect. 3.2).
///
/// The point `x` is the byte input of the program under test; [`crate::view::Layout`] says which numbers lie in it.
pub trait RepresentingFunction {
    /// Evaluates at `x` and returns `r`, where smaller is closer and 0 is wanted.
    ///
    /// `r` is an order-preserving 64-bit integer: an exact distance, or the bits of a non-negative double
    /// (see [`Metric`]). `u64::MAX` says that the wanted site was not reached at all.
    ///
    /// # Errors
    /// [`Stop`] when no further evaluation may be made; the caller returns at once.
    fn evaluate(&mut self, x: &[u8]) -> Result<u64, Stop>;

    /// How to read the `u64`.
    fn metric(&self) -> Metric;
}

/// How the integer that [`RepresentingFunction::evaluate`] returns maps to a real number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Metric {
    /// Exact distance: integer difference, or number of floats in between.
    Ulp,
    /// CoverMe, Def. 4.1: squared difference; the integer is the bits of a double.
    Squared,
}

impl Metric {
    /// `r` as a real number for minimizers that need one. Never NaN; "not reached" is infinity.
    #[must_use]
    pub fn to_real(self, r: u64) -> f64 {
        match self {
            _ if r == u64::MAX => f64::INFINITY,
            Self::Ulp => r as f64,
            Self::Squared => f64::from_bits(r),
        }
    }
}

/// Why no further evaluation may be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// The budget of this search is spent.
    Budget,
    /// What was wanted is found.
    Found,
    /// The campaign ends.
    End,
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Budget => "the evaluation budget is spent",
            Self::Found => "the wanted input is found",
            Self::End => "the campaign ends",
        })
    }
}

impl core::error::Error for Stop {}
