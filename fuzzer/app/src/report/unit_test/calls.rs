//! The body of the program: one block per test, with the variables, the call and what it checks.

use std::fmt::Write;

use super::{
    includes_source, is_byte_harness, keeps_state,
    prologue::{address, c_type, cell_values, output, spelled, tested_name},
};
use crate::report::{
    arg::Arg,
    c_text::{call, comment, directed_rounding, identifier, numbers, string, with_outputs},
    model::{End, Finding, Parameter, Report, Test},
    words::Words,
};

/// Functions that print values in hex and in decimal, with as many digits as it takes to read them back, and compare them with
/// what is expected.
pub(super) const HELPERS: &str = include_str!("helpers.c");

/// Functions that run a call in a child process and check how it ends.
pub(super) const CHILDREN: &str = include_str!("children.c");

/// A function that checks the type of what was thrown.
pub(super) const THROWS: &str = include_str!("throws.cc");

/// An `_exit` that writes gcov's counts.
pub(super) const EXITS: &str = include_str!("exits.c");

/// The signals by which an emitted test may expect to die. A fault of memory is undefined behaviour: another compiler's program
/// may go on, so that only the others must occur again.
const SIGNALS: [(&str, bool); 6] =
    [("SIGABRT", true), ("SIGFPE", true), ("SIGILL", true), ("SIGTRAP", true), ("SIGBUS", false), ("SIGSEGV", false)];

/// How a call is expected to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    Return,
    Exit(u8),
    Signal { name: &'static str, must: bool },
}

/// The signal that ends a call with these arguments, and whether it must occur again; `None` for a crash that no test program can
/// expect, as one of too much memory.
fn signal(finding: &Finding) -> Option<(&'static str, bool)> {
    SIGNALS.into_iter().find(|(name, _)| finding.reason.contains(name) && !finding.args.is_empty())
}

/// Is the crash an expected failure, with a block of its own?
pub(super) fn is_expected(finding: &Finding) -> bool {
    signal(finding).is_some()
}

/// A statement that shows a value and compares it with the expected one, if it is known; empty for a value that is no scalar.
fn check(kind: &str, label: &str, value: &str, expected: Option<&Arg>) -> String {
    let (shown, checked) = match kind {
        "f32" => ("float", "f32"),
        "f64" => ("float", "f64"),
        "i8" | "i16" | "i32" | "i64" => ("signed", "signed"),
        "u8" | "u16" | "u32" | "u64" | "bool" => ("unsigned", "unsigned"),
        _ => return String::new(),
    };
    match expected {
        Some(arg) => format!("    penfuzz_check_{checked}({}, {value}, {});\n", string(label), number(kind, arg)),
        None => format!("    penfuzz_show_{shown}({}, {value});\n", string(label)),
    }
}

/// The number of an argument or result as an expression.
fn number(kind: &str, arg: &Arg) -> String {
    if arg.decimal.contains("nan") || arg.decimal.contains("inf") {
        let (kind, suffix) = if kind == "f32" { ("f32", "U") } else { ("f64", "ULL") };
        return format!("penfuzz_{kind}({}{suffix})", numbers(&arg.bits));
    }
    numbers(&arg.hex).to_owned()
}

/// One test as a block of `main`. Arguments go through variables: a call with constants could be evaluated by
/// the compiler.
pub(super) fn block(report: &Report, number: usize, test: &Test) -> String {
    let words = Words::of(report.goals);
    let title = format!("{}, {} {}: {}", comment(&test.file), words.goals, words.done, test.covers.len());
    let ending = test.ends.map_or(Ending::Return, |End::Exit(status)| Ending::Exit(status));
    let block = in_braces(report, &title, number, test, ending);
    if ending == Ending::Return && keeps_state(report) { in_own_process(&block) } else { block }
}

