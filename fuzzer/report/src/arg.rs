//! Values in reports. This is the lowest module: the types in [`model`](super::model) are built on these.

use serde::{Deserialize, Serialize};

/// One argument value.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Arg {
    /// Parameter name.
    pub name: String,
    /// The C type; for a pointer, the type pointed to.
    #[serde(rename = "type")]
    pub type_name: String,
    /// A C literal that reproduces every bit: a hex float, a form of `NAN` (its payload is in `bits`), or a hex
    /// integer.
    pub hex: String,
    /// The shortest decimal that parses to the same value.
    pub decimal: String,
    /// The raw bits as a little-endian value: `0x…` with all digits of the type.
    pub bits: String,
    /// The enumerator with this value, if the type is an enumeration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enumerator: Option<String>,
    /// The objects that the argument points to, as variables of a test program. Each comes after the variables that it
    /// points to itself. Empty for a number that is passed by value, and for a pointer to one number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub memory: Vec<Memory>,
    /// The return values of the callbacks that the argument contains: index of the callback, and literal; empty if it
    /// returns nothing or 0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub callbacks: Vec<(usize, String)>,
    /// For a value that is reached through a pointer: its location.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
    /// Set if this entry marks the start of a call in a sequence: describes the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub called: Option<CallStart>,
    /// For a variable with static storage duration: the values to set.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sets: Vec<Set>,
}

/// A value that is set in a variable with static storage duration.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Set {
    /// The variable.
    pub variable: String,
    /// The member or element to set, as an expression: `model_U.speed[2]`.
    pub place: String,
    /// The expression for the value.
    pub value: String,
    /// Offset in bytes from the start of the variable.
    pub offset: usize,
    /// The bytes, two hex digits each, for programs that cannot name the members. All 0 for a pointer.
    pub bytes: String,
    /// The value is a pointer.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub is_pointer: bool,
}

/// A variable with static storage duration that is an input or a result.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Global {
    /// Its name in the source.
    pub name: String,
    /// The variable is only a result: inputs do not set it, and tests check it.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub is_result: bool,
    /// penfuzz chose the variable because the function has no other input; no option names it.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub is_chosen: bool,
}

/// A call of a sequence. The arguments that follow, up to the next call, belong to it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallStart {
    /// Index of the maker in [`Signature::makers`](super::Signature::makers); `None` for the function under test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maker: Option<usize>,
    /// The object that the maker creates, as a variable of a test program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<Object>,
}

/// An object that a maker creates.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Object {
    /// Name of the variable: the object itself, or a pointer to it.
    pub variable: String,
    /// The C type of the object; empty if it has no name.
    #[serde(rename = "type")]
    pub type_name: String,
    /// Size in bytes of an object that the maker fills in; 0 if the maker returns or stores a pointer.
    #[serde(default)]
    pub size: usize,
    /// Index of the maker's parameter that points to the object, or to the pointer; `None` if the maker returns the
    /// pointer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameter: Option<usize>,
}

/// A structure, array or string of a test program.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// Name of the variable.
    pub name: String,
    /// The C type of an element; empty if it has no name.
    #[serde(rename = "type")]
    pub type_name: String,
    /// Number of elements, if the variable is an array.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elements: Option<usize>,
    /// The initializer, with named members and addresses of other variables.
    pub value: String,
    /// The C++ initializer, for an object whose type has a name there and no constructors: `{1.0, 2.0}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<String>,
    /// Objects of the C++ library within the bytes: offset and expression.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub objects: Vec<(usize, String)>,
    /// The bytes, two hex digits each, with addresses as 0, for programs that cannot name the members.
    pub bytes: String,
    /// The addresses within the bytes: offset in bytes and expression.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<(usize, String)>,
    /// Index of the element's layout in [`Signature::layouts`](super::Signature::layouts), if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<usize>,
    /// The call frees or reallocates the memory, or tries to, so the test allocates it with `malloc`.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub is_allocated: bool,
}

/// Location of a value in the memory of a test.
#[expect(clippy::struct_excessive_bools, reason = "independent facts, all combinations of which occur")]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The C expression for the value, with named members.
    pub expression: String,
    /// The variable.
    pub variable: String,
    /// Offset in bytes from the start of the variable.
    pub offset: usize,
    /// The value is part of an object of the C++ library, so the bytes of the variable do not contain it.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub in_object: bool,
    /// Kind of the value, as [`kind_name`](super::literal::kind_name) spells it.
    pub kind: String,
    /// The variable has static storage duration and is not a variable of the test.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub is_global: bool,
    /// The value is a member of a structure that the function fills in. Then `variable` is the parameter, and
    /// `expression` is the suffix after the structure.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub is_filled_in: bool,
    /// Number of bits of a bit-field; 0 for other values.
    #[serde(default, skip_serializing_if = "super::model::is_zero")]
    pub bits: usize,
    /// One of many values, which this call has not changed: it is expected only if another test changes it.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub only_if_changed: bool,
}

