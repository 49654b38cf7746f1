//! Objects of the C++ library: their elements are a block, and the object holds pointers to the block and its size.
//!
//! The number of elements is a number of the input, `v.size()`. A block with the elements of a vector or a string must
//! not be freed: the `operator delete` of the runtime skips it (`runtime/owned.c`).

use penfuzz_mutators::{domain::Domain, group::Length, view::Kind};

use super::{Builder, Leads, MAX_BLOCK};
use crate::inputs::{
    block_builder::{BlockBuilder, BlockNeed, PendingPointer, PointeeKind, PointerFacts},
    library::Class,
    paths::{any_index, joined_call},
    pointer::Pointer,
    sizes::{Origin, Rule},
    types::{Form, Number, TypeId},
};

/// Maximum number of elements of a container, and (`CHARACTERS`) of characters of a string, unless a constraint gives
/// another number.
const ELEMENTS: usize = 16;
const CHARACTERS: usize = 31;
/// The same limits for objects within a container.
const INNER_ELEMENTS: usize = 4;
const INNER_CHARACTERS: usize = 15;

/// The elements of an object.
#[derive(Debug, Clone)]
pub(in crate::inputs) struct Elements {
    /// The path of the object.
    pub object: String,
    /// The class of the object.
    pub class: Class,
    /// Offset of the object in its block.
    pub at: usize,
    /// Maximum number of elements, without the terminator of a string.
    pub capacity: usize,
    pub rule: Rule,
    pub origin: Origin,
}

impl Elements {
    /// Whether a terminating 0 follows the characters.
    pub const fn is_terminated(&self) -> bool {
        matches!(self.class, Class::String { .. })
    }

    /// The pointers and numbers of the object besides the pointer to its elements.
    pub fn others(&self, block: usize) -> Vec<Pointer> {
        let place = |at: usize, target: Leads| Pointer::new(self.at + at, target);
        match self.class {
            Class::Vector { end, limit, .. } => {
                vec![place(end, Leads::End(block)), place(limit, Leads::End(block))]
            }
            Class::String { count, room, .. } => {
                vec![place(count, Leads::Count(block)), place(room, Leads::Count(block))]
            }
            Class::View { count, .. } => count.map(|at| place(at, Leads::Count(block))).into_iter().collect(),
            Class::Optional { .. } => Vec::new(),
        }
    }
}

