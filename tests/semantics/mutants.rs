//! Mutants: with all mutants disabled the program is the original, bit for bit; an enabled mutant computes what its
//! text says.

use std::{fs, path::Path};

use libafl_bolts::rands::{Rand, StdRand};
use penfuzz_abi::{action, metric, site_kind};
use penfuzz_executor::{Evaluator, evaluator::RunStatus};
use penfuzz_mutators::{dictionary::Dictionary, structured};

use crate::twin::{Arming, Recipe, Twin, on_target_thread};

const SOURCE: &str = include_str!("../fixtures/mutants.c");

fn build(directory: &Path, name: &str, text: &str, level: &str) -> Twin {
    let source = directory.join(name);
    fs::write(&source, text).expect("the source is written");
    let flags = [level, "-w", "-g", "-ffp-contract=off", penfuzz_cc::MUTANTS_FLAG].map(str::to_owned).to_vec();
    Twin::build(directory, &Recipe { sources: vec![source], flags, libraries: vec!["-lm".to_owned()], san_cov: false })
}

#[test]
fn with_all_mutants_off_the_results_are_the_original_s() {
    on_target_thread(|| {
        for level in ["-O0", "-O2"] {
            let directory = tempfile::tempdir().expect("a temporary directory");
            for (name, text) in [("mutants.c", SOURCE), ("conditions.c", include_str!("conditions.c"))] {
                let twin = build(directory.path(), name, text, level);
                for (i, f) in twin.target.functions.iter().enumerate() {
                    if !f.is_static && f.entry().is_some() {
                        let compared = twin.compare(i, &Arming::ALL, 400, 7);
                        assert!(compared.equal > 0, "{} returns for some input", f.name);
                    }
                }
            }
        }
    });
}

/// Returns the mutants of a function: the numbers of their branches, and their changes.
fn mutants(evaluator: &Evaluator) -> Vec<(usize, String)> {
    let target = evaluator.target();
    let sites = target.sites[evaluator.function().sites.clone()].iter().filter(|s| s.kind == site_kind::MUTATION);
    let change = |line: &str| line.split('\t').nth(1).unwrap_or_default().to_owned();
    sites.flat_map(|s| s.branches().zip(s.name.lines().map(change))).collect()
}

/// Compares each mutant of `function` for which the model has a value with the model; returns the changes of these
/// mutants.
fn check<T: Copy>(
    twin: &Twin,
    function: &str,
    value_of: impl Fn(u128) -> T,
    arguments: impl Fn(&[u8]) -> [T; 2],
    model: impl Fn(&str, [T; 2]) -> Option<T>,
    is_same: impl Fn(T, T) -> bool,
) -> Vec<String> {
    let mut evaluator = twin.evaluator(twin.index_of(function));
    let layout = evaluator.function().layout();
    let (mut rng, mut x, mut known) = (StdRand::with_seed(3), vec![0; layout.size()], Vec::new());
    let all = mutants(&evaluator);
    for (branch, change) in &all {
        for _ in 0..200 {
            structured::fill(&mut rng, &layout, &Dictionary::general(), &mut x);
            let Some(expected) = model(change, arguments(&x)) else { break };
            evaluator.set_mutant(None);
            let mut requested = vec![false; evaluator.target().n_branches];
            requested[*branch] = true;
            let (_, infected) = evaluator.record(&requested, &x);
            let original = value_of(evaluator.output()[0]);
            evaluator.set_mutant(Some(*branch));
            let _ = evaluator.run(&x);
            let found = value_of(evaluator.output()[0]);
            assert!(is_same(found, expected), "{function}: {change} at {x:02x?}");
            let differs = !is_same(original, found);
            assert!(!differs || !infected.is_empty(), "{function}: {change} differs at {x:02x?} and infects nothing");
        }
        if model(change, arguments(&x)).is_some() {
            known.push(change.clone());
        }
    }
    evaluator.set_mutant(None);
    known
}

