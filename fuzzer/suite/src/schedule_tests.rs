//! Tests of the scheduler. Functions of this file replace campaigns.

use std::{
    os::unix::{fs::PermissionsExt, process::CommandExt},
    path::Path,
    process::Command,
    sync::Barrier,
};

use penfuzz_report::example;

use super::{super::child::run_program, *};
use crate::config::Build;

fn suite(directory: &Path, names: &[&str]) -> Suite {
    fs::write(directory.join("clamp.c"), example::SOURCE).unwrap();
    let target = |name: &&str| TargetSpec {
        name: (*name).to_owned(),
        file: "clamp.c".to_owned(),
        function: "clamp".to_owned(),
        flags: Vec::new(),
        is_static: false,
        rounding: None,
        args: Vec::new(),
        assume: Vec::new(),
        calls: None,
        init: None,
        globals: Vec::new(),
        paper: None,
    };
    Suite {
        name: "s".to_owned(),
        fetch: None,
        test_format: None,
        test_style: None,
        recorded: None,
        generate: None,
        sources: directory.to_owned(),
        published: Vec::new(),
        build: Build::default(),
        targets: names.iter().map(target).collect(),
        support_files: Vec::new(),
        setup_files: Vec::new(),
    }
}

fn options(directory: &Path, jobs: usize, referee: bool) -> Options {
    Options {
        out: directory.join("out"),
        jobs,
        referee,
        cache: directory.join("cache"),
        quiet: true,
        passed: ForwardedOptions::default(),
    }
}

#[test]
fn rows_are_in_the_order_of_the_suite_and_failures_do_not_stop_it() {
    let dir = tempfile::tempdir().unwrap();
    let suite = suite(dir.path(), &["a", "b", "c", "d"]);
    let report = run(&suite, &options(dir.path(), 3, true), |target| {
        std::thread::sleep(Duration::from_millis(if target.name == "a" { 50 } else { 0 }));
        if target.name == "c" { Err(Error::new("broken")) } else { Ok(example::report()) }
    })
    .unwrap();
    let names: Vec<_> = report.targets.iter().map(|r| r.name.as_str()).collect();
    assert_eq!(names, ["a", "b", "c", "d"]);
    assert_eq!(report.targets[2].error.as_deref(), Some("broken"));
    let counts: Vec<_> = report.targets.iter().filter_map(|r| r.referee.as_ref()).map(|r| r.covered).collect();
    assert_eq!(counts, [6, 6, 6]);
    assert!((report.mean_coverage - 75.0 * 0.75).abs() < 1e-9, "{}", report.mean_coverage);
    let written = fs::read_to_string(dir.path().join("out/suite.json")).unwrap();
    assert_eq!(written, report.to_json());
}

#[test]
fn as_many_targets_run_at_once_as_there_are_jobs() {
    let dir = tempfile::tempdir().unwrap();
    let suite = suite(dir.path(), &["a", "b", "c"]);
    let all = Barrier::new(3);
    // Ends only if all three run at the same time.
    let report = run(&suite, &options(dir.path(), 3, false), |_| {
        all.wait();
        Ok(example::report())
    });
    assert_eq!(report.unwrap().targets.len(), 3);
}

#[test]
fn a_referee_that_fails_leaves_our_own_counts() {
    let dir = tempfile::tempdir().unwrap();
    let suite = suite(dir.path(), &["a"]);
    fs::write(dir.path().join("clamp.c"), "int x").unwrap();
    let report = run(&suite, &options(dir.path(), 1, true), |_| Ok(example::report())).unwrap();
    let row = &report.targets[0];
    assert!(row.error.as_ref().unwrap().starts_with("referee: gcc cannot compile"), "{row:?}");
    assert_eq!((row.branches.covered, row.branches.covered_by_crash_only), (6, 1));
    assert!((report.mean_coverage - 75.0).abs() < 1e-9);
}

/// The directory of [`a_suite_that_waits`].
const DIRECTORY: &str = "PENFUZZ_TEST_DIRECTORY";

/// Not a test on its own: [`ctrl_c_stops_the_children_and_keeps_finished_results`] starts it as a process and
/// interrupts it. Its second target is a child that does not end.
#[test]
#[ignore = "run by another test"]
fn a_suite_that_waits() {
    let Some(directory) = std::env::var_os(DIRECTORY) else {
        return;
    };
    let directory = PathBuf::from(directory);
    let suite = suite(&directory, &["a", "b", "c"]);
    let options = options(&directory, 1, false);
    run(&suite, &options, |target| match target.name.as_str() {
        "b" => run_program(&directory.join("penfuzz"), &suite, &options.out, &options.passed, target),
        _ => Ok(example::report()),
    })
    .unwrap();
}

#[test]
fn ctrl_c_stops_the_children_and_keeps_finished_results() {
    let dir = tempfile::tempdir().unwrap();
    let program = dir.path().join("penfuzz");
    fs::write(&program, "#!/bin/sh\nwhile [ \"$1\" != -o ]; do shift; done\ntouch \"$2.started\"\nexec sleep 100\n")
        .unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let module = module_path!().split_once("::").unwrap().1;
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--ignored", "--exact", &format!("{module}::a_suite_that_waits")])
        .env(DIRECTORY, dir.path())
        .process_group(0);
    // The tests may have been started with the signal ignored: a shell ignores it in background processes.
    // SAFETY: signal may be called between fork and exec.
    unsafe {
        command.pre_exec(|| {
            libc::signal(libc::SIGINT, libc::SIG_DFL);
            Ok(())
        });
    }
    let mut suite = command.spawn().unwrap();
    let end = Instant::now() + Duration::from_secs(20);
    while !dir.path().join("out/b.started").exists() {
        assert!(Instant::now() < end, "the second target did not start");
        std::thread::sleep(Duration::from_millis(5));
    }
    // SAFETY: kill has no memory effects; the group is that of the process started above, like a terminal's.
    unsafe { libc::kill(-(suite.id() as libc::pid_t), libc::SIGINT) };
    assert!(suite.wait().unwrap().success(), "the suite ends in order");
    let written = fs::read_to_string(dir.path().join("out/suite.json")).unwrap();
    let report: SuiteReport = serde_json::from_str(&written).unwrap();
    let names: Vec<_> = report.targets.iter().map(|r| r.name.as_str()).collect();
    assert_eq!((names, report.interrupted), (vec!["a"], true));
}
