//! Output directories: one campaign at a time, nothing foreign touched, nothing old lost.

use std::{
    fs::{self, File},
    io::Write,
    path::{Path, PathBuf},
};

use crate::{
    error::{Error, at},
    target::kind::plain,
};

/// The lock file of a campaign.
pub const LOCK: &str = ".lock";

fn io(path: &Path, what: &str, e: &std::io::Error) -> Error {
    at(path, format!("{what}: {}", plain(e)))
}

/// Locks a directory for one campaign, that of process `owner`.
///
/// # Errors
/// When it cannot be created or another campaign runs in it.
pub fn lock(dir: &Path, owner: u32) -> Result<File, Error> {
    fs::create_dir_all(dir).map_err(|e| io(dir, "cannot be created as output directory", &e))?;
    let path = dir.join(LOCK);
    let mut file = File::options()
        .create(true)
        .truncate(false)
        .read(true)
        .write(true)
        .open(&path)
        .map_err(|e| io(dir, "cannot be written as output directory", &e))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(fs::TryLockError::WouldBlock) => {
            let other = fs::read_to_string(&path).unwrap_or_default();
            return Err(at(
                dir,
                format!("is in use by another campaign (process {}); wait for it or give another -o", other.trim()),
            ));
        }
        Err(fs::TryLockError::Error(e)) => return Err(io(dir, "cannot be locked", &e)),
    }
    let _ = file.set_len(0);
    let _ = writeln!(file, "{owner}");
    Ok(file)
}

/// Refuses a directory that holds something, but none of `marks`, the files by which we know our own: it was hardly meant.
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

/// The files by which the directory of a campaign is known.
pub const CAMPAIGN_MARKS: [&str; 3] = [LOCK, super::store::STATE, "queue"];

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
    fs::rename(dir, &other).map_err(|e| io(dir, "cannot be moved aside", &e))?;
    Ok(other)
}
