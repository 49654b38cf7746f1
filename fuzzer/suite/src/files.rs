//! Fetches the source files of a suite if they are missing, and finds files by pattern.

use std::{
    collections::BTreeSet,
    fs,
    os::fd::AsFd,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use penfuzz_error::{
    bail,
    context::{Context, Result},
};
use penfuzz_system::files::walk;

/// Runs the fetch script of the suite `name` in `directory`; the script must create the directory `sources`. `path` is
/// the suite file.
///
/// # Errors
/// There is no script, it fails, or it does not create the directory.
pub(super) fn fetch(name: &str, script: Option<&Path>, sources: &Path, directory: &Path, path: &Path) -> Result<()> {
    let Some(script) = script else {
        bail!(
            "{}: the sources {} are missing and the suite has no `fetch` script; put them there",
            path.display(),
            sources.display()
        );
    };
    let script = directory.join(script);
    penfuzz_system::errln!("suite {name}: fetching the sources with {}", script.display());
    if let Err(error) = run_script(&script, directory) {
        // Otherwise the next run would use partial sources as if they were complete.
        let _ = fs::remove_dir_all(sources);
        return Err(error);
    }
    if !sources.is_dir() {
        bail!("{} ran but did not make {}; correct `sources` or the script", script.display(), sources.display());
    }
    Ok(())
}

/// Runs the fetch script. Its output goes to standard error, because standard output is for results.
fn run_script(script: &Path, directory: &Path) -> Result<()> {
    let output = std::io::stderr().as_fd().try_clone_to_owned().context(|| "cannot use standard error".to_owned())?;
    let status =
        Command::new(script).current_dir(directory).stdin(Stdio::null()).stdout(output).status().context(|| {
            format!("cannot run {}; check that it exists and is executable (chmod +x)", script.display())
        })?;
    if !status.success() {
        bail!("{} failed ({status}); its messages are above", script.display());
    }
    Ok(())
}

/// Returns the files below `directory`, sorted, that match a pattern and no later pattern that begins with `!`.
/// Messages name the suite file `file` and its key `what`.
///
/// # Errors
/// A pattern is malformed, or matches no file.
pub(super) fn find(directory: &Path, patterns: &[String], file: &Path, what: &str) -> Result<Vec<PathBuf>> {
    let mut files = BTreeSet::new();
    for pattern in patterns {
        let (removes, plain) = pattern.strip_prefix('!').map_or((false, pattern.as_str()), |p| (true, p));
        let found = matching(directory, plain, || format!("{}: `{what}` pattern {pattern:?}", file.display()))?;
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

/// Returns the files below `directory` that match one pattern. `name` is the name of the pattern in messages.
fn matching(directory: &Path, pattern: &str, name: impl Fn() -> String) -> Result<Vec<PathBuf>> {
    if pattern.contains("**") {
        return matching_at_any_depth(directory, pattern, name);
    }
    // The path of the directory may contain pattern characters.
    let whole = format!("{}/{pattern}", glob::Pattern::escape(&directory.to_string_lossy()));
    let found = glob::glob(&whole).context(|| format!("{} is malformed", name()))?;
    Ok(found.filter_map(std::result::Result::ok).filter(|f| f.is_file()).collect())
}

/// As [`matching`], for a pattern with `**`. The crate glob follows symbolic links in a cycle up to forty times; with
/// two of them in one directory its walk does not end.
fn matching_at_any_depth(directory: &Path, pattern: &str, name: impl Fn() -> String) -> Result<Vec<PathBuf>> {
    const OPTIONS: glob::MatchOptions = glob::MatchOptions {
        case_sensitive: true,
        require_literal_separator: true,
        require_literal_leading_dot: false,
    };
    let parts: Vec<&str> = pattern.split('/').collect();
    let (plain, rest) = parts.split_at(parts.iter().position(|p| p.contains(['*', '?', '['])).unwrap_or(0));
    let rest = glob::Pattern::new(&rest.join("/")).context(|| format!("{} is malformed", name()))?;
    let top = plain.iter().fold(directory.to_path_buf(), |dir, part| dir.join(part));
    let files = walk::files_below(&top).context(|| format!("{} cannot be searched in {}", name(), top.display()))?;
    Ok(files.into_iter().filter(|f| rest.matches_path_with(f, OPTIONS)).map(|f| top.join(f)).collect())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_pattern_of_any_depth_ends_in_a_circle_of_links() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::create_dir_all(at("src/a/b")).unwrap();
        for file in ["src/x.c", "src/a/y.c", "src/a/b/z.c", "src/a/b/z.h", "other.c"] {
            fs::write(at(file), "").unwrap();
        }
        for link in ["src/up", "src/a/up", "src/a/b/up", "src/a/b/up2"] {
            symlink(dir.path(), at(link)).unwrap();
        }
        let found = |pattern: &str| {
            let found = find(dir.path(), &[pattern.to_owned()], Path::new("s.toml"), "support").unwrap();
            let relative = |f: &PathBuf| f.strip_prefix(dir.path()).unwrap().to_string_lossy().into_owned();
            found.iter().map(relative).collect::<Vec<_>>()
        };
        // `up` points to the top directory. The top is an ancestor of every directory, but not of `src` when the walk
        // begins there.
        assert!(found("**/*.c").iter().all(|f| !f.contains("up")), "{:?}", found("**/*.c"));
        assert_eq!(found("**/*.c"), ["other.c", "src/a/b/z.c", "src/a/y.c", "src/x.c"]);
        assert_eq!(found("src/*.c"), ["src/x.c"]);
        assert!(found("src/a/**/*.c").contains(&"src/a/b/z.c".to_owned()));
    }
}
