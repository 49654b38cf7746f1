//! Ctrl-C, SIGTERM and SIGHUP end a campaign, which then writes its report. A second Ctrl-C ends it without a report.

use std::{
    thread::sleep,
    time::{Duration, Instant},
};

use crate::support::{Dir, Run, children, fixture};

/// Starts a campaign that does not end by itself, and sends the signal once the search runs.
fn interrupted<'a>(dir: &'a Dir, target: &str, signal: i32, group: bool) -> Run<'a> {
    let mut running = dir.fuzz(fixture(target), "--search random --max-time 50s").start();
    let stats = dir.path("out/fuzzer_stats");
    running.until("fuzzer_stats", || stats.exists());
    if group {
        running.signal_group(signal);
    } else {
        running.signal(signal);
    }
    running.wait()
}

fn expect_report(dir: &Dir, run: &Run, status: i32) {
    run.expect(run.status.code() == Some(status), &format!("exit status {status}"));
    let report = dir.report("out");
    run.expect(report.stop_reason == "interrupted", "stop_reason `interrupted`");
    run.expect(report.evaluations > 0 && report.branches.covered > 0, "what was found so far");
    run.expect(run.stdout.contains("stopped: interrupted"), "a summary");
}

#[test]
fn ctrl_c() {
    let dir = Dir::new();
    expect_report(&dir, &interrupted(&dir, "unreachable_in_loop.c", libc::SIGINT, true), 0);
}

#[test]
fn sigterm() {
    let dir = Dir::new();
    expect_report(&dir, &interrupted(&dir, "unreachable_in_loop.c", libc::SIGTERM, false), 0);
}

/// Sends SIGTERM to the process group, as `timeout` and service managers do. The death of a worker must not be reported
/// as a crash of the target.
#[test]
fn sigterm_to_the_group() {
    let dir = Dir::new();
    expect_report(&dir, &interrupted(&dir, "unreachable_in_loop.c", libc::SIGTERM, true), 0);
}

/// Sends SIGHUP, as the kernel does when a terminal is closed. The workers ignore it, and the supervisor ends them.
#[test]
fn sighup_to_the_group() {
    let dir = Dir::new();
    expect_report(&dir, &interrupted(&dir, "unreachable_in_loop.c", libc::SIGHUP, true), 0);
}

/// With several clients, a separate process writes the report.
#[test]
fn sighup_to_a_farm() {
    let dir = Dir::new();
    let mut running = dir.fuzz(fixture("unreachable_in_loop.c"), "--cores 0 --search random --max-time 50s").start();
    let stats = dir.path("out/c0/fuzzer_stats");
    running.until("fuzzer_stats", || stats.exists());
    running.signal_group(libc::SIGHUP);
    expect_report(&dir, &running.wait(), 0);
}

/// A stopped worker does not end, so the supervisor keeps waiting after the first Ctrl-C.
#[test]
fn a_second_ctrl_c_ends_a_campaign_whose_worker_does_not() {
    let dir = Dir::new();
    let mut running = dir.fuzz(fixture("unreachable_in_loop.c"), "--search random --max-time 50s").start();
    let stats = dir.path("out/fuzzer_stats");
    running.until("fuzzer_stats", || stats.exists());
    let workers = children(running.pid());
    for (pid, _) in &workers {
        // SAFETY: a system call without pointers, on a process that the campaign has started.
        unsafe { libc::kill(pid.cast_signed(), libc::SIGSTOP) };
    }
    running.signal(libc::SIGINT);
    let first = Instant::now();
    running.until("half a second", || first.elapsed() > Duration::from_millis(500));
    running.signal(libc::SIGINT);
    let second = Instant::now();
    let run = running.wait();
    run.expect(second.elapsed() < Duration::from_secs(1), "an end within a second");
    run.expect(run.status.code() == Some(1), "exit status 1");
    run.says("interrupted twice").says("the same command resumes the campaign");
    run.expect(!workers.is_empty(), "a worker");
    dir.until_unlocked("out");
    let run = dir.fuzz(fixture("unreachable_in_loop.c"), "--search random --max-time 100ms").exits(0);
    run.says("resuming out");
}

#[test]
fn ctrl_c_after_a_crash() {
    let dir = Dir::new();
    dir.file(
        "faulty.c",
        "double faulty(double x) {
           double *volatile nowhere = 0;
           if (x < 1.0) return *nowhere;
           if (x * x < -1.0) return 3.0;
           return x;
         }",
    );
    let mut running = dir.fuzz("faulty.c", "--search random --max-time 50s").start();
    let stats = dir.path("out/fuzzer_stats");
    running.until("fuzzer_stats", || stats.exists());
    running.signal_group(libc::SIGINT);
    expect_report(&dir, &running.wait(), 3);
}

/// Ctrl-C during an evaluation that hangs: the alarm ends the evaluation, then the campaign ends.
#[test]
fn ctrl_c_in_a_hanging_evaluation() {
    let dir = Dir::new();
    dir.file(
        "sleepy.c",
        "#include <unistd.h>
         double sleepy(double x) {
           if (x == x) while (1) pause();
           return x;
         }",
    );
    let mut running = dir.fuzz("sleepy.c", "--timeout 500ms --max-time 50s").start();
    let queue = dir.path("out/queue");
    running.until("the output directory", || queue.exists());
    sleep(Duration::from_millis(200));
    running.signal_group(libc::SIGINT);
    let run = running.wait();
    run.expect(run.status.code() == Some(3), "exit status 3");
    run.expect(dir.report("out").stop_reason == "interrupted", "stop_reason `interrupted`");
}
