//! `penfuzz generate RECIPE.toml`: a suite whose targets are the functions that pen-cc finds, not a list by hand.
//!
//! A recipe is a suite without targets. Its `[generate]` table selects the functions that become targets:
//!
//! ```toml
//! [generate]
//! files = ["src/math/*.c", "!src/math/test_*.c"] # whose functions; relative to the sources; ! takes files out again
//! functions = ["gsl_sf_*"]                       # of these names [default: all]
//! min_branches = 2                               # and with so many branches at least [default: 2]
//!
//! [[generate.without]]
//! function = "*_array"                           # but not of these names
//! reason = "writes an array"
//! ```
//! Static functions, and those with a parameter that cannot be generated, never become targets. All files are compiled
//! and linked into one target file, whose function table is read. The suite is the recipe's own text without these
//! tables, then one target per function, then what was left out and why.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
    path::{Path, PathBuf},
};

use penfuzz_engine::program::{
    Target,
    build::Recipe,
    catalog::{Entry, catalog},
};

use super::{
    config::{Suite, is_directory_name, provide},
    files::find,
    recipe::Generate,
};
use crate::{
    context::{Context, Result, bail},
    files::foreign,
    process::build::build,
};

/// The result of a recipe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Generated {
    /// The suite file.
    pub text: String,
    /// Number of targets.
    pub targets: usize,
    /// Why functions were left out, and which (or how many), by reason.
    pub left_out: BTreeMap<String, String>,
}

/// Follows a recipe: fetches the sources if they are missing, compiles them, and selects from the functions in them.
///
/// # Errors
/// The recipe cannot be read or is contradictory, or the sources cannot be fetched, compiled or linked.
pub fn generate(path: &Path) -> Result<Generated> {
    let text = foreign::read_text(path).context(|| format!("cannot read the recipe {}", path.display()))?;
    let mut suite: Suite = toml::from_str(&text).context(|| format!("{} is not a recipe", path.display()))?;
    let Some(rules) = suite.generate.take() else {
        bail!("{}: a recipe needs a [generate] table with `files`", path.display());
    };
    if !suite.targets.is_empty() {
        bail!("{}: a recipe must have no [[target]]; they are generated", path.display());
    }
    provide(&mut suite, path)?;
    let files = find(&suite.sources, &rules.files, path, "files")?;
    let entries = functions_of(&suite, &files)?;
    let chosen = choose(&suite.sources, &rules, entries).context(|| path.display().to_string())?;
    Ok(Generated { text: written(&text, path, &chosen), targets: chosen.targets.len(), left_out: chosen.left_out() })
}

/// The function table of all the files in one.
fn functions_of(suite: &Suite, files: &[PathBuf]) -> Result<Vec<Entry>> {
    let sources: BTreeSet<_> = files.iter().chain(&suite.support_files).cloned().collect();
    let flags = suite.with_sources(suite.build.flags.iter());
    let linked = build(&Recipe {
        sources: sources.into_iter().collect(),
        flags,
        libs: suite.build.libs.clone(),
        san_cov: false,
        exceptions: false,
    })?;
    let own: BTreeSet<_> = files.iter().filter_map(|f| f.canonicalize().ok()).collect();
    let all = catalog(&Target::load(&linked)?);
    Ok(all.into_iter().filter(|e| Path::new(&e.file).canonicalize().is_ok_and(|f| own.contains(&f))).collect())
}

/// One function that became a target.
#[derive(Debug)]
struct Chosen {
    name: String,
    file: String,
    function: String,
}

/// The functions that became targets, and those that did not by reason.
#[derive(Debug, Default)]
struct Choice {
    targets: Vec<Chosen>,
    few_branches: usize,
    is_static: usize,
    other_names: usize,
    by_reason: BTreeMap<String, BTreeSet<String>>,
}

impl Choice {
    fn left_out(&self) -> BTreeMap<String, String> {
        let names = |all: &BTreeSet<String>| all.iter().cloned().collect::<Vec<_>>().join(", ");
        let mut out: BTreeMap<_, _> = self.by_reason.iter().map(|(why, all)| (why.clone(), names(all))).collect();
        for (why, n) in [
            ("static", self.is_static),
            ("too few branches", self.few_branches),
            ("of another name than `functions`", self.other_names),
        ] {
            if n > 0 {
                out.insert(why.to_owned(), n.to_string());
            }
        }
        out
    }
}

