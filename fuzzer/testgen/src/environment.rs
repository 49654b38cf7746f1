//! Functions that a verification task takes from its environment, as functions of the test program.
//! `__VERIFIER_nondet_int()` returns the numbers of the test one after the other, and then 0.

use std::fmt::Write;

use penfuzz_report::{
    arg::Arg,
    c_text::{identifier, initializer},
    model::Report,
};

use super::access::{Access, is_cxx_program};

const PREFIX: &str = "__VERIFIER_nondet_";

/// The suffix of such a name: `int` for `__VERIFIER_nondet_int`.
#[must_use]
pub fn suffix(function: &str) -> &str {
    function.strip_prefix(PREFIX).unwrap_or(function)
}

/// The C result type of such a function, as `runtime/streams.c` of the compiler wrapper defines it.
#[must_use]
pub fn type_of(function: &str) -> &'static str {
    match suffix(function) {
        "bool" => "_Bool",
        "char" => "char",
        "schar" | "s8" | "S8" => "signed char",
        "uchar" | "u8" | "U8" => "unsigned char",
        "short" | "s16" | "S16" => "short",
        "ushort" | "u16" | "U16" => "unsigned short",
        "uint" | "unsigned" | "u32" | "U32" => "unsigned int",
        "float" => "float",
        "double" => "double",
        "long" | "ssize_t" | "s64" | "S64" => "long",
        "ulong" | "size_t" | "u64" | "U64" => "unsigned long",
        "longlong" | "loff_t" => "long long",
        "ulonglong" => "unsigned long long",
        _ => "int",
    }
}

/// The definitions of the functions that the code under test takes from its environment.
pub(super) fn definitions(report: &Report) -> String {
    report.provided.iter().map(|name| definition(report, &identifier(name))).collect()
}

fn definition(report: &Report, name: &str) -> String {
    let linkage = if is_cxx_program(report) { "extern \"C\" " } else { "" };
    let none = if is_cxx_program(report) { "" } else { "void" };
    let (state, result, parameters, body) = if name.starts_with(PREFIX) {
        let (of, kind) = (suffix(name), type_in(report, name));
        let state = format!(
            "\n/* The remaining results of {name}, and their number; after them it returns 0. */\nstatic const {kind} \
             *penfuzz_{of};\nstatic unsigned penfuzz_n_{of};\n"
        );
        (state, kind, none, format!("return penfuzz_n_{of} ? penfuzz_n_{of}--, *penfuzz_{of}++ : 0;"))
    } else if name == "__VERIFIER_assume" {
        (String::new(), "void".to_owned(), "int holds", "if (!holds) __builtin_abort();".to_owned())
    } else {
        (String::new(), "void".to_owned(), none, "__builtin_abort();".to_owned())
    };
    let mut out = state;
    let mut own = name.to_owned();
    if Access::of(report) == Access::Source {
        // The included source may declare it with another type.
        own = format!("penfuzz_as_{}", name.trim_start_matches('_'));
        let _ = write!(out, "\n{linkage}{result} {own}({parameters}) __asm__(\"{name}\");");
    }
    let _ = write!(out, "\n{linkage}{result} {own}({parameters})\n{{\n  {body}\n}}\n");
    out
}

fn type_in(report: &Report, function: &str) -> String {
    if is_cxx_program(report) { type_of(function).replace("_Bool", "bool") } else { type_of(function).to_owned() }
}

/// The statements that set the results for a test.
pub(super) fn results(report: &Report, args: &[Arg]) -> String {
    let is_defined = |a: &&Arg| a.is_results() && report.provided.contains(&a.name);
    args.iter().filter(is_defined).map(|arg| given(report, arg)).collect()
}

fn given(report: &Report, arg: &Arg) -> String {
    let name = identifier(&arg.name);
    let of = suffix(&name);
    let Some(memory) = arg.memory.first() else { return format!("    penfuzz_n_{of} = 0;\n") };
    let variable = identifier(&memory.name);
    let (kind, n) = (type_in(report, &name), memory.elements.unwrap_or(0));
    format!(
        "    const {kind} {variable}[] = {};\n    penfuzz_{of} = {variable};\n    penfuzz_n_{of} = {n};\n",
        initializer(&memory.value)
    )
}
