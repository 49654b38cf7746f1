//! Sequences of calls, and functions that create the object on which the calls operate.

use std::process::Command;

use penfuzz_report::Report;

use crate::{
    outputs::{build_line, gcov},
    support::{Dir, Run, open_branches},
};

/// Builds and runs the emitted tests, compares gcov's count for these symbols with the report, and returns the report
/// and the text of the test program.
pub fn tested(dir: &Dir, symbols: &[&str]) -> (Report, String) {
    let report = dir.report("out");
    let programs = dir.files("out/tests");
    let (_, text) = programs.iter().find(|(name, _)| name.starts_with("test_")).expect("a test program");
    let text = String::from_utf8_lossy(text).into_owned();
    // The command fails if the program does.
    dir.other(Command::new("sh").args(["-c", &format!("cd out/tests && {}", build_line(&text))]));
    let counts = symbols.iter().map(|symbol| gcov(dir, symbol));
    let count = counts.fold((0, 0), |all, own| (all.0 + own.0, all.1 + own.1));
    assert_eq!(count, (report.branches.covered, report.branches.total), "gcov's count of\n{text}");
    (report, text)
}

/// Runs a campaign on `target`, which must cover all branches, checks its tests as [`tested`], and returns their text.
fn complete(dir: &Dir, target: &str, arguments: &str, symbol: &str) -> String {
    let run = dir.fuzz(target, &format!("--max-evals 200000 --seed 1 {arguments}")).exits(0);
    let (report, text) = tested(dir, &[symbol]);
    let open = open_branches(&report);
    run.expect(open.is_empty() && report.branches.total > 0, &format!("all branches, not {open:?}"));
    text
}

/// Standard output must contain this text.
pub fn shows(run: &Run, text: &str) {
    run.expect(run.stdout.contains(text), &format!("`{text}` on standard output"));
}

pub fn has(text: &str, part: &str) {
    assert!(text.contains(part), "{part} is not in\n{text}");
}

const PID: &str = "#include <stddef.h>
typedef struct {
  float kp, ki, kd, low, high, limit, alpha;
  float integral, last, filtered;
  int started, saturated;
} pid_state_t;

int pid_init(pid_state_t *s, float kp, float ki, float kd, float low, float high)
{
  if (!(kp >= 0) || !(ki >= 0) || !(kd >= 0)) return -1;
  if (!(low < high)) return -2;
  s->kp = kp;
  s->ki = ki;
  s->kd = kd;
  s->low = low;
  s->high = high;
  s->limit = (high - low) / 2;
  s->alpha = kd > 0 ? 0.5f : 0;
  return 0;
}

float pid_step(pid_state_t *s, float setpoint, float measured, float dt)
{
  if (s == NULL) return 0;
  if (!(dt > 0) || dt > 10) return 0;
  float error = setpoint - measured;
  if (error != error) return 0;
  if (s->saturated < 3 || error * s->integral < 0) s->integral += error * dt;
  if (s->integral > s->limit) s->integral = s->limit;
  else if (s->integral < -s->limit) s->integral = -s->limit;
  float derivative = 0;
  if (s->started) {
    derivative = (error - s->last) / dt;
    if (s->alpha > 0) {
      s->filtered += s->alpha * (derivative - s->filtered);
      derivative = s->filtered;
    }
  }
  s->started = 1;
  s->last = error;
  float out = s->kp * error + s->ki * s->integral + s->kd * derivative;
  if (out > s->high) {
    out = s->high;
    s->saturated++;
  } else if (out < s->low) {
    out = s->low;
    s->saturated++;
  } else {
    s->saturated = 0;
  }
  if (s->saturated == 2) return out / 2;
  return out;
}
";

#[test]
fn a_controller_behind_its_initialiser() {
    let dir = Dir::new();
    dir.file("pid.c", PID);
    let text = complete(&dir, "pid.c", "-f pid_step --init pid_init --calls 8", "pid_step");
    has(&text, "pid_state_t in1_s = {0};");
    has(&text, "pid_init(&in1_s, 0.0f, ");
    has(&text, "pid_step(&in1_s, 0.0f, ");
    has(&text, "pid_step(0, ");
    has(&text, "\"s->integral\", in1_s.integral");
    let shown = dir.penfuzz("functions pid.c -f pid_step --init pid_init --calls 8").exits(0);
    shows(&shown, "s: pid_state_t, constructed by pid_init");
    shows(&dir.penfuzz("functions pid.c -f pid_step").exits(0), "initialisers: pid_init (--init pid_init)");
}

