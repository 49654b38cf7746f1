//! Runs the targets of a suite in parallel.

use std::{
    collections::BTreeMap,
    fs,
    path::PathBuf,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use penfuzz_error::{
    Error,
    context::{Context, Result},
};
use penfuzz_report::Report;
use penfuzz_system::{files::atomic, process::interrupts};

use super::{
    child::{ForwardedOptions, run_child},
    config::{Suite, TargetSpec},
    outcome::{Row, SuiteReport},
    page,
    referee::{self, differences, measure},
};

/// The file's name in the output directory of a suite.
pub const FILE: &str = "suite.json";
/// Time limit for the emitted tests of one target, compiled by gcc -O0. They usually take milliseconds.
const REFEREE_TIMEOUT: Duration = Duration::from_mins(1);

/// Options of a suite run.
#[derive(Debug, Clone)]
pub struct Options {
    /// Output directory; each target has a subdirectory.
    pub out: PathBuf,
    /// Number of targets that run at the same time, at least 1.
    pub jobs: usize,
    /// gcov counts the branches as well.
    pub referee: bool,
    /// Directory for the objects that the referee compiles; other runs may share it.
    pub cache: PathBuf,
    /// Prints no line per finished target on standard error.
    pub quiet: bool,
    /// Options for every campaign.
    pub passed: ForwardedOptions,
}

/// Runs every target as a child process ([`run_child`]); see [`run`].
///
/// # Errors
/// As [`run`].
pub fn run_all(suite: &Suite, options: &Options) -> Result<SuiteReport> {
    run(suite, options, |target| run_child(suite, &options.out, &options.passed, target))
}

/// Runs every target with `run_one`, `options.jobs` at a time, and writes `suite.json` after each. A target that fails
/// yields a row with its error, and the suite continues. After Ctrl-C no further target is started; running targets
/// that end with a report still get their row.
///
/// # Errors
/// The output directory or `suite.json` cannot be written.
pub fn run<F>(suite: &Suite, options: &Options, run_one: F) -> Result<SuiteReport>
where
    F: Fn(&TargetSpec) -> Result<Report> + Sync,
{
    fs::create_dir_all(&options.out).context(|| format!("cannot create {}", options.out.display()))?;
    let _watch = interrupts::SignalGuard::begin();
    let progress = Progress::new(suite, options);
    // From here on the directory is recognised as that of a suite.
    progress.save()?;
    let next = AtomicUsize::new(0);
    let work = || {
        while !interrupts::requested() {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(target) = suite.targets.get(index) else {
                break;
            };
            let outcome = run_one(target);
            // After a signal, an error is not a result of the target.
            if outcome.is_ok() || !interrupts::requested() {
                progress.finish(index, row(suite, options, target, outcome));
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..options.jobs.clamp(1, suite.targets.len().max(1)) {
            scope.spawn(work);
        }
    });
    progress.save()
}

fn row(suite: &Suite, options: &Options, target: &TargetSpec, outcome: Result<Report>) -> Row {
    let report = match outcome {
        Ok(report) => report,
        Err(error) => return Row::failed(target, &error),
    };
    let mut row = Row::finished(target, &report);
    if options.referee && !interrupts::requested() {
        let flags: Vec<String> = report.rounding.flag().into_iter().chain(suite.flags_of(target)).collect();
        let job = referee::Job {
            report: &report,
            file: &suite.file_of(target),
            support: &suite.support_of(target),
            flags: &flags,
            libs: &suite.build.libs,
            cache: &options.cache,
            timeout: REFEREE_TIMEOUT,
        };
        match measure(&job) {
            Ok(verdict) => {
                row.differences = differences(&report, &verdict);
                row.referee = Some(verdict.referee);
            }
            Err(error) => row.error = Some(format!("referee: {error}")),
        }
    }
    row
}

/// The finished rows, shared by the workers.
struct Progress<'a> {
    name: &'a str,
    total: usize,
    quiet: bool,
    /// Output directory.
    out: PathBuf,
    start: Instant,
    /// The key is the target's index in the suite.
    rows: Mutex<BTreeMap<usize, Row>>,
}

impl<'a> Progress<'a> {
    fn new(suite: &'a Suite, options: &Options) -> Self {
        Self {
            name: &suite.name,
            total: suite.targets.len(),
            quiet: options.quiet,
            out: options.out.clone(),
            start: Instant::now(),
            rows: Mutex::default(),
        }
    }

    fn finish(&self, index: usize, row: Row) {
        let mut rows = self.lock();
        if !self.quiet {
            penfuzz_system::errln!("[{}/{}] {}", rows.len() + 1, self.total, row.progress());
        }
        rows.insert(index, row);
        // If writing still fails at the end, `save` reports it.
        let _ = self.write(&self.report(&rows));
    }

    fn write(&self, report: &SuiteReport) -> Result<()> {
        atomic::write(&self.out.join(page::FILE), page::page(report, self.total).as_bytes())
            // Written last: a program that sees a new suite.json finds the matching page.
            .and_then(|()| atomic::write(&self.out.join(FILE), report.to_json().as_bytes()))
            .map_err(Error::from_source)
    }

    fn save(&self) -> Result<SuiteReport> {
        let report = self.report(&self.lock());
        self.write(&report)?;
        Ok(report)
    }

    /// Locks the rows. A lock that a panic of another thread poisoned is usable, because every change leaves the rows
    /// consistent.
    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<usize, Row>> {
        self.rows.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn report(&self, rows: &BTreeMap<usize, Row>) -> SuiteReport {
        let rows = rows.values().cloned().collect();
        SuiteReport::new(self.name, rows, self.start.elapsed().as_secs_f64(), interrupts::requested())
    }
}

#[cfg(test)]
#[path = "schedule_tests.rs"]
mod tests;
