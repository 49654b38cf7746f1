//! Targets that change their process: each system call is allowed or refused, and the files of the campaign survive.

use std::path::{Path, PathBuf};

use penfuzz_report::Report;

use crate::support::{Dir, Run, line_of, open_branches};

/// Writes a function with ten branches that executes `first` on one and `second` on another; both are far from the
/// start points of the search.
fn target(dir: &Dir, outside: &str, first: &str, second: &str) -> PathBuf {
    let text = format!(
        "#define _GNU_SOURCE
         #include <fenv.h>
         #include <fcntl.h>
         #include <pthread.h>
         #include <signal.h>
         #include <stdio.h>
         #include <stdlib.h>
         #include <string.h>
         #include <sys/prctl.h>
         #include <sys/resource.h>
         #include <sys/stat.h>
         #include <sys/time.h>
         #include <unistd.h>
         {outside}
         double hostile(double x) {{
           if (x < 0.0) return -x;
           if (x > 1000.0 && x < 1001.0) {{
             {first}
           }}
           if (x == 77.25) return 3.0;
           if (x == 78.5) {{
             {second}
           }}
           return x;
         }}"
    );
    dir.file("hostile.c", text)
}

/// A campaign must end by itself with every branch covered, write its files, and resume in a second run. `findings`
/// holds parts of the reasons, each with the text of its line.
fn survives(outside: &str, first: &str, second: &str, findings: &[(&str, &str)]) {
    let dir = Dir::new();
    let file = target(&dir, outside, first, second);
    let status = if findings.is_empty() { 0 } else { 3 };
    let run = dir.fuzz(&file, "--max-time 20s").exits(status);
    let report = dir.report("out");
    run.expect(report.stop_reason == "saturated", &format!("an end by itself, is {}", report.stop_reason));
    expect_covered(&run, &report);
    expect_findings(&run, &report, &file, findings);
    run.expect(!dir.files("out/queue").is_empty(), "inputs in queue/");
    for folder in ["out", "out/queue", "out/crashes"] {
        let left: Vec<String> = dir.files(folder).into_keys().filter(|f| f.contains("penfuzz-tmp")).collect();
        run.expect(left.is_empty(), &format!("no temporary file in {folder}, are {left:?}"));
    }
    let again = dir.fuzz(&file, "--max-time 20s").exits(status);
    again.says("resuming");
    expect_covered(&again, &dir.report("out"));
}

/// [`survives`] with any findings, or none. Returns the report.
fn survives_any(outside: &str, first: &str, second: &str) -> Report {
    let dir = Dir::new();
    let file = target(&dir, outside, first, second);
    let run = dir.fuzz(&file, "--max-time 10s").run();
    run.expect(matches!(run.status.code(), Some(0 | 3)), "a normal end");
    let report = dir.report("out");
    let branches = &report.branches;
    run.expect(branches.covered + branches.covered_by_crash_only == branches.total, "every branch is reached");
    report
}

fn expect_covered(run: &Run, report: &Report) {
    let open = open_branches(report);
    run.expect(open.is_empty(), &format!("all branches covered, open are {open:?}"));
}

fn expect_findings(run: &Run, report: &Report, file: &Path, findings: &[(&str, &str)]) {
    let found: Vec<_> = report.crashes.iter().chain(&report.hangs).collect();
    run.expect(found.len() == findings.len(), &format!("{} findings, are {found:?}", findings.len()));
    for (reason, line) in findings {
        let number = line_of(file, line);
        let is_there =
            found.iter().any(|f| f.reason.contains(reason) && f.place.contains(&format!("hostile.c:{number})")));
        run.expect(is_there, &format!("`{reason}` in line {number}, are {found:?}"));
    }
}

#[test]
fn forks() {
    survives("", "for (;;) fork();", "", &[("starts a process", "for (;;) fork();")]);
}

#[test]
fn runs_a_command() {
    survives("", "system(\"true\");", "", &[("starts a process", "system(")]);
}

#[test]
fn becomes_another_program() {
    let exec = "execl(\"/bin/true\", \"true\", (char *)0);";
    survives("", exec, "", &[("starts another program", "execl(")]);
}

#[test]
fn starts_threads() {
    let outside = "static void *run(void *p) { return p; }";
    let start = "pthread_t t; pthread_create(&t, 0, run, 0);";
    survives(outside, start, "", &[("starts a thread", "pthread_create(")]);
}

#[test]
fn closes_all_files() {
    survives("", "for (int i = 0; i < 1024; i++) close(i);", "close_range(0, ~0u, 0);", &[]);
}

