//! The grades of crashes: whether the function is likely to be at fault, or its caller.

use penfuzz_report::{Finding, Grade, Report, finding, sources::Sources};
use penfuzz_target::program::Function;

/// Grades the crashes by the likely preconditions that their inputs violate.
pub(super) fn grade(function: &Function, report: &mut Report) {
    let takes_any_input = function.is_harness() || function.is_program();
    let violated: Vec<Vec<String>> = {
        let report = &*report;
        let mut sources = Sources::of(report);
        let mut violated = |crash: &Finding| {
            let is_open = |text: &&String| !expects_null(report, &mut sources, text);
            crash.violates.iter().filter(is_open).cloned().collect()
        };
        report.crashes.iter().map(&mut violated).collect()
    };
    for (crash, violates) in report.crashes.iter_mut().zip(violated) {
        crash.violates = violates;
        let is_confirmed = takes_any_input || crash.confirmed_by().is_some();
        if crash.violates.is_empty() && !is_confirmed {
            crash.violates.extend(finding::made_by(&crash.callers));
        }
        crash.grade = Some(match crash.violates.is_empty() {
            false => Grade::ViolatesPrecondition,
            true if is_confirmed => Grade::Confirmed,
            true => Grade::Plausible,
        });
    }
}

/// Whether the precondition is that a pointer is not null, and the function compares this pointer with null: then it
/// expects that callers pass null, and a crash is its own fault.
fn expects_null<'a>(report: &'a Report, sources: &mut Sources<'a>, precondition: &str) -> bool {
    let Some(pointer) = precondition.strip_suffix(" != NULL") else { return false };
    let is_comparison = |predicate: &str| matches!(predicate, "==" | "!=");
    let sites = report.sites.iter().filter(|s| s.function == report.function && is_comparison(&s.predicate));
    sites.into_iter().any(|site| sources.line(&site.file, site.line).is_some_and(|line| is_operand(line, pointer)))
}

/// Whether a condition in the line tests the pointer itself: `p == NULL`, `!p`, `p &&`.
fn is_operand(line: &str, pointer: &str) -> bool {
    let of_name = |c: char| c.is_alphanumeric() || c == '_';
    let is_null = |text: &str| ["NULL", "nullptr", "0"].into_iter().any(|null| text == null);
    let first = |text: &str| text.trim_start().split(|c| !of_name(c)).next().is_some_and(is_null);
    let last = |text: &str| text.trim_end().rsplit(|c| !of_name(c)).next().is_some_and(is_null);
    line.match_indices(pointer).any(|(at, _)| {
        let (before, after) = (&line[..at], &line[at + pointer.len()..]);
        if before.ends_with(of_name) || after.starts_with(of_name) {
            return false;
        }
        let (before, after) = (before.trim_end(), after.trim_start());
        if before.ends_with(['*', '.']) || before.ends_with("->") {
            return false;
        }
        let operator = |text: &str| text == "==" || text == "!=";
        if after.get(..2).is_some_and(operator) {
            return first(&after[2..]);
        }
        if before.len() >= 2 && before.get(before.len() - 2..).is_some_and(operator) {
            return last(&before[..before.len() - 2]);
        }
        let begins = before.is_empty() || before.ends_with(['(', '!', '|']) || before.ends_with("&&");
        begins && (after.is_empty() || after.starts_with([')', '&', '|', '?']))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_is_compared_with_null() {
        for line in ["if (p == NULL) return;", "if (!p)", "if (n && p)", "while (p && p->next)", "if (NULL != p)", "p"]
        {
            assert!(is_operand(line, "p"), "{line}");
        }
        assert!(is_operand("if (s->next == NULL)", "s->next"));
        for line in [
            "if (*p == 3)",
            "if (p->n)",
            "if (p[0] != 1)",
            "if (s->p == 0)",
            "if (*p == 0)",
            "if (pp == 0)",
            "f(p, 3)",
            "if (p == q)",
            "if (q != p)",
        ] {
            assert!(!is_operand(line, "p"), "{line}");
        }
    }
}
