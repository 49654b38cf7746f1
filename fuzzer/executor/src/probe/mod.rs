//! Finds by calls how many elements the memory behind a pointer needs, and which memory is read at all.
//!
//! 1. *Growing.* Every block begins with one element and ends at a guard page; a string or untyped memory begins with
//!    some bytes. A call that accesses memory past the end of a block enlarges the block. A call that accesses memory
//!    beyond the limits of a model adds that memory. The step ends when [`CALLS`] calls in a row have no access out of
//!    bounds. Integers are small in these calls, because many are lengths.
//! 2. *Results.* Memory that the callee writes without reading it, as far as its code shows, is filled with zeros and
//!    with noise. If no call takes other branches or returns another value, the memory is a result, and no part of it
//!    is in an input.
//! 3. *Fitting.* The accessed elements are counted for the integers 1, 2, 3, 5 and 8, in a block that grows until the
//!    call stays within it. A rule ([`fit`](penfuzz_target::inputs::fit)) that yields these counts becomes the length
//!    of the block. If there is none, the rule that the loops of the function yield ([`reach`](crate::probe::reach))
//!    becomes the length, provided that no call accessed more elements.
//!
//! The calls depend on nothing but the target, so every process of a campaign finds the same sizes.

pub mod reach;

use std::{rc::Rc, time::Duration};

use libafl_bolts::rands::StdRand;
use penfuzz_abi::action;
use penfuzz_mutators::{
    dictionary::Dictionary,
    start::StartPoints,
    view::{Kind, Slot},
};
use penfuzz_target::{
    inputs::{
        calls::build,
        fit::{Sample, fit},
        model::{Block, Model},
        paths::any_index,
        sizes::{Origin, Rule, Size, Sizes},
    },
    program::{Function, Target, function::DeepMemory},
};

use crate::{
    Evaluator, Fault,
    evaluator::{EvaluationLimits, RunStatus},
};

/// Number of calls without growth that ends the first step.
pub(super) const CALLS: usize = 300;
/// Maximum number of times that blocks are enlarged or added.
const GROWTHS: usize = 64;
/// Maximum size of a block in bytes.
const LARGEST: usize = 8192;
/// Maximum number of loop iterations of one call, until a call has been costly. Each costly call halves it,
/// [`HALVINGS`] times: a function that needs the iterations of a small model often does not end at all, and takes
/// seconds to show it.
const FUEL: i64 = 50_000;
const HALVINGS: usize = 4;
/// Limits of wall time and (`MEMORY`) memory in bytes of one call.
const TIMEOUT: Duration = Duration::from_millis(100);
const MEMORY: u64 = 64 << 20;
/// Number of calls that exhaust fuel, time or memory after which no more calls are made. It is a count, so that every
/// process stops at the same call.
const MOST_COSTLY: usize = 32;
/// Values of the tested integer in the third step, and (`OTHERS`) value of the other integers.
const VALUES: [i64; 5] = [1, 2, 3, 5, 8];
const OTHERS: i64 = 3;
/// Maximum number of integers that a length may depend on.
const MOST_INTEGERS: usize = 6;
/// Inputs for each value, and (`TRIALS`) calls for each input.
const INPUTS: usize = 6;
const TRIALS: usize = 300;

/// Whether the function can take structures, arrays or strings.
#[must_use]
pub fn has_more_than_numbers(target: &Target, function: usize) -> bool {
    let f = &target.functions[function];
    let is_model = |model: &Model| f.frame_call().is_some() || f.calls > 1 || !model.globals.is_empty();
    !f.is_harness() && build(target, f, &Sizes::new()).is_ok_and(|model| is_model(&model))
}

/// Sets the model of the inputs of the function under test, with these sizes. Sets none if the function can be called
/// as well with a number behind each pointer.
#[must_use]
pub fn with_sizes(mut target: Target, function: usize, sizes: &Sizes) -> Rc<Target> {
    let f = &target.functions[function];
    let model = build(&target, f, sizes).ok().filter(|model| is_needed(f, model, sizes));
    target.functions[function].model = model.map(Rc::new);
    Rc::new(target)
}

/// Finds the sizes of the blocks that the function gets, by calls of it.
#[must_use]
pub fn sizes(mut target: Target, function: usize, limits: EvaluationLimits) -> Sizes {
    // The sizes that are found for one call apply to all calls.
    target.functions[function].calls = 1;
    target.functions[function].deep = DeepMemory::Required;
    let Ok(model) = build(&target, &target.functions[function], &Sizes::new()) else { return Sizes::new() };
    target.functions[function].model = Some(Rc::new(model));
    let limits = EvaluationLimits {
        fuel: limits.fuel.min(FUEL),
        timeout: limits.timeout.min(TIMEOUT),
        memory: limits.memory.min(MEMORY),
    };
    let mut probing = Probing { target: Some(target), function, limits, sizes: Sizes::new(), costly: 0 };
    probing.grow();
    probing.find_inputs();
    probing.find_lengths();
    probing.sizes
}

