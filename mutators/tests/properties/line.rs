//! The ULP line.

use std::cmp::Ordering;

use penfuzz_mutators::{
    line::{between, down, position, raw, up},
    view::Kind,
};
use proptest::prelude::*;

use super::{config, number, two_numbers};

/// Compares two values of a kind as numbers; `None` if one is NaN.
fn compared(kind: Kind, a: u64, b: u64) -> Option<Ordering> {
    match kind {
        Kind::F32 | Kind::F64 => kind.to_real(a).partial_cmp(&kind.to_real(b)),
        _ if kind.is_signed() => Some(kind.to_integer(a).cmp(&kind.to_integer(b))),
        _ => Some(a.cmp(&b)),
    }
}

proptest! {
    #![proptest_config(config(1000))]

    #[test]
    fn raw_inverts_position((kind, bits) in number()) {
        prop_assert!(position(kind, bits) <= kind.mask());
        prop_assert_eq!(raw(kind, position(kind, bits)), bits);
    }

    #[test]
    fn positions_have_the_order_of_the_values((kind, a, b) in two_numbers()) {
        if compared(kind, a, b) == Some(Ordering::Less) {
            prop_assert!(position(kind, a) < position(kind, b));
        }
    }

    #[test]
    fn a_step_leads_as_far_as_the_line_goes((kind, bits) in number(), steps in any::<u64>(), shift in 0..64) {
        let (here, steps) = (position(kind, bits), steps >> shift);
        let (above, below) = (raw(kind, up(kind, here, steps)), raw(kind, down(here, steps)));
        prop_assert_eq!(between(kind, bits, above), steps.min(kind.mask() - here));
        prop_assert_eq!(between(kind, bits, below), steps.min(here));
    }
}