#[test]
fn a_counter_in_a_static_variable_has_the_fewest_calls() {
    let dir = Dir::new();
    dir.file("g.c", "static int calls; int g(double x) { calls++; if (calls > 5 && x > 3) return 1; return 0; }");
    let text = complete(&dir, "g.c", "--calls 8", "g");
    let most = text.split("puts(").map(|test| test.matches("\"result\", g(").count()).max();
    assert!(most == Some(6), "six calls are enough:\n{text}");
    let report = dir.report("out");
    assert_eq!(report.signature.calls, 8);
    assert!(
        report.tests.iter().all(|t| t.args.iter().filter(|a| a.is_call()).count() == 6),
        "the sequence is in the report"
    );
}

const STACK: &str = "#include <stdlib.h>
struct stack { int n, capacity; double *data; };
struct stack *stack_new(int capacity)
{
  if (capacity < 1 || capacity > 64) return 0;
  struct stack *s = malloc(sizeof *s);
  s->n = 0;
  s->capacity = capacity;
  s->data = malloc(capacity * sizeof(double));
  for (int i = 0; i < 3 && i < capacity; i++) s->data[s->n++] = i;
  return s;
}
int stack_pop(struct stack *s)
{
  if (s->n == 0) return -1;
  s->n--;
  if (s->data[s->n] > 1) return 2;
  return 1;
}
";

const USER: &str = "struct stack;
int stack_pop(struct stack *s);
int drain(struct stack *s, int n)
{
  int k = 0;
  for (int i = 0; i < n && i < 100; i++) if (stack_pop(s) > 0) k++;
  return k == 3 ? 7 : 0;
}
";

#[test]
fn an_opaque_handle_comes_from_the_function_that_makes_it() {
    let dir = Dir::new();
    dir.file("stack.c", STACK);
    dir.file("user.c", USER);
    let text = complete(&dir, "user.c", "--with stack.c -f drain", "drain");
    has(&text, "struct stack *in1_s = penfuzz_stack_new(3);");
    shows(
        &dir.penfuzz("functions user.c --with stack.c -f drain").exits(0),
        "s: struct stack, constructed by stack_new",
    );
}

#[test]
fn a_maker_that_hands_over_null_ends_the_evaluation() {
    let dir = Dir::new();
    dir.file("stack.c", STACK);
    // Both outcomes of `stack_new` are goals; the function under test would crash with a null pointer.
    let run =
        dir.fuzz("stack.c", "--max-evals 50000 --seed 1 -f stack_pop --init stack_new --calls 4 --scope file").exits(0);
    let (report, text) = tested(&dir, &["stack_pop", "stack_new"]);
    run.expect(report.crashes.is_empty(), "no call with null");
    run.expect(report.branches.covered == report.branches.total, "all branches of both functions");
    has(&text, "struct stack *in1_s = stack_new(");
    has(&text, "(stack_new(0) == 0)");
}

#[test]
fn a_maker_may_store_the_handle() {
    let dir = Dir::new();
    let source = STACK.replace(
        "int stack_pop",
        "int stack_create(struct stack **out, int n)
         { *out = stack_new(n); return *out ? 0 : -1; }
         int stack_pop",
    );
    dir.file("stack.c", source);
    let text = complete(&dir, "stack.c", "-f stack_pop --init stack_create --calls 4", "stack_pop");
    has(&text, "stack_create(&in1_s, 3)");
}

const TANK: &str = "namespace sim {
class Tank {
  double level, capacity;
  int pumps = 0;
 public:
  Tank(double capacity, double level);
  virtual ~Tank() {}
  int step(double inflow);
};
Tank::Tank(double c, double l) : level(l), capacity(c) { if (level > capacity) level = capacity; }
int Tank::step(double inflow)
{
  if (!(inflow >= -10 && inflow <= 10)) return -1;
  level += inflow;
  if (level > capacity) { level = capacity; return 2; }
  if (level < 0) { level = 0; pumps++; return pumps > 2 ? 3 : 1; }
  return 0;
}
}
";

#[test]
fn an_object_of_a_class_is_made_by_its_constructor() {
    for (source, init) in [(TANK.to_owned(), ""), (TANK.replace("  virtual ~Tank() {}\n", ""), "--init Tank")] {
        let dir = Dir::new();
        dir.file("tank.cc", source);
        let text = complete(&dir, "tank.cc", &format!("-f step {init} --calls 6"), "_ZN3sim4Tank4stepEd");
        has(&text, "sim::Tank in1_this(0.0, 0.0);");
        has(&text, "in1_this.step(-20.0)");
        // The members of a class with virtual functions are unknown.
        assert!(text.contains("\"this->pumps\"") != init.is_empty(), "{text}");
    }
}

const RING: &str = "#include <stdlib.h>
struct ring { int n; int *data; };
struct ring *ring_open(int size)
{
  if (size < 2 || size > 4) return 0;
  struct ring *r = malloc(sizeof *r);
  r->n = 0;
  r->data = calloc(size, sizeof(int));
  return r;
}
int ring_put(struct ring *r, int x)
{
  r->n++;
  if (x < 0) return -1;
  if (r->n > 2 && x > 5) abort();
  return r->n > 1;
}
";

