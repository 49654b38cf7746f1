//! Renders the structures, arrays and strings of an input as C: the variables of a test, and the memory that a call has
//! written to them.

pub mod allocated;
mod globals;
pub mod layouts;
mod left;
mod numbers;
mod objects;
mod streams;

use penfuzz_abi::type_flag;
use penfuzz_mutators::view::Kind;
use penfuzz_target::{
    inputs::{
        Block, Model, Owner, PROGRAM, Pointer, Sequence, Stub, Target, Within,
        library::Class,
        types::{Form, Member, Number, TypeId},
    },
    program::Function,
};

use penfuzz_report::{
    Arg, CALL, CallStart, Memory, Object,
    c_text::{identifier, string_of},
    literal,
};

pub use globals::globals;
pub use left::{left, returned_pointer};
use numbers::{bit_field, bits, half, long_double, plain};

/// Maximum number of characters of an argument that is only displayed.
const SHOWN: usize = 120;

/// Renders one input of a model.
struct Renderer<'a> {
    model: &'a Model,
    x: &'a [u8],
    images: Vec<Vec<u8>>,
    names: Vec<String>,
    /// The types that have a layout.
    layouts: Vec<TypeId>,
    function: &'a Function,
}

/// The arguments of a function with a model, one per parameter. After them come the text of standard input, if the
/// function reads it, and the values that it takes from its environment. For a sequence of calls the environment comes
/// first. Then each call follows: an entry that names the called function, and its arguments.
#[must_use]
pub fn arguments(function: &Function, model: &Model, x: &[u8]) -> Vec<Arg> {
    let renderer = Renderer::new(function, model, x);
    let input = model.input.map(|block| renderer.input(block));
    let results = model.nondet.iter().map(|n| renderer.results(&n.source, n.block));
    let environment = renderer.globals(Owner::Shared).into_iter().chain(input).chain(results);
    let Some(sequence) = &model.sequence else {
        let own = renderer.of_call(function, &model.parameters, 0, Owner::Shared);
        return declared_once(own.into_iter().chain(environment).collect());
    };
    let mut all: Vec<Arg> = environment.collect();
    for (m, call) in sequence.constructors.iter().enumerate() {
        let called = CallStart { maker: Some(m), object: Some(renderer.object(sequence, m)) };
        all.push(beginning(&call.f, "first", called));
        all.extend(renderer.of_call(&call.f, &call.parameters, call.frame, Owner::Constructor(m)));
    }
    for (k, call) in sequence.steps.iter().enumerate().take(sequence.len(x)) {
        all.push(beginning(&call.f, &format!("call {}", k + 1), CallStart::default()));
        let owner = if sequence.count.is_some() { Owner::Step(k) } else { Owner::Shared };
        all.extend(renderer.of_call(&call.f, &call.parameters, call.frame, owner));
        if owner != Owner::Shared {
            all.extend(renderer.globals(owner));
        }
    }
    declared_once(all)
}

/// Removes repeated declarations: several calls may share a variable, and several pointers a buffer.
fn declared_once(mut all: Vec<Arg>) -> Vec<Arg> {
    let mut known = std::collections::HashSet::new();
    for arg in &mut all {
        arg.memory.retain(|m| known.insert(m.name.clone()));
    }
    all
}

/// The entry that precedes the arguments of a call of a sequence.
fn beginning(function: &Function, which: &str, called: CallStart) -> Arg {
    Arg {
        name: function.name.clone(),
        type_name: CALL.to_owned(),
        hex: which.to_owned(),
        decimal: which.to_owned(),
        called: Some(called),
        ..Arg::default()
    }
}

/// Only the arguments of the calls that were begun.
#[must_use]
pub fn truncated(mut args: Vec<Arg>, begun: usize) -> Vec<Arg> {
    if let Some((end, _)) = args.iter().enumerate().filter(|(_, a)| a.is_call()).nth(begun) {
        let last = args.pop_if(|a| a.is_rounding());
        args.truncate(end);
        args.extend(last);
    }
    args
}

impl<'a> Renderer<'a> {
    fn new(function: &'a Function, model: &'a Model, x: &'a [u8]) -> Self {
        let images = model.blocks.iter().map(|b| b.image(x)).collect();
        let variable_of = |(i, b)| model.global_of(i).map_or_else(|| variable(function, model, b), |g| g.name.clone());
        let names = model.blocks.iter().enumerate().map(variable_of).collect();
        Self { model, x, images, names, layouts: layouts::types(model), function }
    }

