//! The memory of a traced process: its content, the files that are mapped in it, and the breakpoints.

use std::{
    collections::HashMap,
    fs::{self, File},
    io,
    os::unix::fs::FileExt,
    path::PathBuf,
    rc::Rc,
};

use penfuzz_target::recorded::ADDRESSES;

use super::{programs::Recordable, ptrace::Task};

/// The instruction `int3`.
const BREAKPOINT: u8 = 0xcc;
/// The entry of `AT_ENTRY` in the auxiliary vector.
const AT_ENTRY: u64 = 9;

/// What is recorded at a breakpoint.
#[derive(Debug, Clone)]
pub(crate) enum Place {
    /// The first instruction of the program: all libraries that it names are loaded.
    Start,
    /// The entry of a function.
    Entry(Rc<Recordable>),
}

#[derive(Debug, Clone)]
struct Breakpoint {
    /// The byte of the program that it replaces.
    original: u8,
    place: Place,
    /// Number of calls that are still read.
    calls_left: u32,
}

/// A range of addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mapping {
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// The offset of `start` in the file.
    pub(crate) offset: u64,
    pub(crate) is_readable: bool,
    pub(crate) is_writable: bool,
    pub(crate) is_executable: bool,
    /// The file, a name such as `[heap]`, or empty.
    pub(crate) name: String,
}

/// Memory, mappings and breakpoints of one process, or of several that share their memory.
#[derive(Debug)]
pub(crate) struct AddressSpace {
    memory: File,
    breakpoints: HashMap<u64, Breakpoint>,
    task: Task,
    /// The mappings as they were when an address was last looked up in vain.
    mappings: Vec<Mapping>,
    /// Whether the mappings were read since the task stopped.
    is_current: bool,
}

impl AddressSpace {
    /// The address space of a task that has just begun to execute a program.
    pub(crate) fn of(task: Task) -> io::Result<Self> {
        let memory = File::options().read(true).write(true).open(format!("/proc/{task}/mem"))?;
        Ok(Self { memory, breakpoints: HashMap::new(), task, mappings: Vec::new(), is_current: false })
    }

    /// The address space of a new process that has a copy of this one.
    pub(crate) fn copy_for(&self, task: Task) -> io::Result<Self> {
        Ok(Self { breakpoints: self.breakpoints.clone(), ..Self::of(task)? })
    }

    /// Places a breakpoint that is read this many times. An address that cannot be written is left as it is.
    pub(crate) fn place(&mut self, at: u64, place: Place, calls: u32) {
        let mut original = [0];
        if self.breakpoints.contains_key(&at) || self.memory.read_exact_at(&mut original, at).is_err() {
            return;
        }
        if self.memory.write_all_at(&[BREAKPOINT], at).is_ok() {
            self.breakpoints.insert(at, Breakpoint { original: original[0], place, calls_left: calls });
        }
    }

    /// A task has reached the breakpoint at this address, which is now removed. Returns what is recorded there; `None`
    /// if no breakpoint was ever placed there.
    pub(crate) fn reach(&mut self, at: u64) -> Option<Place> {
        self.is_current = false;
        let breakpoint = self.breakpoints.get_mut(&at)?;
        breakpoint.calls_left = breakpoint.calls_left.saturating_sub(1);
        let _ = self.memory.write_all_at(&[breakpoint.original], at);
        Some(breakpoint.place.clone())
    }

    /// Whether the breakpoint at this address is to be placed again.
    pub(crate) fn is_wanted(&self, at: u64) -> bool {
        self.breakpoints.get(&at).is_some_and(|b| b.calls_left > 0)
    }

    /// Places a breakpoint again.
    pub(crate) fn place_again(&self, at: u64) {
        let _ = self.memory.write_all_at(&[BREAKPOINT], at);
    }

    /// No further call of the function at this address is read.
    pub(crate) fn forget(&mut self, at: u64) {
        if let Some(breakpoint) = self.breakpoints.get_mut(&at) {
            breakpoint.calls_left = 0;
        }
    }