#[test]
fn puts_another_file_over_ours() {
    let over = "int f = open(\"/dev/zero\", O_RDONLY); for (int i = 0; i < 64; i++) dup2(f, i); close(f);";
    survives("", over, "", &[]);
}

#[test]
fn prints_and_reads() {
    let print = "for (int i = 0; i < 10000; i++) { puts(\"out\"); fputs(\"err\", stderr); } (void)getchar();";
    survives("", print, "", &[]);
}

#[test]
fn handles_signals_and_crashes() {
    let outside = "static void ignore(int s) { (void)s; } static char room[65536];";
    let first = "signal(SIGSEGV, ignore); signal(SIGALRM, SIG_IGN);
                 stack_t s = {.ss_sp = room, .ss_size = sizeof room}; sigaltstack(&s, 0);
                 sigset_t all; sigfillset(&all); sigprocmask(SIG_BLOCK, &all, 0);
                 struct itimerval often = {{0, 100}, {0, 100}}; setitimer(ITIMER_REAL, &often, 0);";
    let second = "double *volatile nowhere = 0; return *nowhere;";
    survives(outside, first, second, &[("SIGSEGV at address 0x0", "return *nowhere")]);
}

#[test]
fn switches_the_alarm_off_and_waits() {
    let outside = "static void ignore(int s) { (void)s; }";
    let first = "signal(SIGALRM, ignore); alarm(0); sigset_t all; sigfillset(&all); sigprocmask(SIG_BLOCK, &all, 0);";
    survives(outside, first, "for (;;) pause();", &[("did not return within", "for (;;) pause();")]);
}

/// The change must not affect later evaluations or penfuzz's own arithmetic: a trap would kill the worker, and another
/// rounding mode would take the branch.
#[test]
fn changes_the_floating_point_environment() {
    let dir = Dir::new();
    let file = dir.file(
        "environment.c",
        "#define _GNU_SOURCE
         #include <fenv.h>
         #include <xmmintrin.h>
         double environment(double x) {
           volatile double tiny = 0x1p-60, one = 1.0;
           if (one + tiny != one) return 7.0;
           if (x > 1000.0 && x < 1001.0) fesetround(FE_UPWARD);
           if (x == 77.25) feenableexcept(FE_ALL_EXCEPT);
           if (x == 78.5) _mm_setcsr(_mm_getcsr() | 0x8040);
           return x;
         }",
    );
    let run = dir.fuzz(&file, "--max-evals 20000").exits(0);
    let open = open_branches(&dir.report("out"));
    run.expect(open == ["6 true"], &format!("only line 6 true is open, are {open:?}"));
}

#[test]
fn leaves_the_directory() {
    let first = "if (chdir(\"/\")) return 0.0; umask(0777); if (nice(5)) return 0.0;";
    let dir = Dir::new();
    let file = target(&dir, "", first, "");
    let run = dir.fuzz(&file, "--max-evals 5000").exits(0);
    let report = dir.report("out");
    run.expect(
        report.sites.iter().flat_map(|s| &s.branches).filter(|b| crate::support::is_covered(b)).count() >= 11,
        "all but failures of calls covered",
    );
    dir.fuzz(&file, "--max-evals 6000").exits(0).says("resuming");
}

#[test]
fn sets_limits() {
    let first = "struct rlimit none = {0, 0}; setrlimit(RLIMIT_FSIZE, &none); setrlimit(RLIMIT_NOFILE, &none);
                 setrlimit(RLIMIT_AS, &none); prctl(PR_SET_PDEATHSIG, SIGKILL);";
    survives("", first, "", &[]);
}

#[test]
fn signals_the_supervisor_and_stops_itself() {
    let findings =
        [("sends SIGTERM to another process", "kill(getppid()"), ("stops its process (SIGSTOP)", "raise(SIGSTOP)")];
    survives("", "kill(getppid(), SIGTERM);", "raise(SIGSTOP);", &findings);
}

#[test]
fn sends_itself_signals_that_end_a_program() {
    let findings = [("sends itself SIGTERM", "raise(SIGTERM)"), ("sends itself SIGPIPE", "raise(SIGPIPE)")];
    survives("", "raise(SIGTERM);", "raise(SIGPIPE);", &findings);
}

#[test]
fn handles_a_signal_that_it_sends_itself() {
    survives("", "signal(SIGTERM, SIG_IGN); raise(SIGTERM);", "signal(SIGPIPE, SIG_IGN); raise(SIGPIPE);", &[]);
}

