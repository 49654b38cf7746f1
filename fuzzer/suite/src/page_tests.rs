use penfuzz_error::Error;
use penfuzz_report::{Branches, example};

use super::*;
use crate::{TargetSpec, gcov::GcovCriteria, referee::Referee};

fn target(name: &str) -> TargetSpec {
    TargetSpec {
        name: name.to_owned(),
        file: format!("src/{name}.c"),
        function: name.to_owned(),
        flags: Vec::new(),
        is_static: false,
        rounding: None,
        args: Vec::new(),
        assume: Vec::new(),
        calls: None,
        init: None,
        globals: Vec::new(),
        paper: None,
    }
}

fn row(name: &str, covered: usize, total: usize) -> Row {
    let mut row = Row::finished(&target(name), &example::report());
    row.branches = Branches { total, covered, ..Branches::default() };
    row
}

fn report(rows: Vec<Row>) -> SuiteReport {
    SuiteReport::new("demo", rows, 1.5, false)
}

fn parsed(page: &str, look: impl FnOnce(&roxmltree::Document)) {
    let options = roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() };
    look(&roxmltree::Document::parse_with_options(page, options).unwrap_or_else(|e| panic!("{e}: {page}")));
}

#[test]
fn every_function_has_a_row_of_all_columns_and_a_link_to_its_page() {
    let mut rows =
        vec![row("acos", 12, 12), row("pow", 100, 114), Row::failed(&target("bad"), &Error::new("no such type"))];
    rows[0].referee =
        Some(Referee { tool: "gcov".to_owned(), total: 12, covered: 11, criteria: GcovCriteria::default() });
    parsed(&page(&report(rows), 3), |document| {
        let row_cells = |row: roxmltree::Node| row.children().filter(roxmltree::Node::is_element).count();
        let counts: Vec<_> = document.descendants().filter(|n| n.has_tag_name("tr")).map(row_cells).collect();
        assert_eq!(counts, [13; 5], "a head, three functions, a foot");
        let links: Vec<_> = document.descendants().filter_map(|n| n.attribute("href")).collect();
        assert_eq!(links, ["./acos/report.html", "./pow/report.html"], "one that failed has no page");
    });
}

#[test]
fn branches_only_crashes_cover_have_a_column() {
    let mut rows = vec![row("acos", 12, 12), row("pow", 100, 114)];
    assert!(!page(&report(rows.clone()), 2).contains("only by crashes"));
    rows[1].branches.covered_by_crash_only = 37;
    let page = page(&report(rows), 2);
    assert!(page.contains("only by crashes") && page.contains("<td data-v=\"37\">37</td>"), "{page}");
}

#[test]
fn figures_sort_by_their_exact_values() {
    let page = page(&report(vec![row("a", 1, 3)]), 1);
    assert!(page.contains(&format!("<td data-v=\"{}\">33.3</td>", 100.0 / 3.0)), "{page}");
    assert!(page.contains("<td data-v=\"123456\">123k</td>"), "{page}");
}

#[test]
fn names_cannot_break_the_page_and_it_fetches_nothing() {
    let bad = "</script><script>x</script>\"'&\u{1}\u{202e}";
    let mut rows = vec![row(bad, 1, 2), Row::failed(&target(bad), &Error::new(bad))];
    rows[0].file = bad.to_owned();
    let mut report = report(rows);
    report.name = bad.to_owned();
    let page = page(&report, 2);
    assert_eq!(page.matches("<script>").count(), 1, "{page}");
    parsed(&page, |document| {
        for attribute in document.descendants().flat_map(|n| n.attributes()) {
            assert!(!attribute.value().contains("://"), "{}={:?}", attribute.name(), attribute.value());
        }
        let policy = document.descendants().find_map(|n| n.attribute("content").filter(|c| c.contains("default-src")));
        assert!(policy.is_some_and(|p| p.starts_with("default-src 'none';")));
    });
}

#[test]
fn the_page_of_a_running_suite_loads_itself_again() {
    let mut report = report(vec![row("a", 1, 2)]);
    assert!(page(&report, 2).contains("http-equiv=\"refresh\""));
    assert!(!page(&report, 1).contains("http-equiv=\"refresh\""), "a finished one stays");
    report.interrupted = true;
    assert!(!page(&report, 2).contains("http-equiv=\"refresh\""), "so does an interrupted one");
    parsed(&page(&SuiteReport::new("empty", vec![], 0.0, false), 0), |_| ());
}
