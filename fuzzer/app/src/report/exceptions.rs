//! The part of a [`Report`](super::Report) on floating-point exceptions, key `exceptions` of `report.json`.
//!
//! A *find* is a pair of a site and one exception for which there is an input (an input-site pair: Barr, Vo, Le, Su, *Automatic
//! Detection of Floating-Point Exceptions*, POPL 2013, Sect. 5). An operation whose operands already are NaN or infinite
//! propagates them and is none.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::arg::Arg;

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

/// Counts of one exception.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Count {
    /// Which.
    pub exception: Exception,
    /// Sites in scope that can raise it, as far as is known at compile time.
    pub sites: usize,
    /// Sites with an input that raises it (input-site pairs).
    pub pairs: usize,
    /// Those among the pairs whose site stands in the function under test itself.
    pub own: usize,
    /// Pairs that the function's result does not show.
    pub silent: usize,
    /// Pairs that a replay without hooks confirmed, by whatever means.
    pub confirmed: usize,
    /// Of overflow and underflow, when any of them was computed again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judged: Option<Judged>,
}

/// Pairs by what the precise computation says (Barr et al., POPL 2013).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judged {
    /// Computed precisely, the function's results are in range.
    pub avoidable: usize,
    /// They are not.
    pub not_avoidable: usize,
    /// Neither is known: the run is too long or does not return, or the results come from no operation.
    pub not_judged: usize,
}

impl Judged {
    /// Of both together.
    #[must_use]
    pub fn sum(one: Option<Self>, other: Option<Self>) -> Option<Self> {
        let (Some(a), Some(b)) = (one, other) else { return one.or(other) };
        Some(Self {
            avoidable: a.avoidable + b.avoidable,
            not_avoidable: a.not_avoidable + b.not_avoidable,
            not_judged: a.not_judged + b.not_judged,
        })
    }

    /// `None` when nothing was computed.
    fn of(finds: &[&Find]) -> Option<Self> {
        finds.iter().find(|f| f.precise.is_some())?;
        let count = |as_said| finds.iter().filter(|f| f.avoidable == as_said).count();
        Some(Self { avoidable: count(Some(true)), not_avoidable: count(Some(false)), not_judged: count(None) })
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

    fn place(&self) -> (&str, u32, u32, &str, &str) {
        (&self.file, self.line, self.column, &self.operation, &self.function)
    }
}

impl Exceptions {
    /// Of these finds. `possible` counts, per exception, the sites in scope that can raise it.
    #[must_use]
    pub fn new(
        operations: usize,
        possible: &[(Exception, usize)],
        mut finds: Vec<Find>,
        raising: usize,
        of: &str,
    ) -> Self {
        sort(&mut finds);
        let count = |(exception, sites): &(Exception, usize)| {
            let all = || finds.iter().filter(|f| f.exception == *exception);
            Count {
                exception: *exception,
                sites: *sites,
                pairs: all().count(),
                own: all().filter(|f| f.function == of).count(),
                silent: all().filter(|f| f.is_silent()).count(),
                confirmed: all().filter(|f| f.confirmed.by != Confirmed::No).count(),
                judged: Judged::of(&all().collect::<Vec<_>>()),
            }
        };
        let counts = possible.iter().filter(|(_, sites)| *sites > 0).map(count).collect();
        Self { operations, raising, counts, finds }
    }

    /// All pairs.
    #[must_use]
    pub fn pairs(&self) -> usize {
        self.counts.iter().map(|c| c.pairs).sum()
    }
}

/// Worst first, grouped by site: a site counts as its worst find. Exceptions in the order of [`Exception`]; within one those
/// that the result does not show come first; then by place.
pub fn sort(finds: &mut [Find]) {
    let rank = |f: &Find| (f.exception, !f.is_silent());
    let mut worst = std::collections::BTreeMap::new();
    for f in finds.iter() {
        let place = (f.file.clone(), f.line, f.column, f.operation.clone(), f.function.clone());
        let now = worst.entry(place).or_insert_with(|| rank(f));
        *now = rank(f).min(*now);
    }
    finds.sort_by_cached_key(|f| {
        let place = (f.file.clone(), f.line, f.column, f.operation.clone(), f.function.clone());
        (worst[&place], place, rank(f))
    });
}

/// Different sites among the finds; those that a macro or an inlined function puts at one place are one.
#[must_use]
pub fn places<'a>(finds: impl Iterator<Item = &'a Find>) -> usize {
    finds.map(Find::place).collect::<BTreeSet<_>>().len()
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

    fn shown() -> Shown {
        Shown::Value { place: "returned".to_owned(), value: "nan".to_owned() }
    }

    #[test]
    fn the_worst_site_comes_first_and_silent_before_shown() {
        use Exception::{Conversion, DivideByZero, Invalid, Overflow, Underflow};
        let of = |e, line, s| find(e, line, "/", &[1.0, 2.0], 3.0, s);
        let mut finds = vec![
            of(Underflow, 1, Shown::Nowhere),
            of(Conversion, 2, Shown::Nowhere),
            of(Overflow, 3, shown()),
            of(Overflow, 4, Shown::Nowhere),
            of(Underflow, 5, shown()),
            of(Invalid, 5, shown()),
            of(DivideByZero, 6, Shown::Status(1)),
        ];
        sort(&mut finds);
        let order: Vec<_> = finds.iter().map(|f| (f.line, f.exception)).collect();
        assert_eq!(
            order,
            [
                (5, Invalid),
                (5, Underflow),
                (6, DivideByZero),
                (4, Overflow),
                (3, Overflow),
                (2, Conversion),
                (1, Underflow)
            ]
        );
    }

    #[test]
    fn counts_tell_pairs_own_silent_and_confirmed() {
        let mut other = find(Exception::Overflow, 3, "*", &[1e300, 1e300], f64::INFINITY, Shown::Nowhere);
        other.function = "helper".to_owned();
        other.confirmed.by = Confirmed::No;
        let own = find(Exception::Overflow, 7, "exp", &[1000.0], f64::INFINITY, shown());
        let possible = [(Exception::Invalid, 0), (Exception::Overflow, 5), (Exception::Underflow, 4)];
        let all = Exceptions::new(9, &possible, vec![other, own], 2, "f");
        let none = Count {
            exception: Exception::Underflow,
            sites: 4,
            pairs: 0,
            own: 0,
            silent: 0,
            confirmed: 0,
            judged: None,
        };
        let overflow =
            Count { exception: Exception::Overflow, sites: 5, pairs: 2, own: 1, silent: 1, confirmed: 1, ..none };
        assert_eq!(all.counts, [overflow, none], "what no operation can raise is left out");
    }

    #[test]
    fn counts_tell_what_was_computed_again() {
        let of = |avoidable: Option<bool>, is_computed: bool| {
            let mut find = find(Exception::Overflow, 7, "*", &[1e300, 1e300], f64::INFINITY, shown());
            find.avoidable = avoidable;
            find.precise = is_computed.then(|| Precise { operation: "1.00000e600".to_owned(), results: Vec::new() });
            find
        };
        let judged = |finds: &[Find]| Judged::of(&finds.iter().collect::<Vec<_>>());
        let all = [of(Some(true), true), of(Some(false), true), of(None, true), of(None, false)];
        assert_eq!(judged(&all), Some(Judged { avoidable: 1, not_avoidable: 1, not_judged: 2 }));
        assert_eq!(judged(&[of(None, false)]), None, "nothing was computed");
    }
}
