//! Parts that the programs of all frameworks share: head, helpers, and the body of a test.

use std::fmt::Write;

use penfuzz_report::{
    c_text::{comment, string},
    model::Report,
};

use super::{format_of, support};
use crate::{
    cases::{Case, Ending, with_environment},
    checks::{Check, Kind, Label},
    head, not_called,
    prologue::{constants, headers, prologue},
    result,
    streams::entry,
};

/// The parts that a framework adds.
pub struct Parts {
    /// The framework's headers.
    pub includes: &'static str,
    /// Writes one test.
    pub test: fn(&Report, &Case) -> String,
    /// Writes the code that runs the tests; empty if the framework's library runs them.
    pub main: fn(&Report, &[Case]) -> String,
}

/// Functions that run a call in a child process and return how it ended.
pub const CHILD: &str = concat!(include_str!("../fork.c"), "\n", include_str!("../child.c"));

/// The helpers of a framework: those that all frameworks share, and its own with the macro `PENFUZZ_EXPECT`, which
/// takes a difference.
macro_rules! helpers {
    ($own:expr, $children:expr) => {
        $crate::formats::support::Helpers {
            checks: &[include_str!("../values.c"), include_str!("../words.c"), include_str!("../differences.c"), $own],
            children: $children,
            exits: "",
            throws: include_str!("../throws.cc"),
        }
    };
}
pub(super) use helpers;

/// The macro `PENFUZZ_EXPECT` of a framework whose function `fail` takes a format and its arguments.
macro_rules! expect_with {
    ($fail:literal) => {
        concat!(
            "\n#define PENFUZZ_EXPECT(difference) \\\n",
            "  do { \\\n",
            "    const char *penfuzz_difference = (difference); \\\n",
            "    if (penfuzz_difference) ",
            $fail,
            "(\"%s\", penfuzz_difference); \\\n",
            "  } while (0)\n"
        )
    };
}
pub(super) use expect_with;

/// The text of a program.
pub fn program(report: &Report, cases: &[Case], parts: &Parts) -> String {
    let mut out = head(report);
    out.push_str(&prologue(report, &headers(report, cases)));
    if cases.is_empty() {
        let _ = write!(out, "\n{}\n{{\n  puts(\"no test was emitted\");\n  return 0;\n}}\n", entry(report, ""));
        return out + &not_called(report);
    }
    let support = support::including(format_of(report), report.ulp, cases);
    let _ = writeln!(out, "{}{support}{}", parts.includes, constants(cases));
    let tests: Vec<_> = cases.iter().map(|case| (parts.test)(report, case)).collect();
    out.push_str(&tests.join("\n"));
    out.push_str(&(parts.main)(report, cases));
    out + &not_called(report)
}

/// The title of a test, as a comment before it.
pub fn title(case: &Case) -> String {
    format!("/* {}\n * {} */\n", case.title, comment(&case.shown))
}

/// Variables, call and checks of a test that returns.
pub fn returning(case: &Case, integer: fn(&Check, &str) -> String) -> String {
    let mut out = steps(case, &|check| asserted(check, integer)) + &case.variables;
    if let Some(type_name) = &case.throws {
        return out + &throwing(case, type_name) + "    PENFUZZ_EXPECT(difference);\n";
    }
    if let Some(table) = &case.table {
        return out + &table.statements(&|check| asserted(check, integer));
    }
    out.push_str(&called(case));
    for check in &case.checks {
        out.push_str(&asserted(check, integer));
    }
    out
}

/// The calls of a sequence before the last one, with the checks of their results.
fn steps(case: &Case, asserted: &dyn Fn(&Check) -> String) -> String {
    let mut out = String::new();
    for (i, step) in case.steps.iter().enumerate() {
        out.push_str(&step.variables);
        if step.errno {
            out.push_str(&step.call_block(case.environment.as_ref(), asserted));
            continue;
        }
        let checked = step.checks.first().filter(|c| c.expected.is_some()).zip(step.result.as_ref());
        match checked {
            Some((check, type_name)) => {
                let name = format!("result{}", i + 1);
                let called = format!("{type_name} {name} = {}", step.call);
                out.push_str(&with_environment(case.environment.as_ref(), "    ", &called));
                out.push_str(&asserted(&Check { value: name, ..check.clone() }));
            }
            None => out.push_str(&step.statement(case.environment.as_ref(), "    ")),
        }
    }
    out
}

/// A call that must throw; the code sets the variable `difference`.
fn throwing(case: &Case, type_name: &str) -> String {
    let line = |statements: &str| format!("    {statements}\n");
    let (before, after) = case.environment.as_ref().map_or_else(Default::default, |e| (line(&e.set), line(&e.restore)));
    format!(
        "    const char *difference = \"it returned, and did not throw\";\n{before}    try {{\n      (void){};\n    \
         }} catch (...) {{\n      difference = penfuzz_thrown_differs({});\n    }}\n{after}",
        case.call,
        string(type_name)
    )
}

