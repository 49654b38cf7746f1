//! `coverage.lcov`: a tracefile of the branches in scope, for `genhtml --branch-coverage`, editors and services.
//!
//! A count is the number of emitted tests that take a branch, not of evaluations; a covered branch counts at least 1. A
//! branch that only inputs that crash or hang take is not covered: it counts 0. A comment after its record (a line that
//! begins with `#`, which readers skip) names it: `# only by inputs that crash: BRDA:LINE,BLOCK,BRANCH`. Only lines
//! that contain a site, and the first line of the function under test, have a `DA` record. For other functions in
//! scope, the line of the first site is given as the line of the definition. The format cannot express a line break in
//! a name, so names are written as on the terminal.

use std::{collections::BTreeMap, fmt::Write};

use penfuzz_system::console::shown;

use super::model::{Branch, BranchIndex, Report, Site, Status};

/// The text of the tracefile: one record per source file, files by name, lines ascending.
#[must_use]
pub fn tracefile(report: &Report) -> String {
    let mut out = String::new();
    for (file, record) in &records(report) {
        record.print(file, &mut out);
    }
    out
}

/// The counts of each source file; other formats use them too.
pub(super) fn records(report: &Report) -> BTreeMap<&str, Record> {
    let mut files: BTreeMap<&str, Record> = BTreeMap::new();
    let signature = &report.signature;
    if !signature.file.is_empty() {
        files.entry(&signature.file).or_default().enter(&report.function, signature.line, report.tests.len());
    }
    let taken = taken_by_tests(report);
    for (site, counts) in report.sites.iter().zip(&taken).filter(|(site, _)| !site.file.is_empty()) {
        files.entry(&site.file).or_default().add(site, counts);
    }
    files
}

/// For each branch of each site, the number of emitted tests that take it; at least 1 if it is covered.
fn taken_by_tests(report: &Report) -> Vec<Vec<usize>> {
    let covered = |b: &Branch| usize::from(matches!(b.status, Status::Covered | Status::Saturated));
    let floor = |site: &Site| site.branches.iter().map(covered).collect::<Vec<_>>();
    let mut counts: Vec<_> = report.sites.iter().map(|s| vec![0; s.branches.len()]).collect();
    for &BranchIndex { site, branch } in report.tests.iter().flat_map(|t| &t.covers) {
        if let Some(count) = counts.get_mut(site).and_then(|c: &mut Vec<usize>| c.get_mut(branch)) {
            *count += 1;
        }
    }
    for (counts, site) in counts.iter_mut().zip(&report.sites) {
        for (count, floor) in counts.iter_mut().zip(floor(site)) {
            *count = (*count).max(floor);
        }
    }
    counts
}

/// The record of one source file.
#[derive(Default)]
pub(super) struct Record {
    /// Maps the displayed name to the line and the number of calls.
    pub functions: BTreeMap<String, (u32, usize)>,
    /// Maps a line to one entry per site on it: the counts of its branches.
    pub branches: BTreeMap<u32, Vec<Vec<usize>>>,
    /// As `branches`: why a branch does not count as taken although some run took it.
    remarks: BTreeMap<u32, Vec<Vec<Option<&'static str>>>>,
    /// Maps a line to its count.
    pub lines: BTreeMap<u32, usize>,
}

impl Record {
    fn enter(&mut self, function: &str, line: u32, count: usize) {
        self.call(function, line, count);
        self.pass(line, count);
    }

    fn call(&mut self, function: &str, line: u32, count: usize) {
        if line > 0 {
            let known = self.functions.entry(shown(function).into_owned()).or_insert((line, 0));
            known.1 = known.1.max(count);
        }
    }

    fn add(&mut self, site: &Site, counts: &[usize]) {
        let passes: usize = counts.iter().sum();
        self.call(&site.function, site.line, passes);
        self.pass(site.line, passes);
        if site.line > 0 {
            self.branches.entry(site.line).or_default().push(counts.to_vec());
            self.remarks.entry(site.line).or_default().push(site.branches.iter().map(remark).collect());
        }
    }

    fn pass(&mut self, line: u32, count: usize) {
        // In debug information, line 0 is an unknown line.
        if line > 0 {
            let known = self.lines.entry(line).or_default();
            *known = (*known).max(count);
        }
    }

