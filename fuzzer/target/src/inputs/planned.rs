//! A call that a model makes: of the function under test, or of a constructor.

use super::{
    block_builder::{BlockBuilder, PointerFacts},
    build::Builder,
    constructors::ConstructionKind,
    declared::Declared,
    types::{Reader, TypeId},
};
use crate::program::{Function, function::Shape};

/// How the object behind a parameter is created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Object {
    /// No shared object: each call has its own argument.
    None,
    /// All calls share one object, built from numbers of the input.
    Kept,
    /// The constructor call with this index creates it.
    Made(usize),
}

/// A call to be modelled.
pub(super) struct Planned<'a> {
    pub(super) function: usize,
    pub(super) f: &'a Function,
    pub(super) shapes: Vec<Shape>,
    pub(super) types: Vec<Option<TypeId>>,
    pub(super) objects: Vec<Object>,
    /// For a constructor: how it returns the object, the type of the object, and the path of the pointer to it.
    pub(super) makes: Option<(ConstructionKind, TypeId, String)>,
}

impl<'a> Planned<'a> {
    pub(super) fn new(function: usize, f: &'a Function, reader: &mut Reader, has_casts: bool) -> Self {
        let mut shapes = f.shapes();
        if !has_casts {
            for shape in &mut shapes {
                shape.record = shape.declared;
            }
        }
        let mut types: Vec<_> = shapes.iter().map(|shape| reader.read(shape.record)).collect();
        // The type of the result comes last.
        types.push(f.result_shape().and_then(|(record, _)| reader.read(record)));
        let objects = vec![Object::None; shapes.len()];
        Self { function, f, shapes, types, objects, makes: None }
    }

    /// Size of its frame, or of its packed arguments, in bytes.
    pub(super) fn frame_size(&self) -> usize {
        if self.f.frame_call().is_some() { self.f.frame_size() } else { self.f.input_size.max(self.f.frame_size()) }
            .max(1)
    }

    /// Offset of a parameter in the frame.
    pub(super) fn place(&self, i: usize) -> usize {
        if self.f.frame_call().is_some() { self.shapes[i].frame } else { self.f.parameters[i].offset }
    }

    pub(super) fn parameters(&self) -> Result<Vec<(TypeId, usize)>, String> {
        (0..self.shapes.len()).map(|i| Ok((self.type_of(i)?, self.place(i)))).collect()
    }

    pub(super) fn type_of(&self, i: usize) -> Result<TypeId, String> {
        let p = &self.f.parameters[i];
        let why = if p.type_name == "..." { "the number of arguments is not fixed" } else { "compile with -g" };
        self.types[i].ok_or_else(|| format!("parameter `{}` has type `{}` ({why})", p.name, p.type_name))
    }

    /// Places parameter `i` in a frame. `prefix` precedes its name in paths.
    pub(super) fn place_in(
        &self,
        builder: &mut Builder,
        frame: &mut BlockBuilder,
        i: usize,
        prefix: &str,
        declared: &Declared,
    ) -> Result<(), String> {
        let (p, shape, of) = (&self.f.parameters[i], &self.shapes[i], self.type_of(i)?);
        let elements = declared.elements(&p.name).or((shape.promised > 0).then_some(0));
        let way = PointerFacts {
            nullable: shape.nullable,
            is_output: !shape.reads,
            is_single: !shape.indexes,
            names_file: shape.names_file,
            declared: elements.map(|n| (n, shape.promised)),
            ..PointerFacts::default()
        };
        builder
            .place(frame, of, self.place(i), &format!("{prefix}{}", p.name), &way)
            .map_err(|why| format!("parameter `{}` has type `{}` ({why})", p.name, p.type_name))
    }
}
