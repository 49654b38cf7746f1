//! The memory that recorded calls have and a model lacks: blocks at a greater depth, and longer arrays.
//!
//! 1. A model is built in which each pointer beyond the limits leads to a block without elements. If a recorded call
//!    has memory there, the block is added. This is repeated, because an added block may lead to further memory.
//! 2. A block has as many elements as the largest recorded block of `malloc`. `malloc` rounds sizes up, so this is the
//!    least number of elements for which it returns a block of this size. Structures need a length (3.) as well.
//! 3. If an integer of the same input is the number of elements of each recorded block, it becomes the length, also if
//!    calls that probe the memory have suggested another: callers know the size of their memory.

use super::{
    calls::{RecordedCall, RecordedMemory},
    encode::{Encoded, encoded},
};
use crate::{
    inputs::{self, Block, Model, Origin, Rule, Size, Sizes, paths::any_index, types::Form},
    program::{Function, Target, function::DeepMemory},
};

/// Maximum number of levels that are added to a model.
const LEVELS: usize = 8;
/// Maximum size of a block in bytes, which is also the largest block that a model has an input for.
const LARGEST: usize = 512;
/// Number of recorded blocks of different sizes that show a rule for the length.
const SIZES_FOR_A_RULE: usize = 3;

/// Adds the sizes of the memory that the calls have. `sizes` has those that are known without a recording.
pub fn extend_sizes(target: &mut Target, function: usize, calls: &[RecordedCall], sizes: &mut Sizes) {
    if calls.is_empty() {
        return;
    }
    let before = core::mem::replace(&mut target.functions[function].deep, DeepMemory::All);
    for _ in 0..LEVELS {
        let f = &target.functions[function];
        let Ok(model) = inputs::build(target, f, sizes) else { break };
        let all: Vec<Observed> = calls.iter().filter_map(|call| Observed::of(f, &model, call)).collect();
        let known = sizes.clone();
        for (i, block) in model.blocks.iter().enumerate().skip(1) {
            let path = any_index(&block.path);
            let is_needed = sizes.get(&path).is_some_and(|size| size.is_needed);
            if let Some(size) = size_of(i, block, &model, &all) {
                sizes.insert(path, Size { is_needed: is_needed || size.is_needed, ..size });
            }
        }
        if *sizes == known {
            break;
        }
    }
    target.functions[function].deep = before;
}

/// A recorded call as an input of a model.
struct Observed<'a> {
    memory: &'a RecordedMemory,
    encoded: Encoded,
}

impl<'a> Observed<'a> {
    fn of(f: &Function, model: &Model, call: &'a RecordedCall) -> Option<Self> {
        Some(Self { memory: &call.memory, encoded: encoded(f, model, call)? })
    }

    /// The recorded memory of a block.
    fn content(&self, block: usize) -> Option<&'a [u8]> {
        self.memory.from(self.encoded.addresses[block]?)
    }

    /// The least and the greatest number of elements of a block, if it is a block of `malloc`.
    fn elements(&self, block: usize, stride: usize) -> Option<(usize, usize)> {
        /// The smallest block of the C library, and the unit of larger ones.
        const SMALLEST: usize = 24;
        const UNIT: usize = 16;
        let usable = self.memory.block_size(self.encoded.addresses[block]?)?;
        let least = if usable <= SMALLEST { 1 } else { usable - UNIT + 1 };
        Some((least.div_ceil(stride).max(1), (usable / stride).max(1)))
    }
}

/// The size of a block of the model, if recorded calls have more memory there than the model.
fn size_of(i: usize, block: &Block, model: &Model, all: &[Observed]) -> Option<Size> {
    let mut contents = all.iter().filter_map(|call| call.content(i)).peekable();
    contents.peek()?;
    if let Some(size) = &block.deferred {
        return Some(Size { is_needed: true, ..size.clone() });
    }
    let is_sure = block.origin.is_sure() && block.origin != Origin::Bounded;
    if is_sure || block.part_of.is_some() || model.global_of(i).is_some() {
        return None;
    }
    let known = Size {
        capacity: block.capacity,
        length: block.rule.clone(),
        origin: block.origin,
        is_output: block.is_output,
        is_needed: false,
    };
    let most = (LARGEST / block.stride).max(1);
    if block.is_string {
        let longest = contents.map(|bytes| bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len()) + 1).max()?;
        let capacity = longest.min(most).max(block.capacity);
        return (capacity > block.capacity).then_some(Size { capacity, origin: Origin::Probed, ..known });
    }
    let elements: Vec<(&Observed, (usize, usize))> =
        all.iter().filter_map(|call| Some((call, call.elements(i, block.stride)?))).collect();
    let capacity = elements.iter().map(|(_, (least, _))| *least).max()?.min(most).max(block.capacity);
    let counted = counted_by(model, &elements);
    // A structure in a larger block may be the start of another structure, instead of the first of an array.
    let is_structure = matches!(model.types[block.element].form, Form::Struct(_));
    let capacity = if is_structure && counted.is_none() { block.capacity } else { capacity };
    let length = counted.unwrap_or_else(|| block.rule.clone());
    let is_new = capacity > block.capacity || length != block.rule;
    is_new.then_some(Size { capacity, length, origin: Origin::Probed, ..known })
}

/// The integer of the same call that is the number of elements of each recorded block; `None` if there is none, or
/// more than one.
fn counted_by(model: &Model, elements: &[(&Observed, (usize, usize))]) -> Option<Rule> {
    let mut sizes: Vec<usize> = elements.iter().map(|(_, (least, _))| *least).collect();
    sizes.sort_unstable();
    sizes.dedup();
    if sizes.len() < SIZES_FOR_A_RULE {
        return None;
    }
    let slots = model.layout.slots();
    let counts = |slot: usize| {
        elements.iter().all(|(call, (least, most))| {
            let value = slots[slot].kind.to_integer(slots[slot].get(&call.encoded.x));
            value.and_then(|n| usize::try_from(n).ok()).is_some_and(|n| (*least..=*most).contains(&n))
        })
    };
    let mut found = model.numbers.iter().filter(|(_, slot)| counts(*slot));
    let (path, _) = found.next()?;
    found.next().is_none().then(|| Rule::Linear(path.clone(), 1, 0))
}
