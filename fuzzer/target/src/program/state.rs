//! The state that evaluations of a function share: variables with static storage duration that it can reach. Before
//! each evaluation they are reset to their values after loading, so that the result of an input does not depend on
//! earlier inputs.
//!
//! The compiler pass lists the references of each function. Following them from the function under test yields every
//! variable that a call can change. Code that was not compiled by pen-cc has no such list: if it is reached, all
//! writable sections of the file are restored. Memory that an evaluation allocated is freed. Files and the state of the
//! C library are not restored.

use core::ffi::{CStr, c_char};
use std::{
    collections::{BTreeSet, HashMap, HashSet},
    ffi::c_void,
    path::Path,
};

use object::{Object, ObjectSection, ObjectSymbol, SectionFlags};
use penfuzz_abi::{self as abi, variable_flag};

use super::{Function, Target, environment::is_provided, heap::Heap, mapped::MappedFile, stateless};

/// Maximum number of bytes to restore: copying more takes longer than most functions that a search can handle.
const MAX_RESTORED_BYTES: usize = 1 << 26;

/// A variable that keeps its value between two calls.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Variable {
    /// Source file.
    pub file: String,
    /// Line of its definition; 0 if unknown.
    pub line: u32,
    /// Name in the source.
    pub name: String,
    /// Size in bytes.
    pub size: u64,
}

/// The memory that the evaluations of one function share, and its contents before the first evaluation.
#[derive(Debug, Default)]
pub struct SharedState {
    blocks: Vec<Block>,
    /// The blocks while restoring is disabled.
    idle: Vec<Block>,
    variables: Vec<Variable>,
    is_whole_file: bool,
    is_too_large: bool,
    is_stateless: bool,
    heap: Option<Heap>,
}

#[derive(Debug)]
struct Block {
    address: *mut u8,
    content: Box<[u8]>,
}

/// The functions and variables that references lead to.
#[derive(Default)]
struct Reached {
    functions: HashSet<*const abi::Function>,
    variables: HashSet<*const abi::Variable>,
    /// Bits of [`abi::variable_use`], combined over all functions.
    uses: HashMap<*const abi::Variable, u32>,
    /// Symbols that have no record, by their names in the object file.
    unknown: BTreeSet<Vec<u8>>,
}

impl SharedState {
    /// Determines the shared state of `function`. No evaluation may have changed it yet.
    #[must_use]
    pub fn of(target: &Target, function: &Function) -> Self {
        let mut reached = Reached::default();
        reached.follow(function.record);
        for maker in function.constructors() {
            reached.follow(target.functions[maker].record);
        }
        let mut me = Self::default();
        let (_, mut unknown) = split(target, reached.unknown);
        let is_known = unknown.iter().all(|name| str::from_utf8(name).is_ok_and(stateless::is_stateless));
        unknown.retain(|name| !str::from_utf8(name).is_ok_and(is_provided));
        me.is_whole_file = has_any(&target.path, &unknown);
        let mut ranges = BTreeSet::new();
        let mut has_thread_local = false;
        for variable in &reached.variables {
            // SAFETY: a record of the loaded file.
            let v = unsafe { &**variable };
            if v.flags & variable_flag::CONSTANT != 0 {
                continue;
            }
            has_thread_local |= v.flags & variable_flag::THREAD_LOCAL != 0;
            if !v.address.is_null() {
                ranges.insert((v.address as usize, v.size as usize));
            }
            me.variables.push(described(v));
        }
        me.variables.sort();
        if me.is_whole_file {
            ranges.extend(writable_ranges(target));
        }
        if has_thread_local || me.is_whole_file {
            ranges.extend(thread_local_range(target.base()));
        }
        me.is_stateless = is_known && me.variables.is_empty() && !me.is_whole_file;
        me.is_too_large = ranges.iter().map(|(_, size)| size).sum::<usize>() > MAX_RESTORED_BYTES;
        if !me.is_too_large {
            // SAFETY: variables and sections of the loaded file.
            me.blocks = ranges.into_iter().filter(|r| r.1 > 0).map(|r| unsafe { Block::new(r) }).collect();
        }
        me.heap = Some(Heap::of(target, !me.is_too_large));
        me
    }

