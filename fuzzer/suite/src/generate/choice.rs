//! Selects the functions of a library that become targets of its suite.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use penfuzz_target::program::catalog::Entry;

use crate::{config::is_directory_name, recipe::Generate};
use penfuzz_error::{
    bail,
    context::{Context, Result},
};

/// A function that becomes a target.
#[derive(Debug)]
pub(super) struct SelectedFunction {
    pub(super) name: String,
    pub(super) file: String,
    pub(super) function: String,
    pub(super) is_static: bool,
}

/// The functions that become targets, and counts and names of the others, by reason.
#[derive(Debug, Default)]
pub(super) struct Selection {
    pub(super) targets: Vec<SelectedFunction>,
    few_branches: usize,
    is_static: usize,
    other_names: usize,
    by_reason: BTreeMap<String, BTreeSet<String>>,
}

impl Selection {
    /// Maps each reason for leaving functions out to their names or their number.
    pub(super) fn left_out(&self) -> BTreeMap<String, String> {
        let names = |all: &BTreeSet<String>| all.iter().cloned().collect::<Vec<_>>().join(", ");
        let mut out: BTreeMap<_, _> = self.by_reason.iter().map(|(why, all)| (why.clone(), names(all))).collect();
        for (why, n) in [
            ("static", self.is_static),
            ("too few branches", self.few_branches),
            ("name does not match `functions`", self.other_names),
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

/// Selects functions by the rules of the recipe.
pub(super) fn choose(sources: &Path, rules: &Generate, entries: Vec<Entry>) -> Result<Selection> {
    let wanted = patterns(rules.functions.iter())?;
    let unwanted = patterns(rules.without.iter().map(|w| &w.function))?;
    let mut used = vec![false; unwanted.len()];
    let mut choice = Selection::default();
    for e in entries.into_iter().filter(|e| e.name != "main") {
        let by_hand = unwanted.iter().position(|p| matches(p, &e.name));
        if e.is_static && !rules.with_static {
            choice.is_static += 1;
        } else if !wanted.is_empty() && !wanted.iter().any(|p| matches(p, &e.name)) {
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
    // Each source that includes a header has its own copy of a static function there.
    let mut known = BTreeSet::new();
    choice.targets.retain(|t| known.insert((t.file.clone(), t.function.clone())));
    make_names_unique(&mut choice.targets);
    if choice.targets.is_empty() {
        bail!("no function becomes a target; `penfuzz functions FILE` lists those of a file");
    }
    Ok(choice)
}

/// Returns whether the pattern matches the name with or without its scopes.
fn matches(pattern: &glob::Pattern, name: &str) -> bool {
    pattern.matches(name) || name.rsplit_once("::").is_some_and(|(_, last)| pattern.matches(last))
}

/// The path of a file as written in the suite: relative to the sources if the file is below them.
pub(super) fn relative(sources: &Path, file: &Path) -> String {
    let root = sources.canonicalize().unwrap_or_else(|_| sources.to_path_buf());
    let file = file.canonicalize().unwrap_or_else(|_| file.to_path_buf());
    file.strip_prefix(&root).unwrap_or(&file).to_string_lossy().into_owned()
}

fn target(sources: &Path, e: Entry) -> SelectedFunction {
    let file = relative(sources, Path::new(&e.source));
    // C++ overloads share their name, and the name of a template instance has characters that a directory name cannot
    // have.
    let name = e.name.replace("::", ".");
    let name = if is_directory_name(&name) { name } else { e.symbol.clone() };
    // Several files may define a static function of this name.
    let function = if e.is_static {
        let own = Path::new(&e.file).file_name().unwrap_or_default().to_string_lossy();
        format!("{own}:{}", e.symbol)
    } else {
        e.symbol
    };
    SelectedFunction { name, file, function, is_static: e.is_static }
}

/// Resolves equal target names. A target has the name of its function in the source. If two functions share it, their
/// targets get the linker names, with the file of the definition if they are static; if these are equal too, the path
/// of the source is prepended.
fn make_names_unique(targets: &mut [SelectedFunction]) {
    rename_duplicates(targets, |t| t.function.replace(':', "-"));
    rename_duplicates(targets, |t| format!("{}-{}", t.file, t.function).replace(['/', ':'], "-"));
}

/// Gives each target whose name is not unique the name that `name` returns.
fn rename_duplicates(targets: &mut [SelectedFunction], name: impl Fn(&SelectedFunction) -> String) {
    let mut count: BTreeMap<String, usize> = BTreeMap::new();
    for t in targets.iter() {
        *count.entry(t.name.clone()).or_default() += 1;
    }
    for t in targets {
        if count[&t.name] > 1 {
            t.name = name(t);
        }
    }
}
