//! `suite.toml`: many functions to fuzz, and how the sources they live in are had and built.
//!
//! ```toml
//! name = "fdlibm"
//! fetch = "fetch.sh"              # run in the suite's directory when `sources` is missing
//! sources = "sources/fdlibm"      # relative to this file
//!
//! [build]
//! flags = ["-I{sources}/include"] # {sources}: the absolute directory
//! support = ["k_*.c"]             # linked with every target; relative to the sources
//! libs = ["-lm"]
//!
//! [[target]]
//! name = "tanh"                   # unique; names the output directory
//! file = "s_tanh.c"
//! function = "tanh"
//! flags = ["-DEXTRA"]             # besides those of [build]
//! paper = { branches = 12, seconds = 0.7, rand = 33.3, afl = 100.0, coverme = 100.0 }
//! ```

use std::collections::BTreeSet;
use std::fs;
use std::os::fd::AsFd;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};

use super::context::{Context, Result, bail};

/// A suite as its file says it, with the sources at hand.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Suite {
    /// Name, for the head of the table.
    pub name: String,
    /// The script that fetches the sources, relative to the suite file.
    #[serde(default)]
    pub fetch: Option<PathBuf>,
    /// The directory of the sources: in the file relative to it, after [`load`] absolute.
    pub sources: PathBuf,
    /// How every target is built.
    #[serde(default)]
    pub build: Build,
    /// The functions to fuzz, in the order of the table.
    #[serde(rename = "target", default)]
    pub targets: Vec<TargetSpec>,
    /// The files that [`Build::support`] names, absolute, sorted; filled in by [`load`].
    #[serde(skip)]
    pub support_files: Vec<PathBuf>,
}

/// What all targets of a suite share.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Build {
    /// Compiler flags; `{sources}` stands for the absolute directory of the sources.
    #[serde(default)]
    pub flags: Vec<String>,
    /// Source files (or patterns with `*`, `?`, `**`) that are linked with every target, relative to the sources.
    #[serde(default)]
    pub support: Vec<String>,
    /// Libraries, as the linker is told of them: `-lm`.
    #[serde(default)]
    pub libs: Vec<String>,
}

/// One function to fuzz.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetSpec {
    /// Unique in the suite; names the output directory.
    pub name: String,
    /// Source file, relative to the sources.
    pub file: String,
    /// The function under test, by its source name.
    pub function: String,
    /// Compiler flags besides those of the suite.
    #[serde(default)]
    pub flags: Vec<String>,
    /// What a paper reports on it.
    #[serde(default)]
    pub paper: Option<Paper>,
}

/// Published figures on a function, to stand beside ours; each may be missing. (`CoverMe`, PLDI 2017, Tables 2
/// and 3.)
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Paper {
    /// Branches by gcov's count.
    #[serde(default)]
    pub branches: Option<usize>,
    /// Time of `CoverMe`, in seconds.
    #[serde(default)]
    pub seconds: Option<f64>,
    /// Branch coverage of random testing, in percent.
    #[serde(default)]
    pub rand: Option<f64>,
    /// Branch coverage of AFL, in percent.
    #[serde(default)]
    pub afl: Option<f64>,
    /// Branch coverage of `CoverMe`, in percent.
    #[serde(default)]
    pub coverme: Option<f64>,
}

impl Suite {
    /// The target's source file, absolute.
    #[must_use]
    pub fn file_of(&self, target: &TargetSpec) -> PathBuf {
        self.sources.join(&target.file)
    }

    /// All compiler flags of a target, with `{sources}` replaced.
    #[must_use]
    pub fn flags_of(&self, target: &TargetSpec) -> Vec<String> {
        let sources = self.sources.to_string_lossy();
        let all = self.build.flags.iter().chain(&target.flags);
        all.map(|flag| flag.replace("{sources}", &sources)).collect()
    }

    /// The support files of a target: all but its own file.
    #[must_use]
    pub fn support_of(&self, target: &TargetSpec) -> Vec<PathBuf> {
        let own = self.file_of(target);
        self.support_files.iter().filter(|f| **f != own).cloned().collect()
    }
}

/// Reads a suite, fetches its sources if they are missing, and finds its files.
///
/// # Errors
/// The file cannot be read or says something impossible, the fetch script fails, or a file is missing; the message
/// says which and what to do.
pub fn load(path: &Path) -> Result<Suite> {
    let text = fs::read_to_string(path).context(|| format!("cannot read the suite {}", path.display()))?;
    let mut suite = parse(&text, path)?;
    let absolute = std::path::absolute(path).context(|| format!("cannot find {}", path.display()))?;
    let directory = absolute.parent().unwrap_or(Path::new("/"));
    suite.sources = tidy(&directory.join(&suite.sources));
    fetch_if_missing(&suite, directory, path)?;
    for target in &suite.targets {
        let file = suite.file_of(target);
        if !file.is_file() {
            bail!("{}: target {}: there is no file {}; correct `file`", path.display(), target.name, file.display());
        }
    }
    suite.support_files = find_support(&suite, path)?;
    Ok(suite)
}

fn parse(text: &str, path: &Path) -> Result<Suite> {
    let suite: Suite = toml::from_str(text).context(|| format!("{} is not a suite", path.display()))?;
    if suite.targets.is_empty() {
        bail!("{}: no target; add one with [[target]], name, file and function", path.display());
    }
    let mut names = BTreeSet::new();
    for target in &suite.targets {
        let name = target.name.as_str();
        if !is_directory_name(name) {
            bail!("{}: target name {name:?} cannot name a directory; use letters, digits, - and _", path.display());
        }
        if !names.insert(name) {
            bail!("{}: two targets are named {name}; names must be unique", path.display());
        }
    }
    Ok(suite)
}

/// One plain component, not hidden and not taken for an option.
fn is_directory_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(['-', '.'])
        && name.chars().all(|c| c.is_alphanumeric() || "-_.+,=".contains(c))
}

/// Takes out `.` and `..` without asking the file system: the directory may not be there yet.
fn tidy(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            other => out.push(other),
        }
    }
    out
}

fn fetch_if_missing(suite: &Suite, directory: &Path, path: &Path) -> Result<()> {
    let sources = &suite.sources;
    if sources.is_dir() {
        return Ok(());
    }
    let Some(script) = &suite.fetch else {
        bail!(
            "{}: the sources {} are missing and the suite has no `fetch` script; put them there",
            path.display(),
            sources.display()
        );
    };
    let script = directory.join(script);
    eprintln!("suite {}: fetching the sources with {}", suite.name, script.display());
    if let Err(error) = run_script(&script, directory) {
        // Half-fetched sources would be taken for whole ones the next time.
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

fn find_support(suite: &Suite, path: &Path) -> Result<Vec<PathBuf>> {
    let mut files = BTreeSet::new();
    for pattern in &suite.build.support {
        // The directory itself may hold characters that mean something in a pattern.
        let directory = glob::Pattern::escape(&suite.sources.to_string_lossy());
        let whole = format!("{directory}/{pattern}");
        let found =
            glob::glob(&whole).context(|| format!("{}: `support` pattern {pattern:?} is malformed", path.display()))?;
        let mut any = false;
        for file in found.filter_map(std::result::Result::ok).filter(|f| f.is_file()) {
            files.insert(file);
            any = true;
        }
        if !any {
            bail!(
                "{}: `support` {pattern:?} matches no file in {}; correct or delete it",
                path.display(),
                suite.sources.display()
            );
        }
    }
    Ok(files.into_iter().collect())
}

#[cfg(test)]
#[path = "config_tests.rs"]
mod tests;
