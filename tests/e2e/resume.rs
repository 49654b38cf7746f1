//! A campaign resumes where it ended, whatever ended it, and no find is lost.

use std::{fs, thread::sleep, time::Duration};

use crate::support::{Dir, Running, fixture};

/// Options with which a campaign does not end: the search has no budgets, and one branch cannot be covered.
const ENDLESS: &str = "--search random --max-time 50s";

/// Starts a campaign that does not end, and waits until it has kept an input.
fn endless(dir: &Dir) -> Running<'_> {
    let mut running = dir.fuzz(fixture("unreachable_in_loop.c"), ENDLESS).start();
    let (queue, state) = (dir.path("out/queue"), dir.path("out/fuzzer_stats"));
    running.until("an input in queue/", || fs::read_dir(&queue).is_ok_and(|mut d| d.next().is_some()));
    running.until("fuzzer_stats", || state.exists());
    running
}

#[test]
fn evaluations_go_on_and_nothing_is_lost() {
    let dir = Dir::new();
    let target = fixture("unreachable_in_loop.c");
    dir.fuzz(&target, "--max-evals 300").exits(0);
    let (before, first) = (dir.files("out/queue"), dir.report("out"));
    let run = dir.fuzz(&target, "--max-evals 100000").exits(0);
    run.says("resuming out").says("after 300 evaluations");
    let (after, second) = (dir.files("out/queue"), dir.report("out"));
    run.expect(before.iter().all(|(name, bytes)| after.get(name) == Some(bytes)), "every kept input still there");
    run.expect(first.evaluations == 300 && second.evaluations == 100_000, "300, then 100000 evaluations");
    run.expect(second.branches.covered >= first.branches.covered, "no branch lost");
}

#[test]
fn a_finished_campaign_ends_at_once_with_the_same_result() {
    let dir = Dir::new();
    let target = fixture("floats.c");
    dir.fuzz(&target, "").exits(0);
    let first = dir.report("out");
    let run = dir.fuzz(&target, "").exits(0);
    let second = dir.report("out");
    run.expect(first.branches == second.branches, "the same counts of branches");
    run.expect(first.evaluations == second.evaluations, "no further evaluation");
    run.expect(second.stop_reason == "saturated", "stopped because all is saturated");
}

#[test]
fn verdicts_outlive_a_run() {
    let dir = Dir::new();
    let target = fixture("unreachable_in_loop.c");
    dir.fuzz(&target, "").exits(0);
    let first = dir.report("out");
    assert_eq!(first.branches.given_up, 1, "one branch cannot be covered");
    let run = dir.fuzz(&target, "").exits(0);
    run.expect(dir.report("out").branches == first.branches, "the same counts of branches");
    run.expect(dir.report("out").evaluations == first.evaluations, "no further evaluation");
}

#[test]
fn known_crashes_are_not_found_again() {
    let dir = Dir::new();
    let target = fixture("segv.c");
    dir.fuzz(&target, "").exits(3);
    let run = dir.fuzz(&target, "").exits(3);
    run.expect(dir.files("out/crashes").len() == 1, "still one crash");
    run.expect(dir.report("out").crashes.len() == 1, "still one crash in the report");
}

#[test]
fn fresh_keeps_the_old_campaign() {
    let dir = Dir::new();
    let target = fixture("floats.c");
    dir.fuzz(&target, "").exits(0);
    let before = dir.files("out/queue");
    let run = dir.fuzz(&target, "--fresh --max-evals 50").exits(0);
    run.says("starting over; the old campaign is kept in out.old1");
    run.expect(dir.files("out.old1/queue") == before, "the old queue under its new name");
    // Finds of the last round are evaluated once more before they are kept.
    run.expect((50..70).contains(&dir.report("out").evaluations), "a count from 0");
}

#[test]
fn another_function_is_refused() {
    let dir = Dir::new();
    dir.fuzz(fixture("ambiguous.c"), "-f first").exits(0);
    let campaign = || {
        let mut files = dir.files("out");
        files.remove(".lock");
        (files, dir.files("out/queue"))
    };
    let before = campaign();
    let run = dir.fuzz(fixture("ambiguous.c"), "-f second").exits(1);
    run.says("out holds a campaign on another function").says("--fresh");
    run.expect(campaign() == before, "the campaign as it was");
}

