//! Names of tests that say what happens in which case: `clamp_returns_0_when_x_is_nan`.

use std::collections::{BTreeMap, BTreeSet};

use penfuzz_report::{
    ADDRESS, Arg, BranchIndex, Place, TEXT,
    c_text::{comment, identifier},
    condition,
    model::{Report, Test},
    sources::Sources,
};

use super::cases::Ending;

/// Maximum number of characters of an error's name or a number in a name.
const LONGEST_VALUE: usize = 12;
/// Maximum number of characters of a text in a name.
const LONGEST_TEXT: usize = 16;

/// Names the tests of a report.
pub(super) struct Names<'a> {
    report: &'a Report,
    sources: Sources<'a>,
    /// The number of tests that take each branch.
    takers: BTreeMap<BranchIndex, usize>,
    used: BTreeSet<String>,
}

/// Name and reason of a test.
pub(super) struct Title {
    /// A part of an identifier.
    pub name: String,
    /// The branch that makes the test necessary, for a comment: `line 7: n == 7 is true`; empty if it is not known.
    pub reason: String,
}

impl<'a> Names<'a> {
    pub fn new(report: &'a Report) -> Self {
        let mut takers = BTreeMap::new();
        report.tests.iter().flat_map(|t| &t.covers).for_each(|branch| *takers.entry(*branch).or_default() += 1);
        Self { report, sources: Sources::of(report), takers, used: BTreeSet::new() }
    }

    /// The last branch, in source order, that no other test takes; if there is none, the last one. It is closest to
    /// what distinguishes the test.
    pub fn own_branch(&self, test: &Test) -> Option<BranchIndex> {
        let own = test.covers.iter().filter(|b| self.takers.get(b) == Some(&1)).max();
        own.or_else(|| test.covers.iter().max()).copied()
    }

    /// Name and reason of a test.
    pub fn of(&mut self, test: &Test, ending: Ending) -> Title {
        let (when, reason) = match self.own_branch(test) {
            Some(branch) => self.case(branch),
            None => (String::new(), String::new()),
        };
        let does = does(test, ending);
        let function = identifier(&self.report.function);
        let name = match (does.is_empty(), when.is_empty()) {
            (false, false) => format!("{function}_{does}_when_{when}"),
            (true, false) => format!("{function}_when_{when}"),
            (_, true) => format!("{function}_{does}"),
        };
        Title { name: self.unique(&tidy(&name)), reason }
    }

    /// The name, with a number if another test has it.
    fn unique(&mut self, name: &str) -> String {
        let numbered = (2..).map(|n| format!("{name}_{n}"));
        let name = std::iter::once(name.to_owned()).chain(numbered).find(|name| !self.used.contains(name));
        let name = name.unwrap_or_default();
        self.used.insert(name.clone());
        name
    }

    /// What holds on a branch, as a part of a name and as a comment.
    fn case(&mut self, at: BranchIndex) -> (String, String) {
        let report = self.report;
        let Some(site) = report.sites.get(at.site) else { return Default::default() };
        let outcome = site.branches.get(at.branch).map_or("", |b| b.outcome.as_str());
        let source = self.sources.text(&site.file);
        let text = source.and_then(|source| condition::text(site, source)).unwrap_or_default().to_owned();
        let words = condition::in_words(site, outcome, &text).filter(|_| !text.is_empty());
        let words = words.unwrap_or_else(|| {
            // A switch branch may have many case values.
            let outcome: String = outcome.chars().take(30).collect();
            format!("line_{}_{}", site.line, outcome.replace('-', "minus_"))
        });
        let what = if text.is_empty() { format!(" is {outcome}") } else { format!(": {text} is {outcome}") };
        (identifier(&words), comment(&format!("line {}{what}", site.line)))
    }
}

/// What the function does in a test, as a part of a name; empty if it only returns.
fn does(test: &Test, ending: Ending) -> String {
    match ending {
        Ending::Exit(status) => return format!("exits_with_{status}"),
        Ending::Signal { name: "SIGABRT", .. } => return "aborts".to_owned(),
        Ending::Signal { name, .. } => return format!("dies_of_{}", name.to_lowercase()),
        Ending::Return => {}
    }
    if test.throws.is_some() {
        return "throws".to_owned();
    }
    let value = test.result.as_ref().and_then(value).or_else(|| pointer(test));
    value.map_or_else(String::new, |value| format!("returns_{value}"))
}

/// What a pointer that the function returns is, as a part of a name: null, or a short text.
fn pointer(test: &Test) -> Option<String> {
    let facts = || test.outputs.iter().filter_map(|output| output.place.as_ref().map(|place| (output, place)));
    let is_null =
        |(output, place): (&Arg, &Place)| place.kind == ADDRESS && place.expression == "0" && output.decimal == "1";
    if facts().any(is_null) {
        return Some("null".to_owned());
    }
    let (_, literal) = facts().find(|(_, place)| place.kind == TEXT)?;
    let words = identifier(literal.expression.trim_matches('"'));
    (words.len() <= LONGEST_TEXT && words.contains(|c: char| c.is_ascii_alphanumeric())).then_some(words)
}

/// A short value as a part of a name.
fn value(result: &Arg) -> Option<String> {
    if let Some(name) = &result.enumerator {
        return Some(identifier(name));
    }
    let text = result.decimal.strip_suffix(".0").unwrap_or(&result.decimal);
    let text = if text.contains("nan") { "nan" } else { text };
    let is_short = text.len() <= LONGEST_VALUE && !text.contains('e') && !text.is_empty();
    is_short.then(|| identifier(&text.replace('-', "minus_").replace('.', "_point_")))
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
    use penfuzz_mutators::view::Kind;
    use penfuzz_report::{example, literal, sources};

    use super::*;

    #[test]
    fn a_name_says_what_happens_when() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("clamp.c");
        std::fs::write(&file, example::SOURCE).unwrap();
        let mut report = example::report();
        report.sites.iter_mut().for_each(|site| site.file = file.display().to_string());
        report.source_hashes = sources::source_hashes(&report.sites);
        "floats".clone_into(&mut report.sites[2].distance_unit);
        report.tests[2].result = Some(literal::arg("result", "double", Kind::F64, (-0.5f64).to_bits()));
        let negative_nan = literal::arg("result", "double", Kind::F64, 0xfff8 << 48);
        assert_eq!(value(&negative_nan).as_deref(), Some("nan"), "tests take all NaN as equal");
        let mut names = Names::new(&report);
        let all: Vec<_> = report.tests.iter().map(|t| names.of(t, Ending::Return)).collect();
        let given: Vec<_> = all.iter().map(|title| title.name.as_str()).collect();
        let last = "clamp_returns_minus_0_point_5_when_n_is_not_8";
        assert_eq!(given, ["clamp_when_x_is_below_0_5", "clamp_when_x_is_not_nan", last]);
        assert_eq!(all[0].reason, "line 5: x < 0.5 is true");
        let crash = Ending::Signal { name: "SIGABRT", must: true };
        assert_eq!(names.of(&Test::default(), crash).name, "clamp_aborts");
        assert_eq!(names.of(&Test::default(), crash).name, "clamp_aborts_2");
        assert_eq!(names.of(&Test::default(), Ending::Exit(3)).name, "clamp_exits_with_3");
    }

    #[test]
    fn names_are_parts_of_identifiers() {
        assert_eq!(tidy("n__f_double__1_"), "n_f_double_1");
        assert_eq!(tidy("_1"), "f1");
    }
}
