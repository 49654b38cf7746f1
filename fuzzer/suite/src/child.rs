//! Runs the campaign of one target of a suite as a child process of this program.

use std::{
    ffi::OsString,
    fs,
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Stdio},
    time::{Duration, Instant},
};

use penfuzz_error::{
    bail,
    context::{Context, Result},
};
use penfuzz_report::{
    Report, json,
    test_format::{TestFormat, TestStyle},
};
use penfuzz_system::{
    files::{foreign, own},
    process::{interrupts, wait},
};
use penfuzz_target::program::Rounding;

use super::config::{Suite, TargetSpec};

/// Time between two polls of a running child.
const POLL: Duration = Duration::from_millis(5);
/// Time after an interrupt in which a child may end by itself: the terminal sends it the same signal. Then it gets
/// SIGTERM.
const SIGTERM_DELAY: Duration = Duration::from_secs(2);
/// Time after an interrupt until a child that still runs gets SIGKILL.
const SIGKILL_DELAY: Duration = Duration::from_secs(15);
/// Maximum delay until a signal that was sent to the whole process group, and ended a child, reaches this process.
const SIGNAL_DELAY: Duration = Duration::from_millis(500);
/// Exit status of a campaign that found crashes or hangs.
const FINDINGS_STATUS: i32 = 3;

/// Options of the suite command that are passed unchanged to every campaign.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ForwardedOptions {
    /// `--max-time`, unparsed.
    pub max_time: Option<String>,
    /// `--max-evals`.
    pub max_evals: Option<u64>,
    /// `--seed`.
    pub seed: Option<u64>,
    /// `--search`.
    pub search: Option<String>,
    /// `--minimizer`.
    pub minimizer: Option<String>,
    /// `--timeout`, unparsed.
    pub timeout: Option<String>,
    /// `--rounding`; overrides the rounding modes that the suite sets for a target.
    pub rounding: Option<Rounding>,
    /// `--test-format`; overrides the suite's format.
    pub test_format: Option<TestFormat>,
    /// `--test-style`; overrides the suite's style.
    pub test_style: Option<TestStyle>,
    /// `--recorded`; overrides the suite's recording.
    pub recorded: Option<PathBuf>,
    /// The values of `--criterion`.
    pub criteria: Vec<String>,
    /// `--prove`: solvers try to prove the remaining branches unreachable.
    pub prove: bool,
    /// Searches for floating-point exceptions instead of branches: `penfuzz exceptions`.
    pub exceptions: bool,
}

impl ForwardedOptions {
    fn arguments(&self) -> Vec<String> {
        let number = |n: Option<u64>| n.map(|n| n.to_string());
        let mut all = Vec::new();
        for (name, value) in [
            ("max-time", self.max_time.clone()),
            ("max-evals", number(self.max_evals)),
            ("seed", number(self.seed)),
            ("search", self.search.clone()),
            ("minimizer", self.minimizer.clone()),
            ("timeout", self.timeout.clone()),
        ] {
            all.extend(value.map(|v| format!("--{name}={v}")));
        }
        all.extend(self.criteria.iter().map(|name| format!("--criterion={name}")));
        all
    }
}

/// Runs a campaign on the target with `penfuzz FILE --function F -o OUT/NAME --quiet …`, where `penfuzz` is the running
/// executable, and reads its report. The standard error of the child is kept in `OUT/NAME.log` unless it is empty.
///
/// # Errors
/// The child cannot be started or fails; the message contains the last line of its standard error.
pub fn run_child(suite: &Suite, out: &Path, passed: &ForwardedOptions, target: &TargetSpec) -> Result<Report> {
    let program = std::env::current_exe().context(|| "cannot find the program itself".to_owned())?;
    run_program(&program, suite, out, passed, target)
}

