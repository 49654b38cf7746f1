//! `tests/test_FUNCTION.c`: a program that calls the function under test with the arguments of every emitted test,
//! so that the coverage of a campaign can be had again with nothing but a C compiler and gcov.
//!
//! The program *declares* the function under a name of its own and binds that to the symbol: a compiler then
//! neither takes a `pow` for the one it knows and evaluates the call itself, nor stumbles over the declaration in
//! `<math.h>`. Types are the fixed-width ones of the same size, so no header of the project is needed.
//!
//! It *includes the source file* instead ([`includes_source`]) when there is no other way to call the function: it
//! is `static`, or its result or a parameter has a type that only the project's own headers know.
//!
//! A test whose arguments include a directed rounding mode calls the function in it and restores the default one before
//! it prints anything.
//!
//! Inputs that crash or hang are listed in a comment at the end and not called.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use super::arg::Arg;
use super::c_text::{
    call, callable, comment, decimals, directed_rounding, identifier, is_cxx, is_source, string, with_outputs,
};
use super::format::shell_word;
use super::model::{Finding, Parameter, Report, Signature, Test};
use super::words::Words;

/// The entry point of libFuzzer-style targets; its one argument is a byte buffer.
const BYTE_HARNESS: &str = "LLVMFuzzerTestOneInput";

/// What a parameter points to lies in a whole number of cells of this size.
const CELL_BYTES: usize = 16;

/// The program's file name: `test_FUNCTION.c`, or `.cpp` when it includes a C++ source.
#[must_use]
pub fn file_name(report: &Report) -> String {
    let extension = if includes_source(report) && is_cxx(Path::new(&report.signature.file)) { "cpp" } else { "c" };
    format!("test_{}.{extension}", identifier(&report.function))
}

/// The program includes the source file of the function under test, which therefore must not be linked with it.
#[must_use]
pub fn includes_source(report: &Report) -> bool {
    let signature = &report.signature;
    signature.is_static
        || c_type(&signature.result_kind, &signature.result).is_none() && !is_byte_harness(report)
        || signature.parameters.iter().any(|p| p.kind.is_empty()) && !is_byte_harness(report)
}

/// The text of the program. It needs the standard headers only (and the source file, see [`includes_source`]).
#[must_use]
pub fn program(report: &Report) -> String {
    let mut out = header(report);
    out.push_str(&prologue(report));
    out.push_str(HELPERS);
    out.push_str("\nint main(void)\n{\n");
    for (index, test) in report.tests.iter().enumerate() {
        out.push_str(&block(report, index + 1, test));
    }
    if report.tests.is_empty() {
        out.push_str("  puts(\"no test was emitted\");\n");
    }
    out.push_str("  return 0;\n}\n");
    for (title, findings) in [("Crashes", &report.crashes), ("Hangs", &report.hangs)] {
        out.push_str(&not_called(report, title, findings));
    }
    out
}

fn header(report: &Report) -> String {
    let (b, words) = (&report.branches, Words::of(report.goals));
    format!(
        "/* Tests of {} ({}:{}), emitted by penfuzz (search {}, seed {}).\n * {} {} {} of {} {}. Build, run and \
         see gcov's count:\n *\n *   {}\n */\n",
        comment(&report.function),
        comment(&report.signature.file),
        report.signature.line,
        comment(&report.search),
        report.seed,
        if report.crashes.is_empty() { "They" } else { "They and the crashes at the end" },
        words.done,
        b.covered,
        b.total,
        words.goals,
        comment(&command_line(report)),
    )
}

/// The program is compiled apart from the sources, so that flags meant for these (include directories above all)
/// do not reach it, and it does not show up in gcov's count.
fn command_line(report: &Report) -> String {
    let file = file_name(report);
    let program = format!("test_{}", identifier(&report.function));
    let own = absolute(&report.signature.file);
    let mut sources: Vec<PathBuf> = report.sources.iter().map(|s| absolute(s)).filter(|s| is_source(s)).collect();
    if sources.is_empty() && is_source(&own) {
        sources.push(own.clone());
    }
    let mut libs = report.libs.clone();
    if sources.iter().any(|s| is_cxx(s)) {
        libs.push("-lstdc++".to_owned());
    }
    libs.push("-lm".to_owned());
    let (before, first) = if includes_source(report) {
        sources.retain(|s| !same_file(s, &own));
        (String::new(), file)
    } else {
        (format!("gcc -O0 -c {file} && "), format!("{program}.o"))
    };
    let mut words: Vec<_> = report.flags.iter().map(|f| shell_word(f)).collect();
    if sources.iter().any(|s| defines_main(s)) {
        words.push("-Dmain=program_main".to_owned());
    }
    words.extend(["-O0".to_owned(), "--coverage".to_owned(), first]);
    words.extend(sources.iter().map(|s| shell_word(&s.to_string_lossy())));
    words.extend(libs.iter().map(|l| shell_word(l)));
    format!("{before}gcc {} -o {program} && ./{program} && gcov -b *.gcda", words.join(" "))
}