/// A test of a function that keeps values between two calls begins with those of a fresh process.
fn in_own_process(block: &str) -> String {
    format!("  if (penfuzz_in_child()) {{\n{block}    penfuzz_end_child();\n  }}\n  penfuzz_check_child();\n")
}

/// An input that crashes, as an expected failure.
pub(super) fn failing_block(report: &Report, number: usize, finding: &Finding) -> String {
    let Some((name, must)) = signal(finding) else { return String::new() };
    let title = format!(
        "{}, an expected failure: {} in {}",
        comment(&finding.file),
        comment(&finding.reason),
        comment(&finding.place)
    );
    let test = Test { file: finding.file.clone(), args: finding.args.clone(), ..Test::default() };
    in_braces(report, &title, number, &test, Ending::Signal { name, must })
}

fn in_braces(report: &Report, title: &str, number: usize, test: &Test, ending: Ending) -> String {
    let body = if is_byte_harness(report) {
        bytes_call(report, number, test, ending)
    } else {
        typed_call(report, number, test, ending)
    };
    format!("  {{ /* {title} */\n{body}  }}\n")
}

fn typed_call(report: &Report, number: usize, test: &Test, ending: Ending) -> String {
    let (mut out, mut after, mut passed) = (String::new(), String::new(), Vec::new());
    let expected = |name: &str| test.outputs.iter().find(|o| o.name == name);
    for (i, (parameter, arg)) in with_outputs(&report.signature, &test.args).enumerate() {
        let Some(parameter) = parameter else { continue };
        let Some(arg) = arg else {
            let variable = format!("out{}_{}", i + 1, identifier(&parameter.name));
            out.push_str(&output(includes_source(report), parameter, &variable));
            after.push_str(&check_structure(&parameter.name, &variable, expected(&parameter.name)));
            passed.push(address(report, &variable, false));
            continue;
        };
        let variable = format!("in{}_{}", i + 1, identifier(&arg.name));
        let (type_name, value) = initializer(report, parameter, arg);
        if parameter.pointer {
            let shown = comment(&format!("*{} = {}", arg.name, arg.decimal));
            let n = cell_values(&parameter.kind);
            let _ = writeln!(out, "    {type_name} {variable}[{n}] = {{{value}}}; /* {shown} */");
            let (label, left) = (format!("*{}", arg.name), format!("{variable}[0]"));
            after.push_str(&check(&parameter.kind, &label, &left, expected(&parameter.name)));
        } else {
            let shown = comment(&format!("{} = {}", arg.name, arg.decimal));
            let _ = writeln!(out, "    {type_name} {variable} = {value}; /* {shown} */");
        }
        passed.push(if parameter.pointer { address(report, &variable, true) } else { variable });
    }
    let title = format!("{number}: {}", call(report, &test.args));
    let called = format!("{}({})", tested_name(report), passed.join(", "));
    let mode = directed_rounding(&test.args);
    format!("{out}    puts({});\n{}", string(&title), ended_call(report, test, &called, mode, ending, &after))
}

fn check_structure(name: &str, variable: &str, expected: Option<&Arg>) -> String {
    let Some(arg) = expected else { return String::new() };
    let words = numbers(&arg.hex);
    if !words.starts_with('{') {
        return String::new();
    }
    let n = arg.bits.split(' ').count();
    let label = string(&format!("*{name}"));
    format!(
        "    {{\n      static const unsigned long long expected[] = {words};\n      penfuzz_check_words({label}, \
         &{variable}, expected, {n});\n    }}\n"
    )
}

/// The call, and what must hold afterwards: in this process if it returns, else in a child.
fn ended_call(report: &Report, test: &Test, called: &str, mode: Option<&str>, ending: Ending, after: &str) -> String {
    if let Some(type_name) = &test.throws {
        return throwing_call(called, mode, type_name);
    }
    let check_end = match ending {
        Ending::Return => return returning_call(report, test, called, mode) + after,
        Ending::Exit(status) => format!("penfuzz_check_exit({status})"),
        Ending::Signal { name, must } => format!("penfuzz_check_signal({name}, {})", i32::from(must)),
    };
    let mode = mode.map_or(String::new(), |mode| format!("      fesetround({});\n", identifier(mode)));
    format!(
        "    if (penfuzz_in_child()) {{\n{mode}      (void){called};\n      penfuzz_returned();\n    }}\n    {check_end};\n"
    )
}

