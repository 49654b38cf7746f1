//! Callbacks: the emitted tests check how often each was called, and the numbers that its last call passed.

use std::process::Command;

use super::made::{complete, has};
use crate::{outputs::build_line, support::Dir};

const VISIT: &str = "struct visitor { void (*see)(int index, double value, const char *name); int limit; };
int visit(const struct visitor *v, double (*scale)(float), double x)
{
  int seen = 0;
  if (x > 1000) return -1;
  while (x > 1.5 && seen < v->limit) {
    v->see(seen, x * 2, \"x\");
    x = x / 2;
    seen++;
  }
  if (scale((float)x) == 12.25) return 99;
  return seen;
}
";

#[test]
fn a_callback_of_numbers_and_pointers_is_checked() {
    let text = complete("visit.c", VISIT, "visit");
    has(&text, "static long penfuzz_stub1(int argument1, double argument2, const void *argument3)");
    has(&text, "static double penfuzz_stub0(float argument1)");
    has(&text, "penfuzz_check_f64(\"argument 2 of v->see in its last call\", penfuzz_stub1_argument2, ");
    has(&text, "penfuzz_check_signed(\"calls of scale\", penfuzz_calls0, 1)");
}

/// A program whose tests must fail when one part of the function is another.
pub(super) fn notices(file: &str, source: &str, options: &str, changes: &[(&str, &str)]) {
    let dir = Dir::new();
    dir.file(file, source);
    dir.fuzz(file, &format!("--max-evals 100000 --seed 1 {options}")).exits(0);
    let programs = dir.files("out/tests");
    let (_, text) = programs.iter().find(|(name, _)| name.starts_with("test_")).expect("a test program");
    let build = format!("cd out/tests && {}", build_line(&String::from_utf8_lossy(text)));
    dir.other(Command::new("sh").args(["-c", &build]));
    for (old, new) in changes {
        assert!(source.contains(old), "{old}");
        dir.file(file, source.replace(old, new));
        let ran = Command::new("sh").args(["-c", &build]).current_dir(dir.path("")).output().expect("sh runs");
        assert!(ran.status.code() == Some(1), "{new} is not noticed: {}", String::from_utf8_lossy(&ran.stdout));
    }
}

#[test]
fn tests_notice_other_arguments_and_other_numbers_of_calls() {
    let changes = [
        ("v->see(seen, x * 2,", "v->see(seen, x * 3,"),
        ("v->see(seen, x", "v->see(seen + 1, x"),
        ("v->see(seen, x * 2, \"x\");", "if (seen) v->see(seen, x * 2, \"x\");"),
        ("scale((float)x)", "scale((float)x + 1)"),
    ];
    notices("visit.c", VISIT, "", &changes);
}

const EACH: &str = "#include <vector>
enum class level { low, high = 7 };
int each(const std::vector<unsigned char> &all, bool (*keep)(unsigned char, level, bool &), long base)
{
  int n = 0;
  bool stop = false;
  for (unsigned char c : all) {
    if (keep(static_cast<unsigned char>(c + base), base > 10 ? level::high : level::low, stop)) n++;
  }
  return n;
}
";

#[test]
fn tests_in_cpp_notice_other_arguments() {
    notices("each.cpp", EACH, "", &[("c + base", "c - base"), ("level::high :", "level(8) :")]);
}

const UNKNOWN: &str = "struct pair { int a, b; };
int unknown(int (*print)(const char *, ...), int (*both)(struct pair, int), int (*old)(), int n)
{
  struct pair p = {n, 2};
  if (n > 5) return print(\"%d\", n) == 4;
  if (both(p, n) == 77) return 1;
  return old(n) == 3;
}
";

#[test]
fn a_callback_without_a_fixed_list_of_numbers_is_counted() {
    let text = complete("unknown.c", UNKNOWN, "unknown");
    has(&text, "penfuzz_check_signed(\"calls of print\", penfuzz_calls0, 1)");
    has(&text, "static int penfuzz_stub1()");
    notices("unknown.c", UNKNOWN, "", &[("both(p, n) == 77", "both(p, n) + 0 * both(p, n) == 77")]);
}
