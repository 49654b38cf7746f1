//! Option values that are one of a few names, with the help text of each.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use penfuzz_app::campaign::SearchKind;
use penfuzz_engine::{program::Rounding, saturation::ScopeKind};

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
        "Those of the function under test and of all that it calls, as far as calls can be followed",
    ),
    (ScopeKind::File, "file", "Those of every function in its source file"),
    (ScopeKind::All, "all", "Those of every instrumented function"),
];

/// Values of `--scope`.
pub fn scope() -> impl TypedValueParser<Value = ScopeKind> {
    parser(SCOPES)
}

const SEARCHES: &[Choice<SearchKind>] = &[
    (SearchKind::Targeted, "targeted", "Minimizes each uncovered branch's own distance by basinhopping, beside havoc"),
    (
        SearchKind::Paper,
        "paper",
        "CoverMe's Algorithm 1 as written: one representing function, squared distances, Powell",
    ),
    (
        SearchKind::Structured,
        "structured",
        "Specials and their neighbours, bit patterns, small exponents, related arguments",
    ),
    (SearchKind::Random, "random", "Uniform bit patterns"),
    (SearchKind::Uniform, "uniform", "Uniform values over the whole range of each type"),
    (SearchKind::Havoc, "havoc", "Stock LibAFL mutators only"),
];

/// Values of `--search`.
pub fn search() -> impl TypedValueParser<Value = SearchKind> {
    parser(SEARCHES)
}

const ROUNDINGS: &[Choice<Rounding>] = &[
    (Rounding::Nearest, "nearest", "To nearest, the default of every program"),
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
