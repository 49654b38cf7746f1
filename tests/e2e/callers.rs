//! Crashes that need a caller are confirmed through one, or do not count.

use std::collections::BTreeSet;

use penfuzz_report::{Finding, Grade, Report};

use crate::support::{Dir, Run};

fn fuzz<'d>(dir: &'d Dir, source: &str, status: i32) -> (Finding, Run<'d>) {
    let file = dir.file("f.c", source);
    let run = dir.fuzz(&file, "--function f --max-evals 60000 --no-prove").exits(status);
    let Report { mut crashes, .. } = dir.report("out");
    run.expect(crashes.len() == 1, "one crash");
    (crashes.remove(0), run)
}

const GUARDED: &str = "static int f(int n)\n{\n  if (n * n == 3) return 5;\n  if (n == 7) __builtin_trap();\n  \
                       return n > 3;\n}\n";

#[test]
fn a_crash_of_a_static_function_with_arguments_that_no_caller_passes_does_not_count() {
    let dir = Dir::new();
    let (crash, run) = fuzz(&dir, &format!("{GUARDED}int outer(int n) {{ return n > 5 ? 0 : f(n); }}\n"), 0);
    assert_eq!(
        (crash.grade, &crash.violates[..]),
        (Some(Grade::ViolatesPrecondition), &["called by outer".to_owned()][..])
    );
    assert_eq!(crash.callers[0].reproduces, Some(false));
    run.expect(run.stdout.contains("called by outer"), "what it relies on");
}

/// Through another static function.
#[test]
fn a_crash_of_a_static_function_is_confirmed_through_its_caller() {
    let dir = Dir::new();
    let callers = "static int middle(int n) { return f(n + 1); }\nint outer(int k) { return middle(k * 2); }\n";
    let (crash, run) = fuzz(&dir, &format!("{GUARDED}{callers}"), 3);
    assert_eq!((crash.grade, &crash.violates[..]), (Some(Grade::Confirmed), &[][..]));
    let outer = crash.confirmed_by().expect("a caller");
    assert_eq!((outer.name.as_str(), outer.args[0].decimal.as_str()), ("outer", "3"));
    run.expect(run.stdout.contains("confirmed: also through outer (k = 3)"), "the caller in the summary");
    let page = std::fs::read_to_string(dir.path("out/report.html")).expect("there is a page");
    assert!(page.contains("also through outer (k = 3)"), "{page}");
}

#[test]
fn a_static_function_without_callers_may_get_anything() {
    let dir = Dir::new();
    let (crash, _) = fuzz(&dir, &format!("{GUARDED}int (*callback)(int) = f;\n"), 3);
    assert_eq!((crash.grade, crash.callers.len()), (Some(Grade::Plausible), 0));
}

fn of_stack(body: &str) -> String {
    format!(
        "struct stack {{ int used, size; double x[8]; }};\n\
         void stack_init(struct stack *s, int size)\n{{\n  s->used = 0;\n  \
         s->size = size < 0 ? 0 : size > 8 ? 8 : size;\n}}\n\
         int f(const struct stack *s, int k)\n{{\n  if (!s) return 0;\n  if (k * k == 3) return 5;\n  {body}\n  \
         return k > 3;\n}}\n"
    )
}

#[test]
fn an_object_that_no_constructor_leaves_does_not_count() {
    let dir = Dir::new();
    let (crash, run) = fuzz(&dir, &of_stack("if (s->used > s->size) __builtin_trap();"), 0);
    assert_eq!(crash.violates, ["*s is made by stack_init"]);
    assert_eq!(crash.callers[0].reproduces, Some(false));
    run.expect(run.stdout.contains("*s is made by stack_init"), "what it relies on");
}

#[test]
fn a_crash_with_an_object_of_a_constructor_is_confirmed() {
    let dir = Dir::new();
    let (crash, run) = fuzz(&dir, &of_stack("if (s->size == 5 && k == 2) __builtin_trap();"), 3);
    assert_eq!(crash.grade, Some(Grade::Confirmed));
    run.expect(run.stdout.contains("confirmed: also if stack_init makes *s"), "the constructor in the summary");
}

