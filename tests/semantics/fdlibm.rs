//! The 40 functions of the Fdlibm suite: the same bits as without instrumentation.

use std::{path::Path, time::Instant};

use crate::twin::{Arming, Recipe, Twin, on_target_thread};

/// A quarter of the inputs runs with nothing armed, the others with every branch armed.
const QUARTERS: [Arming; 4] = [Arming::Unarmed, Arming::Boundaries, Arming::ALL[1], Arming::ALL[2]];

/// Builds all targets of the suite as one program, so that every file is compiled once.
fn build(directory: &Path, level: &str) -> (Twin, Vec<String>) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../harnesses/fdlibm/suite.toml");
    let suite = penfuzz_suite::load(&path).unwrap_or_else(|e| panic!("{e}"));
    let mut sources = suite.support_files.clone();
    sources.extend(suite.targets.iter().map(|t| suite.file_of(t)));
    sources.sort();
    sources.dedup();
    let mut flags = suite.flags_of(&suite.targets[0]);
    flags.extend(["-g".to_owned(), level.to_owned()]);
    let recipe = Recipe { sources, flags, libraries: suite.build.libs.clone(), san_cov: false };
    let names = suite.targets.iter().map(|t| t.function.clone()).collect();
    (Twin::build(directory, &recipe), names)
}

fn compare_all(level: &str, n: usize) -> Vec<String> {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (twin, names) = build(directory.path(), level);
    let mut lines = Vec::new();
    for (i, name) in names.iter().enumerate() {
        let start = Instant::now();
        let compared = twin.compare(twin.index_of(name), &QUARTERS, n, 1 + i as u64);
        assert_eq!(compared.ended, 0, "{name} {level}: every input returns");
        lines.push(format!("{level} {name}: {} inputs equal, {:.2?}", compared.equal, start.elapsed()));
    }
    lines
}

fn all_are_equal(level: &'static str, inputs: usize) {
    let lines = on_target_thread(move || compare_all(level, inputs));
    println!("{}", lines.join("\n"));
    assert_eq!(lines.len(), 40);
}

#[test]
fn forty_functions_return_the_same_bits_with_optimization() {
    all_are_equal("-O2", 100_000);
}

#[test]
#[ignore = "nightly"]
fn forty_functions_return_the_same_bits_with_optimization_for_a_million_inputs() {
    all_are_equal("-O2", 1_000_000);
}

#[test]
fn forty_functions_return_the_same_bits_without_optimization() {
    all_are_equal("-O0", 20_000);
}

#[test]
#[ignore = "nightly"]
fn forty_functions_return_the_same_bits_without_optimization_for_100_000_inputs() {
    all_are_equal("-O0", 100_000);
}
