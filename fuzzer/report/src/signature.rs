//! The signature of a function in a report.

use std::path::Path;

use penfuzz_target::{
    inputs::{Decoding, Described},
    program::function::pointee,
};
use serde::{Deserialize, Serialize};

use super::{arg::Global, layout::Layout, model::is_zero};

/// The [kind](Parameter::kind) of a parameter that points to a structure which the callee fills in.
pub const OUTPUT_KIND: &str = "output";

/// The kind of a pointer in [`Signature::callback_parameters`].
pub const POINTER_KIND: &str = "pointer";

/// A C prototype.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Signature {
    /// The linker name; it differs from the source name in C++.
    pub symbol: String,
    /// The C type of the result.
    pub result: String,
    /// The kind of the result, as [`kind_name`](super::literal::kind_name) spells it, or `void`; empty if it is not a
    /// scalar.
    #[serde(default)]
    pub result_kind: String,
    /// The parameters in order.
    pub parameters: Vec<Parameter>,
    /// Source file of the definition.
    pub file: String,
    /// The translation unit, if it is another file that includes the file of the definition: then a compiler sees the
    /// definition only there. Empty otherwise.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub unit: String,
    /// Line of the definition.
    pub line: u32,
    /// The function has internal linkage: a test must include its source file to call it.
    pub is_static: bool,
    /// The memory that its pointers point to, and how the sizes are known; empty if each points to one number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<Described>,
    /// The result kinds of the callbacks that it receives; an empty kind for a result that is not a number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub callbacks: Vec<String>,
    /// The kinds of the parameters of each callback, `pointer` for a pointer; empty if they are not known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub callback_parameters: Vec<Vec<String>>,
    /// How the bytes of an input are decoded into its arguments, if it takes more than numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decoding: Option<Decoding>,
    /// The layouts of its parameter and result types, for programs that lack their definitions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub layouts: Vec<Layout>,
    /// The index of its result's layout, if the result is a structure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_layout: Option<usize>,
    /// The functions that are called before it, once each, to create the objects that it takes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub makers: Vec<Maker>,
    /// Maximum number of calls per input; 0 if an input is a single call.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub calls: usize,
    /// The variables with static storage duration that are inputs or results.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub globals: Vec<Global>,
}

impl Signature {
    /// The file to compile so that the compiler sees the definition.
    #[must_use]
    pub fn source(&self) -> &str {
        if self.unit.is_empty() { &self.file } else { &self.unit }
    }

    /// Sets the file whose compilation sees the definition.
    pub fn set_source(&mut self, file: &Path) {
        self.file = file.to_string_lossy().into_owned();
        self.unit.clear();
    }
}

/// A function that creates an object for the function under test.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Maker {
    /// Its name in the source.
    pub function: String,
    /// Its prototype.
    pub signature: Signature,
}

/// One parameter of the function under test.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Parameter {
    /// Name in the source, or `argN` (from 1).
    pub name: String,
    /// The C type.
    #[serde(rename = "type")]
    pub type_name: String,
    /// Kind of the value, or of the value pointed to, as [`kind_name`](super::literal::kind_name) spells it; empty if
    /// it is not a scalar; [`OUTPUT_KIND`] for a structure that the callee fills in, for which a test has no argument.
    #[serde(default)]
    pub kind: String,
    /// The callee receives the address of one such value.
    pub pointer: bool,
    /// For an output, the size of the structure in bytes; otherwise 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub size: usize,
}

impl Parameter {
    /// Returns whether the callee fills it in, so that tests have no argument for it.
    #[must_use]
    pub fn is_output(&self) -> bool {
        self.kind == OUTPUT_KIND
    }

    /// The C type that the parameter points to.
    #[must_use]
    pub fn pointee(&self) -> &str {
        pointee(&self.type_name).unwrap_or(&self.type_name)
    }
}
