//! Builds the [`Model`] of the inputs of a function from its signature: the calls that one evaluation makes.
//!
//! 1. Find the stateful objects: memory that pointers of the function under test lead to and that persists over all
//!    calls. A *constructor* creates such an object if the user names one, or if the structure is opaque. Otherwise the
//!    object is built from numbers of the input.
//! 2. Assign places in the input to the number of calls, to the arguments of constructors, and to the objects.
//! 3. Assign the same number of bytes after those to each call of the function under test.

use std::ffi::CStr;

use penfuzz_abi::{self as abi, type_kind};
use penfuzz_mutators::{domain::Domain, sequence::Steps, view::Kind};

use super::{
    block_builder::{BlockBuilder, PointerFacts},
    buffers::Buffers,
    build::Builder,
    constructors::{self, ConstructionKind, Constructor},
    declared::Declared,
    model::{Call, ConstructedObject, Model, Nondet, Owner, Sequence, Variable},
    planned::{Object, Planned},
    pointer::{Pointer, Target as Leads},
    sizes::Sizes,
    types::{Form, Reader, TypeId},
    voids::Casts,
};
use crate::program::{
    Function, Target,
    environment::sources,
    function::Shape,
    globals::{self, Global},
    state::{self, input_of},
};

/// Maximum nesting of constructors that need constructors for their own arguments.
const LEVELS: usize = 1;

/// Builds the model of `f` with these block sizes.
///
/// # Errors
/// A phrase that names the parameter whose type cannot be built, and the reason.
pub fn build(target: &Target, f: &Function, sizes: &Sizes) -> Result<Model, String> {
    let model = with_globals(target, f, &f.globals, sizes);
    if !f.globals.is_empty() || !model.as_ref().is_ok_and(|m| has_no_input(f, m)) {
        return model;
    }
    match &globals::default_inputs(target, f)[..] {
        [] => model,
        own => with_globals(target, f, own, sizes).or(model),
    }
}

/// Whether variables that the function reads are its inputs although the user names none.
pub fn is_of_globals(target: &Target, f: &Function) -> bool {
    f.globals.is_empty() && build(target, f, &Sizes::new()).is_ok_and(|model| !model.globals.is_empty())
}

/// Whether an input contains at most the number of calls and a rounding mode.
fn has_no_input(f: &Function, model: &Model) -> bool {
    model.layout.slots().len() <= usize::from(f.calls > 1) + usize::from(f.has_rounding)
}

/// [`build`] with `globals` as inputs or results.
fn with_globals(target: &Target, f: &Function, globals: &[Global], sizes: &Sizes) -> Result<Model, String> {
    let with = |casts: bool| {
        let plain = Plan::of(target, f, OpaqueTypes::Undefined, casts).with(globals).model(sizes);
        let has_constructible_pointee =
            |s: &Shape| constructors::pointee_object(if casts { s.record } else { s.declared }).is_some();
        if plain.is_ok() || !f.shapes().iter().any(has_constructible_pointee) {
            return plain;
        }
        // A type that cannot be built from numbers may have a constructor.
        Plan::of(target, f, OpaqueTypes::Classes, casts).with(globals).model(sizes).or(plain)
    };
    // It may be impossible to build the type that the code shows for a `void *`. Bytes can always be built.
    with(true).or_else(|_| with(false))
}

/// Which types constructors create although the user names no constructor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OpaqueTypes {
    /// Structures that the translation unit of the function does not define.
    Undefined,
    /// Those structures, and classes.
    Classes,
}

struct Plan<'a> {
    target: &'a Target,
    reader: Reader<'a>,
    f: Planned<'a>,
    /// The constructor calls, in call order.
    constructors: Vec<Planned<'a>>,
    closed: OpaqueTypes,
    /// Whether the pointer types that the code shows for `void *` are used.
    has_casts: bool,
    /// Variables that are inputs or results, with their types.
    globals: Vec<(Global, TypeId)>,
}

impl<'a> Plan<'a> {
    /// Adds `globals` as inputs or results.
    fn with(mut self, globals: &[Global]) -> Self {
        let typed = globals.iter().filter_map(|g| Some((g.clone(), self.reader.read(g.shape())?)));
        self.globals = typed.collect();
        self
    }

    fn of(target: &'a Target, f: &'a Function, closed: OpaqueTypes, has_casts: bool) -> Self {
        let function = target.functions.iter().position(|g| core::ptr::eq(g, f)).unwrap_or(usize::MAX);
        let mut reader = Reader::new(target, has_casts.then(|| Casts::of(target, f)));
        let planned = Planned::new(function, f, &mut reader, has_casts);
        let mut me =
            Self { target, reader, f: planned, constructors: Vec::new(), closed, has_casts, globals: Vec::new() };
        let own = (0..me.f.shapes.len()).map(|i| me.object(i)).collect();
        me.f.objects = own;
        me
    }

