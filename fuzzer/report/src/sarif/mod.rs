//! `--sarif FILE`: findings with their places in the source, in the Static Analysis Results Interchange Format, version
//! 2.1.0 (OASIS). GitHub's code scanning shows them next to the changed lines.
//!
//! A result is a crash, a hang, a floating-point exception, or a branch that no input takes. Paths are relative to the
//! root of the sources ([`SourceRoot`]), base `SRCROOT` of the document. A file outside the root has an absolute URI.

mod rules;

use std::collections::BTreeSet;

use penfuzz_system::console::shown;
use serde_json::{Value, json};

use super::{
    c_text::{call, decimals},
    exceptions::Find,
    exceptions_text,
    format::uri,
    model::{Branch, Finding, Report, Site},
    source_root::SourceRoot,
    sources::{Sources, place},
    uncovered::explain,
};

/// Name of the base URI in the document.
const ROOT: &str = "SRCROOT";

/// The document for these campaigns, indented, with a final newline. A branch that one campaign does not reach but
/// another takes is not a result.
#[must_use]
pub fn document(reports: &[&Report], root: &SourceRoot) -> String {
    let taken = taken(reports);
    let mut results = Vec::new();
    for report in reports {
        results.extend(report.crashes.iter().map(|f| finding(report, f, "crash", root)));
        results.extend(report.hangs.iter().map(|f| finding(report, f, "hang", root)));
        let finds = report.exceptions.iter().flat_map(|e| &e.finds);
        results.extend(finds.map(|find| exception(report, find, root)));
        if report.goals.include_branches() {
            results.extend(unreached(report, &taken, root));
        }
    }
    let document = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "penfuzz",
                "version": env!("CARGO_PKG_VERSION"),
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules::all(),
            }},
            "originalUriBaseIds": { ROOT: { "uri": directory_uri(root) } },
            "results": results,
        }],
    });
    format!("{document:#}\n")
}

fn finding(report: &Report, finding: &Finding, rule: &str, root: &SourceRoot) -> Value {
    let frames = std::iter::once(&finding.place).chain(&finding.stack);
    // Frames of libraries have no line.
    let (file, line) =
        frames.map(String::as_str).find_map(place).unwrap_or((report.signature.file.as_str(), report.signature.line));
    let remarks = finding.dependence().map(str::to_owned).into_iter().chain(finding.confirmation());
    let remarks = remarks.map(|remark| format!(" ({remark})")).collect::<Vec<_>>().concat();
    let text = format!("{} in {}: {};{remarks}", finding.reason, finding.place, call(report, &finding.args));
    let mut result = result(rule, &text, &location(root, file, line, 0, &report.function));
    result["properties"] = json!({ "input": finding.file, "arguments": decimals(&finding.args) });
    if let Some(grade) = finding.grade {
        result["properties"]["grade"] = json!(grade);
    }
    if finding.existed_in.is_some() {
        result["baselineState"] = json!("unchanged");
    }
    if !finding.counts() {
        result["level"] = json!("note");
        result["properties"]["violates"] = json!(finding.violates);
    }
    result
}

fn exception(report: &Report, find: &Find, root: &SourceRoot) -> Value {
    let text = exceptions_text::of(report, find);
    let lines: Vec<_> = text.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
    let location = location(root, &find.file, find.line, find.column, &find.function);
    result(rules::of_exception(find.exception), &lines.join("; "), &location)
}

/// The uncovered branches that no campaign takes.
fn unreached<'a>(report: &'a Report, taken: &BTreeSet<Key<'a>>, root: &SourceRoot) -> Vec<Value> {
    let mut sources = Sources::of(report);
    let mut results = Vec::new();
    for site in &report.sites {
        for branch in site.branches.iter().filter(|b| b.is_open() && !taken.contains(&key(site, b))) {
            let condition = sources.condition(site);
            let explained = explain(report, site, branch);
            let text = format!("No input takes the outcome {} of `{condition}`: {explained}", branch.outcome);
            let location = location(root, &site.file, site.line, site.column, &site.function);
            results.push(result(rules::UNREACHED, &text, &location));
        }
    }
    results
}

/// File, line, column and outcome, which identify a branch across campaigns.
type Key<'a> = (&'a str, u32, u32, &'a str);

fn key<'a>(site: &'a Site, branch: &'a Branch) -> Key<'a> {
    (&site.file, site.line, site.column, &branch.outcome)
}

fn taken<'a>(reports: &[&'a Report]) -> BTreeSet<Key<'a>> {
    let sites = reports.iter().flat_map(|report| &report.sites);
    sites.flat_map(|s| s.branches.iter().filter(|b| !b.is_open()).map(move |b| key(s, b))).collect()
}

fn result(rule: &str, text: &str, location: &Value) -> Value {
    json!({
        "ruleId": rule,
        "ruleIndex": rules::index(rule),
        "level": rules::level(rule),
        "message": { "text": shown(text) },
        "locations": [location],
    })
}

/// A location in the document. Without a file it names only the function.
fn location(root: &SourceRoot, file: &str, line: u32, column: u32, function: &str) -> Value {
    let mut location = json!({ "logicalLocations": [{ "name": shown(function), "kind": "function" }] });
    if !file.is_empty() {
        let artifact = match root.relative(file) {
            Some(path) => json!({ "uri": uri(&path.to_string_lossy()), "uriBaseId": ROOT }),
            None => json!({ "uri": format!("file://{}", uri(&root.absolute(file).to_string_lossy())) }),
        };
        let mut physical = json!({ "artifactLocation": artifact });
        // In debug information, line 0 and column 0 are unknown.
        if line > 0 {
            physical["region"] = if column > 0 {
                json!({ "startLine": line, "startColumn": column })
            } else {
                json!({ "startLine": line })
            };
        }
        location["physicalLocation"] = physical;
    }
    location
}

fn directory_uri(root: &SourceRoot) -> String {
    let path = uri(&root.path().to_string_lossy());
    format!("file://{}/", path.trim_end_matches('/'))
}

#[cfg(test)]
#[path = "sarif_tests.rs"]
mod tests;
