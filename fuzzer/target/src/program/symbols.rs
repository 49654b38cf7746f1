//! Names for addresses: function, file and line of the target, function and file of a library.

use core::ops::Range;
use std::{borrow::Cow, path::Path};

use object::{Object, ObjectSection};

use crate::{
    hash::{StableHash, of_text},
    program::{
        load::{module_of, symbol_of},
        mapped::MappedFile,
    },
};

/// What the pass calls its functions that call a function under test.
const THUNK: &str = "__pen_call.";

/// What the names of the runtime in a target begin with.
const RUNTIME: [&str; 3] = ["__pen_", "__wrap_", "__sanitizer_cov_"];

/// The section with the code of the runtime (`runtime/pen.c`).
const RUNTIME_SECTION: &str = "pen_runtime";

/// Bytes of code without a line that are passed over.
const LINELESS_STRETCH: u64 = 64;

/// The names in one target file, mapped at `base`.
pub struct Symbols {
    base: u64,
    runtime: Range<u64>,
    loader: Option<addr2line::Loader>,
}

impl Symbols {
    /// Of the file at `path`; without its symbols there are offsets only.
    #[must_use]
    pub fn new(path: &Path, base: u64) -> Self {
        Self { base, runtime: runtime(path).unwrap_or_default(), loader: addr2line::Loader::new(path).ok() }
    }

    /// The address as an offset into the target file, if it lies there.
    #[must_use]
    pub fn inside(&self, address: u64) -> Option<u64> {
        module_of(address).is_some_and(|(base, _)| base == self.base).then(|| address - self.base)
    }

    /// Equal for all offsets in one function.
    #[must_use]
    pub fn function_of(&self, offset: u64) -> u64 {
        match self.symbol(offset) {
            Some(name) => of_text(name),
            None => StableHash::new().u64(offset).finish(),
        }
    }

    /// `function (file:line)` of an offset into the target.
    #[must_use]
    pub fn describe(&self, offset: u64) -> String {
        if offset == 0 {
            return "outside the target's own code".to_owned();
        }
        // A function that is inlined into its thunk has only the thunk's symbol.
        let name = self.symbol(offset).map(|n| demangled(n.strip_prefix(THUNK).unwrap_or(n).into()));
        match (self.line(offset), name) {
            (Some((file, line)), name) => format!("{} ({file}:{line})", name.as_deref().unwrap_or("?")),
            (None, Some(name)) => name.into_owned(),
            _ => format!("target+{offset:#x}"),
        }
    }

    /// Is it code of the runtime in the target?
    #[must_use]
    pub fn is_of_runtime(&self, offset: u64) -> bool {
        self.runtime.contains(&offset)
    }

    /// Is it code of the pass that calls a function under test?
    #[must_use]
    pub fn is_thunk(&self, offset: u64) -> bool {
        self.symbol(offset).is_some_and(|n| n.starts_with(THUNK))
    }

    /// The function under test that the thunk at this address calls, or holds.
    #[must_use]
    pub fn thunk_of(&self, address: u64) -> Option<String> {
        let symbol = self.symbol(self.inside(address)?)?.strip_prefix(THUNK)?;
        Some(demangled(symbol.into()).into_owned())
    }

    /// The functions at an address of code, the innermost of those that are inlined there first. Nothing for code of penfuzz in
    /// the target; `None` for what is neither the target's nor a library's.
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

    /// The same by the debug information of the target; empty when it lacks this address.
    fn inlined(&self, offset: u64) -> Vec<String> {
        let mut all = Vec::new();
        let Some(mut frames) = self.loader.as_ref().and_then(|l| l.find_frames(offset).ok()) else { return all };
        while let Ok(Some(frame)) = frames.next() {
            let Some(name) = frame.function.as_ref().and_then(|f| f.raw_name().ok()).map(demangled) else { continue };
            if RUNTIME.iter().any(|r| name.starts_with(r)) {
                continue;
            }
            let place = frame.location.and_then(|l| Some((l.file?.to_owned(), l.line.filter(|n| *n > 0)?)));
            // Optimized code has stretches without a line.
            let place = place.or_else(|| self.line(offset));
            all.push(place.map_or_else(|| name.clone().into_owned(), |(file, line)| format!("{name} ({file}:{line})")));
        }
        all
    }

    /// File, line and column of the code at an offset into the target: of the innermost function first, then of the calls
    /// that were inlined around it. Columns are 0 where they are not known.
    #[must_use]
    pub fn positions(&self, offset: u64) -> Vec<(String, u32, u32)> {
        let mut all = Vec::new();
        let Some(mut frames) = self.loader.as_ref().and_then(|l| l.find_frames(offset).ok()) else { return all };
        while let Ok(Some(frame)) = frames.next() {
            let Some(place) = frame.location else { continue };
            if let (Some(file), Some(line)) = (place.file, place.line) {
                all.push((file.to_owned(), line, place.column.unwrap_or(0)));
            }
        }
        all
    }

    fn symbol(&self, offset: u64) -> Option<&str> {
        self.loader.as_ref()?.find_symbol(offset)
    }

    /// The source line of an address; optimized code has stretches without one, then that of the code before.
    fn line(&self, offset: u64) -> Option<(String, u32)> {
        let loader = self.loader.as_ref()?;
        (0..LINELESS_STRETCH).find_map(|back| {
            let location = loader.find_location(offset.checked_sub(back)?).ok()??;
            Some((location.file?.to_owned(), location.line.filter(|l| *l > 0)?))
        })
    }
}

/// Where the runtime's code lies in the file at `path`.
fn runtime(path: &Path) -> Option<Range<u64>> {
    let bytes = MappedFile::open(path).ok()?;
    let file = object::File::parse(&*bytes).ok()?;
    let section = file.section_by_name(RUNTIME_SECTION)?;
    Some(section.address()..section.address() + section.size())
}

/// The name in the source of a mangled name; any other name as it is. Without its prefix a name of C would be taken for the
/// mangled name of a type: `d` for `double`, `i` for `int`.
#[must_use]
pub fn demangled(name: Cow<'_, str>) -> Cow<'_, str> {
    // Of C++ and of older Rust; of newer Rust. Some systems put one more underscore before each name.
    let is_mangled = ["_Z", "__Z", "_R", "__R"].iter().any(|prefix| name.starts_with(prefix));
    if is_mangled { addr2line::demangle_auto(name, None) } else { name }
}

/// `function (file)` of code in a library that exports the function, else `file+0xoffset`.
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
