//! The translation units that a function needs: those that a program must be linked from to call it. A library of
//! hundreds of files is seldom needed completely.
//!
//! A unit is needed if it contains the function, runs code when the file is loaded, or defines a symbol to which a
//! needed unit refers. A unit is linked as a whole, so all its references count, including those of functions that are
//! never called.

use core::ffi::{CStr, c_char};
use std::collections::{BTreeSet, HashMap};

use object::{Object, ObjectSymbol};
use penfuzz_abi as abi;

use super::{Function, Target, environment::is_provided, mapped::MappedFile};

/// The sources of the translation units that `function` needs, as recorded by the compiler. `None` if it may need code
/// in the file that pen-cc did not compile, because the source of that code is unknown.
#[must_use]
pub fn needed(target: &Target, function: &Function) -> Option<BTreeSet<String>> {
    let units = Units::of(target);
    let named = Symbols::of(target);
    let mut found = BTreeSet::new();
    let mut work: Vec<*const c_char> = target.records().filter(|f| f.is_constructor != 0).map(|f| f.unit).collect();
    // SAFETY: a record of the loaded file, which is never unloaded.
    work.push(unsafe { (*function.record).unit });
    // SAFETY: as above.
    work.extend(function.constructors().map(|maker| unsafe { (*target.functions[maker].record).unit }));
    while let Some(unit) = work.pop() {
        let unit = text(unit);
        if found.contains(unit) {
            continue;
        }
        for reference in units.references.get(unit).into_iter().flatten().flat_map(|r| references(r)) {
            match reference {
                Reference::Known(unit) => work.push(unit),
                Reference::Named(name) => match named.find(name) {
                    Found::Unit(unit) => work.push(unit),
                    Found::Elsewhere => {}
                    Found::NotInstrumented => return None,
                },
            }
        }
        found.insert(unit.to_owned());
    }
    Some(found)
}

/// The source of the translation unit that defines `function`, as recorded by the compiler.
#[must_use]
pub fn unit_of(function: &Function) -> &'static str {
    // SAFETY: a record of the loaded file, which is never unloaded.
    text(unsafe { (*function.record).unit })
}

/// The references of each unit.
struct Units {
    references: HashMap<&'static str, Vec<&'static abi::References>>,
}

impl Units {
    fn of(target: &Target) -> Self {
        let mut references: HashMap<_, Vec<_>> = HashMap::new();
        let functions = target.records().map(|f| (f.unit, f.references));
        for (unit, uses) in functions.chain(target.variables().map(|v| (v.unit, v.references))) {
            // SAFETY: null or a constant of the loaded file.
            references.entry(text(unit)).or_default().extend(unsafe { uses.as_ref() });
        }
        Self { references }
    }
}

enum Reference {
    /// A symbol defined in this unit.
    Known(*const c_char),
    /// A symbol without a record, by its name in the object file.
    Named(&'static [u8]),
}

fn references(r: &'static abi::References) -> impl Iterator<Item = Reference> {
    let functions = (0..r.n_functions as usize).map(|i| {
        // SAFETY: two arrays of this length, of records of the loaded file.
        unsafe { ((*r.functions.add(i)).as_ref().map(|f| f.unit), *r.function_names.add(i)) }
    });
    let variables = (0..r.n_variables as usize).map(|i| {
        // SAFETY: as above.
        unsafe { ((*r.variables.add(i)).as_ref().map(|v| v.unit), *r.variable_names.add(i)) }
    });
    functions.chain(variables).map(|(unit, name)| {
        // SAFETY: a string of the loaded file.
        unit.map_or_else(|| Reference::Named(unsafe { CStr::from_ptr(name) }.to_bytes()), Reference::Known)
    })
}

enum Found {
    Unit(*const c_char),
    /// The symbol is defined in another file.
    Elsewhere,
    NotInstrumented,
}

/// The symbols that the file defines. A symbol without a record may be an alias of one that has a record.
struct Symbols {
    addresses: HashMap<Vec<u8>, u64>,
    units: HashMap<u64, *const c_char>,
}

impl Symbols {
    fn of(target: &Target) -> Self {
        let base = target.base();
        let mut addresses = HashMap::new();
        let stubs = target.undefined.names();
        let bytes = MappedFile::open(&target.path).ok();
        if let Some(file) = bytes.as_ref().and_then(|bytes| object::File::parse(&**bytes).ok()) {
            for symbol in file.symbols().chain(file.dynamic_symbols()).filter(ObjectSymbol::is_definition) {
                let name = symbol.name_bytes().ok();
                if let Some(name) =
                    name.filter(|n| str::from_utf8(n).is_ok_and(|n| !stubs.contains(n) && !is_provided(n)))
                {
                    addresses.insert(name.to_vec(), base + symbol.address());
                }
            }
        }
        let functions = target.records().map(|f| (f.address as u64, f.unit));
        let units = functions.chain(target.variables().map(|v| (v.address as u64, v.unit))).collect();
        Self { addresses, units }
    }

    fn find(&self, name: &[u8]) -> Found {
        let Some(address) = self.addresses.get(name) else { return Found::Elsewhere };
        self.units.get(address).map_or(Found::NotInstrumented, |unit| Found::Unit(*unit))
    }
}

/// Returns a string of the loaded file.
fn text(p: *const c_char) -> &'static str {
    // SAFETY: the records' strings live as long as the file is loaded, which is for ever.
    unsafe { CStr::from_ptr(p) }.to_str().unwrap_or_default()
}
