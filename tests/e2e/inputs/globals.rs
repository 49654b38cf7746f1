//! Variables with static storage duration as inputs.

use std::process::Command;

use crate::{
    inputs::calls::{has, shows, tested},
    outputs::build_line,
    support::{Dir, open_branches},
};

/// Typical generated control code: inputs, state and outputs are global structures.
const MODEL: &str = "#include <stdint.h>
typedef struct { double speed, limit; int16_t gear; uint8_t brake; } ExtU_model_T;
typedef struct { double integrator; int mode; unsigned char latched; double history[4]; } DW_model_T;
typedef struct { double torque; int alarm; } ExtY_model_T;
ExtU_model_T model_U;
DW_model_T model_DW;
ExtY_model_T model_Y;
static const double gain = 0.5;
const double table[3] = {1, 2, 3};
_Thread_local int trace;

void model_initialize(void) { model_DW.mode = 0; }

static void limiter(void)
{
  if (model_DW.integrator > 10) model_DW.integrator = 10;
  else if (model_DW.integrator < -10) model_DW.integrator = -10;
}

void model_step(void)
{
  static int steps;
  double error = model_U.limit - model_U.speed;
  trace = ++steps;
  if (error != error) { model_Y.alarm = 1; return; }
  if (model_U.brake) { model_DW.mode = 0; model_DW.integrator = 0; }
  switch (model_DW.mode) {
  case 0:
    if (model_U.gear > 0 && model_U.speed > 1) model_DW.mode = 1;
    break;
  case 1:
    model_DW.integrator += gain * error;
    if (model_DW.integrator > 5) model_DW.mode = 2;
    break;
  case 2:
    if (error < -3) model_DW.latched++;
    if (model_DW.latched > 2) model_DW.mode = 3;
    break;
  default:
    model_Y.alarm = 2;
  }
  limiter();
  for (int i = 3; i > 0; i--) model_DW.history[i] = model_DW.history[i - 1];
  model_DW.history[0] = error;
  if (model_DW.history[3] > 7 && model_DW.history[0] < -7) model_Y.alarm = 3;
  model_Y.torque = model_DW.integrator * table[0];
}
";

#[test]
fn a_step_without_arguments_reads_its_globals() {
    let dir = Dir::new();
    dir.file("model.c", MODEL);
    let run = dir.fuzz("model.c", "-f model_step --max-evals 100000 --seed 2").exits(0);
    shows(&run, "No arguments: the globals it reads are its inputs: model_U, model_DW; checked: model_Y");
    let (report, text) = tested(&dir, &["model_step"]);
    assert_eq!(open_branches(&report), Vec::<String>::new(), "all of its branches");
    has(&text, "    model_U.gear = 1;\n");
    has(&text, "    model_DW.mode = 2;\n");
    has(&text, "model_Y.alarm, 2);");
    let shown = dir.penfuzz("functions model.c -f model_step").exits(0);
    shows(&shown, "global model_U: ExtU_model_T");
    shows(&shown, "global model_Y: ExtY_model_T (only written)");
}

#[test]
fn with_several_calls_inputs_are_given_anew_and_state_is_kept() {
    let dir = Dir::new();
    dir.file("model.c", MODEL);
    let run = dir.fuzz("model.c", "-f model_step --calls 20 --max-evals 200000 --seed 1").exits(0);
    shows(&run, "its inputs: model_U; checked: model_DW, model_Y");
    let (report, text) = tested(&dir, &["model_step"]);
    assert_eq!(open_branches(&report), Vec::<String>::new(), "all of its branches");
    assert!(!text.contains("    model_DW.mode ="), "the calls alone change the state:\n{text}");
    has(&text, "\"model_DW.history[3]\", model_DW.history[3]");
}

#[test]
fn globals_are_named_kept_and_restricted() {
    let dir = Dir::new();
    dir.file("model.c", MODEL);
    let said = "-f model_step --global model_U --global model_DW --calls 6";
    let mut run = dir.fuzz("model.c", &format!("{said} --max-evals 50000"));
    for range in ["model_U.speed: -90..90", "model_U.limit: -90..90", "model_DW.mode: 0..2", "model_DW.latched: 2..2"] {
        run = run.arg("--arg").arg(range);
    }
    run.arg("--assume").arg("model_U.gear < 3").exits(0);
    let (report, text) = tested(&dir, &["model_step"]);
    assert!(report.branches.covered > 10, "{:?}", report.branches);
    assert!(!text.contains("NAN"), "speeds are in their range:\n{text}");
    let sets = report.tests.iter().flat_map(|t| &t.args).flat_map(|a| &a.sets);
    let value = |place: &str| sets.clone().filter(|s| s.place == place).map(|s| s.value.clone()).collect::<Vec<_>>();
    assert!(value("model_DW.latched").iter().all(|v| v == "2"), "its domain is one number");
    assert!(!value("model_DW.latched").is_empty(), "what is named is an input although a call writes it");
    assert!(value("model_U.gear").iter().all(|v| v.parse::<i32>().is_ok_and(|v| v < 3)), "the assumption holds");
    // The resumed campaign uses the stored options.
    let again = |more: &str| dir.fuzz("model.c", &format!("-f model_step --max-evals 60000{more}"));
    again("").arg("--assume").arg("model_U.gear < 3").exits(0);
    let first = dir.files("out/queue").pop_first().expect("a kept input").0.clone();
    let replayed = dir.penfuzz(&format!("replay out/queue/{first}")).exits(0);
    shows(&replayed, "model_U");
}

