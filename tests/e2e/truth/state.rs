//! State that a call changes does not affect the next evaluation.

use std::{path::Path, process::Command};

use crate::{
    outputs::gcov_agrees,
    support::{Dir, is_covered, pen_cc},
};

/// Returns the number of branches that a campaign on a C text covers, and of all branches; gcov must count the same for
/// its tests.
fn covered(text: &str) -> (usize, usize) {
    let dir = Dir::new();
    let file = dir.file("subject.c", text);
    gcov_agrees(&file, "-f subject --max-evals 200000", "subject");
    covered_in(&dir, &file, "-f subject")
}

fn covered_in(dir: &Dir, target: &Path, arguments: &str) -> (usize, usize) {
    dir.fuzz(target, &format!("--max-evals 200000 {arguments}")).exits(0);
    let report = dir.report("out");
    let taken = report.sites.iter().flat_map(|s| &s.branches).filter(|b| is_covered(b)).count();
    assert_eq!(taken, report.branches.covered, "the branches and their number");
    (report.branches.covered, report.branches.total)
}

/// As in a fresh process, `calls` is 1 in each evaluation.
#[test]
fn a_counter_of_calls_is_1_in_each_evaluation() {
    let text = "static int calls;
                int subject(double x) { calls++; if (calls > 5 && x > 3) return 1; return 0; }";
    assert_eq!(covered(text), (1, 4));
}

#[test]
fn a_function_static_variable_is_restored() {
    let text = "double subject(double u) {
                  static double state = 1.0;
                  if (state > 100.0) return -1.0;
                  state += u > 0.0 ? u : 0.0;
                  if (state > 100.0) return 1.0;
                  return state;
                }";
    assert_eq!(covered(text), (5, 6));
}

/// Each evaluation is like the first call of a test: the loop that fills the table runs, and `if (!ready)` is never
/// false.
#[test]
fn a_table_that_is_filled_lazily_is_filled_in_each_evaluation() {
    let text = "static int table[16], ready;
                int subject(int x) {
                  if (!ready) { for (int i = 0; i < 16; i++) table[i] = i * i; ready = 1; }
                  return table[x & 15] == 49;
                }";
    assert_eq!(covered(text), (3, 4));
}

#[test]
fn thread_local_variables_are_restored() {
    let text = "static _Thread_local int calls = 3;
                int subject(int x) { if (++calls > 4) return x; return 0; }";
    assert_eq!(covered(text), (1, 2));
}

/// The variable is reached only through a table of functions, one of which gets its address from another variable.
#[test]
fn variables_behind_pointers_are_restored() {
    let text = "static int hidden;
                static int *const address = &hidden;
                static int count(int x) { return (*address)++ + x * 0; }
                static int (*const table[])(int) = {count};
                int subject(unsigned n, int x) { if (table[n % 1](x) > 0) return 1; return 0; }";
    assert_eq!(covered(text), (1, 2));
}

/// A pointer that a constructor has stored is followed, too.
#[test]
fn variables_that_a_constructor_stored_are_restored() {
    let text = "static int hidden; static int *pointer;
                __attribute__((constructor)) static void prepare(void) { pointer = &hidden; hidden = 7; }
                int subject(int x) { if (++*pointer != 8) return x; return 0; }";
    assert_eq!(covered(text), (1, 2));
}

#[test]
fn cxx_objects_of_functions_and_templates_are_restored() {
    let dir = Dir::new();
    let text = "struct counter { int n = 5; int next() { return ++n; } };
                template <typename T> counter &shared() { static counter it; return it; }
                static counter global;
                extern \"C\" int subject(int x) {
                  if (shared<int>().next() > 6) return 1;
                  if (global.next() > 6) return 2;
                  return x;
                }";
    let file = dir.file("subject.cc", text);
    assert_eq!(covered_in(&dir, &file, "-f subject"), (2, 4));
}

/// State in another translation unit, and in one that pen-cc did not compile: for that, only the sections of the file
/// are known.
#[test]
fn variables_of_other_objects_are_restored() {
    for compiler in [pen_cc(), "cc".into()] {
        let dir = Dir::new();
        dir.file("other.c", "static long calls; int more(int x) { return ++calls > 1 ? x : 0; }\n");
        dir.file("subject.c", "int more(int); int subject(int x) { if (more(x) == 77) return 1; return 0; }\n");
        dir.other(
            Command::new(compiler)
                .args(["-c", "-fPIC", "-g", "-O1", "other.c", "-o", "other.o"])
                .current_dir(dir.path("")),
        );
        let link = ["-g", "subject.c", "other.o", "-o", "subject"];
        dir.other(Command::new(pen_cc()).args(link).current_dir(dir.path("")));
        assert_eq!(covered_in(&dir, &dir.path("subject"), "-f subject --scope function").0, 1);
    }
}

