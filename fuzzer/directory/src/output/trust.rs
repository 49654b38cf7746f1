//! Decides whether a campaign was written by this user. `campaign.json` names code that is loaded (the target) or
//! compiled (sources, flags, libraries), so a manifest that came in an archive, a clone or from another user must not
//! be used without the user's consent.
//!
//! The owner of the files proves nothing: unpacked files belong to the user who unpacks them. Instead, each
//! `campaign.json` that penfuzz writes has a tag: a keyed hash ([`hash::keyed`], 128 bits) over all its other keys. The
//! hash key is 128 random bits in the state directory of the user (`$XDG_STATE_HOME/penfuzz/key`, mode 0600). It is not
//! in the cache directory, because CI services store caches where others can read them. So a file with a valid tag was
//! written by penfuzz of this user on this machine, and not changed since. It stays valid when the directory is moved
//! or copied: the paths in it are absolute.
//!
//! The tag does not cover the inputs and the other files in the directory. They are data: inputs are run in child
//! processes, as those of any fuzzer.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs::{File, OpenOptions},
    io::{ErrorKind, Read, Write},
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use penfuzz_error::{Error, at, failed};
use penfuzz_target::hash;
use serde_json::Value;

use super::manifest::{self, Manifest};

/// The JSON key of the tag in `campaign.json`.
const TAG: &str = "tag";
/// A prefix of the hashed data, so that a tag for another kind of file is never valid for `campaign.json`.
const PURPOSE: &[u8] = b"penfuzz campaign.json 1\0";
/// The file of the hash key.
const KEY_FILE: &str = "key";
/// Size of the hash key in bytes.
const KEY_SIZE: usize = 16;
/// The permission bits of the group and of others.
const FOR_OTHERS: u32 = 0o077;

type Key = [u8; KEY_SIZE];

/// A manifest whose target may be loaded and compiled: penfuzz of this user has written it, or the user trusts its
/// author.
#[derive(Debug, Clone)]
pub struct Trusted(Manifest);

impl Trusted {
    /// Reads the manifest in `dir`. With `is_given` (`--trust`), any manifest is trusted.
    ///
    /// # Errors
    /// When there is no manifest; with the source [`Untrusted`] when it has no valid tag.
    pub fn read(dir: &Path, is_given: bool) -> Result<Self, Error> {
        let bytes = manifest::read_bytes(dir)?;
        let path = dir.join(manifest::FILE);
        // Parsed from the same bytes as the tag, because others may replace the file meanwhile.
        let manifest = manifest::parse(&bytes, &path)?;
        if is_given {
            return Ok(Self(manifest));
        }
        let doubt = match existing_key() {
            Ok(Some(key)) if has_valid_tag(&bytes, &key) => return Ok(Self(manifest)),
            Ok(_) => String::new(),
            Err(e) => format!(" ({e})"),
        };
        let whose = owner(&path);
        Err(Error::from_source(Untrusted(format!(
            "{:?} was not written by penfuzz of this user on this machine, or was changed{doubt}, and belongs to \
             {whose}: {}; add --trust if you trust its author",
            path.to_string_lossy(),
            description_of_code(&manifest)
        ))))
    }

    /// Trusts a manifest that this process has created itself.
    #[must_use]
    pub fn own(manifest: Manifest) -> Self {
        Self(manifest)
    }

    /// The manifest.
    #[must_use]
    pub fn manifest(&self) -> &Manifest {
        &self.0
    }
}

/// The error for a manifest that requires the user's consent. The exit status is that of invalid arguments, because an
/// option is missing.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Untrusted(String);

impl Untrusted {
    /// Whether it is the cause of this error.
    #[must_use]
    pub fn is_cause_of(e: &Error) -> bool {
        std::error::Error::source(e).is_some_and(<dyn std::error::Error>::is::<Self>)
    }
}

/// Describes the code that a session on this campaign would run. Strings are quoted with escapes, because they come
/// from an unknown author.
fn description_of_code(manifest: &Manifest) -> String {
    if manifest.settings.is_linked() {
        return format!("{:?} would be loaded and run", manifest.settings.linked.to_string_lossy());
    }
    let mut text = format!("{:?} would be compiled", manifest.settings.sources);
    for (what, list) in [("flags", &manifest.settings.flags), ("libraries", &manifest.settings.libs)] {
        if !list.is_empty() {
            let _ = write!(text, " with the {what} {list:?}");
        }
    }
    text + ", loaded and run"
}

