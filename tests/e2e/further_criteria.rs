//! `--criterion` boundary, exceptions, loop and path: the tests here compute independently, from the arguments of the
//! emitted tests, which goals those cover.

use std::collections::BTreeSet;

use penfuzz_report::{Report, Test, criterion_goals::CriterionGoal};

use crate::{
    prove::solvers,
    support::{Dir, fixture, line_of},
};

/// Returns the numbers of goals of a criterion: total, covered, and proved infeasible.
fn figures(report: &Report, name: &str) -> (usize, usize, usize) {
    let c = report.criteria.get(name).unwrap_or_else(|| panic!("no figures of {name}: {:?}", report.criteria));
    (c.total, c.covered, c.proved_infeasible)
}

fn int(test: &Test, argument: usize) -> i64 {
    test.args[argument].decimal.parse().unwrap_or_else(|e| panic!("{:?}: {e}", test.args))
}

fn float(test: &Test, argument: usize) -> f64 {
    let bits = test.args[argument].bits.trim_start_matches("0x");
    f64::from_bits(u64::from_str_radix(bits, 16).unwrap_or_else(|e| panic!("{:?}: {e}", test.args)))
}

/// Returns the tests of a goal, which is given by criterion and text.
fn tests_of<'a>(report: &'a Report, criterion: &str, goal: &str) -> Vec<&'a Test> {
    let all = report.criterion_goals.iter().filter(|g| g.criterion == criterion && g.goal == goal);
    all.flat_map(|g| &g.tests).map(|n| &report.tests[n - 1]).collect()
}

#[test]
fn boundary_values_are_in_the_tests_of_a_campaign_on_branches() {
    let dir = Dir::new();
    let target = dir.file("f.c", "int f(int a, int b) {\n  if (a < b) return 1;\n  return 0;\n}\n");
    let run = dir.penfuzz("-o out --max-evals 20000 --criterion branch,boundary").arg(&target).exits(0);
    let report = dir.report("out");
    assert_eq!(figures(&report, "boundary"), (3, 3, 0));
    assert_eq!((report.branches.covered, report.branches.total), (2, 2), "only branches are counted as such");
    assert!(run.stdout.contains("boundary: 3 of 3 boundary values met"), "{}", run.stdout);
    for (goal, difference) in [("< below", -1), ("< equal", 0), ("< above", 1)] {
        let tests = tests_of(&report, "boundary", goal);
        assert!(!tests.is_empty(), "{goal}: {:?}", report.criterion_goals);
        assert!(tests.iter().all(|t| int(t, 0) - int(t, 1) == difference), "{goal}: {tests:?}");
    }
    let csv = String::from_utf8(dir.files("out")["criteria.csv"].clone()).unwrap();
    assert_eq!(csv.lines().count(), 4, "{csv}");
}

/// Runs `penfuzz prove` on `never_next.c`; on a busy machine, the end of a campaign has too little time for all proofs.
/// Returns the goals of the criterion that have a test, and those that are proved infeasible, in the line with this
/// text, or in all lines.
fn never(criterion: &str, function: &str, mutate: u32, text: &str, solvers: &std::ffi::OsStr) -> [Vec<String>; 2] {
    let dir = Dir::new();
    let target = fixture("never_next.c");
    let run = dir.penfuzz("prove").arg(&target).args(&format!(
        "-f {function} -o out --criterion branch,{criterion} --max-evals 20000 --cflag -DMUTATE={mutate}"
    ));
    run.env("PENFUZZ_SOLVERS", solvers).exits(0);
    let report = dir.report("out");
    let proved = || report.criterion_goals.iter().filter(|g| g.proved_infeasible);
    for goal in proved() {
        let evidence = std::fs::read_to_string(dir.path("out").join(goal.proof.as_ref().unwrap())).unwrap();
        assert!(evidence.contains(&format!("have the outcome {}?", goal.goal)), "{evidence}");
        assert!(evidence.matches(": unsat in ").count() >= 2, "{evidence}");
    }
    assert_eq!(figures(&report, criterion).2, proved().count());
    let checked = dir.penfuzz("prove out --check").env("PENFUZZ_SOLVERS", solvers).exits(0);
    checked.expect(checked.stdout.contains("0 without a query"), "the goals of tests in queries");
    let line = (!text.is_empty()).then(|| line_of(&target, text) as u32);
    let texts = |is: &dyn Fn(&CriterionGoal) -> bool| {
        let goals = report.criterion_goals.iter().filter(|g| line.is_none_or(|line| g.line == line) && is(g));
        goals.map(|g| g.goal.clone()).collect()
    };
    [texts(&|g| !g.tests.is_empty()), texts(&|g| g.proved_infeasible)]
}

