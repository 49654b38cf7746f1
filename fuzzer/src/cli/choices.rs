//! Options whose value is one of a few names, with the help text of each name.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use penfuzz_app::{
    campaign::{SearchKind, criteria::Criterion},
    report::unit_test::formats::{FORMATS, TestFormat},
};
use penfuzz_engine::{executor::sandbox::Allow, program::Rounding, saturation::ScopeKind};

/// A value, its name on the command line, and its help text.
type Choice<T> = (T, &'static str, &'static str);

fn parser<T: Copy + Send + Sync + 'static>(choices: &'static [Choice<T>]) -> impl TypedValueParser<Value = T> {
    let names = choices.iter().map(|(_, name, help)| PossibleValue::new(*name).help(*help));
    PossibleValuesParser::new(names).map(|given| {
        let chosen = choices.iter().find(|(_, name, _)| **name == given);
        chosen.expect("clap accepts only the listed names").0
    })
}

const SCOPES: &[Choice<ScopeKind>] = &[
    (ScopeKind::Function, "function", "The branches of the function under test (as in CoverMe)"),
    (
        ScopeKind::Calls,
        "calls",
        "The branches of the function under test and of the functions it calls, as far as calls can be followed",
    ),
    (ScopeKind::File, "file", "The branches of every function in its source file"),
    (ScopeKind::All, "all", "The branches of every instrumented function"),
];

/// Values of `--scope`.
pub fn scope() -> impl TypedValueParser<Value = ScopeKind> {
    parser(SCOPES)
}

const CRITERIA: &[Choice<Criterion>] = &[
    (Criterion::Line, "line", "Every line with code is executed (with no other criterion: few tests that do this)"),
    (Criterion::Branch, "branch", "Every outcome of every conditional is taken"),
    (Criterion::Condition, "condition", "Every condition is true once and false once"),
    (
        Criterion::Mcdc,
        "mcdc",
        "Every condition of a decision is shown to affect the outcome on its own (MC/DC), and every branch is taken",
    ),
];

/// Values of `--criterion`.
pub fn criterion() -> impl TypedValueParser<Value = Criterion> {
    parser(CRITERIA)
}

const ALLOWED: &[Choice<Allow>] = &[(Allow::Network, "network", "Open sockets: connect, bind, send")];

/// Values of `--allow`.
pub fn allow() -> impl TypedValueParser<Value = Allow> {
    parser(ALLOWED)
}

const SEARCHES: &[Choice<SearchKind>] = &[
    (SearchKind::Targeted, "targeted", "Minimizes the distance of each uncovered branch by basinhopping, beside havoc"),
    (
        SearchKind::Paper,
        "paper",
        "CoverMe's Algorithm 1 as written: one representing function, squared distances, Powell",
    ),
    (
        SearchKind::Structured,
        "structured",
        "Random special values and their neighbours, bit patterns, small exponents, related arguments",
    ),
    (SearchKind::Random, "random", "Random bit patterns"),
    (SearchKind::Uniform, "uniform", "Random values, uniform over the whole range of each type"),
    (SearchKind::Havoc, "havoc", "Stock LibAFL mutators only"),
];

/// Values of `--search`.
pub fn search() -> impl TypedValueParser<Value = SearchKind> {
    parser(SEARCHES)
}

const ROUNDINGS: &[Choice<Rounding>] = &[
    (Rounding::Nearest, "nearest", "Round to nearest, the default of every program"),
    (
        Rounding::All,
        "all",
        "The mode is one more argument that the search chooses; sources are compiled with -frounding-math",
    ),
];

/// Values of `--rounding`.
pub fn rounding() -> impl TypedValueParser<Value = Rounding> {
    parser(ROUNDINGS)
}

/// Values of `--test-format`.
pub fn test_format() -> impl TypedValueParser<Value = TestFormat> {
    let names = FORMATS.iter().map(|f| PossibleValue::new(f.name).help(f.help));
    PossibleValuesParser::new(names).map(|given| TestFormat::named(&given).expect("clap accepts only the listed names"))
}
