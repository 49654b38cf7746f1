//! The pass plugin and the runtime objects: embedded at build time, written to a cache directory at first use.
//!
//! The name of a file contains a hash of its content, and the file is created by a rename. So installations of
//! different versions and concurrent builds share one directory, and never read an incomplete file. clang loads and
//! runs the plugin, so a file is used only if it has the embedded content, byte for byte.

use std::{
    fs::{self, OpenOptions},
    hash::{DefaultHasher, Hash, Hasher},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicU32, Ordering},
};

use crate::{
    Error,
    directories::{cache_directory, is_private_file, private_directory},
};

include!(concat!(env!("OUT_DIR"), "/llvm.rs"));

/// A file that is embedded into the program.
pub(crate) struct Artifact {
    name: &'static str,
    bytes: &'static [u8],
}

impl Artifact {
    /// The path of the file in the cache directory. Writes the file if it is missing, or has other content.
    pub(crate) fn path(&self) -> Result<PathBuf, Error> {
        self.path_in(&cache_directory()?)
    }

    /// The same in another directory.
    fn path_in(&self, directory: &Path) -> Result<PathBuf, Error> {
        let path = directory.join(self.name);
        if !self.is_at(&path) {
            self.write(&path).map_err(|source| Error::Cache { path: path.clone(), source })?;
        }
        Ok(path)
    }

    fn is_at(&self, path: &Path) -> bool {
        let has_length = || path.metadata().is_ok_and(|file| file.len() == self.bytes.len() as u64);
        is_private_file(path) && has_length() && fs::read(path).is_ok_and(|content| content == self.bytes)
    }

    fn write(&self, path: &Path) -> io::Result<()> {
        static COUNTER: AtomicU32 = AtomicU32::new(0);
        let unique = COUNTER.fetch_add(1, Ordering::Relaxed);
        let temporary = path.with_file_name(format!(".{}.{}.{unique}", self.name, process::id()));
        // A killed process with the same number may have left it.
        let _ = fs::remove_file(&temporary);
        // An explicit mode: with umask 0 the file could be written by others.
        let create = || OpenOptions::new().write(true).create_new(true).mode(0o644).open(&temporary);
        let written =
            create().and_then(|mut file| file.write_all(self.bytes)).and_then(|()| fs::rename(&temporary, path));
        if written.is_err() {
            let _ = fs::remove_file(&temporary);
        }
        written
    }
}

/// The header for assumptions and checks.
const HEADER: Artifact = Artifact { name: "penfuzz.h", bytes: include_bytes!("../include/penfuzz.h") };

/// The header for goals.
const GOAL_HEADER: Artifact = Artifact { name: "pen_goal.h", bytes: include_bytes!("../include/pen_goal.h") };

/// The directory of `penfuzz.h` and `pen_goal.h`, which are written there if they are missing. Other versions of the
/// headers have other directories.
///
/// # Errors
/// When the cache directory cannot be used.
pub fn include_directory() -> Result<PathBuf, Error> {
    let mut hasher = DefaultHasher::new();
    HEADER.bytes.hash(&mut hasher);
    GOAL_HEADER.bytes.hash(&mut hasher);
    let directory = cache_directory()?.join(format!("include-{:016x}", hasher.finish()));
    private_directory(&directory)?;
    HEADER.path_in(&directory)?;
    GOAL_HEADER.path_in(&directory)?;
    Ok(directory)
}

/// Identifies the instrumentation: the names of the plugin and of the runtime, which contain hashes of their contents.
pub(crate) fn fingerprint() -> String {
    format!("{} {}", PLUGIN.name, RUNTIME.name)
}
