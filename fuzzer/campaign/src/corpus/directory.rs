//! Reads inputs in directories: of a campaign, of a farm with a directory per client, of AFL++, or flat directories as
//! libFuzzer uses.

use std::{
    fs,
    path::{Path, PathBuf},
};

use penfuzz_error::{Error, at, failed};

use penfuzz_directory::output::{
    manifest,
    store::{self, SavedState},
};
use penfuzz_system::files::{foreign, inputs::InputReader};
use penfuzz_target::recorded;

/// Directories of inputs that return.
pub const KEPT: [&str; 2] = ["queue", "pending"];
/// Directories of inputs that crash or hang.
pub const FAILING: [&str; 2] = ["crashes", "hangs"];

/// The directory of the campaign or farm that an input belongs to; `None` if it does not lie in one.
#[must_use]
pub fn campaign_of(input: &Path) -> Option<PathBuf> {
    let input = std::path::absolute(input).ok()?;
    let folder = input.parent()?;
    let is_of_inputs = folder.file_name().is_some_and(|f| KEPT.iter().chain(&FAILING).any(|known| f == *known));
    // The directory of the campaign, or of a client in a farm.
    let mut above = folder.ancestors().skip(1).take(if is_of_inputs { 2 } else { 0 });
    above.find(|dir| dir.join(manifest::FILE).is_file()).map(Path::to_path_buf)
}

/// One input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Input {
    /// Its file, relative to the given directory: `queue/id:000000,…`, `c0/queue/id:000000,…`, `seed`.
    pub file: String,
    /// Its bytes, at least one.
    pub bytes: Vec<u8>,
}

impl Input {
    /// The name of its file.
    #[must_use]
    pub fn name(&self) -> &str {
        self.file.rsplit('/').next().unwrap_or(&self.file)
    }

    /// The client that found it; empty if there is only one.
    #[must_use]
    pub fn client(&self) -> &str {
        let mut parts = self.file.rsplit('/').skip(2);
        parts.next().unwrap_or_default()
    }

    /// Whether it lies in a directory of inputs that crash or hang.
    #[must_use]
    pub fn is_failing(&self) -> bool {
        self.file.rsplit('/').nth(1).is_some_and(|folder| FAILING.contains(&folder))
    }

    /// A field of its name in AFL++'s notation: `time` of `id:000000,time:12,execs:345,op:havoc`.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&str> {
        self.name().split(',').find_map(|part| part.strip_prefix(name)?.strip_prefix(':'))
    }

    /// A field of its name as a number.
    #[must_use]
    pub fn number(&self, name: &str) -> Option<u64> {
        self.field(name)?.parse().ok()
    }
}

/// The directory of one client.
#[derive(Debug)]
pub struct Client {
    /// Its name relative to the given directory; empty if it is that directory.
    pub name: String,
    /// Its path.
    pub dir: PathBuf,
    /// Its state; `None` for another fuzzer, or if the state cannot be read.
    pub saved: Option<SavedState>,
}

/// The clients of `dir`: itself, and the directories in it, if they have a `queue/`. Empty for a flat directory of
/// inputs.
///
/// # Errors
/// When the directory cannot be read.
pub fn clients(dir: &Path) -> Result<Vec<Client>, Error> {
    let mut found = Vec::new();
    let mut add = |name: String, dir: PathBuf| {
        if dir.join(KEPT[0]).is_dir() {
            found.push(Client { name, saved: store::peek_state(&dir), dir });
        }
    };
    add(String::new(), dir.to_path_buf());
    for name in entries(dir)? {
        let path = dir.join(&name);
        add(name, path);
    }
    Ok(found)
}

/// The inputs in `folders` of all `clients`, client by client, each folder in the order of names. Empty files, files
/// whose names do not follow AFL++'s scheme, and files that disappear while they are read are ignored. Files longer
/// than 1 MiB, pipes and devices are skipped with a warning.
///
/// # Errors
/// When a directory or a file cannot be read.
pub fn inputs(clients: &[Client], folders: &[&str]) -> Result<Vec<Input>, Error> {
    let (mut all, mut reader) = (Vec::new(), InputReader::whole());
    for client in clients {
        for folder in folders {
            let dir = client.dir.join(folder);
            let prefix = if client.name.is_empty() { String::new() } else { format!("{}/", client.name) };
            if dir.is_dir() {
                let is_input = |n: &str| n.starts_with("id:") || n.starts_with("id_");
                read(&dir, &format!("{prefix}{folder}/"), is_input, &mut reader, &mut all)?;
            }
        }
    }
    warn(&reader);
    Ok(all)
}

/// All files of a flat directory of inputs, except hidden files, empty files and those that [`inputs`] skips.
///
/// # Errors
/// When the directory or a file cannot be read.
pub fn plain_inputs(dir: &Path) -> Result<Vec<Input>, Error> {
    let (mut all, mut reader) = (Vec::new(), InputReader::whole());
    let is_input = |n: &str| !n.starts_with('.') && !recorded::is_of_recording(Path::new(n));
    read(dir, "", is_input, &mut reader, &mut all)?;
    warn(&reader);
    Ok(all)
}

/// Refuses `dir` as output directory unless it is empty or does not exist.
///
/// # Errors
/// When it is not empty, or is not a directory.
pub fn refuse_used(dir: &Path) -> Result<(), Error> {
    match fs::read_dir(dir) {
        Ok(mut entries) => match entries.next() {
            None => Ok(()),
            Some(_) => Err(at(dir, "is not empty; give a new or an empty directory as -o")),
        },
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(e) => Err(failed(dir, "cannot be used for -o", e)),
    }
}

fn entries(dir: &Path) -> Result<Vec<String>, Error> {
    let names = foreign::names(dir).map_err(|e| failed(dir, "cannot be read", e))?;
    Ok(names.into_iter().filter_map(|name| name.into_string().ok()).collect())
}

fn read(
    dir: &Path,
    prefix: &str,
    is_wanted: impl Fn(&str) -> bool,
    reader: &mut InputReader,
    into: &mut Vec<Input>,
) -> Result<(), Error> {
    for name in entries(dir)?.into_iter().filter(|n| is_wanted(n)) {
        let path = dir.join(&name);
        if let Some(bytes) = reader.read(&path).map_err(|e| failed(&path, "cannot be read", e))?
            && !bytes.is_empty()
        {
            into.push(Input { file: format!("{prefix}{name}"), bytes });
        }
    }
    Ok(())
}

fn warn(reader: &InputReader) {
    if let Some(message) = reader.message() {
        penfuzz_system::errln!("penfuzz: {message}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_contain_the_origin_of_an_input() {
        let input = |file: &str| Input { file: file.to_owned(), bytes: vec![0] };
        let found = input("c1/crashes/id:000002,time:17,execs:9,op:havoc");
        assert_eq!((found.client(), found.number("time"), found.field("op")), ("c1", Some(17), Some("havoc")));
        assert!(found.is_failing() && !input("queue/id:000000").is_failing());
        assert_eq!(input("queue/id:000000").client(), "");
        assert_eq!(input("seed").name(), "seed");
    }
}
