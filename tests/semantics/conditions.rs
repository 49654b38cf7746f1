//! Conditions as people write them: the same results as without instrumentation, and meaningful distances.

use penfuzz_abi::{action, metric};
use penfuzz_executor::evaluator::RunStatus;

use crate::twin::{Arming, Twin, on_target_thread};

const C: &str = include_str!("conditions.c");
/// The source that the end-to-end tests search.
const WRITTEN: &str = include_str!("../fixtures/written.c");
const CXX: &str = include_str!("conditions.cc");

/// The expected distance, in the exact metric, to a branch that is not taken at this input.
pub struct Far {
    function: &'static str,
    input: Vec<u8>,
    /// Index of the site in the function, in source order.
    site: usize,
    /// Index of the branch in the site.
    branch: usize,
    distance: u64,
}

pub fn far(function: &'static str, input: &[&[u8]], site: usize, branch: usize, distance: u64) -> Far {
    Far { function, input: input.concat(), site, branch, distance }
}

pub const TRUE: usize = 0;
pub const FALSE: usize = 1;

fn ulps(a: f64, b: f64) -> u64 {
    a.to_bits().abs_diff(b.to_bits())
}

fn distances() -> Vec<Far> {
    let d = |x: f64| x.to_le_bytes();
    let i = |n: i32| n.to_le_bytes();
    let l = |n: i64| n.to_le_bytes();
    vec![
        // Both parts of `(a | b) == 0` count.
        far("either_nonzero", &[&l(5), &l(3)], 0, TRUE, 8),
        far("either_nonzero", &[&l(0), &l(-2)], 0, TRUE, 2),
        far("either_nonzero", &[&l(0), &l(0)], 0, FALSE, 1),
        far("either_nonzero_wide", &[&l(0), &l(0)], 0, FALSE, 1),
        // The outcomes are those of `!(x == 3.5)`, as written in the source.
        far("not_equal", &[&d(3.5)], 0, TRUE, 1),
        far("not_equal", &[&d(3.5f64.next_up().next_up())], 0, FALSE, 2),
        // `a > 1 && b < 2` is stored in a variable.
        far("both_in_variable", &[&d(0.5), &d(0.0)], 0, TRUE, ulps(0.5, 1.0) + 1),
        far("both_in_variable", &[&d(2.0), &d(3.0)], 1, TRUE, ulps(2.0, 3.0) + 1),
        far("both_in_variable", &[&d(2.0), &d(1.5)], 1, FALSE, ulps(1.5, 2.0)),
        far("flag_in_variable", &[&d(1.0)], 0, TRUE, 1),
        far("flag_in_variable", &[&d(4.0)], 0, FALSE, ulps(4.0, 1.0)),
        far("single_and_double", &[&1.0f32.to_le_bytes(), &d(1.0)], 0, TRUE, 1),
        far("truth_values", &[&[0], &[0]], 0, TRUE, 1),
        // The numbers differ in the lowest bit, where doubles are 512 apart.
        far("lowest_bit", &[&l(1 << 62), &l((1 << 62) + 1)], 0, TRUE, 1),
        far("lowest_bit", &[&l(1 << 62), &l(1 << 62)], 0, FALSE, 1),
        far("lowest_bit_unsigned", &[&l(-1), &l(-2)], 0, TRUE, 2),
        far("signs", &[&i(-1), &i(1)], 1, TRUE, u64::from(u32::MAX) - 1 + 1),
        far("difference", &[&i(10), &i(4)], 0, FALSE, 6),
        far("exclusive_or", &[&i(10), &i(4)], 0, FALSE, 6),
        // The operand is -1, 0 or 1; the distance to the other side of 0 is the smallest between integers.
        far("sorted", &[&i(-5), &i(5)], 0, TRUE, 1),
        // The callee's comparison is used where the caller has none.
        far("asked", &[&d(124.5)], 0, FALSE, ulps(123.5, 123.4375)),
        far("asked", &[&d(124.4375)], 0, TRUE, 1),
        far("classes", &[&d(f64::MAX), &[0; 4]], 0, TRUE, 1),
        far("classes", &[&d(f64::NEG_INFINITY), &[0; 4]], 0, FALSE, 1),
        far("classes", &[&d(1.0), &1u32.to_le_bytes()], 1, TRUE, (1 << 23) - 1),
        far("classes", &[&d(1.0), &(1u32 << 31 | 1 << 23).to_le_bytes()], 1, FALSE, 1),
        // The outcome is decided by `a > 1`, a separate site; any `b` would be closer.
        far("both_in_variable", &[&d(0.5), &d(0.0)], 2, TRUE, u64::MAX - 1),
        far("both_in_variable", &[&d(2.0), &d(3.0)], 2, TRUE, ulps(2.0, 3.0) + 1),
        far("both_in_variable", &[&d(2.0), &d(1.5)], 2, FALSE, ulps(1.5, 2.0)),
        // The last operand is a site although nothing branches on its value.
        far("as_value", &[&i(5), &i(0), &i(0)], 2, TRUE, 1),
        far("as_value", &[&i(5), &i(0), &i(7)], 2, FALSE, 7),
        far("earlier", &[&d(1.0), &d(4.0f64.next_up())], 1, TRUE, 1),
        far("bit_set", &[&i(6)], 0, TRUE, 1),
        far("accumulated", &[&d(0.0), &d(1.0)], 0, TRUE, ulps(0.0, 1.0) + 1),
        // 2 is at distance 1 from the group {1, 3, 5}, and 9 from {-7, 100}.
        far("grouped", &[&i(2)], 0, 1, 1),
        far("grouped", &[&i(2)], 0, 2, 9),
        far("grouped", &[&i(3)], 0, 0, 1),
        far("grouped", &[&i(100)], 0, 1, 95),
        far("letters", &[b"c"], 0, 0, 1),
        far("letters", &[b"a"], 0, 2, 1),
    ]
}