/// Function, mutation, text of the line, goals with a test, infeasible goals.
type Case<'a> = (&'a str, u32, &'a str, &'a [&'a str], &'a [&'a str]);

#[test]
fn boundary_values_that_no_execution_has_are_proved_infeasible() {
    let Some(solvers) = solvers() else { return };
    let cases: [Case; 9] = [
        ("floats", 0, "if (x > 0x1.ffff", &[], &["> below", "> equal", "> above"]),
        ("floats", 1, "if (x > 0x1.ffff", &["> above"], &["> below", "> equal"]),
        ("narrow", 0, "if (x > 0x1.fffffep-1f)", &["> above"], &["> below", "> equal"]),
        ("largest", 0, "if (x > DBL_MAX)", &["> below", "> equal"], &["> above"]),
        ("largest", 2, "if (x > DBL_MAX)", &["> below", "> equal", "> above"], &[]),
        ("integers", 0, "> 12)", &[], &["> below", "> equal", "> above"]),
        ("integers", 3, "> 12)", &["> below"], &["> equal", "> above"]),
        ("order", 0, "if (n < -5)", &["< equal", "< above"], &["< below"]),
        ("order", 4, "if (n < -5)", &["< below", "< equal", "< above"], &[]),
    ];
    for (function, mutate, text, met, proved) in cases {
        assert_eq!(never("boundary", function, mutate, text, &solvers), [met, proved], "{function} {mutate}");
    }
}

#[test]
fn exceptions_that_no_execution_raises_are_proved_infeasible() {
    let Some(solvers) = solvers() else { return };
    let all = ["* overflow", "* underflow", "/ overflow", "/ underflow", "/ divide-by-zero", "/ invalid", "+ overflow"];
    let but = |raised: &[&str]| all.into_iter().filter(|goal| !raised.contains(goal)).collect::<Vec<_>>();
    let cases: [(&str, u32, &[&str], Vec<&str>); 14] = [
        ("arithmetic", 0, &[], but(&[])),
        ("arithmetic", 5, &["* overflow"], but(&["* overflow"])),
        ("arithmetic", 6, &["/ divide-by-zero"], but(&["/ divide-by-zero"])),
        ("rooted", 0, &[], vec!["sqrt invalid"]),
        ("rooted", 7, &["sqrt invalid"], vec![]),
        ("cut", 0, &[], vec!["(int) invalid"]),
        ("cut", 8, &["(int) invalid"], vec![]),
        ("nearest", 0, &[], vec!["lround invalid", "lrint invalid"]),
        ("nearest", 12, &["lround invalid", "lrint invalid"], vec![]),
        ("logarithm", 0, &[], vec!["log divide-by-zero", "log invalid", "exp overflow", "exp underflow"]),
        ("logarithm", 9, &["log divide-by-zero", "exp underflow"], vec!["log invalid", "exp overflow"]),
        ("logarithm", 10, &["exp overflow"], vec!["log divide-by-zero", "log invalid", "exp underflow"]),
        ("power", 0, &[], vec!["pow divide-by-zero", "pow invalid"]),
        ("power", 11, &["pow overflow", "pow underflow", "pow divide-by-zero"], vec!["pow invalid"]),
    ];
    for (function, mutate, raised, proved) in cases {
        assert_eq!(never("exceptions", function, mutate, "", &solvers), [raised, &proved], "{function} {mutate}");
    }
}

#[test]
fn goals_that_a_campaign_leaves_are_proved_later() {
    let Some(solvers) = solvers() else { return };
    let dir = Dir::new();
    let options = "-f order --criterion branch,boundary,path:1 --max-evals 20000 --no-prove";
    dir.fuzz(fixture("never_next.c"), options).exits(0);
    let before = dir.report("out");
    assert_eq!(figures(&before, "boundary").2, 0);
    for _ in 0..2 {
        let run = dir.penfuzz("prove out").env("PENFUZZ_SOLVERS", &solvers).exits(0);
        let report = dir.report("out");
        let (total, met, proved) = figures(&report, "boundary");
        assert!(met > 0 && met + proved == total, "{:?}", report.criterion_goals);
        run.expect(
            run.stdout.contains(&format!("boundary: {met} of {total} boundary values met, {proved} proved")),
            "it",
        );
        assert_eq!(figures(&report, "path").0, figures(&before, "path").0, "paths stay");
        for goal in report.criterion_goals.iter().filter(|g| g.proved_infeasible) {
            let query = goal.proof.as_ref().expect("each proof has its query");
            assert!(dir.path("out").join(query).is_file(), "{query}");
        }
    }
}

/// If the source that defines `scalbn` is linked in, its call is no longer a call of a foreign function. The site
/// numbers do not change.
#[test]
fn sites_have_the_same_numbers_when_proofs_link_the_sources() {
    let Some(solvers) = solvers() else { return };
    let dir = Dir::new();
    let source = "double scalbn(double x, int n);
double same(double x);
double f(double x) {
  double y = scalbn(x, 2);
  if (same(y) != y) return 1;
  if (y > 3.0) return 2;
  return 3;
}
";
    let other = "double same(double x) { return x; }
double scalbn(double x, int n) {
  while (n-- > 0) x *= 2;
  return x;
}
";
    let (target, other) = (dir.file("f.c", source), dir.file("other.c", other));
    dir.fuzz(&target, "-f f --criterion branch,boundary,exceptions --max-evals 20000 --with")
        .arg(other)
        .env("PENFUZZ_SOLVERS", &solvers)
        .exits(0);
    let report = dir.report("out");
    assert!(report.criterion_goals.iter().any(|g| g.goal.starts_with("scalbn ") && !g.tests.is_empty()));
    let checked = dir.penfuzz("prove out --check").env("PENFUZZ_SOLVERS", &solvers).exits(0);
    let expected = "0 unknown, 0 without a query, 0 contradictions";
    checked.expect(checked.stdout.contains(expected), expected);
}

#[test]
fn exceptions_are_goals_of_a_function_without_branches() {
    let dir = Dir::new();
    let target = dir.file("f.c", "double f(double x, double y) { return x / y; }\n");
    dir.penfuzz("-o out --max-evals 100000 --criterion exceptions --quiet").arg(&target).exits(0);
    let report = dir.report("out");
    assert_eq!(figures(&report, "exceptions"), (4, 4, 0), "{:?}", report.criterion_goals);
    let raises = |what: &str, holds: &dyn Fn(f64, f64) -> bool| {
        let goal = report.criterion_goals.iter().find(|g| g.goal.ends_with(what)).expect("the goal is listed");
        let tests: Vec<_> = goal.tests.iter().map(|n| &report.tests[n - 1]).collect();
        assert!(!tests.is_empty() && tests.iter().all(|t| holds(float(t, 0), float(t, 1))), "{what}: {tests:?}");
    };
    raises("overflow", &|x, y| x.is_finite() && y != 0.0 && (x / y).is_infinite());
    raises("underflow", &|x, y| x != 0.0 && y.is_finite() && (x / y).abs() < f64::MIN_POSITIVE * 2.0);
    raises("divide-by-zero", &|x, y| x.is_finite() && x != 0.0 && y == 0.0);
    raises("invalid", &|x, y| (x / y).is_nan());
}

/// A loop, and a condition after it; [`does`] computes the iterations of the loop and the outcome of the condition.
const LOOP: &str =
    "int f(int n, int x) {\n  int i = 0;\n  while (i < n) i++;\n  if (i * x > 10) return 1;\n  return 0;\n}\n";

fn does(test: &Test) -> (i64, bool) {
    let rounds = int(test, 0).max(0);
    (rounds, (rounds as i32).wrapping_mul(int(test, 1) as i32) > 10)
}

#[test]
fn all_paths_have_tests_and_the_rest_is_counted() {
    let dir = Dir::new();
    let target = dir.file("f.c", LOOP);
    for (criterion, paths) in [("path:0", 1), ("path", 3), ("path:3", 7)] {
        let out = criterion.replace(':', "-");
        dir.penfuzz("--quiet --no-prove --max-evals 60000 -o")
            .arg(&out)
            .arg("--criterion")
            .arg(criterion)
            .arg(&target)
            .exits(0);
        let report = dir.report(&out);
        assert_eq!(figures(&report, "path"), (paths + 1, paths, 0), "{criterion}: one prefix is infeasible");
        let within = |t: &&Test| does(t).0 <= i64::from(report.paths.expect("paths are enumerated").rounds);
        let taken: BTreeSet<_> = report.tests.iter().filter(within).map(does).collect();
        assert_eq!(taken.len(), paths, "{criterion}: {taken:?}");
        assert!(report.paths.is_some_and(|p| p.complete));
    }
}

#[test]
fn a_path_that_no_input_takes_is_proved() {
    let Some(solvers) = solvers() else { return };
    let dir = Dir::new();
    let target = dir.file(
        "f.c",
        "int f(int a, int b) {\n  int r = 0;\n  if (a > 10) r = 1;\n  if (a > 20) r += 2;\n  if (b == a) r += 4;\n  \
         return r;\n}\n",
    );
    let run = dir.penfuzz("--quiet --max-evals 200000 --criterion path -o out").env("PENFUZZ_SOLVERS", solvers);
    run.arg(&target).exits(0);
    let report = dir.report("out");
    // a <= 10 and a > 20 contradict each other; the other three combinations have two paths each.
    assert_eq!(figures(&report, "path"), (7, 6, 1), "{:?}", report.criterion_goals);
    let proved: Vec<_> = report.criterion_goals.iter().filter(|g| g.proved_infeasible).collect();
    assert!(proved[0].tests.is_empty() && proved[0].goal == "3:F,4:T", "{proved:?}");
}

/// Two conditions that few inputs fulfil, inside a loop.
const RARE: &str = "int f(unsigned a) {
  int n = 0;
  for (int i = 0; i < 2; i++)
    if (((a >> (16 * i)) * 40503u & 0xffff) == 0x1234u + i) n++;
  return n;
}
";

/// A recursive function; the last condition is never true.
const CALLS_ITSELF: &str = "int f(int n) {
  if (n > 2) return -1;
  if (n <= 0) return 0;
  int r = f(n - 1) + 1;
  if (r != n) return -2;
  return r;
}
";

