//! Crashes and hangs: a stack for each, and one entry per place over all clients.

use penfuzz_report::Finding;
use serde_json::Value;

use crate::{
    corpus::farm,
    support::{Dir, Run, fixture, line_of},
};

fn only_crash(dir: &Dir) -> Finding {
    let report = dir.report("out");
    assert_eq!(report.crashes.len(), 1, "one crash: {:?}", report.crashes);
    report.crashes[0].clone()
}

/// Returns the functions of a stack that belong to the target.
fn functions(stack: &[String]) -> Vec<&str> {
    // Frames of a library have a file or an offset instead.
    let of_target = stack.iter().filter(|f| !f.contains(".so"));
    of_target.filter_map(|f| f.split(" (").next()).collect()
}

fn triage(run: &Run) -> Value {
    serde_json::from_str(&run.stdout).expect("JSON on standard output")
}

const NESTED: &str = "#include <string.h>
    __attribute__((noinline)) static double inner(const char *volatile text) {
      return (double)strlen(text) + 1.0; // the fault
    }
    __attribute__((noinline)) static double outer(double x, const char *text) {
      return inner(text) * x; // the caller
    }
    double nested(double x) {
      if (x > 1000.0 && x < 1001.0)
        return outer(x, 0) + 1.0; // the first
      return x;
    }";

#[test]
fn a_stack_from_the_library_to_the_function_under_test() {
    let dir = Dir::new();
    let target = dir.file("nested.c", NESTED);
    let run = dir.fuzz(&target, "").exits(3);
    let crash = only_crash(&dir);
    run.expect(functions(&crash.stack) == ["inner", "outer", "nested"], &format!("the stack, is {:#?}", crash.stack));
    for (function, text) in [("inner", "the fault"), ("outer", "the caller"), ("nested", "the first")] {
        let frame = format!("{function} ({}:{})", target.display(), line_of(&target, text));
        run.expect(crash.stack.contains(&frame), &format!("`{frame}` in {:#?}", crash.stack));
    }
    run.expect(crash.stack[0].contains("libc"), &format!("the library first, is {}", crash.stack[0]));
    run.expect(
        crash.stack.iter().all(|f| !f.contains("__pen_") && !f.contains("guard") && !f.contains("penfuzz")),
        &format!("nothing of penfuzz in {:#?}", crash.stack),
    );
    run.expect(run.stdout.contains("outer ("), "the stack in the summary");
    let again = dir.penfuzz("replay").arg(&target).arg(dir.path("out").join(&crash.file)).exits(3);
    again.expect(crash.stack.iter().all(|f| again.stdout.contains(f)), "the same stack when it is replayed");
}

#[test]
fn a_stack_that_is_used_up() {
    let dir = Dir::new();
    let target = fixture("stack_overflow.c");
    let run = dir.fuzz(&target, "--cflag -fno-optimize-sibling-calls").exits(3);
    let crash = only_crash(&dir);
    run.expect(crash.stack.first().is_some_and(|f| f.starts_with("descend (")), "the recursion first");
    run.expect(
        crash.stack.iter().any(|f| f.ends_with(" times")),
        &format!("repeated frames as one in {:#?}", crash.stack),
    );
    run.expect(crash.stack.len() < 8, &format!("few lines, are {:#?}", crash.stack));
}

/// The function overwrites return addresses, then faults: the whole stack is unreliable.
#[test]
fn a_stack_that_is_destroyed() {
    let dir = Dir::new();
    let target = dir.file(
        "smash.c",
        "#include <string.h>
         __attribute__((noinline)) static void smash(char *p, unsigned long word) {
           for (int i = 0; i < 4; i++) memcpy(p + 8 * i, &word, 8);
           *(volatile int *)word = 1; // after the end
         }
         double target(double x) {
           char here[8];
           if (x > 1000.0 && x < 1001.0) smash(here, 0x10);
           return x;
         }",
    );
    let run = dir.fuzz(&target, "--cflag -fno-stack-protector --max-time 10s").exits(3);
    let report = dir.report("out");
    let b = &report.branches;
    run.expect(b.covered + b.covered_by_crash_only == b.total, "the search has gone on to its end");
    let is_told = |c: &Finding| c.stack.first().is_some_and(|f| f.starts_with("smash (") || f.starts_with("target ("));
    run.expect(report.crashes.iter().any(is_told), &format!("at least the place in {:#?}", report.crashes));
}

/// There is no code at the jump's destination, so only the callers distinguish two such crashes.
#[test]
fn calls_through_null_pointers_are_told_apart() {
    let dir = Dir::new();
    let target = dir.file(
        "jumps.c",
        "double jumps(double x) {
           double (*volatile f)(double) = 0;
           if (x == 123.25) return f(x) + 1.0; // one
           if (x == -77.5) return f(x) + 2.0; // two
           return x;
         }",
    );
    // Optimized code would have one call for both.
    let run = dir.fuzz(&target, "--cflag -O0").exits(3);
    let report = dir.report("out");
    run.expect(report.crashes.len() == 2, &format!("two places, are {:#?}", report.crashes));
    for text in ["// one", "// two"] {
        let place = format!("jumps ({}:{})", target.display(), line_of(&target, text));
        let found = report.crashes.iter().any(|c| c.place.contains(&place) && c.stack.contains(&place));
        run.expect(found, &format!("`{place}` in {:#?}", report.crashes));
    }
}

