//! Files and exit statuses for continuous integration.

use std::{fs, os::unix::fs::symlink, path::Path, process::Command};

use serde_json::Value;

use crate::support::{Dir, fixture, quickstart};

fn xml(text: &str, look: impl FnOnce(&roxmltree::Document)) {
    let options = roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() };
    look(&roxmltree::Document::parse_with_options(text, options).unwrap_or_else(|e| panic!("{e}\n{text}")));
}

fn json(path: &Path) -> Value {
    let text = fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Returns the number in an attribute of the root element.
fn figure(document: &roxmltree::Document, name: &str) -> usize {
    let value = document.root_element().attribute(name).unwrap_or_else(|| panic!("no {name}"));
    value.parse().unwrap_or_else(|e| panic!("{name}={value}: {e}"))
}

#[test]
fn coverage_below_the_limit_is_status_4() {
    let dir = Dir::new();
    let fuzz =
        |target: &str, limit: &str| dir.fuzz(fixture(target), "--fresh -q --max-evals 20000 --fail-under").arg(limit);
    fuzz("unreachable_in_loop.c", "1").exits(0);
    let run = fuzz("unreachable_in_loop.c", "100").exits(4);
    let branches = dir.report("out").branches;
    let share = (1e4 * branches.covered as f64 / branches.total as f64).floor() / 100.0;
    run.says(&format!("branch coverage {share:.2} % is below --fail-under 100"));
    // Full coverage is not less than the limit of 100 %.
    dir.fuzz(fixture("floats.c"), "--fresh -q --fail-under 100%").exits(0);
}

#[test]
fn too_little_coverage_outweighs_a_crash() {
    let dir = Dir::new();
    dir.fuzz(fixture("segv.c"), "-q --fail-under 0").exits(3);
    dir.fuzz(fixture("segv.c"), "--fresh -q --max-evals 1 --fail-under 100").exits(4);
}

#[test]
fn a_share_must_be_one_and_be_of_branches() {
    let dir = Dir::new();
    dir.fuzz(fixture("floats.c"), "--fail-under 101").exits(2).says("from 0 to 100");
    dir.penfuzz("boundary -o out --fail-under 90").arg(fixture("floats.c")).exits(2).says("applies to branches");
    dir.penfuzz("exceptions -o out --fail-under 90").arg(fixture("floats.c")).exits(2).says("applies to branches");
    assert!(!dir.path("out").exists(), "nothing has run");
}

#[test]
fn each_test_and_each_crash_is_a_testcase() {
    let dir = Dir::new();
    dir.file("results.xml", "old");
    let run = dir.fuzz(fixture("segv.c"), "--junit results.xml").exits(3);
    let report = dir.report("out");
    run.expect(!report.tests.is_empty() && report.crashes.len() == 1, "tests and a crash");
    xml(&fs::read_to_string(dir.path("results.xml")).expect("the file is written"), |document| {
        assert_eq!(figure(document, "tests"), report.tests.len() + 1);
        assert_eq!((figure(document, "failures"), figure(document, "errors")), (1, 0));
        let failure = document.descendants().find(|n| n.has_tag_name("failure")).expect("a failure");
        let message = failure.attribute("message").expect("a message");
        assert!(message.contains("SIGSEGV") && message.contains("segv.c:"), "{message}");
    });
}

#[test]
fn findings_have_places_below_the_root_of_the_checkout() {
    let dir = Dir::new();
    dir.file("checkout/.git", "gitdir: elsewhere");
    dir.file("checkout/src/a b.c", fs::read(fixture("segv.c")).expect("a fixture"));
    fs::create_dir(dir.path("checkout/build")).expect("a directory");
    let mut command: Command = dir.penfuzz("-q -o out --sarif results.sarif").arg("../src/a b.c").into();
    let status = command.current_dir(dir.path("checkout/build")).status().expect("penfuzz can be run");
    assert_eq!(status.code(), Some(3), "a crash");
    let sarif = json(&dir.path("checkout/build/results.sarif"));
    let results = sarif["runs"][0]["results"].as_array().expect("results");
    let crash = results.iter().find(|r| r["ruleId"] == "crash").unwrap_or_else(|| panic!("no crash: {sarif:#}"));
    let place = &crash["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "src/a%20b.c");
    assert_eq!(place["region"]["startLine"], 12, "the line of the read");
    let root = sarif["runs"][0]["originalUriBaseIds"]["SRCROOT"]["uri"].as_str().expect("a root");
    assert!(root.ends_with("/checkout/"), "{root}");
}

#[test]
fn exceptions_are_results() {
    let dir = Dir::new();
    dir.penfuzz("exceptions -o out -q -f silent --max-evals 20000 --sarif results.sarif")
        .arg(fixture("exceptions.c"))
        .run();
    let report = dir.report("out");
    let finds = &report.exceptions.as_ref().expect("exceptions").finds;
    let sarif = json(&dir.path("results.sarif"));
    let results = sarif["runs"][0]["results"].as_array().expect("results");
    let count = results.iter().filter(|r| r["ruleId"].as_str().is_some_and(|id| id.starts_with("exception-"))).count();
    assert!(count > 0 && count == finds.len(), "{count} results of {} finds", finds.len());
}

#[test]
fn a_file_that_cannot_be_written_is_refused_before_the_campaign() {
    let dir = Dir::new();
    fs::create_dir(dir.path("taken")).expect("a directory");
    symlink("/dev/null", dir.path("null")).expect("a link");
    for (file, why) in [
        ("taken", "directory"),
        ("missing/x.xml", "its directory cannot be written"),
        ("null", "it is a device"),
        ("out/x.xml", "lies in the output directory"),
    ] {
        for option in ["--junit", "--sarif"] {
            let run = dir.fuzz(fixture("floats.c"), option).arg(file).exits(2);
            run.says(&format!("error: {option} {file}: ")).says(why);
            run.expect(run.stderr.lines().count() == 1, "one sentence");
        }
    }
    assert!(!dir.path("out").exists(), "nothing has run");
}

#[test]
fn cobertura_agrees_with_lcov() {
    let dir = Dir::new();
    for (out, target) in [("a", quickstart("triangle.c")), ("b", fixture("unreachable_in_loop.c"))] {
        let run = dir.penfuzz("-q -o").arg(out).arg(&target).exits(0);
        let files = dir.files(out);
        let lcov = String::from_utf8(files["coverage.lcov"].clone()).expect("lcov is text");
        let sum = |key: &str| lcov.lines().filter_map(|l| l.strip_prefix(key)?.parse::<usize>().ok()).sum::<usize>();
        xml(&String::from_utf8(files["coverage.xml"].clone()).expect("XML is text"), |document| {
            let root = document.root_element();
            let pairs = [("branches-valid", "BRF:"), ("branches-covered", "BRH:"), ("lines-valid", "LF:")];
            for (name, key) in pairs {
                run.expect(figure(document, name) == sum(key), name);
            }
            // The paths must resolve to the source.
            let base = root.descendants().find(|n| n.has_tag_name("source")).and_then(|n| n.text()).expect("a source");
            let class = root.descendants().find(|n| n.has_tag_name("class")).expect("a class");
            let path = Path::new(base).join(class.attribute("filename").expect("a filename"));
            run.expect(path == target, &format!("{} is the target", path.display()));
        });
    }
}

const SUITE: &str = r#"name = "mixed"
sources = "sources"
[[target]]
name = "floats"
file = "floats.c"
function = "floats"
[[target]]
name = "segv"
file = "segv.c"
function = "segv"
[[target]]
name = "broken"
file = "broken.c"
function = "broken"
"#;

/// Creates a suite of a function that is covered, one that crashes, and one that does not compile.
fn mixed() -> Dir {
    let dir = Dir::new();
    for name in ["floats.c", "segv.c", "broken.c"] {
        dir.file(&format!("sources/{name}"), fs::read(fixture(name)).expect("a fixture"));
    }
    dir.file("suite.toml", SUITE);
    dir
}

#[test]
fn a_suite_has_one_testsuite_per_function() {
    let dir = mixed();
    let run = dir.penfuzz("suite suite.toml -o out -q --max-evals 20000 --junit j.xml --sarif s.sarif").exits(1);
    xml(&fs::read_to_string(dir.path("j.xml")).expect("the file is written"), |document| {
        let suites: Vec<_> = document.descendants().filter(|n| n.has_tag_name("testsuite")).collect();
        let problems = |i: usize| ["failures", "errors"].map(|name| suites[i].attribute(name).expect("a count"));
        run.expect(suites.len() == 3, "one per function");
        assert_eq!([problems(0), problems(1), problems(2)], [["0", "0"], ["1", "0"], ["0", "1"]]);
    });
    let sarif = json(&dir.path("s.sarif"));
    let results = sarif["runs"][0]["results"].as_array().expect("results");
    run.expect(results.iter().filter(|r| r["ruleId"] == "crash").count() == 1, "one crash");
}

#[test]
fn the_page_of_a_suite_leads_to_the_page_of_each_function() {
    let dir = mixed();
    dir.penfuzz("suite suite.toml -o out -q --max-evals 1000").exits(1);
    xml(&fs::read_to_string(dir.path("out/report.html")).expect("a page"), |document| {
        let links: Vec<_> = document.descendants().filter_map(|n| n.attribute("href")).collect();
        assert_eq!(links, ["./floats/report.html", "./segv/report.html"], "none for a function that does not compile");
        for link in links {
            assert!(dir.path("out").join(link).is_file(), "{link} leads nowhere");
        }
        let refresh = document.descendants().any(|n| n.attribute("http-equiv") == Some("refresh"));
        assert!(!refresh, "the suite has ended");
    });
}

#[test]
fn a_suite_below_the_limit_is_status_4() {
    let dir = mixed();
    let suite = |limit: &str| {
        dir.penfuzz("suite suite.toml -o out -q --only floats,segv --max-evals 20000 --fail-under").arg(limit)
    };
    suite("1").exits(3);
    dir.penfuzz("suite suite.toml -o out -q --only floats --max-evals 1 --fail-under 100").exits(4).says("is below");
    dir.penfuzz("suite suite.toml -o out --exceptions --fail-under 1").exits(2).says("applies to branches");
}