/// A call that may throw, and an object whose destructor runs in that case.
const MAY_THROW: &str = "struct Counts { int *n; ~Counts() { ++*n; } };
static int checked(int x) { if (x < 0) throw 1; return x; }
int f(int x) {
  int n = 0;
  Counts each{&n};
  int y = checked(x);
  if (y < 0) return 1;
  if (y > 5) n++;
  return n;
}
";

#[test]
fn each_round_and_each_activation_is_translated_on_its_own() {
    let Some(solvers) = solvers() else { return };
    let dir = Dir::new();
    // Infeasible are: leaving the loop too early (1 + 2 prefixes) or too late (4); in CALLS_ITSELF the last condition
    // (3), and inner activations with a number that the outer activation excludes (3).
    let cases = [
        ("rare.c", RARE, 300, (11, 4, 7)),
        ("itself.c", CALLS_ITSELF, 60_000, (10, 4, 6)),
        ("throws.cc", MAY_THROW, 60_000, (3, 2, 1)),
    ];
    for (name, source, evaluations, expected) in cases {
        let target = dir.file(name, source);
        let out = name.replace('.', "-");
        let run = dir.penfuzz(&format!("--quiet --criterion path:2 -f f -o {out} --max-evals {evaluations}"));
        run.env("PENFUZZ_SOLVERS", &solvers).arg(&target).exits(0);
        let report = dir.report(&out);
        assert_eq!(figures(&report, "path"), expected, "{name}: {:?}", report.criterion_goals);
        assert!(report.paths.is_some_and(|p| p.complete), "{name}");
        let check = dir.penfuzz("prove --check").arg(&out).env("PENFUZZ_SOLVERS", &solvers).exits(0);
        let paths = check.stdout.lines().find(|l| l.contains(" paths of tests are possible")).unwrap_or_default();
        assert!(!paths.starts_with("0 ") && paths.ends_with(" 0 without a query, 0 contradictions"), "{paths}");
    }
}

