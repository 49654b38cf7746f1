//! A C program without a framework: `main` has one block per test, with its checks.

use std::fmt::Write;

use penfuzz_report::{
    c_text::{Environment, string},
    model::Report,
    test_format::TestFormat,
};

use super::{
    Format, Library, format_of,
    support::{self, Helpers},
};
use crate::{
    access::is_cxx_program,
    cases::{Case, Ending, Step, with_environment},
    checks::{Check, Kind},
    head, not_called,
    prologue::{constants, headers, prologue},
    result,
    streams::entry,
};

/// The format.
pub static FORMAT: Format = Format {
    format: TestFormat::Plain,
    help: "A separate program without a framework, in the language of the function",
    is_cxx: false,
    library: Library {
        options: "",
        source: "",
        libs: "",
        cmake: "",
        cmake_libs: "",
        meson: "test_framework = declare_dependency()\n",
    },
    helpers: Helpers { checks: &CHECKS, children: CHILDREN, exits: EXITS, throws: THROWS },
    program,
};

/// Functions that print values in hex and in decimal, with enough digits to read them back, and compare them with the
/// expected ones.
const CHECKS: [&str; 3] = [include_str!("../values.c"), include_str!("../words.c"), include_str!("plain_checks.c")];

/// Functions that run a call in a child process and check how it ends.
const CHILDREN: &str = concat!(include_str!("../fork.c"), "\n", include_str!("plain_children.c"));

/// Functions that check the type of a thrown exception.
const THROWS: &str = include_str!("plain_throws.cc");

/// An `_exit` that writes gcov's counts.
const EXITS: &str = include_str!("plain_exits.c");

fn program(report: &Report, cases: &[Case]) -> String {
    let mut out = head(report);
    out.push_str(&prologue(report, &headers(report, cases)));
    let _ = write!(out, "{}{}", support::including(format_of(report), report.ulp, cases), constants(cases));
    let none = if is_cxx_program(report) { "" } else { "void" };
    for case in cases {
        let _ = write!(out, "\n/* {} */\nstatic void test_{}({none})\n{{\n{}}}\n", case.title, case.name, body(case));
    }
    let _ = write!(out, "\n{}\n{{\n", entry(report, none));
    for case in cases {
        let _ = writeln!(out, "  test_{}();", case.name);
    }
    if cases.is_empty() {
        out.push_str("  puts(\"no test was emitted\");\n");
    }
    out.push_str("  if (penfuzz_failures) printf(\"%d checks FAILED\\n\", penfuzz_failures);\n");
    out.push_str("  return penfuzz_failures != 0;\n}\n");
    out + &not_called(report)
}

/// The statements of one test.
fn body(case: &Case) -> String {
    let title = string(&case.shown);
    let body = if case.runs_whole_in_child() {
        format!("    puts({title});\n{}", ended_sequence(case))
    } else {
        format!("{}    puts({title});\n{}", case.variables, ended_call(case))
    };
    if case.own_process { in_own_process(&body) } else { body }
}

/// The statements in a child process, for a function that keeps values between calls: the test begins with the values
/// of a fresh process.
fn in_own_process(body: &str) -> String {
    let body: String = body.lines().flat_map(|line| ["  ", line, "\n"]).collect();
    format!("    if (penfuzz_in_child()) {{\n{body}      penfuzz_end_child();\n    }}\n    penfuzz_check_child();\n")
}

/// All calls of a sequence. If the last call ends the process, all calls run in a child.
fn ended_sequence(case: &Case) -> String {
    let environment = case.environment.as_ref();
    let check_end = match case.ending {
        Ending::Return => {
            let steps: String = case.steps.iter().map(|step| checked_step(step, environment)).collect();
            return format!("{steps}{}{}", case.variables, ended_call(case));
        }
        Ending::Exit(_) | Ending::Signal { .. } => check_end(case.ending),
    };
    let steps: String = case.steps.iter().map(|step| step.bare(environment)).collect();
    let variables: String = case.variables.lines().flat_map(|line| ["  ", line, "\n"]).collect();
    let last = with_environment(environment, "      ", &format!("(void){}", case.call));
    format!(
        "    if (penfuzz_in_child()) {{\n{steps}{variables}{last}      penfuzz_returned();\n    }}\n    {check_end};\n"
    )
}

