//! Finds the values that calls have written to memory.

use penfuzz_abi::type_flag;
use penfuzz_executor::blocks::Blocks;
use penfuzz_mutators::view::Kind;
use penfuzz_report::{Arg, Place, RESULT, literal};
use penfuzz_target::{
    inputs::{
        Block, Owner, Target,
        library::Class,
        types::{Form, Number, TypeId},
    },
    program::Function,
};

use super::{Renderer, bits};

/// Maximum number of values in each block that a test compares.
const MOST_VALUES: usize = 32;
/// Numbers that may be addresses of a program, its libraries or its stack on 64-bit Linux, or of our memory: they
/// differ between runs.
const ADDRESSES: core::ops::Range<u64> = 0x2000_0000_0000..0x8000_0000_0000;

/// The numbers in pointed-to memory that the last call has changed.
#[must_use]
pub fn left(function: &Function, blocks: &Blocks, x: &[u8]) -> Vec<Arg> {
    let model = blocks.model();
    let renderer = Renderer::new(function, model, x);
    let mut found = Vec::new();
    let makers = model.sequence.as_ref().map_or(0, |s| s.constructors.len());
    let is_made = |owner: Owner| !matches!(owner, Owner::Step(k) if makers + k >= blocks.begun());
    let has_values = |b: &Block| !b.path.is_empty() && !b.is_const && !b.is_owned() && is_made(b.owner);
    for (i, block) in model.blocks.iter().enumerate().filter(|(_, b)| has_values(b)) {
        let after = blocks.contents(i);
        let variable = &renderer.names[i];
        let mut walk =
            Walk { renderer: &renderer, blocks, before: Some(i), after, variable, in_object: false, found: Vec::new() };
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
        found.extend(walk.found);
    }
    found.extend(returned(&renderer, blocks));
    found
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
    let mut walk =
        Walk { renderer, blocks, before: None, variable: RESULT, after, in_object: false, found: Vec::new() };
    walk.visit(of, 0, RESULT, RESULT);
    walk.found
}

/// Searches a block for changed numbers.
struct Walk<'a> {
    renderer: &'a Renderer<'a>,
    blocks: &'a Blocks,
    /// The searched block, of which only changed numbers are reported; `None` for a result.
    before: Option<usize>,
    after: &'a [u8],
    variable: &'a str,
    in_object: bool,
    found: Vec<Arg>,
}

impl Walk<'_> {
    fn visit(&mut self, of: TypeId, at: usize, path: &str, expression: &str) {
        if self.found.len() >= MOST_VALUES {
            return;
        }
        let t = &self.renderer.model.types[of];
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
                for m in members.iter().filter(|m| m.bits == 0) {
                    let dot = if m.name.is_empty() { String::new() } else { format!(".{}", m.name) };
                    let path = match path.strip_prefix('*') {
                        Some(pointer) if !dot.is_empty() => format!("{pointer}->{}", m.name),
                        _ => format!("{path}{dot}"),
                    };
                    self.visit(m.of, at + m.offset / 8, &path, &format!("{expression}{dot}"));
                }
            }
            Form::Library(class) if class.owns() && !self.in_object => {
                self.visit_elements(class, at, path.trim_start_matches('*'), expression);
            }
            _ => {}
        }
    }

    /// Searches an object of the C++ library for changed elements and for a changed number of elements.
    fn visit_elements(&mut self, class: &Class, at: usize, path: &str, expression: &str) {
        let renderer = self.renderer;
        let Some(own) = self.before else { return };
        let begin = match class {
            Class::Vector { begin, .. } | Class::String { begin, .. } => at + begin,
            Class::View { .. } | Class::Optional { .. } => return,
        };
        let Some(Target::Block(block)) = renderer.model.pointer_at(own, begin).map(|p| p.target) else { return };
        let Some((after, n)) = self.blocks.elements(own, at, class) else { return };
        let b = &renderer.model.blocks[block];
        let before = b.len(renderer.x) - usize::from(b.is_terminated);
        let mut walk = Walk { before: Some(block), after, in_object: true, found: Vec::new(), ..*self };
        if n != before {
            walk.add(Kind::U64, n as u64, "std::size_t", 0, &format!("{path}.size()"), &format!("{expression}.size()"));
        }
        let stride = renderer.model.types[class.element()].size;
        for i in 0..n.min(MOST_VALUES) {
            walk.visit(class.element(), i * stride, &format!("{path}[{i}]"), &format!("{expression}[{i}]"));
        }
        self.found.append(&mut walk.found);
    }

    fn note(&mut self, kind: Kind, type_name: &str, at: usize, path: &str, expression: &str) {
        let size = kind.size();
        let before = self.before.and_then(|block| self.renderer.images[block].get(at..at + size));
        let Some(now) = self.after.get(at..at + size).filter(|now| Some(*now) != before) else { return };
        let value = bits(now, 0, size);
        if size == 8 && ADDRESSES.contains(&value) {
            return;
        }
        self.add(kind, value, type_name, at, path, expression);
    }

    fn add(&mut self, kind: Kind, value: u64, type_name: &str, at: usize, path: &str, expression: &str) {
        let mut arg = literal::arg(path, type_name, kind, value);
        arg.place = Some(Place {
            expression: expression.to_owned(),
            variable: self.variable.to_owned(),
            offset: at,
            in_object: self.in_object,
            kind: literal::kind_name(kind).to_owned(),
            is_global: self.before.is_some_and(|block| self.renderer.model.global_of(block).is_some()),
            is_filled_in: false,
        });
        self.found.push(arg);
    }
}