    /// Decides how the object of parameter `i` of the function under test is created.
    fn object(&mut self, i: usize) -> Object {
        let (f, shape) = (self.f.f, self.f.shapes[i]);
        if f.calls > 1 && constructors::is_callback(shape.record) {
            return Object::Kept;
        }
        let Some(object) = constructors::pointee_object(shape.record) else { return Object::None };
        let named = f.init.and_then(|function| {
            let way = constructors::construction_kind(&self.target.functions[function], object.name, true)?;
            Some(Constructor { function, way })
        });
        let found = named.or_else(|| self.found(object.name, object.of, LEVELS));
        if let Some(made) = found.and_then(|maker| self.add_constructor(maker, i, None)) {
            return Object::Made(made);
        }
        let is_state = f.parameters[i].name == "this" || !object.is_const && shape.reads;
        if f.calls > 1 && is_state { Object::Kept } else { Object::None }
    }

    /// Finds a constructor for an opaque type; `None` if the type is not opaque, or if it has none.
    fn found(&self, name: &CStr, of: &abi::Type, levels: usize) -> Option<Constructor> {
        let f = self.f.f;
        if constructors::is_cpp_constructor(f) || f.name.contains('~') {
            return None;
        }
        let is_class = of.kind == type_kind::OTHER || of.flags & abi::type_flag::CLASS != 0;
        let is_closed = of.kind == type_kind::INCOMPLETE || self.closed == OpaqueTypes::Classes && is_class;
        if is_closed { constructors::find(self.target, f, name, levels) } else { None }
    }

    /// Adds the call of a constructor, after the calls that construct its own arguments. `parameter` is the parameter
    /// that gets the object: of the constructor `of`, or of the function under test if `of` is `None`. Returns the
    /// index of the call.
    fn add_constructor(&mut self, maker: Constructor, parameter: usize, of: Option<&Planned<'a>>) -> Option<usize> {
        let planned = of.unwrap_or(&self.f);
        let pointer = planned.types[parameter]?;
        let Form::Pointer(object) = self.reader.types[pointer].form else { return None };
        let g = &self.target.functions[maker.function];
        let mut call = Planned::new(maker.function, g, &mut self.reader, self.has_casts);
        let path = match of {
            Some(of) => format!("{}.{}", short(&of.f.name), of.f.parameters[parameter].name),
            None => self.f.f.parameters[parameter].name.clone(),
        };
        call.makes = Some((maker.way, object, path));
        let own = match maker.way {
            ConstructionKind::Result => None,
            ConstructionKind::Out(i) | ConstructionKind::InPlace(i) => Some(i),
        };
        if of.is_none() {
            for i in (0..call.shapes.len()).filter(|i| Some(*i) != own) {
                let Some(inner) = constructors::pointee_object(call.shapes[i].record) else { continue };
                let Some(found) = self.found(inner.name, inner.of, 0) else { continue };
                if let Some(made) = self.add_constructor(found, i, Some(&call)) {
                    call.objects[i] = Object::Made(made);
                }
            }
        }
        self.constructors.push(call);
        Some(self.constructors.len() - 1)
    }