#[test]
fn a_mutant_computes_what_its_text_promises() {
    const TEXT: &str = "double product(double a, double b) { return a * b; }
                        int less(int a, int b) { return a < b; }
                        int times(int a, int b) { return a * b; }";
    on_target_thread(|| {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let twin = build(directory.path(), "simple.c", TEXT, "-O2");
        let double = |at: usize, x: &[u8]| f64::from_le_bytes(x[8 * at..8 * at + 8].try_into().expect("8 bytes"));
        let same = |a: f64, b: f64| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan();
        let model = |change: &str, [a, b]: [f64; 2]| match change {
            "a * b → a + b" => Some(a + b),
            "a * b → a - b" => Some(a - b),
            "a * b → a / b" => Some(a / b),
            "a * b → a" => Some(a),
            "a * b → b" => Some(b),
            "a * b → -(a * b)" => Some(-(a * b)),
            "a → b in a * b" => Some(b * b),
            _ => None,
        };
        let value = |cell: u128| f64::from_bits(cell as u64);
        let known = check(&twin, "product", value, |x| [double(0, x), double(1, x)], model, same);
        assert_eq!(known.len(), 7, "{known:?}");

        let int = |at: usize, x: &[u8]| i32::from_le_bytes(x[4 * at..4 * at + 4].try_into().expect("4 bytes"));
        let arguments = |x: &[u8]| [int(0, x), int(1, x)];
        let value = |cell: u128| cell as i32;
        let model = |change: &str, [a, b]: [i32; 2]| match change {
            "a < b → a <= b" => Some(i32::from(a <= b)),
            "a < b → a > b" => Some(i32::from(a > b)),
            "a < b → a >= b" => Some(i32::from(a >= b)),
            "a < b → a == b" => Some(i32::from(a == b)),
            "a < b → a != b" => Some(i32::from(a != b)),
            _ => None,
        };
        let known = check(&twin, "less", value, arguments, model, |a, b| a == b);
        assert_eq!(known.len(), 5, "{known:?}");
        let model = |change: &str, [a, b]: [i32; 2]| match change {
            "a * b → a + b" => Some(a.wrapping_add(b)),
            "a * b → a - b" => Some(a.wrapping_sub(b)),
            "a * b → a" => Some(a),
            _ => None,
        };
        let known = check(&twin, "times", value, arguments, model, |a, b| a == b);
        assert_eq!(known.len(), 3, "{known:?}");
    });
}

#[test]
fn a_mutant_with_the_original_s_code_is_known_as_such() {
    const TEXT: &str = "unsigned half(unsigned n) { if (n > 0) return n / 2; return 0; }";
    on_target_thread(|| {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let twin = build(directory.path(), "half.c", TEXT, "-O2");
        let sites = || twin.target.sites.iter().filter(|s| s.kind == site_kind::MUTATION);
        let equal: Vec<_> = sites().flat_map(|s| s.name.lines()).filter(|l| l.ends_with("\t=")).collect();
        assert!(equal.iter().any(|l| l.contains("n > 0 → n != 0")), "unsigned, both are the same: {equal:?}");
        let less = sites().flat_map(|s| s.name.lines()).find(|l| l.contains("n > 0 → n == 0"));
        assert!(less.is_some_and(|l| !l.ends_with("\t=")), "{less:?} is another function");
    });
}

/// Returns the distance to infection of the mutant of `function` with this change, at an integer; 0: it is infected.
fn distance(twin: &Twin, function: &str, change: &str, x: i32) -> u64 {
    let mut evaluator = twin.evaluator(twin.index_of(function));
    let all = mutants(&evaluator);
    let found = all.iter().find(|(_, c)| c == change);
    let branch = found.unwrap_or_else(|| panic!("{change} is none of {all:?}")).0;
    evaluator.set_mutant(None);
    evaluator.set_metric(metric::ULP, u64::MAX);
    evaluator.arm(|b| if b == branch { action::WANT } else { 0 });
    let _ = evaluator.run(&x.to_le_bytes());
    evaluator.r()
}