/// The program may be compiled in another directory than the one the target was compiled in.
fn absolute(path: &str) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| PathBuf::from(path))
}

fn same_file(a: &Path, b: &Path) -> bool {
    a == b || matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

/// The file seems to hold a `main` of its own. (A wrong yes does no harm: the name is changed everywhere.)
pub fn defines_main(source: &Path) -> bool {
    let Ok(text) = std::fs::read_to_string(source) else {
        return false;
    };
    text.match_indices("main").any(|(at, _)| {
        let before = text[..at].chars().next_back();
        text[at + 4..].trim_start().starts_with('(') && !before.is_some_and(|c| c.is_alphanumeric() || c == '_')
    })
}

/// Is the function under test an `LLVMFuzzerTestOneInput`?
#[must_use]
pub fn is_byte_harness(report: &Report) -> bool {
    report.function == BYTE_HARNESS
}

/// Headers, and the function under test: its declaration or its source.
pub fn prologue(report: &Report) -> String {
    if !includes_source(report) {
        let headers = "#include <math.h>\n#include <stdint.h>\n#include <stdio.h>\n";
        return format!("{}{headers}\n{}", environment(report), declaration(report));
    }
    let file = &report.signature.file;
    let path = absolute(file);
    let path = path.to_string_lossy();
    if !is_source(Path::new(file)) || path.contains(['"', '\n', '\r']) {
        let why = format!("the tests must include the source of {}, which is not known", report.function);
        return format!("#include <stdio.h>\n\n#error {}\n", string(&why));
    }
    // Before any header: the source may configure them. A `main` of its own must not be this program's.
    format!(
        "/* The function cannot be called from outside its source file. */\n#define main program_main\n#include \
         \"{path}\"\n#undef main\n{}#include <stdio.h>\n",
        environment(report)
    )
}

/// The header that a test with a rounding mode needs.
fn environment(report: &Report) -> &'static str {
    if report.tests.iter().any(|t| directed_rounding(&t.args).is_some()) { "#include <fenv.h>\n" } else { "" }
}

fn declaration(report: &Report) -> String {
    let signature = &report.signature;
    let name = tested_name(report);
    let symbol = string(if signature.symbol.is_empty() { &report.function } else { &signature.symbol });
    if is_byte_harness(report) {
        return format!("extern int {name}(const uint8_t *, size_t) __asm__({symbol});\n");
    }
    let result = c_type(&signature.result_kind, &signature.result).unwrap_or("void *");
    let parameters: Vec<_> = signature.parameters.iter().map(parameter_type).collect();
    let parameters = if parameters.is_empty() { "void".to_owned() } else { parameters.join(", ") };
    format!("extern {result} {name}({parameters}) __asm__({symbol});\n")
}

/// The name by which the test program calls the function under test.
#[must_use]
pub fn tested_name(report: &Report) -> String {
    if includes_source(report) {
        callable(&report.function)
    } else {
        format!("tested_{}", identifier(&report.function))
    }
}

fn parameter_type(parameter: &Parameter) -> String {
    let value =
        if parameter.is_output() { "void" } else { c_type(&parameter.kind, &parameter.type_name).unwrap_or("void") };
    format!("{value}{}", if parameter.pointer { " *" } else { "" })
}

/// The C type of a kind; `void *` for a result that is any pointer; `None` when it has none.
pub fn c_type(kind: &str, type_name: &str) -> Option<&'static str> {
    Some(match kind {
        "f32" => "float",
        "f64" => "double",
        "i8" => "int8_t",
        "i16" => "int16_t",
        "i32" => "int32_t",
        "i64" => "int64_t",
        "u8" => "uint8_t",
        "u16" => "uint16_t",
        "u32" => "uint32_t",
        "u64" => "uint64_t",
        "bool" => "_Bool",
        "void" => "void",
        _ if type_name.trim_end().ends_with('*') => "void *",
        _ => return None,
    })
}

/// Values print in hex and in decimal, with as many digits as it takes to read them back.
const HELPERS: &str = r#"
#define PENFUZZ_HELPER static __attribute__((unused))

PENFUZZ_HELPER double penfuzz_f64(unsigned long long bits)
{
  union { unsigned long long bits; double value; } both;
  both.bits = bits;
  return both.value;
}

