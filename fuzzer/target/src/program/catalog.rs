//! The functions of a target, and which of them can be tested: for listings and for recipes of suites.

use serde::{Deserialize, Serialize};

use crate::inputs::{self, Described, Sizes};

use super::{
    Function, Site, Target, globals,
    names::is_of_library,
    select::{Obstacle, obstacle},
    units,
};

/// One defined function.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Name in the source.
    pub name: String,
    /// Name for the linker.
    pub symbol: String,
    /// Signature in C syntax.
    pub signature: String,
    /// Source file of the definition.
    pub file: String,
    /// The file to compile for it: a source that may include the file of the definition, or a library.
    #[serde(skip)]
    pub source: String,
    /// Line of the definition, from 1.
    pub line: u32,
    /// Number of branches of its conditional sites.
    pub branches: usize,
    /// Whether it has internal linkage, so that other files cannot call it.
    #[serde(rename = "static")]
    pub is_static: bool,
    /// The data behind its pointers, as far as known without a call.
    pub inputs: Vec<Described>,
    /// Functions that could create an object that it changes, for `--init`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub initialisers: Vec<String>,
    /// Variables that it or its callees read, for `--global`, except those that are inputs already.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub globals: Vec<String>,
    /// Why it cannot be tested; `None` if it can.
    pub obstacle: Option<String>,
}

/// Returns every defined function except those of the C++ library, ordered by file and line.
#[must_use]
pub fn catalog(target: &Target) -> Vec<Entry> {
    let own = target.functions.iter().filter(|f| !is_of_library(&f.name, &f.file));
    let mut all: Vec<_> = own.map(|f| entry(target, f)).collect();
    all.sort_by(|a, b| (&a.file, a.line, &a.symbol, &a.source).cmp(&(&b.file, b.line, &b.symbol, &b.source)));
    all
}

fn entry(target: &Target, f: &Function) -> Entry {
    let why = |o| match o {
        Obstacle::NothingToSearch(reason) | Obstacle::Unsupported(reason) => reason,
    };
    let inputs = inputs::build(target, f, &Sizes::new()).map_or_else(|_| Vec::new(), |model| model.described());
    let is_input = |name: &str| inputs.iter().any(|i| i.is_global && i.path == name);
    let read = globals::candidates(target, f).into_iter().filter(|g| g.is_read && !is_input(&g.name));
    Entry {
        globals: read.map(|g| g.name).collect(),
        name: f.name.clone(),
        symbol: f.symbol.clone(),
        signature: f.signature(),
        file: f.file.clone(),
        source: units::unit_of(f).to_owned(),
        line: f.line,
        branches: target.sites[f.sites.clone()].iter().map(Site::branches_of_source).sum(),
        is_static: f.is_static,
        inputs,
        initialisers: inputs::initialisers(target, f),
        obstacle: obstacle(target, f).map(why),
    }
}
