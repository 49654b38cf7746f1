//! Finds the values in memory after calls: those that the call has changed, and those that it has left as they were. A
//! call may have written the value that was there before, so a test that does not check it would miss a fault.

mod callbacks;
mod files;
mod library;
mod pointer;

use penfuzz_abi::type_flag;
use penfuzz_executor::blocks::Blocks;
use penfuzz_mutators::view::Kind;
use penfuzz_report::{Arg, Place, RESULT, literal};
use penfuzz_target::{
    inputs::{
        Block, Owner, Target, Within,
        types::{Form, Member, Number, TypeId},
    },
    program::Function,
};

use super::{Renderer, bits, numbers::bit_field};

pub use pointer::returned as returned_pointer;

/// Maximum number of changed values in each block that a test compares; the same of unchanged values.
const MOST_VALUES: usize = 32;
/// Maximum number of values in a block whose unchanged values every test compares.
const FEW_VALUES: usize = 8;
/// Numbers that may be addresses of a program, its libraries or its stack on 64-bit Linux, or of our memory: they
/// differ between runs.
const ADDRESSES: core::ops::Range<u64> = 0x2000_0000_0000..0x8000_0000_0000;

/// The numbers in pointed-to memory after the last call.
#[must_use]
pub fn left(function: &Function, blocks: &Blocks, x: &[u8]) -> Vec<Arg> {
    let model = blocks.model();
    let renderer = Renderer::new(function, model, x);
    let mut found = Vec::new();
    let makers = model.sequence.as_ref().map_or(0, |s| s.constructors.len());
    let is_made = |owner: Owner| !matches!(owner, Owner::Step(k) if makers + k >= blocks.begun());
    let has_values = |b: &Block| !b.path.is_empty() && !b.is_const && !b.is_owned() && is_made(b.owner);
    let reached = reached(&renderer);
    let exists = |i: usize| reached[i] && !blocks.is_freed(i);
    for (i, block) in model.blocks.iter().enumerate().filter(|(i, b)| exists(*i) && has_values(b)) {
        let after = blocks.contents(i);
        let variable = &renderer.names[i];
        let mut walk = Walk::new(&renderer, blocks, Some(i), after, variable);
        let is_global = model.global_of(i).is_some();
        let is_array = if is_global { !renderer.is_whole(i) } else { renderer.is_array(i) };
        for n in 0..block.len(x).min(after.len() / block.stride.max(1)) {
            let name = &renderer.names[i];
            let (path, expression) = if is_array {
                (format!("{}[{n}]", block.path), format!("{name}[{n}]"))
            } else if is_global {
                (block.path.clone(), name.clone())
            } else {
                (format!("*{}", block.path), name.clone())
            };
            walk.visit(block.element, n * block.stride, &path, &expression);
        }
        let mut values = walk.unchanged(is_global || is_array);
        values.append(&mut walk.changed);
        values.sort_by_key(|value| value.place.as_ref().map(|place| (place.in_object, place.offset)));
        found.append(&mut values);
    }
    found.extend(returned(&renderer, blocks));
    found.extend(callbacks::received(&renderer, blocks));
    found.extend(files::written(&renderer, blocks));
    found
}

/// Whether each block is reached from an argument or a global variable. Others are behind null pointers, and the test
/// has no variables for them.
fn reached(renderer: &Renderer) -> Vec<bool> {
    let model = renderer.model;
    let is_start = |(i, b): (usize, &Block)| b.path.is_empty() || model.global_of(i).is_some() || renderer.is_made(i);
    let mut reached: Vec<bool> = model.blocks.iter().enumerate().map(is_start).collect();
    let mut open: Vec<usize> = (0..reached.len()).filter(|i| reached[*i]).collect();
    while let Some(from) = open.pop() {
        for pointer in model.blocks[from].pointers.iter().filter(|p| !model.is_null(p, renderer.x)) {
            if let Target::Block(to) | Target::Within(Within { block: to, .. }) = pointer.target
                && !core::mem::replace(&mut reached[to], true)
            {
                open.push(to);
            }
        }
    }
    reached
}

/// The numbers of a structure returned by the last call. Padding, pointers, bit-fields and unions are left out.
fn returned(renderer: &Renderer, blocks: &Blocks) -> Vec<Arg> {
    let model = renderer.model;
    let Some((of, at)) = model.result else { return Vec::new() };
    let frame = match &model.sequence {
        None => 0,
        Some(sequence) => {
            let step = blocks.begun().checked_sub(sequence.constructors.len() + 1);
            let Some(call) = step.and_then(|k| sequence.steps.get(k)) else { return Vec::new() };
            call.frame
        }
    };
    let Some(after) = blocks.contents(frame).get(at..) else { return Vec::new() };
    let mut walk = Walk::new(renderer, blocks, None, after, RESULT);
    walk.visit(of, 0, RESULT, RESULT);
    walk.changed
}

/// Searches a block for numbers.
struct Walk<'a> {
    renderer: &'a Renderer<'a>,
    blocks: &'a Blocks,
    /// The searched block; `None` for a result, whose numbers all count as changed.
    before: Option<usize>,
    after: &'a [u8],
    variable: &'a str,
    in_object: bool,
    changed: Vec<Arg>,
    unchanged: Vec<Arg>,
}

