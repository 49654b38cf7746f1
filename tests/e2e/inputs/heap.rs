//! Arguments that the function frees or reallocates: memory from `malloc`, in the campaign and in the emitted test.

use std::process::Command;

use crate::{
    outputs::{branch_lines, is_taken},
    support::{Dir, is_covered, open_branches},
};

/// Runs a campaign on `f`. All branches must be covered, and the emitted tests must build and pass with a C library
/// that checks its heap, and take as many branches by gcov's count. Returns the text of the test program.
fn tested(dir: &Dir, file: &str, source: &str, options: &str) -> String {
    dir.file(file, source);
    let run = dir.fuzz(file, &format!("--max-evals 100000 --function f {options}")).exits(0);
    let report = dir.report("out");
    let open = open_branches(&report);
    run.expect(open.is_empty() && report.branches.total > 0, &format!("all branches, not {open:?}"));
    run.expect(report.sites.iter().flat_map(|s| &s.branches).all(is_covered), "no other status");
    let program = report.test_program.as_ref().expect("commands");
    let checked = format!("LD_PRELOAD=libc_malloc_debug.so.0 MALLOC_CHECK_=3 {}", program.run);
    let line = format!("cd out && {} && {checked} && {}", program.build, program.coverage);
    dir.other(Command::new("sh").args(["-c", &line]));
    let counts = dir.other(Command::new("sh").args(["-c", "cd out && gcov -b -t *.gcda"]));
    let taken = branch_lines(&counts, "f").into_iter().filter(|line| is_taken(line)).count();
    run.expect(taken == report.branches.total, "gcov's count");
    let programs = dir.files("out/tests");
    let (_, text) = programs.iter().find(|(name, _)| program.file.ends_with(name.as_str())).expect("a test program");
    String::from_utf8_lossy(text).into_owned()
}

const GROWS: &str = "#include <stdlib.h>
struct v { unsigned len, cap; double *x; };
int f(struct v *p, double d)
{
  if (p->len >= 4) return -2;
  if (p->len == p->cap) {
    double *q = (double *)realloc(p->x, (p->cap * 2 + 1) * sizeof *q);
    p->x = q;
    p->cap = p->cap * 2 + 1;
  }
  p->x[p->len++] = d;
  return p->len > 2;
}
";

#[test]
fn an_array_that_grows() {
    let dir = Dir::new();
    let text = tested(&dir, "f.c", GROWS, "");
    assert!(text.contains("double *in1_p_x = penfuzz_heap(in1_p_x_values, sizeof in1_p_x_values);"), "{text}");
}

#[test]
fn an_array_that_grows_in_a_table() {
    let dir = Dir::new();
    tested(&dir, "f.c", GROWS, "--test-style table");
}

/// The objects and their strings; one of them is the argument itself.
#[test]
fn a_list_that_is_freed() {
    let dir = Dir::new();
    let text = tested(
        &dir,
        "f.c",
        "#include <stdlib.h>
struct node { int n; struct node *next; char *name; };
int f(struct node *p)
{
  if (!p) return -1;
  int n = p->n;
  free(p->name);
  if (p->next) {
    if (p->next->n == 7) n++;
    free(p->next);
  }
  free(p);
  return n > 5 ? 2 : 1;
}
",
        "",
    );
    assert!(text.contains("f(in1_p)") && !text.contains("&in1_p)"), "{text}");
}

#[test]
fn an_object_that_cxx_code_frees() {
    let dir = Dir::new();
    let source = "#include <cstdlib>
struct node { int n; double *x; };
extern \"C\" int f(node *p, int k)
{
  if (k > 3) { std::free(p->x); p->x = nullptr; }
  if (k == 10) { int n = p->n; std::free(p); return n == 4; }
  return 0;
}
";
    tested(&dir, "f.cpp", source, "");
}

#[test]
fn an_array_that_is_freed_after_a_failed_realloc() {
    let dir = Dir::new();
    let source = "#include <stdlib.h>
int f(char *p, int k)
{
  if (k <= 3) return 0;
  int failed = !realloc(p, (size_t)1 << 62);
  free(p);
  return failed;
}
";
    let text = tested(&dir, "f.c", source, "");
    assert!(text.contains("(\"result\", result, 1)") && text.contains("penfuzz_heap("), "{text}");
}
