//! Reads files of unknown type safely: regular files only, never longer than a limit, and without blocking.
//!
//! The type is checked before a file is opened, because opening has side effects on some devices and wakes the writer
//! of a pipe. It is checked again on the open file, because the file may have been replaced in between. Files are
//! opened without blocking (`O_NONBLOCK`): for a pipe without a writer, or a file below `/proc` that has nothing to
//! read, the call returns.

use std::{
    ffi::OsString,
    fs::{self, File, Metadata},
    io::{self, Read},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use super::unfit::Unfit;

/// Maximum length of an input in bytes, found by penfuzz or by another program. AFL++ has the same limit (`MAX_FILE`).
/// The arguments of a function have at most 4 KiB.
pub const LONGEST_INPUT: u64 = 1 << 20;

/// Maximum length of any other file in bytes: reports, states, suites, sources, paths of branches.
pub const LONGEST_TEXT: u64 = 256 << 20;

/// Maximum number of entries in one directory.
pub const MOST_FILES: usize = 1_000_000;

/// Opens a regular file, or the target of a symbolic link, for reading.
///
/// # Errors
/// File system errors; [`Unfit::Irregular`].
pub fn open(path: &Path) -> io::Result<File> {
    check(&fs::metadata(path)?)?;
    let file = File::options().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path)?;
    check(&file.metadata()?)?;
    Ok(file)
}

/// Opens a file that only penfuzz should have created for reading. A symbolic link is not followed.
///
/// # Errors
/// Those of [`open`]; [`Unfit::Link`].
pub fn open_own(path: &Path) -> io::Result<File> {
    check(&fs::symlink_metadata(path)?)?;
    let flags = libc::O_NONBLOCK | libc::O_NOCTTY | libc::O_NOFOLLOW;
    let file = File::options().read(true).custom_flags(flags).open(path).map_err(explain_link)?;
    check(&file.metadata()?)?;
    Ok(file)
}

/// Reads a file opened by [`open`], at most `longest` bytes.
///
/// # Errors
/// Those of [`open`]; [`Unfit::TooLong`].
pub fn read(path: &Path, longest: u64) -> io::Result<Vec<u8>> {
    read_all(&open(path)?, longest)
}

/// Reads a file opened by [`open_own`], at most `longest` bytes.
///
/// # Errors
/// Those of [`open_own`]; [`Unfit::TooLong`].
pub fn read_own(path: &Path, longest: u64) -> io::Result<Vec<u8>> {
    read_all(&open_own(path)?, longest)
}

/// Reads the text of a file opened by [`open`], at most [`LONGEST_TEXT`] bytes.
///
/// # Errors
/// Those of [`read`]; [`Unfit::NoText`].
pub fn read_text(path: &Path) -> io::Result<String> {
    String::from_utf8(read(path, LONGEST_TEXT)?).map_err(|_| Unfit::NoText.into())
}

/// Reads the content of an open file, at most `longest` bytes.
///
/// # Errors
/// File system errors; [`Unfit::TooLong`].
pub fn read_all(file: &File, longest: u64) -> io::Result<Vec<u8>> {
    let size = file.metadata()?.len();
    if size > longest {
        return Err(Unfit::TooLong(longest).into());
    }
    let mut bytes = Vec::with_capacity(size as usize + 1);
    // Files below /proc have size 0, and other files may grow.
    file.take(longest + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > longest { Err(Unfit::TooLong(longest).into()) } else { Ok(bytes) }
}

/// The sorted names in a directory, at most [`MOST_FILES`].
///
/// # Errors
/// File system errors; [`Unfit::TooMany`].
pub fn names(dir: &Path) -> io::Result<Vec<OsString>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(dir)? {
        if names.len() == MOST_FILES {
            return Err(Unfit::TooMany(MOST_FILES).into());
        }
        names.push(entry?.file_name());
    }
    names.sort_unstable();
    Ok(names)
}

pub(crate) fn check(about: &Metadata) -> io::Result<()> {
    let found = about.file_type();
    match () {
        () if found.is_file() => Ok(()),
        () if found.is_symlink() => Err(Unfit::Link.into()),
        () => Err(Unfit::of(found).into()),
    }
}

/// Converts the system's error for opening a link with `O_NOFOLLOW`.
pub(super) fn explain_link(e: io::Error) -> io::Error {
    if e.raw_os_error() == Some(libc::ELOOP) { Unfit::Link.into() } else { e }
}

#[cfg(test)]
mod tests {
    use std::{os::unix::fs::symlink, process::Command};

    use super::{super::unfit, *};

    fn dir() -> tempfile::TempDir {
        tempfile::tempdir().unwrap()
    }

    fn why(e: &io::Error) -> Unfit {
        unfit(e).unwrap_or_else(|| panic!("{e}"))
    }

    #[test]
    fn a_pipe_is_not_waited_for() {
        let dir = dir();
        let path = dir.path().join("pipe");
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        for e in [read(&path, 10).unwrap_err(), read_own(&path, 10).unwrap_err()] {
            assert_eq!(why(&e), Unfit::Irregular("a pipe"));
        }
    }

    #[test]
    fn a_device_and_a_directory_are_no_files() {
        assert_eq!(why(&read(Path::new("/dev/zero"), 10).unwrap_err()), Unfit::Irregular("a device"));
        assert_eq!(why(&read(Path::new("/"), 10).unwrap_err()), Unfit::Directory);
    }

    #[test]
    fn the_limit_is_the_last_length_that_is_read() {
        let dir = dir();
        let path = dir.path().join("x");
        fs::write(&path, [1; 10]).unwrap();
        assert_eq!(read(&path, 10).unwrap(), [1; 10]);
        assert_eq!(why(&read(&path, 9).unwrap_err()), Unfit::TooLong(9));
    }

    #[test]
    fn a_file_without_a_size_has_the_same_limit() {
        // stat reports size 0 for this file, as for all files below /proc.
        let path = Path::new("/proc/self/status");
        assert!(!read(path, 1 << 20).unwrap().is_empty());
        assert_eq!(why(&read(path, 9).unwrap_err()), Unfit::TooLong(9));
    }

    #[test]
    fn a_sparse_file_costs_nothing() {
        let dir = dir();
        let path = dir.path().join("x");
        File::create(&path).unwrap().set_len(5 << 30).unwrap();
        assert_eq!(why(&read(&path, LONGEST_INPUT).unwrap_err()), Unfit::TooLong(LONGEST_INPUT));
    }

    #[test]
    fn a_link_is_followed_but_not_to_a_file_of_ours() {
        let dir = dir();
        let (to, path) = (dir.path().join("to"), dir.path().join("link"));
        fs::write(&to, "x").unwrap();
        symlink(&to, &path).unwrap();
        assert_eq!(read(&path, 10).unwrap(), b"x");
        assert_eq!(why(&read_own(&path, 10).unwrap_err()), Unfit::Link);
    }

    #[test]
    fn each_reason_is_a_clause() {
        let all = [Unfit::TooLong(LONGEST_INPUT), Unfit::TooLong(9), Unfit::Irregular("a pipe")];
        assert_eq!(
            all.map(|u| u.to_string()),
            ["it is longer than 1 MiB", "it is longer than 9 bytes", "it is a pipe, not a regular file"]
        );
    }
}