#[test]
fn numbers_of_rounds_that_no_loop_makes_are_proved_infeasible() {
    let Some(solvers) = solvers() else { return };
    let dir = Dir::new();
    let source = "int f(int n, unsigned k) {
  int r = 0;
  for (int i = 0; i < 5; i++)
    if (k >> i & 1) r++;
  n &= 127;
  if (n < 1) n = 1;
  do {
    if (r & 1) r += n;
    for (int j = n; j < 9; j += 4)
      r ^= j;
  } while (--n > 3);
  for (int i = 0; i < 10; i++) {
    if (i == 9) return r;
    r += i;
  }
  return -1;
}
";
    let target = dir.file("f.c", source);
    let run = dir.penfuzz("--quiet --criterion loop --max-evals 60000 -o out").env("PENFUZZ_SOLVERS", &solvers);
    run.arg(&target).exits(0);
    let report = dir.report("out");
    let infeasible: Vec<_> = report.criterion_goals.iter().filter(|g| g.proved_infeasible).collect();
    let of: Vec<_> = infeasible.iter().map(|g| (g.line, g.goal.as_str())).collect();
    // The first loop always makes five iterations; the last one makes nine, then the function returns. The others make
    // any number up to 127: without that bound they would be hangs on slow machines.
    let last = [(12, "no round"), (12, "one round"), (12, "left at its head after a round")];
    let expected: Vec<_> = [(3, "no round"), (3, "one round")].into_iter().chain(last).collect();
    assert_eq!(of, expected, "{:?}", report.criterion_goals);
    assert_eq!(figures(&report, "loop"), (13, 8, 5), "{:?}", report.criterion_goals);
    let check = dir.penfuzz("prove --check out").env("PENFUZZ_SOLVERS", &solvers).exits(0);
    let branches = check.stdout.lines().find(|l| l.contains(" branches of tests are possible")).unwrap_or_default();
    assert!(branches.ends_with(" 0 without a query, 0 contradictions"), "{branches}");
}

