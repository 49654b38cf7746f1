//! Renders variables with static storage duration as C: the statements that assign them the values of an input.

use penfuzz_report::{Arg, GLOBAL, Global, Set, literal};
use penfuzz_target::{
    inputs::{
        Block, Model, Owner, Variable,
        types::{Form, Number, TypeId},
    },
    program::Function,
};

use super::{Renderer, bit_field, bits, shortened};

/// The variables that are inputs or results. In a sequence, those of the first call are listed.
#[must_use]
pub fn globals(function: &Function, model: &Model) -> Vec<Global> {
    let is_shown = |b: &Block| matches!(b.owner, Owner::Shared | Owner::Step(0));
    let shown = model.globals.iter().filter(|v| is_shown(&model.blocks[v.block]));
    let each = shown.map(|v| Global {
        name: v.global.name.clone(),
        is_result: model.blocks[v.block].is_output,
        is_chosen: function.globals.is_empty(),
    });
    each.collect()
}

impl Renderer<'_> {
    /// The variables of this owner that are inputs.
    pub(super) fn globals(&self, owner: Owner) -> Vec<Arg> {
        let is_own = |v: &&Variable| self.model.blocks[v.block].owner == owner && !self.model.blocks[v.block].is_output;
        self.model.globals.iter().filter(is_own).map(|v| self.global(v)).collect()
    }

    fn global(&self, v: &Variable) -> Arg {
        let (block, before) = (&self.model.blocks[v.block], self.before(v));
        let name = &v.global.name;
        let mut sets = Vec::new();
        if self.is_whole(v.block) {
            self.set(v.block, block.element, 0, name, before, &mut sets);
        } else {
            for i in 0..block.capacity {
                self.set(v.block, block.element, i * block.stride, &format!("{name}[{i}]"), before, &mut sets);
            }
        }
        let mut memory = Vec::new();
        self.add_pointees(v.block, 0..self.images[v.block].len(), &mut memory);
        let within = |s: &Set| s.place.strip_prefix(name).unwrap_or(&s.place).to_owned();
        let shown = match &sets[..] {
            [] => "unchanged".to_owned(),
            [one] if one.place == *name => one.value.clone(),
            all => {
                let each: Vec<_> = all.iter().map(|s| format!("{} = {}", within(s), s.value)).collect();
                shortened(&format!("{{{}}}", each.join(", ")))
            }
        };
        Arg {
            name: name.clone(),
            type_name: GLOBAL.to_owned(),
            hex: name.clone(),
            decimal: shown,
            bits: format!("0x{}", literal::hex(&self.images[v.block])),
            memory,
            sets,
            ..Arg::default()
        }
    }

    /// Whether the variable is not an array.
    pub(super) fn is_whole(&self, block: usize) -> bool {
        self.model.global_of(block).is_some_and(|g| g.size() == self.model.blocks[block].stride)
    }

    /// The value of the variable before it is set: the value assigned for the previous call, or its value at program
    /// start.
    fn before(&self, v: &Variable) -> &[u8] {
        let block = &self.model.blocks[v.block];
        let Owner::Step(k) = block.owner else { return &block.initial };
        let is_earlier = |other: &&Variable| {
            let other = &self.model.blocks[other.block];
            k > 0 && other.owner == Owner::Step(k - 1) && other.path == block.path
        };
        self.model.globals.iter().find(is_earlier).map_or(&block.initial, |other| &self.images[other.block])
    }

    /// Appends the statements for the parts that differ from `before` in a value of type `of`.
    fn set(&self, block: usize, of: TypeId, at: usize, place: &str, before: &[u8], sets: &mut Vec<Set>) {
        let t = &self.model.types[of];
        let image = &self.images[block];
        let is_same = image.get(at..at + t.size) == before.get(at..at + t.size);
        let own = |value: String, is_pointer| Set {
            variable: self.names[block].clone(),
            place: place.to_owned(),
            value,
            offset: at,
            bytes: literal::hex(image.get(at..at + t.size).unwrap_or_default()),
            is_pointer,
        };
        match &t.form {
            Form::Pointer(_) => {
                // Addresses that the variable has at program start are not in the image.
                if self.model.pointer_in(block, at, self.x).is_some() {
                    sets.push(own(self.address(block, at).unwrap_or_else(|| "0".to_owned()), true));
                }
            }
            Form::Number(_) if is_same => {}
            Form::Number(Number::Plain(kind)) => {
                sets.push(own(super::plain(*kind, bits(image, at, kind.size())), false));
            }
            Form::Number(_) => sets.push(own(self.value(of, block, at).unwrap_or_else(|| "0".to_owned()), false)),
            Form::Array(..) if t.is_complex() && is_same => {}
            Form::Array(..) if t.is_complex() => {
                sets.push(own(self.value(of, block, at).unwrap_or_else(|| "0".to_owned()), false));
            }
            Form::Array(element, n) => {
                let stride = self.model.types[*element].size;
                for i in 0..*n {
                    self.set(block, *element, at + i * stride, &format!("{place}[{i}]"), before, sets);
                }
            }
            Form::Struct(members) => {
                for m in members {
                    let place = if m.name.is_empty() { place.to_owned() } else { format!("{place}.{}", m.name) };
                    if m.bits == 0 {
                        self.set(block, m.of, at + m.offset / 8, &place, before, sets);
                    } else {
                        self.set_bits(block, (8 * at + m.offset, m.bits), &place, before, sets);
                    }
                }
            }
            Form::Union(members) => {
                if let Some(m) = self.model.union_member(of, members, block, at, self.x) {
                    let place = if m.name.is_empty() { place.to_owned() } else { format!("{place}.{}", m.name) };
                    self.set(block, m.of, at, &place, before, sets);
                }
            }
            // Variables that contain objects of the C++ library are not inputs.
            Form::Library(_) | Form::Function(_) | Form::Void | Form::Incomplete | Form::Other => {}
        }
    }

    /// Does the same for a bit-field of `n` bits that begins at bit `from`.
    fn set_bits(&self, block: usize, (from, n): (usize, usize), place: &str, before: &[u8], sets: &mut Vec<Set>) {
        let image = &self.images[block];
        let value = bit_field(image, from, n);
        // A bit-field without a name cannot be set, and is never read.
        if value == bit_field(before, from, n) || place == self.names[block] {
            return;
        }
        let bytes = from / 8..(from + n).div_ceil(8);
        sets.push(Set {
            variable: self.names[block].clone(),
            place: place.to_owned(),
            value: value.to_string(),
            offset: bytes.start,
            bytes: literal::hex(image.get(bytes).unwrap_or_default()),
            is_pointer: false,
        });
    }
}
