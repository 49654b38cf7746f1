//! Boundary values (below, equal, above): every predicate compared with a plain computation, and comparisons as people
//! write them.

use penfuzz_abi::{action, metric, side::OTHER, site_kind};
use penfuzz_target::program::Site;

use super::Case;
use crate::twin::{Twin, on_target_thread};

const C: &str = include_str!("sides.c");

/// For each branch, the difference of the left operand from the right one.
const STEPS: [i128; 3] = [-1, 0, 1];

impl Case<'_> {
    /// Tests each side of the comparison at `site`, wanted and recorded alone.
    pub(super) fn sides(&mut self, site: &Site) {
        assert_eq!(site.kind, site_kind::COMPARISON, "{}: behind the two-way site", self.label);
        let is_order = self.predicate.relation().is_some();
        assert_eq!(site.possible, if is_order { 7 } else { 0 }, "{}: what is possible", self.label);
        if !is_order {
            return;
        }
        let mut hits = Vec::new();
        for (branch, step) in site.branches().zip(STEPS) {
            self.evaluator.set_metric(metric::ULP, u64::MAX);
            self.evaluator.arm(|b| if b == branch { action::WANT | action::RECORD } else { 0 });
            self.for_all_pairs(|me, a, b| {
                let (r, place) = (me.evaluator.r(), me.at(a, b));
                me.evaluator.take_hits(&mut hits);
                assert_eq!(!hits.is_empty(), r == 0, "{place}, step {step}: recorded where r is 0");
                let (a, b) = me.predicate.values(a, b);
                if a.is_nan() || b.is_nan() {
                    assert!(r > 0, "{place}, step {step}: NaN is beside nothing");
                    return;
                }
                let gap = a.position() - b.position();
                let away = match step {
                    0 => gap.unsigned_abs(),
                    _ if gap * step > 0 => gap.unsigned_abs() - 1,
                    _ => gap.unsigned_abs() + u128::from(OTHER),
                };
                let expected = u64::try_from(away).unwrap_or(u64::MAX).min(u64::MAX - 1);
                assert_eq!(r, expected, "{place}, step {step}: the distance, right the plain one");
            });
        }
    }
}

/// Returns the comparisons of a function in source order.
fn comparisons<'a>(twin: &'a Twin, function: &str) -> Vec<&'a Site> {
    let sites = &twin.target.sites[twin.target.functions[twin.index_of(function)].sites.clone()];
    sites.iter().filter(|s| s.kind == site_kind::COMPARISON).collect()
}

/// Returns the distance to each side of the first comparison of a function.
fn distances(twin: &Twin, function: &str, input: &[&[u8]]) -> [u64; 3] {
    let mut evaluator = twin.evaluator(twin.index_of(function));
    let first = comparisons(twin, function)[0].first_branch;
    [0, 1, 2].map(|k| {
        evaluator.set_metric(metric::ULP, u64::MAX);
        evaluator.arm(|b| if b == first + k { action::WANT } else { 0 });
        evaluator.run(&input.concat());
        evaluator.r()
    })
}

fn twin(level: &str, check: impl FnOnce(&Twin)) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    check(&Twin::of_text(directory.path(), "sides.c", C, level));
}

fn at_both_levels(check: fn(&Twin)) {
    on_target_thread(move || ["-O0", "-O2"].into_iter().for_each(|level| twin(level, check)));
}

#[test]
fn impossible_boundary_values_are_not_goals() {
    at_both_levels(|twin| {
        for (function, possible) in [
            ("any_integer", 0b111),
            ("not_below_zero", 0b110),
            ("odd", 0b110),
            ("masked", 0b010),
            ("nothing_above", 0b011),
            ("nothing_below_left", 0b011),
            ("finite", 0b011),
            ("is_nan", 0),
            ("unordered", 0),
            ("truth_value", 0),
            ("truth_called", 0),
            ("flag", 0),
            ("pointer", 0),
            ("negated", 0b111),
            ("expected", 0b111),
            ("wide_float", 0b111),
        ] {
            assert_eq!(comparisons(twin, function)[0].possible, possible, "{function}");
        }
    });
}

#[test]
fn words_of_a_double_lead_to_equal_by_the_whole() {
    at_both_levels(|twin| {
        let at = |x: f64| distances(twin, "words", &[&x.to_le_bytes()]);
        assert_eq!(at(1.0), [OTHER, 0, OTHER], "1: the words are equal");
        assert_eq!(at(1.0f64.next_up()), [OTHER + 1, 1, 0], "one above 1: the low word is 1");
        assert_eq!(at(1.0 + 16.0 * f64::EPSILON)[1], 16, "sixteen above 1: as the double");
        assert_eq!(at(1.5)[1], 1 << 51, "1.5: as the double, not as the words");
    });
}

#[test]
fn a_difference_is_compared_as_written() {
    at_both_levels(|twin| {
        let at = |a: i32, b: i32| distances(twin, "difference", &[&a.to_le_bytes(), &b.to_le_bytes()]);
        assert_eq!(at(5, 5), [OTHER, 0, OTHER], "equal");
        assert_eq!(at(4, 5), [0, 1, OTHER + 1], "one below");
        assert_eq!(at(9, 5), [OTHER + 4, 4, 3], "four above");
    });
}

#[test]
fn a_called_function_leads_to_equal_by_what_it_compares() {
    at_both_levels(|twin| {
        let at = |a: i32, b: i32| distances(twin, "called", &[&a.to_le_bytes(), &b.to_le_bytes()]);
        assert_eq!(at(7, 7), [OTHER, 0, OTHER], "equal");
        assert_eq!(at(-100, 7)[0], 0, "-1 is the number below 0");
        assert!(at(-100, 7)[1] > 0, "not equal");
        assert_eq!(at(8, 7)[2], 0, "1 is the number above 0");
    });
}

#[test]
fn floats_of_80_bits_are_told_apart() {
    at_both_levels(|twin| {
        let at = |a: f64, n: i32, b: f64| {
            distances(twin, "wide_float", &[&a.to_le_bytes(), &n.to_le_bytes(), &b.to_le_bytes()])
        };
        assert_eq!(at(1.0, 0, 1.0), [OTHER, 0, OTHER], "equal");
        assert_eq!(at(1.0, 1, 1.0), [OTHER + 1, 1, 0], "one above, where doubles are 2048 apart");
        assert_eq!(at(1.5, -1, 1.5), [0, 1, OTHER + 1], "one below");
        assert_eq!(at(0.0, 0, -0.0), [OTHER, 0, OTHER], "the zeros are equal");
        assert!(at(f64::NAN, 0, 1.0).iter().all(|d| *d > 0), "NaN is beside nothing");
    });
}
