//! The propagation distance: how far an infected mutant is from another result.
//!
//! Original and mutant record the values that they compute at all mutation points. The difference has yet to pass the
//! longest common suffix of both sequences: its length is the *approach level*. The last values that differ are
//! absorbed by the operation after them. If that is an addition or a rounding, the difference is more likely to
//! propagate the closer it comes to an ulp of the next value.

use penfuzz_abi::Traced;
use penfuzz_mutators::view::Kind;

/// Bits of the distance below the approach level: the logarithm of the ratio of an ulp to the difference.
const RATIO_BITS: u32 = 12;
/// The ratio of values for which it is not known.
const UNKNOWN: u64 = (1 << RATIO_BITS) - 1;

/// Returns the propagation distance of a mutant with the trace `mutated`; smaller is nearer, and 0 does not imply a
/// kill.
#[must_use]
pub fn distance(original: &[Traced], mutated: &[Traced]) -> u64 {
    let pairs = || original.iter().rev().zip(mutated.iter().rev());
    let same = pairs().take_while(|(a, b)| a.actions == b.actions && is_same(a, b)).count();
    let next = same.checked_sub(1).and_then(|next| pairs().nth(next));
    let ratio = match (pairs().nth(same).filter(|(a, b)| a.actions == b.actions), next) {
        (Some(_), None) => 0,
        (Some((a, b)), Some((next, _))) => ratio(a, b, next),
        _ => UNKNOWN,
    };
    (same as u64) << RATIO_BITS | ratio
}

fn kind_of(value: &Traced) -> Option<Kind> {
    match value.what {
        64 => Some(Kind::F64),
        32 => Some(Kind::F32),
        _ => None,
    }
}

fn is_same(a: &Traced, b: &Traced) -> bool {
    let is_nan = |v: &Traced| kind_of(v).is_some_and(|kind| kind.to_real(v.result).is_nan());
    a.result == b.result || is_nan(a) && is_nan(b)
}

/// Returns how far the difference of `a` and `b` is below an ulp of the value `next`, which is the same in both, in
/// half bits.
fn ratio(a: &Traced, b: &Traced, next: &Traced) -> u64 {
    let (Some(kind), Some(of_next)) = (kind_of(a), kind_of(next)) else { return UNKNOWN };
    let difference = (kind.to_real(a.result) - kind.to_real(b.result)).abs();
    let digits = if of_next == Kind::F64 { 52.0 } else { 23.0 };
    let missing = of_next.to_real(next.result).abs().log2() - digits - difference.log2();
    if missing.is_finite() { (missing.max(0.0) * 2.0).min(UNKNOWN as f64 - 1.0) as u64 } else { UNKNOWN }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(site: usize, what: u32, result: u64) -> Traced {
        Traced { actions: core::ptr::without_provenance(site), operands: [0; 3], result, what, unused: 0 }
    }

    fn double(site: usize, x: f64) -> Traced {
        of(site, 64, x.to_bits())
    }

    #[test]
    fn later_difference_has_smaller_distance() {
        let original = [double(1, 1.0), double(2, 8.0), of(3, 0, 5), double(4, 2.0)];
        let (mut early, mut late) = (original, original);
        early[0] = double(1, 1.5);
        late[2] = of(3, 0, 6);
        let of = |mutated: &[Traced]| distance(&original, mutated);
        assert!(of(&late) < of(&early), "{} {}", of(&late), of(&early));
        assert!(of(&early) < of(&original), "what differs nowhere is the furthest");
    }

    #[test]
    fn larger_absorbed_difference_has_smaller_distance() {
        let of = |difference: f64| {
            let with = |x: f64| [double(1, x), double(2, 1024.0)];
            distance(&with(1.0), &with(1.0 + difference))
        };
        assert!(of(1e-14) < of(1e-15), "{} {}", of(1e-14), of(1e-15));
    }

    #[test]
    fn nan_is_nan_and_another_way_is_no_ratio() {
        let (a, b) = ([double(1, f64::NAN)], [double(1, -f64::NAN)]);
        assert_eq!(distance(&a, &b), 1 << RATIO_BITS | UNKNOWN, "the same all the way");
        let (a, b) = ([double(1, 1.0), double(2, 4.0)], [double(3, 1.0), double(2, 4.0)]);
        assert_eq!(distance(&a, &b), 1 << RATIO_BITS | UNKNOWN);
        assert_eq!(distance(&a, &[double(2, 5.0)]), 0, "the last value differs");
    }
}
