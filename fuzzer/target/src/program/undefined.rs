//! Stubs for symbols that neither the sources nor the libraries define.
//!
//! A function can be tested even if other functions of its file call code that is missing. The linker reports the
//! undefined symbols. Each gets a stub in a special section, which penfuzz makes inaccessible after loading. So any use
//! of a stub, as a function or as a variable, faults there, and the address identifies the symbol.

use std::{collections::BTreeSet, fmt::Write, path::Path};

use object::{Object, ObjectSection, ObjectSymbol};

use super::mapped::MappedFile;

/// The section of the stubs.
pub const SECTION: &str = ".pen_undefined";

/// The largest page size of the machine. The section starts and ends at a multiple of it, so that its protection
/// affects nothing else.
const PAGE: u64 = if cfg!(target_arch = "x86_64") { 1 << 12 } else { 1 << 16 };

/// Size of a stub in bytes. In an array up to this size, the address of each element identifies the symbol.
const STUB: u64 = 1 << 12;

/// Linker arguments for another program with the same code: they define each symbol as 0.
pub fn defined_as_zero(stubs: &Stubs) -> impl Iterator<Item = String> {
    stubs.names().into_iter().map(|name| format!("-Wl,--defsym={name}=0"))
}

/// The undefined symbols in the messages of a linker: GNU ld, gold, lld or mold.
#[must_use]
pub fn named_by_linker(messages: &str) -> BTreeSet<String> {
    messages.lines().filter_map(named_in).filter(|name| is_symbol(name)).map(str::to_owned).collect()
}

fn named_in(line: &str) -> Option<&str> {
    if let Some((_, name)) = line.split_once("undefined reference to ") {
        return Some(name.trim_matches(['`', '\'', '"', ' ']));
    }
    let (_, name) = line.split_once("undefined symbol: ").or_else(|| line.split_once("undefined hidden symbol: "))?;
    Some(name.trim())
}

/// Is this a name that an assembler accepts between quotes?
fn is_symbol(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "_.$@".contains(c))
}

/// Returns assembly that defines stubs for these symbols.
#[must_use]
pub fn assembly<'a>(names: impl IntoIterator<Item = &'a String>) -> String {
    let mut text = format!(".section {SECTION},\"a\"\n.balign {PAGE}\n");
    for name in names {
        let _ = writeln!(text, ".globl \"{name}\"\n.size \"{name}\", {STUB}\n\"{name}\":\n.zero {STUB}");
    }
    let _ = writeln!(text, ".balign {PAGE}");
    text.push_str(".section .note.GNU-stack,\"\"\n");
    text
}

/// The stubs of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stubs {
    /// Start and end of the section in the file's address space.
    section: (u64, u64),
    /// Address and name of each stub, ascending.
    symbols: Vec<(u64, String)>,
}

impl Stubs {
    /// Reads the stubs of the file at `path`; empty if it has no such section.
    #[must_use]
    pub fn of(path: &Path) -> Self {
        Self::read(path).unwrap_or_default()
    }

    fn read(path: &Path) -> Option<Self> {
        let bytes = MappedFile::open(path).ok()?;
        let file = object::File::parse(&*bytes).ok()?;
        let section = file.section_by_name(SECTION)?;
        let (first, end) = (section.address(), section.address() + section.size());
        let is_stub = |s: &object::Symbol| s.is_definition() && s.section_index() == Some(section.index());
        let name = |s: &object::Symbol| s.name().ok().filter(|n| !n.is_empty()).map(str::to_owned);
        let found: BTreeSet<_> =
            file.symbols().filter(is_stub).filter_map(|s| Some((s.address(), name(&s)?))).collect();
        Some(Self { section: (first, end), symbols: found.into_iter().collect() })
    }

    /// Are there no stubs?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.symbols.is_empty()
    }

    /// The names of all stubs, in alphabetical order.
    #[must_use]
    pub fn names(&self) -> BTreeSet<&str> {
        self.symbols.iter().map(|(_, name)| name.as_str()).collect()
    }

    /// The symbol whose stub contains this offset in the file.
    #[must_use]
    pub fn at(&self, offset: u64) -> Option<&str> {
        let (first, end) = self.section;
        if !(first..end).contains(&offset) {
            return None;
        }
        let behind = self.symbols.partition_point(|(address, _)| *address <= offset);
        behind.checked_sub(1).map(|i| self.symbols[i].1.as_str())
    }

    /// Makes the stubs inaccessible in the file mapped at `base`. Has no effect unless the section starts and ends at
    /// page boundaries.
    pub fn protect(&self, base: u64) {
        let (first, end) = self.section;
        if first % PAGE == 0 && end % PAGE == 0 && end > first {
            // SAFETY: the section contains only the stubs, and nothing refers to their contents.
            unsafe { libc::mprotect((base + first) as *mut libc::c_void, (end - first) as usize, libc::PROT_NONE) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn undefined_symbols_are_parsed_for_each_linker() {
        let text = "/usr/bin/ld: a.o: in function `f':
a.c:(.text+0x1b): undefined reference to `helper'
/usr/bin/ld: a.c:(.text+0x2b): more undefined references to `helper' follow
ld.lld: error: undefined symbol: _ZN1a1bEv
>>> referenced by a.c:3
ld.gold: a.o:a.c:function f: error: undefined reference to 'other.1'
mold: error: undefined symbol: table
clang: error: linker command failed with exit code 1 (use -v to see invocation)
undefined reference to `evil\"; .incbin'";
        let found: Vec<_> = named_by_linker(text).into_iter().collect();
        assert_eq!(found, ["_ZN1a1bEv", "helper", "other.1", "table"]);
    }

    #[test]
    fn an_address_in_a_stub_has_its_symbol() {
        let stubs = Stubs { section: (100, 300), symbols: vec![(100, "a".to_owned()), (200, "b".to_owned())] };
        let at = |offset| stubs.at(offset);
        assert_eq!(
            (at(99), at(100), at(199), at(200), at(299), at(300)),
            (None, Some("a"), Some("a"), Some("b"), Some("b"), None)
        );
        assert_eq!(Stubs::default().at(0), None);
    }
}
