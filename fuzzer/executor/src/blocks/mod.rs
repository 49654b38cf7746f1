//! The memory of a function's blocks ([`penfuzz_target::inputs`]), written before each call.
//!
//! Each block has its own pages, surrounded by inaccessible memory. By default a block ends at the end of its pages, so
//! that an access after it faults immediately, also when its length depends on the input. In the other placement it
//! starts at the start of its pages, so that an access before it faults. The frame is a block without this protection.

mod after;

use core::ptr::NonNull;
use std::rc::Rc;

use penfuzz_abi::{self as abi, CELL_BYTES, block_use};
use penfuzz_error::Error;
use penfuzz_target::{
    inputs::{Model, Nondet, Owner, Pointer, Sequence, Target},
    program::{
        outside::Delete,
        script::{Patch, Script, Step, VariableWrite},
    },
};

pub use after::AdjacentAccess;

use super::{
    files::{self, Files},
    input::Input,
    stubs::{self, Received},
};

/// Preferred address of the memory: if it is free, a fault next to a block has the same address in every process. It
/// differs from the address that [`super::cells`] uses. The `operator delete` of the runtime (`runtime/owned.c`) knows
/// this region of [`REGION`] bytes and frees no address in it.
const PREFERRED: usize = 0x2100_0000_0000;
const REGION: usize = 1 << 40;
/// Distance between mappings: several may exist at the same time.
const NEXT: usize = 1 << 36;

/// Minimum distance between the pages of two blocks. An access up to this far from a block is attributed to it.
const STRIDE: usize = 1 << 20;

/// First address of the marks of pointers ([`Blocks::mark_limits`]), the distance between two, and the number of marks
/// of a block.
const MARKS: usize = 0x1000_0000_0000;
const MARK: usize = 1 << 20;
const MARKS_OF_BLOCK: usize = 1 << 10;

/// Unit in bytes of the offsets of scattered blocks; it keeps every alignment up to this one.
const SCATTER: usize = 64;

/// Where blocks lie in their pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placement {
    /// At the end. This is the default.
    Ends,
    /// At the start.
    Starts,
    /// Each at another offset, if its pages have room, so that the distances of blocks differ from those of the other
    /// placements.
    Scattered,
}

/// The memory of one model.
#[derive(Debug)]
pub struct Blocks {
    model: Rc<Model>,
    map: NonNull<u8>,
    mapped: usize,
    /// Per block: the start and the end of its pages.
    pages: Vec<(usize, usize)>,
    /// Per block: where it was in the last run.
    places: Vec<abi::Block>,
    /// Per block: its [`abi::Block::usage`] before a run.
    usages: Box<[u64]>,
    placement: Placement,
    /// The result of each call.
    results: Box<[u128]>,
    /// The calls, if the model is a sequence.
    script: Box<Script>,
    /// Lengths in elements that override those in the input; for probing.
    lengths: Option<Vec<usize>>,
    /// The block to fill with noise instead of zeros, and the seed of the noise; for probing.
    noise: Option<(usize, u8)>,
    /// Whether each pointer to memory that a model has no room for is an address of its own instead of null; for
    /// experiments.
    marks_limits: bool,
    /// Standard input, whose text is the contents of a block.
    input: Option<Input>,
    files: Files,
    /// Whether the last run returned, so that its objects may own memory.
    has_returned: bool,
    delete: Option<Delete>,
}

