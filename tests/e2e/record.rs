//! `penfuzz record`: calls that programs make while they run their own tests, as seeds of campaigns.

use std::{
    path::PathBuf,
    process::Command,
    thread::sleep,
    time::{Duration, Instant},
};

use penfuzz_report::{Finding, Grade, Site};

use crate::support::{Dir, Run, is_covered, open_branches, pen_cc};

/// Links the sources by pen-cc to the program `t`.
fn linked(dir: &Dir, options: &str, sources: &[(&str, &str)]) {
    let files: Vec<PathBuf> = sources.iter().map(|(name, text)| dir.file(name, text)).collect();
    dir.other(Command::new(pen_cc()).args(options.split_whitespace()).arg("-g").args(files).args(["-o", "t", "-lm"]));
}

/// Records a command line of the shell.
fn recorded<'a>(dir: &'a Dir, line: &str) -> Run<'a> {
    dir.penfuzz("record -o calls -- sh -c").arg(line).exits(0)
}

/// Number of recorded calls of a function.
fn n_calls(dir: &Dir, symbol: &str) -> usize {
    let text = std::fs::read_to_string(dir.path(format!("calls/{symbol}.calls"))).unwrap_or_default();
    text.lines().count()
}

/// A campaign that starts with the recorded calls covers all branches, and all without is less.
fn only_with_calls(dir: &Dir, file: &str, function: &str, evaluations: &str) {
    let options = format!("--function {function} --max-evals {evaluations} --seed 1");
    let without = dir.penfuzz(&format!("{file} {options} -o without")).run();
    without.expect(!open_branches(&dir.report("without")).is_empty(), "open branches without the recorded calls");
    let with = dir.penfuzz(&format!("{file} {options} -i calls -o with")).exits(0);
    let open = open_branches(&dir.report("with"));
    with.expect(open.is_empty(), &format!("all branches, not {open:?}"));
}