fn owner(path: &Path) -> String {
    match path.symlink_metadata() {
        Ok(file) if file.uid() == penfuzz_cc::user() => "you".to_owned(),
        Ok(file) => format!("user {}", file.uid()),
        Err(_) => "an unknown user".to_owned(),
    }
}

/// The text of `campaign.json`, with the tag of this user. Without a usable key it has no tag; commands on it then need
/// `--trust`.
///
/// # Errors
/// When the manifest cannot be written as JSON.
pub fn signed(manifest: &Manifest) -> Result<Vec<u8>, Error> {
    signed_with(manifest, key().ok().as_ref())
}

fn signed_with(manifest: &Manifest, key: Option<&Key>) -> Result<Vec<u8>, Error> {
    let because = |e| Error::because(manifest::FILE, e);
    let mut text = serde_json::to_string_pretty(manifest).map_err(because)?;
    if let Some(key) = key
        && let Some(tag) = tag(text.as_bytes(), key)
    {
        // Appended as the last key, so that the others keep their order.
        text.truncate(text.trim_end_matches(['}', '\n']).len());
        let _ = write!(text, ",\n  \"{TAG}\": \"{tag}\"\n}}");
    }
    Ok(text.into_bytes())
}

fn has_valid_tag(bytes: &[u8], key: &Key) -> bool {
    let found = serde_json::from_slice::<BTreeMap<String, Value>>(bytes).ok().and_then(|mut all| all.remove(TAG));
    found.is_some_and(|found| found.as_str() == tag(bytes, key).as_deref())
}

/// Computes the tag of this JSON object, over every key but that of the tag. Keys are sorted, so that order and white
/// space do not matter. `None` if the JSON is not an object.
fn tag(json: &[u8], key: &Key) -> Option<String> {
    let mut all: BTreeMap<String, Value> = serde_json::from_slice(json).ok()?;
    all.remove(TAG);
    let message = [PURPOSE.to_vec(), serde_json::to_vec(&all).ok()?].concat();
    Some(format!("{:032x}", hash::keyed(key, &message)))
}

/// Returns the key of this user; creates it at first use.
fn key() -> Result<Key, Error> {
    let path = key_path()?;
    loop {
        if let Some(key) = read_key(&path)? {
            return Ok(key);
        }
        create_key(&path)?;
    }
}

/// The key of this user; `None` if there is none, so that nothing was tagged yet.
fn existing_key() -> Result<Option<Key>, Error> {
    read_key(&key_path()?)
}

fn key_path() -> Result<PathBuf, Error> {
    Ok(directory().map_err(Error::from_source)?.join(KEY_FILE))
}

#[cfg(not(test))]
use penfuzz_cc::state_directory as directory;

/// A directory for the tests, so that they do not use the key of the user who runs them.
#[cfg(test)]
fn directory() -> Result<PathBuf, penfuzz_cc::Error> {
    static PLACE: std::sync::LazyLock<tempfile::TempDir> = std::sync::LazyLock::new(|| tempfile::tempdir().unwrap());
    penfuzz_cc::private_directory(PLACE.path())?;
    Ok(PLACE.path().to_path_buf())
}

fn read_key(path: &Path) -> Result<Option<Key>, Error> {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_CLOEXEC;
    let mut file = match OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Ok(file) => file,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(failed(path, "cannot be read", e)),
    };
    let found = file.metadata().map_err(|e| failed(path, "cannot be read", e))?;
    let is_secret = found.uid() == penfuzz_cc::user() && found.mode() & FOR_OTHERS == 0;
    let mut key = Key::default();
    if !found.is_file() || !is_secret || found.len() != KEY_SIZE as u64 || file.read_exact(&mut key).is_err() {
        return Err(at(
            path,
            "is not a key of 16 bytes that only you can read; remove it, and penfuzz creates a new one",
        ));
    }
    Ok(Some(key))
}

/// Creates the key. If another process creates it at the same time, that key is used.
fn create_key(path: &Path) -> Result<(), Error> {
    let directory = path.parent().unwrap_or(Path::new("/"));
    let write = || {
        let mut key = Key::default();
        File::open("/dev/urandom")?.read_exact(&mut key)?;
        // The mode of this file is 0600.
        let mut file = tempfile::NamedTempFile::new_in(directory)?;
        file.write_all(&key)?;
        file.as_file().sync_all()?;
        match file.persist_noclobber(path) {
            Err(e) if e.error.kind() != ErrorKind::AlreadyExists => Err(e.error),
            _ => Ok(()),
        }
    };
    write().map_err(|e| failed(path, "cannot be written", e))
}

#[cfg(test)]
#[path = "trust_tests.rs"]
mod tests;
