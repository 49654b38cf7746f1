//! `report.html` of an output directory: the worst error, wrong results, the plot, and the worst of each set of branches.

use askama::Template;

use super::{
    Answer, Found,
    answer::{bounded, branch, call, details, size, source_lines},
    pair::Pair,
    plot,
};
use crate::report::format::{count, plural, seconds};

/// What the template shows.
#[derive(Template)]
#[template(path = "accuracy.html")]
struct Page {
    title: String,
    function: String,
    reference: String,
    /// The size of the worst error.
    worst: String,
    /// The call that has it; empty if none was found.
    worst_call: String,
    facts: Vec<String>,
    wrong: Vec<Row>,
    details: Vec<Row>,
    sources: Vec<Row>,
    /// SVG; empty for functions of several arguments.
    plot: String,
    regions: Vec<Row>,
}

/// A line of a table.
struct Row {
    what: String,
    text: String,
    branches: String,
}

impl Row {
    fn new(what: String, text: String) -> Self {
        Self { what, text, branches: String::new() }
    }
}

/// The page.
///
/// # Panics
/// Never: memory takes every page.
#[must_use]
pub fn page(pair: &Pair, answer: &Answer) -> String {
    let worst = answer.found.last();
    let row = |found: &&Found| Row {
        what: size(pair, found),
        text: call(pair, found),
        branches: found.covers.iter().map(|b| branch(pair, *b)).collect::<Vec<_>>().join(" "),
    };
    let page = Page {
        title: format!("{}: accuracy", pair.function().name),
        function: pair.function().signature(),
        reference: pair.reference().text(),
        worst: worst.map_or_else(|| "0".to_owned(), |found| size(pair, found)),
        worst_call: worst.map_or_else(String::new, |found| call(pair, found)),
        facts: facts(pair, answer),
        wrong: super::answer::sorted(&answer.wrong).iter().map(row).collect(),
        details: worst.into_iter().flat_map(|found| details(pair, found)).map(|(a, b)| Row::new(a, b)).collect(),
        sources: source_lines(pair, answer).into_iter().map(|(ulp, what)| Row::new(ulp, what)).collect(),
        plot: if answer.peaks.is_empty() { String::new() } else { plot::draw(pair, &answer.peaks, "") },
        regions: answer.regions.iter().map(|found| row(&found)).collect(),
    };
    page.render().expect("memory takes every page")
}

fn facts(pair: &Pair, answer: &Answer) -> Vec<String> {
    let mut facts = vec![
        format!("{} evaluations", count(answer.evaluations)),
        format!("{} of CPU time", seconds(answer.cpu)),
        plural(answer.seeds.len(), "seed"),
    ];
    facts.extend(answer.exhausted.map(|n| format!("each of {n} inputs was tried")));
    facts.extend(answer.bound.as_ref().map(|bound| bounded(pair, bound, answer)));
    facts.extend((answer.faults > 0).then(|| format!("{} faults of the function", count(answer.faults))));
    facts
}