const TREE: &str = "#include <stdlib.h>
#include <string.h>
#include \"tree.h\"
struct node *make(const char *name, double w)
{
  struct node *n = calloc(1, sizeof *n);
  n->w = w;
  strncpy(n->name, name, 11);
  return n;
}
static unsigned hash(const char *s) { unsigned h = 5381; while (*s) h = h * 33 + (unsigned char)*s++; return h; }
int check(const struct tree *t, double x)
{
  if (!t->root) return 0;
  if (!t->root->left || !t->root->left->right) return 1;
  if (hash(t->root->left->right->name) % 100003 == 67842) {
    if (t->root->left->right->w > x) return 2;
    return 3;
  }
  return 4;
}
";
const TREE_HEADER: &str = "struct node { struct node *left, *right; char name[12]; double w; };
struct tree { struct node *root; unsigned n; };
struct node *make(const char *name, double w);
int check(const struct tree *t, double x);
";
const TREE_USER: &str = "#include <stdio.h>
#include \"tree.h\"
int main(void)
{
  struct tree t = {0, 3};
  int s = check(&t, 1);
  t.root = make(\"root\", 2);
  t.root->left = make(\"left\", 3);
  t.root->left->right = make(\"middle\", 4);
  printf(\"%d\\n\", s + check(&t, 5));
  return 0;
}
";

/// Deeper than memory that a model has of itself, with a name that no distance leads to.
#[test]
fn a_campaign_starts_with_a_recorded_tree() {
    let dir = Dir::new();
    dir.file("tree.h", TREE_HEADER);
    linked(&dir, "-O1", &[("tree.c", TREE), ("user.c", TREE_USER)]);
    let run = recorded(&dir, "./t");
    run.expect(run.stdout.contains("2 new calls of 1 functions"), "the number of calls");
    only_with_calls(&dir, "tree.c", "check", "100000");
}

/// Each class of the calling convention; the last ones are on the stack. The conditions hold for the recorded call
/// only, and there are too few evaluations for a search.
#[test]
fn arguments_of_each_class_are_those_of_the_call() {
    let dir = Dir::new();
    let function = "#include <stdbool.h>
        struct pair { double x; int n; };
        struct big { double v[3]; };
        struct fields { unsigned a : 3, b : 9; float f; };
        struct big f(signed char c, struct pair p, long double l, struct big g, float h, struct fields w, bool b,
                     unsigned long long u, int *q, _Complex double z, short s, struct pair e, int last)
        {
          struct big r = {{0, 0, 0}};
          if (c == -3 && p.x == 2.5 && p.n == -70000 && l == 1e4000L && g.v[2] == 9.25 && h == 0.1f && w.a == 5 &&
              w.b == 300 && w.f == -7.5f && b && u == 0xfedcba9876543210u && *q == 77 && __real__ z == 1.25 &&
              __imag__ z == -4.75 && s == -12345 && e.x == 6.5 && e.n == 17 && last == 1234567)
            r.v[0] = 1;
          return r;
        }";
    let user = "#include <stdbool.h>
        #include <stdio.h>
        struct pair { double x; int n; };
        struct big { double v[3]; };
        struct fields { unsigned a : 3, b : 9; float f; };
        struct big f(signed char, struct pair, long double, struct big, float, struct fields, bool, unsigned long long,
                     int *, _Complex double, short, struct pair, int);
        int main(void)
        {
          int q = 77;
          struct pair p = {2.5, -70000}, e = {6.5, 17};
          struct big g = {{7, 8, 9.25}};
          struct fields w = {5, 300, -7.5f};
          _Complex double z = 1.25 - 4.75i;
          struct big r = f(-3, p, 1e4000L, g, 0.1f, w, true, 0xfedcba9876543210u, &q, z, -12345, e, 1234567);
          return r.v[0] == 1 ? 0 : 1;
        }";
    linked(&dir, "-O2", &[("f.c", function), ("user.c", user)]);
    recorded(&dir, "./t");
    assert_eq!(n_calls(&dir, "f"), 1);
    let run = dir.fuzz("f.c", "--function f --max-evals 3 -i calls").exits(0);
    let report = dir.report("out");
    let is_taken = |s: &Site| s.branches.iter().any(|b| b.outcome == "true" && is_covered(b));
    let open: Vec<u32> = report.sites.iter().filter(|s| !is_taken(s)).map(|s| s.column).collect();
    run.expect(open.is_empty() && report.sites.len() == 18, &format!("each condition holds, but for columns {open:?}"));
}

/// Children of all kinds are followed, and the program does what it does otherwise.
#[test]
fn children_threads_and_signals() {
    let dir = Dir::new();
    let source = "#define _GNU_SOURCE
        #include <pthread.h>
        #include <signal.h>
        #include <spawn.h>
        #include <stdio.h>
        #include <stdlib.h>
        #include <sys/wait.h>
        #include <unistd.h>
        extern char **environ;
        static volatile int n_signals;
        __attribute__((noinline)) int f(int where, int n) { if (n > 3) return where; return where + n; }
        static void handle(int s) { n_signals += s == SIGTRAP || s == SIGUSR1; }
        static void *run(void *n) { return (void *)(long)f(2, *(int *)n); }
        int main(int argc, char **argv)
        {
          if (argc > 1) return f(5, 1) == 6 ? 0 : 1;
          signal(SIGTRAP, handle);
          signal(SIGUSR1, handle);
          raise(SIGTRAP);
          raise(SIGUSR1);
          int sum = 0, status;
          pthread_t threads[4];
          int numbers[4] = {1, 2, 3, 4};
          for (int i = 0; i < 4; i++) pthread_create(&threads[i], 0, run, &numbers[i]);
          for (int i = 0; i < 4; i++) { void *r; pthread_join(threads[i], &r); sum += (int)(long)r; }
          if (!fork()) _exit(f(3, 2));
          wait(&status);
          sum += WEXITSTATUS(status);
          if (!vfork()) _exit(f(4, 2));
          wait(&status);
          sum += WEXITSTATUS(status);
          pid_t child;
          char *arguments[] = {argv[0], (char *)\"again\", 0};
          if (posix_spawn(&child, argv[0], 0, 0, arguments, environ)) return 2;
          waitpid(child, &status, 0);
          printf(\"sum %d, %d signals, %d\\n\", sum + f(1, 1), n_signals, WEXITSTATUS(status));
          return 0;
        }";
    linked(&dir, "-O1 -pthread", &[("t.c", source)]);
    let plain = dir.other(&mut Command::new("./t"));
    let traced = recorded(&dir, "./t && ./t & ./t; wait").stdout.clone();
    assert_eq!(plain, "sum 27, 2 signals, 0\n");
    assert_eq!(traced.matches("sum 27, 2 signals, 0\n").count(), 3, "{traced}");
    let calls = std::fs::read_to_string(dir.path("calls/f.calls")).expect("a recording");
    let from = |where_: u32| calls.contains(&format!("{{\"arguments\":[\"{where_:02x}000000\","));
    assert!((1..=5).all(from), "main, threads, fork, vfork and another program: {calls}");
}

/// The functions of a library that a program loads are recorded, also if pen-cc has not linked the program.
#[test]
fn functions_of_a_shared_library() {
    let dir = Dir::new();
    dir.file("lib.c", "int f(const char *text, int n) { if (text[0] == 'a') return n; return 0; }");
    dir.file("user.c", "int f(const char *, int); int main(void) { return f(\"abc\", 0) + f(\"\", 3); }");
    dir.other(Command::new(pen_cc()).args(["-g", "-shared", "-fPIC", "lib.c", "-o", "libf.so"]));
    dir.other(Command::new("gcc").args(["user.c", "-o", "t", "-L.", "-lf", "-Wl,-rpath,$ORIGIN"]));
    recorded(&dir, "./t");
    assert_eq!(n_calls(&dir, "f"), 2);
    let again = recorded(&dir, "./t");
    again.expect(again.stdout.contains("0 new calls of 1 functions"), "no new calls");
    assert_eq!(n_calls(&dir, "f"), 2, "equal calls are kept once");
}

/// The input has no room for all of the memory of the call. That is no crash of the function.
#[test]
fn a_call_that_does_not_fit_is_no_crash() {
    let dir = Dir::new();
    let function = "#include \"s.h\"
        double f(const struct s *p) { double sum = 0; for (unsigned i = 0; i < p->n; i++) sum += p->x[i];
                                      if (sum * sum == 3.0) return -1.0;
                                      return sum > 100.0 ? 1.0 : 0.0; }";
    dir.file("s.h", "struct s { unsigned n; double *x; }; double f(const struct s *);");
    let user = "#include <stdlib.h>
        #include \"s.h\"
        int main(void)
        { struct s s = {9000, calloc(9000, sizeof(double))}; s.x[8999] = 200; return f(&s) == 1.0 ? 0 : 1; }";
    linked(&dir, "-O1", &[("f.c", function), ("user.c", user)]);
    recorded(&dir, "./t");
    let run = dir.fuzz("f.c", "--function f --max-evals 2000 -i calls").run();
    let report = dir.report("out");
    run.expect(report.crashes.iter().all(|c| c.grade != Some(Grade::Plausible)), "no plausible crash");
}

/// The number of elements of recorded blocks is the value of a member, so campaigns keep to it.
#[test]
fn the_length_of_recorded_arrays_is_learnt() {
    let dir = Dir::new();
    let function = "#include \"s.h\"
        int f(const struct s *p, unsigned i)
        { if (i >= p->used + p->room) return -1; if (p->x[i] == 8.5) return 1; return p->room == 3; }";
    dir.file("s.h", "struct s { unsigned used, room; double *x; }; int f(const struct s *, unsigned);");
    let user = "#include <stdlib.h>
        #include \"s.h\"
        int main(void)
        { int sum = 0;
          for (unsigned n = 4; n < 40; n += 5) {
            struct s s = {n, 0, calloc(n, sizeof(double))};
            for (unsigned i = 0; i < n; i++) sum += f(&s, i);
          }
          return sum; }";
    linked(&dir, "-O1", &[("f.c", function), ("user.c", user)]);
    recorded(&dir, "./t");
    let run = dir.fuzz("f.c", "--function f --max-evals 5000 -i calls").run();
    let manifest = String::from_utf8(dir.files("out")["campaign.json"].clone()).expect("text");
    run.expect(manifest.contains("p->used"), &format!("a length in {manifest}"));
}

const WINDOW: &str = "#include \"w.h\"
int f(int lo, int hi)
{
  static const int weights[8] = {1, 2, 3};
  if (lo < -8 || hi > 8) return -1;
  if (lo * lo == 3) return -2;
  return weights[hi - lo] == 3;
}
";
const WINDOW_USER: &str = "#include \"w.h\"
int main(void)
{
  int sum = 0;
  for (int lo = -7; lo < 4; lo++)
    for (int hi = lo; hi <= 8 && hi < lo + 5; hi += 2) sum += f(lo, hi);
  return sum < 0;
}
";

/// A crash does not count if its input violates a condition that all recorded calls satisfy. A window that is too wide
/// for the table violates none: it is found, too, although the place is the same.
#[test]
fn crashes_that_violate_a_condition_of_all_recorded_calls_do_not_count() {
    let dir = Dir::new();
    dir.file("w.h", "int f(int lo, int hi);");
    linked(&dir, "-O1", &[("w.c", WINDOW), ("user.c", WINDOW_USER)]);
    recorded(&dir, "./t");
    let stated = String::from_utf8(dir.files("calls")["preconditions.txt"].clone()).expect("text");
    assert!(stated.contains("\nf: PEN_ASSUME(lo <= hi); // "), "{stated}");
    assert_eq!(stated.lines().filter(|l| l.starts_with("f: ")).count(), 1, "nothing else: {stated}");
    let options = "--function f --max-evals 20000 --seed 1 --cflag -fsanitize=bounds --cflag -fsanitize-trap=bounds";
    dir.penfuzz(&format!("w.c {options} -o without")).exits(3);
    let run = dir.penfuzz(&format!("w.c {options} -i calls -o with")).run();
    let report = dir.report("with");
    let violating = |c: &Finding| c.violates.contains(&"lo <= hi".to_owned());
    run.expect(report.crashes.iter().any(violating), "a crash with lo > hi");
    run.expect(report.crashes.iter().all(|c| c.counts() != violating(c)), "it does not count");
    run.expect(report.crashes.iter().any(Finding::counts), "a crash with lo <= hi");
    run.expect(run.status.code() == Some(3), "it is counted");
    // The user drops the condition.
    let file = dir.path("with/preconditions.txt");
    let own = std::fs::read_to_string(&file).expect("the conditions of the campaign");
    std::fs::write(&file, own.replace("f: PEN_ASSUME(lo", "// f: PEN_ASSUME(lo")).expect("written");
    dir.penfuzz(&format!("w.c {options} -o with")).exits(3);
    assert!(dir.report("with").crashes.iter().all(Finding::counts), "all count");
    dir.file("calls/preconditions.txt", "f: PEN_ASSUME(g(lo));\n");
    let refused = dir.penfuzz(&format!("w.c {options} -i calls -o refused")).exits(1);
    refused.says("preconditions.txt").says("line 1 is not `FUNCTION: PEN_ASSUME(CONDITION);`");
}

#[test]
fn a_suite_starts_with_recorded_calls() {
    let dir = Dir::new();
    dir.file("tree.h", TREE_HEADER);
    linked(&dir, "-O1", &[("tree.c", TREE), ("user.c", TREE_USER)]);
    recorded(&dir, "./t");
    let suite = "name = \"trees\"\nsources = \".\"\nrecorded = \"calls\"\n[[target]]\nname = \"check\"\n\
                 file = \"tree.c\"\nfunction = \"check\"\n";
    dir.file("suite.toml", suite);
    let run = dir.penfuzz("suite suite.toml --max-evals 100000 --seed 1 -o all").exits(0);
    let open = open_branches(&dir.report("all/check"));
    run.expect(open.is_empty(), &format!("all branches, not {open:?}"));
}

#[test]
fn the_tests_of_a_build_directory() {
    let dir = Dir::new();
    let function = "__attribute__((noinline)) int f(int n) { if (n > 3) return 1; return 0; }";
    linked(&dir, "-O1", &[("t.c", &format!("{function} int main(void) {{ return f(2) + f(1); }}"))]);
    dir.file("Makefile", "check:\n\t./t\n");
    dir.penfuzz("record --build . -o calls").exits(0);
    assert_eq!(n_calls(&dir, "f"), 2, "make check");
    let list = "cmake_minimum_required(VERSION 3.10)\nproject(t C)\nenable_testing()\nadd_test(NAME t COMMAND ../t)\n";
    dir.file("CMakeLists.txt", list);
    dir.other(Command::new("cmake").args(["-S", ".", "-B", "b"]));
    dir.penfuzz("record --build b -o again").exits(0);
    assert!(dir.path("again/f.calls").exists(), "ctest");
}

/// SIGTERM ends the recorder and the command; the calls so far are there.
#[test]
fn sigterm_ends_a_recording() {
    let dir = Dir::new();
    let source = "#include <unistd.h>
        __attribute__((noinline)) int f(int n) { if (n > 3) return 1; return 0; }
        int main(void) { for (;;) { f(getpid()); usleep(1000); } }";
    linked(&dir, "-O1", &[("t.c", source)]);
    let mut running = dir.penfuzz("record -o calls -- ./t").start();
    running.until("a recorded call", || n_calls(&dir, "f") > 0);
    running.signal(libc::SIGTERM);
    running.wait().says("./t: stopped before it ended");
    let program = dir.path("t").canonicalize().expect("the program");
    let is_alive = || {
        let processes = std::fs::read_dir("/proc").expect("processes").flatten();
        processes.filter_map(|p| std::fs::read_link(p.path().join("exe")).ok()).any(|p| p == program)
    };
    let begun = Instant::now();
    while is_alive() && begun.elapsed() < Duration::from_secs(10) {
        sleep(Duration::from_millis(10));
    }
    assert!(!is_alive(), "the command has ended");
}

#[test]
fn commands_that_cannot_be_recorded() {
    let dir = Dir::new();
    dir.file("f", "a file");
    dir.penfuzz("record").exits(2);
    dir.penfuzz("record --build f").exits(1).says("f is no build directory of Meson, CMake (with tests) or make");
    dir.penfuzz("record -- ./nosuch").exits(1).says("./nosuch: cannot be run");
    dir.penfuzz("record -- true").exits(1).says("calls no function that pen-cc has compiled");
    dir.penfuzz("record -o f -- true").exits(1).says("f cannot be created");
    linked(
        &dir,
        "-O1",
        &[(
            "t.c",
            "__attribute__((noinline)) int f(int n) { if (n > 3) return 1; return 0; }
             int main(void) { return 5 + f(2); }",
        )],
    );
    dir.penfuzz("record -- ./t").exits(1).says("exit status: 5").says("its calls are recorded");
    let listed = dir.files("penfuzz-recorded");
    assert_eq!(listed.keys().collect::<Vec<_>>(), ["f.calls", "preconditions.txt"]);
}

const KEYWORD: &str = "#include \"keyword.h\"
int keyword(const struct parser *p)
{
  unsigned h = 2166136261u;
  if (p->end - p->cur < 6 || p->cur == p->start) return 0;
  for (int i = 0; i < 6; i++) h = (h ^ (unsigned char)p->cur[i]) * 16777619u;
  return h == 2480955249u ? 2 : 3;
}
";
const KEYWORD_HEADER: &str = "struct parser { const char *start, *cur, *end; };
int keyword(const struct parser *p);
";
const KEYWORD_USER: &str = "#include <stdio.h>
#include <string.h>
#include \"keyword.h\"
int main(void)
{
  char text[] = \"let switch(x);\";
  struct parser p = {text, text + 4, text + strlen(text)};
  printf(\"%d\\n\", keyword(&p));
  return 0;
}
";

/// The input has the distances of the recorded addresses.
#[test]
fn a_campaign_starts_with_a_recorded_cursor() {
    let dir = Dir::new();
    dir.file("keyword.h", KEYWORD_HEADER);
    linked(&dir, "-O1", &[("keyword.c", KEYWORD), ("user.c", KEYWORD_USER)]);
    recorded(&dir, "./t");
    only_with_calls(&dir, "keyword.c", "keyword", "20000");
}
