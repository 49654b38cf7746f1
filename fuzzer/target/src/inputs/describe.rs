//! Descriptions of the memory behind the pointers of a function, for users and for reports.

use serde::{Deserialize, Serialize};

use super::{
    model::{Block, Call, ConstructedObject, Model, Owner},
    sizes::{Origin, Rule},
    types::{Form, TypeId},
};

/// The memory behind one pointer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Described {
    /// The pointer in C notation: `s`, `s->next`.
    pub path: String,
    /// Type of its elements.
    #[serde(rename = "type")]
    pub type_name: String,
    /// Number of elements: a number, `n + 1`, or `..32` for a string.
    pub elements: String,
    /// How the number of elements is known.
    pub origin: Origin,
    /// What the block is if it is not plain memory behind a pointer, such as `standard input`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<String>,
    /// Whether the function only writes there. No part of it is in an input then.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub is_result: bool,
    /// The constructor that creates the object before the calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_by: Option<String>,
    /// Whether it is a variable of the program.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub is_global: bool,
}

impl Model {
    /// Describes the blocks in the order of an input, without frames and without blocks that repeat others.
    #[must_use]
    pub fn described(&self) -> Vec<Described> {
        // The blocks of the first call represent those of all calls.
        let is_shown =
            |b: &Block| !b.path.is_empty() && matches!(b.owner, Owner::Shared | Owner::Constructor(_) | Owner::Step(0));
        // The elements of a container represent the container. Those of its first element represent those of all
        // elements.
        let is_hidden = |b: &Block| match &b.part_of {
            None => matches!(&self.types[b.element].form, Form::Library(class) if class.owns()),
            Some(_) => b.path.replace("[0]", "").contains('['),
        };
        let shown = (1..self.blocks.len()).filter(|i| is_shown(&self.blocks[*i]) && !is_hidden(&self.blocks[*i]));
        let Some(sequence) = &self.sequence else { return shown.map(|i| self.describe(i)).collect() };
        let made = |(handle, maker): (&ConstructedObject, &Call)| Described {
            path: handle.path.clone(),
            type_name: self.types[handle.of].name.clone(),
            elements: "1".to_owned(),
            origin: Origin::Declared,
            stream: None,
            is_result: false,
            made_by: Some(maker.f.name.clone()),
            is_global: false,
        };
        let is_made = |i: usize| {
            sequence.constructors.iter().any(|m| m.fills.is_some_and(|(block, _)| block == i))
                || sequence.handles.iter().any(|h| h.out == Some(i))
        };
        let others = shown.filter(|i| !is_made(*i));
        let all = sequence.handles.iter().zip(&sequence.constructors).map(made);
        all.chain(others.map(|i| self.describe(i))).collect()
    }

    /// What a block is if it is not plain memory behind a pointer.
    fn stream(&self, i: usize) -> Option<String> {
        let b = &self.blocks[i];
        if self.input == Some(i) {
            return Some("standard input".to_owned());
        }
        if self.nondet.iter().any(|n| n.block == i) {
            return Some(format!("results of {}()", b.path));
        }
        let file = self.files.iter().find(|file| file.block == i)?;
        Some(if file.missing.is_some() { format!("file behind `{}`", b.path) } else { format!("stream `{}`", b.path) })
    }

    fn spelled(&self, of: TypeId) -> String {
        match &self.types[of].form {
            Form::Library(class) => class.spelled(|of| self.spelled(of)),
            _ => self.types[of].name.clone(),
        }
    }

    fn describe(&self, i: usize) -> Described {
        let b = &self.blocks[i];
        let t = &self.types[b.element];
        let type_name = match &t.form {
            Form::Library(_) => self.spelled(b.element),
            _ if !t.name.is_empty() => t.name.clone(),
            Form::Pointer(to) => format!("{} *", self.types[*to].name),
            Form::Array(of, n) => format!("{}[{n}]", self.types[*of].name),
            _ => "structure without a name".to_owned(),
        };
        let elements = match &b.rule {
            _ if b.is_string => format!("..{}", b.capacity),
            Rule::Full => b.capacity.to_string(),
            Rule::Linear(n, 1, 1) if b.is_terminated => n.clone(),
            rule => rule.to_string(),
        };
        Described {
            path: b.path.strip_suffix(".data()").unwrap_or(&b.path).to_owned(),
            type_name,
            elements,
            origin: b.origin,
            stream: self.stream(i),
            is_result: b.is_output,
            made_by: None,
            is_global: self.global_of(i).is_some(),
        }
    }
}

impl core::fmt::Display for Described {
    /// Writes for example `a: double[n], found by calls`.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Self { path, type_name, elements, origin, .. } = self;
        if let Some(stream) = &self.stream {
            return write!(f, "{stream}: {type_name}[{elements}]");
        }
        let path = if self.is_global { format!("global {path}") } else { path.clone() };
        // In the type of a matrix, C writes the length of a row after the number of rows.
        let (element, row) = type_name.split_at(type_name.find('[').unwrap_or(type_name.len()));
        match elements.as_str() {
            "1" => write!(f, "{path}: {type_name}")?,
            _ => write!(f, "{path}: {element}[{elements}]{row}, {origin}")?,
        }
        if let Some(maker) = &self.made_by {
            write!(f, ", constructed by {maker}")?;
        }
        if self.is_result { write!(f, " (only written)") } else { Ok(()) }
    }
}