/// As [`run_child`], with the executable `program`.
pub(super) fn run_program(
    program: &Path,
    suite: &Suite,
    out: &Path,
    passed: &ForwardedOptions,
    target: &TargetSpec,
) -> Result<Report> {
    fs::create_dir_all(out).context(|| format!("cannot create {}", out.display()))?;
    let log = out.join(format!("{}.log", target.name));
    let log_file = own::create(&log).context(|| format!("cannot write {}", log.display()))?;
    let directory = out.join(&target.name);
    own::check_directory(&directory).context(|| format!("cannot use {}", directory.display()))?;
    let child = Command::new(program)
        .args(arguments(suite, &directory, passed, target))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log_file)
        .spawn()
        .context(|| format!("cannot start {}", program.display()))?;
    let status = wait_for(child.id().cast_signed());
    let text = foreign::read_own(&log, foreign::LONGEST_TEXT).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    if text.is_empty() {
        let _ = fs::remove_file(&log);
    }
    if !status.success() && status.code() != Some(FINDINGS_STATUS) {
        let last = text.lines().rfind(|l| !l.trim().is_empty()).unwrap_or("it printed no message");
        bail!("{} ({status}; see {})", last.trim_start_matches("error: "), log.display());
    }
    json::read(&directory.join(json::FILE)).context(|| "the campaign ended without a report".to_owned())
}

fn arguments(suite: &Suite, directory: &Path, passed: &ForwardedOptions, target: &TargetSpec) -> Vec<OsString> {
    let mut all: Vec<OsString> = passed.exceptions.then(|| "exceptions".into()).into_iter().collect();
    all.extend(target_arguments(suite, target, passed.rounding.or(target.rounding)));
    all.extend(["-o".into(), directory.into(), "--quiet".into()]);
    let format = passed.test_format.or(suite.test_format);
    all.extend(format.map(|f| OsString::from(format!("--test-format={}", f.name()))));
    let style = passed.test_style.or(suite.test_style);
    all.extend(style.map(|s| OsString::from(format!("--test-style={}", s.name()))));
    let recorded = passed.recorded.as_ref().or(suite.recorded.as_ref());
    all.extend(recorded.into_iter().flat_map(|dir| ["-i".into(), dir.into()]));
    all.extend((!passed.prove).then(|| "--no-prove".into()));
    all.extend(passed.arguments().into_iter().map(OsString::from));
    all
}

/// The command-line arguments that select a target of a suite and set how it is compiled. Every command that takes a
/// target accepts them.
#[must_use]
pub fn target_arguments(suite: &Suite, target: &TargetSpec, rounding: Option<Rounding>) -> Vec<OsString> {
    let mut all: Vec<OsString> =
        vec![suite.file_of(target).into(), "--function".into(), target.function.clone().into()];
    all.extend(rounding.map(|r| OsString::from(format!("--rounding={}", r.name()))));
    all.extend(target.args.iter().map(|a| OsString::from(format!("--arg={a}"))));
    all.extend(target.assume.iter().map(|e| OsString::from(format!("--assume={e}"))));
    all.extend(target.calls.map(|n| OsString::from(format!("--calls={n}"))));
    all.extend(target.init.iter().map(|name| OsString::from(format!("--init={name}"))));
    all.extend(target.globals.iter().map(|name| OsString::from(format!("--global={name}"))));
    let option = |name: &str, value: PathBuf| {
        let mut argument = OsString::from(name);
        argument.push(value);
        argument
    };
    all.extend(suite.support_of(target).into_iter().map(|f| option("--with=", f)));
    // With `=`, because flags begin with a dash.
    all.extend(suite.flags_of(target).into_iter().map(|f| option("--cflag=", f.into())));
    all.extend(suite.build.libs.iter().map(|l| option("--lib=", l.into())));
    all
}

/// Waits until the child `pid` ends. After an interrupt the child gets SIGTERM after [`SIGTERM_DELAY`] and SIGKILL
/// after [`SIGKILL_DELAY`].
fn wait_for(pid: i32) -> ExitStatus {
    let mut since: Option<Instant> = None;
    let mut is_terminated = false;
    let ended = wait::wait_with(pid, || {
        if interrupts::requested() {
            let waited = since.get_or_insert_with(Instant::now).elapsed();
            if waited > SIGKILL_DELAY {
                wait::kill(pid);
            } else if waited > SIGTERM_DELAY && !is_terminated {
                wait::signal(pid, libc::SIGTERM);
                is_terminated = true;
            }
        }
        POLL
    });
    if ended.status.signal().is_some_and(|s| interrupts::SIGNALS.contains(&s)) {
        // A signal to the whole process group reaches this process too, but perhaps later.
        let deadline = Instant::now() + SIGNAL_DELAY;
        while !interrupts::requested() && Instant::now() < deadline {
            std::thread::sleep(POLL);
        }
    }
    ended.status
}

#[cfg(test)]
#[path = "child_tests.rs"]
mod tests;
