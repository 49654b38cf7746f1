//! `penfuzz generate RECIPE.toml`: makes a suite whose targets are the functions that pen-cc finds.
//!
//! A recipe is a suite without targets. Its `[generate]` table selects the functions that become targets:
//!
//! ```toml
//! [generate]
//! files = ["src/math/*.c", "!src/math/test_*.c"] # files to take functions from; relative to the sources; ! excludes
//! compile_commands = "compile_commands.json"     # or the files of a build, with their flags; relative to the recipe
//! functions = ["gsl_sf_*"]                       # only functions of these names [default: all]
//! min_branches = 2                               # minimum number of branches [default: 2]
//! static = true                                  # static functions, too [default: false]
//!
//! [[generate.without]]
//! function = "*_array"                           # functions to leave out
//! reason = "writes an array"
//! ```
//! Functions with a parameter that cannot be generated never become targets. All files that compile are linked into one
//! target file, and its function table is read. Symbols that the files do not define matter only to the functions that
//! need them. The generated suite consists of the recipe's text without these tables, one `[[target]]` per function,
//! and comments that list the functions left out and why.
//!
//! Instead of a recipe, the input may be a `compile_commands.json`, or a library or program that pen-cc has built
//! ([`bare`]).

mod bare;
mod choice;
mod commands;
mod text;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use penfuzz_compile::{self as build, Recipe, interruptible::build};
use penfuzz_directory::replay::expendable::in_child;
use penfuzz_error::{
    Error, bail,
    context::{Context, Result},
};
use penfuzz_system::files::foreign;
use penfuzz_target::program::{
    Target,
    catalog::{Entry, catalog},
    kind::{TargetKind, classify, is_archive},
};

use super::{
    config::{Suite, resolve_files},
    files::find,
};

/// The suite that was generated from a recipe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Generated {
    /// The text of the suite file.
    pub text: String,
    /// Number of targets.
    pub targets: usize,
    /// Functions that were left out: maps each reason to their names, or to their number.
    pub left_out: BTreeMap<String, String>,
    /// Files that do not compile.
    pub rejected: Vec<Rejected>,
}

/// A file that does not compile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejected {
    /// Its path.
    pub file: PathBuf,
    /// The compiler's messages.
    pub messages: String,
    /// The suite links this file with every target, so no target can be built.
    pub is_support: bool,
}

/// Generates a suite from a recipe, or from the result of a build: fetches the sources if they are missing, compiles
/// them, and selects functions from them.
///
/// # Errors
/// The recipe cannot be read or is contradictory, the sources cannot be fetched, none of them compiles, or they cannot
/// be linked.
pub fn generate(path: &Path) -> Result<Generated> {
    let Some(recipe) = bare::recipe(path, &[])? else {
        let text = foreign::read_text(path).context(|| format!("cannot read the recipe {}", path.display()))?;
        return generate_from(path, &text);
    };
    let made = generate_from(path, &recipe)?;
    let without: Vec<_> = made.rejected.iter().filter(|r| r.is_support).map(|r| r.file.clone()).collect();
    match bare::recipe(path, &without)? {
        Some(recipe) if !without.is_empty() => generate_from(path, &recipe),
        _ => Ok(made),
    }
}

fn generate_from(path: &Path, text: &str) -> Result<Generated> {
    let mut suite: Suite = toml::from_str(text).context(|| format!("{} is not a recipe", path.display()))?;
    let Some(rules) = suite.generate.take() else {
        bail!("{}: a recipe needs a [generate] table with `files`", path.display());
    };
    if !suite.targets.is_empty() {
        bail!("{}: a recipe must have no [[target]]; they are generated", path.display());
    }
    resolve_files(&mut suite, path)?;
    let mut files = find(&suite.sources, &rules.files, path, "files")?;
    let mut flags = Vec::new();
    if let Some(commands) = &rules.compile_commands {
        let compiled = commands::read(&path.parent().unwrap_or(Path::new("")).join(commands))?;
        flags = commands::flags(&compiled, &suite.with_sources(suite.build.flags.iter()));
        files.extend(compiled.into_iter().map(|c| PathBuf::from(c.source)));
    }
    if files.is_empty() {
        bail!("{}: [generate] needs `files` or `compile_commands`", path.display());
    }
    let (entries, rejected) = functions_of(&suite, &files, &flags)?;
    let chosen = choice::choose(&suite.sources, &rules, entries).context(|| path.display().to_string())?;
    let mut left_out = chosen.left_out();
    let names: Vec<_> = rejected.iter().map(|r| choice::relative(&suite.sources, &r.file)).collect();
    if !names.is_empty() {
        left_out.insert("in a file that does not compile".to_owned(), names.join(", "));
    }
    let flags = commands::with_sources_variable(&suite.sources, &flags);
    let text = text::written(text, path, &chosen.targets, &flags, &left_out);
    Ok(Generated { text, targets: chosen.targets.len(), left_out, rejected })
}

/// Functions of a target, and the files that do not compile.
type Functions = (Vec<Entry>, Vec<Rejected>);

