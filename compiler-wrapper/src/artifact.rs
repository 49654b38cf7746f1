//! The pass plugin and the runtime objects: embedded at build time, written to a cache directory at first use.
//!
//! The name of a file contains a hash of its content, and the file appears by a rename. So installations of different
//! versions and concurrent builds share one directory, and never read an incomplete file.

use std::{
    env, fs, io,
    os::unix::fs::{DirBuilderExt, MetadataExt},
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicU32, Ordering},
};

use crate::Error;

include!(concat!(env!("OUT_DIR"), "/llvm.rs"));

/// A file that is embedded into the program.
pub(crate) struct Artifact {
    name: &'static str,
    bytes: &'static [u8],
}

impl Artifact {
    /// The path of the file in the cache directory. Writes the file if it is missing.
    pub(crate) fn path(&self) -> Result<PathBuf, Error> {
        let directory = cache_directory()?;
        let path = directory.join(self.name);
        if !self.is_at(&path) {
            self.write(&path).map_err(|source| Error::Cache { path: path.clone(), source })?;
        }
        Ok(path)
    }

    fn is_at(&self, path: &Path) -> bool {
        path.metadata().is_ok_and(|file| file.is_file() && file.len() == self.bytes.len() as u64)
    }

    fn write(&self, path: &Path) -> io::Result<()> {
        static COUNTER: AtomicU32 = AtomicU32::new(0);
        let unique = COUNTER.fetch_add(1, Ordering::Relaxed);
        let temporary = path.with_file_name(format!(".{}.{}.{unique}", self.name, process::id()));
        let written = fs::write(&temporary, self.bytes).and_then(|()| fs::rename(&temporary, path));
        if written.is_err() {
            let _ = fs::remove_file(&temporary);
        }
        written
    }
}

/// Identifies the instrumentation: the names of the plugin and of the runtime, which contain hashes of their contents.
pub(crate) fn fingerprint() -> String {
    format!("{} {}", PLUGIN.name, RUNTIME.name)
}

/// `$XDG_CACHE_HOME/penfuzz`, else `~/.cache/penfuzz`, else a directory of this user among the temporary files.
///
/// If `XDG_CACHE_HOME` is set, no other directory is tried. A home directory that cannot be written, as in package builds, is
/// skipped.
///
/// # Errors
/// If none of them can be written, or if the directory belongs to another user.
pub fn cache_directory() -> Result<PathBuf, Error> {
    let usable = |path: PathBuf| match create_private(&path) {
        Ok(()) => Ok(path),
        Err(source) => Err(Error::Cache { path, source }),
    };
    // The XDG specification requires that a relative path is ignored.
    if let Some(cache) = env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute()) {
        return usable(cache.join("penfuzz"));
    }
    if let Some(home) = env::var_os("HOME").map(PathBuf::from).filter(|path| path.is_absolute())
        && let Ok(path) = usable(home.join(".cache/penfuzz"))
    {
        return Ok(path);
    }
    usable(env::temp_dir().join(format!("penfuzz-{}", user())))
}

/// Creates the directory. It is an error if it belongs to another user, because clang loads and runs the plugin from there.
fn create_private(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    let owner = path.metadata()?.uid();
    if owner != user() {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, format!("it belongs to user {owner}")));
    }
    Ok(())
}

/// The user id of this process: the owner of `/proc/self`.
fn user() -> u32 {
    fs::metadata("/proc/self").map_or(u32::MAX, |process| process.uid())
}
