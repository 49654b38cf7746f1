//! The `[generate]` table of a recipe, as data: [`generate`](super::generate()) follows it.

use std::path::PathBuf;

use serde::Deserialize;

/// Which functions of the sources become targets.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Generate {
    /// Patterns of source files, relative to the sources; behind a `!`, files that are none after all.
    #[serde(default)]
    pub files: Vec<String>,
    /// The `compile_commands.json` of a build, relative to the recipe: its files are added, and their flags.
    #[serde(default)]
    pub compile_commands: Option<PathBuf>,
    /// Whether functions that other files cannot call become targets, too.
    #[serde(default, rename = "static")]
    pub with_static: bool,
    /// Patterns of function names; all when empty.
    #[serde(default)]
    pub functions: Vec<String>,
    /// Functions with fewer branches are left out.
    #[serde(default = "one_condition")]
    pub min_branches: usize,
    /// Functions that are left out by hand.
    #[serde(default)]
    pub without: Vec<Without>,
}

fn one_condition() -> usize {
    2
}

/// Functions that are left out, and why.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Without {
    /// Pattern of names.
    pub function: String,
    /// Why, for the reader of the suite.
    pub reason: String,
}
