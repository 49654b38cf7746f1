//! Targets that crash, hang, exit or use up memory: the campaign continues to its end, keeps one input per place, and
//! can replay it.

use std::path::Path;

use penfuzz_report::{End, Finding, Report};

use crate::support::{Dir, Run, fixture, line_of, open_branches};

/// Runs a campaign that ends by itself, or after a time limit that no test should need.
fn campaign<'a>(dir: &'a Dir, target: &Path, arguments: &str) -> (Run<'a>, Report) {
    let run = dir.fuzz(target, "--max-time 20s").args(arguments).exits(3);
    let report = dir.report("out");
    (run, report)
}

/// Returns the only finding, in `crashes` or `hangs`; its file must be the only one in that directory.
fn only_finding<'r>(dir: &Dir, run: &Run, report: &'r Report, folder: &str) -> &'r Finding {
    let (found, none, other) = match folder {
        "crashes" => (&report.crashes, &report.hangs, "hangs"),
        _ => (&report.hangs, &report.crashes, "crashes"),
    };
    run.expect(found.len() == 1 && none.is_empty(), &format!("one entry in {folder}, none in {other}"));
    let on_disk = (dir.files(&format!("out/{folder}")).len(), dir.files(&format!("out/{other}")).len());
    run.expect(on_disk == (1, 0), &format!("one file in {folder}/, none in {other}/"));
    &found[0]
}

/// The place must be in `function`, on one of the lines of `file` that contain these texts.
fn expect_place(run: &Run, finding: &Finding, function: &str, file: &Path, texts: &[&str]) {
    let right = texts.iter().any(|t| {
        let place = format!("{}:{}", file.display(), line_of(file, t));
        finding.place.contains(&place)
    });
    run.expect(
        right && finding.place.contains(function),
        &format!("place {function} at {texts:?} of {}, is `{}`", file.display(), finding.place),
    );
}

/// Replaying must end with status 3 and print the same reason.
fn expect_replay(dir: &Dir, target: &Path, finding: &Finding, arguments: &str) {
    let run = dir.penfuzz("replay").args(arguments).arg(target).arg(dir.path("out").join(&finding.file)).exits(3);
    run.expect(run.stdout.contains(&finding.reason), &format!("reason `{}` again", finding.reason));
}

fn expect_open(run: &Run, report: &Report, open: &[&str]) {
    let is = open_branches(report);
    run.expect(is == open, &format!("open branches {open:?}, are {is:?}"));
}

/// A fixture with one fault: its kind, its place, and the number of branches that cannot be covered.
struct Fault {
    file: &'static str,
    function: &'static str,
    folder: &'static str,
    reason: &'static str,
    at: &'static [&'static str],
    open: &'static [&'static str],
    arguments: &'static str,
}

impl Fault {
    fn check(&self) {
        let (dir, target) = (Dir::new(), fixture(self.file));
        let (run, report) = campaign(&dir, &target, self.arguments);
        let finding = only_finding(&dir, &run, &report, self.folder);
        run.expect(finding.reason.contains(self.reason), &format!("reason `{}`, is `{}`", self.reason, finding.reason));
        expect_place(&run, finding, self.function, &target, self.at);
        expect_open(&run, &report, self.open);
        // `replay` accepts the limits, on which the fault depends, but no options of the search.
        expect_replay(&dir, &target, finding, self.arguments);
    }
}

#[test]
fn segv() {
    Fault {
        file: "segv.c",
        function: "segv",
        folder: "crashes",
        reason: "SIGSEGV at address 0x0",
        at: &["return *nowhere"],
        open: &[],
        arguments: "",
    }
    .check();
}

#[test]
fn more_than_one_value_behind_a_pointer() {
    Fault {
        file: "array_out.c",
        function: "fill",
        folder: "crashes",
        reason: "SIGSEGV",
        at: &["out[i] = i"],
        open: &[],
        arguments: "",
    }
    .check();
}

#[test]
fn abort() {
    Fault {
        file: "abort.c",
        function: "aborts",
        folder: "crashes",
        reason: "SIGABRT",
        at: &["abort();"],
        open: &[],
        arguments: "",
    }
    .check();
}

