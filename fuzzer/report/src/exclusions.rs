//! Writes a patch of the sources whose comments exclude proved branches from the counts of coverage tools.
//!
//! lcov and gcovr ignore the branches of a line that has a marker in a comment. The marker hides all branches of the
//! line, so a line gets one only if each of its untaken branches is proved unreachable. llvm-cov has no markers; use
//! lcov on the output of `llvm-cov export -format=lcov`.

use std::{collections::BTreeMap, fmt::Write, path::Path};

use super::model::Report;

/// A coverage tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    /// `LCOV_EXCL_BR_LINE`.
    Lcov,
    /// `GCOVR_EXCL_BR_LINE`.
    Gcovr,
}

impl Tool {
    const fn marker(self) -> &'static str {
        match self {
            Self::Lcov => "LCOV_EXCL_BR_LINE",
            Self::Gcovr => "GCOVR_EXCL_BR_LINE",
        }
    }
}

/// A patch, and the lines that it cannot mark.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exclusions {
    /// A unified diff for `patch -p0`; empty if no line gets a marker.
    pub patch: String,
    /// Lines that get no marker although a branch on them is proved unreachable, with the reason: `file.c:12: …`.
    pub left_out: Vec<String>,
}

/// The untaken branches of one source line.
#[derive(Default)]
struct Line {
    /// The query files of the proved branches.
    proofs: Vec<String>,
    /// Number of branches that no input takes and that are not proved unreachable.
    unproved: usize,
}

/// Writes the markers for the proved branches of `report`, whose proof files are in `dir`. File names below `root` are
/// relative to it, because `patch` rejects others.
#[must_use]
pub fn of(report: &Report, dir: &Path, root: &Path, tool: Tool) -> Exclusions {
    let mut files: BTreeMap<&str, BTreeMap<u32, Line>> = BTreeMap::new();
    for (site, branch) in report.sites.iter().flat_map(|s| s.branches.iter().map(move |b| (s, b))) {
        let line = files.entry(&site.file).or_default().entry(site.line).or_default();
        match &branch.proof {
            Some(proof) if proof.is_proved() => line.proofs.push(dir.join(&proof.file).display().to_string()),
            _ if branch.status.is_untaken() => line.unproved += 1,
            _ => {}
        }
    }
    let mut all = Exclusions::default();
    for (file, mut lines) in files {
        lines.retain(|_, line| !line.proofs.is_empty());
        if !lines.is_empty() {
            add_file(&mut all, file, &lines, root, tool);
        }
    }
    all
}

fn add_file(all: &mut Exclusions, file: &str, lines: &BTreeMap<u32, Line>, root: &Path, tool: Tool) {
    let name = Path::new(file).strip_prefix(root).unwrap_or(Path::new(file)).display();
    let Ok(text) = std::fs::read_to_string(file) else {
        all.left_out.extend(lines.keys().map(|n| format!("{file}:{n}: the file cannot be read")));
        return;
    };
    let source: Vec<&str> = text.split('\n').collect();
    let mut hunks = String::new();
    for (number, line) in lines {
        let old = (*number as usize).checked_sub(1).and_then(|n| source.get(n));
        match old.ok_or("there is no such line").and_then(|old| marked(old, line, tool)) {
            Ok((old, new)) => {
                let _ = write!(hunks, "@@ -{number} +{number} @@\n-{old}\n+{new}\n");
            }
            Err(why) => all.left_out.push(format!("{file}:{number}: {why}")),
        }
    }
    if !hunks.is_empty() {
        let _ = write!(all.patch, "--- {name}\n+++ {name}\n{hunks}");
    }
}