/// A call before the last one, with its check.
fn checked_step(step: &Step, environment: Option<&Environment>) -> String {
    if step.errno {
        return step.variables.clone() + &step.call_block(environment, &check);
    }
    let Some((result, type_name)) = step.checks.first().zip(step.result.as_ref()) else {
        return format!("{}{}", step.variables, step.statement(environment, "    "));
    };
    if environment.is_none() {
        return step.variables.clone() + &check(&Check { value: step.call.clone(), ..result.clone() });
    }
    let called = with_environment(environment, "      ", &format!("result = {}", step.call));
    format!("{}    {{\n      {type_name} result;\n{called}  {}    }}\n", step.variables, check(result))
}

fn check_end(ending: Ending) -> String {
    match ending {
        Ending::Return => String::new(),
        Ending::Exit(status) => format!("penfuzz_check_exit({status})"),
        Ending::Signal { name, must } => format!("penfuzz_check_signal({name}, {})", i32::from(must)),
    }
}

/// The call with its checks: in this process if it returns, otherwise in a child.
fn ended_call(case: &Case) -> String {
    if let Some(type_name) = &case.throws {
        return throwing_call(case, type_name);
    }
    if case.ending == Ending::Return {
        return returning_call(case);
    }
    let check_end = check_end(case.ending);
    let set = case.environment.as_ref().map_or(String::new(), |e| format!("      {}\n", e.set));
    format!(
        "    if (penfuzz_in_child()) {{\n{set}      (void){};\n      penfuzz_returned();\n    }}\n    {check_end};\n",
        case.call
    )
}

/// A call that must throw.
fn throwing_call(case: &Case, type_name: &str) -> String {
    let line = |statements: &str| format!("    {statements}\n");
    let (before, after) = case.environment.as_ref().map_or_else(Default::default, |e| (line(&e.set), line(&e.restore)));
    let (called, expected) = (&case.call, string(type_name));
    format!(
        "{before}    try {{\n      (void){called};\n{after}      penfuzz_not_thrown({expected});\n    \
         }} catch (...) {{\n{after}      penfuzz_check_thrown({expected});\n    }}\n"
    )
}

/// The call and its checks. If no other statement must run around the call, it is an argument of the check of its
/// result.
fn returning_call(case: &Case) -> String {
    if let Some(table) = &case.table {
        return table.statements(&check);
    }
    let checks = |checks: &[Check]| checks.iter().map(check).collect::<String>();
    if case.environment.is_none() && !case.errno {
        let is_structure = |c: &Check| c.is_of_result() && c.value != "result";
        if let Some(type_name) = case.result.as_ref().filter(|_| case.checks.iter().any(is_structure)) {
            return format!("    {} = {};\n{}", result::declared(type_name), case.call, checks(&case.checks));
        }
        let Some((result, rest)) = case.checks.split_first().filter(|_| case.result.is_some()) else {
            return format!("    (void){};\n{}", case.call, checks(&case.checks));
        };
        return check(&Check { value: case.call.clone(), ..result.clone() }) + &checks(rest);
    }
    case.call_statements(case.result.as_deref()) + &checks(&case.checks)
}

/// A statement that prints a value and compares it with the expected one, if that is known.
fn check(check: &Check) -> String {
    let (label, value) = (check.label.expression(), &check.value);
    let (shown, checked) = match check.kind {
        Kind::F32 => ("float", "f32"),
        Kind::F64 => ("float", "f64"),
        Kind::Signed => ("signed", "signed"),
        Kind::Unsigned => ("unsigned", "unsigned"),
        Kind::Words(n) => {
            let Some(words) = &check.expected else { return String::new() };
            return format!(
                "    {{\n      static const unsigned long long expected[] = {words};\n      \
                 penfuzz_check_words({label}, {value}, expected, {n});\n    }}\n"
            );
        }
    };
    match &check.expected {
        Some(expected) => format!("    penfuzz_check_{checked}({label}, {value}, {expected});\n"),
        None => format!("    penfuzz_show_{shown}({label}, {value});\n"),
    }
}