/// Whether the function needs a model: it cannot be called as well with a cell behind each pointer.
fn is_needed(f: &Function, model: &Model, sizes: &Sizes) -> bool {
    const CELL: usize = penfuzz_abi::CELL_BYTES;
    let is_cell = |b: &Block| {
        let is_number = f.parameters.iter().any(|p| p.pointer && p.name == b.path && !p.is_output());
        let was_probed = sizes.get(&any_index(&b.path)).is_some_and(|s| s.origin != Origin::Assumed);
        // The end of a declared array must be the end of its memory.
        let is_declared = b.capacity > 1 && b.origin.is_sure();
        let fits = b.bytes() <= CELL && !b.is_string && !b.is_shared && b.rule == Rule::Full;
        b.pointers.is_empty()
            && b.origin != Origin::Given
            && !is_declared
            && (is_number && fits || b.is_output && !was_probed)
    };
    let frame = &model.blocks[0];
    // The memory of a model can be moved, which shows results that depend on addresses.
    f.call().is_none()
        || f.shapes().iter().any(|shape| shape.is_number)
        || model.result.is_some()
        || model.sequence.is_some()
        || model.input.is_some()
        || !model.nondet.is_empty()
        || !model.globals.is_empty()
        || !model.files.is_empty()
        || model.is_program
        || frame.pointers.iter().any(|p| p.null.is_some())
        || model.blocks[1..].iter().any(|b| !is_cell(b))
}

struct Probing {
    target: Option<Target>,
    function: usize,
    limits: EvaluationLimits,
    sizes: Sizes,
    /// Number of calls so far that exhausted fuel, time or memory.
    costly: usize,
}

impl Probing {
    /// Calls `work` with an evaluator of the model with the current sizes.
    fn with<T>(&mut self, work: impl FnOnce(&mut Calls) -> T) -> Option<T> {
        let mut target = self.target.take()?;
        if let Ok(model) = build(&target, &target.functions[self.function], &self.sizes) {
            target.functions[self.function].model = Some(Rc::new(model));
        }
        let target = Rc::new(target);
        let limits = EvaluationLimits { fuel: fuel(self.limits.fuel, self.costly), ..self.limits };
        let done = Evaluator::new(Rc::clone(&target), self.function, limits).ok().map(|mut evaluator| {
            evaluator.arm(|_| action::RECORD);
            work(&mut Calls { evaluator: &mut evaluator, most_fuel: self.limits.fuel, costly: &mut self.costly })
        });
        self.target = Rc::try_unwrap(target).ok();
        done
    }

    /// Step 1: enlarges blocks and adds blocks.
    fn grow(&mut self) {
        for _ in 0..GROWTHS {
            let Some(Some((path, size))) = self.with(first_out_of_bounds) else { return };
            self.insert(path, size);
        }
    }

    /// Sets the size of a block. A block that a call has needed stays needed.
    fn insert(&mut self, path: String, size: Size) {
        let is_needed = size.is_needed || self.sizes.get(&path).is_some_and(|s| s.is_needed);
        self.sizes.insert(path, Size { is_needed, ..size });
    }

    /// Step 2: finds the presumed results that the function reads.
    fn find_inputs(&mut self) {
        let read = self.with(|calls| {
            let blocks = &calls.evaluator.model().map_or(&[][..], |m| &m.blocks[..]);
            let outputs: Vec<usize> = (1..blocks.len()).filter(|i| blocks[*i].is_output).collect();
            let sizes: Vec<_> = outputs.iter().map(|i| (any_index(&blocks[*i].path), size_of(&blocks[*i]))).collect();
            outputs
                .into_iter()
                .zip(sizes)
                .filter(|(block, _)| is_read(calls, *block))
                .map(|(_, s)| s)
                .collect::<Vec<_>>()
        });
        for (path, size) in read.unwrap_or_default() {
            self.insert(path, Size { is_output: false, ..size });
        }
    }

    /// Step 3: finds the lengths that depend on integers.
    fn find_lengths(&mut self) {
        let found = self.with(|calls| {
            let blocks = calls.evaluator.model().map_or(&[][..], |m| &m.blocks[..]);
            let f = calls.evaluator.function();
            let is_array = |b: &Block| has_length(b) || may_have_loop(b) && reach::rule(f, &b.path, b.stride).is_some();
            let arrays: Vec<usize> = (1..blocks.len()).filter(|i| is_array(&blocks[*i])).collect();
            arrays.into_iter().filter_map(|block| length_of(calls, block)).collect::<Vec<_>>()
        });
        let before = self.sizes.clone();
        for (path, size) in found.unwrap_or_default() {
            self.insert(path, size);
        }
        // A size that a call refutes is set back to the previous one.
        while let Some(Some(path)) = self.with(reach::refuted) {
            match before.get(&path) {
                Some(size) => self.sizes.insert(path, size.clone()),
                None => self.sizes.remove(&path),
            };
        }
    }
}

