//! The files of a recording: one per function, one line per call. Calls that differ in addresses only are equal.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fs::{self, OpenOptions},
    hash::{DefaultHasher, Hash, Hasher},
    io::{self, Seek, SeekFrom, Write},
    os::unix::fs::FileExt as _,
    path::{Path, PathBuf},
};

use penfuzz_error::{Error, failed};
use penfuzz_target::recorded::{self, ADDRESSES, Origin, Places, RecordedCall};

/// Maximum number of different calls of a function.
const MOST_CALLS: usize = 64;
/// Number of calls in a row that are equal to earlier ones, after which one call is read in one of [`SAMPLED`] further
/// processes, until there is a new one.
const MOST_EQUAL: usize = 16;
const SAMPLED: usize = 8;
/// Maximum number of calls of a function that are read in a recording.
const MOST_READ: usize = 2048;

/// A directory with recorded calls.
#[derive(Debug)]
pub struct Recording {
    dir: PathBuf,
    functions: HashMap<String, FunctionCalls>,
}

/// How many calls of a function were recorded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Recorded {
    /// Number of calls that were read.
    pub read: usize,
    /// Number of different calls among them that no earlier recording had.
    pub new: usize,
}

#[derive(Debug)]
struct FunctionCalls {
    file: PathBuf,
    known: HashSet<u64>,
    recorded: Recorded,
    /// Number of calls since the last new one.
    equal: usize,
}

impl Recording {
    /// Opens the directory, which is created if it does not exist. Calls in it are kept.
    ///
    /// # Errors
    /// When the directory cannot be created.
    pub fn open(dir: &Path) -> Result<Self, Error> {
        fs::create_dir_all(dir).map_err(|e| failed(dir, "cannot be created", e))?;
        Ok(Self { dir: dir.to_path_buf(), functions: HashMap::new() })
    }

    /// Whether further calls of the function would be kept.
    fn wants(&self, symbol: &str) -> bool {
        self.functions.get(symbol).is_none_or(|f| f.known.len() < MOST_CALLS && f.recorded.read < MOST_READ)
    }

    /// Whether calls of the function are read in the process with this number.
    pub(crate) fn wants_in(&self, symbol: &str, process: usize) -> bool {
        let may_be_new = |f: &FunctionCalls| f.equal < MOST_EQUAL || process.is_multiple_of(SAMPLED);
        self.wants(symbol) && self.functions.get(symbol).is_none_or(may_be_new)
    }

    /// Writes a call, unless it is known or there are enough. Returns false if the next calls are likely to be known.
    ///
    /// # Errors
    /// When the file of the function cannot be read or written.
    pub(crate) fn add(&mut self, symbol: &str, call: &RecordedCall) -> Result<bool, Error> {
        if !self.functions.contains_key(symbol) {
            let calls = FunctionCalls::read(recorded::of_symbol(&self.dir, symbol))?;
            self.functions.insert(symbol.to_owned(), calls);
        }
        let Some(f) = self.functions.get_mut(symbol) else { return Ok(false) };
        f.recorded.read += 1;
        f.equal += 1;
        if f.known.len() < MOST_CALLS && f.known.insert(identity(call)) {
            append(&f.file, call).map_err(|e| failed(&f.file, "cannot be written", e))?;
            f.recorded.new += 1;
            f.equal = 0;
        }
        Ok(self.wants(symbol) && self.functions[symbol].equal < MOST_EQUAL)
    }

    /// The functions that were called, by symbol.
    #[must_use]
    pub fn functions(&self) -> BTreeMap<&str, Recorded> {
        self.functions.iter().map(|(symbol, f)| (symbol.as_str(), f.recorded)).collect()
    }
}

impl FunctionCalls {
    fn read(file: PathBuf) -> Result<Self, Error> {
        let calls = match recorded::read(&file) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => Vec::new(),
            calls => calls.map_err(|e| failed(&file, "cannot be read", e))?,
        };
        Ok(Self { file, known: calls.iter().map(identity).collect(), recorded: Recorded::default(), equal: 0 })
    }
}