/// Returns the number of a branch of a conditional, which is given by its index in its function.
pub fn branch_number(twin: &Twin, function: usize, site: usize, branch: usize) -> usize {
    let sites = &twin.target.sites[twin.target.functions[function].sites.clone()];
    let site = sites.iter().filter(|s| s.is_conditional()).nth(site).expect("the function has the site");
    site.first_branch + branch
}

pub fn check_distances(twin: &Twin, level: &str, expected: &[Far]) {
    for f in expected {
        let function = twin.index_of(f.function);
        let wanted = branch_number(twin, function, f.site, f.branch);
        let mut evaluator = twin.evaluator(function);
        let label = format!("{} {level} at {:02x?}, site {}, branch {}", f.function, f.input, f.site, f.branch);
        for metric in [metric::ULP, metric::SQUARED] {
            evaluator.set_metric(metric, u64::MAX);
            evaluator.arm(|b| if b == wanted { action::WANT } else { 0 });
            assert_eq!(evaluator.run(&f.input), RunStatus::Returned, "{label}");
            assert!(evaluator.r() > 0 && evaluator.r() < u64::MAX, "{label}: {} in metric {metric}", evaluator.r());
            if metric == metric::ULP {
                assert_eq!(evaluator.r(), f.distance, "{label}: left r, right expected");
            }
        }
    }
}

