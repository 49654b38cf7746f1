//! The input of a model whose evaluation makes a recorded call: the inverse of the memory that is written before a
//! call ([`crate::inputs::image`]).
//!
//! 1. The arguments are the content of the frame.
//! 2. The pointers of a block whose content is known give the addresses of further blocks. A block that several
//!    pointers lead to has the content at the first of the addresses.
//! 3. Numbers of an input that no recorded memory gives are 0, such as the text of standard input.

use penfuzz_mutators::view::Slot;

use super::calls::{Bytes, RecordedCall, RecordedMemory};
use crate::{
    inputs::{Block, Form, Model, Target as Leads, Within, extended},
    program::Function,
};

/// The input of the function under test that makes this call; `None` if the call does not fit the function, or if its
/// inputs are sequences of calls.
#[must_use]
pub fn input_of(f: &Function, call: &RecordedCall) -> Option<Vec<u8>> {
    match &f.model {
        Some(model) => encoded(f, model, call).map(|encoded| encoded.x),
        None => of_numbers(f, call),
    }
}

/// A call as an input of a model.
pub(super) struct Encoded {
    /// The input.
    pub(super) x: Vec<u8>,
    /// Per block: the address that the first pointer to it has in the call; `None` if no pointer leads to it.
    pub(super) addresses: Vec<Option<u64>>,
}

/// As [`input_of`], for a model of the function.
pub(super) fn encoded(f: &Function, model: &Model, call: &RecordedCall) -> Option<Encoded> {
    if f.is_harness() || call.arguments.len() != f.parameters.len() || model.sequence.is_some() {
        return None;
    }
    let mut frame = vec![0; model.blocks[0].bytes()];
    for ((_, at), Bytes(value)) in model.parameters.iter().zip(&call.arguments) {
        frame.get_mut(*at..at + value.len())?.copy_from_slice(value);
    }
    Some(Encoder::new(model, &call.memory).encode(&frame))
}

/// The input of a function whose parameters are numbers, or pointers to one number.
pub(super) fn of_numbers(f: &Function, call: &RecordedCall) -> Option<Vec<u8>> {
    if f.is_harness() || call.arguments.len() != f.parameters.len() {
        return None;
    }
    let mut x = vec![0; f.layout().size()];
    for (p, Bytes(value)) in f.parameters.iter().zip(&call.arguments).filter(|(p, _)| !p.is_output()) {
        let size = p.kind?.size();
        let number = if p.pointer { call.memory.from(address(value)?).unwrap_or(&[]) } else { value };
        let number = &number[..number.len().min(size)];
        x.get_mut(p.offset..p.offset + number.len())?.copy_from_slice(number);
    }
    Some(x)
}

/// The address in the first bytes of a value.
fn address(value: &[u8]) -> Option<u64> {
    value.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
}

/// Fills an input block by block.
struct Encoder<'a> {
    model: &'a Model,
    memory: &'a RecordedMemory,
    /// The blocks whose addresses are known and that are not encoded yet.
    waiting: Vec<(usize, u64)>,
    /// As [`Encoded::addresses`].
    addresses: Vec<Option<u64>>,
    /// The pointers into buffers of other pointers, with their addresses.
    cursors: Vec<(Within, u64)>,
    x: Vec<u8>,
}

impl<'a> Encoder<'a> {
    fn new(model: &'a Model, memory: &'a RecordedMemory) -> Self {
        let x = model.at_start().unwrap_or_else(|| vec![0; model.layout.size()]);
        Self { model, memory, waiting: Vec::new(), addresses: vec![None; model.blocks.len()], cursors: Vec::new(), x }
    }

    fn encode(mut self, frame: &[u8]) -> Encoded {
        self.add(0, frame);
        while let Some((block, at)) = self.waiting.pop() {
            if let Some(bytes) = self.memory.from(at) {
                let size = bytes.len().min(self.model.blocks[block].bytes());
                self.add(block, &bytes[..size]);
            }
        }
        self.set_cursors();
        Encoded { x: self.x, addresses: self.addresses }
    }

    /// Encodes the pointers into buffers. The limits come first, because a cursor is at most its limit.
    fn set_cursors(&mut self) {
        let mut cursors = core::mem::take(&mut self.cursors);
        cursors.sort_by_key(|(_, at)| core::cmp::Reverse(*at));
        cursors.sort_by_key(|(within, _)| within.upper.is_some());
        for (within, at) in cursors {
            let block = &self.model.blocks[within.block];
            let bytes = self.addresses[within.block].and_then(|first| at.checked_sub(first)).unwrap_or(0);
            let n = block.len(&self.x);
            self.model.set_element(&within, &mut self.x, n, (bytes / block.stride as u64) as usize);
        }
    }

    /// Chooses the members of the unions in a block: the first one with a pointer to memory that was recorded.
    fn choose_members(&mut self, block: usize, bytes: &[u8]) {
        let mut known: Vec<Slot> = Vec::new();
        for p in &self.model.blocks[block].pointers {
            let Some(alternative) = p.alternative.filter(|a| !known.contains(&a.choice)) else { continue };
            let Some(at) = bytes.get(p.at..).and_then(address) else { break };
            if self.memory.from(at).is_some() {
                known.push(alternative.choice);
                alternative.choice.set(&mut self.x, alternative.number.into());
            }
        }
    }

    /// Encodes the content of a block.
    fn add(&mut self, block: usize, bytes: &[u8]) {
        let model = self.model;
        store(&model.blocks[block], bytes, &mut self.x);
        self.choose_members(block, bytes);
        for p in &model.blocks[block].pointers {
            if !p.exists(&self.x) {
                continue;
            }
            let Some(at) = bytes.get(p.at..).and_then(address) else { break };
            if let Some(null) = p.null {
                null.set(&mut self.x, u64::from(at == 0));
            }
            if let Leads::Within(within) = p.target {
                self.cursors.push((within, at));
            }
            if let Leads::Block(b) = p.target
                && at != 0
                && self.addresses[b].is_none()
            {
                self.addresses[b] = Some(at);
                self.waiting.push((b, at));
            }
        }
    }
}

/// Number of bytes of a `long double` without its padding.
const LONG_DOUBLE: usize = extended::BITS as usize / 8;

/// Stores the numbers of a block in an input, as far as its bytes are known.
fn store(block: &Block, bytes: &[u8], x: &mut [u8]) {
    for copy in &block.copies {
        let Some(known) = bytes.get(copy.to..) else { break };
        let size = copy.size.min(known.len());
        x[copy.from..copy.from + size].copy_from_slice(&known[..size]);
    }
    for c in &block.converted {
        let Some(known) = bytes.get(c.to..) else { break };
        match c.form {
            Form::Bool => x[c.from] = known.first().map_or(0, |byte| byte & 1),
            Form::Extended if known.len() >= LONG_DOUBLE => extended::store(extended::number(known), &mut x[c.from..]),
            Form::F80 if known.len() >= LONG_DOUBLE => {
                let double = extended::to_double(extended::number(known)).unwrap_or(0);
                x[c.from..c.from + 8].copy_from_slice(&double.to_le_bytes());
            }
            Form::Extended | Form::F80 | Form::F128 => {}
        }
    }
}
