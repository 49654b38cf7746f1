//! Creates files and directories in an output directory, without ever writing through a symbolic link that replaces one
//! of them.
//!
//! The output directory itself may be a symbolic link, for example to a larger disk, because the user has chosen it. No
//! entry in it may be one. Files that are written as a whole do not need this module: [`crate::files::atomic`] creates
//! a new file and renames it, which replaces a link.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, ErrorKind},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use super::{
    foreign::{check, explain_link},
    unfit::Unfit,
};

/// Creates a directory in an output directory, unless it exists.
///
/// # Errors
/// File system errors; [`Unfit::Link`]; [`Unfit::NoDirectory`].
pub fn make_directory(path: &Path) -> io::Result<()> {
    match fs::create_dir(path) {
        Err(e) if e.kind() == ErrorKind::AlreadyExists => check_directory(path),
        done => done,
    }
}

/// Checks that the path is a directory and not a link to one, or does not exist.
///
/// # Errors
/// As for [`make_directory`].
pub fn check_directory(path: &Path) -> io::Result<()> {
    let found = match fs::symlink_metadata(path) {
        Ok(about) => about.file_type(),
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(()),
        Err(e) => return Err(e),
    };
    match () {
        () if found.is_dir() => Ok(()),
        () if found.is_symlink() => Err(Unfit::Link.into()),
        () => Err(Unfit::NoDirectory.into()),
    }
}

/// Opens a file for reading and for writing from its start; creates it if it is missing.
///
/// # Errors
/// File system errors; [`Unfit::Link`]; [`Unfit::Irregular`].
pub fn open(path: &Path) -> io::Result<File> {
    open_with(path, File::options().read(true).write(true).create(true).truncate(false))
}

/// Opens a file for reading and appending; creates it if it is missing.
///
/// # Errors
/// As for [`open`].
pub fn append(path: &Path) -> io::Result<File> {
    open_with(path, File::options().read(true).append(true).create(true))
}

/// Creates an empty file; removes an existing one.
///
/// # Errors
/// File system errors.
pub fn create(path: &Path) -> io::Result<File> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != ErrorKind::NotFound => return Err(e),
        _ => {}
    }
    File::options().write(true).create_new(true).open(path)
}

fn open_with(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    // Checked before opening, because opening has side effects on some devices.
    if let Ok(about) = fs::symlink_metadata(path) {
        check(&about)?;
    }
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY;
    let file = options.custom_flags(flags).open(path).map_err(explain_link)?;
    check(&file.metadata()?)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use std::{io::Write, os::unix::fs::symlink, path::PathBuf, process::Command};

    use super::{super::unfit, *};

    /// A file of the user, and a link to it.
    fn linked(dir: &tempfile::TempDir) -> (PathBuf, PathBuf) {
        let (precious, link) = (dir.path().join("precious"), dir.path().join("link"));
        fs::write(&precious, "precious").unwrap();
        symlink(&precious, &link).unwrap();
        (precious, link)
    }

    #[test]
    fn nothing_is_written_through_a_link() {
        let dir = tempfile::tempdir().unwrap();
        let (precious, link) = linked(&dir);
        for e in [open(&link).unwrap_err(), append(&link).unwrap_err()] {
            assert_eq!(unfit(&e), Some(Unfit::Link));
        }
        create(&link).unwrap().write_all(b"new").unwrap();
        assert_eq!((fs::read(&link).unwrap(), fs::read(&precious).unwrap()), (b"new".to_vec(), b"precious".to_vec()));
    }

    #[test]
    fn a_dangling_link_makes_no_file() {
        let dir = tempfile::tempdir().unwrap();
        let (precious, link) = linked(&dir);
        fs::remove_file(&precious).unwrap();
        assert_eq!(unfit(&open(&link).unwrap_err()), Some(Unfit::Link));
        create(&link).unwrap();
        assert!(!precious.exists());
    }

    #[test]
    fn a_directory_is_no_link_to_one() {
        let dir = tempfile::tempdir().unwrap();
        let (real, link) = (dir.path().join("real"), dir.path().join("link"));
        make_directory(&real).unwrap();
        make_directory(&real).unwrap();
        symlink(&real, &link).unwrap();
        assert_eq!(unfit(&make_directory(&link).unwrap_err()), Some(Unfit::Link));
        check_directory(&dir.path().join("missing")).unwrap();
    }

    #[test]
    fn a_pipe_is_no_lock_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("pipe");
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        assert_eq!(unfit(&open(&path).unwrap_err()), Some(Unfit::Irregular("a pipe")));
    }
}