    /// Resets all variables to their values before the first evaluation, and frees the allocations of the last one.
    #[inline]
    pub fn restore(&self) {
        self.free_heap();
        for block in &self.blocks {
            // SAFETY: memory of the target, which stays loaded; it does not run now.
            unsafe { block.address.copy_from_nonoverlapping(block.content.as_ptr(), block.content.len()) };
        }
    }

    /// Frees the allocations of the last evaluation.
    #[inline]
    pub fn free_heap(&self) {
        if let Some(heap) = &self.heap {
            heap.free();
        }
    }

    /// Abandons the allocations of the last evaluation, which a fault ended: the heap may be inconsistent or locked.
    pub fn abandon_heap(&self) {
        if let Some(heap) = &self.heap {
            heap.abandon();
        }
    }

    /// Makes evaluations allocate from the C library's heap from now on.
    pub fn use_system_heap(&self) {
        if let Some(heap) = &self.heap {
            heap.use_system();
        }
    }

    /// Enables or disables restoring; enabled by default. Disabling it serves to measure its cost.
    pub fn set_restoring(&mut self, on: bool) {
        if self.blocks.is_empty() == on {
            core::mem::swap(&mut self.blocks, &mut self.idle);
        }
    }

    /// Is there nothing to restore?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// The variables that the function can reach, ordered by file and line.
    #[must_use]
    pub fn variables(&self) -> &[Variable] {
        &self.variables
    }

    /// Number of bytes to restore.
    #[must_use]
    pub fn size(&self) -> usize {
        self.blocks.iter().map(|b| b.content.len()).sum()
    }

    /// Is code reached that pen-cc did not compile, so that all variables of the file are restored?
    #[must_use]
    pub fn is_whole_file(&self) -> bool {
        self.is_whole_file
    }

    /// Are evaluations independent of each other and of the process? They are if the function reaches no variables, and
    /// of other libraries only functions that keep no state ([`stateless::is_stateless`]).
    #[must_use]
    pub fn is_stateless(&self) -> bool {
        self.is_stateless
    }

    /// Is the state too large to be restored?
    #[must_use]
    pub fn is_too_large(&self) -> bool {
        self.is_too_large
    }
}

impl Drop for SharedState {
    fn drop(&mut self) {
        self.restore();
    }
}

impl Block {
    /// # Safety
    /// The range must be readable and writable, and stay so.
    unsafe fn new((address, size): (usize, usize)) -> Self {
        let address = address as *mut u8;
        // SAFETY: by the contract of this function.
        let content = unsafe { core::slice::from_raw_parts(address, size) };
        Self { address, content: content.into() }
    }
}

impl Reached {
    fn follow(&mut self, first: *const abi::Function) {
        let mut work = Vec::new();
        if let Some(f) = self.function(first) {
            work.push(f.references);
        }
        while let Some(references) = work.pop() {
            // SAFETY: null or a constant of the loaded file.
            let Some(r) = (unsafe { references.as_ref() }) else { continue };
            for i in 0..r.n_functions as usize {
                // SAFETY: two arrays of this length.
                let (record, name) = unsafe { (*r.functions.add(i), *r.function_names.add(i)) };
                work.extend(self.function(record).map(|f| f.references));
                self.note_unknown(record.is_null(), name);
            }
            for i in 0..r.n_variables as usize {
                // SAFETY: three arrays of this length.
                let (record, name, uses) =
                    unsafe { (*r.variables.add(i), *r.variable_names.add(i), *r.variable_uses.add(i)) };
                *self.uses.entry(record).or_default() |= uses;
                work.extend(self.variable(record).map(|v| v.references));
                self.note_unknown(record.is_null(), name);
            }
        }
    }