/// An exit is a normal end of an evaluation.
#[test]
fn exit_call() {
    let dir = Dir::new();
    let run = dir.fuzz(fixture("exit_call.c"), "").exits(0);
    let report = dir.report("out");
    let ends: Vec<_> = report.tests.iter().filter_map(|t| t.ends).collect();
    run.expect(ends == [End::Exit(7)], &format!("one test that ends by exit(7), are {ends:?}"));
    run.expect(report.crashes.is_empty() && open_branches(&report).is_empty(), "no crash, and every branch covered");
    let kept = report.tests.iter().find(|t| t.ends.is_some()).map(|t| t.file.clone()).unwrap_or_default();
    run.expect(kept.starts_with("queue/"), &format!("the input is kept, is {kept}"));
    let replayed = dir.penfuzz("replay").arg(fixture("exit_call.c")).arg(dir.path("out").join(kept)).exits(0);
    replayed.expect(replayed.stdout.contains("  exit(7)\n"), "what the input does");
}

#[test]
fn stack_overflow() {
    Fault {
        file: "stack_overflow.c",
        function: "descend",
        folder: "crashes",
        reason: "stack overflow",
        at: &["static double descend", "volatile char frame", "frame[0] = 1;", "return descend(x) + frame[0];"],
        open: &[],
        arguments: "",
    }
    .check();
}

#[test]
fn endless_loop_with_a_condition() {
    Fault {
        file: "endless.c",
        function: "endless",
        folder: "hangs",
        reason: "did not return within",
        at: &["while (y > 1.0)", "y -= "],
        open: &["11 false"],
        arguments: "",
    }
    .check();
}

#[test]
fn endless_loop_without_a_condition() {
    Fault {
        file: "endless_bare.c",
        function: "endless_bare",
        folder: "hangs",
        reason: "did not return within",
        at: &["for (;;)"],
        open: &[],
        arguments: "",
    }
    .check();
}

#[test]
fn memory_without_end() {
    Fault {
        file: "eats_memory.c",
        function: "eats_memory",
        folder: "crashes",
        reason: "more than 64 MiB of memory",
        at: &["last = malloc", "memset(last", "for (;;)"],
        open: &[],
        arguments: "--memory-limit 64M --timeout 20s",
    }
    .check();
}

/// The search cannot aim at a division by zero that has no branch, so a seed raises it.
#[test]
fn div_zero_by_a_seed() {
    let (dir, target) = (Dir::new(), fixture("div_zero.c"));
    dir.file("seeds/one", 1000.5f64.to_le_bytes());
    let (run, report) = campaign(&dir, &target, "-i seeds");
    let finding = only_finding(&dir, &run, &report, "crashes");
    run.expect(finding.reason.contains("SIGFPE"), "reason SIGFPE");
    expect_place(&run, finding, "div_zero", &target, &["return 1000000 /"]);
    expect_open(&run, &report, &[]);
    expect_replay(&dir, &target, finding, "");
}

/// A leak is not a fault: workers are replaced before memory is used up, and the campaign ends at its time limit.
#[test]
fn a_leak_does_not_end_the_campaign() {
    let (dir, target) = (Dir::new(), fixture("leak.c"));
    let run = dir.fuzz(&target, "--memory-limit 64M --max-time 2s").exits(0);
    let report = dir.report("out");
    run.expect(report.stop_reason == "max-time", "stopped by max-time");
    expect_open(&run, &report, &["11 true"]);
}

/// The runtime cannot intercept a raw system call; the system-call filter does.
#[test]
fn exit_by_a_raw_system_call() {
    let dir = Dir::new();
    let target = dir.file(
        "raw_exit.c",
        "#include <sys/syscall.h>
         #include <unistd.h>
         double raw_exit(double x) {
           if (x < 0.0) return -x;
           if (x > 1000.0 && x < 1001.0)
             syscall(SYS_exit_group, 9);
           if (x == 77.25) return 3.0;
           return x;
         }",
    );
    let (run, report) = campaign(&dir, &target, "");
    let finding = only_finding(&dir, &run, &report, "crashes");
    run.expect(finding.reason == "ends the process", "reason `ends the process`");
    expect_place(&run, finding, "raw_exit", &target, &["syscall(SYS_exit_group, 9)"]);
    expect_open(&run, &report, &[]);
}

