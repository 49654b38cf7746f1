//! The memory behind pointers.
//!
//! A structure may lead to more memory than an input has room for. Pointers to memory that is deeper than [`MAX_DEPTH`]
//! pointers, or after the first [`MAX_BLOCKS`] blocks, are null. Calls find out which of this memory the code uses, as
//! in the lazy initialization of symbolic execution (Khurshid, Pasareanu and Visser, TACAS 2003). In these calls such a
//! pointer leads to a block without elements, and a fault next to it shows that the memory is needed. Memory that is
//! needed is built before the rest.

use penfuzz_abi::type_flag;
use penfuzz_mutators::{group::Length, view::Kind};

use super::{
    BYTES, BlockBuilder, BlockNeed, Builder, DeepMemory, Form, Leads, MAX_BLOCKS, MAX_DEPTH, Number, Origin,
    PendingPointer, PointeeKind, Pointer, PointerFacts, Role, Rule, STRING, Size, Stub, TypeId, any_index,
    cursors::{BUFFER, LEAST},
    element_path,
};

/// Maximum pointer depth of memory that calls have shown to be needed.
const MAX_NEEDED_DEPTH: usize = 8;
/// Number of blocks of a model up to which blocks without elements are added.
const MAX_UNMADE: usize = 1024;

impl Builder<'_> {
    pub(super) fn place_pointer(
        &mut self,
        block_builder: &mut BlockBuilder,
        pointer: TypeId,
        to: TypeId,
        at: usize,
        path: &str,
        way: &PointerFacts,
    ) -> Result<(), String> {
        let (is_const, is_reference) =
            (self.types[pointer].has(type_flag::CONST), self.types[pointer].has(type_flag::REFERENCE));
        if let Form::Function(prototype) = &self.types[to].form {
            let (result, parameters) = (prototype.result, prototype.parameters.clone());
            let slot = match self.types[result].form {
                Form::Number(Number::Plain(kind)) => self.slot(block_builder, kind),
                _ => None,
            };
            let target = Leads::Stub(self.stubs.len());
            let pointer = Pointer { alternative: way.alternative, ..Pointer::new(at, target) };
            block_builder.block.pointers.push(pointer);
            self.stubs.push(Stub { path: path.to_owned(), result, slot, parameters });
            return Ok(());
        }
        let role = self.roles.get(path).or(way.role.as_ref()).cloned();
        if self.place_in_buffer(block_builder, at, path, way, role.as_ref()) {
            return Ok(());
        }
        let made = self.pointee_kind(to, path, way);
        let why = match self.types[to].form {
            _ if made != PointeeKind::Memory => None,
            Form::Incomplete => Some("the type that it points to has no definition in the target"),
            Form::Other => Some("the type that it points to cannot be built from numbers"),
            _ => self.closed(to),
        };
        let is_needed = self.sizes.get(&any_index(path)).is_some_and(|size| size.is_needed);
        let is_beyond = self.is_beyond(way.depth, is_needed);
        let is_examined = match self.deep {
            DeepMemory::Null => false,
            // A pointer that may be null, such as the end of a list, needs no such block.
            DeepMemory::Required => !way.nullable,
            DeepMemory::All => true,
        };
        let is_unmade = is_beyond && is_examined && way.depth < MAX_NEEDED_DEPTH;
        let is_unmade = is_unmade && made == PointeeKind::Memory && self.blocks.len() + self.pending.len() < MAX_UNMADE;
        if is_beyond && !is_unmade || why.is_some() {
            // The memory behind a parameter is required. At a greater depth the program may work without it.
            if let Some(why) = why.filter(|_| way.depth == 0 && !way.nullable) {
                return Err(why.to_owned());
            }
            block_builder
                .block
                .pointers
                .push(Pointer { alternative: way.alternative, ..Pointer::new(at, Leads::Null) });
            return Ok(());
        }
        let null = if way.nullable && !is_reference { self.slot(block_builder, Kind::Bool) } else { None };
        let mut absent = way.absent.clone();
        absent.extend(null);
        let way = PointerFacts { absent, role, is_output: way.is_output && !is_const, ..way.clone() };
        let path = path.to_owned();
        // The number of the block that contains the pointer is known when that block is finished.
        let block = usize::MAX;
        let need = match (is_needed, is_unmade) {
            (true, _) => BlockNeed::Shown,
            (false, true) => BlockNeed::Open,
            (false, false) => BlockNeed::Within,
        };
        let pending =
            PendingPointer { block, at, to, is_const, is_reference, path, null, made, way, elements: None, need };
        let place = if is_needed { self.pending.iter().position(PendingPointer::can_wait) } else { None };
        self.pending.insert(place.unwrap_or(self.pending.len()), pending);
        Ok(())
    }

    /// Whether there is no room for a block behind a pointer of this depth. If some blocks are needed, half of the
    /// blocks are reserved for them.
    fn is_beyond(&self, depth: usize, is_needed: bool) -> bool {
        let n = self.blocks.len() + self.pending.len();
        if is_needed {
            return depth >= MAX_NEEDED_DEPTH || n >= self.limits.2;
        }
        let keeps_room = depth > 0 && self.sizes.values().any(|size| size.is_needed);
        depth >= MAX_DEPTH || n + if keeps_room { MAX_BLOCKS / 2 } else { 0 } >= self.limits.2
    }

    /// Builds the blocks behind all pending pointers, in order.
    pub fn follow_pointers(&mut self) -> Result<(), String> {
        while let Some(p) = self.pending.pop_front() {
            let (from, at, null) = (p.block, p.at, p.null);
            let target = match p.made {
                PointeeKind::Memory => match &p.elements {
                    Some(elements) => {
                        let block = self.follow_elements(&p, elements)?;
                        self.blocks[from].pointers.extend(elements.others(block));
                        Leads::Block(block)
                    }
                    None => Leads::Block(self.follow(&p)?),
                },
                PointeeKind::Stream => Leads::Stream(self.add_file(&p)),
                PointeeKind::Name => Leads::Name(self.add_file(&p)),
            };
            let pointers = &mut self.blocks[from].pointers;
            pointers.push(Pointer { null, alternative: p.way.alternative, ..Pointer::new(at, target) });
            pointers.sort_by_key(|p| p.at);
        }
        self.resolve_cursors();
        Ok(())
    }

    fn follow(&mut self, p: &PendingPointer) -> Result<usize, String> {
        let is_void = matches!(self.types[p.to].form, Form::Void);
        let element = if is_void { self.byte_type() } else { p.to };
        let stride = self.types[element].size.max(1);
        let is_char = self.types[element].has(type_flag::CHAR);
        let generic = any_index(&p.path);
        // A constraint on a container applies to its elements.
        let is_object = matches!(self.types[element].form, Form::Library(_));
        let given = || self.constraints.size(&generic, stride, self.limits.1).filter(|_| !is_object);
        let size = self.sizes.get(&generic).cloned().or_else(given).unwrap_or_else(|| self.default_size(p, element));
        if p.need == BlockNeed::Open {
            return Ok(self.deferred(p, element, size));
        }
        let mut block_builder = BlockBuilder::new(element, stride, p.path.clone());
        let has_objects = self.has_objects(element, 0);
        let b = &mut block_builder.block;
        b.capacity = size.capacity;
        b.length = Length::Fixed(size.capacity);
        b.rule = size.length;
        b.is_shared = p.way.role.is_some();
        let is_bounded = p.way.role == Some(Role::Base { is_bounded: true });
        b.origin = if is_bounded && size.origin != Origin::Given { Origin::Bounded } else { size.origin };
        // An object that is assigned to must be valid before.
        let is_result = size.is_output && (size.origin != Origin::Given || p.way.is_output);
        b.is_output = is_result && !has_objects;
        b.is_const = p.is_const;
        // A declared `char a[4]` is four characters, and a pointer without an index leads to one character.
        let is_text = is_char && !matches!(size.origin, Origin::Declared | Origin::Single);
        let is_text = is_text && (!b.is_shared || self.constraints.is_string(&generic));
        b.is_string = is_text && !b.is_output && size.capacity > 1 && self.constraints.may_be_string(&generic);
        block_builder.first_slot = self.slots.len();
        let way = PointerFacts {
            depth: p.way.depth + 1,
            declared: None,
            is_single: false,
            is_output: false,
            is_const: p.is_const,
            role: None,
            ..p.way.clone()
        };
        let begun = self.size;
        for i in 0..block_builder.block.capacity {
            let (slots, before) = (self.slots.len(), self.size);
            let path = element_path(&p.path, i, block_builder.block.capacity, &self.types[element].form);
            self.place(&mut block_builder, element, i * stride, &path, &way)
                .map_err(|why| format!("`{}` leads to a `{}` ({why})", p.path, self.types[element].name))?;
            if block_builder.is_full {
                break;
            }
            block_builder.per_element = self.slots.len() - slots;
            block_builder.slotted = i + 1;
            let per_element = self.size - before;
            // The block is full if another element of this size does not fit.
            block_builder.is_full = self.size + per_element > (begun + self.limits.1).min(self.limits.0);
        }
        Ok(self.finish_block(block_builder, &p.way))
    }

    /// The default size of a block, from its type and its pointer alone.
    fn default_size(&self, p: &PendingPointer, element: TypeId) -> Size {
        let stride = self.types[element].size.max(1);
        let is_char = self.types[element].has(type_flag::CHAR);
        let is_void = matches!(self.types[p.to].form, Form::Void);
        let (capacity, origin) = match p.way.declared {
            Some((0, bytes)) => ((bytes / stride).max(1), Origin::Declared),
            Some((n, _)) => (n, Origin::Declared),
            None if p.way.role.is_some() => ((BUFFER / stride).max(LEAST), Origin::Assumed),
            None if p.is_reference => (1, Origin::Declared),
            None if is_char && !p.way.is_single => (if p.way.is_output { 1 } else { STRING }, Origin::Assumed),
            None if is_void => (BYTES, Origin::Assumed),
            None => (1, if p.way.is_single { Origin::Single } else { Origin::Assumed }),
        };
        Size { capacity, length: Rule::Full, origin, is_output: p.way.is_output, is_needed: false }
    }

    /// Builds a block without elements. A call that needs an element faults there.
    fn deferred(&mut self, p: &PendingPointer, element: TypeId, size: Size) -> usize {
        let mut block_builder = BlockBuilder::new(element, self.types[element].size.max(1), p.path.clone());
        block_builder.block.capacity = 0;
        block_builder.block.length = Length::Fixed(0);
        block_builder.block.origin = Origin::Assumed;
        block_builder.block.deferred = Some(size);
        self.finish_block(block_builder, &p.way)
    }

    /// The element type of untyped memory.
    fn byte_type(&mut self) -> TypeId {
        let types = &mut self.types;
        *self.byte.get_or_insert_with(|| types.add_byte())
    }
}