impl Blocks {
    /// Maps the memory.
    ///
    /// # Errors
    /// If the system has no memory left.
    pub fn new(model: &Rc<Model>) -> Result<Self, Error> {
        // SAFETY: only queries a number.
        let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096);
        let strides: Vec<usize> = model.blocks.iter().map(|b| STRIDE + b.bytes().next_multiple_of(page)).collect();
        let mapped = strides.iter().sum::<usize>() + STRIDE;
        let (none, anonymous) = (libc::PROT_NONE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE);
        let no_memory = || Error::new("cannot allocate memory for the arguments of the function under test");
        let at = |n: usize| {
            let wish = core::ptr::without_provenance_mut(PREFERRED + n * NEXT);
            // SAFETY: a new mapping; the address is a hint, which never replaces an existing mapping.
            let map = unsafe { libc::mmap(wish, mapped, none, anonymous, -1, 0) };
            NonNull::new(map.cast::<u8>()).filter(|m| m.as_ptr().cast() != libc::MAP_FAILED)
        };
        let is_in_region = |map: &NonNull<u8>| in_region(map.as_ptr() as usize);
        let wished = (0..REGION / NEXT).find_map(|n| {
            let map = at(n)?;
            if is_in_region(&map) {
                return Some(map);
            }
            // SAFETY: the mapping belongs to this value alone.
            unsafe { libc::munmap(map.as_ptr().cast(), mapped) };
            None
        });
        let map = wished.or_else(|| at(0)).ok_or_else(no_memory)?;
        let (mut pages, mut at) = (Vec::new(), map.as_ptr() as usize + STRIDE / 2);
        for (block, stride) in model.blocks.iter().zip(&strides) {
            let (start, end) = (at, at + block.bytes().next_multiple_of(page).max(page));
            // SAFETY: complete pages of this value's mapping.
            let opened = unsafe {
                let first = map.as_ptr().add(start - map.as_ptr() as usize);
                libc::mprotect(first.cast(), end - start, libc::PROT_READ | libc::PROT_WRITE)
            };
            pages.push((start, end));
            if opened != 0 {
                return Err(no_memory());
            }
            at += stride;
        }
        let places = vec![abi::Block { at: 0, size: 0, usage: block_use::FIXED }; pages.len()];
        Ok(Self {
            model: Rc::clone(model),
            map,
            mapped,
            pages,
            places,
            usages: (0..model.blocks.len()).map(|block| usage(model, block)).collect(),
            placement: Placement::Ends,
            results: vec![0; model.sequence.as_ref().map_or(1, |s| s.constructors.len() + s.steps.len())]
                .into_boxed_slice(),
            script: Box::default(),
            lengths: None,
            noise: None,
            marks_limits: false,
            input: model.input.map(|_| Input::new(model.is_descriptor)),
            files: Files::new(model),
            has_returned: false,
            delete: None,
        })
    }

    /// The model.
    #[must_use]
    pub fn model(&self) -> &Rc<Model> {
        &self.model
    }

    /// Writes all blocks from an input. Returns the frame and the place of the result; for a sequence its [`Script`]
    /// instead of the frame. Does not allocate, except for a stream and for the first script.
    pub fn write(&mut self, x: &[u8]) -> (*mut u8, *mut u8) {
        self.release();
        let model = Rc::clone(&self.model);
        stubs::forget_calls(model.stubs.len());
        for (i, block) in model.blocks.iter().enumerate() {
            let n = self.lengths.as_ref().map_or_else(|| block.len(x), |l| l[i].min(block.capacity));
            let bytes = n * block.stride;
            let (start, end) = self.pages[i];
            let at = match self.placement {
                _ if block.path.is_empty() => start,
                Placement::Ends => end - bytes,
                Placement::Starts => start,
                Placement::Scattered => start + (SCATTER * i).min(end - start - bytes) / SCATTER * SCATTER,
            };
            self.places[i] = abi::Block { at, size: bytes, usage: self.usages[i] };
            // SAFETY: the pages have room for the capacity, and `x` is an input of the model.
            unsafe { block.write(x, n, self.pointer(self.places[i].at)) };
            if let Some((noisy, seed)) = self.noise.filter(|(noisy, _)| *noisy == i) {
                self.fill(noisy, seed);
            }
        }
        for (i, block) in model.blocks.iter().enumerate() {
            let abi::Block { at: first, size: bytes, .. } = self.places[i];
            for (n, p) in block.pointers.iter().enumerate().take_while(|(_, p)| p.at + size_of::<usize>() <= bytes) {
                if !p.exists(x) {
                    continue;
                }
                let address = match p.target {
                    Target::Null if self.marks_limits => mark(i, n),
                    Target::Stub(s) if self.marks_limits && model.stubs[s].returns_pointer(&model.types) => {
                        stubs::returning(s, mark(i, n) as u64)
                    }
                    _ if model.is_null(p, x) => 0,
                    Target::Block(b) => self.places[b].at,
                    Target::End(b) => self.places[b].at + self.places[b].size,
                    Target::Within(to) => {
                        let (place, stride) = (self.places[to.block], model.blocks[to.block].stride);
                        place.at + stride * model.element(&to, x, place.size / stride)
                    }
                    Target::Count(b) => self.count(b),
                    Target::Own(at) => first + at,
                    Target::Stub(s) => stubs::address(s, model.stubs[s].slot, x),
                    Target::Stream(file) => self.files.stream(file, self.text(model.files[file].block)),
                    Target::Name(file) => {
                        let text = self.text(model.files[file].block);
                        self.files.name(file, text, model.files[file].is_missing(x))
                    }
                    Target::Program => files::program(),
                    // A handle is known only after its maker has returned.
                    Target::Null | Target::Made(_) => 0,
                };
                // SAFETY: the pointer lies within the block.
                unsafe { self.pointer(first + p.at).cast::<usize>().write_unaligned(address) };
            }
        }
        if let (Some(block), Some(input)) = (model.input, &mut self.input) {
            let abi::Block { at: first, size: bytes, .. } = self.places[block];
            let base = self.map.as_ptr();
            // SAFETY: the block lies in the mapping, is a string, and does not move.
            unsafe { input.open(base.add(first - base as usize), bytes) };
        }
        if model.is_program {
            files::reset_options();
        }
        for v in model.globals.iter().filter(|v| self.is_set_once(v.block) && !model.blocks[v.block].is_output) {
            let abi::Block { at: first, size: bytes, .. } = self.places[v.block];
            // SAFETY: the variable is as large as its block.
            unsafe { v.global.address().copy_from_nonoverlapping(self.pointer(first).cast_const(), bytes) };
        }
        for nondet in &model.nondet {
            let abi::Block { at: first, size: bytes, .. } = self.places[nondet.block];
            let n = bytes / model.blocks[nondet.block].stride;
            set_results(nondet, self.pointer(first), n);
        }
        if let Some(sequence) = &model.sequence {
            return (self.write_script(sequence, x), self.results.as_mut_ptr().cast());
        }
        (self.pointer(self.places[0].at), self.results.as_mut_ptr().cast())
    }

    /// Prepares the calls for [`script::run`](penfuzz_target::program::script::run). Frames never move, blocks behind
    /// handles may.
    fn write_script(&mut self, sequence: &Sequence, x: &[u8]) -> *mut u8 {
        self.results.fill(0);
        let n_makers = sequence.constructors.len();
        if self.script.steps.is_empty() {
            let calls = sequence.constructors.iter().chain(&sequence.steps).enumerate();
            let results = self.results.as_mut_ptr();
            self.script.steps = calls
                .map(|(i, call)| Step {
                    call: call.thunk,
                    frame: self.pointer(self.places[call.frame].at),
                    // SAFETY: there is one result per call.
                    result: unsafe { results.add(i) }.cast(),
                })
                .collect();
        }
        self.script.errnos.clear();
        self.script.errnos.resize(self.script.steps.len(), 0);
        self.script.patches.clear();
        let model = Rc::clone(&self.model);
        for (step, call) in sequence.constructors.iter().chain(&sequence.steps).enumerate() {
            self.script.steps[step].frame = self.pointer(self.places[call.frame].at);
            for p in &model.blocks[call.frame].pointers {
                let Target::Made(handle) = p.target else { continue };
                if model.is_null(p, x) {
                    continue;
                }
                let handle = &sequence.handles[handle];
                let from = match handle.out {
                    Some(block) => self.pointer(self.places[block].at).cast_const().cast(),
                    // SAFETY: there is one result per call.
                    None => unsafe { self.results.as_ptr().add(handle.maker) }.cast(),
                };
                let to = self.pointer(self.places[call.frame].at + p.at).cast();
                self.script.patches.push(Patch { step, from, to });
            }
        }
        self.prepare_variable_writes(n_makers);
        self.script.n = n_makers + sequence.len(x);
        self.script.begun = 0;
        (&raw mut *self.script).cast()
    }

    /// Lists the variables that are written before each call of the sequence.
    fn prepare_variable_writes(&mut self, n_makers: usize) {
        self.script.variable_writes.clear();
        let model = Rc::clone(&self.model);
        for v in &model.globals {
            if let Owner::Step(k) = model.blocks[v.block].owner {
                let abi::Block { at: first, size, .. } = self.places[v.block];
                let from = self.pointer(first).cast_const();
                self.script.variable_writes.push(VariableWrite {
                    step: n_makers + k,
                    from,
                    to: v.global.address(),
                    size,
                });
            }
        }
    }

    /// Is the block written once per evaluation, and not before one call of a sequence?
    fn is_set_once(&self, block: usize) -> bool {
        !matches!(self.model.blocks[block].owner, Owner::Step(_))
    }

    /// Number of calls of the sequence that the last run started, makers included; 1 without a sequence.
    #[must_use]
    pub fn begun(&self) -> usize {
        if self.model.sequence.is_some() { self.script.begun } else { 1 }
    }

    /// The calls of the callback number `stub` in the last run; `None` if they are not known.
    #[must_use]
    pub fn received(&self, stub: usize) -> Option<Received> {
        let all = &self.model.stubs;
        stubs::received(stub, all.len(), all[stub].parameters.as_deref().unwrap_or_default())
    }

    /// The results of the calls of the last run, makers first.
    #[must_use]
    pub fn results(&self) -> &[u128] {
        &self.results
    }

    /// `errno` after each call of the last run, makers first.
    #[must_use]
    pub fn errnos(&self) -> &[i32] {
        &self.script.errnos
    }

    /// Returns the address of the text in a block and its length, up to the first 0. The pointer may outlive the borrow
    /// of the block.
    fn text(&self, block: usize) -> (*const u8, usize) {
        let abi::Block { at: first, size: bytes, .. } = self.places[block];
        let text = self.pointer(first).cast_const();
        // SAFETY: the block has that many bytes.
        let n = (0..bytes).find(|i| unsafe { text.add(*i).read() } == 0).unwrap_or(bytes);
        (text, n)
    }

    /// Closes the files that the last run left open.
    pub fn finish(&mut self) {
        self.files.finish();
    }

    /// The contents of a file of the model after the last run; `None` if they are not known.
    #[must_use]
    pub fn file_contents(&self, file: usize) -> Option<Vec<u8>> {
        self.files.contents(file)
    }

    /// Number of elements of a block in the last run, without the terminating 0 of a string.
    fn count(&self, block: usize) -> usize {
        let b = &self.model.blocks[block];
        (self.places[block].size / b.stride.max(1)).saturating_sub(usize::from(b.is_terminated))
    }

    /// Sets the target's `operator delete`, which frees the memory of objects of the C++ library before the next run.
    pub fn release_with(&mut self, delete: Option<Delete>) {
        self.delete = delete;
    }

    /// Call this when the run has returned: its objects then own the memory that they point to.
    pub fn mark_returned(&mut self) {
        self.has_returned = true;
    }

    /// Frees the memory that the objects of the last run own. The memory of objects within other objects is not freed.
    fn release(&mut self) {
        let (true, Some(delete)) = (core::mem::take(&mut self.has_returned), self.delete) else { return };
        let model = Rc::clone(&self.model);
        for (i, block) in model.blocks.iter().enumerate() {
            let abi::Block { at: first, size: bytes, .. } = self.places[i];
            let owned = |p: &Pointer| matches!(p.target, Target::Block(b) if model.blocks[b].is_owned());
            for p in block.pointers.iter().filter(|p| owned(p) && !block.is_owned() && p.at + 8 <= bytes) {
                // SAFETY: the pointer lies within the block.
                let address = unsafe { self.pointer(first + p.at).cast::<usize>().read_unaligned() };
                if address != 0 && !in_region(address) {
                    // SAFETY: the object allocated it by `operator new`, and nothing uses it any more.
                    unsafe { delete(core::ptr::with_exposed_provenance_mut(address)) };
                }
            }
        }
    }

    /// The blocks of the last run, for the runtime.
    pub(crate) fn places(&mut self) -> (*mut abi::Block, u64) {
        (self.places.as_mut_ptr(), self.places.len() as u64)
    }

    /// Returns a pointer into this value's mapping.
    fn pointer(&self, address: usize) -> *mut u8 {
        let base = self.map.as_ptr();
        // SAFETY: addresses of blocks lie within the mapping.
        unsafe { base.add(address - base as usize) }
    }

    /// Selects where blocks lie in their pages.
    pub fn place(&mut self, placement: Placement) {
        self.placement = placement;
    }

    /// Overrides the lengths of the blocks whatever the input contains; with `None` the input determines them.
    pub fn set_lengths(&mut self, lengths: Option<Vec<usize>>) {
        self.lengths = lengths;
    }

    /// In the next runs, a pointer to memory that the model has no room for is an address at which nothing is mapped,
    /// instead of null. [`Blocks::marked`] tells which one an address belongs to.
    pub fn mark_limits(&mut self, marks: bool) {
        self.marks_limits = marks;
    }

    /// The block and the number of the pointer whose mark is this address, or is close to it.
    #[must_use]
    pub fn marked(&self, address: u64) -> Option<(usize, usize)> {
        let n = usize::try_from(address).ok()?.checked_sub(MARKS - MARK / 2)? / MARK;
        let place = (n / MARKS_OF_BLOCK, n % MARKS_OF_BLOCK);
        self.model.blocks.get(place.0).and_then(|b| b.pointers.get(place.1)).map(|_| place)
    }

    /// Fills this block with noise in the next runs.
    pub fn set_noise(&mut self, noise: Option<(usize, u8)>) {
        self.noise = noise;
    }

    /// Fills a block with noise: numbers of all magnitudes, including small ones.
    fn fill(&mut self, block: usize, seed: u8) {
        let abi::Block { at: first, size: bytes, .. } = self.places[block];
        for i in 0..bytes {
            let mixed = (i as u8).wrapping_add(1).wrapping_mul(seed | 1).rotate_left(3) ^ seed;
            let byte = if seed.is_multiple_of(3) {
                mixed
            } else if seed % 3 == 1 {
                u8::from(i % 4 == 0)
            } else {
                0x40
            };
            // SAFETY: within the block.
            unsafe { self.pointer(first + i).write(byte) };
        }
    }

    /// The result of the last run.
    #[must_use]
    pub fn result(&self) -> u128 {
        self.results[self.begun().max(1) - 1]
    }
}

