//! `--since REF`: counts only the findings that a change introduced.
//!
//! 1. The older state is that of the sources at a revision of git, extracted to a temporary directory, or an older
//!    build of the target.
//! 2. A short campaign on it starts with the failing inputs of the present one.
//! 3. A finding that occurs there in the same function at a line with the same text existed before. It is listed, and
//!    does not count.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use penfuzz_campaign::Finished;
use penfuzz_directory::output::reports::update;
use penfuzz_engine::saturation::Goals;
use penfuzz_error::{Error, failed};
use penfuzz_report::{Report, finding::Finding, sources};
use penfuzz_system::{errln, files::destination::Unusable};

use super::fuzz::{self, Args};

/// Checks before a campaign whether there is such an older state.
///
/// # Errors
/// With the source [`Unusable`], when there is none.
pub(super) fn check(args: &Args) -> Result<(), Error> {
    match args.since.as_deref() {
        Some(since) if !Path::new(since).is_file() => top_of_repository(since).map(drop),
        _ => Ok(()),
    }
}

/// Notes which findings of a campaign existed in the older state.
///
/// # Errors
/// When the older state cannot be extracted, or the reports cannot be written. If the target cannot be tested in the
/// older state, all findings are new.
pub(super) fn judge(args: &Args, goals: Goals, done: &mut Finished) -> Result<(), Error> {
    let Some(since) = args.since.as_deref() else { return Ok(()) };
    if done.report.crashes.is_empty() && done.report.hangs.is_empty() {
        return Ok(());
    }
    let temporary = tempfile::tempdir().map_err(|e| failed(&env::temp_dir(), "has no room for an older state", e))?;
    let older = older_report(args, goals, since, &done.dir, temporary.path())?;
    let mut known = match older {
        Ok(report) => identities(&report),
        Err(why) => {
            errln!("penfuzz: --since: all findings count as new, because {since} cannot be tested: {why}");
            Vec::new()
        }
    };
    update(&done.dir, &mut done.report, |report| {
        for finding in report.crashes.iter_mut().chain(&mut report.hangs) {
            // Of two findings at equal lines one may be new.
            let same = known.iter().position(|known| *known == identity(finding));
            finding.existed_in = same.map(|i| known.swap_remove(i)).map(|_| since.to_owned());
        }
        Ok(())
    })
}

/// The report of a campaign on the older state; an inner error if there is none.
fn older_report(
    args: &Args,
    goals: Goals,
    since: &str,
    dir: &Path,
    temporary: &Path,
) -> Result<Result<Report, Error>, Error> {
    let seeds = temporary.join("seeds");
    copy_inputs(dir, &seeds).map_err(|e| failed(&seeds, "cannot be written", e))?;
    let mut older = args.on_older_state(seeds, temporary.join("out"));
    if Path::new(since).is_file() {
        older.target.target = Some(PathBuf::from(since));
        return Ok(fuzz::campaign(&older, goals).map(|done| done.report));
    }
    let own = env::current_dir().map_err(|e| failed(Path::new("."), "is no directory", e))?;
    let tree = Tree::extract(since, &temporary.join("tree"))?;
    if let Some(target) = older.target.target.as_mut().filter(|target| target.is_absolute()) {
        *target = target.canonicalize().map_err(|e| failed(target, "is no longer there", e))?;
        if !target.starts_with(&tree.top) {
            let outside = format!("--since {since}: {} is outside of {}", target.display(), tree.top.display());
            return Err(Error::from_source(Unusable(outside)));
        }
    }
    older.target.move_paths(|text| tree.moved(text));
    env::set_current_dir(tree.moved(&own.to_string_lossy()))
        .map_err(|e| failed(&own, "does not exist in that revision", e))?;
    let report = fuzz::campaign(&older, goals).map(|done| done.report);
    env::set_current_dir(&own).map_err(|e| failed(&own, "is no longer there", e))?;
    Ok(report)
}

/// Copies the failing inputs of a campaign to one directory.
fn copy_inputs(dir: &Path, seeds: &Path) -> io::Result<()> {
    fs::create_dir_all(seeds)?;
    for kind in ["crashes", "hangs"] {
        for entry in fs::read_dir(dir.join(kind)).into_iter().flatten() {
            let entry = entry?;
            fs::copy(entry.path(), seeds.join(format!("{kind}-{}", entry.file_name().display())))?;
        }
    }
    Ok(())
}

/// The kind of a finding, and its function and line of code; without a source, the place.
fn identity(finding: &Finding) -> (String, String) {
    let kind = finding.reason.split([' ', ':']).next().unwrap_or_default().to_owned();
    let place = finding.innermost();
    (kind, sources::code_at(place).unwrap_or_else(|| place.to_owned()))
}

fn identities(report: &Report) -> Vec<(String, String)> {
    report.crashes.iter().chain(&report.hangs).map(identity).collect()
}

/// The files of a revision.
struct Tree {
    /// The directory of the repository.
    top: PathBuf,
    /// The directory of the extracted files.
    at: PathBuf,
}

impl Tree {
    fn extract(revision: &str, at: &Path) -> Result<Self, Error> {
        let top = top_of_repository(revision)?;
        let archive = at.with_extension("tar");
        fs::create_dir_all(at).map_err(|e| failed(at, "cannot be created", e))?;
        let (archive, tree) = (archive.to_string_lossy(), at.to_string_lossy());
        let is_there = git(&["-C", &top.to_string_lossy(), "archive", "-o", &archive, revision]).is_some()
            && output_of(Command::new("tar").args(["-xf", &archive, "-C", &tree])).is_some();
        if !is_there {
            return Err(Error::new(format!(
                "--since {revision}: git archive and tar cannot write its files to {tree}"
            )));
        }
        Ok(Self { top, at: at.to_path_buf() })
    }

    /// A text in which paths of the repository are those of the extracted files.
    fn moved(&self, text: &str) -> String {
        text.replace(&*self.top.to_string_lossy(), &self.at.to_string_lossy())
    }
}

/// The directory of the repository that contains the present directory and has this revision.
fn top_of_repository(revision: &str) -> Result<PathBuf, Error> {
    let commit = format!("{revision}^{{commit}}");
    let top = git(&["rev-parse", "--verify", "--quiet", "--end-of-options", &commit])
        .and_then(|_| git(&["rev-parse", "--show-toplevel"]));
    top.map(|top| PathBuf::from(top.trim_end())).ok_or_else(|| {
        let what = "is neither a file nor a revision of the git repository of the present directory";
        Error::from_source(Unusable(format!("--since {revision} {what}")))
    })
}

fn git(args: &[&str]) -> Option<String> {
    output_of(Command::new("git").args(args))
}

/// The standard output of a program; `None` if it fails.
fn output_of(command: &mut Command) -> Option<String> {
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}
