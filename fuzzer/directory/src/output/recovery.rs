//! Reads the files that earlier runs have written to an output directory, whatever their state: valid inputs are read,
//! other files are set aside.
//!
//! A kill leaves temporary files, a crash of the machine empty ones, a full disk or a copy truncated ones. Nothing is
//! deleted but temporary files of processes that have ended.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use penfuzz_error::{Error, failed};
use penfuzz_system::files::{atomic::TEMPORARY_PREFIX, foreign, lock::is_running, own};

use super::layout::ASIDE;

/// The names and bytes of inputs.
pub type Inputs = Vec<(String, Vec<u8>)>;

/// Reads the input directories of a campaign.
#[derive(Debug)]
pub struct RecoveryReader<'a> {
    dir: &'a Path,
    /// Size of an input in bytes; `None` for harnesses, which take any size.
    size: Option<usize>,
    n_aside: usize,
    n_stuck: usize,
}

impl<'a> RecoveryReader<'a> {
    /// Creates a reader for `dir`, where inputs have `size` bytes if that is known.
    #[must_use]
    pub fn new(dir: &'a Path, size: Option<usize>) -> Self {
        Self { dir, size, n_aside: 0, n_stuck: 0 }
    }

    /// The inputs of a directory, in the order of their names. AFL++ keeps files of its own there (`.state/`,
    /// `README.txt`): directories, hidden files and this name are ignored. All other files that are not inputs are set
    /// aside: invalid content, pipes, devices, symbolic links, and files that are longer than an input. Only the first
    /// are read.
    ///
    /// # Errors
    /// When the directory cannot be listed.
    pub fn inputs(&mut self, folder: &str) -> Result<Inputs, Error> {
        let dir = self.dir.join(folder);
        let mut inputs = Vec::new();
        for name in names(&dir)? {
            let path = dir.join(&name);
            if name.starts_with('.') || name == "README.txt" || is_directory(&path) {
                continue;
            }
            match foreign::read_own(&path, self.longest()) {
                Ok(bytes) if id_of(&name).is_some() && self.is_sound(&bytes) => inputs.push((name, bytes)),
                _ => self.set_aside(folder, &name),
            }
        }
        inputs.sort();
        Ok(inputs)
    }

    /// Maximum size of an input in bytes.
    fn longest(&self) -> u64 {
        self.size.map_or(foreign::LONGEST_INPUT, |size| size as u64)
    }

    fn is_sound(&self, bytes: &[u8]) -> bool {
        !bytes.is_empty() && self.size.is_none_or(|size| bytes.len() == size)
    }

    fn set_aside(&mut self, folder: &str, name: &str) {
        let aside = self.dir.join(ASIDE);
        let to = aside.join(folder);
        let free = |path: &PathBuf| fs::symlink_metadata(path).is_err();
        let path =
            (0..u32::MAX).map(|i| to.join(if i == 0 { name.to_owned() } else { format!("{name}.{i}") })).find(free);
        let moved = own::make_directory(&aside)
            .and_then(|()| own::make_directory(&to))
            .and_then(|()| path.map_or(Ok(()), |path| fs::rename(self.dir.join(folder).join(name), path)));
        // On a full disk the files stay where they are, and are not read.
        *(if moved.is_ok() { &mut self.n_aside } else { &mut self.n_stuck }) += 1;
    }

    /// A message for the user about files that are not inputs, if there are any.
    #[must_use]
    pub fn message(&self) -> Option<String> {
        let dir = self.dir.display();
        let what = "that are not complete inputs of this target (empty, truncated or of another program)";
        match (self.n_aside, self.n_stuck) {
            (0, 0) => None,
            (n, 0) => Some(format!("{n} files {what} are set aside in {dir}/{ASIDE}")),
            (n, stuck) => {
                Some(format!("{} files in {dir} {what} are ignored; {stuck} of them cannot be moved aside", n + stuck))
            }
        }
    }
}

/// Removes the temporary files that processes which have ended left in these folders of an output directory.
pub fn remove_temporary(out: &Path, folders: &[&str]) {
    for folder in folders {
        let dir = out.join(folder);
        for name in names(&dir).unwrap_or_default() {
            if writer_of(&name).is_some_and(|pid| !is_running(pid)) {
                // A file that cannot be removed is harmless.
                let _ = fs::remove_file(dir.join(name));
            }
        }
    }
}

/// Whether it is a directory, not a link to one.
fn is_directory(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|about| about.is_dir())
}

/// The inputs in a directory that may be in use, in the order of their names; at most 1 MiB each.
#[must_use]
pub fn peek(dir: &Path) -> Inputs {
    let input = |name: String| {
        id_of(&name)?;
        let bytes = foreign::read_own(&dir.join(&name), foreign::LONGEST_INPUT).ok().filter(|b| !b.is_empty())?;
        Some((name, bytes))
    };
    let mut inputs: Inputs = names(dir).unwrap_or_default().into_iter().filter_map(input).collect();
    inputs.sort();
    inputs
}

/// The process that writes, or has written, a temporary file.
fn writer_of(name: &str) -> Option<u32> {
    name.strip_prefix(TEMPORARY_PREFIX)?.split('-').next()?.parse().ok()
}

fn names(dir: &Path) -> Result<Vec<String>, Error> {
    let unreadable = |e| failed(dir, "cannot be listed", e);
    Ok(foreign::names(dir).map_err(unreadable)?.iter().map(|name| name.to_string_lossy().into_owned()).collect())
}

/// The number in a name.
#[must_use]
pub fn id_of(name: &str) -> Option<u32> {
    name.strip_prefix("id:")?.split(',').next()?.parse().ok()
}

/// The value of `key` (`time`, `execs`) in a name.
#[must_use]
pub fn figure(name: &str, key: &str) -> Option<u64> {
    name.split(',').find_map(|part| part.strip_prefix(key)?.strip_prefix(':')?.parse().ok())
}

/// The number after the highest in the names.
#[must_use]
pub fn next_id<'a>(names: impl Iterator<Item = &'a str>) -> u32 {
    names.filter_map(id_of).max().map_or(0, |i| i.saturating_add(1))
}

/// Renumbers files whose number another file has, so that each number identifies one input.
pub fn renumber(dir: &Path, folders: [(&str, &mut Inputs); 2]) {
    let mut next = next_id(folders.iter().flat_map(|(_, inputs)| inputs.iter().map(|(name, _)| name.as_str())));
    let mut taken = BTreeSet::new();
    for (folder, inputs) in folders {
        for (name, _) in inputs.iter_mut() {
            if taken.insert(id_of(name)) {
                continue;
            }
            let rest = name.split_once(',').map_or("", |(_, rest)| rest);
            let other = format!("id:{next:06},{rest}");
            let at = |name: &str| dir.join(folder).join(name);
            if fs::rename(at(name), at(&other)).is_ok() {
                *name = other;
                next += 1;
            }
        }
        inputs.sort();
    }
}