PENFUZZ_HELPER float penfuzz_f32(unsigned bits)
{
  union { unsigned bits; float value; } both;
  both.bits = bits;
  return both.value;
}

PENFUZZ_HELPER void penfuzz_show_float(const char *name, double value)
{
  printf("  %s = %a (%.17g)\n", name, value, value);
}

PENFUZZ_HELPER void penfuzz_show_signed(const char *name, long long value)
{
  unsigned long long size = value < 0 ? 0 - (unsigned long long)value : (unsigned long long)value;
  printf("  %s = %s0x%llx (%lld)\n", name, value < 0 ? "-" : "", size, value);
}

PENFUZZ_HELPER void penfuzz_show_unsigned(const char *name, unsigned long long value)
{
  printf("  %s = 0x%llx (%llu)\n", name, value, value);
}
"#;

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
fn block(report: &Report, number: usize, test: &Test) -> String {
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

/// Values of a kind in the 16 bytes that the fuzzer has behind each pointer: a test must not give a function less that
/// writes two values.
pub fn cell_values(kind: &str) -> usize {
    let size = match kind {
        "i8" | "u8" | "bool" => 1,
        "i16" | "u16" => 2,
        "f32" | "i32" | "u32" => 4,
        _ => 8,
    };
    CELL_BYTES / size
}

/// A zeroed variable that the function fills in. Only with the source included is its type known.
pub fn output(report: &Report, parameter: &Parameter, variable: &str) -> String {
    if includes_source(report) {
        let type_name = comment(parameter.pointee());
        return format!("    {type_name} {variable};\n    __builtin_memset(&{variable}, 0, sizeof {variable});\n");
    }
    let size = parameter.size.next_multiple_of(CELL_BYTES);
    let shown = comment(parameter.pointee());
    format!("    union {{ unsigned char bytes[{size}]; long double align; }} {variable} = {{{{0}}}}; /* {shown} */\n")
}

fn shown_call(signature: &Signature, called: &str) -> String {
    let shown = show(&signature.result_kind, "result", called);
    if shown.is_empty() { format!("    (void){called};\n") } else { shown }
}

/// The call and nothing else happens in the rounding mode: printing rounds too.
fn rounded_call(signature: &Signature, called: &str, mode: &str) -> String {
    let mode = comment(mode);
    let shown = show(&signature.result_kind, "result", "result");
    let result = match c_type(&signature.result_kind, &signature.result).filter(|_| !shown.is_empty()) {
        Some(result) => format!("{result} result = {called}"),
        None => format!("(void){called}"),
    };
    format!("    fesetround({mode});\n    {result};\n    fesetround(FE_TONEAREST);\n{shown}")
}

/// Type and value of the variable for an argument. With the source included the project's own names are known, and
/// must be used: `long *` and `long long *` are different types.
fn initializer(report: &Report, parameter: &Parameter, arg: &Arg) -> (String, String) {
    let value = if arg.decimal.contains("nan") || arg.decimal.contains("inf") {
        let (kind, suffix) = if parameter.kind == "f32" { ("f32", "U") } else { ("f64", "ULL") };
        format!("penfuzz_{kind}({}{suffix})", arg.bits)
    } else {
        arg.hex.clone()
    };
    if includes_source(report) {
        let type_name = comment(&arg.type_name);
        let cast = format!("({type_name}){value}");
        return (type_name, cast);
    }
    (c_type(&parameter.kind, &parameter.type_name).unwrap_or("void *").to_owned(), value)
}

fn bytes_call(report: &Report, number: usize, test: &Test) -> String {
    let hex = test.args.first().map_or("{}", |arg| arg.hex.as_str());
    // C has no empty initializer before C23.
    let (hex, size) = if hex == "{}" { ("{0}", "0") } else { (hex, "sizeof data") };
    let title = string(&format!("{number}: {}", test.file));
    let called = show("i32", "result", &format!("{}(data, {size})", tested_name(report)));
    format!("    static const unsigned char data[] = {hex};\n    puts({title});\n{called}")
}

fn not_called(report: &Report, title: &str, findings: &[Finding]) -> String {
    if findings.is_empty() {
        return String::new();
    }
    let mut out = format!("\n/* {title}, not called above:\n");
    for finding in findings {
        let what = comment(&format!("{} in {} ({})", finding.reason, finding.place, finding.file));
        let call = comment(&call(report, &finding.args));
        let _ = writeln!(out, " *\n * {what}\n *   {call}; with {}", comment(&decimals(&finding.args)));
    }
    out.push_str(" */\n");
    out
}

#[cfg(test)]
#[path = "unit_test_tests.rs"]
mod tests;
