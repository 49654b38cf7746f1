//! Uniform bit patterns: the search that knows nothing.

use libafl_bolts::rands::Rand;

use crate::view::Layout;

/// Fills every slot of `x` with uniformly random bits. Of doubles, one in 2048 is then infinite or NaN and half are
/// beyond `2^±512`. Allocation-free.
///
/// # Panics
/// If `x` is shorter than the layout.
pub fn fill<R: Rand>(rng: &mut R, layout: &Layout, x: &mut [u8]) {
    for slot in layout.slots() {
        slot.set(x, rng.next());
    }
}

#[cfg(test)]
mod tests {
    use libafl_bolts::rands::StdRand;

    use super::*;
    use crate::view::Kind;

    #[test]
    fn one_seed_gives_one_point() {
        let layout = Layout::packed(&[Kind::F64, Kind::I8, Kind::Bool]);
        let point = || {
            let mut x = vec![0; layout.size()];
            fill(&mut StdRand::with_seed(9), &layout, &mut x);
            x
        };
        assert_eq!(point(), point());
    }
}
