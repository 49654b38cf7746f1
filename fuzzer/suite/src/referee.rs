//! The gcov referee: counts the coverage of a campaign independently of penfuzz.
//!
//! The referee compiles the target's file with `gcc -O0 --coverage`, links it with the test program that the campaign
//! emitted, and runs the program. gcov then counts the branches of the function under test, and those that some test
//! takes. Branches that only crashing inputs cover do not count: these inputs are expected failures of the test
//! program, and gcov does not get their counts. A test whose expectation fails does count, since another compiler may
//! compute other results.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use penfuzz_directory::object::{Compiler, finish, without_main};
use penfuzz_error::{
    bail,
    context::{Context, Result},
};
use penfuzz_report::{Report, Status, c_text::is_cxx, test_format::TestFormat};
use penfuzz_system::process::wait;
use serde::{Deserialize, Serialize};

use super::gcov::{self, GcovCriteria, TakenBranch, branches_of, criteria_of};

/// Branch counts of the function under test by another tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Referee {
    /// The name of the tool: `gcov`.
    pub tool: String,
    /// Number of branches of the function.
    pub total: usize,
    /// Number of branches that some emitted test takes.
    pub covered: usize,
    /// Lines, conditions and calls, as members of the same object.
    #[serde(flatten)]
    pub criteria: GcovCriteria,
}

/// The result of the referee.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefereeCount {
    /// The counts.
    pub referee: Referee,
    /// Every branch, sorted by line and index.
    pub branches: Vec<TakenBranch>,
}

/// The input of the referee.
#[derive(Debug, Clone, Copy)]
pub struct Job<'a> {
    /// The campaign's report; its emitted tests are run.
    pub report: &'a Report,
    /// The source file of the function under test, absolute.
    pub file: &'a Path,
    /// Other source files to link with it, absolute.
    pub support: &'a [PathBuf],
    /// Compiler flags for `file` and `support`.
    pub flags: &'a [String],
    /// Libraries to link: `-lm` (always linked), …
    pub libs: &'a [String],
    /// Cache directory for compiled support files, created when missing. Several referees may use it at the same time.
    pub cache: &'a Path,
    /// Time limit for the test program.
    pub timeout: Duration,
}

/// Measures the emitted tests of a campaign.
///
/// # Errors
/// A file does not compile or link, the test program fails or takes too long, or gcov has no data on the function.
pub fn measure(job: &Job) -> Result<RefereeCount> {
    // The referee uses the default test format: it needs no counts of a test framework.
    let mut report = Report { test_format: TestFormat::default(), ..job.report.clone() };
    report.signature.set_source(job.file);
    let job = &Job { report: &report, ..*job };
    let directory = tempfile::Builder::new()
        .prefix("penfuzz-referee-")
        .tempdir()
        .context(|| "cannot make a temporary directory for gcov".to_owned())?;
    let measured = build(job, directory.path())?;
    run(&directory.path().join("program"), directory.path(), job.timeout)?;
    let (branches, criteria) = count(job.report, &measured, directory.path())?;
    let covered = branches.iter().filter(|b| b.taken).count();
    let referee = Referee { tool: "gcov".to_owned(), total: branches.len(), covered, criteria };
    Ok(RefereeCount { referee, branches })
}

/// Compiles and links `directory/program`. Returns the object file that contains the function under test.
fn build(job: &Job, directory: &Path) -> Result<PathBuf> {
    let gcc = Compiler::gcc();
    let report = job.report;
    let test = directory.join(penfuzz_testgen::file_name(report));
    for (name, text) in penfuzz_testgen::program_files(report) {
        let file = directory.join(name);
        fs::write(&file, text).context(|| format!("cannot write {}", file.display()))?;
    }
    let test_object = directory.join("test.o");
    let mut objects = vec![test_object.clone()];
    let measured = if penfuzz_testgen::includes_source(report) {
        gcc.compile(&test, &test_object, job.flags, &["--coverage"])?;
        test_object
    } else {
        let flags = report.header.as_ref().map_or(&[][..], |h| &h.flags);
        gcc.compile(&test, &test_object, flags, &["-fno-builtin"])?;
        let target = directory.join("target.o");
        gcc.compile(job.file, &target, job.flags, &without_main(job.file, &["--coverage"]))?;
        objects.push(target.clone());
        target
    };
    for file in job.support.iter().filter(|f| *f != job.file) {
        objects.push(gcc.cached(file, job.flags, &[], job.cache)?);
    }
    link(job, &objects, &directory.join("program"))?;
    Ok(measured)
}

