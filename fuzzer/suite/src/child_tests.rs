//! Tests of child processes. Shell scripts replace the program.

use std::os::unix::fs::PermissionsExt;

use penfuzz_report::example;

use super::*;
use crate::config::Build;

fn suite() -> Suite {
    Suite {
        name: "s".to_owned(),
        fetch: None,
        test_format: None,
        test_style: Some(TestStyle::Functions),
        recorded: Some("/suite/calls".into()),
        generate: None,
        sources: "/src".into(),
        published: Vec::new(),
        build: Build {
            flags: vec!["-I{sources}/i".to_owned()],
            support: vec![],
            setup: vec![],
            libs: vec!["-lm".to_owned()],
        },
        targets: vec![TargetSpec {
            name: "t".to_owned(),
            file: "clamp.c".to_owned(),
            function: "clamp".to_owned(),
            flags: vec!["-DX=a b".to_owned()],
            is_static: false,
            rounding: None,
            args: Vec::new(),
            assume: Vec::new(),
            calls: None,
            init: None,
            globals: Vec::new(),
            paper: None,
        }],
        support_files: vec!["/src/k.c".into(), "/src/clamp.c".into()],
        setup_files: Vec::new(),
    }
}

/// Runs `script` as the program, in a directory that contains a valid `report.json`.
fn run(script: &str, passed: &ForwardedOptions) -> (tempfile::TempDir, Result<Report>) {
    let dir = tempfile::tempdir().unwrap();
    let program = dir.path().join("penfuzz");
    fs::write(dir.path().join("report.json"), json::to_string(&example::report())).unwrap();
    fs::write(&program, format!("#!/bin/sh\ncd {}\n{script}\n", dir.path().display())).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let suite = suite();
    let outcome = run_program(&program, &suite, &dir.path().join("out"), passed, &suite.targets[0]);
    (dir, outcome)
}

#[test]
fn the_command_line_is_the_agreed_one() {
    let passed = ForwardedOptions {
        max_time: Some("30s".to_owned()),
        max_evals: Some(7),
        seed: Some(1),
        search: Some("paper".to_owned()),
        minimizer: Some("avm".to_owned()),
        timeout: Some("1s".to_owned()),
        rounding: Some(Rounding::All),
        test_format: None,
        test_style: Some(TestStyle::Table),
        recorded: None,
        prove: false,
        exceptions: false,
        criteria: Vec::new(),
    };
    let all = arguments(&suite(), Path::new("out/t"), &passed, &suite().targets[0]);
    let all: Vec<_> = all.iter().map(|a| a.to_str().unwrap()).collect();
    assert_eq!(
        all,
        [
            "/src/clamp.c",
            "--function",
            "clamp",
            "--rounding=all",
            "--with=/src/k.c",
            "--cflag=-I/src/i",
            "--cflag=-DX=a b",
            "--lib=-lm",
            "-o",
            "out/t",
            "--quiet",
            "--test-style=table",
            "-i",
            "/suite/calls",
            "--no-prove",
            "--max-time=30s",
            "--max-evals=7",
            "--seed=1",
            "--search=paper",
            "--minimizer=avm",
            "--timeout=1s"
        ]
    );
}

#[test]
fn a_report_is_read_also_when_something_was_found() {
    for status in [0, 3] {
        let (dir, outcome) =
            run(&format!("mkdir -p out/t; cp report.json out/t; exit {status}"), &ForwardedOptions::default());
        assert_eq!(outcome.unwrap(), example::report());
        assert!(!dir.path().join("out/t.log").exists(), "an empty log is no use");
    }
}

#[test]
fn a_failure_holds_the_last_line_and_keeps_the_log() {
    let (dir, outcome) = run("echo a >&2; echo 'error: no such function' >&2; exit 1", &ForwardedOptions::default());
    let message = outcome.unwrap_err().to_string();
    assert!(message.starts_with("no such function (exit status: 1; see "), "{message}");
    assert_eq!(fs::read_to_string(dir.path().join("out/t.log")).unwrap(), "a\nerror: no such function\n");
}

#[test]
fn a_killed_child_and_a_missing_report_are_errors() {
    let message = run("kill -9 $$", &ForwardedOptions::default()).1.unwrap_err().to_string();
    assert!(message.contains("signal: 9"), "{message}");
    let message = run("exit 0", &ForwardedOptions::default()).1.unwrap_err().to_string();
    assert!(message.contains("without a report"), "{message}");
}

#[test]
fn the_rounding_of_a_target_holds_unless_the_command_line_has_another() {
    let mut suite = suite();
    suite.targets[0].rounding = Some(Rounding::All);
    let has = |passed: Option<Rounding>, option: &str| {
        let passed = ForwardedOptions { rounding: passed, ..ForwardedOptions::default() };
        arguments(&suite, Path::new("out/t"), &passed, &suite.targets[0]).iter().any(|a| a == option)
    };
    assert!(has(None, "--rounding=all"), "the suite's");
    assert!(has(Some(Rounding::Nearest), "--rounding=nearest"), "the command line's");
}