    /// Returns the record if it was not reached before.
    fn function(&mut self, record: *const abi::Function) -> Option<&'static abi::Function> {
        // SAFETY: null or a record of the loaded file, which is never unloaded.
        unsafe { record.as_ref() }.filter(|_| self.functions.insert(record))
    }

    /// Returns the record if it was not reached before.
    fn variable(&mut self, record: *const abi::Variable) -> Option<&'static abi::Variable> {
        // SAFETY: as in `function`.
        unsafe { record.as_ref() }.filter(|_| self.variables.insert(record))
    }

    fn note_unknown(&mut self, is_unknown: bool, name: *const c_char) {
        if is_unknown {
            // SAFETY: a string of the loaded file.
            self.unknown.insert(unsafe { CStr::from_ptr(name) }.to_bytes().to_vec());
        }
    }
}

/// The variables that evaluations of `function` can reach, each with its bits of [`abi::variable_use`].
pub(super) fn variables_of(target: &Target, function: &Function) -> Vec<(&'static abi::Variable, u32)> {
    let mut reached = Reached::default();
    reached.follow(function.record);
    for first in function.init.into_iter().chain(function.constructors()) {
        reached.follow(target.functions[first].record);
    }
    let uses = |v: &*const abi::Variable| reached.uses.get(v).copied().unwrap_or_default();
    // SAFETY: records of the loaded file, which is never unloaded.
    reached.variables.iter().filter_map(|v| Some((unsafe { v.as_ref() }?, uses(v)))).collect()
}

fn described(v: &abi::Variable) -> Variable {
    // SAFETY: strings of the loaded file.
    let text = |p: *const c_char| unsafe { CStr::from_ptr(p) }.to_string_lossy().into_owned();
    Variable { file: text(v.file), line: v.line, name: text(v.name), size: v.size }
}

/// The names by which a program uses standard input as a C stream.
const STREAM: [&[u8]; 10] = [
    b"stdin",
    b"scanf",
    b"vscanf",
    b"__isoc99_scanf",
    b"__isoc99_vscanf",
    b"__isoc23_scanf",
    b"__isoc23_vscanf",
    b"getchar",
    b"getchar_unlocked",
    b"gets",
];

/// The names by which a program reads descriptor 0 itself: the system call `read`, and `std::cin` of libstdc++, which
/// keeps the original stream of `stdin`.
const DESCRIPTOR: [&[u8]; 2] = [b"read", b"_ZSt3cin"];

/// How a function reads standard input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    /// Through the variable `stdin` only.
    Stream,
    /// Perhaps through descriptor 0.
    Descriptor,
}

/// Returns how `function` can read standard input; `None` if it cannot.
#[must_use]
pub fn input_of(function: &Function) -> Option<Input> {
    let names = uninstrumented_symbols(function);
    let has = |of: &[&[u8]]| of.iter().any(|name| names.contains(*name));
    if has(&DESCRIPTOR) { Some(Input::Descriptor) } else { has(&STREAM).then_some(Input::Stream) }
}

/// The names of functions and variables that `function` can reach and that were not compiled by pen-cc.
pub(super) fn uninstrumented_symbols(function: &Function) -> BTreeSet<Vec<u8>> {
    let mut reached = Reached::default();
    reached.follow(function.record);
    reached.unknown
}

/// The undefined symbols that `function` can reach, in alphabetical order. They have stubs.
#[must_use]
pub fn undefined(target: &Target, function: &Function) -> Vec<String> {
    let mut reached = Reached::default();
    if !target.undefined.is_empty() {
        reached.follow(function.record);
        for maker in function.constructors() {
            reached.follow(target.functions[maker].record);
        }
    }
    split(target, reached.unknown).0
}

/// Splits names into those of stubs, and all others.
fn split(target: &Target, names: BTreeSet<Vec<u8>>) -> (Vec<String>, BTreeSet<Vec<u8>>) {
    let stubs = target.undefined.names();
    let (found, others): (BTreeSet<_>, _) =
        names.into_iter().partition(|n| str::from_utf8(n).is_ok_and(|n| stubs.contains(n)));
    (found.iter().map(|n| String::from_utf8_lossy(n).into_owned()).collect(), others)
}