/// Returns the function table of all files that compile, linked into one target.
fn functions_of(suite: &Suite, files: &[PathBuf], flags: &[String]) -> Result<Functions> {
    if let [library] = files
        && (is_archive(library) || classify(library)? == TargetKind::Linked)
    {
        return functions_of_library(suite, library);
    }
    let real = |f: &PathBuf| f.canonicalize().unwrap_or_else(|_| f.clone());
    let sources: BTreeSet<_> = files.iter().chain(&suite.support_files).map(real).collect();
    let mut recipe = Recipe {
        sources: sources.into_iter().collect(),
        flags: [suite.with_sources(suite.build.flags.iter()), flags.to_vec()].concat(),
        // Several programs of one project each define `main`.
        libs: [&["-Wl,-z,muldefs".to_owned()], &suite.build.libs[..]].concat(),
        ..Recipe::default()
    };
    let mut rejected = Vec::new();
    let mut all = loop {
        let error: Error = match build(&recipe) {
            Ok(linked) => match functions_in(&linked) {
                Ok(all) => break all,
                Err(error) => {
                    let rest = reject_fatal(&mut recipe, &suite.support_files, &mut rejected);
                    if rest == 0 {
                        return Err(error);
                    }
                    continue;
                }
            },
            Err(error) => error,
        };
        let Some(file) = build::rejected(&error).map(Path::to_path_buf) else { return Err(error) };
        recipe.sources.retain(|source| !is_same(source, &file));
        if recipe.sources.is_empty() {
            return Err(error);
        }
        let is_support = suite.support_files.iter().any(|support| is_same(support, &file));
        rejected.push(Rejected { file, messages: error.detail().unwrap_or_default().to_owned(), is_support });
    };
    let own: BTreeSet<_> = files.iter().filter_map(|f| f.canonicalize().ok()).collect();
    // Removes functions that headers of other libraries define.
    let root = suite.sources.canonicalize().unwrap_or_default();
    let is_below_root =
        |file: &str| Path::new(file).canonicalize().is_ok_and(|f| own.contains(&f) || f.starts_with(&root));
    all.retain(|e| Path::new(&e.source).canonicalize().is_ok_and(|f| own.contains(&f)) && is_below_root(&e.file));
    // Files that other sources include, for example as templates, are not sources on their own.
    let included: BTreeSet<_> = all.iter().filter_map(|e| Path::new(&e.file).canonicalize().ok()).collect();
    rejected.retain(|r| r.is_support || !included.contains(&r.file));
    // Keeps one entry of a static function in a file that several sources include. Of two definitions of one symbol,
    // keeps the one that is linked.
    let mut seen = BTreeSet::new();
    all.retain(|e| seen.insert((e.is_static.then(|| (e.file.clone(), e.line)), e.symbol.clone())));
    Ok((all, rejected))
}

/// Returns the function table of a linked target. Its constructors may end the process.
fn functions_in(linked: &Path) -> Result<Vec<Entry>> {
    let with_sources = || Ok(catalog(&Target::load(linked)?).into_iter().map(|e| (e.source.clone(), e)).collect());
    let all: Vec<(String, Entry)> = in_child(linked, with_sources)?;
    Ok(all.into_iter().map(|(source, entry)| Entry { source, ..entry }).collect())
}

/// Removes the sources that cannot be loaded alone, because their constructors end the process. Returns the number of
/// remaining sources if any was removed, otherwise 0.
fn reject_fatal(recipe: &mut Recipe, support: &[PathBuf], rejected: &mut Vec<Rejected>) -> usize {
    let before = recipe.sources.len();
    for source in recipe.sources.clone() {
        let alone = Recipe { sources: vec![source.clone()], ..recipe.clone() };
        let Ok(linked) = build(&alone) else { continue };
        if let Err(error) = functions_in(&linked) {
            let is_support = support.iter().any(|support| is_same(support, &source));
            recipe.sources.retain(|other| *other != source);
            rejected.push(Rejected { file: source, messages: error.to_string(), is_support });
        }
    }
    if recipe.sources.len() == before { 0 } else { recipe.sources.len() }
}

/// Returns the function table of a library or program that pen-cc has built. The library is the source file of each
/// function.
fn functions_of_library(suite: &Suite, library: &Path) -> Result<Functions> {
    let sources = vec![library.to_path_buf()];
    let linked = if is_archive(library) {
        build(&Recipe { sources, libs: suite.build.libs.clone(), ..Recipe::default() })?
    } else {
        library.to_path_buf()
    };
    let mut all = functions_in(&linked)?;
    for e in &mut all {
        e.source = library.to_string_lossy().into_owned();
    }
    Ok((all, Vec::new()))
}

fn is_same(a: &Path, b: &Path) -> bool {
    a == b || a.canonicalize().is_ok_and(|a| b.canonicalize().is_ok_and(|b| a == b))
}

#[cfg(test)]
#[path = "generate_tests.rs"]
mod tests;
