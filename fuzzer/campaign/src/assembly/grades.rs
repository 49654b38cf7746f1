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
    let mut text = |number| sources.line(file, number).map(str::to_owned);
    for site in own {
        assertion(&mut text, site.line)?;
    }
    let condition = assertion(&mut text, line)?;
    let parameters = &report.signature.parameters;
    if !variables(&condition).all(|name| parameters.iter().any(|p| p.name == name)) {
        return None;
    }
    let is_pointer = parameters.iter().any(|p| p.name == condition && p.pointer);
    Some(if is_pointer { format!("{condition} != NULL") } else { condition })
}

/// The names of variables in a condition. Members, functions, numbers, texts and names in capitals are none.
fn variables(condition: &str) -> impl Iterator<Item = &str> {
    let is_of_name = |c: char| c.is_alphanumeric() || c == '_';
    let words = condition.split('"').step_by(2).flat_map(move |code| code.split(move |c| !is_of_name(c)));
    words.filter(|word| !word.is_empty()).filter(move |word| {
        let at = word.as_ptr() as usize - condition.as_ptr() as usize;
        let (before, after) = (condition[..at].trim_end(), condition[at + word.len()..].trim_start());
        let is_member = before.ends_with('.') || before.ends_with("->");
        let is_constant = word.starts_with(|c: char| c.is_ascii_digit()) || !word.contains(char::is_lowercase);
        !is_member && !is_constant && !after.starts_with('(')
    })
}

/// Maximum number of lines of an assertion.
const LINES: u32 = 4;

/// The condition of the assertion that a line belongs to, if the line does nothing else.
fn assertion(text: &mut dyn FnMut(u32) -> Option<String>, line: u32) -> Option<String> {
    (line.saturating_sub(LINES - 1).max(1)..=line).rev().find_map(|first| {
        let mut statement = String::new();
        for number in first..first + LINES {
            let whole = text(number)?;
            let code = without_comments(&whole);
            statement.push_str(if statement.is_empty() { "" } else { " " });
            statement.push_str(code.trim());
            if code.contains(';') {
                return condition(&statement).filter(|_| number >= line).map(str::to_owned);
            }
        }
        None
    })
}

/// A line without its comments. What looks like a comment within a text is none.
fn without_comments(line: &str) -> String {
    let is_code = |text: &str, at: usize| text[..at].matches('"').count().is_multiple_of(2);
    let start = |text: &str| (0..text.len()).find(|at| is_start(text, *at) && is_code(text, *at));
    let (mut code, mut rest) = (String::new(), line);
    while let Some(at) = start(rest) {
        code.push_str(&rest[..at]);
        let end = rest[at..].starts_with("/*").then(|| rest[at + 2..].find("*/")).flatten();
        rest = end.map_or("", |end| &rest[at + 2 + end + 2..]);
    }
    code + rest
}

/// Whether a comment would start at this byte.
fn is_start(text: &str, at: usize) -> bool {
    let bytes = text.as_bytes();
    bytes[at] == b'/' && matches!(bytes.get(at + 1), Some(b'/' | b'*'))
}

/// The condition that a statement asserts: `assert(...)`, or a macro of a similar name.
fn condition(statement: &str) -> Option<&str> {
    let inner = statement.trim().strip_suffix(");")?;
    let (name, condition) = inner.split_once('(')?;
    let is_name = name.chars().all(|c| c.is_alphanumeric() || c == '_');
    (is_name && name.to_ascii_lowercase().ends_with("assert")).then(|| condition.trim())
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
        assert_eq!(condition("LIB_ASSERT(p);"), Some("p"));
    }

    #[test]
    fn an_assertion_may_have_several_lines_and_a_comment() {
        let lines =
            ["x = 1;", "if (x) assert(p);", "}", "assert(n > 0 && // at least one", "n < 7);", "assert(q); /* q */"];
        let mut text = |number: u32| lines.get(number as usize - 1).map(|line| (*line).to_owned());
        let found: Vec<_> = (1..=6).map(|line| assertion(&mut text, line)).collect();
        let both = Some("n > 0 && n < 7".to_owned());
        assert_eq!(found, [None, None, None, both.clone(), both, Some("q".to_owned())]);
    }

    #[test]
    fn comments_are_removed_and_texts_are_kept() {
        assert_eq!(without_comments("assert(p /* a */ && q); // b"), "assert(p  && q); ");
        assert_eq!(without_comments("assert(is(u, \"http://\")); /* c"), "assert(is(u, \"http://\")); ");
    }

    #[test]
    fn variables_are_no_members_functions_or_constants() {
        assert_eq!(variables("p->n < MOST && !is_open(q.next) && i[3] != NULL").collect::<Vec<_>>(), ["p", "q", "i"]);
        assert_eq!(variables("n && \"n is small\"").collect::<Vec<_>>(), ["n"]);
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
