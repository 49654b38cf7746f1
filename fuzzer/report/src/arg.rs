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
    /// Of the beginning of a call in a sequence: which one it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub called: Option<Called>,
    /// Of a variable with static storage duration: what is set of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sets: Vec<Set>,
}

/// A value that is set in a variable with static storage duration.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Set {
    /// The variable.
    pub variable: String,
    /// What is set, with members by their names: `model_U.speed[2]`.
    pub place: String,
    /// The expression for the value.
    pub value: String,
    /// Bytes from the start of the variable.
    pub offset: usize,
    /// The bytes, two hex digits each: for programs in which members have no names. Of a pointer they are 0.
    pub bytes: String,
    /// It is a pointer.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub is_pointer: bool,
}

/// A variable with static storage duration that is an input.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Global {
    /// Its name in the source.
    pub name: String,
    /// Nothing of it is in an input; tests check it.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub is_result: bool,
    /// The user did not name it: the function has no other input.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub is_chosen: bool,
}

/// A call of a sequence; the arguments behind it are its own.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Called {
    /// The number of the maker in [`Signature::makers`](super::Signature::makers); `None` for the function under test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maker: Option<usize>,
    /// What the maker makes, as a variable of a test program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<Object>,
}

/// An object that a maker makes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Object {
    /// The variable: the object itself, or a pointer to it.
    pub variable: String,
    /// The type of the object as C writes it; empty if it has no name.
    #[serde(rename = "type")]
    pub type_name: String,
    /// Bytes of an object that the maker fills in; 0 if the maker hands over a pointer.
    #[serde(default)]
    pub size: usize,
    /// The parameter of the maker that leads to the object, or to the pointer; `None` if the maker returns the pointer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameter: Option<usize>,
}

/// A structure, array or string of a test program.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
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
    /// The same in C++, for an object whose type has a name there and no constructors: `{1.0, 2.0}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<String>,
    /// Objects of the C++ library among the bytes: offset, and the expression.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub objects: Vec<(usize, String)>,
    /// The bytes, two hex digits each, with addresses as 0: for programs in which members have no names.
    pub bytes: String,
    /// The addresses in it: offset in bytes, and the expression.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<(usize, String)>,
    /// The number of the layout of an element in [`Signature::layouts`](super::Signature::layouts), if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<usize>,
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
    /// It is a part of an object of the C++ library: the bytes of the variable do not have it.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub in_object: bool,
    /// Kind of the value, as [`kind_name`](super::literal::kind_name) spells it.
    pub kind: String,
    /// It is a variable with static storage duration, not one of the test.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub is_global: bool,
    /// It is a member of a structure that the function fills in: `variable` is then the parameter, and `expression` what stands behind the structure.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub is_filled_in: bool,
}

/// [`Arg::type_name`] of the rounding mode of a call. No C type has this name.
pub const ROUNDING_MODE: &str = "rounding mode";

/// [`Arg::type_name`] of the beginning of a call in a sequence. No C type has this name.
pub const CALL: &str = "call of a sequence";

/// [`Arg::type_name`] of the text of standard input during a call. No C type has this name.
pub const STANDARD_INPUT: &str = "standard input";

/// The same, where not all of it is read through `stdin`: it must be the file of descriptor 0.
pub const STANDARD_INPUT_FILE: &str = "standard input as a file";

/// [`Arg::type_name`] of the results of a function of the environment, which has the name of the argument. No C type has this name.
pub const RESULTS: &str = "results";

/// [`Place::variable`] of a number in a result that is a structure.
pub const RESULT: &str = "result";
/// [`Arg::type_name`] of a variable with static storage duration that is set before the call. No C type has this name.
pub const GLOBAL: &str = "global variable";

impl Arg {
    /// Is it a variable with static storage duration instead of an argument? [`Arg::sets`] has what is set of it.
    #[must_use]
    pub fn is_global(&self) -> bool {
        self.type_name == GLOBAL
    }

    /// Are these the results of a function of the environment instead of an argument? [`Arg::memory`] has them as one array, or
    /// nothing when there are none; behind them the function returns 0.
    #[must_use]
    pub fn is_results(&self) -> bool {
        self.type_name == RESULTS
    }

    /// Is it the value of a parameter?
    #[must_use]
    pub fn is_of_parameter(&self) -> bool {
        !self.is_rounding() && !self.is_input() && !self.is_results() && !self.is_global() && !self.is_call()
    }

    /// Is this the text of standard input instead of an argument? [`Arg::hex`] is then a literal of C, and [`Arg::bits`] has two
    /// digits per character.
    #[must_use]
    pub fn is_input(&self) -> bool {
        self.type_name == STANDARD_INPUT || self.is_input_file()
    }

    /// Is this the text of the file of descriptor 0?
    #[must_use]
    pub fn is_input_file(&self) -> bool {
        self.type_name == STANDARD_INPUT_FILE
    }

    /// Is this the beginning of a call instead of an argument?
    #[must_use]
    pub fn is_call(&self) -> bool {
        self.called.is_some()
    }

    /// Is this the rounding mode of the call instead of an argument?
    #[must_use]
    pub fn is_rounding(&self) -> bool {
        self.type_name == ROUNDING_MODE
    }
}

/// The arguments of each call of a sequence, behind what it is; of a single call all of them, without.
#[must_use]
pub fn calls_of(args: &[Arg]) -> Vec<(Option<&Arg>, &[Arg])> {
    let starts: Vec<usize> = (0..args.len()).filter(|i| args[*i].is_call()).collect();
    if starts.is_empty() {
        return vec![(None, args)];
    }
    let ends = starts.iter().skip(1).copied().chain([args.len()]);
    starts.iter().zip(ends).map(|(start, end)| (Some(&args[*start]), &args[start + 1..end])).collect()
}

/// The value of an operand; a `float` as the `double` of the same value, an integer as one of 64 bits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operand {
    /// A C literal that reproduces every bit.
    pub hex: String,
    /// The shortest decimal that reads back to the same value.
    pub decimal: String,
}
