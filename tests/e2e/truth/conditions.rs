//! Outcomes have the meaning of the source, and the branches are those that gcov counts.

use std::{collections::BTreeMap, path::Path, process::Command};

use serde_json::Value;

use crate::support::{Dir, Run, pen_cc};

const NEGATION: &str = "int f(int n)\n{ if (!n) return 1;\n  return 0; }\n";

fn value_of<'a>(run: &'a Run, name: &str) -> &'a str {
    let line = run.stdout.lines().find(|line| line.trim_start().starts_with(&format!("{name} ")));
    let value = line.and_then(|line| line.split_once("= ")).map(|(_, value)| value.trim());
    value.unwrap_or_else(|| panic!("there is no {name} in\n{}", run.stdout))
}

#[test]
fn reach_takes_a_negation_as_it_is_written() {
    let dir = Dir::new();
    dir.file("neg.c", NEGATION);
    let taken = dir.penfuzz("reach neg.c --path neg.c:2:true").exits(0);
    assert_eq!((value_of(&taken, "n"), value_of(&taken, "path")), ("0x0   (0)", "2:T"), "{}", taken.stdout);
    let other = dir.penfuzz("reach neg.c --path neg.c:2:false").exits(0);
    other.expect(value_of(&other, "n") != "0x0   (0)", "the body is skipped for any other n");
}

#[test]
fn replay_and_the_report_take_a_negation_as_it_is_written() {
    let dir = Dir::new();
    dir.file("neg.c", NEGATION);
    for (n, path, returned) in [(0i32, "2:T", "0x1   (1)"), (7, "2:F", "0x0   (0)")] {
        dir.file("input", n.to_le_bytes());
        let run = dir.penfuzz("replay neg.c input --path").exits(0);
        assert_eq!((value_of(&run, "path"), value_of(&run, "returned")), (path, returned), "{}", run.stdout);
    }
    dir.fuzz("neg.c", "").exits(0);
    let report = dir.report("out");
    let [site] = report.sites.as_slice() else { panic!("{:?}", report.sites) };
    let of_true = site.branches[0].input.as_ref().expect("true is covered");
    let of_false = site.branches[1].input.as_ref().expect("false is covered");
    assert_eq!(site.branches[0].outcome, "true");
    assert_eq!((of_true[0].decimal.as_str(), of_false[0].decimal == "0"), ("0", false), "{site:?}");
}

/// Conditions whose value is stored, passed on or returned, and switches with empty cases.
const STORED: &str = "\
int pick(int k, int v);
int stored(int a, int c, double x)
{
  int ok = a || (c == 13 && x == 3.25);
  int no = !(a && !c), twice = !!a && x < 2;
  _Bool flag = (a > 3 && c) == (x > 1 || !c);
  no += pick(a && c, x > 0 || a < c);
  if ((ok = no > 1 && x != x)) no++;
  int r = a && c ? 5 : 6;
  r += (a || c) && !(ok && flag) ? no * 2 : twice;
  while (a && (c-- || r < 3)) a /= 2;
  do r++; while (!(r < 9 || (c && x > 8)));
  for (int i = 0; i < 3 && !(a && i == c); i++) r += i;
  return ok || (r > 2 && flag);
}
int returned(int a, int b) { return a && !b; }
int whole(int a) { int ok = 1 && a; return 0 || ok; }
int pick(int k, int v)
{
  switch (k + v) {
    case 0: break;
    case 1: break;
    case 2: case 3: v++; break;
    case 4: v += 2;
    case 5: v += 3; break;
    case 6: case 7: break;
    default: return v;
  }
  switch (v) { case 1: break; case 2: ; break; case 9: return k; }
  return v && k;
}
";

/// Returns the number of branches of each function that gcov counts.
fn counted_by_gcov(dir: &Dir, source: &Path) -> BTreeMap<String, usize> {
    dir.other(Command::new("gcc").args(["--coverage", "-O0", "-w", "-c", "-o", "counted.o"]).arg(source));
    let text = dir.other(Command::new("gcov").args(["-b", "-c", "--json-format", "--stdout", "counted.gcno"]));
    let all: Value = serde_json::from_str(&text).expect("gcov writes JSON");
    let mut counts = BTreeMap::new();
    for line in all["files"][0]["lines"].as_array().expect("lines") {
        let function = line["function_name"].as_str().unwrap_or_default().to_owned();
        *counts.entry(function).or_default() += line["branches"].as_array().expect("branches").len();
    }
    counts
}

#[test]
fn stored_conditions_have_the_branches_that_gcov_counts() {
    let dir = Dir::new();
    let source = dir.file("stored.c", STORED);
    let theirs = counted_by_gcov(&dir, &source);
    for level in ["-O0", "-O1", "-O2", "-O3"] {
        dir.other(Command::new(pen_cc()).args([level, "-w", "-shared", "-o", "stored.so"]).arg(&source));
        let text = dir.penfuzz("functions stored.so --json").exits(0).stdout;
        let functions: Value = serde_json::from_str(&text).expect("functions are JSON");
        let ours: BTreeMap<String, usize> = functions
            .as_array()
            .expect("a list")
            .iter()
            .map(|f| {
                let n = f["branches"].as_u64().expect("a number");
                (f["name"].as_str().expect("a name").to_owned(), usize::try_from(n).expect("few branches"))
            })
            .collect();
        assert_eq!(ours, theirs, "{level}: left penfuzz's, right gcov's");
    }
}

/// The last operand is a goal: the search finds inputs for both of its outcomes.
#[test]
fn the_last_operand_of_a_stored_condition_is_searched() {
    let dir = Dir::new();
    dir.file(
        "last.c",
        "int g(int a, int c, double x)\n{\n  int ok = a > 9 || (c == 13\n    && x == 3.25);\n  return ok;\n}\n",
    );
    dir.fuzz("last.c", "--max-evals 100000").exits(0);
    let report = dir.report("out");
    assert_eq!((report.branches.total, report.branches.covered), (6, 6), "{:?}", report.sites);
}
