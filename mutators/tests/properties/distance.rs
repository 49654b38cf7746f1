//! The branch distances.

use penfuzz_mutators::{
    distance::{
        Relation::{self, Eq, Ge, Gt, Le, Lt, Ne},
        exact_float, exact_integer, exact_nan, squared,
    },
    line::between,
    view::Kind,
};
use proptest::{
    num::f64::{ANY, INFINITE, NEGATIVE, NORMAL, POSITIVE, SUBNORMAL, ZERO},
    prelude::*,
};

use super::{config, pair, stepped};

/// A double of any class but NaN.
fn no_nan() -> impl Strategy<Value = f64> {
    POSITIVE | NEGATIVE | NORMAL | SUBNORMAL | ZERO | INFINITE
}

/// A NaN of either sign with any payload.
fn nan() -> impl Strategy<Value = f64> {
    (any::<bool>(), 1..1u64 << 52).prop_map(|(is_negative, payload)| {
        f64::from_bits(u64::from(is_negative) << 63 | f64::INFINITY.to_bits() | payload)
    })
}

/// 64-bit integers of either signedness; one in two pairs differs by at most 16.
fn integers() -> impl Strategy<Value = (i128, i128)> {
    let any_integer = || prop_oneof![any::<i64>().prop_map(i128::from), any::<u64>().prop_map(i128::from)];
    let close = (any_integer(), -16..=16i128).prop_map(|(a, difference)| (a, a + difference));
    prop_oneof![(any_integer(), any_integer()), close]
}

/// The relation that holds for `(b, a)` where `relation` holds for `(a, b)`.
fn swapped(relation: Relation) -> Relation {
    match relation {
        Lt => Gt,
        Gt => Lt,
        Le => Ge,
        Ge => Le,
        Eq | Ne => relation,
    }
}

proptest! {
    #![proptest_config(config(1000))]

    #[test]
    fn floats_have_distance_zero_iff_the_relation_holds((a, b) in pair()) {
        for relation in Relation::ALL {
            let holds = relation.holds(&a, &b);
            prop_assert_eq!(exact_float(relation, a, b) == 0, holds, "exact {:?}", relation);
            prop_assert_eq!(squared(relation, a, b) == 0.0, holds, "squared {:?}", relation);
            prop_assert!(!squared(relation, a, b).is_nan(), "squared {:?}", relation);
        }
    }

    #[test]
    fn integers_have_distance_zero_iff_the_relation_holds((a, b) in integers()) {
        for relation in Relation::ALL {
            prop_assert_eq!(exact_integer(relation, a, b) == 0, relation.holds(&a, &b), "{:?}", relation);
        }
    }

    #[test]
    fn the_distance_to_nan_is_zero_for_nan_only(a in ANY) {
        prop_assert_eq!(exact_nan(a) == 0, a.is_nan());
    }

    #[test]
    fn swapping_operands_and_relation_keeps_the_distance((a, b) in pair(), (i, j) in integers()) {
        for relation in Relation::ALL {
            let other = swapped(relation);
            prop_assert_eq!(exact_float(relation, a, b), exact_float(other, b, a), "exact {:?}", relation);
            let (one, two) = (squared(relation, a, b), squared(other, b, a));
            prop_assert_eq!(one.to_bits(), two.to_bits(), "squared {:?}", relation);
            prop_assert_eq!(exact_integer(relation, i, j), exact_integer(other, j, i), "integers {:?}", relation);
        }
    }

    /// The ULP line has both zeros, which a comparison does not distinguish.
    #[test]
    fn the_exact_distance_counts_doubles((a, b) in pair().prop_filter("NaN", |(a, b)| !a.is_nan() && !b.is_nan())) {
        let zeros = u64::from(a.is_sign_negative() != b.is_sign_negative());
        let steps = between(Kind::F64, a.to_bits(), b.to_bits()) - zeros;
        let (low, high) = if a < b { (a, b) } else { (b, a) };
        prop_assert_eq!(exact_float(Eq, a, b), steps);
        prop_assert_eq!(exact_float(Le, high, low), steps);
        prop_assert_eq!(exact_float(Lt, high, low), steps + 1);
    }

    /// The operand falls as far as -infinity; below it is NaN.
    #[test]
    fn a_falling_operand_never_increases_the_distance_to_less(
        a in no_nan(), b in ANY, steps in any::<u64>(), shift in 0..64
    ) {
        // `max` ignores a NaN.
        let lower = stepped(a, false, steps >> shift).max(f64::NEG_INFINITY);
        for relation in [Lt, Le] {
            prop_assert!(exact_float(relation, lower, b) <= exact_float(relation, a, b), "exact {:?}", relation);
            prop_assert!(squared(relation, lower, b) <= squared(relation, a, b), "squared {:?}", relation);
        }
    }

    /// A NaN lies beyond the infinity of its sign; each step towards that infinity shortens the way out of NaN.
    #[test]
    fn a_nan_gets_closer_to_every_ordered_relation_towards_infinity(a in nan(), b in no_nan()) {
        let closer = stepped(a, a.is_sign_negative(), 1);
        for relation in [Eq, Lt, Le, Gt, Ge] {
            let (far, near) = (exact_float(relation, a, b), exact_float(relation, closer, b));
            prop_assert!(near < far || near == far && closer.is_infinite(), "{:?}: {} -> {}", relation, far, near);
        }
    }
}
