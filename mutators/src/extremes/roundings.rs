//! A model of how the rounding errors of one run change with its argument.
//!
//! To first order, the error of a result is a smooth part plus a sum over the roundings of the run: of `weight *
//! error`, with the error of each rounding between -1/2 and 1/2 of a unit in its last place. In a window of
//! neighbouring arguments, consider the argument at `k` positions from the middle. The exact value before a rounding
//! differs from that at the middle by `slope * k + bend * k^2` units, plus `on[j]` units for each unit by which the
//! earlier rounded value `j` has moved. Rounded values move by whole units. So for integers `k` and `m`
//!
//! ```text
//! error_i(k) = error_i(0) + m_i - slope_i k - bend_i k^2 - sum of on_ij m_j over j < i
//! ```
//!
//! and exactly one `m` keeps all errors between -1/2 and 1/2. (In a tie two do; the even one is taken.)
//!
//! In a window with two *coordinates* (`frame.rs`), `k` is a pair of integers, `slope_i k` a sum of two products, and
//! `k^2` is replaced by the square of the distance in steps of the first coordinate.

/// Maximum number of roundings of a run in the model: those on which the result depends most.
pub const MAX_ROUNDINGS: usize = 40;

/// Maximum number of coordinates of a window. In a window of neighbours, the first is the number of positions, and the
/// second is unused.
pub const COORDINATES: usize = 2;

/// The number of steps of each coordinate from the middle to a point; integers.
pub type Steps = [f64; COORDINATES];

/// One rounding.
#[derive(Debug, Clone, Copy)]
pub struct Rounding {
    /// The rounded value minus the exact one, in units of its last place: -1/2 to 1/2.
    pub error: f64,
    /// Units of the last place of the result per unit of this error.
    pub weight: f64,
    /// Whether the last bit of the rounded value is set.
    pub is_odd: bool,
    /// Units by which the exact value moves per step of each coordinate of the window, with fixed earlier rounded
    /// values.
    pub slope: [f64; COORDINATES],
    /// Units by which it moves, in addition, per square of the number of steps.
    pub bend: f64,
    /// Units by which the exact value moves per unit of each earlier rounded value.
    pub on: [f64; MAX_ROUNDINGS],
}

impl Default for Rounding {
    fn default() -> Self {
        Self { error: 0.0, weight: 0.0, is_odd: false, slope: [0.0; COORDINATES], bend: 0.0, on: [0.0; MAX_ROUNDINGS] }
    }
}

/// The error from operations whose operands are the same in a whole window of neighbours, but differ between windows.
#[derive(Debug, Clone, Copy, Default)]
pub struct FixedError {
    /// The error, in units of the last place of the result.
    pub error: f64,
    /// Its standard deviation if these roundings are uniformly distributed.
    pub deviation: f64,
}

/// The roundings of a run, and the error of its result.
#[derive(Debug, Clone, Default)]
pub struct Roundings {
    /// The error of the result in units of its last place; positive if the result is too large.
    pub error: f64,
    /// The roundings in order of execution; at most [`MAX_ROUNDINGS`].
    pub all: Vec<Rounding>,
    /// The part of the error that is the same in the whole window.
    pub fixed: FixedError,
}
