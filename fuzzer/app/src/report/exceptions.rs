//! The part of a [`Report`](super::Report) on floating-point exceptions, key `exceptions` of `report.json`.
//!
//! A *find* is a pair of a site and one exception for which there is an input (an input-site pair: Barr, Vo, Le, Su, *Automatic
//! Detection of Floating-Point Exceptions*, POPL 2013, Sect. 5). An operation whose operands already are NaN or infinite
//! propagates them and is none.

mod counts;
mod order;

use serde::{Deserialize, Serialize};

use super::arg::Arg;

pub use counts::{Count, Judged};
pub use order::sort;

/// What was found, and how much there was to find.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Exceptions {
    /// Operations in scope: calls of math functions and conversions to integers, too.
    pub operations: usize,
    /// Operations that raise an exception for some input.
    pub raising: usize,
    /// Per exception, worst first, and only those that some operation can raise.
    pub counts: Vec<Count>,
    /// One per site and exception, worst first: see [`sort`].
    pub finds: Vec<Find>,
}

/// Exceptions, worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Exception {
    /// There is no result: `0/0`, `log(-1)`.
    Invalid,
    /// A pole: `1/0`, `log(0)`.
    DivideByZero,
    /// The result is too large.
    Overflow,
    /// A number outside the range of the integer type it is converted to: undefined in C.
    Conversion,
    /// The result is subnormal or zero, and inexact.
    Underflow,
    /// The result is rounded; only on request.
    Inexact,
}

impl Exception {
    /// All, worst first.
    pub const ALL: [Self; 6] =
        [Self::Invalid, Self::DivideByZero, Self::Overflow, Self::Conversion, Self::Underflow, Self::Inexact];

    /// As in the report.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Invalid => "invalid",
            Self::DivideByZero => "divide-by-zero",
            Self::Overflow => "overflow",
            Self::Conversion => "conversion",
            Self::Underflow => "underflow",
            Self::Inexact => "inexact",
        }
    }

    /// Is there so much of it that it is not listed without being asked for?
    #[must_use]
    pub fn is_noise(self) -> bool {
        self >= Self::Underflow
    }
}

/// An input that raises an exception at a site.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Find {
    /// What it raises.
    pub exception: Exception,
    /// The operation, as C writes it: `*`, `log`, `(int)`.
    pub operation: String,
    /// Function that holds the site.
    pub function: String,
    /// Source file.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1; 0 when unknown.
    pub column: u32,
    /// The arguments of the function under test, as simple as the exception allows.
    pub args: Vec<Arg>,
    /// Operands of the operation when it first raised the exception in this run; empty when the run could not be observed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub operands: Vec<Number>,
    /// The operation's result; of an operation that gives an integer, the integer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Number>,
    /// Times that the site raised it in this run.
    pub times: u64,
    /// What the function under test returned (`returned`), and what its pointers pointed to afterwards (`*name`); a structure
    /// word by word (`*name+8`), as doubles.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub output: Vec<Arg>,
    /// Does the result of the function under test show it?
    pub shown: Shown,
    /// Is it real? The run again, without hooks.
    pub confirmed: Confirmation,
    /// Would the same computation stay in range with more precision (overflow and underflow only)? `None`: not computed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub avoidable: Option<bool>,
    /// What the precise computation gives; only when there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precise: Option<Precise>,
}

/// The values of a find in high precision, with a range of exponents that nothing leaves: decimal, rounded to six digits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Precise {
    /// The result of the operation.
    pub operation: String,
    /// Those results of the function that operations gave, in the order of `output`. The exception is avoidable when all of
    /// them are in the range of their type; it is not judged when there are none.
    pub results: Vec<String>,
}

/// A number that an operation met.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Number {
    /// As C writes it without loss: `0x1.8p+1`, `NAN`.
    pub hex: String,
    /// The shortest decimal.
    pub decimal: String,
}

/// Where the result of the function under test shows an exception.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shown {
    /// Nowhere: nobody will know.
    Nowhere,
    /// The function returns nothing and fills in nothing that could show it.
    NoResult,
    /// A status that is not 0, of a function that returns an `int` and gives its results by pointers.
    Status(i64),
    /// NaN, an infinity, or for an underflow zero or a subnormal number, there: `returned`, `*name`.
    Value {
        /// Name in `output`.
        place: String,
        /// In decimal.
        value: String,
    },
    /// The function does not return: the reason.
    Fault(String),
}

/// What the replay without hooks showed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confirmation {
    /// In how far.
    pub by: Confirmed,
    /// Why it is not more; empty when there is nothing to say.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

/// Degrees of confirmation, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Confirmed {
    /// The hardware raised it at an instruction of this line and column.
    Site,
    /// The hardware raised it at an instruction of this line; optimized code does not always know the column.
    Line,
    /// The operand lies outside the range of the integer type.
    Value,
    /// The hardware's flag was raised, somewhere.
    Flag,
    /// Not at all.
    No,
}

impl Find {
    /// Nobody would know from the function's result.
    #[must_use]
    pub fn is_silent(&self) -> bool {
        matches!(self.shown, Shown::Nowhere | Shown::NoResult)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use penfuzz_mutators::view::Kind;

    use super::*;
    use crate::report::literal;

    /// A find at a line of `f.c`, confirmed at the site.
    pub fn find(exception: Exception, line: u32, operation: &str, operands: &[f64], result: f64, shown: Shown) -> Find {
        let number = |x: f64| Number {
            hex: literal::c_literal(Kind::F64, x.to_bits()),
            decimal: literal::decimal(Kind::F64, x.to_bits()),
        };
        Find {
            exception,
            operation: operation.to_owned(),
            function: "f".to_owned(),
            file: "src/f.c".to_owned(),
            line,
            column: 12,
            args: vec![literal::arg("x", "double", Kind::F64, operands[0].to_bits())],
            operands: operands.iter().copied().map(number).collect(),
            result: Some(number(result)),
            times: 1,
            output: Vec::new(),
            shown,
            confirmed: Confirmation { by: Confirmed::Site, reason: String::new() },
            avoidable: None,
            precise: None,
        }
    }

    /// The function returns NaN.
    pub fn shown() -> Shown {
        Shown::Value { place: "returned".to_owned(), value: "nan".to_owned() }
    }
}
