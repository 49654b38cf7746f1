//! `penfuzz boundary`, `exceptions` and `reach` on targets that cannot be searched, and on events that end a search
//! early.

use std::time::Duration;

use crate::support::{Dir, Penfuzz, Run, fixture, line_of};

/// Each command with the arguments that it needs besides the target.
const COMMANDS: [(&str, &str); 3] = [("boundary", ""), ("exceptions", ""), ("reach", "--path 1:T")];
/// The commands that run campaigns.
const CAMPAIGNS: [&str; 2] = ["boundary", "exceptions"];

/// The run must fail with status 1, print nothing on standard output, and print one line that starts with `error:`.
#[track_caller]
fn fails_in_one_line(penfuzz: Penfuzz, text: &str) {
    let run = penfuzz.exits(1);
    run.expect(run.stdout.is_empty(), "nothing on standard output");
    run.expect(run.stderr.starts_with("error: ") && run.stderr.lines().count() == 1, "one line on standard error");
    run.says(text);
}

#[test]
fn files_that_are_not_targets_are_refused() {
    let dir = Dir::new();
    dir.file("sources/a.c", "int a;");
    for (command, arguments) in COMMANDS {
        let search = |target| dir.penfuzz(command).arg(target).args(arguments);
        fails_in_one_line(search(fixture("empty.c")), "empty.c is empty");
        fails_in_one_line(search("sources".into()), "sources is a directory");
        fails_in_one_line(search("missing.c".into()), "missing.c cannot be read");
    }
}

#[test]
fn an_unknown_function_is_told_with_the_nearest() {
    let dir = Dir::new();
    for (command, arguments) in COMMANDS {
        let search = dir.penfuzz(command).arg(fixture("paths.c")).args("-f lop").args(arguments);
        fails_in_one_line(search, "paths.c has no function `lop`; did you mean loop");
    }
}

#[test]
fn an_output_directory_below_a_file_is_refused() {
    let dir = Dir::new();
    dir.file("file", "text");
    for command in CAMPAIGNS {
        let search = dir.penfuzz(command).arg(fixture("segv.c")).args("-o file/out");
        fails_in_one_line(search, "file/out cannot be created as output directory");
    }
}

#[test]
fn a_campaign_for_one_goal_is_not_taken_up_for_another() {
    let dir = Dir::new();
    dir.fuzz(fixture("boundaries.c"), "-q -f two_ifs --max-evals 1000").exits(0);
    for command in CAMPAIGNS {
        let search = dir.penfuzz(command).arg(fixture("boundaries.c")).args("-f two_ifs -o out");
        fails_in_one_line(search, "out holds a campaign with another goal");
    }
    let search = dir.penfuzz("reach --path 5:T -f two_ifs -o out").arg(fixture("boundaries.c"));
    fails_in_one_line(search, "out is not empty");
}

#[test]
fn an_output_directory_in_use_is_refused() {
    let dir = Dir::new();
    let search = |command| dir.penfuzz(command).arg(fixture("boundaries.c")).args("-f unmet -o out");
    let mut first = search("boundary").args("--max-time 50s").start();
    let stats = dir.path("out/fuzzer_stats");
    first.until("fuzzer_stats", || stats.exists());
    for command in CAMPAIGNS {
        fails_in_one_line(search(command), "out is in use by another campaign");
    }
    first.signal_group(libc::SIGINT);
    first.wait();
}

#[test]
fn ctrl_c_ends_a_campaign_with_its_report() {
    for command in CAMPAIGNS {
        let dir = Dir::new();
        let search = dir.penfuzz(command).arg(fixture("boundaries.c")).args("-f unmet -o out --max-time 50s");
        let mut running = search.start();
        let stats = dir.path("out/fuzzer_stats");
        running.until("fuzzer_stats", || stats.exists());
        running.signal_group(libc::SIGINT);
        let run = running.wait();
        run.expect(run.status.code() == Some(0), "exit status 0");
        run.expect(dir.report("out").stop_reason == "interrupted", "stop_reason `interrupted`");
        run.expect(run.stdout.contains("stopped: interrupted"), "a summary");
    }
}

/// Sends SIGINT to a search for an input that does not exist.
fn interrupted(dir: &Dir, group: bool) -> Run<'_> {
    let line = line_of(&fixture("boundaries.c"), "if (x * x < -1)");
    let search = dir.penfuzz("reach").arg(fixture("boundaries.c")).args("-f unreached --max-time 50s --path");
    let running = search.arg(format!("{line}:T")).start();
    std::thread::sleep(Duration::from_secs(2));
    if group {
        running.signal_group(libc::SIGINT);
    } else {
        running.signal(libc::SIGINT);
    }
    let run = running.wait();
    run.expect(run.status.code() == Some(1), "exit status 1");
    run
}

#[test]
fn ctrl_c_ends_reach_with_how_far_it_came() {
    let dir = Dir::new();
    for group in [true, false] {
        interrupted(&dir, group).says("away at closest, by unreached(").says("; interrupted");
    }
}

#[test]
fn nothing_to_search_for_ends_at_once() {
    let dir = Dir::new();
    dir.file("plain.c", "int plain(int n, int k) { if (n * n % 8 == 5) return 1; return k; }");
    let run = dir.penfuzz("exceptions plain.c -o out --max-time 50s").exits(0);
    run.expect(run.stdout.starts_with("plain (plain.c): 0 exceptions at 0 of 0 operations\n"), "the headline");
    run.expect(run.stdout.contains("stopped: nothing to search for"), "it ends by itself");
}

#[test]
fn pages_name_the_goals_of_the_campaign() {
    for (command, words) in [("boundary", "boundary values met"), ("exceptions", "exceptions raised")] {
        let dir = Dir::new();
        dir.penfuzz(command).arg(fixture("boundaries.c")).args("-f two_ifs -o out --max-evals 20000").exits(0);
        let page = String::from_utf8(dir.files("out").remove("report.html").expect("report.html")).expect("text");
        assert!(page.contains(words), "{command}: no `{words}`");
        assert!(!page.contains("branches covered") && !page.contains("Branches covered"), "{command}: {page}");
        let status = dir.penfuzz("status out").exits(0);
        status.expect(status.stdout.contains(words), words);
    }
}

/// A NaN meets no boundary value and raises no exception. An endless loop and a fault are reported as findings.
#[test]
fn hangs_and_faults_are_reported_with_every_goal() {
    let dir = Dir::new();
    dir.file("nan.c", "double nothing(double x) { double y = x * __builtin_nan(\"\"); return y > 1 ? 1 : y; }");
    dir.file("endless.c", "double endless(double x) { if (x > 1) for (;;) ; return x * x; }");
    dir.file("faulty.c", "double faulty(double x) { if (x > 1) *(volatile int *)0 = 1; return x * x; }");
    for command in CAMPAIGNS {
        let search = |file: &str, status| {
            dir.penfuzz(command).arg(file).args("--max-evals 20000 -o").arg(format!("{command}-{file}")).exits(status)
        };
        let run = search("nan.c", 0);
        run.expect(run.stdout.contains(": 0 exceptions at") || run.stdout.contains(": 0 met exactly, 1 not"), "none");
        let run = search("endless.c", 3);
        run.expect(run.stdout.contains("HANG  did not return within"), "the loop");
        let run = search("faulty.c", 3);
        run.expect(run.stdout.contains("CRASH  SIGSEGV"), "the fault");
    }
}
