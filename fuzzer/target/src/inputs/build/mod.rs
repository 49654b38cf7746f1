//! Builds the memory of one call from the types of the parameters: the blocks, slots and pointers of a [`Model`].

mod cursors;
mod globals;
mod objects;
mod pointers;
mod streams;
mod unions;

use std::collections::{HashMap, VecDeque};

use penfuzz_mutators::{
    domain::Domain,
    group::{Group, Length},
    view::{Kind, Layout, Slot},
};

use self::cursors::{Cursor, Place};
use super::{
    block_builder::{BlockBuilder, BlockNeed, PendingPointer, PointeeKind, PointerFacts},
    buffers::{Buffers, Role},
    constraints::ArgConstraints,
    extended,
    model::{Block, Converted, Copy, File, Form as Conversion, Model, Owner, Stub},
    paths::{any_index, element_path, join},
    pointer::{Pointer, Target as Leads},
    sizes::{Origin, Rule, Size, Sizes},
    types::{Form, Number, TypeId, Types},
};
use crate::program::function::DeepMemory;

/// Maximum pointer depth from a parameter; deeper pointers are null.
const MAX_DEPTH: usize = 3;
/// Maximum number of elements of an array member that are part of an input; the others are 0.
const MAX_ELEMENTS: usize = 64;
/// The same limit in bytes, so that there is room for the members that follow.
const MAX_MEMBER: usize = 2048;
/// Maximum number of bytes of an input, and (`MAX_BLOCK`) of one block in it. Bytes beyond these limits are 0.
const MAX_INPUT: usize = 3072;
pub(super) const MAX_BLOCK: usize = 512;
/// Maximum number of blocks of a function.
const MAX_BLOCKS: usize = 64;
/// Initial size in bytes of a string with its terminator, and (`BYTES`) of untyped memory, until calls need more.
const STRING: usize = 32;
const BYTES: usize = 16;

pub(super) use objects::Elements;

pub(super) struct Builder<'a> {
    pub types: Types,
    sizes: &'a Sizes,
    constraints: &'a ArgConstraints,
    slots: Vec<Slot>,
    size: usize,
    /// Each group with the number of its block.
    groups: Vec<(usize, Group)>,
    pub blocks: Vec<Block>,
    stubs: Vec<Stub>,
    files: Vec<File>,
    /// Numbers with a predefined domain, by slot index. A constraint on the same number takes precedence.
    ranges: Vec<(usize, Domain)>,
    /// Paths of numbers, with the indices of their slots.
    numbers: Vec<(String, usize)>,
    /// The slots that are enumerations, with their types.
    enumerations: Vec<(usize, TypeId)>,
    pending: VecDeque<PendingPointer>,
    byte: Option<TypeId>,
    /// The call that the blocks under construction belong to.
    owner: Owner,
    /// The owner of each entry of `numbers`.
    owners: Vec<Owner>,
    /// Maximum size of the input so far in bytes, bytes of one block, and number of blocks.
    limits: (usize, usize, usize),
    /// What a pointer beyond the limits is; see [`pointers`].
    pub deep: DeepMemory,
    /// Which pointers lead into one buffer, and (`roles`) those that are compared with parameters, by path.
    pub buffers: Buffers,
    pub roles: HashMap<String, Role<String>>,
    /// The pointers of such groups that have been placed since the last resolution.
    places: Vec<Place>,
    cursors: Vec<Cursor>,
    /// The frame blocks of the steps (the calls of the function under test).
    pub frames: Vec<usize>,
    /// The slot kinds of each step.
    pub steps: Vec<Vec<Kind>>,
    /// The first slot of the first step.
    pub first_of_steps: usize,
}

impl<'a> Builder<'a> {
    pub fn new(types: Types, sizes: &'a Sizes, constraints: &'a ArgConstraints) -> Self {
        Self {
            types,
            sizes,
            constraints,
            slots: Vec::new(),
            size: 0,
            groups: Vec::new(),
            blocks: Vec::new(),
            stubs: Vec::new(),
            files: Vec::new(),
            ranges: Vec::new(),
            numbers: Vec::new(),
            enumerations: Vec::new(),
            pending: VecDeque::new(),
            byte: None,
            owner: Owner::Shared,
            owners: Vec::new(),
            limits: (MAX_INPUT, MAX_BLOCK, MAX_BLOCKS),
            deep: DeepMemory::default(),
            buffers: Buffers::default(),
            roles: HashMap::new(),
            places: Vec::new(),
            cursors: Vec::new(),
            frames: Vec::new(),
            steps: Vec::new(),
            first_of_steps: 0,
        }
    }