    /// The arguments of a call with this frame.
    fn of_call(&self, function: &Function, parameters: &[(TypeId, usize)], frame: usize, owner: Owner) -> Vec<Arg> {
        let each = function.parameters.iter().zip(parameters).enumerate();
        each.map(|(i, (p, (of, at)))| {
            let own = format!("in{}{}_{}", prefix(owner), i + 1, identifier(&p.name));
            let mut arg = self.argument(*of, frame, *at, &own);
            arg.name.clone_from(&p.name);
            arg.callbacks = self.callbacks(function, &p.name, owner);
            if arg.type_name.is_empty() {
                arg.type_name.clone_from(&p.type_name);
            }
            arg
        })
        .collect()
    }

    /// The object that maker `m` makes.
    fn object(&self, sequence: &Sequence, m: usize) -> Object {
        let (handle, call) = (&sequence.handles[m], &sequence.constructors[m]);
        let (block, parameter) = match (call.fills, handle.out) {
            (Some((block, parameter)), _) => (Some(block), Some(parameter)),
            (None, Some(block)) => {
                let leads = |p: &Pointer| p.target == Target::Block(block);
                let at = self.model.blocks[call.frame].pointers.iter().find(|p| leads(p)).map(|p| p.at);
                (Some(block), call.parameters.iter().position(|(_, place)| Some(*place) == at))
            }
            (None, None) => (None, None),
        };
        let of = &self.model.types[handle.of];
        Object {
            variable: block.map_or_else(|| self.handle(m), |block| self.names[block].clone()),
            type_name: of.name.clone(),
            size: if call.fills.is_some() { of.size } else { 0 },
            parameter,
        }
    }

    /// The variable that holds the pointer that maker `m` returns or stores.
    fn handle(&self, m: usize) -> String {
        let Some(sequence) = &self.model.sequence else { return String::new() };
        match sequence.handles[m].out {
            Some(block) => self.names[block].clone(),
            None => named(self.function, self.model, &sequence.handles[m].path, Owner::Constructor(m)),
        }
    }

    /// Whether the block is an object that a maker initializes, or a pointer that a maker stores.
    fn is_made(&self, block: usize) -> bool {
        let Some(sequence) = &self.model.sequence else { return false };
        sequence.constructors.iter().any(|m| m.fills.is_some_and(|(b, _)| b == block))
            || sequence.handles.iter().any(|h| h.out == Some(block))
    }

    /// The results of the callbacks that are reachable from a parameter of a call, by the number of the stub.
    fn callbacks(&self, function: &Function, parameter: &str, owner: Owner) -> Vec<(usize, String)> {
        let own = |path| match owner {
            Owner::Constructor(_) => of_constructor(function, path),
            Owner::Shared | Owner::Step(_) => Some(path),
        };
        let is_reached = |path| own(path).is_some_and(|path| root(path) == parameter);
        let stubs = self.model.stubs.iter().enumerate().filter(|(_, s)| is_reached(s.path.as_str()));
        let result = |s: &Stub| s.slot.map_or_else(String::new, |slot| plain(slot.kind, slot.get(self.x)));
        stubs.map(|(i, s)| (i, result(s))).collect()
    }

    fn argument(&self, of: TypeId, block: usize, at: usize, own: &str) -> Arg {
        let t = &self.model.types[of];
        let frame = &self.images[block];
        match t.form {
            Form::Number(Number::Plain(kind)) => {
                let bits = bits(frame, at, kind.size());
                Arg { enumerator: t.enumerator(bits), ..literal::arg("", "", kind, bits) }
            }
            Form::Number(number) => {
                let value = self.number(number, block, at);
                Arg {
                    decimal: value.clone(),
                    hex: value,
                    bits: literal::hex(&frame[at..at + t.size]),
                    ..Arg::default()
                }
            }
            Form::Pointer(_) => self.pointer_argument(block, at),
            _ => {
                let zero = if t.has(type_flag::COMPLEX) { "0" } else { "{0}" };
                let value = self.value(of, block, at).unwrap_or_else(|| zero.to_owned());
                let memory = Memory {
                    name: own.to_owned(),
                    type_name: self.named_type(of),
                    object: self.braces(of, block, at),
                    objects: self.objects_in(of, block, at),
                    elements: None,
                    value: value.clone(),
                    bytes: literal::hex(&frame[at..at + t.size]),
                    addresses: self.addresses(block, at..at + t.size),
                    layout: self.layout(of),
                    is_allocated: false,
                };
                let mut all = Vec::new();
                self.add_pointees(block, at..at + t.size, &mut all);
                all.push(memory);
                Arg {
                    hex: own.to_owned(),
                    decimal: shortened(&value),
                    bits: literal::hex(&frame[at..at + t.size]),
                    memory: all,
                    ..Arg::default()
                }
            }
        }
    }

