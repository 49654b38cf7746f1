//! `suite.toml`: many functions to fuzz, and how their sources are fetched and built.
//!
//! ```toml
//! name = "fdlibm"
//! fetch = "fetch.sh"              # run in the suite's directory when `sources` is missing
//! sources = "sources/fdlibm"      # relative to this file
//! test_format = "unity"           # optional, as the option --test-format
//! test_style = "table"            # optional, as the option --test-style
//! recorded = "penfuzz-recorded"   # optional, calls that penfuzz record has written
//!
//! [build]
//! flags = ["-I{sources}/include"] # {sources}: the absolute directory
//! support = ["k_*.c", "!k_old.c"] # linked with every target; relative to the sources; ! excludes files
//! setup = ["setup.c"]             # the same for the suite's own files, relative to this file
//! libs = ["-lm"]
//!
//! [[target]]
//! name = "tanh"                   # unique; names the output directory
//! file = "s_tanh.c"
//! function = "tanh"
//! flags = ["-DEXTRA"]             # in addition to those of [build]
//! static = true                   # optional: other files cannot call it
//! args = ["n: 1..8"]               # optional, as the option --arg
//! assume = ["lo < hi"]             # optional, as the option --assume
//! calls = 8                        # optional, as the option --calls
//! init = "pid_init"                # optional, as the option --init
//! globals = ["gain"]               # optional, as the option --global
//! rounding = "all"                # optional, as the option --rounding
//! paper = { branches = 12, seconds = 0.7, rand = 33.3, afl = 100.0, coverme = 100.0 }
//! ```

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use penfuzz_error::{
    bail,
    context::{Context, Result},
};
use penfuzz_report::test_format::{TestFormat, TestStyle};
use penfuzz_system::files::{foreign, tidy};
use penfuzz_target::program::Rounding;
use serde::{Deserialize, Serialize};

use super::{
    files::{fetch, find},
    recipe::Generate,
};

/// The content of a suite file; its sources have been fetched.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Suite {
    /// The name, shown in the head of the table.
    pub name: String,
    /// The script that fetches the sources, relative to the suite file.
    #[serde(default)]
    pub fetch: Option<PathBuf>,
    /// The directory of the sources. In the file it is relative to the suite file; [`load`] makes it absolute.
    pub sources: PathBuf,
    /// The format of the emitted tests, unless the command line sets it.
    #[serde(default, deserialize_with = "penfuzz_report::test_format::known")]
    pub test_format: Option<TestFormat>,
    /// The style of the emitted tests, unless the command line sets it.
    #[serde(default)]
    pub test_style: Option<TestStyle>,
    /// Recorded calls (`penfuzz record`) that campaigns start with, unless the command line names others. In the file
    /// it is relative to the suite file; [`load`] makes it absolute.
    #[serde(default)]
    pub recorded: Option<PathBuf>,
    /// Published figures of other tools on the suite as a whole.
    #[serde(default)]
    pub published: Vec<PublishedMeans>,
    /// How every target is built.
    #[serde(default)]
    pub build: Build,
    /// Only in a recipe: selects the functions that become targets ([`super::generate()`]).
    #[serde(default)]
    pub generate: Option<Generate>,
    /// The functions to fuzz, in the order of the table.
    #[serde(rename = "target", default)]
    pub targets: Vec<TargetSpec>,
    /// The files that [`Build::support`] and [`Build::setup`] name, absolute; filled in by [`load`].
    #[serde(skip)]
    pub support_files: Vec<PathBuf>,
    /// The subset of `support_files` that [`Build::setup`] names. These files are linked even if no symbol of theirs is
    /// used.
    #[serde(skip)]
    pub setup_files: Vec<PathBuf>,
}

/// Build options that all targets of a suite share.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Build {
    /// Compiler flags; `{sources}` is replaced by the absolute directory of the sources.
    #[serde(default)]
    pub flags: Vec<String>,
    /// Source files, or patterns with `*`, `?`, `**`, that are linked with every target, relative to the sources. A
    /// pattern that begins with `!` excludes the files that earlier patterns match.
    #[serde(default)]
    pub support: Vec<String>,
    /// As `support`, for the suite's own files, relative to the suite file. Use them for initialization before the
    /// first call, in a function with `__attribute__((constructor))`.
    #[serde(default)]
    pub setup: Vec<String>,
    /// Libraries, as linker arguments: `-lm`.
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
    /// Compiler flags in addition to those of the suite.
    #[serde(default)]
    pub flags: Vec<String>,
    /// The function is static: other files cannot call it. Its name may have a file as prefix: `file.c:function`.
    #[serde(default, rename = "static")]
    pub is_static: bool,
    /// Rounding modes in which it is called, unless the command line sets them.
    #[serde(default)]
    pub rounding: Option<Rounding>,
    /// The values that its arguments can have, as the option `--arg`.
    #[serde(default)]
    pub args: Vec<String>,
    /// Conditions over its arguments, as the option `--assume`.
    #[serde(default)]
    pub assume: Vec<String>,
    /// The maximum number of calls per input, as the option `--calls`.
    #[serde(default)]
    pub calls: Option<usize>,
    /// The function that is called first, as the option `--init`.
    #[serde(default)]
    pub init: Option<String>,
    /// Variables that are inputs, as the option `--global`.
    #[serde(default)]
    pub globals: Vec<String>,
    /// Published figures for the function.
    #[serde(default)]
    pub paper: Option<Paper>,
}

