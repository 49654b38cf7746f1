//! Finds the tests that make a program fail, by halving.

use penfuzz_report::{Report, test_check::Checked};

use super::attempt::Attempt;

/// A test of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Case {
    /// An index into the tests of the report.
    Test(usize),
    /// An index into its crashes.
    Crash(usize),
}

impl Case {
    /// All tests of the program.
    pub fn all(report: &Report) -> Vec<Self> {
        let crashes = report.crashes.iter().enumerate().filter(|(_, crash)| crash.dependence().is_none());
        (0..report.tests.len()).map(Self::Test).chain(crashes.map(|(i, _)| Self::Crash(i))).collect()
    }

    /// The report with these tests only.
    pub fn only(report: &Report, cases: &[Self]) -> Report {
        let mut part = report.clone();
        part.tests = cases.iter().filter_map(|c| c.test().map(|i| report.tests[i].clone())).collect();
        part.crashes = cases.iter().filter_map(|c| c.crash().map(|i| report.crashes[i].clone())).collect();
        part
    }

    fn test(self) -> Option<usize> {
        if let Self::Test(i) = self { Some(i) } else { None }
    }

    fn crash(self) -> Option<usize> {
        if let Self::Crash(i) = self { Some(i) } else { None }
    }
}

/// The cases that fail, each with the attempt to run it alone. `whole` is the attempt with all of them, which failed.
/// `attempt` builds and runs some of them. `None` if an attempt was not made, for example because no time is left. If
/// each half passes, no case fails alone.
pub fn failing(
    cases: &[Case],
    whole: &Attempt,
    attempt: &mut dyn FnMut(&[Case]) -> Attempt,
) -> Option<Vec<(Case, Attempt)>> {
    let mut found = Vec::new();
    let mut open = vec![cases];
    while let Some(part) = open.pop() {
        let tried = if part.len() == cases.len() { whole.clone() } else { attempt(part) };
        match tried.result {
            Checked::Passed => {}
            Checked::NotChecked => return None,
            // A program without tests: the fault is elsewhere.
            _ if part.is_empty() => {}
            Checked::Failed | Checked::NotBuilt if part.len() == 1 => found.push((part[0], tried)),
            Checked::Failed | Checked::NotBuilt => {
                let (first, second) = part.split_at(part.len() / 2);
                open.extend([second, first]);
            }
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bad(cases: &[Case], is_bad: impl Fn(&[Case]) -> bool) -> Option<Vec<Case>> {
        let of = |result| Attempt { result, message: String::new() };
        let mut attempt = |part: &[Case]| of(if is_bad(part) { Checked::Failed } else { Checked::Passed });
        failing(cases, &of(Checked::Failed), &mut attempt)
            .map(|found| found.into_iter().map(|(case, _)| case).collect())
    }

    #[test]
    fn the_failing_tests_are_found() {
        let all: Vec<_> = (0..9).map(Case::Test).chain([Case::Crash(0)]).collect();
        let wrong = [Case::Test(3), Case::Test(8), Case::Crash(0)];
        assert_eq!(bad(&all, |part| part.iter().any(|c| wrong.contains(c))), Some(wrong.to_vec()));
        assert_eq!(bad(&all, |part| part.len() > 4), Some(Vec::new()), "no test fails alone");
    }

    #[test]
    fn a_program_without_tests_has_no_failing_ones() {
        assert_eq!(bad(&[], |_| true), Some(Vec::new()));
    }

    #[test]
    fn without_time_nothing_is_found() {
        let late = Attempt::not_checked("there is no time left");
        let cases = [Case::Test(0), Case::Test(1)];
        let whole = Attempt { result: Checked::Failed, message: String::new() };
        assert_eq!(failing(&cases, &whole, &mut |_| late.clone()), None);
    }
}
