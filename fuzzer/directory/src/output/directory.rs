//! Recognises and prepares output directories: one campaign at a time, no foreign file touched, no old file lost.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use penfuzz_error::{Error, at, failed};
use penfuzz_system::files::{atomic::TEMPORARY_PREFIX, foreign, lock};

use super::{
    layout::{ASIDE, DIRECTORIES, FILES, TESTS},
    manifest, state,
};

pub use penfuzz_system::files::lock::{LOCK, lock};

/// Refuses a directory that is not empty and does not hold a campaign: the user has probably named the wrong one, and a
/// campaign would overwrite files of the same names. A campaign is recognised by the content of its files, not by their
/// names: a project directory may have its own `queue/` and `report.html`. A directory is accepted in these cases:
///
/// 1. `campaign.json` or `state.json` is one of ours.
/// 2. A campaign was killed before it had written one, or both are damaged: all entries have names of our files, and
///    the lock file names processes.
/// 3. All entries have names of our files, and there are only empty directories, lock files and temporary files.
/// 4. As 3, and instances of AFL++ have directories there: those that exchange inputs share a directory.
///
/// # Errors
/// When the directory is refused, or cannot be listed.
pub fn refuse_without_campaign(dir: &Path) -> Result<(), Error> {
    let names = names(dir)?;
    if names.is_empty() || manifest::read(dir).is_ok() || state::peek_state(dir).is_some() {
        return Ok(());
    }
    let names: Vec<_> = names.into_iter().filter(|name| !is_instance_of_afl(dir, name)).collect();
    let is_begun = names.iter().all(|name| is_of_a_campaign(name))
        && (lock::names_owners(dir) || names.iter().all(|name| is_startup_remnant(dir, name)));
    if is_begun { Ok(()) } else { Err(foreign(dir)) }
}

/// Refuses a directory that is not empty and has none of `marks`, the files by which our other directories are
/// recognised: JSON with a `schema`. A lock file is a mark only if nothing else exists but empty directories and
/// temporary files.
///
/// # Errors
/// When the directory is refused, or cannot be listed.
pub fn refuse_foreign(dir: &Path, marks: &[&str]) -> Result<(), Error> {
    let names = names(dir)?;
    let is_mark = |mark: &&str| match *mark {
        LOCK => names.iter().any(|name| name == LOCK) && names.iter().all(|name| is_startup_remnant(dir, name)),
        file => has_schema(&dir.join(file)),
    };
    if names.is_empty() || marks.iter().any(is_mark) { Ok(()) } else { Err(foreign(dir)) }
}

fn foreign(dir: &Path) -> Error {
    at(dir, "contains files that penfuzz did not write; give a new or an empty directory as -o")
}

/// The names in a directory; empty if there is no directory of this name.
fn names(dir: &Path) -> Result<Vec<String>, Error> {
    match foreign::names(dir) {
        Ok(names) => Ok(names.into_iter().map(|name| name.to_string_lossy().into_owned()).collect()),
        // If something else has this name, creating the directory fails later.
        Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(Vec::new()),
        Err(e) => Err(failed(dir, "cannot be used as output directory", e)),
    }
}

/// Whether a campaign could have created a file or directory of this name.
fn is_of_a_campaign(name: &str) -> bool {
    let is_client = || name.strip_prefix('c').is_some_and(|n| n.parse::<u32>().is_ok());
    FILES.contains(&name)
        || DIRECTORIES.contains(&name)
        || [TESTS, ASIDE].contains(&name)
        || name.starts_with(TEMPORARY_PREFIX)
        || is_client()
}

/// Whether the entry is the directory of an instance of AFL++. Nothing of it has a name of ours.
fn is_instance_of_afl(dir: &Path, name: &str) -> bool {
    let path = dir.join(name);
    let has = |name| path.join(name).is_file();
    !is_of_a_campaign(name) && path.join("queue").is_dir() && (has("fuzzer_setup") || has("fuzzer_stats"))
}

/// Whether the entry is a lock file, a temporary file, an empty file of a campaign, or an empty directory: the remains
/// of a process that was killed at its start.
fn is_startup_remnant(dir: &Path, name: &str) -> bool {
    let path = dir.join(name);
    let Ok(about) = fs::symlink_metadata(&path) else { return true };
    if about.is_dir() {
        return fs::read_dir(&path).is_ok_and(|mut entries| entries.next().is_none());
    }
    let is_empty = about.len() == 0 && is_of_a_campaign(name);
    about.is_file() && (name == LOCK || name.starts_with(TEMPORARY_PREFIX) || is_empty)
}