/// A call from which an exception must come.
fn throwing_call(called: &str, mode: Option<&str>, type_name: &str) -> String {
    let set = |mode: &str| format!("    fesetround({});\n", identifier(mode));
    let (before, after) = mode.map_or_else(Default::default, |mode| (set(mode), set("FE_TONEAREST")));
    let expected = string(type_name);
    format!(
        "{before}    try {{\n      (void){called};\n{after}      penfuzz_not_thrown({expected});\n    }} catch (...) {{\n{after}      \
         penfuzz_check_thrown({expected});\n    }}\n"
    )
}

/// In a directed rounding mode, the call and nothing else happens in it: printing rounds too. `errno` is read before anything else
/// can set it.
fn returning_call(report: &Report, test: &Test, called: &str, mode: Option<&str>) -> String {
    let (kind, type_name) = if is_byte_harness(report) {
        ("i32", "int")
    } else {
        (report.signature.result_kind.as_str(), report.signature.result.as_str())
    };
    let result = test.result.as_ref();
    if mode.is_none() && test.errno.is_none() {
        let checked = check(kind, "result", called, result);
        return if checked.is_empty() { format!("    (void){called};\n") } else { checked };
    }
    let checked = check(kind, "result", "result", result);
    let mut out = String::new();
    if test.errno.is_some() {
        out.push_str("    int error;\n");
    }
    let statement = match c_type(kind, type_name).filter(|_| !checked.is_empty()) {
        Some(result) => {
            let _ = writeln!(out, "    {result} result;");
            format!("result = {called}")
        }
        None => format!("(void){called}"),
    };
    if test.errno.is_some() {
        out.push_str("    errno = 0;\n");
    }
    if let Some(mode) = mode {
        let _ = writeln!(out, "    fesetround({});", identifier(mode));
    }
    let _ = writeln!(out, "    {statement};");
    if test.errno.is_some() {
        out.push_str("    error = errno;\n");
    }
    if mode.is_some() {
        out.push_str("    fesetround(FE_TONEAREST);\n");
    }
    out.push_str(&checked);
    if let Some(errno) = test.errno {
        let _ = writeln!(out, "    penfuzz_check_signed(\"errno\", error, {errno});");
    }
    out
}

/// Type and value of the variable for an argument. When the source is included, the types must be the project's
/// own: `long *` and `long long *` are different types.
fn initializer(report: &Report, parameter: &Parameter, arg: &Arg) -> (String, String) {
    let value = number(&parameter.kind, arg);
    if includes_source(report) {
        let type_name = comment(&arg.type_name);
        let cast = format!("({type_name}){value}");
        return (type_name, cast);
    }
    let type_name = if parameter.pointer { parameter.pointee() } else { &parameter.type_name };
    let type_name = spelled(&parameter.kind, type_name);
    (type_name.strip_prefix("const ").unwrap_or(&type_name).to_owned(), value)
}

fn bytes_call(report: &Report, number: usize, test: &Test, ending: Ending) -> String {
    let hex = test.args.first().map_or("{}", |arg| numbers(&arg.hex));
    // C has no empty initializer before C23.
    let (hex, size) = if hex == "{}" || !hex.starts_with('{') { ("{0}", "0") } else { (hex, "sizeof data") };
    let title = string(&format!("{number}: {}", test.file));
    let called = format!("{}(data, {size})", tested_name(report));
    let ended = ended_call(report, test, &called, None, ending, "");
    format!("    static const unsigned char data[] = {hex};\n    puts({title});\n{ended}")
}