/// The mark of a pointer of a block.
fn mark(block: usize, pointer: usize) -> usize {
    MARKS + (block * MARKS_OF_BLOCK + pointer.min(MARKS_OF_BLOCK - 1)) * MARK
}

/// Whether a block counts as allocated by `malloc`: variables, the elements of containers, and the arguments of a
/// program do not.
fn usage(model: &Model, block: usize) -> u64 {
    let is_variable = model.blocks[block].path.is_empty() || model.global_of(block).is_some();
    let is_fixed = is_variable || model.blocks[block].is_owned() || model.is_program;
    if is_fixed { block_use::FIXED } else { block_use::HEAP }
}

/// Is this an address that the runtime's `operator delete` ignores?
fn in_region(address: usize) -> bool {
    (PREFERRED..PREFERRED + REGION).contains(&address)
}

/// Sets `n` numbers as the results of a function of the environment.
fn set_results(nondet: &Nondet, values: *const u8, n: usize) {
    // SAFETY: a record of the loaded file, which no other thread uses. The numbers stay valid until `drop`.
    unsafe {
        let stream = &mut *nondet.source.stream;
        (stream.values, stream.n, stream.taken) = (values.cast(), n as u32, 0);
    }
}

impl Drop for Blocks {
    fn drop(&mut self) {
        for nondet in &self.model.nondet {
            set_results(nondet, core::ptr::null(), 0);
        }
        // SAFETY: the mapping belongs to this value alone and is no longer used.
        unsafe { libc::munmap(self.map.as_ptr().cast(), self.mapped) };
    }
}

// The frame starts at a page boundary, so it is aligned as the thunk requires.
const _: () = assert!(CELL_BYTES <= 4096, "the frame begins at a page");
