//! `report.html` of an output directory: the worst error, wrong results, the plot, and the worst input of each set of
//! branches.

use askama::Template;
use penfuzz_report::format::{count, plural, seconds};

use super::{
    Answer, Found,
    answer::{bounded, branch, call, details, exhausted, size, sorted, source_lines},
    pair::Pair,
    plot,
};

/// The data of the template.
#[derive(Template)]
#[template(path = "accuracy.html")]
struct Page {
    title: String,
    function: String,
    reference: String,
    /// The worst error with its unit.
    worst: String,
    /// The call with the worst error; empty if there is no error.
    worst_call: String,
    facts: Vec<String>,
    /// SVG; empty for functions of several arguments.
    plot: String,
    tables: Vec<Table>,
}

/// A table; it is omitted if it has no rows.
struct Table {
    title: &'static str,
    rows: Vec<Row>,
}

/// A row of a table.
struct Row {
    what: String,
    text: String,
    branches: String,
}

impl Row {
    fn new((what, text): (String, String)) -> Self {
        Self { what, text, branches: String::new() }
    }
}

/// Returns the page.
///
/// # Panics
/// Never: rendering to a string does not fail.
#[must_use]
pub fn page(pair: &Pair, answer: &Answer) -> String {
    let worst = answer.found.last();
    let row = |found: &&Found| Row {
        what: size(pair, found),
        text: call(pair, found),
        branches: found.covers.iter().map(|b| branch(pair, *b)).collect::<Vec<_>>().join(" "),
    };
    let table = |title, rows| Table { title, rows };
    let pairs = |all: Vec<(String, String)>| all.into_iter().map(Row::new).collect();
    let page = Page {
        title: format!("{}: accuracy", pair.function().name),
        function: pair.function().signature(),
        reference: pair.reference().text(),
        worst: worst.map_or_else(|| "0".to_owned(), |found| size(pair, found)),
        worst_call: worst.map_or_else(String::new, |found| call(pair, found)),
        facts: facts(pair, answer),
        plot: if answer.peaks.is_empty() { String::new() } else { plot::draw(pair, &answer.peaks, "") },
        tables: vec![
            table("Wrong results", sorted(&answer.wrong).iter().map(row).collect()),
            table("The worst input", pairs(worst.map_or_else(Vec::new, |found| details(pair, found)))),
            table("Sources of its error, in ulps", pairs(source_lines(pair, answer))),
            table("Worst input of each set of branches", answer.regions.iter().map(|found| row(&found)).collect()),
        ],
    };
    page.render().expect("memory takes every page")
}

fn facts(pair: &Pair, answer: &Answer) -> Vec<String> {
    let mut facts = vec![
        format!("{} evaluations", count(answer.counts.evaluations)),
        format!("{} of CPU time", seconds(answer.counts.cpu)),
        plural(answer.seeds.len(), "seed"),
    ];
    facts.extend(exhausted(pair, answer).map(|n| format!("all {n} inputs were tried")));
    facts.extend(answer.bound.as_ref().map(|bound| bounded(pair, bound, answer)));
    facts.extend((answer.counts.faults > 0).then(|| format!("{} faults of the function", count(answer.counts.faults))));
    facts
}