/// Published figures for a function, for comparison; each may be missing. (`CoverMe`, PLDI 2017, Tables 2 and 3.)
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Paper {
    /// Number of branches that gcov counts.
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

/// Published means of one tool over all functions of a suite, in percent; each may be missing. The referee's criteria
/// of the same names are comparable. (`CoverMe`, PLDI 2017, Tables 2, 3 and 5.)
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedMeans {
    /// Name of the tool.
    pub tool: String,
    /// Lines executed.
    #[serde(default)]
    pub lines: Option<f64>,
    /// Branches whose condition was evaluated.
    #[serde(default)]
    pub conditions: Option<f64>,
    /// Branches taken.
    #[serde(default)]
    pub branches: Option<f64>,
    /// Calls made.
    #[serde(default)]
    pub calls: Option<f64>,
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
        self.with_sources(self.build.flags.iter().chain(&target.flags))
    }

    pub(super) fn with_sources<'a>(&self, flags: impl Iterator<Item = &'a String>) -> Vec<String> {
        let sources = self.sources.to_string_lossy();
        flags.map(|flag| flag.replace("{sources}", &sources)).collect()
    }

    /// The support files of a target, without the file of the target itself.
    #[must_use]
    pub fn support_of(&self, target: &TargetSpec) -> Vec<PathBuf> {
        let own = self.file_of(target);
        self.support_files.iter().filter(|f| **f != own).cloned().collect()
    }
}

/// Keeps the targets whose name matches one of the patterns (`*`, `?`).
///
/// # Errors
/// A pattern is malformed, or matches no target of any suite.
pub fn retain_matching(suites: &mut [Suite], patterns: &[String]) -> Result<()> {
    let mut kept = BTreeSet::new();
    for text in patterns {
        let pattern = glob::Pattern::new(text).context(|| format!("--only {text:?} is malformed"))?;
        let all = suites.iter().flat_map(|s| &s.targets).map(|t| &t.name);
        let found: Vec<_> = all.filter(|n| pattern.matches(n)).cloned().collect();
        if found.is_empty() {
            let names: Vec<_> = suites.iter().map(|s| s.name.as_str()).collect();
            bail!("--only {text:?}: the suite {} has no target of that name", names.join(", "));
        }
        kept.extend(found);
    }
    for suite in suites {
        suite.targets.retain(|t| kept.contains(&t.name));
    }
    Ok(())
}

/// Reads a suite, fetches its sources if they are missing, and finds its files.
///
/// # Errors
/// The file cannot be read or is contradictory, the fetch script fails, or a file is missing. The message names the
/// file and says what to do.
pub fn load(path: &Path) -> Result<Suite> {
    let text = foreign::read_text(path).context(|| format!("cannot read the suite {}", path.display()))?;
    let mut suite = parse(&text, path)?;
    resolve_files(&mut suite, path)?;
    for target in &suite.targets {
        let file = suite.file_of(target);
        if !file.is_file() {
            bail!("{}: target {}: there is no file {}; correct `file`", path.display(), target.name, file.display());
        }
    }
    Ok(suite)
}

/// Makes the paths of the suite absolute, fetches its sources if they are missing, and finds its support files.
pub(super) fn resolve_files(suite: &mut Suite, path: &Path) -> Result<()> {
    let absolute = std::path::absolute(path).context(|| format!("cannot find {}", path.display()))?;
    let directory = absolute.parent().unwrap_or(Path::new("/"));
    suite.sources = tidy(&directory.join(&suite.sources));
    if !suite.sources.is_dir() {
        fetch(&suite.name, suite.fetch.as_deref(), &suite.sources, directory, path)?;
    }
    suite.recorded = suite.recorded.take().map(|dir| tidy(&directory.join(dir)));
    suite.support_files = find(&suite.sources, &suite.build.support, path, "support")?;
    suite.setup_files = find(directory, &suite.build.setup, path, "setup")?;
    suite.support_files.extend(suite.setup_files.iter().cloned());
    Ok(())
}

fn parse(text: &str, path: &Path) -> Result<Suite> {
    let suite: Suite = toml::from_str(text).context(|| format!("{} is not a suite", path.display()))?;
    if suite.generate.is_some() {
        let path = path.display();
        bail!("{path} is the recipe of a suite; make the suite with `penfuzz generate {path} -o suite.toml`");
    }
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

/// Returns whether the name is a single path component that is neither hidden nor looks like an option.
pub(super) fn is_directory_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(['-', '.'])
        && name.chars().all(|c| c.is_alphanumeric() || "-_.+,=".contains(c))
}

#[cfg(test)]
#[path = "config_tests.rs"]
mod tests;
