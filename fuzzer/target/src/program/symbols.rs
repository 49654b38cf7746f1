//! Names of addresses: function, file and line in the target; function and file in a library.

use core::ops::Range;
use std::{borrow::Cow, path::Path};

use object::{Object, ObjectSection};

use crate::{
    hash::{StableHash, of_text},
    program::{
        mapped::MappedFile,
        modules::{base_of, module_of, symbol_of},
    },
};

/// Prefixes of the thunks that the pass emits to call a function under test.
const THUNKS: [&str; 2] = ["__pen_call.", "__pen_frame."];

/// The symbol of the function that the thunk of this name calls; `None` if it is no thunk.
fn of_thunk(symbol: &str) -> Option<&str> {
    THUNKS.iter().find_map(|thunk| symbol.strip_prefix(thunk))
}

/// Prefixes of the names of the runtime in a target.
const RUNTIME: [&str; 3] = ["__pen_", "__wrap_", "__sanitizer_cov_"];

/// The section with the code of the runtime (`runtime/pen.c`).
const RUNTIME_SECTION: &str = "pen_runtime";

/// Maximum number of bytes to search backwards for code with a line.
const LINELESS_STRETCH: u64 = 64;

/// The names in one target file, mapped at `base`.
pub struct Symbols {
    base: u64,
    runtime: Range<u64>,
    loader: Option<addr2line::Loader>,
}

impl Symbols {
    /// Reads the file at `path`. If it has no symbols, addresses are described by offsets.
    #[must_use]
    pub fn new(path: &Path, base: u64) -> Self {
        Self { base, runtime: runtime(path).unwrap_or_default(), loader: addr2line::Loader::new(path).ok() }
    }

    /// The offset of the address in the target file, if it lies there.
    #[must_use]
    pub fn inside(&self, address: u64) -> Option<u64> {
        (base_of(address) == Some(self.base)).then(|| address - self.base)
    }

    /// Returns a value that is equal for all offsets in one function.
    #[must_use]
    pub fn function_of(&self, offset: u64) -> u64 {
        match self.symbol(offset) {
            Some(name) => of_text(name),
            None => StableHash::new().u64(offset).finish(),
        }
    }

    /// Returns `function (file:line)` of an offset in the target.
    #[must_use]
    pub fn describe(&self, offset: u64) -> String {
        if offset == 0 {
            return "outside the target's own code".to_owned();
        }
        // A function that is inlined into its thunk has only the thunk's symbol.
        let name = self.symbol(offset).map(|n| demangled(of_thunk(n).unwrap_or(n).into()));
        match (self.line(offset), name) {
            (Some((file, line)), name) => format!("{} ({file}:{line})", name.as_deref().unwrap_or("?")),
            (None, Some(name)) => name.into_owned(),
            _ => format!("target+{offset:#x}"),
        }
    }

    /// Does the offset lie in the runtime's code?
    #[must_use]
    pub fn is_of_runtime(&self, offset: u64) -> bool {
        self.runtime.contains(&offset)
    }

    /// Does the address lie in the function of this name?
    #[must_use]
    pub fn is_in(&self, address: u64, function: &str) -> bool {
        self.inside(address).and_then(|offset| self.symbol(offset)) == Some(function)
    }

    /// Does the offset lie in a thunk?
    #[must_use]
    pub fn is_thunk(&self, offset: u64) -> bool {
        self.symbol(offset).is_some_and(|n| of_thunk(n).is_some())
    }

    /// The function under test that the thunk at this address calls or inlines.
    #[must_use]
    pub fn thunk_of(&self, address: u64) -> Option<String> {
        let symbol = self.symbol(self.inside(address)?)?;
        Some(demangled(of_thunk(symbol)?.into()).into_owned())
    }

    /// The functions at a code address, the innermost inlined function first. Empty for code of penfuzz in the target;
    /// `None` for an address in neither the target nor a library.
    #[must_use]
    pub fn frames(&self, address: u64) -> Option<Vec<String>> {
        let Some(offset) = self.inside(address) else { return in_library(address).map(|f| vec![f]) };
        let inlined = self.inlined(offset);
        if !inlined.is_empty() {
            return Some(inlined);
        }
        let is_ours =
            self.is_of_runtime(offset) || self.symbol(offset).is_some_and(|n| RUNTIME.iter().any(|r| n.starts_with(r)));
        Some(if is_ours { Vec::new() } else { vec![self.describe(offset)] })
    }

    /// The functions at an offset according to the target's debug information; empty if it lacks this offset.
    fn inlined(&self, offset: u64) -> Vec<String> {
        let mut all = Vec::new();
        let Some(mut frames) = self.loader.as_ref().and_then(|l| l.find_frames(offset).ok()) else { return all };
        while let Ok(Some(frame)) = frames.next() {
            let Some(name) = frame.function.as_ref().and_then(|f| f.raw_name().ok()).map(demangled) else { continue };
            if RUNTIME.iter().any(|r| name.starts_with(r)) {
                continue;
            }
            let place = frame.location.and_then(|l| Some((l.file?.to_owned(), l.line.filter(|n| *n > 0)?)));
            // Optimized code has instructions without a line.
            let place = place.or_else(|| self.line(offset));
            all.push(place.map_or_else(|| name.clone().into_owned(), |(file, line)| format!("{name} ({file}:{line})")));
        }
        all
    }

