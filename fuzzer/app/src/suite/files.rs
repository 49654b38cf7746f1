//! The files of a suite: fetched when they are missing, found by pattern.

use std::collections::BTreeSet;
use std::fs;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::context::{Context, Result, bail};

/// Runs the fetch script of the suite `name`, from its file `path`, in `directory`, to make the directory `sources`.
///
/// # Errors
/// There is no script, it fails, or it does not make the directory.
pub(super) fn fetch(name: &str, script: Option<&Path>, sources: &Path, directory: &Path, path: &Path) -> Result<()> {
    let Some(script) = script else {
        bail!(
            "{}: the sources {} are missing and the suite has no `fetch` script; put them there",
            path.display(),
            sources.display()
        );
    };
    let script = directory.join(script);
    crate::errln!("suite {name}: fetching the sources with {}", script.display());
    if let Err(error) = run_script(&script, directory) {
        // The next run would take partial sources for complete ones.
        let _ = fs::remove_dir_all(sources);
        return Err(error);
    }
    if !sources.is_dir() {
        bail!("{} ran but did not make {}; correct `sources` or the script", script.display(), sources.display());
    }
    Ok(())
}

/// What the script prints goes to standard error: standard output is for results.
fn run_script(script: &Path, directory: &Path) -> Result<()> {
    let output = std::io::stderr().as_fd().try_clone_to_owned().context(|| "cannot use standard error".to_owned())?;
    let status = Command::new(script)
        .current_dir(directory)
        .stdin(Stdio::null())
        .stdout(output)
        .status()
        .context(|| format!("cannot run {} (is it there, and executable? chmod +x)", script.display()))?;
    if !status.success() {
        bail!("{} failed ({status}); its messages are above", script.display());
    }
    Ok(())
}

/// The files below `directory` that match a pattern and no later one that begins with `!`; sorted. `what` names the list
/// in messages about `file`.
///
/// # Errors
/// A pattern is malformed, or matches no file.
pub(super) fn find(directory: &Path, patterns: &[String], file: &Path, what: &str) -> Result<Vec<PathBuf>> {
    let mut files = BTreeSet::new();
    for pattern in patterns {
        let (removes, plain) = pattern.strip_prefix('!').map_or((false, pattern.as_str()), |p| (true, p));
        // The directory itself may hold characters that mean something in a pattern.
        let whole = format!("{}/{plain}", glob::Pattern::escape(&directory.to_string_lossy()));
        let found =
            glob::glob(&whole).context(|| format!("{}: `{what}` pattern {pattern:?} is malformed", file.display()))?;
        let found: Vec<_> = found.filter_map(std::result::Result::ok).filter(|f| f.is_file()).collect();
        if found.is_empty() {
            let directory = directory.display();
            bail!("{}: `{what}` {pattern:?} matches no file in {directory}; correct or delete it", file.display());
        }
        for found in found {
            if removes {
                files.remove(&found);
            } else {
                files.insert(found);
            }
        }
    }
    Ok(files.into_iter().collect())
}
