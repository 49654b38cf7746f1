//! Values in reports. The lowest of the types: the others in [`model`](super::model) are made of them.

use serde::{Deserialize, Serialize};

/// One argument value.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Arg {
    /// Parameter name.
    pub name: String,
    /// Type as C writes it; for a pointer, the type pointed to.
    #[serde(rename = "type")]
    pub type_name: String,
    /// A C literal that reproduces every bit: hex float, `NAN` forms with their payload bits in `bits`, or an integer in hex.
    pub hex: String,
    /// The shortest decimal that reads back to the same value.
    pub decimal: String,
    /// The raw bits, little-endian value, as `0x…` with all digits of the type.
    pub bits: String,
    /// What the argument leads to, as variables of a test program: each after those that it leads to itself. Empty for a number that is
    /// passed by value, and for one behind a pointer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub memory: Vec<Memory>,
    /// What the callbacks that it leads to return: the number of the callback, and the literal.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub callbacks: Vec<(usize, String)>,
    /// Of a value behind a pointer: where it lies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
}

/// A structure, array or string of a test program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// The variable.
    pub name: String,
    /// Type of an element as C writes it; empty if it has no name.
    #[serde(rename = "type")]
    pub type_name: String,
    /// Number of elements, if the variable is an array.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elements: Option<usize>,
    /// The initializer, with members by their names and addresses of other variables.
    pub value: String,
    /// The bytes, two hex digits each, with addresses as 0: for programs in which members have no names.
    pub bytes: String,
    /// The addresses in it: offset in bytes, and the expression.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<(usize, String)>,
}

/// Where a value lies in the memory of a test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The expression, with members by their names.
    pub expression: String,
    /// The variable.
    pub variable: String,
    /// Bytes from its start.
    pub offset: usize,
    /// Kind of the value, as [`kind_name`](super::literal::kind_name) spells it.
    pub kind: String,
}

/// [`Arg::type_name`] of the rounding mode of a call. No C type has this name.
pub const ROUNDING_MODE: &str = "rounding mode";

/// [`Arg::type_name`] of the text of standard input during a call. No C type has this name.
pub const STANDARD_INPUT: &str = "standard input";

impl Arg {
    /// Is this the text of standard input instead of an argument? [`Arg::hex`] is then a literal of C, and [`Arg::bits`] has two
    /// digits per character.
    #[must_use]
    pub fn is_input(&self) -> bool {
        self.type_name == STANDARD_INPUT
    }

    /// Is this the rounding mode of the call instead of an argument?
    #[must_use]
    pub fn is_rounding(&self) -> bool {
        self.type_name == ROUNDING_MODE
    }
}

/// The value of an operand; a `float` as the `double` of the same value, an integer as one of 64 bits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operand {
    /// A C literal that reproduces every bit.
    pub hex: String,
    /// The shortest decimal that reads back to the same value.
    pub decimal: String,
}
