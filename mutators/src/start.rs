//! Start points for minimization (the random starting points of CoverMe, Algorithm 1).

use libafl_bolts::rands::Rand;

use crate::{
    dictionary::Dictionary,
    random, structured,
    view::{Kind, Layout, NEAREST},
};

/// The first points, each the same number in every slot: ordinary numbers of both signs first, then values that many
/// functions treat separately.
const FIRST: [f64; 10] = [1.0, -1.0, 0.0, 0.5, 3.0, f64::INFINITY, f64::NAN, 1e-310, 1e300, f64::NEG_INFINITY];

/// The lengths of arrays in the first points, limited by the capacity of the array.
const LENGTHS: [u64; 10] = [1, 3, 0, 2, 5, u64::MAX, 4, 8, 3, 1];

/// An endless series of start points: 10 fixed ones, then [structured] random points and, one in eight, uniformly
/// distributed [bits](random::fill).
///
/// The fixed ones are 1, -1, 0, 0.5, 3, infinity, NaN, 1e-310, 1e300 and -infinity in every slot, converted by
/// [`Kind::from_real`]; their rounding mode is to nearest. An integer that is the length of an array is small in the
/// fixed points. In seven of eight other points it is at most the capacity of the array.
///
/// # Example
/// ```
/// use libafl_bolts::rands::StdRand;
/// use penfuzz_mutators::{dictionary::Dictionary, start::StartPoints, view::Layout};
///
/// let (layout, dictionary) = (Layout::doubles(16), Dictionary::general());
/// let (mut starts, mut rng, mut x) = (StartPoints::new(), StdRand::with_seed(0), [0; 16]);
/// starts.next(&mut rng, &layout, &dictionary, &mut x);
/// assert_eq!(layout.reals(&x), [1.0, 1.0]);
/// ```
#[derive(Debug, Clone, Default)]
pub struct StartPoints {
    made: u64,
}

impl StartPoints {
    /// The series from its first point.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of points written so far.
    #[must_use]
    pub const fn made(&self) -> u64 {
        self.made
    }

    /// Writes the next point to `x`. Does not allocate.
    ///
    /// # Panics
    /// If `x` is shorter than the layout.
    pub fn next<R: Rand>(&mut self, rng: &mut R, layout: &Layout, dictionary: &Dictionary, x: &mut [u8]) {
        match FIRST.get(self.made as usize) {
            Some(&real) => {
                for slot in layout.slots() {
                    // The fixed points are ordinary inputs, and the ordinary rounding mode is to nearest.
                    slot.set(x, if slot.kind == Kind::Rounding { NEAREST } else { slot.kind.from_real(real) });
                }
            }
            None if rng.below_or_zero(8) == 0 => random::fill(rng, layout, x),
            None => structured::fill(rng, layout, dictionary, x),
        }
        // Almost all integers are lengths beyond the capacity.
        for (index, largest) in layout.lengths() {
            let slot = layout.slots()[*index];
            match LENGTHS.get(self.made as usize) {
                Some(n) => slot.set(x, *n.min(largest)),
                None if rng.below_or_zero(8) > 0 => slot.set(x, rng.below_or_zero(*largest as usize + 1) as u64),
                None => {}
            }
        }
        self.made += 1;
    }
}

#[cfg(test)]
mod tests {
    use libafl_bolts::rands::StdRand;

    use super::*;

    #[test]
    fn the_first_point_is_an_ordinary_number() {
        let (layout, dictionary) = (Layout::doubles(16), Dictionary::general());
        let mut x = [0; 16];
        StartPoints::new().next(&mut StdRand::with_seed(0), &layout, &dictionary, &mut x);
        assert_eq!(layout.reals(&x), [1.0, 1.0]);
    }

    #[test]
    fn the_fixed_points_round_to_nearest() {
        let (layout, dictionary) = (Layout::packed(&[Kind::F64, Kind::Rounding]), Dictionary::general());
        let (mut starts, mut rng) = (StartPoints::new(), StdRand::with_seed(0));
        for _ in FIRST {
            let mut x = [0xff; 9];
            starts.next(&mut rng, &layout, &dictionary, &mut x);
            assert_eq!(u64::from(x[8]), NEAREST, "the mode of {:?}", &x[..8]);
        }
    }

    #[test]
    fn later_points_differ() {
        let (layout, dictionary) = (Layout::doubles(8), Dictionary::general());
        let (mut starts, mut rng) = (StartPoints::new(), StdRand::with_seed(0));
        let mut seen = std::collections::HashSet::new();
        for _ in 0..200 {
            let mut x = [0; 8];
            starts.next(&mut rng, &layout, &dictionary, &mut x);
            seen.insert(x);
        }
        assert!(seen.len() > 120, "{}", seen.len());
    }
}
