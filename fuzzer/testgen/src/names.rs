//! Descriptive names of tests: number, and the first branch that no earlier test covers, or how the test ends.

use std::collections::BTreeSet;

use penfuzz_report::{
    BranchIndex,
    c_text::identifier,
    model::{Report, Test},
};

use super::cases::Ending;

/// Names the tests of a report in order.
pub(super) struct Names<'a> {
    report: &'a Report,
    covered: BTreeSet<BranchIndex>,
    number: usize,
}

impl<'a> Names<'a> {
    pub fn new(report: &'a Report) -> Self {
        Self { report, covered: BTreeSet::new(), number: 0 }
    }

    /// The name of the next test: `clamp_2_line_7_false`, `checked_4_exit_3`, `clamp_5_sigabrt`.
    pub fn next(&mut self, test: &Test, ending: Ending) -> String {
        self.number += 1;
        let first = test.covers.iter().copied().find(|place| !self.covered.contains(place));
        self.covered.extend(&test.covers);
        let what = match ending {
            Ending::Exit(status) => format!("exit_{status}"),
            Ending::Signal { name, .. } => name.to_lowercase(),
            Ending::Return => first.map_or_else(String::new, |at| self.branch(at)),
        };
        tidy(&format!("{}_{}_{what}", identifier(&self.report.function), self.number))
    }

    fn branch(&self, at: BranchIndex) -> String {
        let Some(site) = self.report.sites.get(at.site) else { return String::new() };
        let outcome = site.branches.get(at.branch).map_or("", |b| b.outcome.as_str());
        // A switch branch may have many case values.
        let outcome: String = outcome.chars().take(30).collect();
        format!("line_{}_{}", site.line, identifier(&outcome.replace('-', "minus_")))
    }
}

/// The function's name as a part of an identifier.
pub(super) fn identifier_of(report: &Report) -> String {
    tidy(&identifier(&report.function))
}

/// Removes repeated `_`, which C++ reserves, and a `_` at either end.
fn tidy(name: &str) -> String {
    let parts: Vec<_> = name.split('_').filter(|part| !part.is_empty()).collect();
    let name = parts.join("_");
    if name.starts_with(|c: char| c.is_ascii_digit()) { format!("f{name}") } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;
    use penfuzz_report::example;

    #[test]
    fn a_name_has_the_first_branch_that_is_new() {
        let report = example::report();
        let mut names = Names::new(&report);
        let all: Vec<_> = report.tests.iter().map(|t| names.next(t, Ending::Return)).collect();
        assert_eq!(all, ["clamp_1_line_5_true", "clamp_2_line_5_false", "clamp_3_line_9_true"]);
        let crash = Ending::Signal { name: "SIGABRT", must: true };
        assert_eq!(names.next(&Test::default(), crash), "clamp_4_sigabrt");
        assert_eq!(names.next(&Test::default(), Ending::Exit(3)), "clamp_5_exit_3");
    }

    #[test]
    fn names_are_parts_of_identifiers() {
        assert_eq!(tidy("n__f_double__1_"), "n_f_double_1");
        assert_eq!(tidy("_1"), "f1");
    }
}