/// Appends a line in one write, so that the end of this process leaves complete lines. A line that a full disk has cut
/// is ended first.
fn append(file: &Path, call: &RecordedCall) -> io::Result<()> {
    let mut file = OpenOptions::new().create(true).read(true).append(true).open(file)?;
    let mut line = serde_json::to_vec(call)?;
    line.push(b'\n');
    let end = file.seek(SeekFrom::End(0))?;
    let mut last = [b'\n'];
    if end > 0 {
        file.read_exact_at(&mut last, end - 1)?;
    }
    if last != [b'\n'] {
        line.insert(0, b'\n');
    }
    file.write_all(&line)
}

/// The bytes of a piece of unknown size that count for its identity. The bytes after an object on the stack differ from
/// run to run.
const COMPARED: usize = 64;

/// Equal for calls that differ in nothing but the addresses of their memory.
fn identity(call: &RecordedCall) -> u64 {
    let (mut hasher, places) = (DefaultHasher::new(), call.memory.places());
    for value in &call.arguments {
        hash_words(&value.0, &places, &mut hasher);
    }
    for piece in &call.memory.pieces {
        piece.origin.hash(&mut hasher);
        let bytes = &piece.bytes.0;
        let n = if piece.origin == Origin::Heap { bytes.len() } else { bytes.len().min(COMPARED) };
        hash_words(&bytes[..n], &places, &mut hasher);
    }
    hasher.finish()
}

fn hash_words(bytes: &[u8], places: &Places, hasher: &mut DefaultHasher) {
    bytes.len().hash(hasher);
    for chunk in bytes.chunks(8) {
        let word = chunk.first_chunk().map_or(0, |word| u64::from_le_bytes(*word));
        match places.of(word) {
            Some(place) => place.hash(hasher),
            None if ADDRESSES.contains(&word) => ADDRESSES.start.hash(hasher),
            None => chunk.hash(hasher),
        }
    }
}

#[cfg(test)]
mod tests {
    use penfuzz_target::recorded::{Bytes, Piece, RecordedMemory};

    use super::*;

    const HEAP: u64 = 0x5555_5555_0000;

    /// A call with a pointer to two numbers at this address.
    fn call(at: u64, numbers: [u64; 2]) -> RecordedCall {
        let bytes = numbers.iter().flat_map(|n| n.to_le_bytes()).collect();
        RecordedCall {
            arguments: vec![Bytes(at.to_le_bytes().to_vec())],
            memory: RecordedMemory { pieces: vec![Piece { at, origin: Origin::Heap, bytes: Bytes(bytes) }] },
        }
    }

    #[test]
    fn equal_calls_are_written_once() {
        let dir = tempfile::tempdir().expect("a directory");
        let mut recording = Recording::open(&dir.path().join("new")).expect("created");
        for call in [call(HEAP, [1, 2]), call(HEAP + 32, [1, 2]), call(HEAP, [1, 3])] {
            recording.add("f", &call).expect("written");
        }
        assert_eq!(recording.functions()["f"], Recorded { read: 3, new: 2 });
        let mut again = Recording::open(&dir.path().join("new")).expect("opened");
        again.add("f", &call(HEAP + 64, [1, 3])).expect("written");
        assert_eq!(again.functions()["f"], Recorded { read: 1, new: 0 }, "known from the file");
    }

    #[test]
    fn a_call_after_a_cut_line_is_kept() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = recorded::of_symbol(dir.path(), "f");
        append(&file, &call(HEAP, [1, 2])).expect("written");
        let whole = fs::read(&file).expect("read");
        fs::write(&file, [&whole[..], &whole[..whole.len() / 2]].concat()).expect("written");
        append(&file, &call(HEAP, [3, 4])).expect("written");
        assert_eq!(recorded::read(&file).expect("read").len(), 2);
    }

    #[test]
    fn no_more_calls_than_the_maximum_are_kept() {
        let dir = tempfile::tempdir().expect("a directory");
        let mut recording = Recording::open(dir.path()).expect("opened");
        for i in 0..2 * MOST_CALLS as u64 {
            recording.add("f", &call(HEAP, [i, 0])).expect("written");
        }
        assert_eq!(recording.functions()["f"].new, MOST_CALLS);
        assert!(!recording.wants("f"));
        assert_eq!(recorded::read(&recorded::of_symbol(dir.path(), "f")).expect("read").len(), MOST_CALLS);
    }
}
