//! Monitoring of campaigns: `penfuzz status`, `--monitor`, `report.html`.

use std::{
    fs,
    thread::sleep,
    time::{Duration, Instant},
};

use penfuzz_campaign::watch::{self, Snapshot};
use serde_json::Value;

use crate::support::{Dir, Running, fixture, quickstart};

/// Starts a campaign that does not end by itself, and waits for its status.
fn searching<'a>(dir: &'a Dir, arguments: &str) -> Running<'a> {
    let target = fixture("unreachable_in_loop.c");
    let mut running = dir.fuzz(target, "--search random --max-time 50s").args(arguments).start();
    let out = dir.path("out");
    running.until("status.json", || watch::read(&out).is_ok());
    running
}

fn status(dir: &Dir) -> Value {
    let run = dir.penfuzz("status out --json").exits(0);
    serde_json::from_str(&run.stdout).unwrap_or_else(|e| panic!("{e}: {}", run.stdout))
}

#[test]
fn the_status_of_a_running_campaign() {
    let dir = Dir::new();
    let running = searching(&dir, "");
    let shown = status(&dir);
    let text = dir.penfuzz("status out").exits(0).stdout.clone();
    let pid = running.pid();
    running.signal(libc::SIGINT);
    running.wait();
    assert_eq!((&shown["life"], &shown["status"]["pid"]), (&"running".into(), &pid.into()), "{shown}");
    assert_eq!(shown["status"]["clients"][0]["state"], "searching", "{shown}");
    assert!(text.starts_with(&format!("out: running (process {pid})\n")), "{text}");
}

/// The status contains the branch as soon as the crash is found, not only in the report at the end.
#[test]
fn the_status_has_what_only_crashes_cover() {
    let dir = Dir::new();
    let source = "#include <stdlib.h>\nint f(int n) { if (n > 1000) abort(); if (n * n == 7) return 1; return 0; }\n";
    let target = dir.file("crashes.c", source);
    let mut running = dir.fuzz(target, "--search random --max-time 50s").start();
    let out = dir.path("out");
    let only_by_crash = || watch::read(&out).is_ok_and(|now| now.branches.covered_by_crash_only == 1);
    running.until("a branch that only a crash covers", only_by_crash);
    let life = watch::read(&out).map(|now| now.stop_reason);
    let text = dir.penfuzz("status out").exits(0).stdout.clone();
    running.signal(libc::SIGINT);
    running.wait();
    assert_eq!(life.ok().as_deref(), Some("running"));
    assert!(text.contains("2 of 4 branches covered (50.0 %), 1 only by inputs that crash, "), "{text}");
}

#[test]
fn the_status_of_a_finished_campaign() {
    let dir = Dir::new();
    dir.fuzz(quickstart("thermocouple.c"), "").exits(3);
    let (shown, report) = (status(&dir), dir.report("out"));
    assert_eq!(
        (&shown["life"], &shown["status"]["stop_reason"]),
        (&"finished".into(), &report.stop_reason.as_str().into())
    );
    assert_eq!(shown["status"]["evaluations"], report.evaluations, "{shown}");
    assert_eq!(shown["status"]["branches"]["covered"], report.branches.covered, "{shown}");
    let run = dir.penfuzz("status out").exits(0);
    run.expect(run.stdout.starts_with("out: finished (saturated)\n"), "how it ended");
    run.expect(run.stdout.contains("CRASH  SIGSEGV"), "the crash");
}

#[test]
fn a_report_is_enough_for_a_status() {
    let dir = Dir::new();
    dir.fuzz(quickstart("triangle.c"), "").exits(0);
    fs::remove_file(dir.path("out").join(watch::FILE)).expect("the status was there");
    assert_eq!(status(&dir)["life"], "finished");
}

#[test]
fn the_status_of_a_killed_campaign() {
    let dir = Dir::new();
    let running = searching(&dir, "");
    running.signal(libc::SIGKILL);
    running.wait();
    dir.until_unlocked("out");
    assert_eq!(status(&dir)["life"], "killed");
    let run = dir.penfuzz("status out").exits(0);
    run.expect(run.stdout.contains("not running, and did not finish; last seen"), "that it was killed");
}

#[test]
fn a_stopped_campaign_runs() {
    let dir = Dir::new();
    let running = searching(&dir, "");
    running.signal_group(libc::SIGSTOP);
    let shown = status(&dir);
    running.signal_group(libc::SIGCONT);
    running.signal(libc::SIGINT);
    running.wait();
    assert_eq!(shown["life"], "running", "{shown}");
}

