//! Tests that documents are valid against the schema of SARIF 2.1.0, which the package serde-sarif contains.

use std::{ffi::OsString, fs, path::Path, process::Command};

use super::*;
use crate::{
    Exception, Exceptions, Status, example,
    exceptions::example::{find, shown as returned},
};

/// The package that contains the schema; `cargo metadata` reports its path.
const PACKAGE: &str = "serde-sarif";

fn schema() -> Value {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let output = Command::new(cargo)
        // Packages that only other platforms need are not downloaded.
        .args(["metadata", "--format-version", "1", "--offline", "--filter-platform"])
        .arg(format!("{}-unknown-linux-gnu", std::env::consts::ARCH))
        .arg("--manifest-path")
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml"))
        .output()
        .expect("cargo can be run");
    let metadata: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|e| panic!("cargo metadata: {e}: {}", String::from_utf8_lossy(&output.stderr)));
    let packages = metadata["packages"].as_array().expect("packages");
    let package = packages.iter().find(|p| p["name"] == PACKAGE).expect("a dependency of the tests");
    let manifest = Path::new(package["manifest_path"].as_str().expect("a path"));
    let text =
        fs::read_to_string(manifest.with_file_name("src").join("schema.json")).expect("the package has the schema");
    let mut schema: Value = serde_json::from_str(&text).expect("a schema is JSON");
    for of in ["run", "toolComponent"] {
        // The pattern of `language` has a bracket that only JavaScript accepts. penfuzz's documents contain no
        // language.
        let language = schema["definitions"][of]["properties"]["language"].as_object_mut().expect("a property");
        assert!(language.remove("pattern").is_some(), "the schema has changed");
    }
    schema
}

/// Fails unless all documents are valid.
fn check<'a>(documents: impl IntoIterator<Item = &'a Value>) {
    let schema = schema();
    let validator = jsonschema::options().should_validate_formats(true).build(&schema).expect("a valid schema");
    for document in documents {
        let errors: Vec<_> = validator.iter_errors(document).map(|e| format!("{}: {e}", e.instance_path())).collect();
        assert_eq!(errors, [""; 0], "{document:#}");
    }
}

fn of(reports: &[&Report]) -> Value {
    serde_json::from_str(&document(reports, &SourceRoot::of(Path::new("/src")))).expect("a document is JSON")
}

fn results(document: &Value) -> &[Value] {
    document["runs"][0]["results"].as_array().expect("results")
}

/// The example with one result of each rule.
fn with_everything() -> Report {
    let mut report = example::report();
    report.hangs = vec![report.crashes[0].clone()];
    report.hangs[0].place = "libm.so.6+0x1234".to_owned();
    let finds: Vec<_> =
        Exception::ALL.iter().map(|e| find(*e, 5, "*", &[1e300, 1e300], f64::INFINITY, returned())).collect();
    let counts: Vec<_> = Exception::ALL.iter().map(|e| (*e, 1)).collect();
    report.exceptions = Some(Exceptions::new(4, &counts, finds, 1, "f"));
    report
}

#[test]
fn sarif_of_the_example() {
    insta::assert_snapshot!(document(&[&example::report()], &SourceRoot::of(Path::new("/src"))));
}

#[test]
fn every_rule_has_a_result_and_the_document_is_valid() {
    let report = with_everything();
    let document = of(&[&report]);
    let found: BTreeSet<_> = results(&document).iter().map(|r| r["ruleId"].as_str().unwrap()).collect();
    let rules = document["runs"][0]["tool"]["driver"]["rules"].as_array().unwrap();
    assert_eq!(found, rules.iter().map(|r| r["id"].as_str().unwrap()).collect());
    for result in results(&document) {
        let rule = &rules[result["ruleIndex"].as_u64().unwrap() as usize];
        assert_eq!(rule["id"], result["ruleId"]);
    }
    let mut invalid = document.clone();
    invalid["runs"][0]["results"][0]["level"] = json!("fatal");
    let validator = jsonschema::validator_for(&schema()).expect("a valid schema");
    assert!(!validator.is_valid(&invalid), "the check must be able to fail");
    check([&document, &of(&[])]);
}

#[test]
fn hostile_reports_give_valid_documents() {
    let bad = "a b\"\\\u{0}\u{1b}\u{202e}%zz?#/../é\n";
    let mut report = with_everything();
    (report.function, report.signature.file, report.signature.line) = (bad.to_owned(), bad.to_owned(), 0);
    for site in &mut report.sites {
        (site.file, site.line, site.function) = (bad.to_owned(), 0, bad.to_owned());
    }
    for (i, find) in report.exceptions.iter_mut().flat_map(|e| &mut e.finds).enumerate() {
        (find.file, find.line) = (if i == 0 { String::new() } else { bad.to_owned() }, 0);
    }
    for crash in &mut report.crashes {
        (crash.place, crash.reason, crash.file) = (format!("f ({bad}:0)"), bad.to_owned(), bad.to_owned());
    }
    let document = of(&[&report]);
    check([&document]);
    let messages: String = results(&document).iter().filter_map(|r| r["message"]["text"].as_str()).collect();
    assert!(!messages.contains(['\u{0}', '\u{1b}', '\u{202e}', '\n']), "{messages}");
}

#[test]
fn results_are_at_their_lines() {
    let mut report = with_everything();
    report.crashes[0].place = "abort+0x10".to_owned();
    report.crashes[0].stack = vec!["abort+0x10".to_owned(), "inner (/usr/lib/x y.c:7)".to_owned()];
    let document = of(&[&report]);
    let place = |rule: &str| {
        let result = results(&document).iter().find(|r| r["ruleId"] == rule).unwrap();
        let place = &result["locations"][0]["physicalLocation"];
        (place["artifactLocation"]["uri"].as_str().unwrap(), place["region"]["startLine"].as_u64().unwrap())
    };
    assert_eq!(place("crash"), ("file:///usr/lib/x%20y.c", 7), "the first frame with a line");
    assert_eq!(place("hang"), ("clamp.c", 3), "without such a frame, the function");
    assert_eq!(place("unreached-branch"), ("clamp.c", 9));
    assert_eq!(place("exception-overflow"), ("src/f.c", 5), "a path relative to the current directory");
}

#[test]
fn a_branch_that_another_function_reaches_is_no_result() {
    let report = example::report();
    let mut other = example::report();
    other.sites[3].branches[0].status = Status::Covered;
    let count = |reports: &[&Report]| {
        let document = of(reports);
        results(&document).iter().filter(|r| r["ruleId"] == rules::UNREACHED).count()
    };
    assert_eq!((count(&[&report]), count(&[&report, &other])), (1, 0));
}
