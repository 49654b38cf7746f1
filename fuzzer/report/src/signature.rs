//! The prototype of a function in a report.

use std::path::Path;

use penfuzz_target::{
    inputs::{Decoding, Described},
    program::function::pointee,
};
use serde::{Deserialize, Serialize};

use super::{arg::Global, layout::Layout, model::is_zero};

/// The [kind](Parameter::kind) of a parameter that points to a structure for the callee to fill in.
pub const OUTPUT_KIND: &str = "output";

/// A C prototype.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Signature {
    /// The name for the linker (differs from the source name in C++).
    pub symbol: String,
    /// The result type as C writes it.
    pub result: String,
    /// Its kind, as [`kind_name`](super::literal::kind_name) spells it; `void`; empty when it is not a scalar.
    #[serde(default)]
    pub result_kind: String,
    /// The parameters in order.
    pub parameters: Vec<Parameter>,
    /// Source file of the definition.
    pub file: String,
    /// The translation unit, if that is another file, which includes the one of the definition: a compiler sees the definition as it
    /// was only there. Empty otherwise.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub unit: String,
    /// Line of the definition.
    pub line: u32,
    /// The function has internal linkage: a test must include its source file to call it.
    pub is_static: bool,
    /// What its pointers lead to, and how the sizes are known; empty when each leads to one number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<Described>,
    /// The kinds of the results of the functions that it gets as callbacks; empty of one that is no number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub callbacks: Vec<String>,
    /// How its arguments are made of the bytes of an input, if it takes more than numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decoding: Option<Decoding>,
    /// The types of what it gets and returns, for programs that have no definition of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub layouts: Vec<Layout>,
    /// The number of the layout of its result, if that is a structure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_layout: Option<usize>,
    /// The functions that are called before it, once each, and make what it takes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub makers: Vec<Maker>,
    /// The most calls of one input; 0 if an input is one call without others before it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub calls: usize,
    /// The variables with static storage duration that are inputs, or results.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub globals: Vec<Global>,
}

impl Signature {
    /// The file to give to a compiler that shall see the definition.
    #[must_use]
    pub fn source(&self) -> &str {
        if self.unit.is_empty() { &self.file } else { &self.unit }
    }

    /// The same function, with its definition seen by compiling `file`.
    pub fn set_source(&mut self, file: &Path) {
        self.file = file.to_string_lossy().into_owned();
        self.unit.clear();
    }
}

/// A function that makes an object for the function under test.
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
    /// Type as C writes it.
    #[serde(rename = "type")]
    pub type_name: String,
    /// Kind of the value, or of what is pointed to, as [`kind_name`](super::literal::kind_name) spells it; empty
    /// when it is not a scalar; [`OUTPUT_KIND`] for a structure that the callee fills in, which is no argument of a test.
    #[serde(default)]
    pub kind: String,
    /// The callee gets the address of one such value.
    pub pointer: bool,
    /// Bytes of the structure of an output; 0 otherwise.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub size: usize,
}

impl Parameter {
    /// The callee fills it in: tests have no argument for it.
    #[must_use]
    pub fn is_output(&self) -> bool {
        self.kind == OUTPUT_KIND
    }

    /// The type of what the parameter points to, as C writes it.
    #[must_use]
    pub fn pointee(&self) -> &str {
        pointee(&self.type_name).unwrap_or(&self.type_name)
    }
}