/// The program calls one function that aborts for all errors; its callers distinguish them.
#[test]
fn aborts_are_distinguished_by_their_callers() {
    let dir = Dir::new();
    let target = dir.file(
        "fail.c",
        "#include <stdlib.h>
         __attribute__((noinline)) static void fail(int code) { if (code) abort(); }
         double checked(double x) {
           if (x == 123.25) fail(1); // one
           if (x == -77.5) fail(1); // two
           return x;
         }",
    );
    // Optimized code would have one call for both.
    let run = dir.fuzz(&target, "--cflag -O0").exits(3);
    let report = dir.report("out");
    run.expect(report.crashes.len() == 2, &format!("two places, are {:#?}", report.crashes));
    for text in ["// one", "// two"] {
        let caller = format!("called by checked ({}:{})", target.display(), line_of(&target, text));
        run.expect(report.crashes.iter().any(|c| c.place.contains(&caller)), &format!("`{caller}`"));
    }
}

#[test]
fn hangs_have_stacks() {
    let dir = Dir::new();
    let target = dir.file(
        "slow.c",
        "__attribute__((noinline)) static double spin(double x) { volatile double y = x; while (y > 0.0) y = x; \
         return y; }
         double slow(double x) { if (x == 123.25) return spin(x) + 1.0; return x; }",
    );
    let run = dir.fuzz(&target, "").exits(3);
    let report = dir.report("out");
    run.expect(report.hangs.len() == 1, "one hang");
    let stack = &report.hangs[0].stack;
    run.expect(functions(stack) == ["spin", "slow"], &format!("spin and slow, are {stack:#?}"));
}

#[test]
fn places_of_all_clients_are_one_table() {
    let dir = Dir::new();
    let target = dir.file("nested.c", NESTED);
    for (out, seed) in [("a", 1), ("b", 2)] {
        dir.penfuzz(&format!("-o {out} --seed {seed}")).arg(&target).exits(3);
    }
    farm(&dir, "a", "b");
    // Inputs of another fuzzer, without stored results. The second one is not a crash.
    dir.file("farm/afl/queue/id:000000,orig:x", 1.0f64.to_le_bytes());
    dir.file("farm/afl/crashes/id:000000,sig:11", 1000.25f64.to_le_bytes());
    dir.file("farm/afl/crashes/id:000001,sig:11", 1.0f64.to_le_bytes());
    let run = dir.penfuzz("triage farm --json").exits(3);
    let found = triage(&run);
    run.expect(found["places"].as_array().is_some_and(|p| p.len() == 1), "one place");
    let place = &found["places"][0];
    run.expect(place["inputs"] == 3 && place["clients"].as_array().is_some_and(|c| c.len() == 3), "three inputs");
    run.expect(place["kind"] == "crash" && place["args"][0]["name"] == "x", "a crash with its argument");
    run.expect(place["stack"].as_array().is_some_and(|s| s.len() >= 3), "a stack");
    run.expect(found["returning"] == serde_json::json!(["afl/crashes/id:000001,sig:11"]), "the one that returns");
    let text = dir.penfuzz("triage farm").exits(3);
    text.expect(text.stdout.contains("1 crash and 0 hangs at distinct places, by 3 inputs"), "the headline");
    // The replay command in its printed form.
    let line = place["replay"].as_str().expect("a command");
    let again = dir.penfuzz(line.strip_prefix("penfuzz ").expect("penfuzz first")).exits(3);
    again.expect(again.stdout.contains("SIGSEGV"), "the crash again");
}

#[test]
fn nothing_failed() {
    let dir = Dir::new();
    dir.fuzz(fixture("floats.c"), "").exits(0);
    let run = dir.penfuzz("triage out").exits(0);
    run.expect(run.stdout.contains("0 crashes and 0 hangs"), "none");
}

/// An input that kills its process has no stack, but still a place, an entry and a command.
#[test]
fn deadly_inputs_are_one_entry() {
    let dir = Dir::new();
    let target = dir.file(
        "deadly.c",
        "#include <signal.h>
         int deadly(double x) { if (x == 123.25) raise(SIGKILL); return x > 1.0; }",
    );
    for (out, seed) in [("a", 1), ("b", 2)] {
        dir.penfuzz(&format!("-o {out} --seed {seed}")).arg(&target).exits(3);
    }
    farm(&dir, "a", "b");
    let run = dir.penfuzz("triage farm --json").exits(3);
    let found = triage(&run);
    run.expect(found["places"].as_array().is_some_and(|p| p.len() == 1), "one place");
    run.expect(found["places"][0]["inputs"] == 2, "of two inputs");
    run.expect(found["places"][0]["reason"] == "kills the process: SIGKILL", "its reason");
}
