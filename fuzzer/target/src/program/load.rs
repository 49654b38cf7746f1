//! Loads a target file into the process and reads its tables into owned values.

use core::ffi::{CStr, c_char};
use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

use penfuzz_abi as abi;
use penfuzz_error::{Error, at};

use super::{
    decision::{self, Decision},
    edges::Edges,
    function::{DeepMemory, Function, Parameter, kind_of, make_names_unique},
    modules::base_of,
    names::qualified,
    open::{open, tables, uses_environment},
    site::Site,
    undefined::Stubs,
};

/// The last line that the C standard allows in `#line`. Compilers accept more, but readers of reports do not.
const LAST_LINE: u32 = i32::MAX as u32;

/// A loaded target file. Its code may run only under the guard of the executor.
#[derive(Debug)]
pub struct Target {
    /// The file.
    pub path: PathBuf,
    /// The name for messages: the file, or the source it was compiled from.
    pub name: PathBuf,
    /// Every defined function.
    pub functions: Vec<Function>,
    /// Every site.
    pub sites: Vec<Site>,
    /// Number of branches of all sites. A branch is a number below this.
    pub n_branches: usize,
    /// For each case of a switch: the distance from its value to the nearest value that leads to the default; 0 if its
    /// own value does.
    pub to_default: Vec<u32>,
    /// Number of `SanCov` guards.
    pub n_guards: usize,
    /// Stubs for undefined symbols.
    pub undefined: Stubs,
    /// The functions that may create objects, by the names of the objects' types; filled on first use.
    pub(crate) constructors: std::sync::OnceLock<HashMap<Vec<u8>, Vec<usize>>>,
    /// The types of `void *` members on which the functions of each unit agree; computed on first use.
    pub(crate) casts: std::sync::OnceLock<crate::inputs::voids::Units>,
    tables: *const abi::Tables,
}

impl Target {
    /// Loads `path`. This runs the constructors of the target.
    ///
    /// # Errors
    /// If the loader refuses the file, or its tables are missing or of another version.
    pub fn load(path: &Path) -> Result<Self, Error> {
        let handle = open(path)?;
        let tables = tables(handle, path);
        if tables.is_null() {
            return Err(at(
                path,
                "has no pen tables: build it with pen-cc (or pen-c++), or give penfuzz the source file",
            ));
        }
        // SAFETY: `version` is the first member in every version of the tables.
        let version = unsafe { (*tables).version };
        if version != abi::VERSION {
            return Err(at(
                path,
                format!(
                    "has pen tables of version {version}, this penfuzz reads version {}: \
                     rebuild it with the pen-cc of this release",
                    abi::VERSION
                ),
            ));
        }
        // SAFETY: the tables have the expected version, and live as long as the file is loaded, which is for ever.
        let mut target = unsafe { Reader::new(&*tables).read(path, tables) };
        target.undefined = Stubs::of(path);
        target.undefined.protect(target.base());
        let uses_environment = uses_environment(path);
        for f in &mut target.functions {
            f.uses_environment = uses_environment;
        }
        Ok(target)
    }

    /// Sets the name for messages to the one that the user gave.
    #[must_use]
    pub fn named(mut self, name: &Path) -> Self {
        self.name = name.to_path_buf();
        self
    }

    /// Appends the rounding mode of the floating-point environment to each input, as one more number after the
    /// arguments. A shorter input without that number is run in the default mode.
    #[must_use]
    pub fn with_rounding(mut self) -> Self {
        for f in &mut self.functions {
            f.has_rounding = true;
        }
        self
    }

    /// The mutable state of the target's runtime.
    #[must_use]
    pub fn state(&self) -> *mut abi::State {
        // SAFETY: the tables stay loaded.
        unsafe { (*self.tables).state }
    }

    /// The address of the action byte of branch 0, followed by those of all `n_branches` branches. Never null, so that
    /// it can start a slice even if there are none.
    #[must_use]
    pub fn actions(&self) -> *mut u8 {
        // SAFETY: the tables stay loaded.
        let first = unsafe { (*self.tables).actions };
        if first.is_null() { core::ptr::NonNull::dangling().as_ptr() } else { first }
    }