#[test]
fn a_mutant_of_a_condition_is_the_nearer_the_sooner_the_condition_differs() {
    const TEXT: &str = "int below(int a) { if (a < 1000) return 1; return 0; }
                        int low(int a) { int m = a & 0xffff; if (m > 40000) return 1; return 0; }
                        int both(int a) { int m = a & 0xffff; if (m > 40000) return m; return 0; }";
    on_target_thread(|| {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let twin = build(directory.path(), "conditions.c", TEXT, "-O2");
        let constant = |x| distance(&twin, "below", "1000 → 1001 in a < 1000", x);
        assert_eq!(constant(1000), 0, "the only number for which the conditions differ");
        assert!(constant(5000) > constant(2000) && constant(2000) > constant(1001), "from above");
        assert!(constant(-5000) > constant(0) && constant(0) > constant(999) && constant(999) > 0, "from below");
        let negated = |x| distance(&twin, "below", "1000 → -1000 in a < 1000", x);
        assert!(negated(0) == 0 && negated(-1000) == 0 && negated(-1001) > 0 && negated(1000) > 0);
        // Only a comparison uses the value, so another value infects only if the comparison's outcome differs.
        let operand = |x| distance(&twin, "low", "a & 65535 → a", x);
        assert_eq!(operand(0x1_0005), 0, "5 is below and 65541 is above 40000");
        assert!(operand(0x8000_0005_u32 as i32) > 0 && operand(50000) > 0 && operand(7) > 0, "both are on one side");
        let used = |x| distance(&twin, "both", "a & 65535 → a", x);
        assert_eq!(used(0x8000_0005_u32 as i32), 0, "the value is used besides");
    });
}

#[test]
fn a_mutant_that_no_comparison_sees_does_not_infect() {
    // The comparison also has variable operands, values derived from the one that changes, and values that are computed
    // later.
    const TEXT: &str = "int chain(int a) { int m = a & 0xff, n = a >> 8; if (m * 3 + 1 > n) return 1; return 0; }
        int later(int a) { int m = a & 0xff; int n = (a >> 8) & 0xff; if (m > n) return 1; return 0; }
        int loop(int a) { int i, m = 0; for (i = 0; i < (a & 7); i++) { int k = m & 3; if (k + 1 < i) m += 2; m ^= i; \
          } return m; }
        double root(int a) { double x = a; if (__builtin_sqrt(x * x + 1.0) > x + 0.125) return 1; return 0; }";
    on_target_thread(|| {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let twin = build(directory.path(), "seen.c", TEXT, "-O2");
        let chain = |x| distance(&twin, "chain", "a & 255 → a", x);
        assert_eq!(chain(0x1005), 0, "3 * 5 + 1 is not above 16, and 3 * 0x1005 + 1 is");
        assert!(chain(0x0105) > chain(0x0f05) && chain(0x0f05) > 0, "both are above 15, and still more above 1");
        assert_eq!(distance(&twin, "later", "a & 255 → a", 0x0605), 0, "5 is below 6, and 0x605 is above");
        assert!(distance(&twin, "later", "a & 255 → a", 0x0506) > 0, "6 and 0x506 are above 5");
        for function in ["chain", "later", "loop", "root"] {
            let mut evaluator = twin.evaluator(twin.index_of(function));
            let (mut rng, mut differences) = (StdRand::with_seed(5), 0);
            for (branch, change) in &mutants(&evaluator) {
                let mut requested = vec![false; evaluator.target().n_branches];
                requested[*branch] = true;
                for _ in 0..500 {
                    let x = (rng.next() as i32 >> rng.below_or_zero(32)).to_le_bytes();
                    evaluator.set_mutant(None);
                    let (_, infected) = evaluator.record(&requested, &x);
                    let original = evaluator.output()[0];
                    evaluator.set_mutant(Some(*branch));
                    let status = evaluator.run(&x);
                    let differs = status != RunStatus::Returned || evaluator.output()[0] != original;
                    differences += usize::from(differs);
                    assert!(
                        !differs || !infected.is_empty(),
                        "{function}: {change} differs at {x:02x?} and infects nothing"
                    );
                }
            }
            assert!(differences > 100, "{function}: {differences}");
        }
    });
}