#[test]
fn loops_make_no_round_one_and_more_and_reach_their_limit() {
    let dir = Dir::new();
    let target = dir.file(
        "f.c",
        "int f(int n, int k) {\n  int r = 0;\n  for (int i = 0; i < n; i++) {\n    if (i * 7 == k) break;\n    \
         r += 2;\n  }\n  return r;\n}\n",
    );
    dir.penfuzz("--quiet --max-evals 60000 --criterion loop -o out").arg(&target).exits(0);
    let report = dir.report("out");
    assert_eq!(figures(&report, "loop"), (4, 4, 0), "{:?}", report.criterion_goals);
    // Returns the number of iterations of the loop, and whether it is left at its head.
    let does = |t: &Test| {
        let (n, k) = (int(t, 0), int(t, 1));
        let broken = (0..n.max(0)).find(|i| (*i as i32).wrapping_mul(7) == k as i32);
        (broken.unwrap_or(n.max(0)), broken.is_none())
    };
    for (goal, holds) in [
        ("no round", &(|r: i64, _: bool| r == 0) as &dyn Fn(i64, bool) -> bool),
        ("one round", &|r: i64, _: bool| r == 1),
        ("more than one round", &|r: i64, _: bool| r > 1),
        ("left at its head after a round", &|r: i64, at_head: bool| r > 0 && at_head),
    ] {
        let tests = tests_of(&report, "loop", goal);
        assert!(!tests.is_empty(), "{goal}: {:?}", report.criterion_goals);
        assert!(tests.iter().all(|t| holds(does(t).0, does(t).1)), "{goal}: {tests:?}");
    }
    let Some(solvers) = solvers() else { return };
    let check = dir.penfuzz("prove --check out").env("PENFUZZ_SOLVERS", &solvers).exits(0);
    let branches = check.stdout.lines().find(|l| l.contains(" branches of tests are possible")).unwrap_or_default();
    assert!(branches.ends_with(" 0 without a query, 0 contradictions"), "{branches}");
}

