//! Makes the recipe for a build, from its `compile_commands.json` or from a library or program that pen-cc has linked.
//! Every suitable function becomes a target.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use penfuzz_error::context::Result;
use penfuzz_target::program::kind::{TargetKind, is_archive};
use penfuzz_testgen::defines_main;

use super::commands;

/// Returns the text of the recipe; `None` when the file is a recipe itself. The targets are not linked with the files
/// `without`.
///
/// # Errors
/// Those of [`commands::read`].
pub(super) fn recipe(path: &Path, without: &[PathBuf]) -> Result<Option<String>> {
    if path.extension().is_some_and(|e| e == "json") {
        return of_commands(path, without).map(Some);
    }
    let is_built = penfuzz_target::program::kind::classify(path).is_ok_and(|kind| kind == TargetKind::Linked);
    Ok((is_built || is_archive(path)).then(|| of_built(path)))
}

fn of_built(path: &Path) -> String {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let directory = path.parent().unwrap_or(Path::new("/"));
    let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let files = glob::Pattern::escape(&file);
    format!(
        "name = {}\nsources = {}\n\n[generate]\nfiles = {}\nstatic = true\n",
        value(&name),
        value(&directory.to_string_lossy()),
        toml::Value::from(vec![files])
    )
}

fn of_commands(path: &Path, without: &[PathBuf]) -> Result<String> {
    let files: Vec<PathBuf> = commands::read(path)?.into_iter().map(|c| PathBuf::from(c.source)).collect();
    let root = common_directory(&files);
    let name = root.file_name().unwrap_or_default().to_string_lossy().into_owned();
    // Each program of the project defines `main`, but a target can have only one.
    let support: BTreeSet<String> = files
        .iter()
        .filter(|f| f.exists() && !defines_main(f) && !without.contains(f))
        .filter_map(|f| Some(glob::Pattern::escape(&f.strip_prefix(&root).ok()?.to_string_lossy())))
        .collect();
    let commands = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(format!(
        "name = {}\nsources = {}\n\n[build]\nsupport = {}\n\n[generate]\ncompile_commands = {}\n",
        value(&name),
        value(&root.to_string_lossy()),
        toml::Value::from(support.into_iter().collect::<Vec<_>>()),
        value(&commands)
    ))
}

fn value(text: &str) -> toml::Value {
    toml::Value::from(text)
}

fn common_directory(files: &[PathBuf]) -> PathBuf {
    let mut directories = files.iter().filter_map(|f| f.parent());
    let Some(first) = directories.next() else { return PathBuf::from("/") };
    let common =
        |a: PathBuf, b: &Path| a.components().zip(b.components()).take_while(|(x, y)| x == y).map(|(x, _)| x).collect();
    directories.fold(first.to_path_buf(), common)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sources_lie_below_their_common_directory() {
        let files = ["/a/b/x.c", "/a/b/c/y.c", "/a/b/d/z.c"].map(PathBuf::from);
        assert_eq!(common_directory(&files), Path::new("/a/b"));
    }
}
