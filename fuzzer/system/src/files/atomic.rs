//! Writes files so that a reader finds the old or the new version, never half of one, whatever kills the process or the
//! machine.
//!
//! A file is written under a temporary name that no other process uses, flushed to the disk, renamed over the
//! old one, and the rename itself is flushed with its directory.

use std::{
    collections::BTreeSet,
    ffi::OsString,
    fs::{self, File, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

/// What the names of temporary files begin with; a file of this name that no process writes is left from a kill
/// and can be deleted.
pub const TEMPORARY_PREFIX: &str = ".penfuzz-tmp-";

static NEXT: AtomicU64 = AtomicU64::new(0);

/// Replaces the file at `path` by `bytes`, durably and at once.
///
/// # Errors
/// Those of the file system, with the path and what was tried. The old file is unharmed then.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let (temporary, file) = create_temporary(directory_of(path)).map_err(|e| explain(e, path))?;
    let done = fill_and_rename(file, &temporary, path, bytes);
    if done.is_err() {
        // Nothing more can be done about a temporary file that cannot be deleted.
        let _ = fs::remove_file(&temporary);
    }
    done.map_err(|e| explain(e, path))
}

/// Can a file be made beside `path`? Makes a temporary one there and deletes it.
///
/// # Errors
/// Those of the file system, without the path.
pub fn try_directory_of(path: &Path) -> io::Result<()> {
    let (temporary, _) = create_temporary(directory_of(path))?;
    fs::remove_file(temporary)
}

/// Replaces several files by new content, durably. All are written before the first is flushed, so a group costs little more
/// than one file.
///
/// # Errors
/// As for [`write`], for the first file that fails. Some of the files may be written then; to write them all once more does
/// no harm.
pub fn write_group(files: &[(PathBuf, &[u8])]) -> io::Result<()> {
    let mut temporaries = Vec::with_capacity(files.len());
    let done = fill_and_rename_group(files, &mut temporaries);
    if done.is_err() {
        for temporary in temporaries {
            // It is not there any more if it was renamed; else nothing more can be done about it.
            let _ = fs::remove_file(temporary);
        }
    }
    done
}

/// Replaces the file at `path` by `bytes` at once, but not durably: for files that are of no use after a crash of the machine.
///
/// # Errors
/// As for [`write`].
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let (temporary, mut file) = create_temporary(directory_of(path)).map_err(|e| explain(e, path))?;
    let done = file.write_all(bytes).and_then(|()| fs::rename(&temporary, path));
    if done.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    done.map_err(|e| explain(e, path))
}

fn fill_and_rename_group(files: &[(PathBuf, &[u8])], temporaries: &mut Vec<PathBuf>) -> io::Result<()> {
    let mut open = Vec::with_capacity(files.len());
    for (path, bytes) in files {
        let (temporary, mut file) = create_temporary(directory_of(path)).map_err(|e| explain(e, path))?;
        temporaries.push(temporary);
        file.write_all(bytes).map_err(|e| explain(e, path))?;
        open.push(file);
    }
    // Only when all are filled: the first flush then carries most of the work of the others.
    for (file, (path, _)) in open.into_iter().zip(files) {
        file.sync_all().map_err(|e| explain(e, path))?;
    }
    for (temporary, (path, _)) in temporaries.iter().zip(files) {
        fs::rename(temporary, path).map_err(|e| explain(e, path))?;
    }
    let directories: BTreeSet<&Path> = files.iter().map(|(path, _)| directory_of(path)).collect();
    directories.into_iter().try_for_each(|d| File::open(d).and_then(|f| f.sync_all()).map_err(|e| explain(e, d)))
}

fn fill_and_rename(mut file: File, temporary: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    file.write_all(bytes)?;
    file.sync_all()?;
    drop(file);
    fs::rename(temporary, path)?;
    File::open(directory_of(path))?.sync_all()
}

/// The process number makes names unique on one machine, `create_new` everywhere else. It makes a new file or fails (`O_EXCL`), so a
/// symbolic link of a name that can be guessed is not followed.
fn create_temporary(directory: &Path) -> io::Result<(PathBuf, File)> {
    loop {
        let mut name = OsString::from(TEMPORARY_PREFIX);
        name.push(format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)));
        let path = directory.join(name);
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(file) => return Ok((path, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
}

fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// A file that cannot be written, with the error of the file system as source.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {}: {source}", path.display())]
struct Unwritten {
    path: PathBuf,
    source: io::Error,
}

/// The error with the file that cannot be written.
#[must_use]
pub fn explain(source: io::Error, path: &Path) -> io::Error {
    io::Error::new(source.kind(), Unwritten { path: path.to_path_buf(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaces_a_file_and_leaves_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        write(&path, b"old").unwrap();
        write(&path, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "no temporary file may be left");
    }

    #[test]
    fn a_group_is_written_as_a_whole_or_leaves_no_temporary_file() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("taken")).unwrap();
        let at = |name: &str| dir.path().join(name);
        write_group(&[(at("a"), b"1".as_slice()), (at("b"), b"2")]).unwrap();
        assert_eq!((fs::read(at("a")).unwrap(), fs::read(at("b")).unwrap()), (b"1".to_vec(), b"2".to_vec()));
        let error = write_group(&[(at("taken"), b"3".as_slice()), (at("b"), b"4")]).unwrap_err().to_string();
        assert!(error.contains("taken"), "{error}");
        assert_eq!(fs::read(at("b")).unwrap(), b"2", "not renamed after the failure");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 3, "no temporary file may be left");
    }

    #[test]
    fn an_error_names_the_file_and_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("taken");
        fs::create_dir(&path).unwrap();
        let error = write(&path, b"x").unwrap_err().to_string();
        assert!(error.contains("taken"), "{error}");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "no temporary file may be left");
    }

    #[test]
    fn many_threads_may_write_the_same_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..5).for_each(|_| write(&path, &[7; 1000]).unwrap()));
            }
        });
        assert_eq!(fs::read(&path).unwrap(), [7; 1000]);
    }
}