    /// Starts the blocks of the call `owner`, one of `n` calls that share the room.
    pub fn begin(&mut self, owner: Owner, n: usize) {
        self.owner = owner;
        let block = if n == 1 { MAX_BLOCK } else { (2 * MAX_BLOCK / n).min(MAX_BLOCK) };
        self.limits = (MAX_INPUT, block, self.blocks.len().saturating_sub(1) + (MAX_BLOCKS / n).max(4));
    }

    /// Number of bytes that are still free in an input.
    pub const fn room(&self) -> usize {
        MAX_INPUT.saturating_sub(self.size)
    }

    /// Limits the following slots to `room` further bytes of an input.
    pub const fn limit(&mut self, room: usize) {
        self.limits.0 = self.size + room;
    }

    /// Adds the slot for the number of calls; returns it with its index.
    pub fn count(&mut self) -> (Slot, usize) {
        let slot = Slot { kind: Kind::U8, offset: self.size };
        self.size = slot.end();
        self.slots.push(slot);
        (slot, self.slots.len() - 1)
    }

    /// Adds the slot that decides whether a pointer is null; `None` if the input is full.
    pub fn null_slot(&mut self, block_builder: &mut BlockBuilder) -> Option<Slot> {
        self.slot(block_builder, Kind::Bool)
    }

    /// Number of slots so far.
    pub const fn n_slots(&self) -> usize {
        self.slots.len()
    }

    /// The kinds of the slots from `first` on.
    pub fn kinds_from(&self, first: usize) -> Vec<Kind> {
        self.slots[first..].iter().map(|slot| slot.kind).collect()
    }

    /// Adds a block of zeros without bytes in an input; returns its number.
    pub fn zero_block(&mut self, element: TypeId, path: &str) -> usize {
        let mut block_builder = BlockBuilder::new(element, self.types[element].size.max(1), path.to_owned());
        block_builder.block.is_output = true;
        self.finish_block(block_builder, &PointerFacts::default())
    }

    /// Merges a frame into the first block.
    pub fn finish_into_first(&mut self, block_builder: BlockBuilder) {
        self.pending.iter_mut().filter(|p| p.block == usize::MAX).for_each(|p| p.block = 0);
        self.set_block_of_places(0);
        let first = &mut self.blocks[0];
        first.copies.extend(block_builder.block.copies);
        first.converted.extend(block_builder.block.converted);
        first.pointers.extend(block_builder.block.pointers);
        first.copies.sort_by_key(|c| c.to);
        first.converted.sort_by_key(|c| c.to);
        first.pointers.sort_by_key(|p| p.at);
    }

    /// Places a value of type `of` at offset `at` of a block: adds slots for its numbers, and pending pointers. Returns
    /// an error if the value cannot be built from numbers.
    pub fn place(
        &mut self,
        block_builder: &mut BlockBuilder,
        of: TypeId,
        at: usize,
        path: &str,
        way: &PointerFacts,
    ) -> Result<(), String> {
        match self.types[of].form.clone() {
            Form::Number(number) => {
                let first = self.slots.len();
                self.place_number(block_builder, number, at, path);
                let is_enumeration = self.slots.len() > first && !self.types[of].enumerators.is_empty();
                self.enumerations.extend(is_enumeration.then_some((first, of)));
                Ok(())
            }
            Form::Struct(members) => self.place_members(block_builder, of, &members, at, path, way),
            Form::Library(class) => self.place_object(block_builder, &class, at, path, way),
            Form::Union(members) => self.place_union(block_builder, of, &members, at, path, way),
            Form::Array(element, n) => {
                let stride = self.types[element].size;
                let fit = (MAX_MEMBER / stride.max(1)).max(1);
                (0..n.min(MAX_ELEMENTS).min(fit))
                    .try_for_each(|i| self.place(block_builder, element, at + i * stride, &format!("{path}[{i}]"), way))
            }
            Form::Pointer(to) => self.place_pointer(block_builder, of, to, at, path, way),
            Form::Incomplete => Err("it has no definition in the target".to_owned()),
            Form::Void | Form::Function(_) | Form::Other => {
                Err("values of this type cannot be built from numbers".to_owned())
            }
        }
    }