#[test]
fn other_globals_are_another_campaign() {
    let dir = Dir::new();
    dir.file("model.c", MODEL);
    dir.fuzz("model.c", "-f model_step --global model_U --max-evals 100").exits(0);
    let other = dir.fuzz("model.c", "-f model_step --global model_DW --max-evals 200").exits(1);
    other.says("holds a campaign with other --arg, --calls, --init or --global");
}

#[test]
fn arrays_scalars_statics_and_pointers_are_globals() {
    let dir = Dir::new();
    dir.file(
        "g.c",
        "struct node { int value; struct node *next; };
static struct node list;
static short modes[6] = {4, 4, 4};
enum level { LOW = 3, HIGH = 7 } level;
static struct { unsigned a : 3, b : 5; } bits;
int f(double x)
{
  int n = 0;
  if (list.next && list.next->value == 77) n += 1;
  if (modes[2] == 4 && modes[5] == -9) n += 2;
  if (level == HIGH) n += 4;
  if (bits.b == 17 && x > 2) n += 8;
  return n;
}
",
    );
    let all = "--global list --global modes --global level --global bits";
    let run = dir.fuzz("g.c", &format!("-f f {all} --max-evals 200000 --seed 1")).exits(0);
    let (report, text) = tested(&dir, &["f"]);
    run.expect(open_branches(&report).is_empty(), "all branches");
    has(&text, "modes[5] = -9;");
    has(&text, "level = 7");
    has(&text, "bits.b = 17;");
    has(&text, ".value = 77");
    // Emitted programs of the other formats for which CI has compilers.
    for format in ["googletest", "catch2"] {
        let out = format!("-f f {all} --max-evals 200000 --seed 1 --test-format {format} -o {format}");
        dir.penfuzz(&format!("g.c {out}")).exits(0);
        let programs = dir.files(&format!("{format}/tests"));
        let wrapper = programs.iter().find(|(name, _)| name.ends_with("_wrapper.c")).expect("a C file with the source");
        has(&String::from_utf8_lossy(wrapper.1), "return (void *)&modes;");
    }
}

#[test]
fn globals_of_cxx_are_set_by_their_bytes() {
    let dir = Dir::new();
    dir.file(
        "g.cc",
        "namespace plant {
enum class State { Off, On = 5 };
class Tank { public: bool isFull() const { return level > 3; } private: double level; State state; friend int step(); };
Tank tank;
static int count;
int step() {
  if (tank.isFull() && tank.state == State::On) return ++count;
  return 0;
}
}
",
    );
    dir.fuzz("g.cc", "-f step --max-evals 100000 --seed 1").exits(0);
    let report = dir.report("out");
    assert_eq!(open_branches(&report), Vec::<String>::new());
    let programs = dir.files("out/tests");
    let (_, text) = programs.iter().find(|(name, _)| name.starts_with("test_")).expect("a test program");
    let text = String::from_utf8_lossy(text).into_owned();
    dir.other(Command::new("sh").args(["-c", &format!("cd out/tests && {}", build_line(&text))]));
    has(&text, "(unsigned char *)&plant::tank + 8");
}

#[test]
fn a_crash_and_an_exit_leave_the_globals_to_the_next_test() {
    let dir = Dir::new();
    dir.file(
        "g.c",
        "#include <stdlib.h>
int mode; double level;
int step(void)
{
  if (mode == 3) exit(4);
  if (mode == 5) abort();
  if (level > 100) return 1;
  return 0;
}
",
    );
    dir.fuzz("g.c", "-f step --max-evals 100000 --seed 1").exits(3);
    let programs = dir.files("out/tests");
    let (_, text) = programs.iter().find(|(name, _)| name.starts_with("test_")).expect("a test program");
    let text = String::from_utf8_lossy(text).into_owned();
    dir.other(Command::new("sh").args(["-c", &format!("cd out/tests && {}", build_line(&text))]));
    has(&text, "penfuzz_check_exit(4);");
    has(&text, "penfuzz_check_signal(SIGABRT, 1);");
}

#[test]
fn unusable_globals_are_refused_in_one_line() {
    let dir = Dir::new();
    dir.file("model.c", MODEL);
    dir.file("main.c", "int mode; int main(void) { return mode > 3; }");
    let refused = |target: &str, name: &str, part: &str| {
        let run = dir.penfuzz(&format!("{target} --global {name} --max-evals 10")).exits(2);
        run.expect(run.stderr.lines().count() == 1 && run.stderr.contains(part), &format!("one line with `{part}`"));
    };
    refused("model.c -f model_step", "model_W", "there is no variable `model_W`");
    refused("model.c -f model_step", "model_W", "model_U");
    refused("model.c -f model_step", "table", "`table` is a constant");
    refused("model.c -f model_step", "trace", "`trace` is thread-local");
    refused("model.c -f model_step", "steps", "`steps` is declared in a function");
    refused("model.c -f model_initialize", "model_U", "`model_initialize` does not use `model_U`");
    refused("main.c -f main", "mode", "--global is for functions that a test can call");
}
