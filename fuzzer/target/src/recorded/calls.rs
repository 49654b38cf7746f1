//! A recorded call, and the files of a recording: one per function, with one JSON object per line and call.

use std::{
    collections::BTreeMap,
    io,
    ops::Range,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

/// Extension of the files of a recording.
pub const CALLS: &str = "calls";

/// Where the system places code, libraries, heaps and stacks of programs of 64 bits that can be placed anywhere.
pub const ADDRESSES: Range<u64> = 0x5000_0000_0000..0x8000_0000_0000;

/// Where a piece of memory lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// A block of `malloc`: the piece is the whole block, unless it is too large.
    Heap,
    /// The stack of a thread. The size of the object is not known.
    Stack,
    /// A variable with static storage duration, or a constant. The size of the object is not known.
    Static,
    /// Other memory, such as the inside of a block of `malloc`.
    Other,
}

/// Consecutive bytes of memory at the time of a call.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Piece {
    /// Address of the first byte.
    pub at: u64,
    /// Where the piece lies.
    pub origin: Origin,
    /// Its content.
    pub bytes: Bytes,
}

/// Bytes that are hexadecimal digits in a file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Bytes(#[serde(with = "hexadecimal")] pub Vec<u8>);

/// One call of a function.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RecordedCall {
    /// The arguments, as they lie in memory.
    pub arguments: Vec<Bytes>,
    /// The memory that the arguments lead to.
    pub memory: RecordedMemory,
}

/// The memory that the arguments of a call lead to, directly and through other pointers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RecordedMemory {
    /// The pieces, nearest to the arguments first.
    pub pieces: Vec<Piece>,
}

impl RecordedMemory {
    /// The known bytes from this address on; `None` if the address is not recorded.
    #[must_use]
    pub fn from(&self, at: u64) -> Option<&[u8]> {
        let offset = |p: &Piece| at.checked_sub(p.at).filter(|offset| *offset < p.bytes.0.len() as u64);
        self.pieces.iter().find_map(|p| Some(&p.bytes.0[offset(p)? as usize..]))
    }

    /// An index of the pieces, for many lookups.
    #[must_use]
    pub fn places(&self) -> Places {
        let ends = |(i, p): (usize, &Piece)| (p.at, (p.at + p.bytes.0.len() as u64, i));
        Places(self.pieces.iter().enumerate().map(ends).collect())
    }

    /// The recorded size of the block of `malloc` that begins at this address: all of it, unless it is very large.
    #[must_use]
    pub fn block_size(&self, at: u64) -> Option<usize> {
        self.pieces.iter().find(|p| p.at == at && p.origin == Origin::Heap).map(|p| p.bytes.0.len())
    }
}

/// An index of the pieces of memory: their ends and numbers, by their starts.
#[derive(Debug, Clone)]
pub struct Places(BTreeMap<u64, (u64, usize)>);

impl Places {
    /// The piece that contains this address, and the offset in it.
    #[must_use]
    pub fn of(&self, at: u64) -> Option<(usize, u64)> {
        let (start, (end, i)) = self.0.range(..=at).next_back()?;
        (at < *end).then_some((*i, at - start))
    }
}

/// The file of a recording with the calls of the function of this symbol. Characters of a symbol that some file systems
/// refuse become `_`.
#[must_use]
pub fn of_symbol(dir: &Path, symbol: &str) -> PathBuf {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_.$-".contains(c);
    let mut name: String = symbol.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
    name.truncate(200);
    dir.join(name).with_added_extension(CALLS)
}

/// Reads the calls of a file. A line that is no call, such as one whose end was not written, is left out.
///
/// # Errors
/// When the file cannot be read.
pub fn read(file: &Path) -> io::Result<Vec<RecordedCall>> {
    let text = std::fs::read_to_string(file)?;
    Ok(text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect())
}

/// Bytes as a text of hexadecimal digits.
mod hexadecimal {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub fn serialize<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let digits = bytes.iter().flat_map(|b| [b >> 4, b & 15]).map(|d| char::from(DIGITS[usize::from(d)]));
        to.serialize_str(&digits.collect::<String>())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
        let text = String::deserialize(from)?;
        let digit = |c: u8| char::from(c).to_digit(16).ok_or_else(|| D::Error::custom("no hexadecimal digit"));
        let pairs = text.as_bytes().chunks_exact(2);
        pairs.map(|pair| Ok((digit(pair[0])? << 4 | digit(pair[1])?) as u8)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_what_was_written() {
        let piece = Piece { at: 0x1000, origin: Origin::Heap, bytes: Bytes(vec![0, 0x7f, 0xff]) };
        let call = RecordedCall {
            arguments: vec![Bytes(vec![1, 2]), Bytes(Vec::new())],
            memory: RecordedMemory { pieces: vec![piece] },
        };
        let dir = tempfile::tempdir().expect("a directory");
        let file = of_symbol(dir.path(), "ns::f(int)");
        assert_eq!(file.file_name().and_then(|n| n.to_str()), Some("ns__f_int_.calls"));
        let line = serde_json::to_string(&call).expect("JSON");
        std::fs::write(&file, format!("{line}\n{}", &line[..line.len() / 2])).expect("written");
        assert_eq!(read(&file).expect("read"), core::slice::from_ref(&call));
        assert_eq!(call.memory.from(0x1001), Some(&[0x7f, 0xff][..]));
        assert_eq!(call.memory.from(0x1003), None);
        assert_eq!(call.memory.block_size(0x1000), Some(3));
        assert_eq!(call.memory.block_size(0x1001), None);
    }
}
