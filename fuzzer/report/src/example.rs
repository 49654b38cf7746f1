//! A handmade report on a small function, for the tests of the formats. The function has 8 branches by the counts of
//! gcc and clang: 6 are covered, 1 is taken only by an input that aborts, and 1 is given up.

use std::collections::BTreeMap;

use penfuzz_mutators::view::Kind;

use super::{
    arg::Arg,
    literal,
    model::{Branch, BranchIndex, Branches, Finding, Parameter, Report, SCHEMA, Signature, Site, Status, Test},
};

/// The path of [`SOURCE`] in the report.
pub const FILE: &str = "/src/clamp.c";

/// The function that [`report`] is about.
pub const SOURCE: &str = "\
#include <stdlib.h>

double clamp(double x, int n, double *rest)
{
  if (x < 0.5)
    return *rest = x;
  if (n == 7)
    abort();
  if (x != x && n == 8)
    return 1;
  return 0.5;
}
";

/// Returns the report.
#[must_use]
pub fn report() -> Report {
    Report {
        schema: SCHEMA,
        origin: None,
        target: "clamp.c".to_owned(),
        sources: vec![FILE.to_owned()],
        compilations: Vec::new(),
        flags: Vec::new(),
        libs: Vec::new(),
        function: "clamp".to_owned(),
        signature: signature(),
        seed: 1,
        search: "targeted".to_owned(),
        rounding: penfuzz_target::program::Rounding::Nearest,
        goals: penfuzz_engine::saturation::Goals::Branches,
        ulp: 0,
        expects: None,
        test_format: crate::test_format::TestFormat::default(),
        test_style: crate::test_format::TestStyle::default(),
        header: None,
        without_source: false,
        branches: Branches {
            total: 8,
            covered: 6,
            covered_by_crash_only: 1,
            depends_on_earlier_calls: 0,
            depends_on_uninitialized: 0,
            without_test: 0,
            saturated: 6,
            given_up: 1,
            proved_unreachable: 0,
        },
        branches_of_calls: 0,
        evaluations: 123_456,
        seconds: 0.25,
        evaluations_per_second: 493_824.0,
        stop_reason: "saturated".to_owned(),
        sites: sites(),
        test_program: None,
        tests: tests(),
        crashes: vec![Finding {
            file: "crashes/id:000000,sig:06".to_owned(),
            reason: "SIGABRT".to_owned(),
            place: "clamp (/src/clamp.c:8)".to_owned(),
            stack: Vec::new(),
            args: args(1.0, 7),
            in_fresh_process: None,
            in_test_program: None,
            grade: None,
            violates: Vec::new(),
            callers: Vec::new(),
            existed_in: None,
        }],
        hangs: Vec::new(),
        long: Vec::new(),
        not_followed: Vec::new(),
        unmet_assumption: None,
        undefined: Vec::new(),
        provided: Vec::new(),
        source_hashes: BTreeMap::new(),
        shared_state: Vec::new(),
        tests_apart: false,
        unconfirmed_tests: 0,
        test_checks: Vec::new(),
        failed_tests: Vec::new(),
        uninitialized: Vec::new(),
        reads_environment: false,
        exceptions: None,
        verdict: None,
        operations: None,
        goal: None,
        criteria: BTreeMap::new(),
        uncovered_lines: Vec::new(),
        requirements: Vec::new(),
        decisions: Vec::new(),
        criterion_goals: Vec::new(),
        paths: None,
        mutation: None,
    }
}

fn signature() -> Signature {
    let parameter = |name: &str, type_name: &str, kind: &str, pointer| Parameter {
        name: name.to_owned(),
        type_name: type_name.to_owned(),
        kind: kind.to_owned(),
        pointer,
        size: 0,
    };
    Signature {
        symbol: "clamp".to_owned(),
        result: "double".to_owned(),
        result_kind: "f64".to_owned(),
        parameters: vec![
            parameter("x", "double", "f64", false),
            parameter("n", "int", "i32", false),
            parameter("rest", "double *", "f64", true),
        ],
        file: FILE.to_owned(),
        unit: String::new(),
        line: 3,
        is_static: false,
        callbacks: Vec::new(),
        callback_parameters: Vec::new(),
        decoding: None,
        layouts: Vec::new(),
        result_layout: None,
        makers: Vec::new(),
        calls: 0,
        globals: Vec::new(),
        inputs: Vec::new(),
    }
}

/// Arguments of the function, with a pointer to 0.0.
#[must_use]
pub fn args(x: f64, n: i32) -> Vec<Arg> {
    vec![
        literal::arg("x", "double", Kind::F64, x.to_bits()),
        literal::arg("n", "int", Kind::I32, u64::from(n as u32)),
        literal::arg("rest", "double", Kind::F64, 0),
    ]
}

fn sites() -> Vec<Site> {
    use Status::{CoveredByCrash, GivenUp, Saturated};
    let low = args(0.25, 0);
    let mid = args(1.0, 0);
    let nan = args(f64::NAN, 0);
    let branch = |outcome: &str, status, distance, input: &[Arg]| Branch {
        outcome: outcome.to_owned(),
        status,
        evaluations: 40,
        covered_at: None,
        best_distance: Some(distance),
        input: Some(input.to_vec()),
        best_input: (status == GivenUp).then(|| input.to_vec()),
        met: None,
        further: Vec::new(),
        unchanged_over: None,
        proof: None,
    };
    let site = |line, column, predicate: &str, branches| Site {
        function: "clamp".to_owned(),
        file: FILE.to_owned(),
        line,
        column,
        kind: "branch".to_owned(),
        operation: String::new(),
        predicate: predicate.to_owned(),
        distance_unit: "integers".to_owned(),
        waits_for: None,
        code: None,
        branches,
    };
    vec![
        site(5, 9, "<", vec![branch("true", Saturated, 0, &low), branch("false", Saturated, 0, &mid)]),
        site(7, 9, "==", vec![branch("true", CoveredByCrash, 0, &args(1.0, 7)), branch("false", Saturated, 0, &mid)]),
        site(9, 9, "!=", vec![branch("true", Saturated, 0, &nan), branch("false", Saturated, 0, &mid)]),
        site(9, 19, "==", vec![branch("true", GivenUp, 8, &nan), branch("false", Saturated, 0, &nan)]),
    ]
}

fn tests() -> Vec<Test> {
    let test = |id: u32, args, covers: &[(usize, usize)]| Test {
        file: format!("queue/id:{id:06}"),
        args,
        covers: covers.iter().copied().map(BranchIndex::from).collect(),
        ..Test::default()
    };
    vec![
        test(0, args(0.25, 0), &[(0, 0)]),
        test(1, args(1.0, 0), &[(0, 1), (1, 1), (2, 1)]),
        test(2, args(f64::NAN, 0), &[(0, 1), (1, 1), (2, 0), (3, 1)]),
    ]
}