/// Whether the length of a block may depend on an integer.
const fn has_length(block: &Block) -> bool {
    block.capacity > 1 && !block.is_string && !block.is_shared && !block.origin.is_sure()
}

/// Whether the length may come from a loop. This includes blocks for which no call showed that they are arrays.
const fn may_have_loop(block: &Block) -> bool {
    !block.is_string && !block.is_shared && !block.origin.is_sure()
}

fn size_of(block: &Block) -> Size {
    let (length, origin) = (block.rule.clone(), block.origin);
    Size { capacity: block.capacity, length, origin, is_output: block.is_output, is_needed: false }
}

/// The integer parameters that may be lengths, at most [`MOST_INTEGERS`].
fn integers(f: &Function, model: &Model) -> Vec<(String, Slot)> {
    let is_integer = |kind: Kind| !kind.is_float() && kind != Kind::Bool && kind != Kind::Rounding;
    let mut at = 0;
    let mut found = Vec::new();
    for copy in &model.blocks[0].copies {
        while let Some(slot) = model.layout.slots().get(at).filter(|s| s.offset < copy.from + copy.size) {
            let place = copy.to.wrapping_add(slot.offset.wrapping_sub(copy.from));
            let parameter = model.parameters.iter().position(|(_, frame)| *frame == place);
            if let Some(p) = parameter.filter(|_| is_integer(slot.kind) && slot.offset >= copy.from) {
                found.push((f.parameters[p].name.clone(), *slot));
            }
            at += 1;
        }
    }
    found.truncate(MOST_INTEGERS);
    found
}

/// A series of inputs with small integers.
pub(super) struct Inputs {
    rng: StdRand,
    starts: StartPoints,
    dictionary: Dictionary,
}

impl Inputs {
    pub(super) fn new() -> Self {
        Self { rng: StdRand::with_seed(1), starts: StartPoints::new(), dictionary: Dictionary::general() }
    }

    pub(super) fn next(&mut self, model: &Model, x: &mut [u8]) {
        use libafl_bolts::rands::Rand;
        self.starts.next(&mut self.rng, &model.layout, &self.dictionary, x);
        for slot in model.layout.slots() {
            let is_small = !slot.kind.is_float() && slot.kind.size() > 1 && self.rng.below_or_zero(8) > 0;
            if is_small {
                slot.set(x, self.rng.below_or_zero(9) as u64);
            }
        }
    }
}

/// The first block of which a call exceeds the bounds, with its new size.
fn first_out_of_bounds(calls: &mut Calls) -> Option<(String, Size)> {
    let model = Rc::clone(calls.evaluator.blocks()?.model());
    let (mut inputs, mut x) = (Inputs::new(), vec![0; model.layout.size()]);
    for _ in 0..CALLS {
        inputs.next(&model, &mut x);
        let Some((i, at)) = calls.run(&x) else { continue };
        let block = &model.blocks[i];
        if let Some(size) = &block.deferred {
            return Some((any_index(&block.path), Size { is_needed: true, ..size.clone() }));
        }
        let most = (LARGEST / block.stride).max(1);
        let Some(index) = usize::try_from(at).ok().map(|at| at / block.stride).filter(|n| *n < most) else { continue };
        // An access after the limit of a buffer shows nothing about its size.
        if i == 0 || index < block.capacity || block.origin.is_sure() || block.is_shared {
            continue;
        }
        let capacity = (index + 1).max(block.capacity * 2).min(most);
        let size = Size { capacity, origin: Origin::Probed, ..size_of(block) };
        return Some((any_index(&block.path), size));
    }
    None
}

/// Runs calls of the function, and counts the costly ones.
pub(super) struct Calls<'a> {
    pub(super) evaluator: &'a mut Evaluator,
    /// The fuel of a call before any costly one.
    most_fuel: i64,
    costly: &'a mut usize,
}

impl Calls<'_> {
    /// Runs an input. Returns the block and the offset of an access out of its bounds, if there was one in this run.
    /// Does nothing after too many costly calls.
    pub(super) fn run(&mut self, x: &[u8]) -> Option<(usize, isize)> {
        if *self.costly >= MOST_COSTLY {
            return None;
        }
        let before = self.evaluator.n_adjacent_accesses();
        let status = self.evaluator.run(x);
        self.evaluator.take_hits(&mut Vec::new());
        self.note(status);
        let is_beside = self.evaluator.n_adjacent_accesses() > before || status == RunStatus::Faulted;
        let beside = self.evaluator.last_adjacent_access().filter(|_| is_beside)?;
        Some((beside.block, beside.at))
    }

    fn note(&mut self, status: RunStatus) {
        let is_costly = |f: Fault| !f.is_cheap || f.is_out_of_fuel;
        if status == RunStatus::Faulted && self.evaluator.fault().is_some_and(is_costly) {
            *self.costly += 1;
            self.evaluator.set_fuel(fuel(self.most_fuel, *self.costly));
        }
    }
}

