//! How the rounding errors of one run move with its argument.
//!
//! The error of a result is, to first order, a smooth part and a sum over the roundings of the run: of `weight * error`, with the error
//! of each rounding between -1/2 and 1/2 of a unit in its last place. In a window of neighbouring arguments the exact value before a
//! rounding is `slope * k + bend * k^2` units away from that at the middle, for the argument at `k` positions from there, and `on[j]` more for each unit by
//! which the earlier rounded value `j` has moved. Rounded values move by whole units. So for integers `k` and `m`
//!
//! ```text
//! error_i(k) = error_i(0) + m_i - slope_i k - bend_i k^2 - sum of on_ij m_j over j < i
//! ```
//!
//! and of all `m` one leaves all errors between -1/2 and 1/2. (Two where a value lies between two: of these the even one is taken.)
//!
//! Where a window has two *coordinates* (`frame.rs`), `k` is a pair of whole numbers, `slope_i k` a sum of two products, and for `k^2` stands the
//! square of the distance in steps of the first of them.

/// Roundings of one run that are looked at, at most: those that the result depends on most.
pub const MOST: usize = 40;

/// Coordinates of a window, at most. In a window of neighbours the first is the number of positions, and there is no other.
pub const COORDINATES: usize = 2;

/// How many of each coordinate a point is away from the middle.
pub type Steps = [f64; COORDINATES];

/// One rounding.
#[derive(Debug, Clone, Copy)]
pub struct Rounding {
    /// The rounded value less the exact one, in units of its last place: -1/2 to 1/2.
    pub error: f64,
    /// Units of the last place of the result for one of this.
    pub weight: f64,
    /// Is the last bit of the rounded value set?
    pub is_odd: bool,
    /// Units by which the exact value moves for one of each coordinate of the window, while earlier rounded values stay.
    pub slope: [f64; COORDINATES],
    /// The same for the square of the number of steps.
    pub bend: f64,
    /// Units by which the exact value moves for one unit of each earlier rounded value.
    pub on: [f64; MOST],
}

impl Default for Rounding {
    fn default() -> Self {
        Self { error: 0.0, weight: 0.0, is_odd: false, slope: [0.0; COORDINATES], bend: 0.0, on: [0.0; MOST] }
    }
}

/// What operations add to the error whose operands are the same in all of a window of neighbours, and differ from window to window.
#[derive(Debug, Clone, Copy, Default)]
pub struct Fixed {
    /// In units of the last place of the result.
    pub error: f64,
    /// Its standard deviation, if their roundings were evenly distributed.
    pub deviation: f64,
}

/// The roundings of a run, in order, and its error.
#[derive(Debug, Clone, Default)]
pub struct Roundings {
    /// The error of the result in units of its last place, positive if it is too large.
    pub error: f64,
    /// In order of time; at most [`MOST`].
    pub all: Vec<Rounding>,
    /// A part of the error.
    pub fixed: Fixed,
}