    fn place_members(
        &mut self,
        block_builder: &mut BlockBuilder,
        of: TypeId,
        members: &[super::types::Member],
        at: usize,
        path: &str,
        way: &PointerFacts,
    ) -> Result<(), String> {
        if let Some(why) = self.closed(of) {
            return Err(why.to_owned());
        }
        let roles = self.buffers.of_structure(&self.types, of, members, path);
        let mut bytes = 0; // bytes of bit-fields placed so far, so that each is placed once
        for (m, role) in members.iter().zip(roles) {
            if m.bits > 0 {
                let (first, end) = ((m.offset / 8).max(bytes), (m.offset + m.bits).div_ceil(8));
                for byte in first..end {
                    self.place_number(block_builder, Number::Plain(Kind::U8), at + byte, &format!("{path}.bits{byte}"));
                }
                bytes = bytes.max(end);
                continue;
            }
            let absent = way.absent.clone();
            let way = PointerFacts {
                nullable: m.nullable,
                depth: way.depth,
                is_const: way.is_const,
                role,
                absent,
                alternative: way.alternative,
                ..PointerFacts::default()
            };
            self.place(block_builder, m.of, at + m.offset / 8, &join(path, &m.name), &way)?;
        }
        Ok(())
    }

    /// The reason why a type cannot be built although its members are known; `None` if it can.
    fn closed(&self, of: TypeId) -> Option<&'static str> {
        let name = self.types[of].name.as_str();
        match name {
            "struct _IO_FILE" | "_IO_FILE" => Some("a stream"),
            "struct __va_list_tag" | "__va_list_tag" => Some("a list of arguments"),
            "struct __pthread_internal" | "pthread_mutex_t" => Some("it is an object of the operating system"),
            _ if matches!(self.types[of].form, Form::Library(_)) => None,
            _ if name.starts_with("std::") && !self.is_plain(of, 0) => Some("a class of the C++ library"),
            _ => None,
        }
    }

    /// Whether a type consists of numbers and of library objects that can be built.
    fn is_plain(&self, of: TypeId, depth: usize) -> bool {
        match &self.types[of].form {
            Form::Number(_) | Form::Library(_) => true,
            Form::Array(element, _) => self.is_plain(*element, depth),
            Form::Struct(members) | Form::Union(members) => {
                depth < 16 && members.iter().all(|m| self.is_plain(m.of, depth + 1))
            }
            _ => false,
        }
    }

    fn place_number(&mut self, block_builder: &mut BlockBuilder, number: Number, at: usize, path: &str) {
        // Another member of the same union may have a number there.
        let is_known = block_builder.is_in_union && block_builder.has_number(at);
        if block_builder.is_full || block_builder.block.is_output || is_known {
            return;
        }
        let (kind, form) = match number {
            Number::Plain(Kind::Bool) => (Kind::Bool, Some(Conversion::Bool)),
            Number::Plain(kind) => (kind, None),
            Number::F16 => (Kind::U16, None),
            Number::F80 => (Kind::F64, Some(self.form_of_extended(path))),
            Number::F128 => (Kind::F64, Some(Conversion::F128)),
            Number::Wide { signed } => {
                self.place_number(block_builder, Number::Plain(Kind::U64), at, path);
                (if signed { Kind::I64 } else { Kind::U64 }, None)
            }
        };
        let at = if matches!(number, Number::Wide { .. }) { at + 8 } else { at };
        let is_extended = form == Some(Conversion::Extended);
        if is_extended && self.size + extended::SIZE > self.limits.0 {
            block_builder.is_full = true;
            return;
        }
        let Some(slot) = self.slot(block_builder, kind) else { return };
        self.numbers.push((path.to_owned(), self.slots.len() - 1));
        self.owners.push(self.owner);
        match (form, block_builder.block.copies.last_mut()) {
            (Some(form), _) => block_builder.block.converted.push(Converted { from: slot.offset, to: at, form }),
            (None, Some(last)) if last.to + last.size == at && last.from + last.size == slot.offset => {
                last.size += kind.size();
            }
            (None, _) => block_builder.block.copies.push(Copy { from: slot.offset, to: at, size: kind.size() }),
        }
        if is_extended {
            self.slot(block_builder, Kind::I16);
            self.slot(block_builder, Kind::U16);
        }
    }

    /// A number with a range constraint stays a `double`, because the extra bits of [`extended`] could leave the range.
    fn form_of_extended(&self, path: &str) -> Conversion {
        let is_in_range = self.constraints.domain(path, Kind::F64).is_some();
        if is_in_range { Conversion::F80 } else { Conversion::Extended }
    }

    /// Adds a slot; `None` if the input is full.
    fn slot(&mut self, block_builder: &mut BlockBuilder, kind: Kind) -> Option<Slot> {
        if self.size + kind.size() > self.limits.0 {
            block_builder.is_full = true;
            return None;
        }
        let slot = Slot { kind, offset: self.size };
        self.size = slot.end();
        self.slots.push(slot);
        Some(slot)
    }

    /// Finishes a block and returns its number.
    pub fn finish_block(&mut self, mut block_builder: BlockBuilder, way: &PointerFacts) -> usize {
        let number = self.blocks.len();
        block_builder.block.owner = self.owner;
        self.pending.iter_mut().filter(|p| p.block == usize::MAX).for_each(|p| p.block = number);
        self.set_block_of_places(number);
        let is_array = block_builder.block.capacity > 1 || block_builder.block.is_string || !way.absent.is_empty();
        if number > 0 && is_array && block_builder.per_element > 0 && block_builder.slotted > 0 {
            let group = Group {
                first: block_builder.first_slot,
                per_element: block_builder.per_element,
                capacity: block_builder.slotted,
                length: Length::Fixed(block_builder.block.capacity),
                is_string: block_builder.block.is_string,
                absent: way.absent.clone(),
            };
            self.groups.push((number, group));
        }
        block_builder.block.converted.sort_by_key(|c| c.to);
        block_builder.block.pointers.sort_by_key(|p| p.at);
        self.blocks.push(block_builder.block);
        number
    }

    pub fn model(mut self, parameters: Vec<(TypeId, usize)>, result: Option<(TypeId, usize)>, rounding: bool) -> Model {
        let (numbers, slots) = (&self.numbers, &self.slots);
        let named =
            || numbers.iter().zip(&self.owners).map(|((path, index), owner)| (path.as_str(), *owner, slots[*index]));
        // An exact path takes precedence over the same path with `*`: later entries replace earlier ones.
        let integers: HashMap<(Owner, &str), Slot> = named()
            .map(|(path, owner, slot)| ((owner, path.strip_prefix('*').unwrap_or(path)), slot))
            .chain(named().map(|(path, owner, slot)| ((owner, path), slot)))
            .filter(|(_, slot)| !slot.kind.is_float())
            .collect();
        for block in &mut self.blocks {
            let (capacity, owner) = (block.capacity, block.owner);
            let of =
                |name: &str| integers.get(&(owner, name)).or_else(|| integers.get(&(Owner::Shared, name))).copied();
            block.length = block.rule.length(capacity, of);
        }
        for (block, group) in &mut self.groups {
            group.length = self.blocks[*block].length;
        }
        if rounding {
            self.slots.push(Slot { kind: Kind::Rounding, offset: self.size });
        }
        let domain = |(path, i): &(String, usize)| Some((*i, self.constraints.domain(path, self.slots[*i].kind)?));
        let mut domains: Vec<_> = self.numbers.iter().filter_map(domain).collect();
        let is_constrained = |slot: usize| domains.iter().any(|(i, _)| *i == slot);
        let others: Vec<_> = self.ranges.iter().filter(|(i, _)| !is_constrained(*i)).copied().collect();
        domains.extend(others);
        domains.sort_by_key(|(i, _)| *i);
        let layout = Layout::of_slots(self.slots)
            .with_groups(self.groups.into_iter().map(|(_, group)| group).collect())
            .with_domains(domains);
        Model {
            types: self.types,
            blocks: self.blocks,
            parameters,
            stubs: self.stubs,
            files: self.files,
            input: None,
            is_descriptor: false,
            is_program: false,
            nondet: Vec::new(),
            globals: Vec::new(),
            result,
            layout,
            numbers: self.numbers,
            enumerations: self.enumerations,
            sequence: None,
            frames: self.frames,
        }
    }
}
