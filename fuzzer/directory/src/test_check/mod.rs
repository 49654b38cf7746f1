//! Compiles the emitted tests and runs them, before their branches are reported as covered.
//!
//! 1. Each installed compiler (gcc, and the clang that penfuzz uses) builds the program in a temporary directory, with
//!    the options of the project, and runs it in a process of its own ([`attempt`]).
//! 2. If the program does not build or fails, the tests are halved until the failing ones are known ([`failing`]).
//! 3. Failing tests are set aside, each with its reason, and branches that only they cover do not count
//!    ([`test_check::set_aside`]). A crash that does not occur is no expected failure any more. The rest is checked
//!    again.
//!
//! Where the report refers to tests by number (criteria, requirements, mutants), nothing is set aside.
//!
//! If no test builds, the fault is in the program: the framework is not installed, or a header is missing. Then the
//! report names the error, and keeps the tests and their branches: fresh processes have confirmed them.

mod attempt;
mod failing;
mod uninitialized;

use std::{
    process::Command,
    thread,
    time::{Duration, Instant},
};

use penfuzz_report::{
    Report,
    test_check::{self, Checked, FailedTest, TestCheck},
};
use penfuzz_system::process::{deadline, interrupts, run};

use attempt::{Attempt, attempt};
use failing::{Case, failing};

/// Longest time for all checks of one report, if the campaign has no deadline.
const LONGEST: Duration = Duration::from_mins(1);
/// Longest time for the version of a compiler.
const VERSION_TIME: Duration = Duration::from_secs(2);
/// Least time that is left before the deadline for a check to begin.
const LEAST: Duration = Duration::from_millis(300);

/// A compiler that builds emitted tests.
#[derive(Debug, Clone)]
struct Compiler {
    program: String,
    /// Name and version.
    name: String,
}

/// Compiles and runs the tests of the report, and sets those aside that fail. `allow_network` lets them open sockets.
pub fn check(report: &mut Report, allow_network: bool) {
    report.test_checks.clear();
    if report.test_program.is_none() || report.tests.is_empty() && report.crashes.is_empty() {
        return;
    }
    let end = Instant::now() + deadline::left().map_or(LONGEST, |left| left.min(LONGEST));
    let depends = report.branches.depends_on_uninitialized > 0;
    if depends || report.tests.iter().any(|test| test.depends_on_uninitialized) {
        report.uninitialized = time_left(end).map_or_else(Vec::new, |left| uninitialized::variables(report, left));
    }
    let compilers = installed();
    let first: Vec<Attempt> = thread::scope(|scope| {
        let program = &*report;
        let start = |compiler| scope.spawn(move || attempt(program, compiler, end, allow_network));
        let threads: Vec<_> = compilers.iter().map(start).collect();
        threads.into_iter().map(|thread| thread.join().unwrap_or(Attempt::not_checked("it was interrupted"))).collect()
    });
    let mut is_changed = false;
    for (compiler, mut result) in compilers.iter().zip(first) {
        let can_change = !test_check::refers_to_tests(report);
        if is_changed && result.is_bad() {
            result = attempt(report, compiler, end, allow_network);
        }
        if result.is_bad() && can_change {
            result = settle(report, compiler, result, end, allow_network);
            is_changed = true;
        }
        report.test_checks.push(result.by(compiler));
    }
}

/// Sets the failing tests aside, and checks the rest. Returns the last attempt.
fn settle(report: &mut Report, compiler: &Compiler, whole: Attempt, end: Instant, allow_network: bool) -> Attempt {
    let all = Case::all(report);
    let found = failing(&all, &whole, &mut |cases| attempt(&Case::only(report, cases), compiler, end, allow_network));
    let Some(mut found) = found else { return whole };
    let builds = |attempt: &Attempt| attempt.result != Checked::NotBuilt;
    if found.len() == all.len() && !found.iter().any(|(_, attempt)| builds(attempt)) {
        found.clear();
    }
    if found.is_empty() {
        return whole;
    }
    let mut tests = Vec::new();
    for (case, attempt) in found {
        match case {
            Case::Test(i) => tests.push(failed(report, i, compiler, &attempt)),
            Case::Crash(i) => {
                let what = format!("it does not occur in the test program: {} ({})", attempt.message, compiler.name);
                report.crashes[i].in_test_program = Some(what);
            }
        }
    }
    test_check::set_aside(report, tests);
    report.test_program = Some(penfuzz_testgen::commands(report));
    attempt(report, compiler, end, allow_network)
}

fn failed(report: &Report, test: usize, compiler: &Compiler, attempt: &Attempt) -> FailedTest {
    let test = &report.tests[test];
    FailedTest {
        file: test.file.clone(),
        args: test.args.clone(),
        covers: test.covers.clone(),
        compiler: compiler.name.clone(),
        reason: attempt.message.clone(),
    }
}

impl Attempt {
    fn by(self, compiler: &Compiler) -> TestCheck {
        TestCheck { compiler: compiler.name.clone(), result: self.result, message: self.message }
    }

    /// Whether the program does not build or fails.
    fn is_bad(&self) -> bool {
        matches!(self.result, Checked::NotBuilt | Checked::Failed)
    }
}

/// The compilers of this machine, with their versions.
fn installed() -> Vec<Compiler> {
    let clang = format!("clang-{}", penfuzz_cc::LLVM_MAJOR);
    let version = |program: &str, option: &str| {
        let mut command = Command::new(program);
        command.arg(option);
        let ended = run::run(command, VERSION_TIME).ok()?;
        let name = if program == "gcc" { "gcc" } else { "clang" };
        Some(Compiler { program: program.to_owned(), name: format!("{name} {}", ended.text.trim()) })
    };
    [version("gcc", "-dumpfullversion"), version(&clang, "-dumpversion")].into_iter().flatten().collect()
}

/// The time that is left until `end`; `None` if it is too short for a check, or the user has interrupted.
fn time_left(end: Instant) -> Option<Duration> {
    let left = end.saturating_duration_since(Instant::now());
    (left >= LEAST && !interrupts::requested()).then_some(left)
}