impl<'a> Walk<'a> {
    fn new(
        renderer: &'a Renderer<'a>,
        blocks: &'a Blocks,
        before: Option<usize>,
        after: &'a [u8],
        variable: &'a str,
    ) -> Self {
        let (changed, unchanged) = (Vec::new(), Vec::new());
        Self { renderer, blocks, before, after, variable, in_object: false, changed, unchanged }
    }

    /// The unchanged values. One of many is expected only if another test changes it.
    fn unchanged(&mut self, is_of_many: bool) -> Vec<Arg> {
        let mut values = core::mem::take(&mut self.unchanged);
        let is_of_many = is_of_many || self.changed.len() + values.len() > FEW_VALUES;
        for place in values.iter_mut().filter_map(|value| value.place.as_mut()) {
            place.only_if_changed = is_of_many || place.in_object;
        }
        values
    }

    fn visit(&mut self, of: TypeId, at: usize, path: &str, expression: &str) {
        if self.changed.len() >= MOST_VALUES {
            return;
        }
        let t = &self.renderer.model.types[of];
        if let Form::Struct(members) = &t.form
            && t.name.starts_with("std::")
            && self.visit_public(members, &t.name, at, path, expression)
        {
            return;
        }
        match &t.form {
            Form::Number(Number::Plain(kind)) => self.note(*kind, &t.name, at, path, expression),
            Form::Array(element, _) if t.has(type_flag::COMPLEX) => {
                let stride = self.renderer.model.types[*element].size;
                for (i, part) in ["real", "imag"].iter().enumerate() {
                    let named = |of: &str| format!("__{part}__ {of}");
                    self.visit(*element, at + i * stride, &named(path), &named(expression));
                }
            }
            Form::Array(element, n) => {
                let stride = self.renderer.model.types[*element].size;
                for i in 0..*n {
                    self.visit(*element, at + i * stride, &format!("{path}[{i}]"), &format!("{expression}[{i}]"));
                }
            }
            // A place to jump to: scrambled addresses.
            Form::Struct(_) if t.name.contains("__jmp_buf_tag") => {}
            Form::Struct(members) => {
                for m in members.iter().filter(|m| m.bits == 0 || !m.name.is_empty()) {
                    let dot = if m.name.is_empty() { String::new() } else { format!(".{}", m.name) };
                    let path = match path.strip_prefix('*') {
                        Some(pointer) if !dot.is_empty() => format!("{pointer}->{}", m.name),
                        _ => format!("{path}{dot}"),
                    };
                    let expression = format!("{expression}{dot}");
                    if m.bits == 0 {
                        self.visit(m.of, at + m.offset / 8, &path, &expression);
                    } else {
                        self.note_bits(m, at, &path, &expression);
                    }
                }
            }
            Form::Library(class) if !self.in_object => {
                self.visit_library(class, at, path.trim_start_matches('*'), expression);
            }
            _ => {}
        }
    }

    fn note(&mut self, kind: Kind, type_name: &str, at: usize, path: &str, expression: &str) {
        let size = kind.size();
        let before = self.before.and_then(|block| self.renderer.images[block].get(at..at + size));
        let Some(now) = self.after.get(at..at + size) else { return };
        let value = bits(now, 0, size);
        if size == 8 && ADDRESSES.contains(&value) {
            return;
        }
        self.add(self.value(kind, value, type_name, at, (path, expression)), Some(now) != before);
    }

    /// Notes a bit-field of the structure at `at`.
    fn note_bits(&mut self, m: &Member, at: usize, path: &str, expression: &str) {
        let t = &self.renderer.model.types[m.of];
        let Form::Number(Number::Plain(kind)) = t.form else { return };
        let from = 8 * at + m.offset;
        if self.after.len() * 8 < from + m.bits {
            return;
        }
        let now = bit_field(self.after, from, m.bits);
        let before = self.before.map(|block| bit_field(&self.renderer.images[block], from, m.bits));
        let unused = 64 - m.bits.min(64) as u32;
        let is_signed = literal::kind_name(kind).starts_with('i');
        let value = if is_signed { ((now << unused).cast_signed() >> unused).cast_unsigned() } else { now };
        let mut value = self.value(kind, value, &t.name, at + m.offset / 8, (path, expression));
        value.place = value.place.map(|place| Place { bits: m.bits, ..place });
        self.add(value, Some(now) != before);
    }

    fn add(&mut self, value: Arg, is_changed: bool) {
        let values = if is_changed { &mut self.changed } else { &mut self.unchanged };
        if values.len() < MOST_VALUES {
            values.push(value);
        }
    }

    fn value(&self, kind: Kind, value: u64, type_name: &str, at: usize, (path, expression): (&str, &str)) -> Arg {
        let mut arg = literal::arg(path, type_name, kind, value);
        arg.place = Some(Place {
            expression: expression.to_owned(),
            variable: self.variable.to_owned(),
            offset: at,
            in_object: self.in_object,
            kind: literal::kind_name(kind).to_owned(),
            is_global: self.before.is_some_and(|block| self.renderer.model.global_of(block).is_some()),
            is_filled_in: false,
            bits: 0,
            only_if_changed: false,
        });
        arg
    }
}