    fn model(self, sizes: &Sizes) -> Result<Model, String> {
        let Self { target, reader, f, constructors, globals, .. } = self;
        let (g, n) = (f.f, f.f.calls.max(1));
        let is_sequence = n > 1 || !constructors.is_empty();
        let mut builder = Builder::new(reader.types, sizes, &g.constraints);
        builder.deep = g.deep;
        builder.buffers = Buffers::of(target, g);
        // Pointers into one buffer are placed together, so an object that all calls share has none with a parameter.
        let own = |i: usize| f.objects[i] == Object::None;
        let named: Vec<_> =
            (0..f.shapes.len()).map(|i| (g.parameters[i].name.as_str(), f.types[i].filter(|_| own(i)))).collect();
        builder.roles = builder.buffers.of_parameters(&builder.types, &named);
        let count = (n > 1).then(|| builder.count());
        // The first block is the frame of the first step.
        builder.finish_block(BlockBuilder::new(0, f.frame_size(), String::new()), &PointerFacts::default());
        let mut calls = Calls {
            builder,
            made: Vec::new(),
            handles: Vec::new(),
            is_named: !g.globals.is_empty(),
            globals,
            variables: Vec::new(),
        };
        for maker in &constructors {
            calls.add_constructor(maker)?;
        }
        calls.keep_objects(&f)?;
        calls.keep_globals(n)?;
        if g.is_program() && is_sequence {
            return Err("a program is called once".to_owned());
        }
        let environment = calls.add_steps(target, &f, n)?;
        let Calls { builder, made, handles, variables, .. } = calls;
        let (steps, first) = (builder.steps.clone(), builder.first_of_steps);
        let parameters = f.parameters()?;
        let result = g.result_shape().and_then(|(_, at)| Some((f.types.get(f.shapes.len()).copied()??, at)));
        let mut model = builder.model(parameters, result, g.has_rounding);
        if let Some((slot, index)) = count {
            let per_call = steps.first().map_or(0, Vec::len);
            if per_call > 0 {
                let steps = Steps { count: index, first, per_call, capacity: n };
                model.layout = model.layout.with_steps(steps);
            }
            let range = Domain::new(Kind::U8, 1, n as u64).expect("a range");
            model.layout = model.layout.with_domain(index, range);
            model.numbers.push(("calls".to_owned(), index));
            debug_assert_eq!(slot.offset, 0);
        }
        let thunk = g.frame_call().or_else(|| g.call());
        if is_sequence {
            let thunk = thunk.ok_or("its calling convention is not supported")?;
            let step = |frame: usize| -> Result<Call, String> {
                let mut g = g.clone();
                // Remove an earlier model of the function.
                g.model = None;
                let (parameters, g) = (f.parameters()?, std::rc::Rc::new(g));
                Ok(Call { function: f.function, f: g, thunk, frame, parameters, fills: None })
            };
            let steps = model.frames.iter().map(|frame| step(*frame)).collect::<Result<_, _>>()?;
            model.sequence = Some(Sequence { constructors: made, steps, handles, count: count.map(|(slot, _)| slot) });
        }
        let Environment { input, nondet } = environment;
        let is_descriptor = input.is_some() && input_of(g) == Some(state::Input::Descriptor);
        Ok(Model { input, is_descriptor, is_program: g.is_program(), nondet, globals: variables, ..model })
    }
}

/// Builds the calls of a model.
struct Calls<'b> {
    builder: Builder<'b>,
    made: Vec<Call>,
    handles: Vec<ConstructedObject>,
    globals: Vec<(Global, TypeId)>,
    /// Whether the user names the globals.
    is_named: bool,
    /// The globals whose blocks have been built.
    variables: Vec<Variable>,
}