/// The seeds before the fatal one are kept, and those after it are tried.
#[test]
fn a_seed_that_kills() {
    let dir = Dir::new();
    let target = dir.file(
        "seeded.c",
        "#include <signal.h>
         double seeded(double x) {
           if (x == 1.0) return 1.0;
           if (x == 2.0) raise(SIGKILL);
           if (x == 3.0) return 3.0;
           return x;
         }",
    );
    for seed in [1.0f64, 2.0, 3.0] {
        dir.file(&format!("seeds/{seed}"), seed.to_le_bytes());
    }
    let (run, report) = campaign(&dir, &target, "-i seeds --max-evals 4 --search random");
    expect_open(&run, &report, &[]);
    only_finding(&dir, &run, &report, "crashes");
}

const TWO_KILLS: &str = "#include <signal.h>
    double sig_kill(double x) {
      if (x < 0.0) return -x;
      if (x > 1000.0 && x < 1001.0)
        raise(SIGKILL);
      if (x == 77.25)
        raise(SIGKILL);
      if (x == 78.25) return 3.0;
      return x;
    }";

#[test]
fn sigkill_at_two_places() {
    let dir = Dir::new();
    let target = dir.file("sig_kill.c", TWO_KILLS);
    let (run, report) = campaign(&dir, &target, "");
    expect_open(&run, &report, &[]);
    run.expect(report.crashes.len() == 2 && dir.files("out/crashes").len() == 2, "two crashes");
    for (finding, text) in report.crashes.iter().zip(["x < 1001.0", "x == 77.25"]) {
        run.expect(finding.reason == "kills the process: SIGKILL", "reason SIGKILL");
        expect_place(&run, finding, "sig_kill", &target, &[text]);
    }
}

#[test]
fn deaths_lose_no_time() {
    let dir = Dir::new();
    let target = dir.file("sig_kill.c", TWO_KILLS);
    let run = dir.fuzz(&target, "--search random --max-time 2s").run();
    let seconds = dir.report("out").seconds;
    run.expect((1.5..4.0).contains(&seconds), &format!("about 2 seconds, are {seconds}"));
}

/// Half of all inputs kill the process before any branch: the search cannot avoid them, and ends with the branches that
/// it has found.
#[test]
fn a_target_that_kills_without_a_branch() {
    let dir = Dir::new();
    let target = dir.file(
        "half_kills.c",
        "#include <signal.h>
         double half_kills(double x) {
           raise(SIGKILL * (x < 0.0));
           if (x == 77.25) return 3.0;
           if (x * x + 1.0 < 0.5) return 4.0;
           return x;
         }",
    );
    let (run, report) = campaign(&dir, &target, "");
    expect_open(&run, &report, &["5 true"]);
    only_finding(&dir, &run, &report, "crashes");
}

#[test]
fn a_wild_free() {
    let dir = Dir::new();
    let target = dir.file(
        "wild_free.c",
        "#include <stdlib.h>
         double wild_free(double x) {
           static char block[64];
           char *volatile p = block + 8;
           if (x < 0.0) return -x;
           if (x > 1000.0 && x < 1001.0)
             free(p);
           return x;
         }",
    );
    let (run, report) = campaign(&dir, &target, "");
    let finding = only_finding(&dir, &run, &report, "crashes");
    run.expect(finding.reason == "SIGABRT", "reason SIGABRT");
    expect_place(&run, finding, "wild_free", &target, &["free(p);"]);
    expect_open(&run, &report, &[]);
    expect_replay(&dir, &target, finding, "");
}

