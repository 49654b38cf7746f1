//! What reports call what was searched for, and having found it.

use penfuzz_engine::saturation::Goals;

/// See the module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Words {
    /// One of those that are counted.
    pub goal: &'static str,
    /// Several.
    pub goals: &'static str,
    /// What becomes of them.
    pub done: &'static str,
    /// Where a page shows the source: what the marks of a line mean.
    pub marks: &'static str,
    /// Where to look for what a page has no room for.
    pub rest: &'static str,
}

impl Words {
    /// Of a campaign with these goals.
    #[must_use]
    pub fn of(goals: Goals) -> Self {
        match goals {
            Goals::Branches => Self {
                goal: "branch",
                goals: "branches",
                done: "covered",
                marks: "At each condition, its branches: <b class=\"yes\">T</b> true and <b class=\"yes\">F</b> false are \
                        covered, <b class=\"no\">T</b> and <b class=\"no\">F</b> are not.",
                rest: "coverage.lcov and genhtml show all of it",
            },
            Goals::Boundaries => Self {
                goal: "boundary value",
                goals: "boundary values",
                done: "met",
                marks: "At each comparison, its boundary values: <b class=\"yes\">equal</b> is met, <b class=\"no\">equal</b> \
                        is not.",
                rest: "report.json has all of it",
            },
            Goals::Exceptions | Goals::InexactToo => Self {
                goal: "exception",
                goals: "exceptions",
                done: "raised",
                marks: "At each operation, its exceptions: <b class=\"yes\">overflow</b> was raised, <b \
                        class=\"no\">overflow</b> was not.",
                rest: "report.json has all of it",
            },
        }
    }

    /// `Branches covered`.
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