    /// The runtime's function that frees or abandons the allocations of evaluations.
    pub(super) fn release(&self) -> unsafe extern "C" fn(u32) {
        // SAFETY: the tables stay loaded.
        unsafe { (*self.tables).release }
    }

    /// Enables or disables the `SanCov` callbacks.
    pub fn set_sancov(&self, on: bool) {
        // SAFETY: the tables stay loaded; the gate is a word of the target that only this thread reads, without
        // synchronization.
        unsafe {
            let gate = (*self.tables).sancov_gate;
            if !gate.is_null() {
                gate.write(u64::from(on));
            }
        }
    }

    /// Sets the value of uninitialized memory of the target.
    pub fn set_fill(&self, fill: &abi::Fill) {
        // SAFETY: the tables and the fill stay loaded; the target does not run now.
        unsafe { (*self.tables).fill.write(*fill) };
    }

    /// Returns whether some code of the target may read a local variable before it is written, as far as the compiler
    /// pass can tell.
    #[must_use]
    pub fn may_read_uninitialized(&self) -> bool {
        // SAFETY: the tables stay loaded.
        unsafe { (*self.tables).fills != (*self.tables).fills_end }
    }

    /// The address at which the file was mapped. An address of the target minus this is an offset in the file's address
    /// space.
    #[must_use]
    pub fn base(&self) -> u64 {
        base_of(self.tables as u64).unwrap_or(0)
    }

    /// The records of every defined function.
    pub(crate) fn records(&self) -> impl Iterator<Item = &'static abi::Function> + use<> {
        // SAFETY: the linker's section bounds enclose an array of this type, which stays loaded.
        unsafe { between((*self.tables).functions, (*self.tables).functions_end) }.iter()
    }

    /// The records of every defined variable.
    pub(super) fn variables(&self) -> impl Iterator<Item = &'static abi::Variable> + use<> {
        // SAFETY: as in `records`.
        unsafe { between((*self.tables).variables, (*self.tables).variables_end) }.iter()
    }

    /// The records of the functions of [`super::environment`] that return numbers.
    pub(super) fn streams(&self) -> Vec<*mut abi::Stream> {
        // SAFETY: the tables stay loaded.
        let (first, end) = unsafe { ((*self.tables).streams, (*self.tables).streams_end) };
        // SAFETY: the bounds of one array of the loaded file.
        let n = unsafe { between(first.cast_const(), end.cast_const()) }.len();
        // SAFETY: within the array.
        (0..n).map(|i| unsafe { first.add(i) }).collect()
    }

    /// For every function: whether it is `function`, or called by it, directly or indirectly. Calls through pointers
    /// are not followed.
    #[must_use]
    pub fn called_by(&self, function: usize) -> Vec<bool> {
        let mut called = vec![false; self.functions.len()];
        let mut work = vec![function];
        while let Some(f) = work.pop() {
            if !core::mem::replace(&mut called[f], true) {
                let body = &self.functions[f];
                work.extend(&body.entry_edges.calls);
                work.extend(self.sites[body.sites.clone()].iter().flat_map(|s| &s.edges).flat_map(|e| &e.calls));
            }
        }
        called
    }

    /// Returns the index of the site that contains a branch.
    ///
    /// # Panics
    /// If the branch does not exist.
    #[must_use]
    pub fn site_of(&self, branch: usize) -> usize {
        self.sites.partition_point(|s| s.first_branch <= branch) - 1
    }
}

/// Converts the raw tables to owned values.
struct Reader<'a> {
    functions: &'a [abi::Function],
    sites: &'a [abi::Site],
    first_action: *const u8,
    cases: &'a [abi::Case],
    n_branches: usize,
    n_guards: usize,
}