impl Calls<'_> {
    fn add_constructor(&mut self, of: &Planned) -> Result<(), String> {
        let (g, number) = (of.f, self.made.len());
        self.builder.begin(Owner::Constructor(number), 1);
        let name = short(&g.name);
        let prefix = format!("{name}.");
        let thunk = g.frame_call().or_else(|| g.call()).ok_or_else(|| format!("`{}` cannot be called", g.name))?;
        let mut frame = BlockBuilder::new(0, of.frame_size(), String::new());
        let declared = Declared::of(g);
        let (way, object, path) = of.makes.clone().ok_or("a constructor must construct an object")?;
        let (mut out, mut fills) = (None, None);
        for i in 0..of.shapes.len() {
            let at = of.place(i);
            if way == ConstructionKind::InPlace(i) {
                let block = self.builder.zero_block(object, &path);
                frame.block.pointers.push(Pointer::new(at, Leads::Block(block)));
                fills = Some((block, i));
            } else if way == ConstructionKind::Out(i) {
                let Form::Pointer(pointer) = self.builder.types[of.type_of(i)?].form else { continue };
                let block = self.builder.zero_block(pointer, &path);
                frame.block.pointers.push(Pointer::new(at, Leads::Block(block)));
                out = Some(block);
            } else if let Object::Made(m) = of.objects[i] {
                frame.block.pointers.push(Pointer::new(at, self.object(m)));
            } else {
                of.place_in(&mut self.builder, &mut frame, i, &prefix, &declared)
                    .map_err(|why| format!("{why}, of `{name}`"))?;
            }
        }
        let frame = self.builder.finish_block(frame, &PointerFacts::default());
        self.builder.follow_pointers()?;
        let call = Call {
            function: of.function,
            f: std::rc::Rc::new(g.clone()),
            thunk,
            frame,
            parameters: of.parameters()?,
            fills,
        };
        self.made.push(call);
        self.handles.push(ConstructedObject { path, maker: number, out, of: object });
        Ok(())
    }

    /// The target of a pointer to the object that constructor call `maker` creates.
    fn object(&self, maker: usize) -> Leads {
        self.made[maker].fills.map_or(Leads::Made(maker), |(block, _)| Leads::Block(block))
    }

    /// Builds the objects that all steps share.
    fn keep_objects(&mut self, f: &Planned) -> Result<(), String> {
        self.builder.begin(Owner::Shared, 1);
        let mut frame = BlockBuilder::new(0, f.frame_size(), String::new());
        let declared = Declared::of(f.f);
        for (i, object) in f.objects.iter().enumerate() {
            match object {
                Object::None | Object::Made(_) => {}
                Object::Kept => f.place_in(&mut self.builder, &mut frame, i, "", &declared)?,
            }
        }
        self.builder.finish_into_first(frame);
        self.builder.follow_pointers()
    }

    /// Builds the variables that are set once, before the first of `n` calls: those that keep what a call writes. A
    /// variable that the function only writes is a result. In a sequence of calls, every variable that the function
    /// writes is a result, unless the user names it.
    fn keep_globals(&mut self, n: usize) -> Result<(), String> {
        self.builder.begin(Owner::Shared, 1);
        for (global, of) in self.globals.iter().filter(|(g, _)| !is_own_of_calls(g, n)) {
            let is_state = n > 1 && !self.is_named;
            self.variables.push(self.builder.add_global(global, *of, !global.is_read || is_state)?);
        }
        self.builder.follow_pointers()
    }

    /// Builds the variables that get new values before each of `n` calls.
    fn add_globals(&mut self, n: usize) -> Result<(), String> {
        for (global, of) in self.globals.iter().filter(|(g, _)| is_own_of_calls(g, n)) {
            self.variables.push(self.builder.add_global(global, *of, false)?);
        }
        Ok(())
    }

    /// Adds the calls of the function under test, and its inputs besides arguments.
    fn add_steps(&mut self, target: &Target, f: &Planned, n: usize) -> Result<Environment, String> {
        let shared = self.builder.blocks[0].pointers.clone();
        let declared = Declared::of(f.f);
        let mut environment = Environment::default();
        self.builder.first_of_steps = self.builder.n_slots();
        let room = self.builder.room() / n;
        for k in 0..n {
            self.builder.begin(if n > 1 { Owner::Step(k) } else { Owner::Shared }, n);
            self.builder.limit(room);
            let first = self.builder.n_slots();
            let mut frame = BlockBuilder::new(0, f.frame_size(), String::new());
            // Of the arguments of a program only `argc` is placed here; `add_arguments` builds the others.
            let single = if f.f.is_program() { 1 } else { usize::MAX };
            for (i, object) in f.objects.iter().enumerate().take(single) {
                match object {
                    Object::None => f.place_in(&mut self.builder, &mut frame, i, "", &declared)?,
                    Object::Made(m) => {
                        // A pointer that the function compares with null is null in some calls.
                        let is_nullable = f.shapes[i].nullable && f.f.parameters[i].name != "this";
                        let null = if is_nullable { self.builder.null_slot(&mut frame) } else { None };
                        frame.block.pointers.push(Pointer { null, ..Pointer::new(f.place(i), self.object(*m)) });
                    }
                    Object::Kept => {}
                }
            }
            let block = if k == 0 {
                self.builder.finish_into_first(frame);
                0
            } else {
                frame.block.pointers.extend(shared.iter().copied());
                self.builder.finish_block(frame, &PointerFacts::default())
            };
            self.builder.frames.push(block);
            self.add_globals(n)?;
            if n == 1 {
                if f.f.is_program() {
                    self.builder.add_arguments(f.f, &f.parameters()?);
                }
                environment = self.add_environment(target, f.f);
            }
            self.builder.follow_pointers()?;
            let kinds = self.builder.kinds_from(first);
            self.builder.steps.push(kinds);
        }
        if self.builder.steps.windows(2).any(|w| w[0] != w[1]) {
            return Err("its calls have too many arguments for one input".to_owned());
        }
        if n > 1 {
            self.builder.begin(Owner::Shared, 1);
            environment = self.add_environment(target, f.f);
        }
        Ok(environment)
    }

    fn add_environment(&mut self, target: &Target, f: &Function) -> Environment {
        let input = input_of(f).map(|_| self.builder.add_input());
        let nondet = sources(target, f).into_iter().map(|source| self.builder.add_nondet(source)).collect();
        Environment { input, nondet }
    }
}

/// Whether each of `n` calls has its own values of a variable. A variable that the function writes may keep a value
/// between calls, so it has none.
const fn is_own_of_calls(global: &Global, n: usize) -> bool {
    n > 1 && global.is_read && !global.is_written
}

/// Inputs of a function besides its arguments.
#[derive(Default)]
struct Environment {
    /// The block with the text of standard input.
    input: Option<usize>,
    nondet: Vec<Nondet>,
}

/// The name without its namespaces and classes.
fn short(name: &str) -> &str {
    name.rsplit("::").next().unwrap_or(name)
}
