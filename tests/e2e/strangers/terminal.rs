//! Foreign text on terminals and pages, closed pipes, and full devices.

use std::{
    fs::{self, File, OpenOptions},
    io::Read,
    os::{
        fd::{AsRawFd, FromRawFd},
        unix::fs::OpenOptionsExt,
    },
    process::{Command, ExitStatus, Stdio},
};

use penfuzz_report::json;
use serde_json::Value;

use crate::support::{Dir, Run, fixture, quickstart};

/// Text with control sequences for the clipboard, a title, a colour, C1's CSI and the direction of text, and a line
/// that imitates penfuzz's messages.
const HOSTILE: &str =
    "\u{1b}]52;c;ZWNobyBoaQ==\u{7}\u{1b}]0;title\u{7}\u{1b}[31m\u{9b}32m\u{202e}\u{2066}\r\nCRASH  forged";

fn is_hidden(c: char) -> bool {
    c.is_control() && c != '\n' || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The output must contain no control sequences, and no line that the hostile text contains.
#[track_caller]
fn expect_harmless(run: &Run) {
    for text in [&run.stdout, &run.stderr] {
        run.expect(!text.contains(is_hidden), "no characters that a terminal obeys");
        run.expect(!text.lines().any(|l| l.trim_start().starts_with("CRASH  forged")), "no forged line");
    }
}

/// Appends the hostile text to all strings except those with a fixed set of values.
fn poison(value: &mut Value) {
    match value {
        Value::String(text) => text.push_str(HOSTILE),
        Value::Array(items) => items.iter_mut().for_each(poison),
        Value::Object(fields) => {
            let fixed = ["status", "rounding", "goals", "exception", "by", "verdict", "grade"];
            fields.iter_mut().filter(|(key, _)| !fixed.contains(&key.as_str())).for_each(|(_, v)| poison(v));
        }
        _ => {}
    }
}

fn poison_file(dir: &Dir, name: &str) {
    let path = dir.path(name);
    let mut value: Value = serde_json::from_slice(&fs::read(&path).expect("the file is there")).expect("JSON");
    poison(&mut value);
    fs::write(&path, value.to_string()).expect("a file in a temporary directory can be written");
}

/// A finished campaign with a crash whose report a stranger has edited.
fn poisoned(kind: &str, target: &str) -> Dir {
    let dir = Dir::new();
    dir.penfuzz(kind).arg(quickstart(target)).args("-o out --max-evals 20000").run();
    poison_file(&dir, "out/report.json");
    dir
}

#[test]
fn the_summary_of_a_hostile_report() {
    let dir = poisoned("", "thermocouple.c");
    let run = dir.penfuzz("report out").exits(0);
    expect_harmless(&run);
    run.expect(run.stdout.contains(r"\u{1b}]52;c;"), "the characters as escapes");
}

#[test]
fn the_summaries_of_other_goals() {
    for (kind, target) in [("boundary", "thermocouple.c"), ("exceptions", "thermocouple.c")] {
        let dir = poisoned(kind, target);
        expect_harmless(&dir.penfuzz("report out").exits(0));
    }
}

#[test]
fn json_of_a_hostile_report_is_the_report_in_plain_characters() {
    let dir = poisoned("", "thermocouple.c");
    let run = dir.penfuzz("report out --json").exits(0);
    run.expect(!run.stdout.contains(is_hidden), "no characters that a terminal obeys");
    let report = json::read(&dir.path("out/report.json")).expect("the report");
    run.expect(serde_json::from_str(&run.stdout).is_ok_and(|r: penfuzz_report::Report| r == report), "the report");
}

#[test]
fn files_made_of_a_hostile_report() {
    let dir = poisoned("", "thermocouple.c");
    dir.penfuzz("report out").exits(0);
    let lcov = fs::read_to_string(dir.path("out/coverage.lcov")).expect("coverage.lcov");
    assert!(!lcov.contains(is_hidden), "{lcov}");
    assert!(!lcov.lines().any(|l| l.starts_with("CRASH")), "{lcov}");
    let page = fs::read_to_string(dir.path("out/report.html")).expect("report.html");
    assert!(!page.contains(|c| is_hidden(c) && c != '\t'), "the page");
    for (name, content) in dir.files("out/tests") {
        let text = String::from_utf8(content).expect("the program is UTF-8");
        // Tabs are allowed, because a Makefile needs them.
        assert!(
            !text.contains(|c| is_hidden(c) && c != '\t') && !text.lines().any(|l| l.starts_with("CRASH")),
            "{name}: {text}"
        );
    }
}

#[test]
fn a_hostile_status() {
    let dir = poisoned("", "thermocouple.c");
    poison_file(&dir, "out/status.json");
    expect_harmless(&dir.penfuzz("status out").exits(0));
    let run = dir.penfuzz("status out --json").exits(0);
    run.expect(!run.stdout.contains(is_hidden) && run.stdout.lines().count() == 1, "a line of JSON");
}

#[test]
fn a_hostile_campaign_file() {
    let dir = Dir::new();
    dir.fuzz(quickstart("thermocouple.c"), "").exits(3);
    poison_file(&dir, "out/campaign.json");
    for command in ["triage out", "triage out --json", "cmin out", "merge out -o merged", "status out"] {
        let run = dir.penfuzz(command).run();
        expect_harmless(&run);
    }
}

/// A stranger puts a crash into the directory whose name contains control sequences.
#[test]
fn a_hostile_name_of_a_crash() {
    let dir = Dir::new();
    dir.fuzz(quickstart("thermocouple.c"), "").exits(3);
    let crash = dir.files("out/crashes").into_iter().find(|(name, _)| name.starts_with("id:")).expect("a crash").1;
    let name = "id:000009\u{1b}]0;title\u{7}\nCRASH  forged\u{202e}";
    dir.file(&format!("out/crashes/{name}"), crash);
    dir.file(&format!("out/crashes/{name}2"), [0; 16]);
    for command in ["triage out", "cmin out"] {
        expect_harmless(&dir.penfuzz(command).run());
    }
    let run = dir.penfuzz("replay").arg(quickstart("thermocouple.c")).arg(dir.path("out/crashes").join(name)).exits(3);
    expect_harmless(&run);
    expect_harmless(&dir.penfuzz("replay").arg(dir.path("out/crashes").join(name)).arg("x").exits(1));
    // The command-line parser quotes an unknown option.
    expect_harmless(&dir.penfuzz("").arg(format!("--{name}")).exits(2));
}

/// The names of files, functions and parameters come from the debug information of the target.
const NAMED: &str = r#"
    #include <stdlib.h>
    #line 1 "\033]0;title\007\nCRASH  forged\302\233\342\200\256.c"
    double named(double x) {
      if (x > 1.0) abort();
      return x < -3.0 ? x : 2.0;
    }"#;

#[test]
fn a_hostile_target() {
    let dir = Dir::new();
    dir.file("named.c", NAMED);
    let input = dir.file("input", 2.0f64.to_le_bytes());
    expect_harmless(&dir.fuzz("named.c", "").exits(3));
    expect_harmless(&dir.penfuzz("functions named.c").exits(0));
    expect_harmless(&dir.penfuzz("replay named.c").arg(&input).exits(3));
    expect_harmless(&dir.penfuzz("replay named.c --path").arg(&input).exits(3));
    expect_harmless(&dir.penfuzz("tmin named.c").arg(&input).exits(0));
    expect_harmless(&dir.penfuzz("triage out").exits(3));
    expect_harmless(&dir.penfuzz("reach named.c --line named.c:99").exits(1));
    expect_harmless(&dir.penfuzz("boundary named.c -o boundary").run());
    expect_harmless(&dir.penfuzz("exceptions named.c -o exceptions").run());
}

#[test]
fn a_function_with_a_short_name_is_no_type() {
    let dir = Dir::new();
    dir.file("short.c", "#include <stdlib.h>\ndouble d(double x) { if (x > 1.0) abort(); return x; }\n");
    let run = dir.fuzz("short.c", "").exits(3);
    run.expect(run.stdout.contains("SIGABRT in d") && !run.stdout.contains("in double"), "the name of the function");
}

/// Runs penfuzz with standard output, and with `both` also standard error, connected to a pipe whose reader has closed
/// it.
fn into_closed_pipe(dir: &Dir, arguments: &str, both: bool) -> (ExitStatus, String) {
    let (reader, writer) = std::io::pipe().expect("a pipe can be made");
    drop(reader);
    let error =
        if both { Stdio::from(writer.try_clone().expect("a descriptor can be copied")) } else { Stdio::piped() };
    run_into(dir, arguments, writer.into(), error)
}

fn into_full_device(dir: &Dir, arguments: &str) -> (ExitStatus, String) {
    let full = OpenOptions::new().write(true).open("/dev/full").expect("Linux has /dev/full");
    run_into(dir, arguments, full.into(), Stdio::piped())
}

/// Returns the exit status, and standard error if it is piped.
fn run_into(dir: &Dir, arguments: &str, stdout: Stdio, stderr: Stdio) -> (ExitStatus, String) {
    let mut command: Command = dir.penfuzz(arguments).into();
    let mut child = command.stdin(Stdio::null()).stdout(stdout).stderr(stderr).spawn().expect("penfuzz can be started");
    let mut said = String::new();
    if let Some(stream) = &mut child.stderr {
        stream.read_to_string(&mut said).expect("a pipe can be read");
    }
    (child.wait().expect("our own child can be waited for"), said)
}

/// Creates a campaign with a crash. Returns the commands that show it, each with its exit status.
fn looked_at() -> (Dir, Vec<(String, i32)>) {
    let dir = Dir::new();
    dir.fuzz(quickstart("thermocouple.c"), "").exits(3);
    let target = quickstart("thermocouple.c");
    let crash = fs::read_dir(dir.path("out/crashes"))
        .expect("the crashes")
        .flatten()
        .map(|e| e.path())
        .find(|p| p.file_name().is_some_and(|n| n.to_string_lossy().starts_with("id:")))
        .expect("a crash");
    fs::copy(&crash, dir.path("crash")).expect("a file can be copied");
    let triangle = quickstart("triangle.c");
    let all = vec![
        (format!("{} -o again", triangle.display()), 0),
        (format!("{} -o more --json", target.display()), 3),
        ("report out".to_owned(), 0),
        ("report out --json".to_owned(), 0),
        ("triage out".to_owned(), 3),
        ("triage out --json".to_owned(), 3),
        ("status out".to_owned(), 0),
        ("status out --json".to_owned(), 0),
        ("cmin out".to_owned(), 0),
        (format!("functions {}", target.display()), 0),
        (format!("functions {} --json", target.display()), 0),
        (format!("replay {} crash", target.display()), 3),
        (format!("tmin {} crash", target.display()), 0),
        ("--help".to_owned(), 0),
        ("--version".to_owned(), 0),
    ];
    (dir, all)
}

#[test]
fn a_closed_pipe_is_a_quiet_end() {
    let (dir, all) = looked_at();
    for (arguments, status) in all {
        let (ended, said) = into_closed_pipe(&dir, &arguments, false);
        assert_eq!(ended.code(), Some(status), "{arguments}: {said}");
        assert!(!said.contains("panicked") && !said.contains("error"), "{arguments}: {said}");
        // Removes the directories: a finished campaign would only be shown.
        for made in ["again", "more"].map(|name| dir.path(name)).into_iter().filter(|d| d.exists()) {
            fs::remove_dir_all(made).expect("a directory of ours can be removed");
        }
        let (ended, _) = into_closed_pipe(&dir, &arguments, true);
        assert_eq!(ended.code(), Some(status), "{arguments}, standard error closed as well");
    }
    let (ended, _) = into_closed_pipe(&dir, "report missing", true);
    assert_eq!(ended.code(), Some(1), "an error that nobody can read");
}

#[test]
fn a_full_device_is_an_error() {
    let (dir, all) = looked_at();
    for (arguments, _) in all {
        let (ended, said) = into_full_device(&dir, &arguments);
        assert_eq!(ended.code(), Some(1), "{arguments}: {said}");
        let sentence = "error: standard output cannot be written: no space left on device\n";
        assert!(said.ends_with(sentence) && !said.contains("panicked"), "{arguments}: {said}");
    }
}

/// The supervisor writes to sockets and pipes of workers. SIGPIPE must not end it, and its progress lines are dropped.
#[test]
fn a_campaign_outlives_its_reader() {
    let dir = Dir::new();
    let target = fixture("unreachable_in_loop.c");
    let arguments = format!("{} -o out --search random --max-time 6s --cores 0", target.display());
    let (ended, _) = into_closed_pipe(&dir, &arguments, true);
    assert_eq!(ended.code(), Some(0));
    assert_eq!(dir.report("out").stop_reason, "max-time");
}

/// Opens a pseudoterminal for a dashboard and returns both ends. Neither is inherited: a program that another test
/// starts would keep the terminal open.
fn terminal() -> (File, File) {
    let mut options = OpenOptions::new();
    let master =
        options.read(true).write(true).custom_flags(libc::O_NOCTTY).open("/dev/ptmx").expect("Linux has /dev/ptmx");
    let unlocked: i32 = 0;
    // SAFETY: the first call reads an integer, the second one takes flags.
    let slave = unsafe {
        libc::ioctl(master.as_raw_fd(), libc::TIOCSPTLCK, &raw const unlocked);
        libc::ioctl(master.as_raw_fd(), libc::TIOCGPTPEER, libc::O_RDWR | libc::O_NOCTTY | libc::O_CLOEXEC)
    };
    assert!(slave >= 0, "a pseudoterminal has another end: {}", std::io::Error::last_os_error());
    // SAFETY: the descriptor is new and has no other owner.
    (master, unsafe { File::from_raw_fd(slave) })
}

/// The campaign's status contains a file name with control sequences.
#[test]
fn a_dashboard_shows_hostile_names() {
    let dir = Dir::new();
    let source = fs::read(fixture("unreachable_in_loop.c")).expect("the fixture");
    dir.file("x\u{202e}\u{9b}32m.c", source);
    let (mut master, slave) = terminal();
    let reader = std::thread::spawn(move || {
        let mut all = Vec::new();
        // Reading at the end of a pseudoterminal returns an error.
        let _ = master.read_to_end(&mut all);
        String::from_utf8_lossy(&all).into_owned()
    });
    let mut command: Command =
        dir.penfuzz("--monitor dashboard --search random --max-time 2s -o out").arg("x\u{202e}\u{9b}32m.c").into();
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(slave).spawn().expect("penfuzz can be started");
    // The command also holds the other end open.
    drop(command);
    let status = child.wait().expect("our own child can be waited for");
    let shown = reader.join().expect("the reader has no panic");
    assert_eq!(status.code(), Some(0), "{shown:?}");
    assert!(shown.contains(r"x\u{202e}\u{9b}32m.c"), "{shown:?}");
    assert!(!shown.contains(['\u{202e}', '\u{9b}']), "{shown:?}");
}

/// The terminal window of the dashboard is closed while the campaign runs.
#[test]
fn a_dashboard_outlives_its_terminal() {
    let dir = Dir::new();
    let (mut master, slave) = terminal();
    let target = fixture("unreachable_in_loop.c");
    let mut command: Command =
        dir.penfuzz("--monitor dashboard --search random --max-time 3s -o out").arg(target).into();
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(slave).spawn().expect("penfuzz can be started");
    drop(command);
    let mut picture = [0; 4096];
    let drawn = master.read(&mut picture).expect("a picture");
    assert!(drawn > 0, "nothing was drawn");
    drop(master);
    assert_eq!(child.wait().expect("our own child can be waited for").code(), Some(0));
    assert_eq!(dir.report("out").stop_reason, "max-time");
}
