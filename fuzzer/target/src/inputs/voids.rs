//! The types that `void *` point to, as the code uses them: the findings of the compiler pass (`pass/tables/voids.cc`)
//! for one function.
//!
//! The type of a parameter is shown by its own function. The type behind a member of a structure may differ between
//! functions, for example `Data` of a stage of some pipeline. The order of precedence is: the use in the function
//! itself, the uses in the functions that it calls directly, a use that all functions agree on. If uses contradict each
//! other, the memory stays bytes. Only functions of the same translation unit count: a test of the function must be
//! able to name the type.

use std::{collections::HashMap, ffi::CStr};

use penfuzz_abi::{self as abi, type_kind};

use crate::program::{Function, Target};

/// A structure, identified by its name, or by its record if it has none.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Structure {
    Named(Vec<u8>),
    Record(*const abi::Type),
}

/// The pointer types that replace `void *` in members, by structure and byte offset; `None` if functions contradict
/// each other.
pub(crate) type Members = HashMap<(Structure, u64), Option<*const abi::Type>>;

impl Structure {
    /// The structure of a record; `None` if the record is null.
    fn of(record: *const abi::Type) -> Option<Self> {
        // SAFETY: null, or a constant of the loaded file, which stays loaded.
        let name = unsafe { record.as_ref() }?.name;
        // SAFETY: as above.
        let name = if name.is_null() { &[] } else { unsafe { CStr::from_ptr(name) }.to_bytes() };
        Some(if name.is_empty() { Self::Record(record) } else { Self::Named(name.to_vec()) })
    }
}

/// The types behind `void *` members of structures, for one function.
pub(crate) struct Casts<'a> {
    own: Members,
    called: Members,
    all: Option<&'a Members>,
}

/// The types that all functions of a translation unit agree on, by source file.
pub(crate) type Units = HashMap<&'static str, Members>;

impl<'a> Casts<'a> {
    pub fn of(target: &'a Target, f: &Function) -> Self {
        let unit = f.unit();
        let edges = target.sites[f.sites.clone()].iter().flat_map(|s| &s.edges);
        let called = edges.chain([&f.entry_edges]).flat_map(|e| &e.calls).map(|i| &target.functions[*i]);
        let all = target.casts.get_or_init(|| units(&target.functions));
        Self { own: members([f]), called: members(called.filter(|g| g.unit() == unit)), all: all.get(unit) }
    }

    /// The pointer type of the `void *` at this byte of a structure; `None` if the code shows none.
    pub fn at(&self, structure: *const abi::Type, byte: usize) -> Option<*const abi::Type> {
        let key = (Structure::of(structure)?, byte as u64);
        *[Some(&self.own), Some(&self.called), self.all].into_iter().flatten().find_map(|level| level.get(&key))?
    }
}

fn units(functions: &[Function]) -> Units {
    let mut of_units: HashMap<_, Vec<_>> = HashMap::new();
    for f in functions {
        of_units.entry(f.unit()).or_default().push(f);
    }
    of_units.into_iter().map(|(unit, functions)| (unit, members(functions))).collect()
}

fn members<'f>(functions: impl IntoIterator<Item = &'f Function>) -> Members {
    let mut found = Members::new();
    for cast in functions.into_iter().flat_map(Function::casts) {
        let Some(structure) = Structure::of(cast.of) else { continue };
        let to = Some(cast.to).filter(|to| !to.is_null());
        let known = found.entry((structure, cast.at)).or_insert(to);
        *known = known.filter(|known| to.is_some_and(|to| is_same(*known, to)));
    }
    found
}

/// Whether two records, perhaps of different translation units, describe the same type.
fn is_same(a: *const abi::Type, b: *const abi::Type) -> bool {
    // SAFETY: null, or constants of the loaded file.
    let (Some(left), Some(right)) = (unsafe { a.as_ref() }, unsafe { b.as_ref() }) else { return a == b };
    // SAFETY: as above.
    let name = |t: &abi::Type| if t.name.is_null() { c"" } else { unsafe { CStr::from_ptr(t.name) } };
    if a == b || left.kind == type_kind::POINTER && right.kind == type_kind::POINTER {
        return a == b || is_same(left.target, right.target);
    }
    !name(left).is_empty() && name(left) == name(right)
}