    /// The mapping that contains an address.
    pub(crate) fn mapping_of(&mut self, at: u64) -> Option<&Mapping> {
        let index = |mappings: &[Mapping]| {
            let i = mappings.partition_point(|m| m.end <= at);
            mappings.get(i).is_some_and(|m| m.start <= at).then_some(i)
        };
        // Other numbers are rarely addresses of memory that was mapped since then.
        let may_be_new = ADDRESSES.contains(&at) || self.mappings.is_empty();
        if index(&self.mappings).is_none() && may_be_new && !self.is_current {
            self.mappings = mappings(self.task);
            self.is_current = true;
        }
        index(&self.mappings).map(|i| &self.mappings[i])
    }

    /// Up to `size` bytes from this address on, as far as there is memory.
    pub(crate) fn read(&self, at: u64, size: usize) -> Vec<u8> {
        let mut bytes = vec![0; size];
        let mut n = 0;
        while n < size {
            match self.memory.read_at(&mut bytes[n..], at + n as u64) {
                Ok(more @ 1..) => n += more,
                _ => break,
            }
        }
        bytes.truncate(n);
        bytes
    }

    /// The number at this address.
    pub(crate) fn word(&self, at: u64) -> Option<u64> {
        let mut bytes = [0; 8];
        self.memory.read_exact_at(&mut bytes, at).ok()?;
        Some(u64::from_le_bytes(bytes))
    }
}

/// The mappings of a task, in the order of their addresses.
pub(crate) fn mappings(task: Task) -> Vec<Mapping> {
    let text = fs::read_to_string(format!("/proc/{task}/maps")).unwrap_or_default();
    text.lines().filter_map(mapping).collect()
}

/// Reads a line of `/proc/PID/maps`: `start-end rwxp offset device inode name`.
fn mapping(line: &str) -> Option<Mapping> {
    let mut fields = line.splitn(6, ' ');
    let (start, end) = fields.next()?.split_once('-')?;
    let (rights, offset) = (fields.next()?, fields.next()?);
    let name = fields.nth(2).unwrap_or_default().trim_start();
    let number = |digits| u64::from_str_radix(digits, 16).ok();
    Some(Mapping {
        start: number(start)?,
        end: number(end)?,
        offset: number(offset)?,
        is_readable: rights.contains('r'),
        is_writable: rights.contains('w'),
        is_executable: rights.contains('x'),
        name: name.to_owned(),
    })
}

/// The address of the first instruction of the program of this task; `None` if it is not a program of 64 bits.
pub(crate) fn start_of(task: Task) -> Option<u64> {
    let header = File::open(format!("/proc/{task}/exe")).ok().and_then(|file| {
        let mut header = [0; 5];
        file.read_exact_at(&mut header, 0).ok().map(|()| header)
    })?;
    if header != *b"\x7fELF\x02" {
        return None;
    }
    let vector = fs::read(format!("/proc/{task}/auxv")).ok()?;
    let words: Vec<u64> =
        vector.chunks_exact(8).filter_map(|c| c.first_chunk()).map(|c| u64::from_le_bytes(*c)).collect();
    words.chunks_exact(2).find(|entry| entry[0] == AT_ENTRY).map(|entry| entry[1])
}

/// The file of a mapping, as the tracer can open it.
pub(crate) fn file_of(mapping: &Mapping) -> Option<PathBuf> {
    mapping.name.starts_with('/').then(|| PathBuf::from(&mapping.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_mappings() {
        let line = "7f0000001000-7f0000003000 r-xp 00002000 fe:00 1234                       /tmp/with space";
        let expected = Mapping {
            start: 0x7f00_0000_1000,
            end: 0x7f00_0000_3000,
            offset: 0x2000,
            is_readable: true,
            is_writable: false,
            is_executable: true,
            name: "/tmp/with space".to_owned(),
        };
        assert_eq!(mapping(line), Some(expected));
        assert_eq!(mapping("00400000-00401000 rw-p 00000000 00:00 0").map(|m| m.name), Some(String::new()));
        assert_eq!(mapping("nonsense"), None);
    }
}