/// Whether the file is JSON of ours. All our files are objects with a `schema`.
fn has_schema(path: &Path) -> bool {
    let bytes = foreign::read_own(path, foreign::LONGEST_TEXT);
    bytes.is_ok_and(|bytes| {
        serde_json::from_slice::<serde_json::Map<String, serde_json::Value>>(&bytes)
            .is_ok_and(|file| file.get("schema").is_some_and(serde_json::Value::is_u64))
    })
}

/// Moves the directory of a campaign aside. Returns its new name, or `None` if it does not exist.
///
/// # Errors
/// When it is in use or cannot be renamed.
pub fn set_aside(dir: &Path, owner: u32) -> Result<Option<PathBuf>, Error> {
    if !dir.exists() {
        return Ok(None);
    }
    drop(lock(dir, owner)?);
    rename_aside(dir).map(Some)
}

/// Renames a directory to a free name, and returns that name.
///
/// # Errors
/// When it cannot be renamed.
pub fn rename_aside(dir: &Path) -> Result<PathBuf, Error> {
    let name = dir.file_name().map_or_else(|| "out".into(), |n| n.to_string_lossy().into_owned());
    let other = (1..u32::MAX)
        .map(|i| dir.with_file_name(format!("{name}.old{i}")))
        .find(|p| !p.exists())
        .unwrap_or_else(|| dir.with_file_name(format!("{name}.old")));
    fs::rename(dir, &other).map_err(|e| failed(dir, "cannot be moved aside", e))?;
    Ok(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A directory with these files; names that end with a slash are directories.
    fn with(files: &[(&str, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            if name.ends_with('/') {
                fs::create_dir_all(path).unwrap();
            } else {
                fs::write(path, text).unwrap();
            }
        }
        dir
    }

    fn old(name: &str) -> String {
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/old-campaign").join(name))
            .unwrap()
    }

    const SIGNED: &str = "1 2\nmachine pid:[3]\n";

    #[test]
    fn a_campaign_is_recognised_by_what_is_in_its_files() {
        let (manifest, state) = (old("campaign.json"), old("state.json"));
        for files in [
            &[][..],
            &[("campaign.json", &manifest[..]), ("notes.txt", "mine")],
            &[("state.json", &state), ("queue/id:000000", "x"), ("campaign.json", "xxx")],
            // A process was killed at the start, of this version or an earlier one.
            &[(".lock", "")],
            &[(".lock", ""), (".penfuzz-tmp-1-2", "half"), ("queue/", ""), ("pending/", "")],
            // The manifest was damaged before the first state was written.
            &[(".lock", SIGNED), ("campaign.json", "xxx"), ("queue/id:000000", "x"), ("c0/queue/", "")],
        ] {
            refuse_without_campaign(with(files).path()).unwrap_or_else(|e| panic!("{files:?}: {e}"));
        }
        refuse_without_campaign(Path::new("/nonexistent/out")).unwrap();
    }

    #[test]
    fn names_alone_make_no_campaign() {
        for files in [
            &[("queue/queue.c", "int x;")][..],
            &[("queue/", ""), ("main.c", "int x;")],
            &[("tests/test_f.c", "int x;"), ("report.html", "mine"), (".lock", "")],
            &[("campaign.json", "{\"schema\": 1}")],
            &[(".lock", SIGNED), ("experiment.json", "{\"schema\": 1}")],
            &[("state.json", "{}"), ("queue/", "")],
        ] {
            let error = refuse_without_campaign(with(files).path()).expect_err(&format!("{files:?}")).to_string();
            assert!(error.contains("contains files that penfuzz did not write"), "{error}");
        }
    }

    #[test]
    fn other_directories_have_a_schema() {
        let marks = ["suite.json", LOCK];
        for files in [&[("suite.json", "{\"schema\": 1}"), ("a/", "")][..], &[(".lock", SIGNED), ("running/", "")], &[]]
        {
            refuse_foreign(with(files).path(), &marks).unwrap_or_else(|e| panic!("{files:?}: {e}"));
        }
        for files in [&[("suite.json", "[1]")][..], &[(".lock", SIGNED), ("report.html", "mine")], &[("a/", "")]] {
            assert!(refuse_foreign(with(files).path(), &marks).is_err(), "{files:?}");
        }
    }
}