impl Builder<'_> {
    /// Places an object at an offset of a block.
    pub(in crate::inputs) fn place_object(
        &mut self,
        block_builder: &mut BlockBuilder,
        class: &Class,
        at: usize,
        path: &str,
        way: &PointerFacts,
    ) -> Result<(), String> {
        let object = path.trim_start_matches('*');
        if let Class::Optional { value, at: inner, flag } = class {
            self.place_number(block_builder, Number::Plain(Kind::Bool), at + flag, &joined_call(object, "has_value"));
            let value_path = if matches!(self.types[*value].form, Form::Struct(_) | Form::Union(_)) {
                format!("{object}->")
            } else {
                format!("*{object}")
            };
            return self.place(block_builder, *value, at + inner, &value_path, way);
        }
        let is_full = block_builder.is_full || self.blocks.len() + self.pending.len() >= self.limits.2;
        if is_full || way.depth > super::MAX_DEPTH {
            place_empty(block_builder, class, at);
            return Ok(());
        }
        let elements = self.elements(block_builder, class, at, object, way);
        let is_by_value = block_builder.block.path.is_empty();
        let is_const = match class {
            Class::View { is_const, .. } => *is_const,
            // No caller sees what the callee writes to a copy.
            _ => way.is_const || is_by_value,
        };
        let begin = match class {
            Class::Vector { begin, .. } | Class::String { begin, .. } | Class::View { begin, .. } => *begin,
            Class::Optional { .. } => return Ok(()),
        };
        self.pending.push_back(PendingPointer {
            block: usize::MAX,
            at: at + begin,
            to: class.element(),
            is_const,
            is_reference: false,
            path: joined_call(object, "data"),
            null: None,
            made: PointeeKind::Memory,
            way: PointerFacts { absent: way.absent.clone(), depth: way.depth, ..PointerFacts::default() },
            elements: Some(Box::new(elements)),
            need: BlockNeed::Within,
        });
        Ok(())
    }

    /// Determines the number of elements of the object.
    fn elements(
        &mut self,
        block_builder: &mut BlockBuilder,
        class: &Class,
        at: usize,
        object: &str,
        way: &PointerFacts,
    ) -> Elements {
        let made = |capacity, rule, origin| Elements {
            object: object.to_owned(),
            class: class.clone(),
            at,
            capacity,
            rule,
            origin,
        };
        if let Class::View { count: None, fixed, .. } = class {
            return made(*fixed, Rule::Full, Origin::Declared);
        }
        let stride = self.types[class.element()].size.max(1);
        let (generic, size_path) = (any_index(object), joined_call(object, "size"));
        let given = self.constraints.size(&generic, stride, self.limits.1);
        let is_text = given.is_some() && self.constraints.is_string(&generic);
        let origin = if given.is_some() { Origin::Given } else { Origin::Declared };
        if let Some(size) = given.as_ref().filter(|_| !is_text) {
            return made(size.capacity, size.length.clone(), origin);
        }
        let is_char = stride == 1;
        let most = match (way.depth > 1 || object.contains('['), is_char) {
            (false, false) => ELEMENTS.min((MAX_BLOCK / stride).max(1)),
            (false, true) => CHARACTERS,
            (true, false) => INNER_ELEMENTS,
            (true, true) => INNER_CHARACTERS,
        };
        let constraints = self.constraints.greatest(&size_path).or(given.map(|size| size.capacity - 1));
        let most = constraints.unwrap_or(most).min(usize::from(u16::MAX));
        self.place_size(block_builder, &size_path, most);
        made(most, Rule::Linear(size_path, 1, 0), origin)
    }

    /// Adds the number of elements to the input. It is copied to no block.
    fn place_size(&mut self, block_builder: &mut BlockBuilder, path: &str, most: usize) {
        if self.slot(block_builder, Kind::U16).is_none() {
            return;
        }
        let index = self.slots.len() - 1;
        self.numbers.push((path.to_owned(), index));
        self.owners.push(self.owner);
        self.ranges.extend(Domain::new(Kind::U16, 0, most as u64).map(|d| (index, d)));
    }

    /// Builds the block of the elements of an object.
    pub(in crate::inputs) fn follow_elements(
        &mut self,
        p: &PendingPointer,
        elements: &Elements,
    ) -> Result<usize, String> {
        let (element, stride) = (p.to, self.types[p.to].size.max(1));
        let mut block_builder = BlockBuilder::new(element, stride, p.path.clone());
        let b = &mut block_builder.block;
        let behind = usize::from(elements.is_terminated());
        b.capacity = elements.capacity + behind;
        b.length = Length::Fixed(b.capacity);
        b.rule = match elements.rule.clone() {
            Rule::Linear(n, times, plus) => Rule::Linear(n, times, plus + behind as i64),
            Rule::Product(a, c, plus) => Rule::Product(a, c, plus + behind as i64),
            Rule::Full => Rule::Full,
        };
        b.origin = elements.origin;
        b.is_const = p.is_const;
        b.is_terminated = elements.is_terminated();
        b.part_of = Some(elements.class.clone());
        block_builder.first_slot = self.slots.len();
        let way = PointerFacts {
            depth: p.way.depth + 1,
            is_const: p.is_const,
            absent: p.way.absent.clone(),
            ..PointerFacts::default()
        };
        self.fill_elements(&mut block_builder, elements, &way).map_err(|why| {
            format!("`{}` has elements of type `{}` ({why})", elements.object, self.types[element].name)
        })?;
        Ok(self.finish_block(block_builder, &p.way))
    }

    fn fill_elements(
        &mut self,
        block_builder: &mut BlockBuilder,
        elements: &Elements,
        way: &PointerFacts,
    ) -> Result<(), String> {
        let (element, begun) = (block_builder.block.element, self.size);
        let has_objects = self.has_objects(element, 0);
        for i in 0..elements.capacity {
            let (slots, before, was_full) = (self.slots.len(), self.size, block_builder.is_full);
            if was_full && !has_objects {
                return Ok(());
            }
            // In a full block, objects are still placed, without elements, because zeros are no valid string.
            self.place(
                block_builder,
                element,
                i * block_builder.block.stride,
                &format!("{}[{i}]", elements.object),
                way,
            )?;
            if block_builder.is_full {
                continue;
            }
            block_builder.per_element = self.slots.len() - slots;
            block_builder.slotted = i + 1;
            let per_element = self.size - before;
            // The block is full if another element of this size does not fit.
            block_builder.is_full = self.size + per_element > (begun + self.limits.1).min(self.limits.0);
        }
        Ok(())
    }

    /// Whether a type contains an object of the library.
    pub(in crate::inputs) fn has_objects(&self, of: TypeId, depth: usize) -> bool {
        match &self.types[of].form {
            Form::Library(class) => class.owns() || matches!(class, Class::View { .. }),
            Form::Array(element, _) => depth < 16 && self.has_objects(*element, depth + 1),
            Form::Struct(members) | Form::Union(members) => {
                depth < 16 && members.iter().any(|m| self.has_objects(m.of, depth + 1))
            }
            _ => false,
        }
    }
}

/// Places an object without elements. A vector or a view without elements is all zeros.
fn place_empty(block_builder: &mut BlockBuilder, class: &Class, at: usize) {
    if let Class::String { begin, room, .. } = class {
        // A short string has its characters in the object, where a long string has the size of its memory.
        block_builder.block.pointers.push(Pointer::new(at + begin, Leads::Own(at + room)));
    }
}
