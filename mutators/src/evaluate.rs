//! The interface between a search and the function that it minimizes.
//!
//! A search evaluates inputs and compares integers. It is independent of how a target is loaded, of what the zeros of
//! the function are, and of the clock: an evaluation that must not take place is a [`Stop`].

use core::fmt;

use crate::observe::Observation;

/// A representing function `FOO_R(x) >= 0`, whose zeros are the wanted inputs (CoverMe, Sect. 3.2).
///
/// The point `x` is an input of the program under test, as bytes. A [`Layout`](crate::view::Layout) gives the numbers
/// in it.
pub trait RepresentingFunction {
    /// Evaluates at `x` and returns `r`. A smaller `r` is closer, 0 is a wanted input.
    ///
    /// `r` is an exact distance, or the bits of a non-negative double, which have the order of the doubles (see
    /// [`Metric`]). `u64::MAX` means that no wanted site was reached.
    ///
    /// # Errors
    /// A [`Stop`], after which the caller must not evaluate again and returns.
    fn evaluate(&mut self, x: &[u8]) -> Result<u64, Stop>;

    /// Evaluates at `x` like [`evaluate`](Self::evaluate), and replaces the content of `seen` by the passed conditions
    /// on the way to the wanted branch, the farthest from it first. The list is empty if the function cannot be
    /// observed.
    ///
    /// # Errors
    /// As for [`evaluate`](Self::evaluate).
    fn observe(&mut self, x: &[u8], seen: &mut Vec<Observation>) -> Result<u64, Stop> {
        seen.clear();
        self.evaluate(x)
    }

    /// The encoding of `r`; the same at every call.
    fn metric(&self) -> Metric;

    /// A minimizer calls this after each iteration of its method, if it has any: Powell's after each round over its
    /// directions. The default does nothing.
    fn end_iteration(&mut self) {}
}

/// How the integer that [`RepresentingFunction::evaluate`] returns maps to a real number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Metric {
    /// The integer is an exact distance: an integer difference, or a number of floats.
    Ulp,
    /// The integer is the bits of a double: the squared difference of CoverMe, Def. 4.1.
    Squared,
}

impl Metric {
    /// `r` as a real number, for minimizers over the reals and for the Metropolis rule.
    ///
    /// `u64::MAX` (not reached) is infinity. Exact distances above `2^53` are rounded to nearest. NaN only for the bits
    /// of a NaN in [`Metric::Squared`], which no distance yields.
    #[must_use]
    pub fn to_real(self, r: u64) -> f64 {
        match self {
            _ if r == u64::MAX => f64::INFINITY,
            Self::Ulp => r as f64,
            Self::Squared => f64::from_bits(r),
        }
    }
}

/// Why a search ends before its minimizer does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// The evaluation budget of this search is spent; nothing was evaluated.
    Budget,
    /// The evaluated input is a wanted one, whatever its value.
    Found,
    /// The campaign ends; nothing was evaluated.
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
