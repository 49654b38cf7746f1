//! Builds and runs a test program once.

use std::{
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process::{Command, ExitStatus},
    time::{Duration, Instant},
};

use penfuzz_error::bail;
use penfuzz_report::{Report, TESTS, test_check::Checked};
use penfuzz_system::{
    console,
    files::own,
    process::{interrupts, run},
};

use penfuzz_testgen::Objects;

use super::{Compiler, time_left};
use crate::{object, output::reports::write_tests};

/// Longest run of a test program.
const RUN: Duration = Duration::from_secs(10);
/// Maximum number of characters of a message.
const MESSAGE: usize = 160;

/// What became of a test program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    pub result: Checked,
    /// The first error; empty if the program passed.
    pub message: String,
}

impl Attempt {
    pub fn not_checked(message: &str) -> Self {
        Self { result: Checked::NotChecked, message: message.to_owned() }
    }

    fn new(result: Checked, message: &str) -> Self {
        Self { result, message: console::shown(message).chars().take(MESSAGE).collect() }
    }
}

/// Builds the tests of the report with a compiler in a temporary directory, and runs them, until `end`.
pub fn attempt(report: &Report, compiler: &Compiler, end: Instant, allow_network: bool) -> Attempt {
    let Ok(directory) = tempfile::tempdir() else { return Attempt::not_checked("there is no room for a directory") };
    let directory = directory.path();
    let tests = directory.join(TESTS);
    if own::make_directory(&tests).and_then(|()| write_tests(&tests, report)).is_err() {
        return Attempt::not_checked("there is no room for the program");
    }
    let commands = penfuzz_testgen::commands_by(report, &compiler.program);
    let late = || Attempt::not_checked("there is no time left");
    let with_objects = penfuzz_testgen::build_with(report, &compiler.program, &objects(report, compiler, end));
    let Some(left) = time_left(end) else { return late() };
    match run::run_compiler(shell(&with_objects, directory), left) {
        Ok(built) => match built.status {
            None => return late(),
            Some(status) if status.success() => {}
            Some(_) => return Attempt::new(Checked::NotBuilt, &first_error(&built.text, directory)),
        },
        Err(_) => return Attempt::not_checked("there is no process to spare"),
    }
    let Some(left) = time_left(end) else { return late() };
    match run::run_tests(shell(&format!("exec {}", commands.run), directory), left.min(RUN), allow_network) {
        Ok(ran) => match ran.status {
            None if left < RUN || interrupts::requested() => late(),
            None => Attempt::new(Checked::Failed, &format!("it does not end within {} s", RUN.as_secs())),
            Some(status) if status.success() => Attempt::new(Checked::Passed, ""),
            Some(status) => Attempt::new(Checked::Failed, &failure(&ran.text, status)),
        },
        Err(_) => Attempt::not_checked("there is no process to spare"),
    }
}

/// The objects of the project's sources, which the tests of other functions have in common. The build command compiles
/// the sources that have no object: those with errors, and those for which the time was too short.
fn objects(report: &Report, compiler: &Compiler, end: Instant) -> Objects {
    let Ok(cache) = penfuzz_cc::cache_room("tests") else { return Objects::new() };
    let (program, version) = (PathBuf::from(&compiler.program), compiler.name.clone());
    let compiler = object::Compiler { c: program.clone(), cxx: program, environment: Vec::new(), version };
    let object = |(source, flags): (PathBuf, Vec<String>)| {
        let run = |command| {
            let ended = time_left(end).map(|left| run::run_compiler(command, left));
            let status = ended.and_then(Result::ok).and_then(|ended| ended.status);
            if status.is_some_and(|s| s.success()) { Ok(()) } else { bail!("no object of {}", source.display()) }
        };
        let object = compiler.cached_by(&source, &flags, &[], &cache, run).ok()?;
        Some((source, object))
    };
    penfuzz_testgen::project_sources(report).into_iter().filter_map(object).collect()
}

fn shell(command: &str, directory: &Path) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).current_dir(directory).env("LC_ALL", "C");
    shell
}

/// The first error of a compiler or linker, without the temporary directory.
fn first_error(text: &str, directory: &Path) -> String {
    let is_error = |line: &&str| line.contains("error:") || line.contains("undefined reference");
    let line = text.lines().find(is_error).or_else(|| text.lines().find(|line| !line.trim().is_empty()));
    let line = line.unwrap_or("the compiler reports no reason").trim();
    line.replace(&format!("{}/", directory.display()), "")
}

/// Why a program failed: the signal that ended it, or its first failed check.
fn failure(text: &str, status: ExitStatus) -> String {
    if let Some(signal) = status.signal() {
        return format!("it ends by {}", penfuzz_executor::signals::signal_name(signal));
    }
    let is_check = |line: &&str| ["FAILED", "Failure", "FAIL", "differs", "error"].iter().any(|w| line.contains(w));
    match text.lines().find(is_check) {
        Some(line) => line.trim().trim_start_matches("FAILED: ").to_owned(),
        None => format!("it ends with exit status {}", status.code().unwrap_or(1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_error_is_shown_without_the_directory() {
        let text = "In file included from x.c:1:\n/tmp/t/tests/a.c:3:2: error: 'x' undeclared\nnote: y\n";
        assert_eq!(first_error(text, Path::new("/tmp/t")), "tests/a.c:3:2: error: 'x' undeclared");
        assert_eq!(first_error("a.o: undefined reference to `f'\n", Path::new("/")), "a.o: undefined reference to `f'");
        assert_eq!(first_error("", Path::new("/tmp/t")), "the compiler reports no reason");
    }

    #[test]
    fn a_failure_is_a_signal_or_a_check() {
        let status = |n| ExitStatus::from_raw(n);
        assert_eq!(failure("x", status(6)), "it ends by SIGABRT");
        assert_eq!(failure("f(1)\n  FAILED: result is not 3\n", status(256)), "result is not 3");
        assert_eq!(failure("", status(512)), "it ends with exit status 2");
    }
}
