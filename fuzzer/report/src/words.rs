//! Words that reports use for the goals of a campaign, and for goals that were reached.

use penfuzz_engine::saturation::Goals;

/// The words for one kind of goals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Words {
    /// One goal.
    pub goal: &'static str,
    /// Several goals.
    pub goals: &'static str,
    /// The participle for a reached goal.
    pub done: &'static str,
    /// The word for a place in the source that has goals.
    pub site: &'static str,
    /// Explains the abbreviations in the marks of a source line, in parentheses; empty if the marks are not
    /// abbreviated.
    pub outcomes: &'static str,
    /// A sample of such a mark.
    pub sample: &'static str,
    /// Where to find what does not fit on the page.
    pub rest: &'static str,
}

impl Words {
    /// The words for a campaign with these goals.
    #[must_use]
    pub fn of(goals: Goals) -> Self {
        match goals {
            Goals::Branches | Goals::Decisions | Goals::Criteria(_) => Self {
                goal: "branch",
                goals: "branches",
                done: "covered",
                site: "condition",
                outcomes: " (T: true, F: false)",
                sample: "T",
                rest: "coverage.lcov and genhtml show all of it",
            },
            Goals::Boundaries => Self {
                goal: "boundary value",
                goals: "boundary values",
                done: "met",
                site: "comparison",
                outcomes: "",
                sample: "equal",
                rest: "report.json has all of it",
            },
            Goals::Exceptions | Goals::InexactToo => Self {
                goal: "exception",
                goals: "exceptions",
                done: "raised",
                site: "operation",
                outcomes: "",
                sample: "overflow",
                rest: "report.json has all of it",
            },
            Goals::Custom => Self {
                goal: "goal",
                goals: "goals",
                done: "reached",
                site: "goal",
                outcomes: "",
                sample: "T",
                rest: "report.json has all of it",
            },
            Goals::Mutants => Self {
                goal: "mutant",
                goals: "mutants",
                done: "infected",
                site: "mutation point",
                outcomes: "",
                sample: "0",
                rest: "report.json has all of it",
            },
        }
    }

    /// The words as a title: `Branches covered`.
    #[must_use]
    pub fn title(self) -> String {
        let mut letters = self.goals.chars();
        let first = letters.next().map(|c| c.to_ascii_uppercase());
        first.into_iter().chain(letters).chain(" ".chars()).chain(self.done.chars()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_begins_with_a_capital() {
        let all = [Goals::Branches, Goals::Boundaries, Goals::InexactToo].map(|g| Words::of(g).title());
        assert_eq!(all, ["Branches covered", "Boundary values met", "Exceptions raised"]);
    }
}
