//! Tests of the page, parsed as XML.

use penfuzz_engine::saturation::Goals;

use super::*;
use crate::{
    Branches, Status,
    decisions::{Condition, Decision, Vector},
    example,
    history::Curve,
    source_hashes,
};

fn history() -> History {
    let curve = |client: &str, most: f64| Curve {
        client: client.to_owned(),
        points: vec![(0.0, 2.0), (5.0, most - 1.0), (60.0, most)],
    };
    History { curves: vec![curve("c0", 6.0), curve("c1", 7.0)] }
}

fn parsed(page: &str, look: impl FnOnce(&roxmltree::Document)) {
    let options = roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() };
    look(&roxmltree::Document::parse_with_options(page, options).unwrap());
}

/// The example with its source on disk, so that the page has a listing.
fn with_source() -> (tempfile::TempDir, Report) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("clamp.c");
    std::fs::write(&path, example::SOURCE).unwrap();
    let mut report = example::report();
    report.signature.file = path.display().to_string();
    for site in &mut report.sites {
        site.file = path.display().to_string();
    }
    report.source_hashes = source_hashes(&report.sites);
    (dir, report)
}

#[test]
fn the_page_is_well_formed_and_fetches_nothing() {
    let (_dir, report) = with_source();
    for history in [history(), History::default()] {
        parsed(&page(&report, &history), |document| {
            for element in document.descendants().filter(roxmltree::Node::is_element) {
                let name = element.tag_name().name();
                assert!(!["script", "link", "img", "iframe", "object"].contains(&name), "<{name}>");
                for attribute in element.attributes() {
                    assert!(!attribute.value().contains("://"), "{}={:?}", attribute.name(), attribute.value());
                }
            }
            let style = document.descendants().find(|n| n.has_tag_name("style")).and_then(|n| n.text()).unwrap();
            assert!(!style.contains("url(") && !style.contains("@import"), "the style sheet fetches something");
        });
    }
}

#[test]
fn names_and_sources_cannot_break_the_page() {
    let (dir, mut report) = with_source();
    let bad = "</code><script> & \"x\" ' \u{1}";
    std::fs::write(dir.path().join("clamp.c"), example::SOURCE.replace("x < 0.5", "x < 0.5 && \"<script>\u{1}\""))
        .unwrap();
    report.source_hashes = source_hashes(&report.sites);
    (report.function, report.target, report.stop_reason) = (bad.to_owned(), bad.to_owned(), bad.to_owned());
    (report.crashes[0].reason, report.crashes[0].place) = (bad.to_owned(), bad.to_owned());
    report.sites[3].branches[0].outcome = bad.to_owned();
    report.tests[0].args[0].name = bad.to_owned();
    let mut history = history();
    history.curves[0].client = bad.to_owned();
    let page = page(&report, &history);
    parsed(&page, |_| ());
    assert!(!page.contains("<script>"), "names are text, no elements");
}

#[test]
fn the_page_of_a_running_campaign_loads_itself_again() {
    let mut report = example::report();
    assert!(!page(&report, &history()).contains("http-equiv=\"refresh\""), "a finished one stays");
    report.stop_reason = "running".to_owned();
    assert!(page(&report, &history()).contains("http-equiv=\"refresh\""));
}

#[test]
fn the_figure_comes_first_then_failures_then_what_is_missing() {
    let (_dir, report) = with_source();
    let page = page(&report, &history());
    let place = |text: &str| page.find(text).unwrap_or_else(|| panic!("no `{text}` in the page"));
    let order = ["75.0 %", "Crashes (1)", "Not covered (1)", "covered over time", "Tests (3)", "<h2>Source"].map(place);
    assert!(order.is_sorted(), "{order:?}");
}

#[test]
fn uncovered_branches_show_their_distance() {
    let page = page(&example::report(), &History::default());
    let section = page.split_once("<h2>Not covered").and_then(|(_, rest)| rest.split_once("</div>"));
    insta::assert_snapshot!(section.map(|(section, _)| format!("<h2>Not covered{section}</div>")).unwrap());
}

#[test]
fn a_row_links_to_its_line() {
    let (_dir, report) = with_source();
    let page = page(&report, &History::default());
    assert!(page.contains("<a href=\"#f0-9\"><code>clamp.c:9:19</code></a>"), "{page}");
    parsed(&page, |document| {
        let names: Vec<_> = document.descendants().filter_map(|n| n.attribute("id")).collect();
        for link in document.descendants().filter_map(|n| n.attribute("href")) {
            assert!(names.contains(&link.trim_start_matches('#')), "{link} leads nowhere");
        }
    });
}

#[test]
fn a_crash_shows_its_source_line() {
    let (dir, mut report) = with_source();
    report.crashes[0].place = format!("clamp ({}:8)", dir.path().join("clamp.c").display());
    assert!(page(&report, &History::default()).contains("<pre class=\"dim\">abort();</pre>"));
    std::fs::write(dir.path().join("clamp.c"), "another text").unwrap();
    assert!(!page(&report, &History::default()).contains("<pre class=\"dim\">"), "the source has changed");
}