/// [`Arg::type_name`] of an entry that holds the rounding mode of a call. No C type has this name.
pub const ROUNDING_MODE: &str = "rounding mode";

/// [`Arg::type_name`] of an entry that marks the start of a call in a sequence. No C type has this name.
pub const CALL: &str = "call of a sequence";

/// [`Arg::type_name`] of an entry that holds the text of standard input. No C type has this name.
pub const STANDARD_INPUT: &str = "standard input";

/// As [`STANDARD_INPUT`], when the function does not read all of it through `stdin`: the text must be the file of
/// descriptor 0.
pub const STANDARD_INPUT_FILE: &str = "standard input as a file";

/// The [`Arg::type_name`] of an entry that holds the results of a function of the environment; [`Arg::name`] is the
/// function. No C type has this name.
pub const RESULTS: &str = "results";

/// [`Place::variable`] of a number within a result that is a structure.
pub const RESULT: &str = "result";

/// [`Place::kind`] of a fact about a result that is a pointer: whether it is [`Place::expression`].
pub const ADDRESS: &str = "address";
/// [`Place::kind`] of a fact about a result that points to text: whether it equals the literal [`Place::expression`].
pub const TEXT: &str = "text";

/// [`Place::variable`] of the number of a callback's calls, and of what its last call received. No variable has this
/// name; [`Place::expression`] is the variable of the test program.
pub const RECEIVED: &str = "received by a callback";

/// [`Place::variable`] of what a function wrote to a file. No variable has this name; [`Place::expression`] compares
/// the contents of the file.
pub const WRITTEN: &str = "written to a file";

/// The variable of a test program that counts the calls of callback `stub`.
#[must_use]
pub fn received_calls(stub: usize) -> String {
    format!("penfuzz_calls{stub}")
}

/// The variable of a test program for what callback `stub` last received for a parameter, counted from 0.
#[must_use]
pub fn received(stub: usize, parameter: usize) -> String {
    format!("penfuzz_stub{stub}_argument{}", parameter + 1)
}

/// The [`Arg::type_name`] of an entry for a variable with static storage duration that is set before the call. No C
/// type has this name.
pub const GLOBAL: &str = "global variable";

impl Arg {
    /// Returns whether the entry is a variable with static storage duration instead of an argument. [`Arg::sets`] holds
    /// its values.
    #[must_use]
    pub fn is_global(&self) -> bool {
        self.type_name == GLOBAL
    }

    /// Returns whether the entry holds the results of a function of the environment instead of an argument.
    /// [`Arg::memory`] holds them as one array, or is empty if there are none. After the last result the function
    /// returns 0.
    #[must_use]
    pub fn is_results(&self) -> bool {
        self.type_name == RESULTS
    }

    /// Returns whether the entry is the value of a parameter.
    #[must_use]
    pub fn is_of_parameter(&self) -> bool {
        !self.is_rounding() && !self.is_input() && !self.is_results() && !self.is_global() && !self.is_call()
    }

    /// Returns whether the entry is the text of standard input instead of an argument. Then [`Arg::hex`] is a C string
    /// literal, and [`Arg::bits`] has two digits per character.
    #[must_use]
    pub fn is_input(&self) -> bool {
        self.type_name == STANDARD_INPUT || self.is_input_file()
    }

    /// Returns whether the entry is the text of the file of descriptor 0.
    #[must_use]
    pub fn is_input_file(&self) -> bool {
        self.type_name == STANDARD_INPUT_FILE
    }

    /// Returns whether the entry marks the start of a call instead of an argument.
    #[must_use]
    pub fn is_call(&self) -> bool {
        self.called.is_some()
    }

    /// Returns whether the entry is the rounding mode of the call instead of an argument.
    #[must_use]
    pub fn is_rounding(&self) -> bool {
        self.type_name == ROUNDING_MODE
    }
}

/// Splits the entries into calls: for each call of a sequence, its start entry and its arguments. Without a sequence,
/// returns one call with `None` and all arguments.
#[must_use]
pub fn calls_of(args: &[Arg]) -> Vec<(Option<&Arg>, &[Arg])> {
    let starts: Vec<usize> = (0..args.len()).filter(|i| args[*i].is_call()).collect();
    if starts.is_empty() {
        return vec![(None, args)];
    }
    let ends = starts.iter().skip(1).copied().chain([args.len()]);
    starts.iter().zip(ends).map(|(start, end)| (Some(&args[*start]), &args[start + 1..end])).collect()
}

/// The value of an operand. A `float` is stored as the equal `double`, an integer as one of 64 bits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operand {
    /// A C literal that reproduces every bit.
    pub hex: String,
    /// The shortest decimal that parses to the same value.
    pub decimal: String,
}