    fn print(&self, file: &str, out: &mut String) {
        let _ = writeln!(out, "TN:penfuzz\nSF:{}", shown(file));
        for (name, (line, _)) in &self.functions {
            let _ = writeln!(out, "FN:{line},{name}");
        }
        for (name, (_, count)) in &self.functions {
            let _ = writeln!(out, "FNDA:{count},{name}");
        }
        let hit = self.functions.values().filter(|(_, count)| *count > 0).count();
        let _ = writeln!(out, "FNF:{}\nFNH:{hit}", self.functions.len());
        for (line, blocks) in &self.branches {
            for (block, counts) in blocks.iter().enumerate() {
                print_block(*line, block, counts, out);
            }
        }
        let all = || self.branches.values().flatten().flatten();
        let _ = writeln!(out, "BRF:{}\nBRH:{}", all().count(), all().filter(|count| **count > 0).count());
        for (line, blocks) in &self.remarks {
            for (block, remarks) in blocks.iter().enumerate() {
                for (branch, remark) in remarks.iter().enumerate().filter_map(|(k, r)| Some((k, (*r)?))) {
                    let _ = writeln!(out, "# {remark}: BRDA:{line},{block},{branch}");
                }
            }
        }
        for (line, count) in &self.lines {
            let _ = writeln!(out, "DA:{line},{count}");
        }
        let hit = self.lines.values().filter(|count| **count > 0).count();
        let _ = writeln!(out, "LF:{}\nLH:{hit}\nend_of_record", self.lines.len());
    }
}

fn remark(branch: &Branch) -> Option<&'static str> {
    match branch.status {
        Status::CoveredByCrash => Some("only by inputs that crash"),
        Status::DependsOnEarlierCalls => Some("depends on earlier calls"),
        Status::DependsOnUninitialized => Some("depends on uninitialized memory"),
        Status::WithoutTest => Some("its test does not build or fails"),
        _ => None,
    }
}

/// Writes the branches of a site. A count of `-` means that the site was never reached.
fn print_block(line: u32, block: usize, counts: &[usize], out: &mut String) {
    let reached = counts.iter().any(|count| *count > 0);
    for (branch, count) in counts.iter().enumerate() {
        let taken = if reached { count.to_string() } else { "-".to_owned() };
        let _ = writeln!(out, "BRDA:{line},{block},{branch},{taken}");
    }
}

#[cfg(test)]
mod tests {
    use super::super::example;
    use super::*;

    #[test]
    fn the_example() {
        insta::assert_snapshot!(tracefile(&example::report()), @"
        TN:penfuzz
        SF:/src/clamp.c
        FN:3,clamp
        FNDA:3,clamp
        FNF:1
        FNH:1
        BRDA:5,0,0,1
        BRDA:5,0,1,2
        BRDA:7,0,0,0
        BRDA:7,0,1,2
        BRDA:9,0,0,1
        BRDA:9,0,1,1
        BRDA:9,1,0,0
        BRDA:9,1,1,1
        BRF:8
        BRH:6
        # only by inputs that crash: BRDA:7,0,0
        DA:3,3
        DA:5,3
        DA:7,2
        DA:9,2
        LF:4
        LH:4
        end_of_record
        ");
    }

    #[test]
    fn a_site_that_was_never_reached_has_no_counts() {
        let mut report = example::report();
        report.tests.clear();
        report.sites.truncate(1);
        for branch in &mut report.sites[0].branches {
            branch.status = Status::Uncovered;
        }
        let text = tracefile(&report);
        assert!(text.contains("BRDA:5,0,0,-\nBRDA:5,0,1,-\nBRF:2\nBRH:0\n"), "{text}");
    }

    #[test]
    fn a_branch_that_depends_on_earlier_calls_is_not_hit() {
        let mut report = example::report();
        report.tests.clear();
        report.sites[0].branches[0].status = Status::DependsOnEarlierCalls;
        let text = tracefile(&report);
        assert!(text.contains("BRDA:5,0,0,0\nBRDA:5,0,1,1\n"), "{text}");
        assert!(text.contains("# depends on earlier calls: BRDA:5,0,0\n"), "{text}");
    }

    #[test]
    fn sites_without_a_place_are_left_out() {
        let mut report = example::report();
        report.sites[0].line = 0;
        report.sites[1].file.clear();
        report.sites[2].file = "/src/a\nb.h".to_owned();
        let text = tracefile(&report);
        assert!(!text.contains(":0,"), "{text}");
        assert!(text.starts_with("TN:penfuzz\nSF:/src/a\\nb.h\n"), "{text}");
        assert_eq!(text.matches("end_of_record").count(), 2);
    }
}
