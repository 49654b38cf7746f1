//! Tests of the status of output directories.

use penfuzz_directory::output::reports::write_all;
use penfuzz_report::example as report_example;

use super::*;
use crate::watch::{example, write};

/// A process id that no process has: the kernel assigns lower ones.
const NO_PROCESS: u32 = i32::MAX as u32;

fn written(change: impl FnOnce(&mut Snapshot)) -> (tempfile::TempDir, Status) {
    let dir = tempfile::tempdir().unwrap();
    let mut snapshot = example::farm();
    (snapshot.pid, snapshot.updated) = (std::process::id(), seconds_since_1970());
    change(&mut snapshot);
    write(dir.path(), &snapshot).unwrap();
    let status = read(dir.path()).unwrap();
    (dir, status)
}

#[test]
fn a_campaign_with_a_living_process_runs() {
    assert_eq!(written(|_| ()).1.life, RunState::Running);
}

#[test]
fn a_campaign_without_a_process_was_killed() {
    let (_dir, status) = written(|s| (s.pid, s.updated) = (NO_PROCESS, s.updated - 180));
    assert_eq!(status.life, RunState::Killed);
    let text = text(&status, Path::new("out"));
    assert!(text.starts_with("out: not running") && text.contains("last seen 3 min 00 s ago"), "{text}");
}

#[test]
fn an_old_process_id_may_belong_to_another_process() {
    assert_eq!(written(|s| s.updated -= 60).1.life, RunState::Killed, "the lock is free");
}

#[test]
fn a_stopped_campaign_holds_its_lock() {
    let (dir, _) = written(|s| s.updated -= 60);
    let _lock = directory::lock(dir.path(), 1).unwrap();
    let status = read(dir.path()).unwrap();
    assert_eq!(status.life, RunState::Running);
    assert!(life_text(&status).contains("is it stopped?"), "{}", life_text(&status));
}

#[test]
fn a_status_from_the_future_is_ignored() {
    assert_eq!(written(|s| s.updated += 10_000).1.life, RunState::Killed, "the lock is free");
}

#[test]
fn a_finished_campaign_is_recognised_by_its_report() {
    let dir = tempfile::tempdir().unwrap();
    write_all(dir.path(), &report_example::report()).unwrap();
    let status = read(dir.path()).unwrap();
    assert_eq!((status.life, status.status.branches.covered), (RunState::Finished, 6));
    assert!(text(&status, Path::new("out")).contains("CRASH  SIGABRT in clamp"), "the crash");
}

#[test]
fn status_of_a_farm() {
    let (_dir, mut status) = written(|_| ());
    status.crashes = report_example::report().crashes;
    status.status.pid = 4321;
    insta::assert_snapshot!(text(&status, Path::new("out")));
}

#[test]
fn another_directory_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let error = read(dir.path()).unwrap_err().to_string();
    assert!(error.contains("is not an output directory of penfuzz"), "{error}");
}
