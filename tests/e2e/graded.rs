//! Crashes are graded: those whose inputs violate a likely precondition are not findings of the function.

use penfuzz_report::{Finding, Grade, Report};

use crate::support::{Dir, Run};

fn fuzz<'d>(dir: &'d Dir, source: &str, status: i32) -> (Report, Run<'d>) {
    let file = dir.file("f.c", source);
    let run = dir.fuzz(&file, "--function f --max-evals 60000 --no-prove").exits(status);
    (dir.report("out"), run)
}

fn violated(report: &Report) -> Vec<&str> {
    report.crashes.iter().flat_map(|crash| &crash.violates).map(String::as_str).collect()
}

fn grades(report: &Report) -> Vec<Option<Grade>> {
    report.crashes.iter().map(|crash| crash.grade).collect()
}

#[test]
fn a_null_that_the_function_does_not_expect_is_a_precondition() {
    let dir = Dir::new();
    let source = "struct s { int n; struct s *next; };\nint length(const struct s *p)\n{\n  int n = 0;\n  \
                  while (p->next) { p = p->next; n++; }\n  return n;\n}\n\
                  int f(const struct s *p, int k)\n{\n  if (k * k == 3) return 5;\n  \
                  if (k > 3) return p->next->n > 3;\n  return 0;\n}\n";
    let (report, run) = fuzz(&dir, source, 0);
    assert_eq!(violated(&report), ["p->next != NULL"]);
    assert!(report.crashes.iter().all(|crash| !Finding::counts(crash)));
    run.expect(run.stdout.contains("Relies on ("), "the preconditions in the summary");
    run.expect(!run.stdout.contains("CRASH"), "no crash in the summary");
    let page = std::fs::read_to_string(dir.path("out/report.html")).expect("there is a page");
    assert!(page.contains("<h2>Relies on (1)</h2>"), "{page}");
}

#[test]
fn a_null_that_the_function_compares_is_its_own_fault() {
    let dir = Dir::new();
    let source = "struct s { int n; };\nint f(const struct s *p, int x)\n{\n  if (!p && x < 0) return -1;\n  \
                  return p->n > 3;\n}\n";
    let (report, run) = fuzz(&dir, source, 3);
    assert_eq!(grades(&report), [Some(Grade::Plausible)]);
    run.expect(run.stdout.contains("CRASH  SIGSEGV"), "the crash in the summary");
}

#[test]
fn an_index_outside_of_an_argument_is_a_precondition() {
    let dir = Dir::new();
    let source = "struct s { int at; double x[4]; };\nint f(const struct s *s)\n{\n  if (!s) return 0;\n  \
                  if (s->at * s->at == 3) return 5;\n  return s->x[s->at] > 3;\n}\n";
    let (report, _) = fuzz(&dir, source, 0);
    assert_eq!(violated(&report), ["s->at <= 3"]);
}

#[test]
fn a_null_that_an_assertion_excludes_is_a_precondition() {
    let dir = Dir::new();
    let source = "#include <assert.h>\nstruct s { const char *name; int n; };\nint f(const struct s *p, int n)\n{\n  \
                  int sum = 0;\n  if (!p || n * n == 3) return 5;\n  \
                  for (int i = 0; i < n; i++) {\n    assert(p[i].name);\n    sum += p[i].name[0] == 'x';\n  }\n  \
                  return sum > 1;\n}\n";
    let (report, _) = fuzz(&dir, source, 0);
    let violated = violated(&report);
    assert!(!violated.is_empty() && violated.iter().all(|v| v.ends_with("name != NULL")), "{violated:?}");
}

const MODES: &str =
    "#include <stdlib.h>\nenum mode { SUM, DIFFERENCE, PRODUCT };\nstruct s { enum mode mode; int n; };\n";

#[test]
fn a_value_that_is_no_enumerator_is_a_precondition() {
    let switch = "{\n    case SUM: return n + 1;\n    case DIFFERENCE: return n - 1;\n    \
                  case PRODUCT: return 2 * n;\n  }\n  abort();\n}\n";
    let functions = [
        (format!("int f(enum mode mode, short n)\n{{\n  if (n * n == 3) return 5;\n  switch (mode) {switch}"), "mode"),
        (
            format!(
                "int f(const struct s *s)\n{{\n  if (!s || s->n > 999 || s->n < 0) return 0;\n  int n = s->n;\n  \
                 if (n * n == 3) return 5;\n  switch (s->mode) {switch}"
            ),
            "s->mode",
        ),
    ];
    for (function, name) in functions {
        let dir = Dir::new();
        let (report, _) = fuzz(&dir, &format!("{MODES}{function}"), 0);
        assert_eq!(violated(&report), [format!("{name} is an enumerator")], "{:?}", report.crashes);
    }
}

#[test]
fn a_wrong_check_of_an_enumeration_is_the_functions_own_fault() {
    let dir = Dir::new();
    let function = "int f(enum mode mode, short n)\n{\n  if (n * n == 3) return 5;\n  if (mode > 3) return -1;\n  \
                    if (mode == 3) abort();\n  return n;\n}\n";
    let (report, _) = fuzz(&dir, &format!("{MODES}{function}"), 3);
    assert_eq!(grades(&report), [Some(Grade::Plausible)]);
}