/// The call in its environment. Its checked values are in the variables `result` and `error`.
fn called(case: &Case) -> String {
    let is_looked_at = case.checks.iter().any(|c| c.is_of_result() && c.expected.is_some());
    let result = case.result.as_ref().filter(|_| is_looked_at);
    let call = &case.call;
    if !case.errno && case.environment.is_none() {
        return match result {
            Some(type_name) => format!("    {} = {call};\n", result::declared(type_name)),
            None => format!("    (void){call};\n"),
        };
    }
    case.call_statements(result.map(String::as_str))
}

/// The assertion of a value; empty if nothing is expected.
fn asserted(check: &Check, integer: fn(&Check, &str) -> String) -> String {
    // Not every framework shows a label with its own assertions, and a row of a table is known by its label.
    let has_name = matches!(check.label, Label::Text(_));
    match (&check.expected, &check.kind) {
        (None, _) => String::new(),
        (Some(expected), Kind::Signed | Kind::Unsigned) if has_name => format!("    {}\n", integer(check, expected)),
        (Some(_), _) => difference(check, "PENFUZZ_EXPECT"),
    }
}

/// A call of `expect` with the difference between a value and the expected one.
fn difference(check: &Check, expect: &str) -> String {
    let Some(expected) = &check.expected else { return String::new() };
    let (label, value) = (check.label.expression(), &check.value);
    let kind = match check.kind {
        Kind::F32 => "f32",
        Kind::F64 => "f64",
        Kind::Signed => "signed",
        Kind::Unsigned => "unsigned",
        Kind::Words(n) => {
            let name = format!("expected_{}", value.trim_start_matches('&'));
            return format!(
                "    static const unsigned long long {name}[] = {expected};\n    \
                 {expect}(penfuzz_words_differ({label}, {value}, {name}, {n}));\n"
            );
        }
    };
    format!("    {expect}(penfuzz_{kind}_differs({label}, {value}, {expected}));\n")
}

/// The statements of the call alone, in its environment.
pub fn bare_call(case: &Case, indent: &str) -> String {
    let set = case.environment.as_ref().map_or(String::new(), |e| format!("{indent}{}\n", e.set));
    format!("{set}{indent}(void){};\n", case.call)
}

/// The body of a test in a framework that runs all tests in one process.
pub fn body(case: &Case, integer: fn(&Check, &str) -> String) -> String {
    if case.own_process {
        let mut inner = steps(case, &|check| difference(check, "penfuzz_in_child_expect")) + &case.variables;
        if let Some(type_name) = &case.throws {
            inner.push_str(&throwing(case, type_name));
            inner.push_str("    penfuzz_in_child_expect(difference);\n");
        } else {
            inner.push_str(&called(case));
            for check in &case.checks {
                inner.push_str(&difference(check, "penfuzz_in_child_expect"));
            }
        }
        let inner: String = inner.lines().flat_map(|line| ["  ", line, "\n"]).collect();
        let end = ended(integer, "penfuzz_end_of_child()", "0");
        return format!("    if (penfuzz_in_child()) {{\n{inner}      penfuzz_end_child();\n    }}\n{end}");
    }
    let (value, expected) = match case.ending {
        Ending::Return => return returning(case, integer),
        Ending::Exit(status) => ("penfuzz_end_of_child()".to_owned(), status.to_string()),
        Ending::Signal { name, must: true } => {
            ("penfuzz_end_of_child()".to_owned(), format!("PENFUZZ_SIGNAL + {name}"))
        }
        Ending::Signal { name, must: false } => {
            (format!("penfuzz_end_after_fault({name})"), format!("PENFUZZ_SIGNAL + {name}"))
        }
    };
    let call = bare_call(case, "      ");
    if case.runs_whole_in_child() {
        let bare: String = case.steps.iter().map(|step| step.bare(case.environment.as_ref())).collect();
        let variables: String = case.variables.lines().flat_map(|line| ["  ", line, "\n"]).collect();
        return format!(
            "    if (penfuzz_in_child()) {{\n{bare}{variables}{call}      penfuzz_returned();\n    }}\n{}",
            ended(integer, &value, &expected)
        );
    }
    format!(
        "{}    if (penfuzz_in_child()) {{\n{call}      penfuzz_returned();\n    }}\n{}",
        case.variables,
        ended(integer, &value, &expected)
    )
}

fn ended(integer: fn(&Check, &str) -> String, value: &str, expected: &str) -> String {
    let check = Check {
        label: Label::Text("end of the child".to_owned()),
        value: value.to_owned(),
        kind: Kind::Signed,
        expected: Some(expected.to_owned()),
    };
    format!("    {}\n", integer(&check, expected))
}

/// The `main` function with these statements.
pub fn main(report: &Report, statements: &str) -> String {
    format!("\n{}\n{{\n{statements}}}\n", entry(report, ""))
}