#[test]
fn reaching_a_point_can_stand_for_infection() {
    const TEXT: &str = "int below(int a) { if (a < 0) return a; return a < 1000; }";
    on_target_thread(|| {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let twin = build(directory.path(), "reach.c", TEXT, "-O2");
        let mut evaluator = twin.evaluator(twin.index_of("below"));
        let all = mutants(&evaluator);
        let branch = all.iter().find(|(_, c)| c == "a < 1000 → a <= 1000").expect("there is the mutant").0;
        let mut requested = vec![false; evaluator.target().n_branches];
        requested[branch] = true;
        let mut takes = |x: i32| !evaluator.record(&requested, &x.to_le_bytes()).1.is_empty();
        assert!(!takes(5) && takes(1000), "infected by 1000 only");
        evaluator.set_reach_infects(true);
        let mut takes = |x: i32| !evaluator.record(&requested, &x.to_le_bytes()).1.is_empty();
        assert!(takes(5) && takes(1000) && !takes(-1), "reached by what is not negative");
        evaluator.set_reach_infects(false);
        assert!(evaluator.record(&requested, &5_i32.to_le_bytes()).1.is_empty(), "as before");
    });
}

#[test]
fn values_are_traced_in_the_original_and_in_a_mutant() {
    const TEXT: &str = "double sum(double a) { double b = a + 1.0; double c = b * 0.0; return c + 7.0; }";
    on_target_thread(|| {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let twin = build(directory.path(), "trace.c", TEXT, "-O2");
        let mut evaluator = twin.evaluator(twin.index_of("sum"));
        let branch = mutants(&evaluator).iter().find(|(_, c)| c == "a + 1 → a - 1").expect("there is the mutant").0;
        let trace = |evaluator: &mut Evaluator, mutant| {
            let mut trace = Vec::with_capacity(8);
            evaluator.set_mutant(None);
            evaluator.arm_values();
            let (_, is_whole) = evaluator.trace_values(mutant, &5_f64.to_le_bytes(), &mut trace);
            assert!(is_whole, "there is room");
            trace.iter().map(|t| f64::from_bits(t.result)).collect::<Vec<_>>()
        };
        assert_eq!(trace(&mut evaluator, None), [6.0, 0.0, 7.0]);
        assert_eq!(trace(&mut evaluator, Some(branch)), [4.0, 0.0, 7.0]);
        let mut small = Vec::with_capacity(2);
        assert!(!evaluator.trace_values(None, &5_f64.to_le_bytes(), &mut small).1, "one does not fit");
        assert_eq!(small.len(), 2);
    });
}

#[test]
fn switching_from_mutant_to_mutant_leaves_the_others_off() {
    const TEXT: &str = "double product(double a, double b) { return a * b; }";
    on_target_thread(|| {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let twin = build(directory.path(), "switch.c", TEXT, "-O2");
        let mut evaluator = twin.evaluator(twin.index_of("product"));
        let all = mutants(&evaluator);
        let of = |change: &str| Some(all.iter().find(|(_, c)| c == change).expect("there is the mutant").0);
        let x = [3_f64.to_le_bytes(), 4_f64.to_le_bytes()].concat();
        let mut result = |mutant| {
            evaluator.set_mutant(mutant);
            let _ = evaluator.run(&x);
            f64::from_bits(evaluator.output()[0] as u64)
        };
        for (change, expected) in [("a * b → a + b", 7.0), ("a * b → a", 3.0), ("a * b → a - b", -1.0)] {
            assert_eq!(result(of(change)).to_bits(), f64::to_bits(expected), "{change}");
        }
        assert_eq!(result(None).to_bits(), 12_f64.to_bits(), "the original again");
    });
}
