//! Output directories: one campaign at a time, nothing foreign touched, nothing old lost.

use std::{
    fs,
    path::{Path, PathBuf},
};

use penfuzz_engine::error::{Error, at, failed};

pub use super::{
    layout::{CAMPAIGN_MARKS, LOCK},
    lock::lock,
};

/// Refuses a directory that is not empty and has none of `marks`, the files by which our own directories are recognised:
/// the user has probably named the wrong one.
///
/// # Errors
/// When it is such a directory.
pub fn refuse_foreign(dir: &Path, marks: &[&str]) -> Result<(), Error> {
    let Ok(mut entries) = fs::read_dir(dir) else { return Ok(()) };
    if marks.iter().any(|name| dir.join(name).exists()) || entries.next().is_none() {
        return Ok(());
    }
    Err(at(dir, "holds files of something else; give a new or an empty directory as -o"))
}

/// Moves the directory of a campaign aside; returns its new name.
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

/// Gives a directory a name that is free; returns it.
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
