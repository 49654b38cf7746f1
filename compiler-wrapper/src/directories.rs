//! The user's directories in which penfuzz keeps files between runs: clang loads the plugin from one of them, and
//! penfuzz loads and runs the targets that it compiled into it. Anyone who can write there can run code as this user,
//! so a directory that others can write is refused.

use std::{
    env, fs, io,
    os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
};

use crate::Error;

/// The permission bits by which the group and others write.
const WRITABLE_BY_OTHERS: u32 = 0o022;
/// The permission bit by which everybody writes.
const WRITABLE_BY_ALL: u32 = 0o002;
/// The bit of directories like `/tmp`: nobody renames or removes the files of others.
const STICKY: u32 = 0o1000;

/// `$XDG_CACHE_HOME/penfuzz`, else `~/.cache/penfuzz`, else a directory of this user among the temporary files.
///
/// If `XDG_CACHE_HOME` is set, no other directory is tried. A home directory that cannot be written, as in package
/// builds, is skipped.
///
/// # Errors
/// If none of them can be written, if the directory belongs to another user, or if others can write it.
pub fn cache_directory() -> Result<PathBuf, Error> {
    user_directory("XDG_CACHE_HOME", ".cache")
}

/// `$XDG_STATE_HOME/penfuzz`, else `~/.local/state/penfuzz`, else a directory of this user among the temporary files.
/// It is for files that must not be shared, as caches sometimes are.
///
/// # Errors
/// As for [`cache_directory`].
pub fn state_directory() -> Result<PathBuf, Error> {
    user_directory("XDG_STATE_HOME", ".local/state")
}

fn user_directory(variable: &'static str, below_home: &str) -> Result<PathBuf, Error> {
    let usable = |path: PathBuf| private_directory(&path).map(|()| path);
    // The XDG specification requires that a relative path is ignored.
    if let Some(base) = env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute()) {
        return usable(base.join("penfuzz"));
    }
    if let Some(home) = env::var_os("HOME").map(PathBuf::from).filter(|path| path.is_absolute()) {
        match usable(home.join(below_home).join("penfuzz")) {
            Err(Error::Cache { .. }) => {}
            // Others may have put code into it. Using another directory would hide that from the user.
            done => return done,
        }
    }
    let temporary = env::temp_dir().join(format!("penfuzz-{}", user()));
    usable(temporary.clone())?;
    // Any user can create a link there, to another directory of this user.
    if temporary.symlink_metadata().is_ok_and(|found| found.is_symlink()) {
        let source = io::Error::new(io::ErrorKind::PermissionDenied, "it is a symbolic link");
        return Err(Error::Cache { path: temporary, source });
    }
    Ok(temporary)
}

/// Creates the directory, with mode 0700, unless it is there already.
///
/// # Errors
/// [`Error::Cache`] if it cannot be created, or belongs to another user; [`Error::Exposed`] if the group or others can
/// write it, or if others can rename one of the directories above it.
pub fn private_directory(path: &Path) -> Result<(), Error> {
    let failed = |source| Error::Cache { path: path.to_path_buf(), source };
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(failed)?;
    let found = path.metadata().map_err(failed)?;
    if found.uid() != user() {
        let whose = format!("it belongs to user {}", found.uid());
        return Err(failed(io::Error::new(io::ErrorKind::PermissionDenied, whose)));
    }
    let exposed = |path: &Path, mode| Error::Exposed { path: path.to_path_buf(), mode: mode & 0o7777 };
    let mode = found.permissions().mode();
    if mode & WRITABLE_BY_OTHERS != 0 {
        return Err(exposed(path, mode));
    }
    for above in path.canonicalize().map_err(failed)?.ancestors().skip(1) {
        let mode = above.metadata().map_err(failed)?.permissions().mode();
        if mode & WRITABLE_BY_ALL != 0 && mode & STICKY == 0 {
            return Err(exposed(above, mode));
        }
    }
    Ok(())
}

/// Whether this is a regular file of this user that nobody else can write.
#[must_use]
pub fn is_private_file(path: &Path) -> bool {
    path.symlink_metadata()
        .is_ok_and(|file| file.is_file() && file.uid() == user() && file.permissions().mode() & WRITABLE_BY_OTHERS == 0)
}

/// The user id of this process: the owner of `/proc/self`.
#[must_use]
pub fn user() -> u32 {
    fs::metadata("/proc/self").map_or(u32::MAX, |process| process.uid())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_new_directory_is_closed_to_others() {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("a/b");
        private_directory(&path).unwrap();
        for made in [&path, &top.path().join("a")] {
            assert_eq!(made.metadata().unwrap().permissions().mode() & 0o077, 0, "{}", made.display());
        }
    }

    #[test]
    fn a_directory_that_others_can_write_is_refused() {
        let top = tempfile::tempdir().unwrap();
        for mode in [0o777, 0o775, 0o1777, 0o702] {
            set_mode(top.path(), mode);
            let error = private_directory(top.path()).unwrap_err();
            assert!(matches!(error, Error::Exposed { mode: m, .. } if m == mode), "{error}");
        }
        set_mode(top.path(), 0o755);
        private_directory(top.path()).expect("others may read it");
    }

    #[test]
    fn a_directory_that_others_can_rename_is_refused() {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("penfuzz");
        private_directory(&path).unwrap();
        set_mode(top.path(), 0o777);
        let parent = top.path().file_name().unwrap();
        assert!(matches!(private_directory(&path), Err(Error::Exposed { path, .. }) if path.ends_with(parent)));
        set_mode(top.path(), 0o1777);
        private_directory(&path).expect("in a directory like /tmp only the owner renames");
    }

    #[test]
    fn a_file_that_others_can_write_is_not_private() {
        let top = tempfile::tempdir().unwrap();
        let (file, link) = (top.path().join("file"), top.path().join("link"));
        fs::write(&file, "").unwrap();
        set_mode(&file, 0o755);
        std::os::unix::fs::symlink(&file, &link).unwrap();
        assert!(is_private_file(&file) && !is_private_file(&link) && !is_private_file(top.path()));
        set_mode(&file, 0o666);
        assert!(!is_private_file(&file));
    }
}