/// Without state there is nothing to restore. The report lists the state that there is.
#[test]
fn the_report_lists_the_state() {
    let dir = Dir::new();
    let file = dir.file(
        "subject.c",
        "static int unused; static const int table[] = {1, 2};
         static double last[3]; int touch(void) { return unused++; }
         double subject(double x) { last[1] = x; return x > last[2] ? table[0] : table[1]; }
         double pure(double x) { return x > 2.0 ? table[0] : 0.0; }",
    );
    dir.penfuzz("-f subject --max-evals 1000 -o with").arg(&file).exits(0);
    let listed: Vec<_> = dir.report("with").shared_state.iter().map(|v| (v.name.clone(), v.size, v.line)).collect();
    assert_eq!(listed, [("last".to_owned(), 24, 2)]);
    dir.penfuzz("-f pure --max-evals 1000 -o without").arg(&file).exits(0);
    assert!(dir.report("without").shared_state.is_empty());
}

/// Allocates blocks of all sizes. Some are freed, reallocated, passed to the C library or taken over from it; the
/// others leak. The allocator itself counts the memory in use.
const LEAKING: &str = "#define _GNU_SOURCE
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static char **kept;
int leaking(unsigned n, unsigned which)
{
  struct mallinfo2 used = mallinfo2();
  if (used.uordblks + used.hblkhd > (256u << 20)) return -1;
  n %= 300;
  kept = calloc(n + 1, sizeof *kept);
  for (unsigned i = 0; i < n; i++) {
    kept[i] = malloc((size_t)1 << (i + which) % 20);
    kept[i][0] = 0;
    if (i % 3 == which % 3) kept[i] = realloc(kept[i], 50000);
    if (i % 5 == which % 5) { free(kept[i]); kept[i] = strdup(\"text\"); }
  }
  size_t size = 1;
  char *line = malloc(size);
  FILE *f = fmemopen(\"a long line\\n\", 12, \"r\");
  if (f) { getline(&line, &size, f); fclose(f); }
  if (strlen(line) != 12) return -2;
  putenv(strdup(\"PEN_TEST=1\"));
  if (!getenv(\"PEN_TEST\")) return -3;
  return n == 299 ? 1 : 0;
}
";

#[test]
fn memory_allocated_by_evaluations_is_freed() {
    let dir = Dir::new();
    dir.file("leaking.c", LEAKING);
    // Together they allocate about 40 GB: 150 blocks of 50 KB on average, each time.
    let run = dir.fuzz("leaking.c", "--max-evals 5000 --seed 1").exits(0);
    let report = dir.report("out");
    let covered: Vec<_> = report.sites.iter().filter(|s| s.branches.iter().all(is_covered)).map(|s| s.line).collect();
    run.expect(
        !covered.iter().any(|line| [10, 23, 25].contains(line)),
        &format!("256 MiB are never in use, and nothing is lost: {covered:?}"),
    );
    run.expect(covered.contains(&26), "the last line");
}

/// Writes past the end of its memory, and frees it. No square is 3, so the search continues.
const DAMAGING: &str = "#include <stdlib.h>
int damaging(unsigned n, int which)
{
  volatile char *a = malloc(16), *b = malloc(16);
  for (unsigned i = 0; i < n % 4096; i++) a[i] = 'x';
  b[0] = 0;
  free((void *)b);
  free((void *)a);
  if (n * n == 3) return 2;
  return which == 1234567 ? 1 : 0;
}
";

#[test]
fn damage_of_the_heap_costs_no_process() {
    let dir = Dir::new();
    dir.file("damaging.c", DAMAGING);
    let run = dir.fuzz("damaging.c", "--max-evals 20000 --seed 1").exits(3);
    let report = dir.report("out");
    let last = report.sites.last().expect("a site");
    run.expect(last.branches.iter().all(is_covered), "both branches of the last line");
    let state: serde_json::Value = serde_json::from_slice(&dir.files("out")["state.json"]).expect("a state");
    run.expect(state["workers"] == 1, &format!("one process made all evaluations: {}", state["workers"]));
}