/// Returns a table that may be absent as a slice.
///
/// # Safety
/// `first` and `end` must be null, or bound one array of `T` that lives for ever.
unsafe fn between<'a, T>(first: *const T, end: *const T) -> &'a [T] {
    if first.is_null() || end <= first {
        return &[];
    }
    // SAFETY: by the contract of this function.
    unsafe { core::slice::from_raw_parts(first, end.offset_from(first) as usize) }
}

/// Returns an array given by pointer and length as a slice.
///
/// # Safety
/// As [`between`].
unsafe fn array<'a, T>(first: *const T, n: u32) -> &'a [T] {
    if first.is_null() || n == 0 {
        return &[];
    }
    // SAFETY: by the contract of this function.
    unsafe { core::slice::from_raw_parts(first, n as usize) }
}

/// # Safety
/// `p` must be null, or a C string that lives for ever.
unsafe fn text(p: *const c_char) -> String {
    if p.is_null() {
        return String::new();
    }
    // SAFETY: by the contract of this function.
    unsafe { CStr::from_ptr(p) }.to_string_lossy().into_owned()
}

impl Reader<'_> {
    /// # Safety
    /// `tables` must be complete, of the expected version, and live for ever.
    unsafe fn new(tables: &abi::Tables) -> Self {
        // SAFETY: the linker's section bounds enclose arrays of these types.
        unsafe {
            Self {
                functions: between(tables.functions, tables.functions_end),
                sites: between(tables.sites, tables.sites_end),
                first_action: tables.actions,
                cases: between(tables.cases, tables.cases_end),
                n_branches: between(tables.actions.cast_const(), tables.actions_end.cast_const()).len(),
                n_guards: tables.n_guards as usize,
            }
        }
    }

    /// # Safety
    /// As [`Reader::new`].
    unsafe fn read(&self, path: &Path, tables: *const abi::Tables) -> Target {
        // SAFETY: the records point to constants of the loaded file.
        let (functions, mut sites): (Vec<_>, Vec<_>) = unsafe {
            (
                self.functions.iter().map(|f| self.function(f)).collect(),
                self.sites.iter().map(|s| self.site(s)).collect(),
            )
        };
        // The linker concatenates both sections in the same order, so this only asserts what `site_of` relies on.
        debug_assert!(sites.is_sorted_by_key(|s: &Site| s.first_branch));
        sites.sort_by_key(|s| s.first_branch);
        decision::name_conditions(&mut sites);
        Target {
            path: path.to_path_buf(),
            name: path.to_path_buf(),
            functions,
            sites,
            n_branches: self.n_branches,
            to_default: self.cases.iter().map(|c| c.to_default).collect(),
            n_guards: self.n_guards,
            undefined: Stubs::default(),
            constructors: std::sync::OnceLock::new(),
            casts: std::sync::OnceLock::new(),
            tables,
        }
    }

    fn function_index(&self, f: *const abi::Function) -> Option<usize> {
        let i = (f as usize).checked_sub(self.functions.as_ptr() as usize)? / size_of::<abi::Function>();
        (i < self.functions.len()).then_some(i)
    }

    /// The number of a case; 0 for none.
    fn case_index(&self, first: *const abi::Case) -> usize {
        (first as usize).saturating_sub(self.cases.as_ptr() as usize) / size_of::<abi::Case>()
    }

    unsafe fn edges(&self, e: &abi::Edges, sites: *const abi::Site) -> Edges {
        let first = (sites as usize).saturating_sub(self.sites.as_ptr() as usize) / size_of::<abi::Site>();
        // SAFETY: arrays of the loaded file with their lengths.
        unsafe {
            Edges {
                next: array(e.next, e.n_next).iter().map(|n| first + *n as usize).collect(),
                calls: array(e.calls, e.n_calls).iter().filter_map(|f| self.function_index(*f)).collect(),
                lines: array(e.lines, e.n_lines).to_vec(),
                starts: array(e.starts, 2 * e.n_starts).chunks_exact(2).map(|at| (at[0], at[1])).collect(),
            }
        }
    }

    unsafe fn site(&self, s: &abi::Site) -> Site {
        // SAFETY: arrays and strings of the loaded file.
        unsafe {
            let owner = &*s.function;
            // The linker keeps one copy of an inline function. A copy that was compiled with other macros can be
            // inlined into a caller, and its sites remain. Their indices are not those of the owner's sites.
            let is_owners = array(owner.sites, owner.n_sites).as_ptr_range().contains(&core::ptr::from_ref(s));
            Site {
                function: self.function_index(s.function).unwrap_or(0),
                file: text(s.file),
                line: s.line.min(LAST_LINE),
                column: s.column,
                kind: s.kind,
                predicate: s.predicate,
                operand: s.operand,
                width: s.width,
                name: text(s.name),
                possible: s.possible,
                assumption: s.assumption,
                operation: s.operation,
                first_branch: s.actions.cast_const().offset_from(self.first_action) as usize,
                n_branches: s.n_branches as usize,
                first_case: self.case_index(s.cases),
                cases: array(s.cases, s.n_cases).iter().map(|c| (c.value, c.branch as usize)).collect(),
                edges: array(s.edges, s.n_branches)
                    .iter()
                    .map(|e| if is_owners { self.edges(e, owner.sites) } else { Edges::default() })
                    .collect(),
                decision: s.decision.as_ref().map(|d| Decision::read(d, self.first_action)),
                part_of: None,
            }
        }
    }

    unsafe fn function(&self, f: &abi::Function) -> Function {
        let first = if f.sites.is_null() {
            0
        } else {
            (f.sites as usize - self.sites.as_ptr() as usize) / size_of::<abi::Site>()
        };
        // SAFETY: arrays and strings of the loaded file.
        unsafe {
            let symbol = text(f.symbol);
            Function {
                name: qualified(&text(f.name), &symbol),
                symbol,
                file: text(f.file),
                line: f.line.min(LAST_LINE),
                is_static: f.is_static != 0,
                result_type: text(f.result_type),
                result_kind: kind_of(f.result_kind),
                parameters: parameters(array(f.params, f.n_params)),
                input_size: f.input_size as usize,
                output_size: f.output_size as usize,
                sites: first..first + f.n_sites as usize,
                entry_edges: array(f.entry, 1).first().map_or_else(Edges::default, |e| self.edges(e, f.sites)),
                floats: array(f.floats, f.n_floats).to_vec(),
                integers: array(f.integers, f.n_integers).to_vec(),
                tokens: array(f.tokens, f.n_tokens).iter().map(|t| array(t.bytes, t.length).to_vec()).collect(),
                has_rounding: false,
                uses_environment: false,
                model: None,
                constraints: std::rc::Rc::default(),
                calls: 1,
                deep: DeepMemory::default(),
                init: None,
                globals: Vec::new(),
                record: core::ptr::from_ref(f),
                address: f.address,
                call: f.call,
            }
        }
    }
}

unsafe fn parameters(all: &[abi::Param]) -> Vec<Parameter> {
    // SAFETY: strings of the loaded file.
    let mut all: Vec<_> = all.iter().enumerate().map(|(i, p)| unsafe { parameter(i, p) }).collect();
    make_names_unique(&mut all);
    // The first cell holds the result.
    let mut cell = abi::CELL_BYTES;
    for p in all.iter_mut().filter(|p| p.pointer) {
        p.cell = cell;
        cell += p.block_size().next_multiple_of(abi::CELL_BYTES);
    }
    all
}

unsafe fn parameter(index: usize, p: &abi::Param) -> Parameter {
    // SAFETY: strings of the loaded file.
    let (name, type_name) = unsafe { (text(p.name), text(p.type_name)) };
    Parameter {
        name: if name.is_empty() { format!("arg{}", index + 1) } else { name },
        type_name,
        kind: kind_of(p.kind),
        pointer: p.pointer != 0,
        offset: p.offset as usize,
        cell: 0,
        place: p.cell as usize,
        output_size: if p.kind == abi::kind::OUTPUT { p.size as usize } else { 0 },
    }
}