#[test]
fn branches_that_wait_and_null_pointers_are_folded() {
    let (dir, mut report) = with_source();
    let path = dir.path().join("clamp.c");
    std::fs::write(&path, example::SOURCE.replace("x < 0.5", "rest == NULL").replace("n == 7", "n == 9")).unwrap();
    report.source_hashes = source_hashes(&report.sites);
    let needs_null = &mut report.sites[0].branches[0];
    (needs_null.status, needs_null.best_distance) = (Status::GivenUp, Some(0x7fff_0000_1000));
    report.sites[0].predicate = "==".to_owned();
    for branch in &mut report.sites[1].branches {
        (branch.status, branch.best_distance) = (Status::Uncovered, None);
    }
    let rows_of = |report: &Report, title: &str| {
        let page = page(report, &History::default());
        let section = page.split_once(&format!("<summary>{title}")).map(|(_, rest)| rest.split("</details>").next());
        section.flatten().map_or(0, |text| text.matches("<tr><td").count())
    };
    assert_eq!((rows_of(&report, "Comparisons of a pointer"), rows_of(&report, "No input executes")), (1, 2));
    assert!(page(&report, &History::default()).contains("Not covered (4)"), "all are counted");
    report.sites[0].branches[0].best_distance = Some(5);
    assert_eq!(rows_of(&report, "Comparisons of a pointer"), 0, "no address");
    report.goals = Goals::Boundaries;
    assert_eq!(rows_of(&report, "No input executes"), 0, "a comparison with NaN was executed");
}

#[test]
fn lines_are_marked() {
    let (_dir, report) = with_source();
    let page = page(&report, &History::default());
    let (_, out) = page.split_once("<h2>Source").expect("a listing");
    let line = |text: &str| out.lines().find(|l| l.contains(text)).unwrap_or_else(|| panic!("no `{text}` in {out}"));
    assert!(line("x &lt; 0.5").starts_with("<tr id=\"f0-5\" class=\"all\"><td>5</td>"), "{}", line("x &lt; 0.5"));
    assert!(
        line("n == 8").starts_with("<tr id=\"f0-9\" class=\"some\">") && line("n == 8").matches("<b ").count() == 4
    );
    assert!(line("return 1").starts_with("<tr id=\"f0-10\" class=\"\"><td>10</td>"), "{}", line("return 1"));
}

#[test]
fn a_short_campaign_is_drawn_over_evaluations() {
    let mut report = example::report();
    report.sites[0].branches[0].covered_at = Some(40);
    let short = History { curves: vec![Curve { client: String::new(), points: vec![(1.0, 7.0), (2.0, 7.0)] }] };
    let page = page(&report, &short);
    assert!(page.contains("covered over evaluations"));
    assert!(!page.contains("covered over time"), "nothing was found between two moments");
}

#[test]
fn crashes_show_who_called() {
    let mut report = example::report();
    report.crashes[0].stack = vec!["inner<int> (a.c:3)".to_owned(), "outer (a.c:9)".to_owned()];
    assert!(page(&report, &History::default()).contains("inner&lt;int&gt; (a.c:3)\nouter (a.c:9)"));
}

#[test]
fn an_empty_report_renders() {
    let mut report = example::report();
    (report.sites, report.tests, report.crashes) = (vec![], vec![], vec![]);
    (report.branches, report.evaluations, report.seconds) = (Branches::default(), 0, 0.0);
    parsed(&page(&report, &History::default()), |_| ());
}

#[test]
fn other_goals_are_not_called_branches() {
    let (_dir, mut report) = with_source();
    for (goals, headline, open) in [
        (Goals::Boundaries, "</b> 6 of 8 boundary values met</h1>", "Not met (1), closest first"),
        (Goals::Exceptions, "</b> 6 of 8 exceptions raised</h1>", "Not raised (1), closest first"),
    ] {
        report.goals = goals;
        let page = page(&report, &history());
        assert!(page.contains(headline) && page.contains(open), "{page}");
        let (_, body) = page.split_once("</head>").expect("the page has a head");
        for word in ["branches", "Branches", "overed", "saturated"] {
            assert!(!body.contains(word), "{word} in {body}");
        }
    }
}

#[test]
fn lines_link_to_their_tests_and_back() {
    let (_dir, report) = with_source();
    let page = page(&report, &History::default());
    parsed(&page, |document| {
        let row = |id: &str| document.descendants().find(|n| n.attribute("id") == Some(id));
        let links = |id: &str| {
            let inside = row(id).unwrap().descendants();
            inside.filter_map(|n| n.attribute("href").map(str::to_owned)).collect::<Vec<_>>()
        };
        let first = links("test-1");
        assert!(!first.is_empty(), "the first test covers branches of a line");
        let back = links(first[0].trim_start_matches('#'));
        assert!(back.contains(&"#test-1".to_owned()), "{back:?}");
    });
}

#[test]
fn a_decision_shows_its_conditions_and_folds_many_tests() {
    let (_dir, mut report) = with_source();
    let site = &report.sites[0];
    let vector =
        |values: &str, outcome, tests: &[usize]| Vector { values: values.to_owned(), outcome, tests: tests.to_vec() };
    report.decisions = vec![Decision {
        function: "clamp".to_owned(),
        file: site.file.clone(),
        line: site.line,
        column: site.column,
        conditions: vec![Condition {
            line: site.line,
            column: site.column,
            site: Some(0),
            pair: Some((0, 1)),
            proved_infeasible: false,
        }],
        vectors: vec![vector("T", true, &[1]), vector("F", false, &[2, 3, 4, 5, 600])],
        infeasible: Vec::new(),
    }];
    let mut sources = Sources::of(&report);
    let operand = sources.operand(&report.sites[0]);
    let page = page(&report, &History::default());
    let section = page.split_once("<h2>Decisions").and_then(|(_, rest)| rest.split_once("<h2>")).unwrap().0;
    assert!(section.contains(&format!("1 <code>{}</code>", operand.replace('<', "&lt;"))), "{operand}: {section}");
    assert!(section.contains("<td><code>T = true</code></td><td><a href=\"#test-1\">1</a></td>"), "{section}");
    assert!(section.contains("<summary>5 tests</summary>") && section.contains(", 600</details>"), "{section}");
}