    fn pointer_argument(&self, block: usize, at: usize) -> Arg {
        let mut memory = Vec::new();
        self.add_pointees(block, at..at + 8, &mut memory);
        let expression = self.address(block, at).unwrap_or_else(|| "0".to_owned());
        let shown = match memory.last() {
            // The expression of a file contains its text.
            Some(_) if expression.starts_with("penfuzz_file") => shortened(&expression),
            Some(_) if expression.contains(" + ") => expression.clone(),
            Some(m) => shortened(&m.value),
            None if expression == "0" => "NULL".to_owned(),
            None => expression.clone(),
        };
        let bits = memory.last().map_or_else(String::new, |m| format!("0x{}", m.bytes));
        Arg { hex: expression, decimal: shown, bits, memory, ..Arg::default() }
    }

    /// Appends the variables that the pointers in a part of a block refer to, each after those that it refers to
    /// itself.
    fn add_pointees(&self, block: usize, part: core::ops::Range<usize>, into: &mut Vec<Memory>) {
        let pointers = self.model.blocks[block].pointers.iter().filter(|p| part.contains(&p.at));
        for p in pointers.filter(|p| !self.model.is_null(p, self.x)) {
            match p.target {
                Target::Block(to) if self.is_made(to) => {}
                Target::Block(to) if self.is_literal(to) => self.add_pointees(to, 0..self.images[to].len(), into),
                Target::Block(to) | Target::Within(Within { block: to, .. }) => {
                    if into.iter().any(|m| m.name == self.names[to]) {
                        continue;
                    }
                    self.add_pointees(to, 0..self.images[to].len(), into);
                    into.push(self.memory(to));
                }
                Target::Name(f) => into.push(self.name_of(self.model.files[f])),
                _ => {}
            }
        }
    }

    /// Whether the elements are written inside the initializer of the object that contains them.
    fn is_literal(&self, block: usize) -> bool {
        let is_vector = |class: &Class| matches!(class, Class::Vector { .. });
        let class = self.model.blocks[block].part_of.as_ref().filter(|class| class.has_literal());
        class.is_some_and(|class| !is_vector(class) || self.array_of_objects(block).is_some())
    }

    fn memory(&self, block: usize) -> Memory {
        let (b, image) = (&self.model.blocks[block], &self.images[block]);
        let n = b.len(self.x);
        let is_array = self.is_array(block);
        let value =
            if is_array { self.elements(b.element, b.stride, n, block, 0) } else { self.value(b.element, block, 0) };
        let is_class = matches!(self.model.types[b.element].form, Form::Struct(_) | Form::Library(_));
        let object = match (is_class, is_array) {
            (false, _) => None,
            (true, true) => self.array_of_objects(block),
            (true, false) => self.braces(b.element, block, 0),
        };
        Memory {
            name: self.names[block].clone(),
            type_name: self.named_type(b.element),
            object,
            objects: (0..n).flat_map(|i| self.objects_in(b.element, block, i * b.stride)).collect(),
            elements: is_array.then_some(n),
            value: value.unwrap_or_else(|| "{0}".to_owned()),
            bytes: literal::hex(image),
            addresses: self.addresses(block, 0..image.len()),
            layout: self.layout(b.element),
            is_allocated: false,
        }
    }

    /// The number of the layout of a type, or of the elements of an array.
    fn layout(&self, of: TypeId) -> Option<usize> {
        let element = layouts::element(self.model, of).0;
        self.layouts.iter().position(|known| *known == element)
    }

    /// Whether the variable of a block is an array.
    fn is_array(&self, block: usize) -> bool {
        let b = &self.model.blocks[block];
        !(b.capacity == 1
            && matches!(
                self.model.types[b.element].form,
                Form::Struct(_) | Form::Union(_) | Form::Library(_) | Form::Other
            ))
    }

