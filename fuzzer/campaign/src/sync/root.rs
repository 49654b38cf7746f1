//! Determines the type of a directory given as `--sync`: AFL++'s directory of several instances, one instance, or a
//! flat corpus.

use std::{
    ffi::OsString,
    fs,
    io::{self, ErrorKind},
    path::{Path, PathBuf},
    time::SystemTime,
};

use penfuzz_directory::output::manifest;
use penfuzz_error::plain;

use super::stamp::Stamp;

/// The naming scheme of the files in an input directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Naming {
    /// `id:000123,…`; all other files are ignored.
    Afl,
    /// Any name, as libFuzzer and honggfuzz use them.
    Any,
}

/// An input directory of another fuzzer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyncSource {
    /// Its path.
    pub path: PathBuf,
    /// The naming scheme of its files.
    pub naming: Naming,
    /// The name of the instance or of the corpus.
    pub party: String,
}

/// The location of our own directories.
#[derive(Debug)]
pub struct Owner(PathBuf);

/// The names of our own directories in an output directory. Other directories may exist next to them, for example of
/// AFL++ instances that use the same output directory.
const OURS: [&str; 5] = ["queue", "pending", "crashes", "hangs", "tests"];

impl Owner {
    /// Creates the location from `own`, the output directory of a campaign, or of a client of a farm, `DIR/c0`.
    pub fn new(own: &Path) -> Self {
        let own = own.canonicalize().unwrap_or_else(|_| own.to_path_buf());
        let farm = own.parent().filter(|dir| is_client(&own) && dir.join(manifest::FILE).exists());
        Self(farm.map_or_else(|| own.clone(), Path::to_path_buf))
    }

    /// Whether this is one of our own directories, a client's, or one that was set aside.
    fn has(&self, dir: &Path) -> bool {
        let Ok(dir) = dir.canonicalize() else { return false };
        match dir.strip_prefix(&self.0) {
            Ok(rest) => rest.components().next().is_none_or(|first| {
                let first = Path::new(first.as_os_str());
                is_client(first) || OURS.iter().any(|name| first == Path::new(name))
            }),
            Err(_) => self.set_aside(&dir),
        }
    }

    /// Whether it is `DIR.old1`, to which `--fresh` has moved an old campaign: a new campaign must not import it.
    fn set_aside(&self, dir: &Path) -> bool {
        let text = |p: &Path| p.to_string_lossy().into_owned();
        text(dir).strip_prefix(&text(&self.0)).and_then(|rest| rest.strip_prefix(".old")).is_some_and(is_number)
    }
}

/// Whether it is the directory of a client of a farm: `c0`, `c17`.
fn is_client(dir: &Path) -> bool {
    dir.file_name().and_then(|n| n.to_str()).and_then(|n| n.strip_prefix('c')).is_some_and(is_number)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

/// A directory given as `--sync`. Its input directories are listed again whenever it has changed.
#[derive(Debug)]
pub struct Root {
    path: PathBuf,
    /// The directories in it when it was last listed.
    directories: Vec<OsString>,
    listed: Option<SystemTime>,
    /// Whether it could not be read at the last poll. The user then already has a message.
    is_missing: bool,
}

/// Files that identify the directory of a fuzzer that has no `queue/` yet, so it is not a flat corpus.
const MARKS: [&str; 4] = ["fuzzer_setup", "fuzzer_stats", manifest::FILE, "state.json"];

impl Root {
    pub fn new(path: &Path) -> Self {
        // The importer reports directories that are missing from the start.
        Self { path: path.to_path_buf(), directories: Vec::new(), listed: None, is_missing: !path.is_dir() }
    }

    /// The input directories in it that are not ours.
    pub fn places(&mut self, owner: &Owner, messages: &mut Vec<String>) -> Vec<SyncSource> {
        match self.list() {
            Ok(()) => self.is_missing = false,
            Err(e) => {
                if !core::mem::replace(&mut self.is_missing, true) {
                    let path = self.path.display();
                    messages.push(format!("cannot import from {path} any more: {}; trying again", plain(&e)));
                }
                return Vec::new();
            }
        }
        let instances: Vec<PathBuf> = core::iter::once(self.path.clone())
            .chain(self.directories.iter().map(|name| self.path.join(name)))
            .filter(|dir| dir.join("queue").is_dir())
            .collect();
        let is_flat = instances.is_empty() && !MARKS.iter().any(|mark| self.path.join(mark).exists());
        if is_flat && !owner.has(&self.path) {
            return vec![SyncSource { path: self.path.clone(), naming: Naming::Any, party: name_of(&self.path) }];
        }
        let place = |dir: PathBuf| SyncSource { party: name_of(&dir), path: dir.join("queue"), naming: Naming::Afl };
        instances.into_iter().filter(|dir| !owner.has(dir)).map(place).collect()
    }

    /// Lists the directories in it, unless nothing has changed.
    fn list(&mut self) -> io::Result<()> {
        let modified = fs::metadata(&self.path)?.modified()?;
        if self.listed == Some(modified) {
            return Ok(());
        }
        let listed_at = SystemTime::now();
        self.directories.clear();
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            let is_dir = entry.file_type().is_ok_and(|t| t.is_dir() || (t.is_symlink() && entry.path().is_dir()));
            if is_dir && !entry.file_name().as_encoded_bytes().starts_with(b".") {
                self.directories.push(entry.file_name());
            }
        }
        self.directories.sort();
        self.listed = Stamp::is_settled(modified, listed_at).then_some(modified);
        Ok(())
    }
}

/// The last part of a path, converted to be part of a name in `queue/`.
fn name_of(dir: &Path) -> String {
    let name = dir.canonicalize().ok().and_then(|d| Some(d.file_name()?.to_string_lossy().into_owned()));
    fit(&name.unwrap_or_else(|| "corpus".to_owned()))
}

/// Maximum number of characters taken from a foreign name: a file name has room for 255.
const LONGEST: usize = 40;

/// Converts a foreign name to a part of one of our names: commas and colons would separate fields, and other characters
/// are special to shells.
pub fn fit(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._+-".contains(c) { c } else { '_' };
    name.chars().take(LONGEST).map(plain).collect()
}

/// The source of an input by its file name: the number in AFL++'s names, or the name itself. `None` if the name is not
/// that of an input.
pub fn source_of(name: &str, naming: Naming) -> Option<String> {
    match naming {
        // `id_` is used on file systems that do not allow colons.
        Naming::Afl => {
            let rest = name.strip_prefix("id:").or_else(|| name.strip_prefix("id_"))?;
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            (digits > 0).then(|| fit(&rest[..digits]))
        }
        Naming::Any => {
            let is_foreign = name.starts_with('.')
                || name.starts_with("README")
                || [".tmp", ".swp", "~"].iter().any(|end| name.ends_with(end));
            (!is_foreign).then(|| fit(name))
        }
    }
}

/// Whether the error means that the directory does not exist (yet), as opposed to one that cannot be read.
pub fn is_gone(e: &io::Error) -> bool {
    e.kind() == ErrorKind::NotFound
}