/// Does the file define one of these symbols?
fn has_any(path: &Path, names: &BTreeSet<Vec<u8>>) -> bool {
    if names.is_empty() {
        return false;
    }
    let Ok(bytes) = MappedFile::open(path) else { return false };
    let Ok(file) = object::File::parse(&*bytes) else { return false };
    file.symbols()
        .chain(file.dynamic_symbols())
        .any(|s| s.is_definition() && s.name_bytes().is_ok_and(|n| names.contains(n)))
}

/// The address and size of each section with variables, except the pen tables and the state of their runtime.
fn writable_ranges(target: &Target) -> Vec<(usize, usize)> {
    let Ok(bytes) = MappedFile::open(&target.path) else { return Vec::new() };
    let Ok(file) = object::File::parse(&*bytes) else { return Vec::new() };
    let base = target.base();
    let all = file.sections().filter(is_of_variables).map(|s| ((base + s.address()) as usize, s.size() as usize));
    let own = (target.state() as usize, size_of::<abi::State>());
    all.flat_map(|range| subtract_range(range, own)).collect()
}

fn is_of_variables<'a>(section: &impl ObjectSection<'a>) -> bool {
    const OTHERS: [&str; 9] =
        ["pen_", "__sancov", ".got", ".dynamic", ".init_array", ".fini_array", ".ctors", ".dtors", ".data.rel.ro"];
    let SectionFlags::Elf { sh_flags } = section.flags() else { return false };
    let is_writable = sh_flags & u64::from(object::elf::SHF_WRITE) != 0;
    let is_thread_local = sh_flags & u64::from(object::elf::SHF_TLS) != 0;
    is_writable && !is_thread_local && section.name().is_ok_and(|n| !OTHERS.iter().any(|other| n.starts_with(other)))
}

/// Removes the second range from the first, and returns the parts before and after it.
fn subtract_range((start, size): (usize, usize), (hole, hole_size): (usize, usize)) -> Vec<(usize, usize)> {
    let (end, hole_end) = (start + size, hole + hole_size);
    if hole_end <= start || end <= hole {
        return vec![(start, size)];
    }
    let before = (start, hole.saturating_sub(start));
    let after = (hole_end.min(end), end.saturating_sub(hole_end));
    vec![before, after]
}

/// The address and size of this thread's thread-local variables of the file loaded at `base`.
fn thread_local_range(base: u64) -> Option<(usize, usize)> {
    struct Search {
        base: u64,
        found: Option<(usize, usize)>,
    }
    unsafe extern "C" {
        /// The argument is the number of a module and an offset.
        fn __tls_get_addr(index: &[usize; 2]) -> *mut c_void;
    }
    unsafe extern "C" fn look(info: *mut libc::dl_phdr_info, _: usize, search: *mut c_void) -> i32 {
        // SAFETY: the loader describes a loaded file; `search` is the pointer from the call below.
        unsafe {
            let (info, search) = (&*info, &mut *search.cast::<Search>());
            if info.dlpi_addr != search.base {
                return 0;
            }
            let headers = core::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into());
            search.found = headers
                .iter()
                .find(|h| h.p_type == libc::PT_TLS)
                .map(|h| (__tls_get_addr(&[info.dlpi_tls_modid, 0]) as usize, h.p_memsz as usize));
            1
        }
    }
    let mut search = Search { base, found: None };
    // SAFETY: `look` gets `search`, which outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut search).cast()) };
    search.found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subtract_range_returns_the_parts_around_the_hole() {
        assert_eq!(subtract_range((10, 10), (40, 5)), [(10, 10)]);
        assert_eq!(subtract_range((10, 10), (12, 3)), [(10, 2), (15, 5)]);
        assert_eq!(subtract_range((10, 10), (5, 7)), [(10, 0), (12, 8)]);
        assert_eq!(subtract_range((10, 10), (18, 7)), [(10, 8), (20, 0)]);
    }
}