    fn addresses(&self, block: usize, part: core::ops::Range<usize>) -> Vec<(usize, String)> {
        let pointers =
            self.model.blocks[block].pointers.iter().filter(|p| part.contains(&p.at) && p.at + 8 <= part.end);
        // Library objects have no byte image.
        let of_object = |p: &&Pointer| matches!(p.target, Target::Block(b) if self.model.blocks[b].part_of.is_some());
        let pointers = pointers.filter(|p| !of_object(p));
        pointers.filter_map(|p| Some((p.at - part.start, self.address(block, p.at)?))).collect()
    }

    /// The expression for the pointer at a place; `None` for a null pointer.
    fn address(&self, block: usize, at: usize) -> Option<String> {
        let p = self.model.pointer_in(block, at, self.x).filter(|p| !self.model.is_null(p, self.x))?;
        match p.target {
            Target::Block(b) if self.is_array(b) => Some(self.names[b].clone()),
            Target::Block(b) => Some(format!("&{}", self.names[b])),
            Target::Stub(s) => Some(format!("(void *)penfuzz_stub{s}")),
            Target::Made(m) => Some(self.handle(m)),
            Target::Stream(f) => {
                let text = text_of(&self.images[self.model.files[f].block]).unwrap_or_default();
                Some(format!("penfuzz_stream({}, {})", string_of(text), text.len()))
            }
            Target::Name(f) => Some(self.file_name(self.model.files[f])),
            Target::Program => Some(format!("(char *){}", string_of(PROGRAM.to_bytes()))),
            Target::Within(to) => {
                let n = self.model.blocks[to.block].len(self.x);
                let element = self.model.element(&to, self.x, n);
                let first = format!("{}{}", if self.is_array(to.block) { "" } else { "&" }, self.names[to.block]);
                Some(if element == 0 { first } else { format!("{first} + {element}") })
            }
            Target::Null | Target::End(_) | Target::Count(_) | Target::Own(_) => None,
        }
    }

    /// The initializer of a value; `None` if the value is zero throughout.
    fn value(&self, of: TypeId, block: usize, at: usize) -> Option<String> {
        let t = &self.model.types[of];
        let image = &self.images[block];
        match &t.form {
            Form::Number(number) => {
                let is_zero = image.get(at..at + t.size).is_none_or(|bytes| bytes.iter().all(|b| *b == 0));
                (!is_zero).then(|| self.number(*number, block, at))
            }
            Form::Pointer(_) => self.address(block, at),
            Form::Array(element, _) if t.has(type_flag::COMPLEX) => {
                let stride = self.model.types[*element].size;
                let parts = [0, 1].map(|i| self.value(*element, block, at + i * stride));
                if parts.iter().all(Option::is_none) {
                    return None;
                }
                let [re, im] = parts.map(|part| part.unwrap_or_else(|| "0.0".to_owned()));
                let of = &self.model.types[*element].name;
                Some(format!("__builtin_complex(({of}){re}, ({of}){im})"))
            }
            Form::Array(element, n) => self.elements(*element, self.model.types[*element].size, *n, block, at),
            Form::Struct(members) => braced(members.iter().filter_map(|m| self.member(m, block, at))),
            Form::Library(_) => self.braces(of, block, at),
            Form::Union(members) => {
                let member = self.model.union_member(of, members, block, at, self.x)?;
                braced(self.member(member, block, at).into_iter())
            }
            _ => None,
        }
    }

    /// `.name = value`; for a member without a name, the initializers of its members.
    fn member(&self, m: &Member, block: usize, at: usize) -> Option<String> {
        if m.bits > 0 {
            let value = bit_field(&self.images[block], 8 * at + m.offset, m.bits);
            return (value != 0 && !m.name.is_empty()).then(|| format!(".{} = {value}", m.name));
        }
        let value = self.value(m.of, block, at + m.offset / 8)?;
        if m.name.is_empty() {
            // Removes only the outer braces: those of an array inside stay.
            return Some(value.strip_prefix('{').and_then(|v| v.strip_suffix('}')).unwrap_or(&value).to_owned());
        }
        Some(format!(".{} = {value}", m.name))
    }

