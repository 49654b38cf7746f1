//! Console output: JSON with `--json`, text otherwise, nothing with `--quiet`.

use penfuzz_report::Report;

use crate::support::{Dir, fixture, quickstart};

/// Prints while it is loaded and while it runs, without a newline.
const TALKATIVE: &str = "#include <stdio.h>
    __attribute__((constructor)) static void begin(void) { puts(\"hello\"); fflush(stdout); }
    double talkative(double x) {
      printf(\"x = %g\\n\", x);
      fflush(stdout);
      fprintf(stderr, \"x = %g\\n\", x);
      if (x == 77.25) return 3.0;
      return x;
    }";

fn is_plain(text: &str) -> bool {
    text.chars().all(|c| !c.is_control() || c == '\n')
}

#[test]
fn json_is_the_report_and_nothing_else() {
    let dir = Dir::new();
    let run = dir.fuzz(quickstart("triangle.c"), "--json").exits(0);
    let printed: Result<Report, _> = serde_json::from_str(&run.stdout);
    run.expect(printed.is_ok_and(|r| r == dir.report("out")), "report.json on standard output");
}

#[test]
fn json_after_a_crash() {
    let dir = Dir::new();
    let run = dir.fuzz(fixture("segv.c"), "--json").exits(3);
    run.expect(
        serde_json::from_str::<Report>(&run.stdout).is_ok_and(|r| r.crashes.len() == 1),
        "a report with a crash",
    );
}

#[test]
fn output_of_the_target_is_suppressed() {
    let dir = Dir::new();
    dir.file("talkative.c", TALKATIVE);
    let run = dir.fuzz("talkative.c", "--json").exits(0);
    run.expect(serde_json::from_str::<Report>(&run.stdout).is_ok(), "nothing but the report on standard output");
    run.expect(!run.stderr.contains("x = "), "nothing of the target on standard error");
}

#[test]
fn replay_shows_what_the_target_prints() {
    let dir = Dir::new();
    dir.file("talkative.c", TALKATIVE);
    let input = dir.file("input", 77.25f64.to_le_bytes());
    let run = dir.penfuzz("replay talkative.c").arg(input).exits(0);
    run.expect(
        run.stdout.contains("x = 77.25") && run.stdout.contains("returned"),
        "the target's words and the result",
    );
}

#[test]
fn a_piped_run_has_no_control_characters() {
    let dir = Dir::new();
    let run = dir.fuzz(fixture("unreachable_in_loop.c"), "--search random --max-time 6s").exits(0);
    run.expect(is_plain(&run.stdout) && is_plain(&run.stderr), "plain text");
    run.expect(run.stderr.contains("branches covered"), "a line of progress after 5 s");
}

#[test]
fn quiet_prints_nothing() {
    let dir = Dir::new();
    for _ in 0..2 {
        let run = dir.fuzz(fixture("segv.c"), "--quiet --fresh").exits(3);
        run.expect(run.stdout.is_empty(), "nothing on standard output");
    }
    let first = Dir::new();
    let run = first.fuzz(quickstart("triangle.c"), "-q").exits(0);
    run.expect(run.stdout.is_empty() && run.stderr.is_empty(), "nothing at all");
}

#[test]
fn the_summary_leads_with_coverage_and_shows_crashes() {
    let dir = Dir::new();
    let run = dir.fuzz(quickstart("thermocouple.c"), "").exits(3);
    let report = dir.report("out");
    let headline = format!("{} of {} branches covered", report.branches.covered, report.branches.total);
    run.expect(run.stdout.lines().next().is_some_and(|l| l.contains(&headline)), "coverage in the first line");
    run.expect(!run.stdout.contains("saturated"), "a word of report.json only");
    run.expect(run.stdout.contains("stopped: every branch is covered\n"), "why it stopped");
    run.expect(run.stdout.contains("CRASH  SIGSEGV"), "the crash");
    let again = dir.penfuzz("report out").exits(0);
    again.expect(again.stdout == run.stdout, "the same summary by `penfuzz report`");
}

fn help(arguments: &str) -> String {
    let dir = Dir::new();
    let run = dir.penfuzz(arguments).exits(0);
    run.expect(run.stderr.is_empty(), "help on standard output");
    for line in run.stdout.lines() {
        run.expect(line.chars().count() <= 100, &format!("at most 100 columns: {line}"));
    }
    run.expect(is_plain(&run.stdout), "plain text");
    run.expect(!run.stdout.contains('`'), "no marks of the documentation's source");
    run.stdout.clone()
}

/// Every option must have a description on its line or on the next one.
fn expect_explained(short: &str) {
    let lines: Vec<&str> = short.lines().collect();
    let is_option = |l: &str| l.trim_start().starts_with('-');
    for (i, line) in lines.iter().enumerate().filter(|(_, l)| is_option(l)) {
        let explained =
            line.trim_start().contains("  ") || lines.get(i + 1).is_some_and(|l| !is_option(l) && !l.trim().is_empty());
        assert!(explained, "no help for {line}");
    }
}

#[test]
fn help_is_complete_and_narrow() {
    let others = ["suite", "compare", "generate", "functions", "replay", "report", "status"];
    let questions = ["boundary", "exceptions", "reach", "prove", "solve", "accuracy", "differ", "mutate"];
    for command in [""].into_iter().chain(others).chain(questions) {
        let (short, long) = (help(&format!("{command} -h")), help(&format!("{command} --help")));
        expect_explained(&short);
        for word in short.split_whitespace().filter(|w| w.starts_with("--")) {
            let option = word.trim_end_matches(|c: char| !c.is_alphanumeric());
            assert!(long.contains(option), "`{command} --help` lacks {option}");
        }
    }
}

#[test]
fn help_tells_the_exit_status() {
    for status in ["0 finished", "1 failed", "2 invalid arguments", "3 finished, with crashes or hangs found"] {
        assert!(help("--help").replace('\n', " ").contains(status), "exit status {status}");
    }
}

#[test]
fn version() {
    assert!(help("--version").starts_with("penfuzz "), "name and version");
}