fn link(job: &Job, objects: &[PathBuf], program: &Path) -> Result<()> {
    let mut command = Command::new("gcc");
    command.arg("--coverage").args(penfuzz_testgen::coverage_options(job.report)).args(objects).args(job.libs);
    if is_cxx(job.file) || job.support.iter().any(|f| is_cxx(f)) {
        command.arg("-lstdc++");
    }
    command.arg("-lm").arg("-o").arg(program);
    let what = || format!("gcc cannot link the tests of {}; is a `support` file or lib missing?", job.report.function);
    finish(command, what).map(drop)
}

fn run(program: &Path, directory: &Path, timeout: Duration) -> Result<()> {
    let child = Command::new(program)
        .current_dir(directory)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .context(|| "cannot run the emitted tests".to_owned())?;
    let ended = wait::wait_until(child.id().cast_signed(), Instant::now() + timeout);
    if ended.is_late {
        bail!("the emitted tests, compiled by gcc -O0, did not end within {} s", timeout.as_secs_f64());
    }
    // Status 1: all tests ran, and some expectation failed.
    if !matches!(ended.status.code(), Some(0 | 1)) {
        bail!("the emitted tests, compiled by gcc -O0, ended with {}", ended.status);
    }
    Ok(())
}

fn count(report: &Report, object: &Path, directory: &Path) -> Result<(Vec<TakenBranch>, GcovCriteria)> {
    let counters = object.with_extension("gcda");
    let read = |options: &[&str]| {
        let mut command = Command::new("gcov");
        command.current_dir(directory).args(options).arg(&counters);
        finish(command, || "gcov failed".to_owned())
    };
    let (json, annotated) = (read(&gcov::JSON)?, read(&gcov::ANNOTATED)?);
    let annotated = String::from_utf8_lossy(&annotated);
    let unreadable = || "cannot read what gcov printed".to_owned();
    for name in [&report.signature.symbol, &report.function] {
        if let Some(branches) = branches_of(name, &json).context(unreadable)? {
            let criteria = criteria_of(name, &json, &annotated).context(unreadable)?;
            return Ok((branches, criteria.unwrap_or_default()));
        }
    }
    bail!("gcov has no data on {}; is it defined in this file under these flags?", report.function)
}

/// A line on which the counts of the referee and of the report differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineDifference {
    /// Source line, from 1.
    pub line: u32,
    /// Branches and covered branches in the report. Branches that only crashing inputs cover do not count as covered,
    /// since the referee cannot see them.
    pub own: (usize, usize),
    /// Branches and covered branches of the referee.
    pub referee: (usize, usize),
}

/// Returns the lines of the function under test whose counts differ, ascending.
#[must_use]
pub fn differences(report: &Report, verdict: &RefereeCount) -> Vec<LineDifference> {
    let mut lines: BTreeMap<u32, [(usize, usize); 2]> = BTreeMap::new();
    for site in report.sites.iter().filter(|s| s.function == report.function) {
        for branch in &site.branches {
            let own = &mut lines.entry(site.line).or_default()[0];
            own.0 += 1;
            own.1 += usize::from(matches!(branch.status, Status::Covered | Status::Saturated));
        }
    }
    for branch in &verdict.branches {
        let other = &mut lines.entry(branch.line).or_default()[1];
        other.0 += 1;
        other.1 += usize::from(branch.taken);
    }
    let all = lines.into_iter().map(|(line, [own, referee])| LineDifference { line, own, referee });
    all.filter(|d| d.own != d.referee).collect()
}

#[cfg(test)]
#[path = "referee_tests.rs"]
mod tests;