    fn elements(&self, of: TypeId, stride: usize, n: usize, block: usize, at: usize) -> Option<String> {
        let t = &self.model.types[of];
        if t.has(type_flag::CHAR)
            && let Some(text) = self.images[block].get(at..at + n).and_then(text_of)
        {
            return (!text.is_empty()).then(|| string_of(text));
        }
        let values: Vec<_> = (0..n).map(|i| self.value(of, block, at + i * stride)).collect();
        let used = values.iter().rposition(Option::is_some)? + 1;
        let zero = if matches!(t.form, Form::Number(_) | Form::Pointer(_)) { "0" } else { "{0}" };
        let texts: Vec<_> = values.into_iter().take(used).map(|v| v.unwrap_or_else(|| zero.to_owned())).collect();
        Some(format!("{{{}}}", texts.join(", ")))
    }

    fn number(&self, number: Number, block: usize, at: usize) -> String {
        let image = &self.images[block];
        match number {
            Number::Plain(kind) => plain(kind, bits(image, at, kind.size())),
            Number::F16 => plain(Kind::F64, half(bits(image, at, 2)).to_bits()),
            Number::F80 => image.get(at..at + 10).map_or_else(|| "0".to_owned(), long_double),
            // The double that the number was converted from.
            Number::F128 => self.converted(block, at).map_or_else(|| "0".to_owned(), |b| plain(Kind::F64, b)),
            Number::Wide { .. } => {
                let (low, high) = (bits(image, at, 8), bits(image, at + 8, 8));
                format!("((__int128){}LL << 64 | {low:#x}ULL)", high.cast_signed())
            }
        }
    }

    /// The bits of the double in the input that was converted to the number at a place of a block.
    fn converted(&self, block: usize, at: usize) -> Option<u64> {
        let c = self.model.blocks[block].converted.iter().find(|c| c.to == at)?;
        Some(bits(self.x, c.from, 8))
    }
}

/// The name of the variable for a block: `in1_s`, `in1_s_next`; `in1_p_0` for the target of `*p`; `in2_1_a` in the
/// second call of a sequence, `in0_1_a` in the call of a maker.
fn variable(function: &Function, model: &Model, block: &Block) -> String {
    named(function, model, &block.path, block.owner)
}

fn named(function: &Function, model: &Model, path: &str, owner: Owner) -> String {
    let maker = match (owner, &model.sequence) {
        (Owner::Constructor(m), Some(sequence)) => sequence.constructors.get(m),
        _ => None,
    };
    let own = maker.and_then(|call| Some((call, of_constructor(&call.f, path)?)));
    // An object made by a maker is named after the parameter that it is passed to.
    let (f, prefix, path) = match own {
        Some((call, path)) => (&*call.f, prefix(owner), path),
        None if maker.is_some() => (function, String::new(), path),
        None => (function, prefix(owner), path),
    };
    let number = f.parameters.iter().position(|p| p.name == root(path)).map_or(0, |i| i + 1);
    let rest = path.replace("->", "_").replace("()", "").replace(['.', '['], "_").replace(']', "");
    let name = rest.trim_start_matches('*');
    format!("in{prefix}{number}_{}{}", identifier(name), "_0".repeat(rest.len() - name.len()))
}

/// The path from a parameter of a constructor, if the path begins at one.
fn of_constructor<'a>(constructor: &Function, path: &'a str) -> Option<&'a str> {
    let name = constructor.name.rsplit("::").next().unwrap_or(&constructor.name);
    path.trim_start_matches('*').strip_prefix(name)?.strip_prefix('.')
}

/// The part of a variable name that distinguishes the calls: `2_` in the second call.
fn prefix(owner: Owner) -> String {
    match owner {
        Owner::Shared => String::new(),
        Owner::Constructor(m) => format!("{}_", "0".repeat(m + 1)),
        Owner::Step(k) => format!("{}_", k + 1),
    }
}

/// The parameter that a path begins with.
fn root(path: &str) -> &str {
    path.split(['-', '.', '[']).next().unwrap_or(path).trim_start_matches('*')
}

/// The characters of a string before its terminator; `None` if the bytes are not one zero-padded string.
fn text_of(bytes: &[u8]) -> Option<&[u8]> {
    let end = bytes.iter().position(|b| *b == 0)?;
    bytes[end..].iter().all(|b| *b == 0).then_some(&bytes[..end])
}

fn braced(members: impl Iterator<Item = String>) -> Option<String> {
    let members: Vec<_> = members.collect();
    (!members.is_empty()).then(|| format!("{{{}}}", members.join(", ")))
}

fn shortened(text: &str) -> String {
    if text.chars().count() <= SHOWN {
        return text.to_owned();
    }
    text.chars().take(SHOWN).chain("…".chars()).collect()
}
