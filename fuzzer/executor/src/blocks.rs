//! The memory of a function's blocks ([`penfuzz_target::inputs`]): written before each call, and followed by memory that faults when it is
//! touched.
//!
//! Each block has pages of its own. It ends where they end, so that what comes behind it faults at once, also when its length depends
//! on the input; or, in the other placement, it begins where they begin, so that what comes before it faults. The frame is a block
//! without guard.

use core::ptr::NonNull;
use std::rc::Rc;

use penfuzz_abi::CELL_BYTES;
use penfuzz_error::Error;
use penfuzz_target::{
    inputs::{Model, Nondet, Owner, Pointer, Sequence, Target, library::Class},
    program::{
        outside::Delete,
        script::{Filled, Patch, Script, Step},
    },
};

use super::{
    files::{self, Files},
    input::Input,
    stubs,
};

/// Where the memory lies if nothing else does: a fault beside a block then has the same address in every process. Not where
/// [`super::cells`] has its own. The `operator delete` of the runtime (`runtime/owned.c`) knows these addresses: it does not free
/// what lies up to [`REGION`] bytes behind.
const PREFERRED: usize = 0x2100_0000_0000;
const REGION: usize = 1 << 40;
/// From one mapping to the next: there may be several at the same time.
const NEXT: usize = 1 << 36;

/// From the pages of one block to those of the next, at least; an access so far beside a block is noticed as one beside it.
const STRIDE: usize = 1 << 20;

/// Where an address lies that was touched beside a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Beside {
    /// The number of the block.
    pub block: usize,
    /// Bytes from the start of the block in the last run; negative before it.
    pub at: isize,
}

/// The memory of one model.
#[derive(Debug)]
pub struct Blocks {
    model: Rc<Model>,
    map: NonNull<u8>,
    mapped: usize,
    /// Of each block: the start of its pages, and their end.
    pages: Vec<(usize, usize)>,
    /// Of each block: where its first element was in the last run, and its bytes.
    places: Vec<(usize, usize)>,
    at_start: bool,
    /// The result of each call.
    results: Box<[u128]>,
    /// The calls, if there is a sequence.
    script: Box<Script>,
    /// What the rules say is overridden by these lengths, in elements; for probing.
    lengths: Option<Vec<usize>>,
    /// The block that is filled with noise instead of zeros, and which noise; for probing.
    noise: Option<(usize, u8)>,
    /// The stream over the block of standard input.
    input: Option<Input>,
    files: Files,
    /// Objects of the last run may have memory of their own.
    has_returned: bool,
    delete: Option<Delete>,
}

