//! One target of a suite as a child process of this program.

use std::{
    ffi::OsString,
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    time::{Duration, Instant},
};

use penfuzz_engine::program::Rounding;

use super::config::{Suite, TargetSpec};
use crate::{
    context::{Context, Result, bail},
    process::interrupts,
    report::{Report, json},
};

/// How often a running child is looked at.
const POLL: Duration = Duration::from_millis(5);
/// After Ctrl-C, how long a child may take to end by itself: it got the signal too, from the terminal.
const PATIENCE: Duration = Duration::from_secs(2);
/// After that it is told to terminate; and killed when this has passed as well.
const LAST_PATIENCE: Duration = Duration::from_secs(15);
/// Exit status for a campaign that found crashes or hangs.
const FOUND: i32 = 3;

/// Options of the suite command that go to every campaign as they are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Passed {
    /// `--max-time`, as the user wrote it.
    pub max_time: Option<String>,
    /// `--max-evals`.
    pub max_evals: Option<u64>,
    /// `--seed`.
    pub seed: Option<u64>,
    /// `--search`.
    pub search: Option<String>,
    /// `--minimizer`.
    pub minimizer: Option<String>,
    /// `--timeout`, as the user wrote it.
    pub timeout: Option<String>,
    /// `--rounding`; wins over what the suite says of a target.
    pub rounding: Option<Rounding>,
    /// Whether exceptions are searched for instead of branches: `penfuzz exceptions`.
    pub exceptions: bool,
}

impl Passed {
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
        all
    }
}

/// Runs a campaign on the target by `penfuzz FILE --function F -o OUT/NAME --quiet …` (this very program) and reads
/// its report. What the child says on standard error is in `OUT/NAME.log` if it says anything.
///
/// # Errors
/// The child cannot be started or fails; the message holds the last line it said.
pub fn run_child(suite: &Suite, out: &Path, passed: &Passed, target: &TargetSpec) -> Result<Report> {
    let program = std::env::current_exe().context(|| "cannot find the program itself".to_owned())?;
    run_program(&program, suite, out, passed, target)
}

/// [`run_child`] with any program.
pub(super) fn run_program(
    program: &Path,
    suite: &Suite,
    out: &Path,
    passed: &Passed,
    target: &TargetSpec,
) -> Result<Report> {
    fs::create_dir_all(out).context(|| format!("cannot create {}", out.display()))?;
    let log = out.join(format!("{}.log", target.name));
    let log_file = File::create(&log).context(|| format!("cannot write {}", log.display()))?;
    let directory = out.join(&target.name);
    let mut child = Command::new(program)
        .args(arguments(suite, &directory, passed, target))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log_file)
        .spawn()
        .context(|| format!("cannot start {}", program.display()))?;
    let status = wait(&mut child).context(|| format!("cannot wait for {}", program.display()))?;
    let said = fs::read(&log).unwrap_or_default();
    let said = String::from_utf8_lossy(&said);
    if said.is_empty() {
        let _ = fs::remove_file(&log);
    }
    if !status.success() && status.code() != Some(FOUND) {
        let last = said.lines().rfind(|l| !l.trim().is_empty()).unwrap_or("it said nothing");
        bail!("{} ({status}; see {})", last.trim_start_matches("error: "), log.display());
    }
    json::read(&directory.join(json::FILE)).context(|| "the campaign ended without a report".to_owned())
}

fn arguments(suite: &Suite, directory: &Path, passed: &Passed, target: &TargetSpec) -> Vec<OsString> {
    let mut all: Vec<OsString> = passed.exceptions.then(|| "exceptions".into()).into_iter().collect();
    all.extend(target_arguments(suite, target, passed.rounding.or(target.rounding)));
    all.extend(["-o".into(), directory.into(), "--quiet".into()]);
    all.extend(passed.arguments().into_iter().map(OsString::from));
    all
}

/// The arguments that name a target of a suite and say how it is compiled, for every command that takes one.
#[must_use]
pub fn target_arguments(suite: &Suite, target: &TargetSpec, rounding: Option<Rounding>) -> Vec<OsString> {
    let mut all: Vec<OsString> =
        vec![suite.file_of(target).into(), "--function".into(), target.function.clone().into()];
    all.extend(rounding.map(|r| OsString::from(format!("--rounding={}", r.name()))));
    let option = |name: &str, value: PathBuf| {
        let mut argument = OsString::from(name);
        argument.push(value);
        argument
    };
    all.extend(suite.support_of(target).into_iter().map(|f| option("--with=", f)));
    // With `=`, since flags begin with a dash themselves.
    all.extend(suite.flags_of(target).into_iter().map(|f| option("--cflag=", f.into())));
    all.extend(suite.build.libs.iter().map(|l| option("--lib=", l.into())));
    all
}

/// Waits for the child's end, also when the suite is to end.
fn wait(child: &mut Child) -> std::io::Result<ExitStatus> {
    let mut since: Option<Instant> = None;
    let mut told = false;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if interrupts::requested() {
            let waited = since.get_or_insert_with(Instant::now).elapsed();
            if waited > LAST_PATIENCE {
                child.kill()?;
            } else if waited > PATIENCE && !told {
                // SAFETY: kill has no memory effects; the child is not yet waited for, so the number is its own.
                unsafe { libc::kill(child.id() as libc::pid_t, libc::SIGTERM) };
                told = true;
            }
        }
        std::thread::sleep(POLL);
    }
}

#[cfg(test)]
#[path = "child_tests.rs"]
mod tests;