#[test]
fn a_crash_with_any_object_needs_no_constructor() {
    let dir = Dir::new();
    let (crash, _) = fuzz(&dir, &of_stack("if (k == 2) __builtin_trap();"), 3);
    assert_eq!((crash.grade, crash.callers.len()), (Some(Grade::Plausible), 0));
}

#[test]
fn a_callback_that_returns_null_is_a_precondition() {
    let dir = Dir::new();
    let source = "struct memory { int *(*get)(int n); };\nint f(const struct memory *m, int k)\n{\n  \
                  if (!m) return 0;\n  if (k * k == 3) return 5;\n  m->get(k)[2] = k;\n  return 1;\n}\n";
    let (crash, _) = fuzz(&dir, source, 0);
    assert_eq!(crash.violates, ["m->get() != NULL"]);
}

#[test]
fn an_assertion_at_the_head_states_a_precondition() {
    let dir = Dir::new();
    let source = "#include <assert.h>\nint f(int n)\n{\n  assert(n < 40);\n  if (n * n == 3) return 5;\n  \
                  return n > 3;\n}\n";
    let (crash, _) = fuzz(&dir, source, 0);
    assert_eq!(crash.violates, ["n < 40"]);
}

#[test]
fn assertions_at_the_head_may_have_comments_and_several_lines() {
    let dir = Dir::new();
    let source = "#include <assert.h>\nstruct s { int n, open; };\nint f(const struct s *p, int n)\n{\n  \
                  assert(p); /* an object */\n  assert(!p->open); // a closed one\n  \
                  assert(n > -40 && /* not too small */\n         n < 40);\n  \
                  if (n * n == 3) return 5;\n  return n > p->n;\n}\n";
    let file = dir.file("f.c", source);
    dir.fuzz(&file, "--function f --max-evals 60000 --no-prove").exits(0);
    let report = dir.report("out");
    let violated: BTreeSet<_> = report.crashes.iter().flat_map(|c| &c.violates).map(String::as_str).collect();
    assert_eq!(Vec::from_iter(violated), ["!p->open", "n > -40 && n < 40", "p != NULL"]);
    for Finding { stack, .. } in &report.crashes {
        assert!(
            stack[0].starts_with("abort (") && stack.last().is_some_and(|last| last.starts_with("f (")),
            "{stack:?}"
        );
    }
}

#[test]
fn a_failing_assertion_about_a_computed_value_is_a_finding() {
    let dir = Dir::new();
    let source = "#include <assert.h>\nint f(int n)\n{\n  int half = n / 2;\n  assert(half != 20);\n  \
                  if (n * n == 3) return 5;\n  return n > 3;\n}\n";
    let (crash, _) = fuzz(&dir, source, 3);
    assert_eq!(crash.grade, Some(Grade::Plausible));
}

/// The caller passes what the assertion excludes.
#[test]
fn a_failing_assertion_of_a_static_function_is_confirmed_through_its_caller() {
    let dir = Dir::new();
    let source = "#include <assert.h>\nstatic int f(int n)\n{\n  assert(n < 40);\n  if (n * n == 3) return 5;\n  \
                  return n > 3;\n}\nint outer(int n) { return f(n); }\n";
    let (crash, _) = fuzz(&dir, source, 3);
    assert_eq!(crash.grade, Some(Grade::Confirmed));
}

#[test]
fn a_later_assertion_that_fails_is_a_finding() {
    let dir = Dir::new();
    let source = "#include <assert.h>\nint f(int n)\n{\n  if (n * n == 3) return 5;\n  int half = n / 2;\n  \
                  assert(half != 20);\n  return n > 3;\n}\n";
    let (crash, _) = fuzz(&dir, source, 3);
    assert_eq!(crash.grade, Some(Grade::Plausible));
}