/// The fuel of a call after this number of costly ones.
fn fuel(most: i64, costly: usize) -> i64 {
    (most >> costly.min(HALVINGS)).max(1)
}

/// Whether the function behaves differently with other content of this block.
fn is_read(calls: &mut Calls, block: usize) -> bool {
    let Some(model) = calls.evaluator.blocks().map(|b| Rc::clone(b.model())) else { return false };
    let (mut inputs, mut x) = (Inputs::new(), vec![0; model.layout.size()]);
    let outcome = |calls: &mut Calls, x: &[u8], noise: Option<(usize, u8)>| {
        calls.evaluator.set_noise(noise);
        let mut hits = Vec::new();
        let status = calls.evaluator.run(x);
        calls.evaluator.take_hits(&mut hits);
        calls.note(status);
        (status, hits, calls.evaluator.output())
    };
    for i in 0..CALLS {
        if *calls.costly >= MOST_COSTLY {
            break;
        }
        inputs.next(&model, &mut x);
        let plain = outcome(calls, &x, None);
        let noise = outcome(calls, &x, Some((block, i as u8)));
        // A function that is not deterministic shows nothing.
        if plain != noise && plain == outcome(calls, &x, None) && noise == outcome(calls, &x, Some((block, i as u8))) {
            calls.evaluator.set_noise(None);
            return true;
        }
    }
    calls.evaluator.set_noise(None);
    false
}

/// The size of an array: a rule over integers, or a constant.
fn length_of(calls: &mut Calls, block: usize) -> Option<(String, Size)> {
    let model = Rc::clone(calls.evaluator.blocks()?.model());
    let of = &model.blocks[block];
    let integers = integers(calls.evaluator.function(), &model);
    let names: Vec<String> = integers.iter().map(|(name, _)| name.clone()).collect();
    let mut samples = vec![sample(calls, &model, block, &integers, &vec![OTHERS; integers.len()])];
    for i in 0..integers.len() {
        for value in VALUES {
            let mut values = vec![OTHERS; integers.len()];
            values[i] = value;
            samples.push(sample(calls, &model, block, &integers, &values));
        }
    }
    calls.evaluator.set_lengths(None);
    let most = samples.iter().map(|s| s.elements).max().unwrap_or(0);
    let path = any_index(&of.path);
    if let Some(rule) = fit(&names, &samples) {
        // A large capacity costs nothing, because an input has the first elements only.
        let capacity = (LARGEST / of.stride).max(most);
        return Some((path, Size { capacity, length: rule, origin: Origin::Probed, ..size_of(of) }));
    }
    let by_loop = reach::rule(calls.evaluator.function(), &of.path, of.stride);
    if let Some(rule) = by_loop.filter(|rule| reach::holds(rule, &names, &samples)) {
        let capacity = (LARGEST / of.stride).max(most);
        return Some((path, Size { capacity, length: rule, origin: Origin::Loop, ..size_of(of) }));
    }
    let is_constant = samples.iter().all(|s| s.elements == most) && most > 0;
    is_constant.then(|| (path, Size { capacity: most, ..size_of(of) }))
}

/// Counts the elements of a block that calls with these integers access at most.
fn sample(calls: &mut Calls, model: &Model, block: usize, integers: &[(String, Slot)], values: &[i64]) -> Sample {
    let (mut inputs, mut x) = (Inputs::new(), vec![0; model.layout.size()]);
    let mut lengths: Vec<usize> = model.blocks.iter().map(|b| b.capacity).collect();
    lengths[block] = 0;
    for _ in 0..INPUTS {
        inputs.next(model, &mut x);
        for ((_, slot), value) in integers.iter().zip(values) {
            slot.set(&mut x, value.cast_unsigned());
        }
        model.layout.normalise(&mut x);
        for _ in 0..TRIALS {
            calls.evaluator.set_lengths(Some(lengths.clone()));
            let Some((beside, at)) = calls.run(&x) else { break };
            let index = usize::try_from(at).map_or(usize::MAX, |at| at / model.blocks[block].stride);
            if beside != block || index < lengths[block] || index >= model.blocks[block].capacity {
                break;
            }
            lengths[block] = index + 1;
        }
    }
    let met = integers.iter().map(|(_, slot)| slot.kind.to_integer(slot.get(&x)).unwrap_or(0));
    Sample { integers: met.collect(), elements: lengths[block] }
}
