//! Options whose value is one of a few names, with the help text of each name.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use penfuzz_engine::{saturation::ScopeKind, stages::SearchKind};
use penfuzz_executor::sandbox::Allow;
use penfuzz_questions::code_mutants::Distances;
use penfuzz_report::{
    criterion::Criterion,
    test_format::{TestFormat, TestStyle},
};
use penfuzz_target::program::Rounding;
use penfuzz_testgen::formats::FORMATS;

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

const DISTANCES: &[Choice<Distances>] = &[
    (Distances::Reach, "reach", "The distance to the mutated operation"),
    (
        Distances::Infection,
        "infection",
        "Then also the distance to operands for which the mutant computes another value",
    ),
    (Distances::Propagation, "propagation", "Then also the distance to another result"),
];

/// Values of `mutate --distances`.
pub fn distances() -> impl TypedValueParser<Value = Distances> {
    parser(DISTANCES)
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
    (
        Criterion::Boundary,
        "boundary",
        "The operands of every comparison are equal and next to each other, and every branch is taken",
    ),
    (
        Criterion::Exceptions,
        "exceptions",
        "Every operation raises the floating-point exceptions that it can raise, and every branch is taken",
    ),
    (
        Criterion::Loop,
        "loop",
        "Every loop runs zero, one and more iterations and is left at its head, and every branch is taken",
    ),
    (
        Criterion::Path(1),
        "path",
        "Every path with at most one iteration of each loop is taken; path:K: with at most K iterations",
    ),
];

/// Parses a name of [`CRITERIA`], or `path:K`.
#[derive(Debug, Clone)]
struct CriterionParser;

impl TypedValueParser for CriterionParser {
    type Value = Criterion;

    fn parse_ref(
        &self,
        command: &clap::Command,
        arg: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<Criterion, clap::Error> {
        let rounds = value.to_str().and_then(|text| text.strip_prefix("path:")).and_then(|k| k.parse().ok());
        rounds.map_or_else(|| parser(CRITERIA).parse_ref(command, arg, value), |k| Ok(Criterion::Path(k)))
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(CRITERIA.iter().map(|(_, name, help)| PossibleValue::new(*name).help(*help))))
    }
}

/// Values of `--criterion`.
pub fn criterion() -> impl TypedValueParser<Value = Criterion> {
    CriterionParser
}

const ALLOWED: &[Choice<Allow>] = &[(Allow::Network, "network", "Open sockets: connect, bind, send")];

/// Values of `--allow`.
pub fn allow() -> impl TypedValueParser<Value = Allow> {
    parser(ALLOWED)
}

const SEARCHES: &[Choice<SearchKind>] = &[
    (
        SearchKind::Targeted,
        "targeted",
        "Minimizes the distance of each uncovered branch by basinhopping, in addition to havoc",
    ),
    (
        SearchKind::Paper,
        "paper",
        "CoverMe's Algorithm 1 as written: one representing function, squared distances, Powell",
    ),
    (
        SearchKind::PaperAsRun,
        "paper-as-run",
        "What CoverMe's public program does: linear distances, steps of 300, few branches given up",
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
        "The search also chooses the mode and, for functions that read exception flags, whether the flags are raised \
         before the call; sources are compiled with -frounding-math",
    ),
];

/// Values of `--rounding`.
pub fn rounding() -> impl TypedValueParser<Value = Rounding> {
    parser(ROUNDINGS)
}

/// Values of `--test-format`.
pub fn test_format() -> impl TypedValueParser<Value = TestFormat> {
    let names = FORMATS.iter().map(|f| PossibleValue::new(f.format.name()).help(f.help));
    PossibleValuesParser::new(names).map(|given| TestFormat::named(&given).expect("clap accepts only the listed names"))
}

/// Values of `--test-style`.
pub fn test_style() -> impl TypedValueParser<Value = TestStyle> {
    let names = [
        PossibleValue::new("functions").help("A function for each test"),
        PossibleValue::new("table").help("A row of one table for each test of plain numbers"),
    ];
    PossibleValuesParser::new(names).map(|given| TestStyle::named(&given).expect("clap accepts only the listed names"))
}
