//! Uniformly distributed points: the baselines of random testing, which use no knowledge of the program.

use libafl_bolts::rands::Rand;

use crate::view::{Kind, Layout};

/// Fills every slot of `x` with uniformly distributed bits.
///
/// One double in 2048 is then infinite or NaN; half of all doubles have a magnitude above `2^512` or below `2^-512`.
/// Does not allocate.
///
/// # Panics
/// If `x` is shorter than the layout.
pub fn fill<R: Rand>(rng: &mut R, layout: &Layout, x: &mut [u8]) {
    for slot in layout.slots() {
        slot.set(x, rng.next());
    }
}

/// Fills every slot of `x` with a value that is uniformly distributed over the range of its type.
///
/// The magnitude of all doubles but one in `2^52` is above `1e292`; none is infinite or NaN. Does not allocate.
///
/// This is random testing as in the CoverMe paper (PLDI 2017, Sect. 6, "Rand"). With 100,000 draws it covers a mean of
/// 36.2 % of the branches of the Fdlibm functions; the paper states 38.0 %, and 28 of the 40 functions agree within 3
/// percentage points. With a range of up to 1000, no figure comes near.
///
/// # Panics
/// If `x` is shorter than the layout.
pub fn fill_uniform<R: Rand>(rng: &mut R, layout: &Layout, x: &mut [u8]) {
    for slot in layout.slots() {
        let raw = match slot.kind {
            Kind::F32 => u64::from((rng.next_float().mul_add(2.0, -1.0) as f32 * f32::MAX).to_bits()),
            Kind::F64 => (rng.next_float().mul_add(2.0, -1.0) * f64::MAX).to_bits(),
            _ => rng.next(),
        };
        slot.set(x, raw);
    }
}

/// A double as `floats()` of the Python library Hypothesis 3.0 draws it, from which CoverMe's public program takes its
/// start points.
///
/// With probability 1/8 one of 16 special values or the negative of one, infinity and NaN among them; with probability
/// 55/256 an integer below `2^64` in magnitude; else a uniformly distributed bit pattern. (From
/// `hypothesis/searchstrategy/numbers.py`. Other versions of the library have other shares.)
pub fn hypothesis_float<R: Rand>(rng: &mut R) -> f64 {
    let special = [
        0.0,
        0.5,
        1.0 / 3.0,
        1e7,
        1e-5,
        f64::from(f32::MIN_POSITIVE),
        f64::MIN_POSITIVE,
        f64::MAX,
        f64::from(f32::MAX),
        2f64.powi(53),
        1.0 - 1e-5,
        2.0 + 1e-5,
        f64::from(f32::EPSILON),
        f64::EPSILON,
        f64::INFINITY,
        f64::NAN,
    ];
    let bits = rng.next();
    match rng.below_or_zero(256) {
        way @ 0..32 => special[way / 2] * if way % 2 == 0 { 1.0 } else { -1.0 },
        32..61 => -(bits as f64),
        61..87 => bits as f64,
        _ => f64::from_bits(bits),
    }
}

#[cfg(test)]
mod tests {
    use libafl_bolts::rands::StdRand;

    use super::*;

    #[test]
    fn uniform_values_are_finite_large_and_of_both_signs() {
        let (layout, mut rng) = (Layout::packed(&[Kind::F64, Kind::F32, Kind::I32]), StdRand::with_seed(3));
        let (mut x, mut sum) = (vec![0; layout.size()], [0.0; 3]);
        for _ in 0..1000 {
            fill_uniform(&mut rng, &layout, &mut x);
            let v = layout.reals(&x);
            let scaled = [v[0] / f64::MAX, v[1] / f64::from(f32::MAX), v[2] / f64::from(i32::MAX)];
            for (s, v) in sum.iter_mut().zip(scaled) {
                assert!(v.abs() > 1e-6 && v.abs() <= 1.1, "{v}");
                *s += v.abs();
            }
        }
        // Mean magnitude of a uniform distribution over (-1, 1).
        assert!(sum.iter().all(|s| (s / 1000.0 - 0.5).abs() < 0.05), "{sum:?}");
    }

    #[test]
    fn hypothesis_floats_are_special_whole_or_bits_in_their_shares() {
        let mut rng = StdRand::with_seed(5);
        let all: Vec<f64> = (0..25_600).map(|_| hypothesis_float(&mut rng)).collect();
        let count = |is: &dyn Fn(f64) -> bool| all.iter().filter(|v| is(**v)).count();
        // Means of 100 per special value of one sign; five standard deviations are 50.
        for special in [0.5f64, 1e7, 2.0 + 1e-5] {
            let n = count(&|v| v.abs() == special);
            assert!((130..270).contains(&n), "{special}: {n}");
        }
        // Both zeros, which are equal.
        assert!((130..270).contains(&count(&|v| v == 0.0)));
        // 55 of 256 are integers, most of them from 2^60 on.
        let whole = count(&|v| v.abs() > 2f64.powi(60) && v.abs() <= 2f64.powi(64));
        assert!((4700..5700).contains(&whole), "{whole}");
        // 169 of 256 are bit patterns; an eighth of those is below 2^-768.
        let tiny = count(&|v| v != 0.0 && v.abs() < 2f64.powi(-768));
        assert!((1900..2500).contains(&tiny), "{tiny}");
    }

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
