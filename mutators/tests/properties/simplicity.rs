//! The order of simplicity, and shortest decimals.

use penfuzz_mutators::simplicity::{Decimal, of};
use proptest::prelude::*;

use super::{config, number, two_numbers};

proptest! {
    #![proptest_config(config(2000))]

    #[test]
    fn no_two_values_are_equally_simple((kind, a, b) in two_numbers()) {
        prop_assert_eq!(of(kind, a) == of(kind, b), a == b);
    }

    /// -0 has the decimal of 0.
    #[test]
    fn decimals_read_back_to_the_same_value((kind, raw) in number()) {
        match Decimal::of(kind, raw) {
            Some(decimal) if decimal.digits == 0 => prop_assert!(kind.to_real(raw) == 0.0),
            Some(decimal) => prop_assert_eq!(decimal.to_raw(kind), Some(raw)),
            None => prop_assert!(!kind.to_real(raw).is_finite()),
        }
    }
}