/// Compares with the branches that single runs take: a branch that is not taken must not have distance 0.
pub fn check_untaken(twin: &Twin, function: usize, level: &str) {
    let f = &twin.target.functions[function];
    let name = f.name.clone();
    let mut evaluator = twin.evaluator(function);
    let (layout, dictionary) = (f.layout(), penfuzz_mutators::dictionary::Dictionary::new(&f.floats, &f.integers));
    let mut rng = libafl_bolts::rands::StdRand::with_seed(5);
    let (mut x, mut hits) = (vec![0; layout.size()], Vec::new());
    for metric in [metric::ULP, metric::SQUARED] {
        for branch in 0..twin.target.n_branches {
            if !f.sites.contains(&twin.target.site_of(branch)) {
                continue;
            }
            evaluator.set_metric(metric, u64::MAX);
            evaluator.arm(|b| if b == branch { action::RECORD | action::WANT | action::MIN } else { 0 });
            for _ in 0..200 {
                penfuzz_mutators::structured::fill(&mut rng, &layout, &dictionary, &mut x);
                assert_eq!(evaluator.run(&x), RunStatus::Returned, "{name} {level} at {x:02x?}");
                evaluator.take_hits(&mut hits);
                let taken = !hits.is_empty();
                assert_eq!(evaluator.r() == 0, taken, "{name} {level} branch {branch} at {x:02x?}: r is 0, or taken");
            }
        }
    }
}

fn check(name: &str, text: &str, level: &str) -> usize {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let twin = Twin::of_text(directory.path(), name, text, level);
    let mut n = 0;
    for (i, f) in twin.target.functions.iter().enumerate() {
        if f.is_static || f.entry().is_none() || f.parameters.is_empty() || f.symbol.starts_with("_Z") {
            continue;
        }
        let compared = twin.compare(i, &Arming::ALL, 15_000, 7);
        assert_eq!(compared.equal, 15_000, "{} {level}: every input returns", f.name);
        check_untaken(&twin, i, level);
        n += 1;
    }
    if text == C {
        check_distances(&twin, level, &distances());
    }
    n
}

#[test]
fn c_is_computed_as_written_without_optimization() {
    assert!(on_target_thread(|| check("conditions.c", C, "-O0")) > 30);
}

#[test]
fn c_is_computed_as_written_with_optimization() {
    assert!(on_target_thread(|| check("conditions.c", C, "-O2")) > 30);
}

#[test]
fn the_fixture_is_computed_as_written_without_optimization() {
    assert!(on_target_thread(|| check("written.c", WRITTEN, "-O0")) > 70);
}

#[test]
fn the_fixture_is_computed_as_written_with_optimization() {
    assert!(on_target_thread(|| check("written.c", WRITTEN, "-O2")) > 70);
}

#[test]
fn cxx_is_computed_as_written_without_optimization() {
    assert!(on_target_thread(|| check("conditions.cc", CXX, "-O0")) > 3);
}

#[test]
fn cxx_is_computed_as_written_with_optimization() {
    assert!(on_target_thread(|| check("conditions.cc", CXX, "-O2")) > 3);
}

/// CoverMe, Def. 4.1: the distance of a strict comparison of equal numbers is epsilon.
#[test]
fn epsilon_is_the_squared_distance_of_equal_numbers() {
    on_target_thread(|| {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let text = "int less(double a, double b) { if (a < b) return 1; return 0; }\n";
        let twin = Twin::of_text(directory.path(), "less.c", text, "-O2");
        let function = twin.index_of("less");
        let wanted = branch_number(&twin, function, 0, 0);
        let mut evaluator = twin.evaluator(function);
        evaluator.set_metric(metric::SQUARED, u64::MAX);
        evaluator.arm(|b| if b == wanted { action::WANT } else { 0 });
        let mut distance = |a: f64, epsilon: Option<f64>| {
            if let Some(epsilon) = epsilon {
                evaluator.set_epsilon(epsilon);
            }
            assert_eq!(evaluator.run(&[a.to_le_bytes(), 2f64.to_le_bytes()].concat()), RunStatus::Returned);
            f64::from_bits(evaluator.r())
        };
        assert_eq!(distance(2.0, None).to_bits(), 1e-6f64.to_bits(), "the paper's value is the initial one");
        assert_eq!(distance(5.0, Some(0.25)).to_bits(), 9.25f64.to_bits());
        assert_eq!(distance(2.0, Some(0.0)).to_bits(), 1, "a branch that is not taken is not at distance 0");
        assert_eq!(distance(1.0, Some(0.0)).to_bits(), 0);
    });
}