/// Returns a line before and after the change, or why it cannot be marked.
fn marked<'a>(old: &'a str, line: &Line, tool: Tool) -> Result<(&'a str, String), &'static str> {
    if line.unproved > 0 {
        return Err("other branches of the line are not taken and not proved");
    }
    if old.contains(tool.marker()) {
        return Err("it already has a marker");
    }
    let code = old.trim_end_matches('\r');
    if is_comment_open(code) {
        return Err("a comment begins on it and does not end there");
    }
    let (code, continued) = code.strip_suffix('\\').map_or((code, ""), |code| (code.trim_end(), " \\"));
    let end = if old.ends_with('\r') { "\r" } else { "" };
    Ok((old, format!("{code} /* {}: {} */{continued}{end}", tool.marker(), line.proofs.join(", "))))
}

/// Returns whether a comment is open at the end of the line. Only the line itself is considered.
fn is_comment_open(line: &str) -> bool {
    match line.rfind("/*") {
        Some(begin) => !line[begin..].contains("*/"),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        example,
        proof::{Proof, Verdict},
    };

    /// The example with source `text`, whose last untaken branch is proved.
    fn proved(dir: &Path, text: &str) -> Report {
        let mut report = example::report();
        let file = dir.join("clamp.c");
        std::fs::write(&file, text).unwrap();
        for site in &mut report.sites {
            site.file = file.display().to_string();
            for branch in site.branches.iter_mut().filter(|b| b.status.is_untaken()) {
                let proof = Proof { verdict: Verdict::Proved, file: "proofs/a.smt2".to_owned(), ..Proof::missing("") };
                branch.proof = Some(proof);
            }
        }
        report
    }

    #[test]
    fn a_line_whose_untaken_branches_are_proved_gets_a_marker() {
        let dir = tempfile::tempdir().unwrap();
        let text = "line;\n".repeat(60);
        let report = proved(dir.path(), &text);
        let found = of(&report, Path::new("out"), dir.path(), Tool::Gcovr);
        let lines: Vec<_> = found.patch.lines().filter(|l| l.starts_with('+') && !l.starts_with("+++")).collect();
        assert!(!lines.is_empty() && found.left_out.is_empty(), "{found:?}");
        assert!(found.patch.starts_with("--- clamp.c\n+++ clamp.c\n@@ "), "{found:?}");
        assert!(lines.iter().all(|l| l.ends_with("; /* GCOVR_EXCL_BR_LINE: out/proofs/a.smt2 */")), "{lines:?}");
    }

    #[test]
    fn a_line_with_another_untaken_branch_gets_none() {
        let dir = tempfile::tempdir().unwrap();
        let text = "line;\n".repeat(60);
        let mut report = proved(dir.path(), &text);
        for site in &mut report.sites {
            let mut other = site.branches[0].clone();
            (other.proof, other.status) = (None, crate::Status::Uncovered);
            site.branches.push(other);
        }
        let found = of(&report, Path::new("out"), dir.path(), Tool::Lcov);
        assert!(found.patch.is_empty() && found.left_out.iter().all(|l| l.contains("not proved")), "{found:?}");
        assert!(!found.left_out.is_empty());
    }

    #[test]
    fn code_without_a_line_gets_none() {
        let dir = tempfile::tempdir().unwrap();
        let mut report = proved(dir.path(), "line;\n");
        report.sites.iter_mut().for_each(|site| site.line = 0);
        let found = of(&report, Path::new("out"), dir.path(), Tool::Lcov);
        assert!(found.patch.is_empty() && found.left_out.len() == 1, "{found:?}");
    }

    #[test]
    fn comments_and_continued_lines() {
        let line = Line { proofs: vec!["p".to_owned()], unproved: 0 };
        let after = |old| marked(old, &line, Tool::Lcov).map(|(_, new)| new);
        assert_eq!(after("if (x) \\").as_deref(), Ok("if (x) /* LCOV_EXCL_BR_LINE: p */ \\"));
        assert_eq!(after("if (x)\r").as_deref(), Ok("if (x) /* LCOV_EXCL_BR_LINE: p */\r"));
        assert_eq!(after("if (x) /* a */").as_deref(), Ok("if (x) /* a */ /* LCOV_EXCL_BR_LINE: p */"));
        assert!(after("if (x) /* a").is_err());
        assert!(after("if (x) // LCOV_EXCL_BR_LINE").is_err());
    }
}
