//! The values that an emitted test checks after its calls.

use penfuzz_report::c_text;

/// How a value is compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// A `float`.
    F32,
    /// A `double`.
    F64,
    /// A signed integer.
    Signed,
    /// An unsigned integer or a `bool`.
    Unsigned,
    /// A structure, compared as this number of 64-bit words.
    Words(usize),
}

/// The name of a value, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Label {
    /// A text: `result`, `*out`, `errno`.
    Text(String),
    /// A C expression for the text, in a loop over the rows of a table.
    Expression(String),
}

impl Label {
    /// The label as a C expression.
    pub(super) fn expression(&self) -> String {
        match self {
            Self::Text(text) => c_text::string(text),
            Self::Expression(expression) => expression.clone(),
        }
    }
}

/// A value that is checked after the call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// Its name.
    pub label: Label,
    /// The C expression for the value.
    pub value: String,
    /// How it is compared.
    pub kind: Kind,
    /// The expected value, as an expression or an initializer; `None` if it is not known.
    pub expected: Option<String>,
}

impl Check {
    /// Returns whether the value is the result, or a part of it.
    pub(super) fn is_of_result(&self) -> bool {
        let own = |text: &str| self.value.starts_with(text);
        let is_part = own("result.")
            || own("result[")
            || own("result ==")
            || own("strcmp(result,")
            || self.value.contains("(result)");
        self.value == "result" || is_part || self.value.contains("&result + ")
    }

    /// Returns whether the value is an integer or a `bool`.
    pub(super) const fn is_integer(&self) -> bool {
        matches!(self.kind, Kind::Signed | Kind::Unsigned)
    }
}