#[test]
fn a_damaged_state_is_set_aside() {
    let dir = Dir::new();
    let target = fixture("floats.c");
    dir.fuzz(&target, "").exits(0);
    let before = dir.files("out/queue");
    fs::write(dir.path("out/state.json"), "{\"version\": 1, \"evalua").expect("state.json can be written");
    let run = dir.fuzz(&target, "").exits(0);
    run.says("state.json").says("set aside as").says("resuming out");
    run.expect(dir.files("out").contains_key("state.json.unreadable"), "the damaged file under another name");
    let after = dir.files("out/queue");
    run.expect(before.iter().all(|(name, bytes)| after.get(name) == Some(bytes)), "every kept input still there");
    run.expect(dir.report("out").branches.covered == 16, "all branches covered");
}

/// A file with half of an input, as a full disk or an interrupted copy can leave it.
#[test]
fn a_damaged_input_does_no_harm() {
    let dir = Dir::new();
    let target = fixture("floats.c");
    dir.fuzz(&target, "").exits(0);
    dir.file("out/queue/id:000099,time:0,execs:0,op:copy", [1, 2, 3]);
    dir.file("out/queue/README", "not an input");
    dir.file("out/queue/id:000098,time:0,execs:0,op:empty", "");
    let run = dir.fuzz(&target, "").exits(0);
    run.expect(dir.report("out").branches.covered == 16, "all branches covered");
}

#[test]
fn kill_9_of_the_whole_group() {
    let dir = Dir::new();
    let running = endless(&dir);
    let before = dir.files("out/queue");
    running.signal_group(libc::SIGKILL);
    drop(running.wait());
    dir.until_unlocked("out");
    assert!(!dir.path("out/report.json").exists(), "the campaign was killed before its report");
    let run = dir.fuzz(fixture("unreachable_in_loop.c"), "--search random --max-time 200ms").exits(0);
    run.says("resuming out");
    let after = dir.files("out/queue");
    run.expect(before.iter().all(|(name, bytes)| after.get(name) == Some(bytes)), "every kept input still there");
    run.expect(dir.report("out").stop_reason == "max-time", "a report");
}

/// Only the worker is killed, as the kernel does when memory is short: the supervisor starts another.
#[test]
fn kill_9_of_the_worker() {
    let dir = Dir::new();
    let running = endless(&dir);
    let children = fs::read_to_string(format!("/proc/{0}/task/{0}/children", running.pid()));
    let worker: i32 = children.ok().and_then(|c| c.split_whitespace().next()?.parse().ok()).expect("a worker");
    // SAFETY: a plain system call on a process that our own child has started.
    unsafe { libc::kill(worker, libc::SIGKILL) };
    sleep(Duration::from_millis(300));
    running.signal(libc::SIGTERM);
    let run = running.wait();
    run.expect(run.status.code().is_some_and(|c| c == 0 || c == 3), "an orderly end");
    run.expect(dir.report("out").stop_reason == "interrupted", "a report");
}

#[test]
fn a_second_campaign_is_refused_with_the_first_one_s_number() {
    let dir = Dir::new();
    let running = endless(&dir);
    let run = dir.fuzz(fixture("unreachable_in_loop.c"), "").exits(1);
    run.says("out is in use by another campaign").says(&format!("(process {})", running.pid()));
    run.expect(run.stderr.lines().count() == 1, "one line on standard error");
    let fresh = dir.fuzz(fixture("unreachable_in_loop.c"), "--fresh").exits(1);
    fresh.says("out is in use by another campaign");
    running.signal_group(libc::SIGKILL);
    drop(running.wait());
}

/// The worker must not outlive its supervisor and keep the lock.
#[test]
fn kill_9_of_the_supervisor_releases_the_lock() {
    let dir = Dir::new();
    let running = endless(&dir);
    running.signal(libc::SIGKILL);
    drop(running.wait());
    dir.until_unlocked("out");
    dir.fuzz(fixture("unreachable_in_loop.c"), "--max-evals 1").exits(0);
}
