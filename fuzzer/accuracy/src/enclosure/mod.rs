//! Enclosures of real values of expressions ([`interval`]) and of differences ([`pair`]), with MPFR's directed
//! rounding, over boxes that are halved until a question is decided.

pub mod interval;
pub mod pair;

use rug::Float;

use self::interval::Interval;

/// The range of each argument.
pub type Domains = Vec<(f64, f64)>;

/// Returns the range of an argument as an interval.
#[must_use]
pub fn between((low, high): (f64, f64), bits: u32) -> Interval {
    Interval { low: Float::with_val(bits, low), high: Float::with_val(bits, high) }
}

/// Halves a part of a box along the argument that is widest relative to the whole box; `None` if the part is one point.
#[must_use]
pub fn halved(part: &[(f64, f64)], whole: &[(f64, f64)]) -> Option<[Domains; 2]> {
    let share = |i: usize| (part[i].1 - part[i].0) / (whole[i].1 - whole[i].0).max(f64::MIN_POSITIVE);
    let widest = (0..part.len()).max_by(|i, j| share(*i).total_cmp(&share(*j)))?;
    let (low, high) = part[widest];
    let middle = low + (high - low) / 2.0;
    if middle <= low || middle >= high {
        return None;
    }
    let (mut lower, mut upper) = (part.to_vec(), part.to_vec());
    lower[widest].1 = middle;
    upper[widest].0 = middle;
    Some([lower, upper])
}