fn patterns<'a>(texts: impl Iterator<Item = &'a String>) -> Result<Vec<glob::Pattern>> {
    texts.map(|t| glob::Pattern::new(t).context(|| format!("pattern {t:?} is malformed"))).collect()
}

fn choose(sources: &Path, rules: &Generate, entries: Vec<Entry>) -> Result<Choice> {
    let wanted = patterns(rules.functions.iter())?;
    let unwanted = patterns(rules.without.iter().map(|w| &w.function))?;
    let mut used = vec![false; unwanted.len()];
    let mut choice = Choice::default();
    for e in entries.into_iter().filter(|e| e.name != "main") {
        let by_hand = unwanted.iter().position(|p| p.matches(&e.name));
        if e.is_static {
            choice.is_static += 1;
        } else if !wanted.is_empty() && !wanted.iter().any(|p| p.matches(&e.name)) {
            choice.other_names += 1;
        } else if e.branches < rules.min_branches {
            choice.few_branches += 1;
        } else if let Some(i) = by_hand {
            used[i] = true;
            choice.by_reason.entry(rules.without[i].reason.clone()).or_default().insert(e.name);
        } else if let Some(why) = e.obstacle {
            choice.by_reason.entry(why).or_default().insert(e.name);
        } else {
            choice.targets.push(target(sources, e));
        }
    }
    if let Some(i) = used.iter().position(|u| !u) {
        let pattern = &rules.without[i].function;
        bail!("`without` {pattern:?} leaves out no function that would be a target; correct or delete it");
    }
    by_symbol_where_needed(&mut choice.targets);
    if choice.targets.is_empty() {
        bail!("no function becomes a target; `penfuzz functions FILE` lists those of a file");
    }
    Ok(choice)
}

fn target(sources: &Path, e: Entry) -> Chosen {
    let (file, root) = (PathBuf::from(&e.file), sources.canonicalize().unwrap_or_else(|_| sources.to_path_buf()));
    let file = file.canonicalize().unwrap_or(file);
    let file = file.strip_prefix(&root).unwrap_or(&file).to_string_lossy().into_owned();
    // C++ overloads share their name, and the characters of a template's name cannot name a directory.
    Chosen { name: if is_directory_name(&e.name) { e.name } else { e.symbol.clone() }, file, function: e.symbol }
}

/// Targets have the name in the source, unless two functions share it: these have their linker names.
fn by_symbol_where_needed(targets: &mut [Chosen]) {
    let mut count: BTreeMap<String, usize> = BTreeMap::new();
    for t in targets.iter() {
        *count.entry(t.name.clone()).or_default() += 1;
    }
    for t in targets {
        if count[&t.name] > 1 {
            t.name.clone_from(&t.function);
        }
    }
}

fn written(recipe: &str, path: &Path, choice: &Choice) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let mut out = format!("# Generated by `penfuzz generate {name}`. Change the recipe, not this file.\n\n");
    out.push_str(without_rules(recipe).trim_end());
    out.push('\n');
    for t in &choice.targets {
        let [name, file, function] = [&t.name, &t.file, &t.function].map(|text| toml::Value::from(text.as_str()));
        let _ = write!(out, "\n[[target]]\nname = {name}\nfile = {file}\nfunction = {function}\n");
    }
    out.push_str("\n# Left out:\n");
    for (why, functions) in choice.left_out() {
        let _ = writeln!(out, "# - {why}: {functions}");
    }
    out
}

/// The text of the recipe without its `generate` tables. Comments stay with the lines that follow them.
fn without_rules(recipe: &str) -> String {
    let (mut out, mut pending) = (String::new(), String::new());
    let mut inside = false;
    for line in recipe.lines() {
        if line.trim().is_empty() || line.trim_start().starts_with('#') {
            // It stays if the next line does.
            pending.push_str(line);
            pending.push('\n');
            continue;
        }
        let header = line.trim_start_matches('[');
        if header.len() < line.len() {
            let table = header.split([']', '.']).next().unwrap_or_default();
            inside = table.trim() == "generate";
        }
        if !inside {
            out.push_str(&pending);
            out.push_str(line);
            out.push('\n');
        }
        pending.clear();
    }
    out
}

#[cfg(test)]
#[path = "generate_tests.rs"]
mod tests;