    /// The positions of the code at an offset in the target: the innermost inlined function first, then the calls
    /// around it.
    #[must_use]
    pub fn positions(&self, offset: u64) -> Vec<SourcePosition> {
        let mut all = Vec::new();
        let Some(mut frames) = self.loader.as_ref().and_then(|l| l.find_frames(offset).ok()) else { return all };
        while let Ok(Some(frame)) = frames.next() {
            let Some(place) = frame.location else { continue };
            if let (Some(file), Some(line)) = (place.file, place.line) {
                all.push(SourcePosition { file: file.to_owned(), line, column: place.column.unwrap_or(0) });
            }
        }
        all
    }

    fn symbol(&self, offset: u64) -> Option<&str> {
        self.loader.as_ref()?.find_symbol(offset)
    }

    /// The source line of an offset. Optimized code has instructions without a line; they get the line of the code
    /// before.
    fn line(&self, offset: u64) -> Option<(String, u32)> {
        let loader = self.loader.as_ref()?;
        (0..LINELESS_STRETCH).find_map(|back| {
            let location = loader.find_location(offset.checked_sub(back)?).ok()??;
            Some((location.file?.to_owned(), location.line.filter(|l| *l > 0)?))
        })
    }
}

/// A position in the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourcePosition {
    /// The path, as in the debug information.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1; 0 if it is unknown.
    pub column: u32,
}

/// The range of the runtime's code in the file at `path`.
fn runtime(path: &Path) -> Option<Range<u64>> {
    let bytes = MappedFile::open(path).ok()?;
    let file = object::File::parse(&*bytes).ok()?;
    let section = file.section_by_name(RUNTIME_SECTION)?;
    Some(section.address()..section.address() + section.size())
}

/// Demangles a name. A name that is not mangled is returned unchanged: without the check of its prefix, a name of C
/// would be demangled as a type: `d` as `double`, `i` as `int`.
#[must_use]
pub fn demangled(name: Cow<'_, str>) -> Cow<'_, str> {
    // Prefixes of C++ and older Rust, and of newer Rust. Some systems prepend another underscore to each name.
    let is_mangled = ["_Z", "__Z", "_R", "__R"].iter().any(|prefix| name.starts_with(prefix));
    if !is_mangled {
        name
    } else if name.is_ascii() {
        addr2line::demangle_auto(name, None)
    } else {
        demangled_in_ascii(&name).into()
    }
}

/// Demangles a name with other characters than ASCII, which the demangler does not read. Meanwhile each has a stand-in
/// of as many bytes, because a mangled name contains the lengths of its parts: `$`, a letter, and again `$`.
fn demangled_in_ascii(name: &str) -> String {
    let mut others: Vec<char> = name.chars().filter(|c| !c.is_ascii()).collect();
    others.sort_unstable();
    others.dedup();
    if name.contains('$') || others.len() > usize::from(b'z' - b'a') {
        return name.to_owned();
    }
    let stand_in = |i: usize, c: char| format!("${}{}", char::from(b'a' + i as u8), "$".repeat(c.len_utf8() - 2));
    let pairs: Vec<(char, String)> = others.iter().enumerate().map(|(i, c)| (*c, stand_in(i, *c))).collect();
    let ascii = pairs.iter().fold(name.to_owned(), |text, (c, instead)| text.replace(*c, instead));
    let demangled = addr2line::demangle_auto(ascii.into(), None).into_owned();
    pairs.iter().fold(demangled, |text, (c, instead)| text.replace(instead, c.encode_utf8(&mut [0; 4])))
}

/// Returns `function (file)` for code of a library that exports the function, else `file+0xoffset`.
fn in_library(address: u64) -> Option<String> {
    let (base, path) = module_of(address)?;
    let file = path.file_name()?.to_string_lossy().into_owned();
    Some(match symbol_of(address) {
        Some(name) => format!("{} ({file})", demangled(name.into())),
        None => format!("{file}+{:#x}", address - base),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_letters_of_any_alphabet() {
        assert_eq!(demangled("_Z5preis7Größed".into()), "preis(Größe, double)");
        assert_eq!(demangled("_ZN6値値1fES_".into()), "値値::f(値値)");
    }

    #[test]
    fn names_of_c_are_not_types() {
        for name in ["d", "i", "x", "f", "St", "Sa", "PKc", "main", "__pen_call", "_Zzz", "_Rzz", ""] {
            assert_eq!(demangled(name.into()), name);
        }
    }

    #[test]
    fn mangled_names_are_demangled() {
        for (name, source) in [
            ("_Z1fd", "f(double)"),
            ("__Z1fd", "f(double)"),
            ("_ZN3foo3barEv", "foo::bar()"),
            ("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "core::fmt::Write::write_fmt"),
            ("_RNvC6_123foo3bar", "123foo::bar"),
        ] {
            assert_eq!(demangled(name.into()), source);
        }
    }
}