/// An exception that leaves a `noexcept` function is a crash. For exceptions that may leave the function, see
/// `truth/thrown.rs`.
#[test]
fn an_uncaught_exception() {
    let dir = Dir::new();
    let target = dir.file(
        "throws.cc",
        "#include <stdexcept>
         double throws(double x) noexcept {
           if (x < 0.0) return -x;
           if (x > 1000.0 && x < 1001.0)
             throw std::runtime_error(\"out of range\");
           return x;
         }",
    );
    let (run, report) = campaign(&dir, &target, "");
    let finding = only_finding(&dir, &run, &report, "crashes");
    run.expect(finding.reason == "SIGABRT", "reason SIGABRT");
    run.expect(finding.place.contains("called by throws(double)"), "the function");
    expect_open(&run, &report, &[]);
    expect_replay(&dir, &target, finding, "");
}

/// The fault is in the C library; the report gives the place of the call.
#[test]
fn a_fault_inside_libc() {
    let dir = Dir::new();
    let target = dir.file(
        "in_libc.c",
        "#include <string.h>
         double in_libc(double x) {
           const char *volatile text = \"abc\";
           if (x < 0.0) return -x;
           if (x > 1000.0 && x < 1001.0) text = NULL;
           return x + (double)strlen(text);
         }",
    );
    let (run, report) = campaign(&dir, &target, "");
    let finding = only_finding(&dir, &run, &report, "crashes");
    expect_place(&run, finding, "in_libc", &target, &["strlen(text)"]);
    run.expect(!finding.place.contains("__pen_"), "no thunk of penfuzz in the place");
    expect_replay(&dir, &target, finding, "");
}

#[test]
fn several_faults_in_one_function() {
    let dir = Dir::new();
    let target = dir.file(
        "several.c",
        "#include <stdlib.h>
         double several(double x, int n) {
           double *volatile nowhere = NULL;
           if (x < 0.0)
             return *nowhere;
           if (x == 0.5)
             abort();
           if (x == 0.75)
             abort(); // the second
           if (n == 12345)
             return nowhere[1];
           if (n == 54321)
             for (;;)
               ;
           return x;
         }",
    );
    let (run, report) = campaign(&dir, &target, "");
    expect_open(&run, &report, &[]);
    run.expect(report.crashes.len() == 4 && report.hangs.len() == 1, "4 crashes and a hang");
    let at = ["return *nowhere", "abort();", "abort(); // the second", "return nowhere[1]"];
    let mut found = report.crashes.clone();
    found.sort_by_key(|f| f.place.clone().split(".c:").nth(1).and_then(|n| n.split(')').next()?.parse::<u32>().ok()));
    for (finding, text) in found.iter().zip(at) {
        expect_place(&run, finding, "several", &target, &[text]);
    }
}

fn dies_while_loading(statement: &str, reason: &str) {
    let dir = Dir::new();
    let target = dir.file(
        "loads.c",
        format!(
            "#include <stdlib.h>
             __attribute__((constructor)) static void begin(void) {{ {statement} }}
             double loads(double x) {{ return x > 1.0 ? x : 1.0; }}"
        ),
    );
    let run = dir.fuzz(&target, "").exits(1);
    run.says("loads.c ends the process while it is being loaded").says(reason).says("constructors");
}

#[test]
fn a_constructor_that_crashes() {
    dies_while_loading("*(volatile int *)0 = 1;", "SIGSEGV");
}

#[test]
fn a_constructor_that_exits() {
    dies_while_loading("exit(0);", "exit");
}

/// Every input faults. A hundred thousand faults must cost that many jumps, but not that many processes.
#[test]
fn faults_that_cannot_be_avoided() {
    let dir = Dir::new();
    let target = dir.file(
        "faulty.c",
        "#include <stdlib.h>
         double faulty(double x) {
           double *volatile nowhere = 0;
           if (x < 1.0) return *nowhere;
           if (x * x < -1.0) return 3.0;
           abort();
         }",
    );
    let (run, report) = campaign(&dir, &target, "--max-evals 100000");
    run.expect(report.crashes.len() == 2, "two crashes");
    run.expect(report.stop_reason == "max-evals", "stopped by max-evals, not by time");
    run.expect(report.tests.is_empty(), "no input returns, so there is no test");
    for finding in &report.crashes {
        expect_place(&run, finding, "faulty", &target, &["return *nowhere", "abort();"]);
        run.expect(!finding.place.contains("__pen_"), &format!("no thunk of penfuzz in `{}`", finding.place));
    }
}