#[test]
fn a_crash_in_the_third_call_is_shown_with_the_calls_before() {
    let dir = Dir::new();
    dir.file("ring.c", RING);
    let run = dir.fuzz("ring.c", "--max-evals 50000 --seed 1 -f ring_put --init ring_open --calls 8").exits(3);
    let (report, text) = tested(&dir, &["ring_put"]);
    run.expect(report.crashes.len() == 1, "one crash");
    let calls = report.crashes[0].args.iter().filter(|a| a.is_call()).count();
    run.expect(calls == 4, "the maker and three calls");
    shows(&run, "ring_open(2); ring_put(in1_r, 0); ring_put(in1_r, 0); ring_put(in1_r, 6)");
    has(&text, "(void)ring_put(in1_r, 6);");
    has(&text, "penfuzz_check_signal(SIGABRT, 1)");
    let crash = dir.path("out").join(&report.crashes[0].file);
    let replayed = dir.penfuzz("replay").arg(crash).exits(3);
    shows(&replayed, "ring_open");
    shows(&replayed, "call 3");
}

#[test]
fn commands_on_a_campaign_use_its_calls() {
    let dir = Dir::new();
    dir.file("ring.c", RING.replace("abort()", "return 3"));
    dir.fuzz("ring.c", "--max-evals 2000 -f ring_put --init ring_open --calls 4").exits(0);
    let manifest = std::fs::read_to_string(dir.path("out/campaign.json")).expect("a manifest");
    has(&manifest, "\"calls\": 4");
    has(&manifest, "\"init\": \"ring_open\"");
    dir.penfuzz("report out").exits(0);
    let resumed = dir.fuzz("ring.c", "--max-evals 2100 -f ring_put").exits(0);
    resumed.expect(dir.report("out").signature.calls == 4, "the calls stay");
    let other = dir.fuzz("ring.c", "-f ring_put --calls 5").exits(1);
    other.says("holds a campaign with other --arg, --calls, --init or --global");
}

#[test]
fn invalid_calls_and_constructors_are_refused_in_one_line() {
    let dir = Dir::new();
    dir.file("ring.c", format!("{RING}int other(double x) {{ return x > 1; }}"));
    for (arguments, message) in [
        ("--calls 0", "0 is not in 1..=32"),
        ("--calls 99", "99 is not in 1..=32"),
        ("--init nosuch", "--init: there is no function `nosuch`; it has"),
        (
            "--init other",
            "--init: `int other(double x)` constructs no object that `int ring_put(struct ring * r, int x)` takes",
        ),
    ] {
        let run = dir.fuzz("ring.c", &format!("-f ring_put {arguments}")).exits(2);
        run.says(message);
    }
}

#[test]
fn frameworks_show_the_calls_too() {
    let dir = Dir::new();
    dir.file("g.c", "static int calls; int g(double x) { calls++; if (calls > 5 && x > 3) return 1; return 0; }");
    dir.fuzz("g.c", "--max-evals 20000 --calls 8 --test-format cmocka").exits(0);
    let programs = dir.files("out/tests");
    let (_, text) = programs.iter().find(|(name, _)| name.starts_with("test_")).expect("a test program");
    let text = String::from_utf8_lossy(text).into_owned();
    has(&text, "result5 = g(0.0);");
    has(&text, "result = g(");
}

#[test]
fn errno_is_checked_behind_each_call() {
    let dir = Dir::new();
    dir.file(
        "e.c",
        "#include <errno.h>
static int failures;
int f(double x)
{
  if (errno) return -1;
  if (x < -8) {
    errno = ERANGE;
    failures++;
    return 1;
  }
  if (failures > 2) {
    errno = EDOM;
    return 2;
  }
  return 0;
}
",
    );
    let run = dir.fuzz("e.c", "--calls 6 --max-evals 50000 --seed 1").exits(0);
    let (report, text) = tested(&dir, &["f"]);
    run.expect(report.branches.covered == 5, "all but the branch of an errno that no call begins with");
    has(&text, "      errno = 0;\n");
    has(&text, "penfuzz_check_signed(\"errno\", error, 34);");
    has(&text, "penfuzz_check_signed(\"errno\", error, 33);");
    dir.fuzz("e.c", "--calls 6 --max-evals 50000 --seed 1 --test-format googletest --fresh").exits(0);
    let programs = dir.files("out/tests");
    let (_, text) = programs.iter().find(|(name, _)| name.starts_with("test_")).expect("a test program");
    has(&String::from_utf8_lossy(text), "EXPECT_EQ(error, 34);");
}
