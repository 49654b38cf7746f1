//! Writes files so that a reader finds the complete old or new version, whatever kills the process or the machine.
//!
//! A file is written under a temporary name that no other process uses, flushed to disk, and renamed over the old one.
//! The rename is flushed with its directory.

use std::{
    collections::BTreeSet,
    ffi::OsString,
    fs::{self, File, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

/// The prefix of the names of temporary files. If the process that wrote such a file no longer lives, the file can be
/// deleted.
pub const TEMPORARY_PREFIX: &str = ".penfuzz-tmp-";

static NEXT: AtomicU64 = AtomicU64::new(0);

/// Replaces the file at `path` by `bytes`, atomically and durably.
///
/// # Errors
/// File system errors, with the path and the attempted operation. The old file is then unchanged.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let (temporary, file) = create_temporary(directory_of(path)).map_err(|e| explain(e, path))?;
    let done = fill_and_rename(file, &temporary, path, bytes);
    if done.is_err() {
        // If the temporary file cannot be deleted, nothing more can be done.
        let _ = fs::remove_file(&temporary);
    }
    done.map_err(|e| explain(e, path))
}

/// Checks that a file can be created in the directory of `path`, by creating and deleting a temporary one.
///
/// # Errors
/// File system errors, without the path.
pub fn try_directory_of(path: &Path) -> io::Result<()> {
    let (temporary, _) = create_temporary(directory_of(path))?;
    fs::remove_file(temporary)
}

/// Replaces several files by new content, durably. All files are written before the first is flushed, so a group costs
/// little more than one file.
///
/// # Errors
/// As for [`write`], for the first file that fails. Some of the files may be written then; it is safe to write all of
/// them again.
pub fn write_group(files: &[(PathBuf, &[u8])]) -> io::Result<()> {
    let mut temporaries = Vec::with_capacity(files.len());
    let done = fill_and_rename_group(files, &mut temporaries);
    if done.is_err() {
        for temporary in temporaries {
            // The file no longer exists if it was renamed; otherwise nothing more can be done.
            let _ = fs::remove_file(temporary);
        }
    }
    done
}

/// Replaces the file at `path` by `bytes` atomically, but not durably: for files that are of no use after a crash of
/// the machine.
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
    // Flushed only when all files are filled: the first flush then does most of the work for the others.
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

/// Creates a temporary file. The process ID makes its name unique on one machine, and `create_new` makes it unique
/// across machines. `create_new` creates a file or fails (`O_EXCL`), so a symbolic link with a predictable name is not
/// followed.
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

/// The error of a file that cannot be written, with the file system error as source.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {}: {source}", path.display())]
struct Unwritten {
    path: PathBuf,
    source: io::Error,
}

/// Adds the path of the file that cannot be written to the error.
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
