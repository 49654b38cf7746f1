//! The gcov referee: the coverage of a campaign by a count that is not ours.
//!
//! The target's file is compiled by `gcc -O0 --coverage`, linked with the test program that the campaign emitted,
//! run, and gcov counts the branches of the function under test: how many there are and how many some test takes.
//! An input that crashes is not in the test program, so what only crashes cover is not counted here.

use std::collections::BTreeMap;
use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant, SystemTime};

use serde::{Deserialize, Serialize};

use super::context::{Context, Result, bail};
use super::gcov::{TakenBranch, branches_of};
use crate::report::c_text::is_cxx;
use crate::report::{Report, Status, unit_test};

/// How often a running test program is looked at.
const POLL: Duration = Duration::from_millis(2);
/// Lines of a compiler's or linker's messages that are passed on.
const SHOWN_LINES: usize = 6;

/// Branch counts of the function under test by another tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Referee {
    /// `gcov`.
    pub tool: String,
    /// Branches of the function.
    pub total: usize,
    /// Those that some emitted test takes.
    pub covered: usize,
}

/// What the referee found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// The counts.
    pub referee: Referee,
    /// Every branch by line and index, ascending.
    pub branches: Vec<TakenBranch>,
}

/// What the referee needs to know.
#[derive(Debug, Clone, Copy)]
pub struct Job<'a> {
    /// The campaign's outcome; its emitted tests are run.
    pub report: &'a Report,
    /// The source file of the function under test, absolute.
    pub file: &'a Path,
    /// Other source files to link with it, absolute.
    pub support: &'a [PathBuf],
    /// Compiler flags for `file` and `support`.
    pub flags: &'a [String],
    /// Libraries to link: `-lm` (always linked), …
    pub libs: &'a [String],
    /// Directory of compiled support files; any number of referees may use it at once. Made when missing.
    pub cache: &'a Path,
    /// How long the test program may run.
    pub timeout: Duration,
}

/// Measures the emitted tests of a campaign.
///
/// # Errors
/// A file does not compile or link, the test program fails or takes too long, or gcov does not know the function.
pub fn judge(job: &Job) -> Result<Verdict> {
    let directory = tempfile::Builder::new()
        .prefix("penfuzz-referee-")
        .tempdir()
        .context(|| "cannot make a temporary directory for gcov".to_owned())?;
    let measured = build(job, directory.path())?;
    run(&directory.path().join("program"), directory.path(), job.timeout)?;
    let branches = count(job.report, &measured, directory.path())?;
    let covered = branches.iter().filter(|b| b.taken).count();
    Ok(Verdict { referee: Referee { tool: "gcov".to_owned(), total: branches.len(), covered }, branches })
}

/// Compiles and links `directory/program`. The object file that holds the function under test.
fn build(job: &Job, directory: &Path) -> Result<PathBuf> {
    let mut report = job.report.clone();
    report.signature.file = job.file.to_string_lossy().into_owned();
    let test = directory.join(unit_test::file_name(&report));
    fs::write(&test, unit_test::program(&report)).context(|| format!("cannot write {}", test.display()))?;
    let test_object = directory.join("test.o");
    let mut objects = vec![test_object.clone()];
    let measured = if unit_test::includes_source(&report) {
        compile(&test, &test_object, job.flags, &["--coverage"])?;
        test_object
    } else {
        compile(&test, &test_object, &[], &[])?;
        let target = directory.join("target.o");
        compile(job.file, &target, job.flags, &without_main(job.file, &["--coverage"]))?;
        objects.push(target.clone());
        target
    };
    for file in job.support.iter().filter(|f| *f != job.file) {
        objects.push(support_object(file, job.flags, job.cache)?);
    }
    link(job, &objects, &directory.join("program"))?;
    Ok(measured)
}

/// The test program has a `main`, so that of the sources goes by another name.
fn without_main<'a>(source: &Path, options: &[&'a str]) -> Vec<&'a str> {
    let renamed = unit_test::defines_main(source).then_some("-Dmain=program_main");
    options.iter().copied().chain(renamed).collect()
}

fn compile(source: &Path, object: &Path, flags: &[String], options: &[&str]) -> Result<()> {
    let mut command = Command::new("gcc");
    // Last wins: the level must be -O0, where gcc has one branch for each in the source.
    command.args(flags).args(["-w", "-O0"]).args(options).arg("-c").arg(source).arg("-o").arg(object);
    finish(command, || format!("gcc cannot compile {} for the referee", source.display())).map(drop)
}

fn link(job: &Job, objects: &[PathBuf], program: &Path) -> Result<()> {
    let mut command = Command::new("gcc");
    command.arg("--coverage").args(objects).args(job.libs);
    if is_cxx(job.file) || job.support.iter().any(|f| is_cxx(f)) {
        command.arg("-lstdc++");
    }
    command.arg("-lm").arg("-o").arg(program);
    let what = || format!("gcc cannot link the tests of {}; is a `support` file or lib missing?", job.report.function);
    finish(command, what).map(drop)
}

