//! Reads inputs of any origin into memory: seeds, corpora of other fuzzers, campaigns to be merged.

use std::{
    io::{self, ErrorKind},
    path::{Path, PathBuf},
};

use super::{
    foreign::{self, LONGEST_INPUT},
    unfit::{Unfit, unfit},
};

/// Maximum number of bytes of all inputs that are read into memory together.
pub const MOST_BYTES: u64 = 1 << 30;

/// Reads input files one after another. Files that are not inputs (longer than [`LONGEST_INPUT`], pipes, devices) are
/// skipped, and [`InputReader::message`] names the first of them.
#[derive(Debug)]
pub struct InputReader {
    /// Maximum number of bytes that are kept of each input.
    kept: usize,
    /// Number of bytes kept so far.
    bytes: u64,
    first: Option<(PathBuf, Unfit)>,
    others: usize,
}

impl InputReader {
    /// Creates a reader of whole inputs.
    #[must_use]
    pub fn whole() -> Self {
        Self::of_size(LONGEST_INPUT as usize)
    }

    /// Creates a reader that keeps only the first `kept` bytes of each input, which is the size that the target uses.
    #[must_use]
    pub const fn of_size(kept: usize) -> Self {
        Self { kept, bytes: 0, first: None, others: 0 }
    }

    /// Reads an input; `None` for a directory, for a file that has disappeared, and for a skipped file.
    ///
    /// # Errors
    /// File system errors; [`Unfit::TooMuch`] if all inputs together have more than [`MOST_BYTES`].
    pub fn read(&mut self, path: &Path) -> io::Result<Option<Vec<u8>>> {
        let mut bytes = match foreign::read(path, LONGEST_INPUT) {
            Ok(bytes) => bytes,
            // A running campaign moves files from pending/ to queue/.
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
            Err(e) => return self.leave_out(path, e),
        };
        if bytes.len() > self.kept {
            bytes.truncate(self.kept);
            bytes.shrink_to_fit();
        }
        self.bytes += bytes.len() as u64;
        if self.bytes > MOST_BYTES { Err(Unfit::TooMuch(MOST_BYTES).into()) } else { Ok(Some(bytes)) }
    }

    fn leave_out(&mut self, path: &Path, e: io::Error) -> io::Result<Option<Vec<u8>>> {
        match unfit(&e) {
            Some(Unfit::Directory) => {}
            Some(why) if self.first.is_none() => self.first = Some((path.to_path_buf(), why)),
            Some(_) => self.others += 1,
            None => return Err(e),
        }
        Ok(None)
    }

    /// A message for the user about skipped files, if there are any.
    #[must_use]
    pub fn message(&self) -> Option<String> {
        let (path, why) = self.first.as_ref()?;
        let others = match self.others {
            0 => String::new(),
            1 => "; one more file is left out".to_owned(),
            n => format!("; {n} more files are left out"),
        };
        Some(format!("{} is left out: {why}{others}", path.display()))
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};

    use super::*;

    #[test]
    fn unsuitable_inputs_are_skipped_with_one_message() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        File::create(at("huge")).unwrap().set_len(5 << 30).unwrap();
        fs::write(at("seed"), [7; 100]).unwrap();
        let mut reader = InputReader::of_size(8);
        assert_eq!(reader.read(&at("huge")).unwrap(), None);
        assert_eq!(reader.read(Path::new("/dev/zero")).unwrap(), None);
        assert_eq!(reader.read(dir.path()).unwrap(), None);
        assert_eq!(reader.read(&at("missing")).unwrap(), None);
        assert_eq!(reader.read(&at("seed")).unwrap(), Some(vec![7; 8]));
        let message = reader.message().unwrap();
        assert!(message.ends_with("huge is left out: it is longer than 1 MiB; one more file is left out"), "{message}");
    }

    #[test]
    fn nothing_is_said_about_directories() {
        let mut reader = InputReader::whole();
        assert_eq!(reader.read(Path::new("/")).unwrap(), None);
        assert_eq!(reader.message(), None);
    }
}
