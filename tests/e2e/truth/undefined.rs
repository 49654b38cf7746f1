//! Undefined behaviour that an optimizer may remove, but that occurs in a test compiled at -O0.

use crate::support::Dir;

/// Returns the numbers of covered branches, of those that only a crash covers, and of all branches. The emitted program
/// must build, and its checks must hold.
fn figures(text: &str) -> (usize, usize, usize) {
    let dir = Dir::new();
    let target = dir.file("subject.c", text);
    let run = dir.fuzz(&target, "-f subject --max-evals 300000").run();
    let report = dir.report("out");
    let program = report.test_program.expect("the commands");
    let line = format!("cd out && {} && ./{}", program.build, program.run);
    dir.other(std::process::Command::new("sh").args(["-c", &line]));
    let b = report.branches;
    run.expect(!report.crashes.is_empty(), "the trap is a crash");
    assert!(report.crashes.iter().all(|c| c.reason.contains("SIGFPE")), "{:?}", report.crashes);
    (b.covered, b.covered_by_crash_only, b.total)
}

/// At -O2 the division is moved after the `return 1`.
#[test]
#[cfg(target_arch = "x86_64")]
fn a_division_by_zero_traps_also_where_its_quotient_is_not_used() {
    let text = "int subject(int a, int b) {
                  int quotient = a / b;
                  if (b == 0) { if (a == 1000) return 2; return 1; }
                  return quotient;
                }";
    assert_eq!(figures(text), (1, 0, 4));
}

#[test]
#[cfg(target_arch = "x86_64")]
fn a_remainder_and_an_overflow_of_a_division_trap() {
    let remainder = "unsigned subject(unsigned a, unsigned b) {
                       unsigned rest = a % b;
                       if (b == 0) return 1;
                       return rest;
                     }";
    assert_eq!(figures(remainder), (1, 0, 2));
    let overflow = "#include <limits.h>
                    long subject(long a, long b) {
                      if (b > -1 || b < -2) return 0;
                      long quotient = a / b;
                      if (b == -1) { if (a == LONG_MIN) return 2; return 1; }
                      return quotient;
                    }";
    assert_eq!(figures(overflow), (7, 0, 8));
}