#[test]
fn coupled_conditions_are_proved_not_to_be_shown() {
    let Some(solvers) = solvers() else { return };
    let dir = Dir::new();
    // (total, covered, proved): goals that no input shows are those of coupled conditions.
    for (function, expected) in [("coupled", (6, 2, 4)), ("narrow", (4, 3, 1)), ("mixed", (3, 3, 0))] {
        dir.penfuzz("--quiet --max-evals 20000 --criterion mcdc -o")
            .env("PENFUZZ_SOLVERS", &solvers)
            .arg(function)
            .arg(fixture("decisions.c"))
            .args(&format!("--function {function}"))
            .exits(0);
        let report = dir.report(function);
        assert_eq!(figures(&report, "mcdc"), expected, "{function}: {:?}", report.decisions);
        let shown = report.decisions.iter().flat_map(|d| &d.vectors).count();
        let infeasible: Vec<_> =
            report.decisions.iter().flat_map(|d| d.infeasible.iter().map(move |v| (d, v))).collect();
        assert!(shown > 0 && (expected.2 > 0) != infeasible.is_empty(), "{function}: {infeasible:?}");
        for (decision, vector) in infeasible {
            assert!(decision.vectors.iter().all(|v| v.values != vector.values), "{function}: a test has {vector:?}");
            assert!(dir.path(function).join(&vector.proof).is_file(), "{vector:?}");
        }
    }
}

#[test]
fn all_criteria_are_fulfilled_by_one_campaign_and_again_when_it_goes_on() {
    let dir = Dir::new();
    let target = dir.file(
        "f.c",
        "double f(double x, int n) {\n  double r = 1;\n  for (int i = 0; i < n && i < 20; i++) r *= x;\n  \
         if (r > 1e3 || x == 0.5) return r / x;\n  return r;\n}\n",
    );
    let all = "line,branch,condition,mcdc,boundary,exceptions,loop,path:1";
    for _ in 0..2 {
        dir.penfuzz("--quiet --no-prove --max-evals 400000 -o out --criterion").arg(all).arg(&target).exits(0);
        let report = dir.report("out");
        let names: Vec<_> = report.criteria.keys().map(String::as_str).collect();
        assert_eq!(
            names,
            ["boundary", "branch", "condition", "exceptions", "line", "loop", "mcdc", "path", "statement"]
        );
        for name in ["line", "branch", "condition", "mcdc", "loop"] {
            let (total, covered, _) = figures(&report, name);
            assert_eq!(covered, total, "{name}: {:?}", report.criterion_goals);
        }
        assert!(figures(&report, "boundary").1 >= 6 && figures(&report, "exceptions").1 >= 2, "{:?}", report.criteria);
        let last = report.tests.len();
        assert!(report.criterion_goals.iter().flat_map(|g| &g.tests).all(|n| (1..=last).contains(n)));
    }
    dir.penfuzz("--criterion path:x").arg(&target).exits(2);
}

#[test]
fn a_suite_passes_criteria_on_and_has_their_means() {
    let dir = Dir::new();
    dir.file("f.c", LOOP);
    dir.file("g.c", "int g(int a, int b) { return a > 5 && b > 5; }\n");
    let target = |name: &str| format!("[[target]]\nname = \"{name}\"\nfile = \"{name}.c\"\nfunction = \"{name}\"\n");
    let suite = dir.file("suite.toml", format!("name = \"s\"\nsources = \".\"\n{}{}", target("f"), target("g")));
    let run = dir.penfuzz("suite --quiet --max-evals 20000 -o out --criterion mcdc,path:1").arg(&suite).exits(0);
    let json: serde_json::Value = serde_json::from_slice(&dir.files("out")["suite.json"]).unwrap();
    assert_eq!(json["targets"][0]["criteria"]["path"]["covered"], 3, "{json}");
    assert_eq!(json["targets"][1]["criteria"]["mcdc"]["covered"], 2, "{json}");
    // f: 3 of 4 paths; g: every path is taken.
    assert_eq!(json["mean_criteria"]["path"], 87.5, "{json}");
    assert!(run.stdout.contains("mcdc: 2 of 2, 0 proved infeasible; mean 100.00 %"), "{}", run.stdout);
}
