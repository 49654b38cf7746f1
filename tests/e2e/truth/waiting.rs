//! The report's entries on uncovered branches: the branch for which each one waits, and whether its operands change,
//! next to the results of the tests.

use std::fs;

use penfuzz_report::Report;

use crate::support::Dir;

/// No input sets `strange` to 3. Two conditions depend on that, one of them in a function that is called.
const LEFT: &str = "static int fixed = 2;
static int behind(int n) { if (n > 7) return 1; return 0; }
int left(int n, double x, double *half) {
  int strange = fixed, result = 3;
  *half = x / 2;
  if (n == 4 && x > 1.5) result = 10;
  if (n == 5 && x > 2.5) result = 11;
  if (n < -6) result = 12;
  if (strange == 3) {
    if (x > 2) return behind(n);
    return 2;
  }
  return result;
}
";

fn report() -> (Dir, Report, String) {
    let dir = Dir::new();
    let target = dir.file("left.c", LEFT);
    // Without optimization the compiler does not detect that `fixed` never changes.
    dir.fuzz(target, "--function left --cflag -O0 --scope calls --max-evals 60000").exits(0);
    let page = fs::read_to_string(dir.path("out/report.html")).expect("report.html");
    (Dir::new(), dir.report("out"), page)
}

#[test]
fn conditions_that_nothing_executes_name_the_branch_in_their_way() {
    let (_, report, page) = report();
    let site =
        |line: u32| report.sites.iter().find(|s| s.line == line).unwrap_or_else(|| panic!("a site in line {line}"));
    let way = |line| {
        let from = site(line).waits_for?;
        Some((report.sites[from.site].line, report.branch(from).outcome.as_str()))
    };
    assert_eq!(way(10), Some((9, "true")));
    assert_eq!(way(2), Some((9, "true")), "also in a function that is called behind it");
    assert_eq!(way(9), None, "this one is executed");
    assert!(page.contains("These branches wait for") && page.contains("left.c:9:"), "{page}");
}

#[test]
fn an_operand_that_no_input_changes_is_named() {
    let (_, report, page) = report();
    let stuck = report.sites.iter().find(|s| s.line == 9).expect("the condition");
    let branch = stuck.branches.iter().find(|b| b.outcome == "true").expect("the branch");
    assert_eq!(branch.best_distance, Some(1));
    assert!(branch.unchanged_over.is_some_and(|n| n >= 4), "{branch:?}");
    assert!(page.contains("the same for all"), "{page}");
    let others = report.sites.iter().filter(|s| s.line != 9).flat_map(|s| &s.branches);
    assert!(others.into_iter().all(|b| b.unchanged_over.is_none()), "operands of the others change or are unknown");
}

#[test]
fn results_stand_beside_the_tests() {
    let (_, report, page) = report();
    let ten = report.tests.iter().find(|t| t.result.as_ref().is_some_and(|r| r.decimal == "10")).expect("n == 4");
    let half = &ten.outputs.iter().find(|o| o.name == "half").expect("what lies behind the pointer").decimal;
    assert!(page.contains(&format!("10, *half = {half}")), "{page}");
}