/// Behind a pointer that is moved before.
#[test]
fn memory_that_the_function_frees_is_a_precondition() {
    let dir = Dir::new();
    let source = "#include <stdlib.h>\nstruct v { int n; double *x; };\nint f(struct v *v)\n{\n  if (!v) return 0;\n  \
                  free(v->x + 1);\n  v->x = 0;\n  return v->n > 3;\n}\n";
    let (report, _) = fuzz(&dir, source, 0);
    assert_eq!(violated(&report), ["v->x is allocated by malloc"]);
    assert!(report.crashes[0].reason.contains("frees memory that malloc has not allocated"), "{:?}", report.crashes);
}

/// Also of an input that cannot be simplified.
#[test]
fn every_crash_by_freed_arguments_is_graded() {
    let dir = Dir::new();
    let source = "#include <stdlib.h>\nstruct it { struct it *next, *child; int type; char *s; };\n\
                  void f(struct it *p)\n{\n  while (p) {\n    struct it *next = p->next;\n    \
                  if (!(p->type & 256) && p->child) f(p->child);\n    \
                  if (!(p->type & 256) && p->s) { free(p->s + 1); p->s = 0; }\n    \
                  if (p->type * p->type == 3) return;\n    free(&p->type);\n    p = next;\n  }\n}\n";
    let (report, _) = fuzz(&dir, source, 0);
    assert!(report.crashes.len() > 1, "{:?}", report.crashes);
    assert!(violated(&report).contains(&"p->s is allocated by malloc"), "{:?}", report.crashes);
}

#[test]
fn memory_that_is_freed_twice_is_a_finding() {
    let dir = Dir::new();
    let source = "#include <stdlib.h>\nint f(char *p, int k)\n{\n  free(p);\n  if (k == 77) free(p);\n  \
                  return k * k == 3;\n}\n";
    let (report, _) = fuzz(&dir, source, 3);
    assert_eq!(grades(&report), [Some(Grade::Plausible)], "{:?}", report.crashes);
    assert!(report.crashes[0].reason.contains("twice"), "{:?}", report.crashes);
}

#[test]
fn a_use_of_freed_memory_is_a_finding() {
    let dir = Dir::new();
    let source = "#include <stdlib.h>\nstruct s { int n; struct s *next; };\nint f(struct s *p, int k)\n{\n  \
                  if (!p || !p->next) return 0;\n  if (k == 77) free(p);\n  if (k * k == 3) return 5;\n  \
                  return p->next->n > 3;\n}\n";
    let (report, _) = fuzz(&dir, source, 3);
    assert_eq!(grades(&report), [Some(Grade::Plausible)], "{:?}", report.crashes);
}

/// A list that ends at its own head, as those of kernels. The inputs have three nodes. The pointer of the last one is
/// null, because an input has no room for more.
#[test]
fn memory_that_inputs_have_no_room_for_is_a_precondition() {
    let dir = Dir::new();
    let source = "struct list { struct list *prev, *next; };\nstruct table { int n; struct list head; };\n\
                  int f(struct table *t)\n{\n  int n = 0;\n  if (t->n * t->n == 3) return -1;\n  \
                  for (struct list *p = t->head.next; p != &t->head; p = p->next) n++;\n  return n > t->n;\n}\n";
    let (report, _) = fuzz(&dir, source, 0);
    let all = violated(&report);
    assert!(!report.crashes.is_empty() && all.iter().all(|v| v.starts_with("t->head.next")), "{:?}", report.crashes);
}

/// A pointer to a structure that is cast to one of a larger structure, as in an interpreter's values.
#[test]
fn the_start_of_a_larger_object_is_a_precondition() {
    let dir = Dir::new();
    let source = "struct base { int kind; };\nstruct text { struct base base; int n; double x[4]; };\n\
                  int f(struct base *p)\n{\n  if (!p) return 0;\n  if (p->kind * p->kind == 3) return 1;\n  \
                  return ((struct text *)p)->x[2] > 4;\n}\n";
    let (report, _) = fuzz(&dir, source, 0);
    assert_eq!(violated(&report), ["*p is the start of a larger object"], "{:?}", report.crashes);
}

#[test]
fn faults_of_the_function_itself_count() {
    let dir = Dir::new();
    let source = "#include <stdlib.h>\nint f(const int *p, int n)\n{\n  int *x = 0;\n  if (!p) return 0;\n  \
                  if (n == 1234) return *x;\n  if (n == 77) abort();\n  return 100 / (n - 5);\n}\n";
    let (report, run) = fuzz(&dir, source, 3);
    assert_eq!(report.crashes.len(), 3, "{:?}", report.crashes);
    assert!(grades(&report).iter().all(|grade| *grade == Some(Grade::Plausible)), "{:?}", report.crashes);
    run.expect(!run.stdout.contains("Relies on"), "no precondition");
}

#[test]
fn a_wrong_check_of_an_index_is_the_functions_own_fault() {
    let dir = Dir::new();
    let source = "int f(const int a[3], int i) { if (i >= 0 && i <= 3 && a[i] == 5) return 1; return 0; }\n";
    let (report, _) = fuzz(&dir, source, 3);
    assert_eq!(grades(&report), [Some(Grade::Plausible)], "{:?}", report.crashes);
}