#[test]
fn ends_its_thread() {
    survives("", "pthread_exit(0);", "", &[]);
}

#[test]
fn sets_a_timer_that_kills() {
    let timer = "struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL}; timer_t timer;
                 struct itimerspec soon = {{0, 0}, {0, 1000000}};
                 timer_create(CLOCK_MONOTONIC, &event, &timer); timer_settime(timer, 0, &soon, 0);";
    survives("#include <time.h>", timer, "", &[]);
}

/// A statement that sets a flag of the processor.
#[cfg(target_arch = "x86_64")]
fn sets_flag(bit: &str) -> String {
    format!("__asm__ volatile(\"pushf; orl ${bit}, (%%rsp); popf\" ::: \"memory\", \"cc\");")
}

/// Whether the function itself faults with these flags depends on its code.
#[cfg(target_arch = "x86_64")]
#[test]
fn sets_the_alignment_flag() {
    survives_any("", &sets_flag("0x40000"), "__asm__ volatile(\"std\");");
}

/// As [`sets_the_alignment_flag`].
#[cfg(target_arch = "x86_64")]
#[test]
fn sets_the_trap_flag() {
    survives_any("", &sets_flag("0x100"), "");
}

/// The guard and the search read the time stamp counter.
#[test]
fn forbids_the_time_stamp_counter() {
    survives("", "prctl(PR_SET_TSC, PR_TSC_SIGSEGV);", "", &[]);
}

#[test]
fn spoils_its_environment() {
    let report = survives_any("", "environ = (char **)8; getenv(\"HOME\");", "");
    assert!(report.crashes.iter().any(|c| c.reason.contains("SIGSEGV")), "{:?}", report.crashes);
}

/// The supervisor survives limits, and signals that descriptors would send to it.
#[test]
fn harms_its_supervisor() {
    let limits = "struct rlimit none = {0, 0}; prlimit(getppid(), RLIMIT_FSIZE, &none, 0);
                  prlimit(getppid(), RLIMIT_NOFILE, &none, 0);";
    let signals = "for (int i = 3; i < 300; i++) {
                     fcntl(i, F_SETOWN, getppid()); fcntl(i, F_SETSIG, 9); fcntl(i, F_SETFL, O_ASYNC);
                   }";
    survives("", limits, signals, &[]);
}

/// Every evaluation leaks a megabyte: workers are replaced in time, and no input is reported.
#[test]
fn leaks_a_megabyte_per_evaluation() {
    let dir = Dir::new();
    let file = dir.file(
        "leaks.c",
        "#include <stdlib.h>
         #include <string.h>
         double leaks(double x) {
           char *volatile p = malloc(1 << 20);
           memset(p, 1, 1 << 20);
           if (x == 77.25) return 3.0;
           return x;
         }",
    );
    let run = dir.fuzz(&file, "--memory-limit 64M --max-time 20s").exits(0);
    expect_covered(&run, &dir.report("out"));
}

/// The copy of the worker that a constructor forks must not run the search.
#[test]
fn a_constructor_that_forks() {
    let dir = Dir::new();
    let outside = "__attribute__((constructor)) static void begin(void) { if (fork() < 0) abort(); }";
    let file = target(&dir, outside, "", "");
    let run = dir.fuzz(&file, "--function hostile --max-time 20s").exits(0);
    expect_covered(&run, &dir.report("out"));
}

/// Commands that replay the inputs of a campaign have the same protection from the target as the campaign.
#[test]
fn other_commands_refuse_the_same() {
    let dir = Dir::new();
    let file = target(&dir, "", "kill(getppid(), SIGTERM);", "alarm(1);");
    dir.fuzz(&file, "--max-time 20s").exits(3);
    let again = dir.penfuzz("triage out").exits(3);
    again.expect(again.stdout.contains("sends SIGTERM to another process"), "the call refused");
    dir.penfuzz("cmin out -o min").exits(0);
    let crash = dir.files("out/crashes").into_keys().next().expect("the crash was kept");
    let line = line_of(&file, "kill(getppid()");
    let crash = dir.path("out/crashes").join(crash);
    let reach = dir.penfuzz("reach --max-evals 100000").arg(&file).args(&format!("--line hostile.c:{line}"));
    for run in [dir.penfuzz("tmin").arg(&file).arg(&crash).exits(0), reach.exits(3)] {
        run.expect(run.stdout.contains("sends SIGTERM to another process"), "the call refused");
    }
}
