//! The body of the program: one block per test, with the variables, the call and what it prints.

use std::fmt::Write;

use super::{
    includes_source, is_byte_harness,
    prologue::{c_type, cell_values, output, tested_name},
};
use crate::report::{
    arg::Arg,
    c_text::{call, comment, directed_rounding, identifier, numbers, string, with_outputs},
    model::{Parameter, Report, Signature, Test},
    words::Words,
};

/// Functions that print values in hex and in decimal, with as many digits as it takes to read them back.
pub(super) const HELPERS: &str = include_str!("helpers.c");

fn show(kind: &str, label: &str, value: &str) -> String {
    let helper = match kind {
        "f32" | "f64" => "float",
        "i8" | "i16" | "i32" | "i64" => "signed",
        "u8" | "u16" | "u32" | "u64" | "bool" => "unsigned",
        _ => return String::new(),
    };
    format!("    penfuzz_show_{helper}({}, {value});\n", string(label))
}

/// One test as a block of `main`. Arguments go through variables: a call with constants could be evaluated by
/// the compiler.
pub(super) fn block(report: &Report, number: usize, test: &Test) -> String {
    let words = Words::of(report.goals);
    let mut out =
        format!("  {{ /* {}, {} {}: {} */\n", comment(&test.file), words.goals, words.done, test.covers.len());
    if is_byte_harness(report) {
        out.push_str(&bytes_call(report, number, test));
    } else {
        out.push_str(&typed_call(report, number, test));
    }
    out.push_str("  }\n");
    out
}

fn typed_call(report: &Report, number: usize, test: &Test) -> String {
    let (mut out, mut after, mut passed) = (String::new(), String::new(), Vec::new());
    for (i, (parameter, arg)) in with_outputs(&report.signature, &test.args).enumerate() {
        let Some(parameter) = parameter else { continue };
        let Some(arg) = arg else {
            let variable = format!("out{}_{}", i + 1, identifier(&parameter.name));
            out.push_str(&output(report, parameter, &variable));
            passed.push(format!("&{variable}"));
            continue;
        };
        let variable = format!("in{}_{}", i + 1, identifier(&arg.name));
        let (type_name, value) = initializer(report, parameter, arg);
        if parameter.pointer {
            let shown = comment(&format!("*{} = {}", arg.name, arg.decimal));
            let n = cell_values(&parameter.kind);
            let _ = writeln!(out, "    {type_name} {variable}[{n}] = {{{value}}}; /* {shown} */");
            after.push_str(&show(&parameter.kind, &format!("*{}", arg.name), &format!("{variable}[0]")));
        } else {
            let shown = comment(&format!("{} = {}", arg.name, arg.decimal));
            let _ = writeln!(out, "    {type_name} {variable} = {value}; /* {shown} */");
        }
        passed.push(variable);
    }
    let title = format!("{number}: {}", call(report, &test.args));
    let _ = writeln!(out, "    puts({});", string(&title));
    let called = format!("{}({})", tested_name(report), passed.join(", "));
    out.push_str(&match directed_rounding(&test.args) {
        Some(mode) => rounded_call(&report.signature, &called, mode),
        None => shown_call(&report.signature, &called),
    });
    out + &after
}

fn shown_call(signature: &Signature, called: &str) -> String {
    let shown = show(&signature.result_kind, "result", called);
    if shown.is_empty() { format!("    (void){called};\n") } else { shown }
}

/// The call and nothing else happens in the rounding mode: printing rounds too.
fn rounded_call(signature: &Signature, called: &str, mode: &str) -> String {
    let mode = identifier(mode);
    let shown = show(&signature.result_kind, "result", "result");
    let result = match c_type(&signature.result_kind, &signature.result).filter(|_| !shown.is_empty()) {
        Some(result) => format!("{result} result = {called}"),
        None => format!("(void){called}"),
    };
    format!("    fesetround({mode});\n    {result};\n    fesetround(FE_TONEAREST);\n{shown}")
}

/// Type and value of the variable for an argument. When the source is included, the types must be the project's
/// own: `long *` and `long long *` are different types.
fn initializer(report: &Report, parameter: &Parameter, arg: &Arg) -> (String, String) {
    let value = if arg.decimal.contains("nan") || arg.decimal.contains("inf") {
        let (kind, suffix) = if parameter.kind == "f32" { ("f32", "U") } else { ("f64", "ULL") };
        format!("penfuzz_{kind}({}{suffix})", numbers(&arg.bits))
    } else {
        numbers(&arg.hex).to_owned()
    };
    if includes_source(report) {
        let type_name = comment(&arg.type_name);
        let cast = format!("({type_name}){value}");
        return (type_name, cast);
    }
    (c_type(&parameter.kind, &parameter.type_name).unwrap_or("void *").to_owned(), value)
}

fn bytes_call(report: &Report, number: usize, test: &Test) -> String {
    let hex = test.args.first().map_or("{}", |arg| numbers(&arg.hex));
    // C has no empty initializer before C23.
    let (hex, size) = if hex == "{}" || !hex.starts_with('{') { ("{0}", "0") } else { (hex, "sizeof data") };
    let title = string(&format!("{number}: {}", test.file));
    let called = show("i32", "result", &format!("{}(data, {size})", tested_name(report)));
    format!("    static const unsigned char data[] = {hex};\n    puts({title});\n{called}")
}