/// Runs a tool to its end; its standard output.
fn finish(mut command: Command, what: impl Fn() -> String) -> Result<Vec<u8>> {
    let output = command.stdin(Stdio::null()).output().context(|| {
        format!("cannot run {}; the referee needs gcc and gcov", command.get_program().to_string_lossy())
    })?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let messages = String::from_utf8_lossy(&output.stderr);
    let shown: Vec<_> = messages.lines().take(SHOWN_LINES).collect();
    bail!("{}: {}", what(), shown.join("\n"))
}

/// The object of a support file, from the cache if it is there and no file that it was made from is younger.
fn support_object(source: &Path, flags: &[String], cache: &Path) -> Result<PathBuf> {
    fs::create_dir_all(cache).context(|| format!("cannot create {}", cache.display()))?;
    let content = fs::read(source).context(|| format!("cannot read {}", source.display()))?;
    let mut hasher = DefaultHasher::new();
    (gcc_version(), source, flags, content).hash(&mut hasher);
    let stem = format!("{:016x}", hasher.finish());
    let (object, needs) = (cache.join(format!("{stem}.o")), cache.join(format!("{stem}.d")));
    if is_fresh(&object, &needs) {
        return Ok(object);
    }
    // Made aside and renamed, so that others see a whole file or none. The list of what it was made from goes first.
    let aside = tempfile::tempdir_in(cache).context(|| format!("cannot write to {}", cache.display()))?;
    let (new_object, new_needs) = (aside.path().join("o"), aside.path().join("d"));
    let option = format!("-MF{}", new_needs.display());
    compile(source, &new_object, flags, &without_main(source, &["-MD", &option]))?;
    for (from, to) in [(&new_needs, &needs), (&new_object, &object)] {
        fs::rename(from, to).context(|| format!("cannot write {}", to.display()))?;
    }
    Ok(object)
}

fn gcc_version() -> &'static str {
    static VERSION: OnceLock<String> = OnceLock::new();
    VERSION.get_or_init(|| {
        let output = Command::new("gcc").arg("--version").output();
        output.map(|o| String::from_utf8_lossy(&o.stdout).into_owned()).unwrap_or_default()
    })
}

/// A list that cannot be read (a name with a space, say) makes the object stale: it is compiled again.
fn is_fresh(object: &Path, needs: &Path) -> bool {
    let modified = |path: &Path| -> Option<SystemTime> { fs::metadata(path).ok()?.modified().ok() };
    let (Some(made), Ok(text)) = (modified(object), fs::read_to_string(needs)) else {
        return false;
    };
    let Some((_, files)) = text.split_once(':') else {
        return false;
    };
    files.split_whitespace().filter(|word| *word != "\\").all(|f| modified(Path::new(f)).is_some_and(|m| m < made))
}

fn run(program: &Path, directory: &Path, timeout: Duration) -> Result<()> {
    let mut child = Command::new(program)
        .current_dir(directory)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .context(|| "cannot run the emitted tests".to_owned())?;
    let end = Instant::now() + timeout;
    loop {
        match child.try_wait().context(|| "cannot wait for the emitted tests".to_owned())? {
            Some(status) if status.success() => return Ok(()),
            Some(status) => bail!("the emitted tests, compiled by gcc -O0, ended with {status}"),
            None if Instant::now() < end => std::thread::sleep(POLL),
            None => {
                let _ = child.kill();
                let _ = child.wait();
                bail!("the emitted tests, compiled by gcc -O0, did not end within {} s", timeout.as_secs_f64())
            }
        }
    }
}

fn count(report: &Report, object: &Path, directory: &Path) -> Result<Vec<TakenBranch>> {
    let mut command = Command::new("gcov");
    command.current_dir(directory).args(["--json-format", "--stdout", "-b"]).arg(object.with_extension("gcda"));
    let json = finish(command, || "gcov failed".to_owned())?;
    for name in [&report.signature.symbol, &report.function] {
        let found = branches_of(name, &json).context(|| "cannot read what gcov printed".to_owned())?;
        if let Some(branches) = found {
            return Ok(branches);
        }
    }
    bail!("gcov does not know {}; is it defined in this file under these flags?", report.function)
}

/// A line on which the referee and the report do not agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineDifference {
    /// Source line, from 1.
    pub line: u32,
    /// Branches and covered branches by the report; without those that only crashing inputs cover, which the
    /// referee cannot see.
    pub own: (usize, usize),
    /// Branches and covered branches by the referee.
    pub referee: (usize, usize),
}

/// The lines of the function under test whose counts differ, ascending.
#[must_use]
pub fn differences(report: &Report, verdict: &Verdict) -> Vec<LineDifference> {
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
