//! Mutants: with all of them off the program is the original, bit for bit; and each one that is on computes what its text promises.

use std::{fs, path::Path};

use libafl_bolts::rands::StdRand;
use penfuzz_cc::abi::site_kind;
use penfuzz_engine::executor::Evaluator;
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

/// The mutants of a function: the numbers of their branches, and their changes.
fn mutants(evaluator: &Evaluator) -> Vec<(usize, String)> {
    let target = evaluator.target();
    let sites = target.sites[evaluator.function().sites.clone()].iter().filter(|s| s.kind == site_kind::MUTATION);
    let change = |line: &str| line.split('\t').nth(1).unwrap_or_default().to_owned();
    sites.flat_map(|s| s.branches().zip(s.name.lines().map(change))).collect()
}

/// Compares each mutant of `function` that the model knows with it; returns their changes.
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