#[test]
fn several_directories_and_one_that_is_none() {
    let dir = Dir::new();
    dir.fuzz(quickstart("triangle.c"), "").exits(0);
    fs::create_dir(dir.path("other")).expect("a directory can be made");
    let run = dir.penfuzz("status other out").exits(1);
    run.says("error: other is not an output directory of penfuzz");
    run.expect(run.stdout.starts_with("out: finished"), "the other one's status");
    run.expect(run.stderr.lines().count() == 1, "one sentence");
}

#[test]
fn watching_ends_with_the_campaign() {
    let dir = Dir::new();
    let target = fixture("unreachable_in_loop.c");
    let mut running = dir.fuzz(target, "--search random --max-time 3s").start();
    let out = dir.path("out");
    running.until("status.json", || watch::read(&out).is_ok());
    let watched = dir.penfuzz("status out --watch --json").exits(0);
    running.wait();
    let lives: Vec<Value> =
        watched.stdout.lines().map(|l| serde_json::from_str::<Value>(l).unwrap()["life"].clone()).collect();
    watched.expect(lives.len() > 1 && lives[0] == "running", "several looks");
    watched.expect(lives.last().is_some_and(|l| l == "finished"), "the end");
}

#[test]
fn json_lines() {
    let dir = Dir::new();
    let run = dir.fuzz(fixture("unreachable_in_loop.c"), "--search random --max-time 6s --monitor json").exits(0);
    let lines: Vec<Result<Snapshot, _>> = run.stderr.lines().map(serde_json::from_str).collect();
    run.expect(lines.iter().all(Result::is_ok), "nothing but JSON lines on standard error");
    run.expect(lines.len() == 2, "a line after 5 s, and one at the end");
    let report = dir.report("out");
    let last = lines.last().and_then(|l| l.as_ref().ok()).expect("a line");
    run.expect(last.stop_reason == "max-time" && last.evaluations == report.evaluations, "the report's figures");
}

/// Here standard error is a file.
#[test]
fn a_dashboard_needs_a_terminal() {
    let dir = Dir::new();
    let run = dir.fuzz(quickstart("triangle.c"), "--monitor dashboard").exits(0);
    run.says("standard error is not a terminal, so lines are shown instead of a dashboard");
    run.expect(!run.stderr.contains('\u{1b}'), "no control characters");
}

#[test]
fn two_monitors_on_one_stream_are_refused() {
    let dir = Dir::new();
    let run = dir.fuzz(quickstart("triangle.c"), "--monitor json --monitor lines").exits(1);
    run.says("give one of them");
}

#[test]
fn the_page_of_a_campaign() {
    let dir = Dir::new();
    dir.fuzz(quickstart("thermocouple.c"), "").exits(3);
    let page = fs::read_to_string(dir.path("out/report.html")).expect("report.html");
    let options = roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() };
    assert!(roxmltree::Document::parse_with_options(&page, options).is_ok(), "well-formed");
    for text in ["branches covered", "Crashes (1)", "Tests (", "thermocouple.c", "class=\"source\""] {
        assert!(page.contains(text), "no `{text}` in the page");
    }
    assert!(!page.contains("http-equiv=\"refresh\""), "it does not change any more");
}

#[test]
fn the_page_of_a_running_campaign_loads_itself_again() {
    let dir = Dir::new();
    let mut running = searching(&dir, "");
    let page = dir.path("out/report.html");
    running.until("report.html", || page.exists());
    let text = fs::read_to_string(&page).expect("report.html");
    running.signal(libc::SIGINT);
    running.wait();
    assert!(text.contains("http-equiv=\"refresh\""), "the page is loaded again");
}

/// The status is written once a second, so that it is never much older.
#[test]
fn the_status_is_written_again_and_again() {
    let dir = Dir::new();
    let running = searching(&dir, "");
    let read = || watch::read(&dir.path("out")).expect("a status");
    let (first, begun) = (read(), Instant::now());
    while read().seconds <= first.seconds && begun.elapsed() < Duration::from_secs(20) {
        sleep(Duration::from_millis(50));
    }
    let grown = read().seconds > first.seconds;
    running.signal(libc::SIGINT);
    running.wait();
    assert!(grown, "the status is the first one after 20 s");
}
