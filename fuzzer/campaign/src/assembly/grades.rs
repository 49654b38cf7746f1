//! The grades of crashes: whether the function is likely to be at fault, or its caller.

use penfuzz_report::{
    Finding, Grade, Report, finding,
    sources::{Sources, place},
};
use penfuzz_target::program::Function;

/// Grades the crashes by the likely preconditions that their inputs violate.
pub(super) fn grade(function: &Function, report: &mut Report) {
    let takes_any_input = function.is_harness() || function.is_program();
    let violated: Vec<Vec<String>> = {
        let report = &*report;
        let mut sources = Sources::of(report);
        let mut violated = |crash: &Finding| {
            let is_open = |text: &&String| !expects_null(report, &mut sources, text);
            let mut violates: Vec<String> = crash.violates.iter().filter(is_open).cloned().collect();
            if !takes_any_input && crash.callers.is_empty() {
                violates.extend(asserted(report, &mut sources, crash).filter(|text| !violates.contains(text)));
            }
            violates
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

/// The condition of the assertion at the head of the function that fails: what it states about its arguments. Failures
/// of assertions about what the function has computed are its own.
fn asserted<'a>(report: &'a Report, sources: &mut Sources<'a>, crash: &Finding) -> Option<String> {
    crash.place.strip_prefix(&report.function)?.strip_prefix(" (")?;
    let (file, line) = place(&crash.place).filter(|_| crash.reason.starts_with("SIGABRT"))?;
    let known = report.sites.iter().map(|s| &s.file).chain([&report.signature.file]);
    let file = known.into_iter().find(|known| *known == file)?;
    let own = report.sites.iter().filter(|s| s.function == report.function && s.file == *file && s.line < line);
    for site in own {
        condition(sources.line(file, site.line)?)?;
    }
    let condition = condition(sources.line(file, line)?)?;
    let is_parameter = |name: &str| report.signature.parameters.iter().any(|p| p.name == name);
    variables(condition).all(is_parameter).then(|| condition.to_owned())
}

/// The names of variables in a condition. Members, functions, numbers and names in capitals are none.
fn variables(condition: &str) -> impl Iterator<Item = &str> {
    let is_of_name = |c: char| c.is_alphanumeric() || c == '_';
    let words = condition.split(move |c| !is_of_name(c)).filter(|word| !word.is_empty());
    words.filter(move |word| {
        let at = word.as_ptr() as usize - condition.as_ptr() as usize;
        let (before, after) = (condition[..at].trim_end(), condition[at + word.len()..].trim_start());
        let is_member = before.ends_with('.') || before.ends_with("->");
        let is_constant = word.starts_with(|c: char| c.is_ascii_digit()) || !word.contains(char::is_lowercase);
        !is_member && !is_constant && !after.starts_with('(')
    })
}

/// The condition that a line asserts, if it does nothing else.
fn condition(line: &str) -> Option<&str> {
    let (_, condition) = line
        .trim()
        .strip_suffix(");")?
        .split_once("assert(")
        .filter(|(before, _)| before.chars().all(|c| c.is_alphanumeric() || c == '_'))?;
    Some(condition.trim())
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
    fn a_line_with_an_assertion_only_has_a_condition() {
        assert_eq!(condition("  assert(n > f(2));"), Some("n > f(2)"));
        assert_eq!(condition("my_assert( p );"), Some("p"));
        assert_eq!(condition("if (n) assert(p);"), None);
        assert_eq!(condition("check(p);"), None);
    }

    #[test]
    fn variables_are_no_members_functions_or_constants() {
        assert_eq!(variables("p->n < MOST && !is_open(q.next) && i[3] != NULL").collect::<Vec<_>>(), ["p", "q", "i"]);
    }

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