impl Blocks {
    /// Maps the memory.
    ///
    /// # Errors
    /// When the system gives none.
    pub fn new(model: &Rc<Model>) -> Result<Self, Error> {
        // SAFETY: asks for a number.
        let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096);
        let strides: Vec<usize> = model.blocks.iter().map(|b| STRIDE + b.bytes().next_multiple_of(page)).collect();
        let mapped = strides.iter().sum::<usize>() + STRIDE;
        let (none, anonymous) = (libc::PROT_NONE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE);
        let no_memory = || Error::new("no memory for the arguments of the function under test");
        let at = |n: usize| {
            let wish = core::ptr::without_provenance_mut(PREFERRED + n * NEXT);
            // SAFETY: a new mapping; the place is a wish, which never takes memory from others.
            let map = unsafe { libc::mmap(wish, mapped, none, anonymous, -1, 0) };
            NonNull::new(map.cast::<u8>()).filter(|m| m.as_ptr().cast() != libc::MAP_FAILED)
        };
        let is_in_region = |map: &NonNull<u8>| in_region(map.as_ptr() as usize);
        let wished = (0..REGION / NEXT).find_map(|n| {
            let map = at(n)?;
            if is_in_region(&map) {
                return Some(map);
            }
            // SAFETY: the mapping is ours alone.
            unsafe { libc::munmap(map.as_ptr().cast(), mapped) };
            None
        });
        let map = wished.or_else(|| at(0)).ok_or_else(no_memory)?;
        let (mut pages, mut at) = (Vec::new(), map.as_ptr() as usize + STRIDE / 2);
        for (block, stride) in model.blocks.iter().zip(&strides) {
            let (start, end) = (at, at + block.bytes().next_multiple_of(page).max(page));
            // SAFETY: whole pages of the own mapping.
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
        let places = vec![(0, 0); pages.len()];
        Ok(Self {
            model: Rc::clone(model),
            map,
            mapped,
            pages,
            places,
            at_start: false,
            results: vec![0; model.sequence.as_ref().map_or(1, |s| s.makers.len() + s.steps.len())].into_boxed_slice(),
            script: Box::default(),
            lengths: None,
            noise: None,
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

    /// Writes all blocks from an input, and returns the frame and the place of the result; of a sequence its [`Script`] instead of the
    /// frame. Does not allocate, except for a stream and for the first script.
    pub fn write(&mut self, x: &[u8]) -> (*mut u8, *mut u8) {
        self.release();
        let model = Rc::clone(&self.model);
        for (i, block) in model.blocks.iter().enumerate() {
            let n = self.lengths.as_ref().map_or_else(|| block.len(x), |l| l[i].min(block.capacity));
            let bytes = n * block.stride;
            let (start, end) = self.pages[i];
            self.places[i] = (if self.at_start || block.path.is_empty() { start } else { end - bytes }, bytes);
            // SAFETY: the pages have room for the capacity, and `x` is an input of the model.
            unsafe { block.write(x, n, self.pointer(self.places[i].0)) };
            if let Some((noisy, seed)) = self.noise.filter(|(noisy, _)| *noisy == i) {
                self.fill(noisy, seed);
            }
        }
        for (i, block) in model.blocks.iter().enumerate() {
            let (first, bytes) = self.places[i];
            for p in block.pointers.iter().take_while(|p| p.at + size_of::<usize>() <= bytes) {
                let address = match p.target {
                    _ if model.is_null(p, x) => 0,
                    Target::Block(b) => self.places[b].0,
                    Target::End(b) => self.places[b].0 + self.places[b].1,
                    Target::Count(b) => self.count(b),
                    Target::Own(at) => first + at,
                    Target::Stub(s) => stubs::address(s, model.stubs[s].slot, x),
                    Target::Stream(file) => self.files.stream(file, self.text(model.files[file].block)),
                    Target::Name(file) => {
                        let text = self.text(model.files[file].block);
                        self.files.name(file, text, model.files[file].is_missing(x))
                    }
                    Target::Program => files::program(),
                    // A handle is known when its maker has returned.
                    Target::Null | Target::Made(_) => 0,
                };
                // SAFETY: the pointer lies within the block.
                unsafe { self.pointer(first + p.at).cast::<usize>().write_unaligned(address) };
            }
        }
        if let (Some(block), Some(input)) = (model.input, &mut self.input) {
            let (first, bytes) = self.places[block];
            let base = self.map.as_ptr();
            // SAFETY: the block lies in the mapping, is a string, and stays where it is.
            unsafe { input.open(base.add(first - base as usize), bytes) };
        }
        if model.is_program {
            files::reset_options();
        }
        for v in model.globals.iter().filter(|v| self.is_set_once(v.block) && !model.blocks[v.block].is_output) {
            let (first, bytes) = self.places[v.block];
            // SAFETY: the variable is as large as its block.
            unsafe { v.global.address().copy_from_nonoverlapping(self.pointer(first).cast_const(), bytes) };
        }
        for nondet in &model.nondet {
            let (first, bytes) = self.places[nondet.block];
            let n = bytes / model.blocks[nondet.block].stride;
            set_results(nondet, self.pointer(first), n);
        }
        if let Some(sequence) = &model.sequence {
            return (self.write_script(sequence, x), self.results.as_mut_ptr().cast());
        }
        (self.pointer(self.places[0].0), self.results.as_mut_ptr().cast())
    }

    /// The calls, for [`script::run`](penfuzz_target::program::script::run). Frames never move, blocks behind handles may.
    fn write_script(&mut self, sequence: &Sequence, x: &[u8]) -> *mut u8 {
        self.results.fill(0);
        let n_makers = sequence.makers.len();
        if self.script.steps.is_empty() {
            let calls = sequence.makers.iter().chain(&sequence.steps).enumerate();
            let results = self.results.as_mut_ptr();
            self.script.steps = calls
                .map(|(i, call)| Step {
                    call: call.thunk,
                    frame: self.pointer(self.places[call.frame].0),
                    // SAFETY: there is one result per call.
                    result: unsafe { results.add(i) }.cast(),
                })
                .collect();
        }
        self.script.errnos.clear();
        self.script.errnos.resize(self.script.steps.len(), 0);
        self.script.patches.clear();
        let model = Rc::clone(&self.model);
        for (step, call) in sequence.makers.iter().chain(&sequence.steps).enumerate() {
            self.script.steps[step].frame = self.pointer(self.places[call.frame].0);
            for p in &model.blocks[call.frame].pointers {
                let Target::Made(handle) = p.target else { continue };
                if model.is_null(p, x) {
                    continue;
                }
                let handle = &sequence.handles[handle];
                let from = match handle.out {
                    Some(block) => self.pointer(self.places[block].0).cast_const().cast(),
                    // SAFETY: there is one result per call.
                    None => unsafe { self.results.as_ptr().add(handle.maker) }.cast(),
                };
                let to = self.pointer(self.places[call.frame].0 + p.at).cast();
                self.script.patches.push(Patch { step, from, to });
            }
        }
        self.fill_variables(n_makers);
        self.script.n = n_makers + sequence.len(x);
        self.script.begun = 0;
        (&raw mut *self.script).cast()
    }

    /// The variables that each call gets anew.
    fn fill_variables(&mut self, n_makers: usize) {
        self.script.filled.clear();
        let model = Rc::clone(&self.model);
        for v in &model.globals {
            if let Owner::Step(k) = model.blocks[v.block].owner {
                let (first, size) = self.places[v.block];
                let from = self.pointer(first).cast_const();
                self.script.filled.push(Filled { step: n_makers + k, from, to: v.global.address(), size });
            }
        }
    }

    /// Is the block not that of one call of a sequence?
    fn is_set_once(&self, block: usize) -> bool {
        !matches!(self.model.blocks[block].owner, Owner::Step(_))
    }

    /// How many calls of the sequence the last run began, makers included; 1 without a sequence.
    #[must_use]
    pub fn begun(&self) -> usize {
        if self.model.sequence.is_some() { self.script.begun } else { 1 }
    }

    /// The results of the calls of the last run, makers first.
    #[must_use]
    pub fn results(&self) -> &[u128] {
        &self.results
    }

    /// `errno` behind each call of the last run, makers first.
    #[must_use]
    pub fn errnos(&self) -> &[i32] {
        &self.script.errnos
    }

    /// The text of a block up to its end, and a pointer that outlives the borrow of the block.
    fn text(&self, block: usize) -> (*const u8, usize) {
        let (first, bytes) = self.places[block];
        let text = self.pointer(first).cast_const();
        // SAFETY: the block has so many bytes.
        let n = (0..bytes).find(|i| unsafe { text.add(*i).read() } == 0).unwrap_or(bytes);
        (text, n)
    }

    /// Closes the files that the last run has opened and not closed.
    pub fn finish(&mut self) {
        self.files.finish();
    }

    /// Elements of a block in the last run, without the 0 behind a string.
    fn count(&self, block: usize) -> usize {
        let b = &self.model.blocks[block];
        (self.places[block].1 / b.stride.max(1)).saturating_sub(usize::from(b.is_terminated))
    }

    /// Objects of the C++ library are to be released before the next run, with the `operator delete` of the target.
    pub fn release_with(&mut self, delete: Option<Delete>) {
        self.delete = delete;
    }

    /// The last run has returned: its objects own what they point to.
    pub fn mark_returned(&mut self) {
        self.has_returned = true;
    }

    /// Frees what the objects of the last run have allocated. Objects within others are left to the end of the process.
    fn release(&mut self) {
        let (true, Some(delete)) = (core::mem::take(&mut self.has_returned), self.delete) else { return };
        let model = Rc::clone(&self.model);
        for (i, block) in model.blocks.iter().enumerate() {
            let (first, bytes) = self.places[i];
            let owned = |p: &Pointer| matches!(p.target, Target::Block(b) if model.blocks[b].is_owned());
            for p in block.pointers.iter().filter(|p| owned(p) && !block.is_owned() && p.at + 8 <= bytes) {
                // SAFETY: the pointer lies within the block.
                let address = unsafe { self.pointer(first + p.at).cast::<usize>().read_unaligned() };
                if address != 0 && !in_region(address) {
                    // SAFETY: the object got it from `operator new`, and nothing uses it any more.
                    unsafe { delete(core::ptr::with_exposed_provenance_mut(address)) };
                }
            }
        }
    }

    /// The elements of an object of the C++ library after the last run, which may lie elsewhere now: bytes, and how many.
    #[must_use]
    pub fn elements(&self, block: usize, at: usize, class: &Class) -> Option<(&[u8], usize)> {
        const MOST: usize = 1 << 20;
        if !self.has_returned {
            return None;
        }
        let contents = self.contents(block);
        let word = |at: usize| Some(usize::from_le_bytes(contents.get(at..at + 8)?.try_into().ok()?));
        let stride = self.model.types[class.element()].size.max(1);
        let (begin, bytes) = match class {
            Class::Vector { begin, end, .. } => {
                let begin = word(at + begin)?;
                (begin, word(at + end)?.checked_sub(begin)?)
            }
            Class::String { begin, count, .. } => (word(at + begin)?, word(at + count)?),
            Class::View { .. } | Class::Optional { .. } => return None,
        };
        if begin == 0 || bytes > MOST || !bytes.is_multiple_of(stride) {
            return (bytes == 0).then_some((&[][..], 0));
        }
        // SAFETY: a run that has returned leaves an object that can be read, until the next one.
        let elements = unsafe { core::slice::from_raw_parts(core::ptr::with_exposed_provenance(begin), bytes) };
        Some((elements, bytes / stride))
    }

    /// A pointer into the own mapping.
    fn pointer(&self, address: usize) -> *mut u8 {
        let base = self.map.as_ptr();
        // SAFETY: addresses of blocks lie within the mapping.
        unsafe { base.add(address - base as usize) }
    }

    /// Puts blocks at the start of their pages, or at the end, which is the default.
    pub fn place(&mut self, at_start: bool) {
        self.at_start = at_start;
    }

    /// Gives the blocks these lengths whatever the input says; with `None` what their rules say.
    pub fn set_lengths(&mut self, lengths: Option<Vec<usize>>) {
        self.lengths = lengths;
    }

    /// Fills this block with noise in the next runs.
    pub fn set_noise(&mut self, noise: Option<(usize, u8)>) {
        self.noise = noise;
    }

    /// Numbers of all magnitudes, also small ones.
    fn fill(&mut self, block: usize, seed: u8) {
        let (first, bytes) = self.places[block];
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

    /// What is in a block after the last run.
    #[must_use]
    pub fn contents(&self, block: usize) -> &[u8] {
        let (first, bytes) = self.places[block];
        if let Some(global) = self.model.global_of(block).filter(|_| self.is_set_once(block)) {
            // SAFETY: the variable is as large as its block, and the target does not run now.
            return unsafe { core::slice::from_raw_parts(global.address().cast_const(), bytes) };
        }
        // SAFETY: the block lies in its pages.
        unsafe { core::slice::from_raw_parts(self.pointer(first).cast_const(), bytes) }
    }

    /// Which block an address lies beside that is not accessible.
    #[must_use]
    pub fn beside(&self, address: u64) -> Option<Beside> {
        let address = usize::try_from(address).ok()?;
        let first = self.map.as_ptr() as usize;
        if !(first..first + self.mapped).contains(&address) {
            return None;
        }
        // The frame, which has no name, has no accesses beside it that a program could make.
        let distance = |i: &usize| {
            let (start, bytes) = self.places[*i];
            if address < start { start - address } else { address.saturating_sub(start + bytes) }
        };
        let is_named = |i: &usize| !self.model.blocks[*i].path.is_empty();
        let block = (0..self.pages.len()).filter(is_named).min_by_key(distance)?;
        Some(Beside { block, at: address.wrapping_sub(self.places[block].0).cast_signed() })
    }

    /// Where an address lies, in words.
    #[must_use]
    pub fn describe(&self, address: u64) -> Option<String> {
        let beside = self.beside(address)?;
        let block = &self.model.blocks[beside.block];
        let side = if beside.at < 0 { "before the start" } else { "behind the end" };
        let n = self.places[beside.block].1 / block.stride.max(1);
        let elements = if n == 1 { "1 element".to_owned() } else { format!("{n} elements") };
        Some(format!("{side} of `{}` ({elements}, {})", block.path, block.origin))
    }
}

/// Is it an address that `operator delete` passes over?
fn in_region(address: usize) -> bool {
    (PREFERRED..PREFERRED + REGION).contains(&address)
}

/// Makes `n` numbers the results of a function of the environment.
fn set_results(nondet: &Nondet, values: *const u8, n: usize) {
    // SAFETY: a record of the loaded file, which no other thread uses. The numbers stay until `drop`.
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
        // SAFETY: the mapping is ours alone and nothing of it is used any more.
        unsafe { libc::munmap(self.map.as_ptr().cast(), self.mapped) };
    }
}

// The frame is aligned as the thunk needs it: its pages are.
const _: () = assert!(CELL_BYTES <= 4096, "the frame begins at a page");
