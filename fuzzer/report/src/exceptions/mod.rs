//! The floating-point exceptions of a [`Report`](super::Report): key `exceptions` of `report.json`.
//!
//! A *find* is a pair of a site and one exception for which there is an input (an input-site pair: Barr, Vo, Le, Su,
//! *Automatic Detection of Floating-Point Exceptions*, POPL 2013, Sect. 5). An operation whose operands are already NaN
//! or infinite only propagates them, and is no find.

mod counts;
pub mod example;
mod order;
mod verdict;

use serde::{Deserialize, Serialize};

use super::arg::Arg;

pub use counts::{AvoidabilityCounts, Count};
pub use order::{places, sort};
pub use verdict::{ExceptionVerdict, Operations};

/// The exceptions that were found, and counts of the operations.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Exceptions {
    /// Operations in scope, including calls of math functions and conversions to integers.
    pub operations: usize,
    /// Operations that raise an exception for some input.
    pub raising: usize,
    /// Counts per exception, worst first; only exceptions that some operation can raise.
    pub counts: Vec<Count>,
    /// One find per site and exception, worst first: see [`sort`].
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
    /// A number outside the range of the integer type to which it is converted: undefined in C.
    Conversion,
    /// The result is subnormal or zero, and inexact.
    Underflow,
    /// A sum or difference is subnormal. It is exact, so IEEE 754 raises no flag. Ariadne counts it as an underflow
    /// (Barr et al., POPL 2013), because its magnitude is between 0 and the least normal number.
    Subnormal,
    /// The result is rounded; searched for only on request.
    Inexact,
}

impl Exception {
    /// All, worst first.
    pub const ALL: [Self; 7] = [
        Self::Invalid,
        Self::DivideByZero,
        Self::Overflow,
        Self::Conversion,
        Self::Underflow,
        Self::Subnormal,
        Self::Inexact,
    ];

    /// The name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Invalid => "invalid",
            Self::DivideByZero => "divide-by-zero",
            Self::Overflow => "overflow",
            Self::Conversion => "conversion",
            Self::Underflow => "underflow",
            Self::Subnormal => "subnormal",
            Self::Inexact => "inexact",
        }
    }

    /// Returns whether the result of the operation leaves the normal range of its type. Then more precision, with a
    /// wider range, may avoid the exception.
    #[must_use]
    pub fn leaves_range(self) -> bool {
        matches!(self, Self::Overflow | Self::Underflow | Self::Subnormal)
    }

    /// Returns whether it is so frequent that texts list it only with `--underflow`.
    #[must_use]
    pub fn is_frequent(self) -> bool {
        self >= Self::Underflow
    }
}

/// An input that raises an exception at a site.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Find {
    /// The exception.
    pub exception: Exception,
    /// The operation, as C writes it: `*`, `log`, `(int)`.
    pub operation: String,
    /// Function that contains the site.
    pub function: String,
    /// Source file.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1; 0 when unknown.
    pub column: u32,
    /// The arguments of the function under test, simplified as far as the exception still occurs.
    pub args: Vec<Arg>,
    /// Operands of the operation when it first raised the exception in this run; empty if the run was not observed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub operands: Vec<Number>,
    /// The result of the operation; an integer if the operation yields one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Number>,
    /// Number of times that the site raised the exception in this run.
    pub times: u64,
    /// The return value of the function under test (`returned`), and the values that its pointers point to afterwards
    /// (`*name`). A structure is listed word by word (`*name+8`), as doubles.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub output: Vec<Arg>,
    /// Where the result of the function under test shows the exception.
    pub shown: ResultEvidence,
    /// The confirmation by a second run without hooks.
    pub confirmed: Confirmation,
    /// Whether the same computation stays in range with more precision (overflow, underflow and subnormal sums only);
    /// `None` if it was not recomputed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub avoidable: Option<bool>,
    /// The values of the high-precision computation, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precise: Option<Precise>,
}

/// The values of a find in high precision, with an exponent range that no value exceeds: decimal, rounded to six
/// digits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Precise {
    /// The result of the operation.
    pub operation: String,
    /// The results of the function that operations compute, in the order of `output`. The exception is avoidable if all
    /// of them are in the range of their type; it is not judged if there are none.
    pub results: Vec<String>,
}

/// An operand or a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Number {
    /// A C literal without loss: `0x1.8p+1`, `NAN`.
    pub hex: String,
    /// The shortest decimal.
    pub decimal: String,
}

/// Where the result of the function under test shows an exception.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ResultEvidence {
    /// Not in the result: the caller cannot notice the exception.
    Nowhere,
    /// The function returns nothing, and fills in nothing that could show the exception.
    NoResult,
    /// A status other than 0, from a function that returns an `int` and stores its results through pointers.
    Status(i64),
    /// A NaN, an infinity, or, for an underflow, zero or a subnormal number, at `place`.
    Value {
        /// Name in `output`: `returned`, `*name`.
        place: String,
        /// The value in decimal.
        value: String,
    },
    /// The function does not return: the reason.
    Fault(String),
}

/// The result of the replay without hooks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confirmation {
    /// The degree of confirmation.
    pub by: Confirmed,
    /// Why the degree is not higher; empty when there is no reason to give.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

/// Degrees of confirmation, the strongest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Confirmed {
    /// The hardware raised the exception at an instruction of this line and column.
    Site,
    /// The hardware raised the exception at an instruction of this line. Optimized code does not always have the
    /// column.
    Line,
    /// The operand lies outside the range of the integer type.
    Value,
    /// The hardware's exception flag was set, at an unknown instruction.
    Flag,
    /// The exception was not confirmed.
    No,
}

impl Find {
    /// Returns whether the function's result does not show the exception.
    #[must_use]
    pub fn is_silent(&self) -> bool {
        matches!(self.shown, ResultEvidence::Nowhere | ResultEvidence::NoResult)
    }
}
