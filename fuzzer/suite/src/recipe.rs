//! The `[generate]` table of a recipe as data; [`generate`](super::generate()) evaluates it.

use std::path::PathBuf;

use serde::Deserialize;

/// Selects the functions of the sources that become targets.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Generate {
    /// Patterns of source files, relative to the sources. A pattern that begins with `!` excludes files.
    #[serde(default)]
    pub files: Vec<String>,
    /// The `compile_commands.json` of a build, relative to the recipe: its files and their flags are added.
    #[serde(default)]
    pub compile_commands: Option<PathBuf>,
    /// Static functions become targets, too.
    #[serde(default, rename = "static")]
    pub with_static: bool,
    /// Patterns of function names. If empty, all functions match.
    #[serde(default)]
    pub functions: Vec<String>,
    /// Functions with fewer branches are left out.
    #[serde(default = "default_min_branches")]
    pub min_branches: usize,
    /// Functions that the author of the recipe leaves out.
    #[serde(default)]
    pub without: Vec<Without>,
}

fn default_min_branches() -> usize {
    2
}

/// Functions to leave out, and the reason.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Without {
    /// Pattern of names.
    pub function: String,
    /// The reason, for the reader of the suite.
    pub reason: String,
}
