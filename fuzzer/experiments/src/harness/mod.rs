//! The harness that every tool gets: libFuzzer's entry point, which decodes bytes into arguments as penfuzz does.
//!
//! ```c
//! int LLVMFuzzerTestOneInput(const unsigned char *data, unsigned long size);
//! ```
//! The arguments follow one another, little-endian, without padding. The last byte is the rounding mode if that is an
//! input. Missing bytes are zeros; further ones are ignored.
//!
//! For a function that takes structures, arrays, strings, callbacks or standard input there are two files: one that
//! calls it ([`text`]), and the [`decoder`].

mod blocks;

use std::{fmt::Write, path::Path};

use penfuzz_mutators::view::Kind;
use penfuzz_report::{
    Parameter, Report,
    c_text::{callable, comment, identifier, is_cxx},
    literal::kind_named,
};

use super::assumptions;

/// Returns the size of an input in bytes; `None` for a function that takes bytes itself.
#[must_use]
pub fn input_size(report: &Report) -> Option<usize> {
    if penfuzz_testgen::is_byte_harness(report) {
        return None;
    }
    if let Some(decoding) = &report.signature.decoding {
        return Some(decoding.input_size());
    }
    let rounding = usize::from(!report.rounding.is_nearest());
    Some(inputs(report).map(|(_, kind)| kind.size()).sum::<usize>() + rounding)
}

/// Returns the types of the numbers in an input, in order; none for a function that takes bytes itself.
#[must_use]
pub fn kinds(report: &Report) -> Vec<Kind> {
    if let Some(decoding) = &report.signature.decoding {
        return decoding.kinds.iter().flat_map(|(kind, n)| std::iter::repeat_n(*kind, *n)).collect();
    }
    inputs(report).map(|(_, kind)| kind).collect()
}

fn inputs(report: &Report) -> impl Iterator<Item = (&Parameter, Kind)> {
    report.signature.parameters.iter().filter_map(|p| Some((p, kind_named(&p.kind)?)))
}

/// Returns the file name for [`text`].
#[must_use]
pub fn file_name(report: &Report) -> &'static str {
    if report.signature.decoding.is_none()
        && penfuzz_testgen::must_include(report)
        && is_cxx(Path::new(report.signature.source()))
    {
        "harness.cpp"
    } else {
        "harness.c"
    }
}

/// Returns whether the harness includes the source. Then it is compiled in place of it, with its flags and its
/// instrumentation.
#[must_use]
pub fn includes_source(report: &Report) -> bool {
    if report.signature.decoding.is_some() {
        return report.signature.is_static;
    }
    penfuzz_testgen::must_include(report)
}

/// C code that leaves the call when an assumption does not hold. The referee reads the variable. honggfuzz's runtime
/// takes any result other than 0 for an error; libFuzzer and AFL++ take -1 for a rejection.
const REJECTION: &str = "
#include <setjmp.h>
static jmp_buf penfuzz_left;
#ifdef __cplusplus
extern \"C\" {
#endif
extern volatile int penfuzz_was_rejected;
volatile int penfuzz_was_rejected;
extern const char *const LIBHFUZZ_module_instrument __attribute__((weak));
void penfuzz_reject(void) __attribute__((noreturn));
void penfuzz_reject(void)
{
    penfuzz_was_rejected = 1;
    longjmp(penfuzz_left, 1);
}
#ifdef __cplusplus
}
#endif
";

/// Returns the source of the harness; `None` if the function is libFuzzer's entry point itself.
#[must_use]
pub fn text(report: &Report) -> Option<String> {
    let size = input_size(report)?;
    if let Some(decoding) = &report.signature.decoding {
        return Some(blocks::call(report, decoding));
    }
    let mut out = format!(
        "/* {}, called with arguments made of bytes. Written by penfuzz. */\n{}",
        comment(&report.function),
        penfuzz_testgen::symbol_prologue(report)
    );
    if !report.rounding.is_nearest() {
        out.push_str("#include <fenv.h>\n");
    }
    let is_assumed = assumptions::are_in(report);
    if is_assumed {
        out.push_str(REJECTION);
    }
    out.push_str("\n#ifdef __cplusplus\nextern \"C\"\n#endif\n");
    out.push_str("int LLVMFuzzerTestOneInput(const unsigned char *data, __SIZE_TYPE__ size)\n{\n");
    // At least one byte: C has no empty arrays.
    let _ = writeln!(out, "    unsigned char x[{}] = {{0}};", size.max(1));
    let _ = writeln!(out, "    __builtin_memcpy(x, data, size < {size} ? size : {size});");
    if is_assumed {
        let mode = if report.rounding.is_nearest() { "" } else { "fesetround(FE_TONEAREST); " };
        let _ = writeln!(
            out,
            "    penfuzz_was_rejected = 0;\n    if (setjmp(penfuzz_left)) {{ \
             {mode}return &LIBHFUZZ_module_instrument ? 0 : -1; }}"
        );
    }
    out.push_str(&called(report, size));
    out.push_str("    return 0;\n}\n");
    Some(out)
}

/// The file name for [`decoder`].
pub const DECODER: &str = "decode.c";

/// Returns the C source that decodes bytes into arguments and calls the function that [`text`] defines; `None` for a
/// function of numbers or bytes.
#[must_use]
pub fn decoder(report: &Report) -> Option<String> {
    report.signature.decoding.as_ref().map(|decoding| blocks::decoder(report, decoding))
}

/// Checks that a harness can be written.
///
/// # Errors
/// The reason why not.
pub fn check(report: &Report) -> Result<(), &'static str> {
    report.signature.decoding.as_ref().map_or(Ok(()), |decoding| blocks::check(report, decoding))
}

/// Returns the C code of the variables and the call.
fn called(report: &Report, size: usize) -> String {
    let (mut out, mut passed, mut offset) = (String::new(), Vec::new(), 0);
    for (i, parameter) in report.signature.parameters.iter().enumerate() {
        let variable = format!("penfuzz_{}_{}", i + 1, identifier(&parameter.name));
        if parameter.is_output() {
            out.push_str(&penfuzz_testgen::output(penfuzz_testgen::must_include(report), parameter, &variable));
            passed.push(format!("&{variable}"));
        } else if let Some(kind) = kind_named(&parameter.kind) {
            out.push_str(&decoded(report, parameter, kind, &variable, offset));
            passed.push(variable);
            offset += kind.size();
        }
    }
    if report.rounding.is_nearest() {
        let _ = writeln!(out, "    (void){}({});", penfuzz_testgen::symbol_name(report), passed.join(", "));
        return out;
    }
    out.push_str("    static const int modes[4] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};\n");
    let _ = writeln!(out, "    fesetround(modes[x[{}] & 3]);", size - 1);
    if report.reads_environment {
        let _ = writeln!(out, "    if (x[{}] & 4) feraiseexcept(FE_ALL_EXCEPT);", size - 1);
    }
    let _ = writeln!(out, "    (void){}({});", penfuzz_testgen::symbol_name(report), passed.join(", "));
    out.push_str("    fesetround(FE_TONEAREST);\n");
    if report.reads_environment {
        out.push_str("    feclearexcept(FE_ALL_EXCEPT);\n");
    }
    out
}

/// Returns the C code of a variable with the value of an argument, or of its pointee.
fn decoded(report: &Report, parameter: &Parameter, kind: Kind, variable: &str, offset: usize) -> String {
    let type_name = value_type(report, parameter);
    let mut out = if parameter.pointer {
        let n = penfuzz_testgen::cell_values(&parameter.kind);
        format!("    {type_name} {variable}[{n}] = {{0}};\n")
    } else {
        format!("    {type_name} {variable};\n")
    };
    // A _Bool cannot hold an arbitrary byte.
    if kind == Kind::Bool {
        let first = if parameter.pointer { format!("{variable}[0]") } else { variable.to_owned() };
        let _ = writeln!(out, "    {first} = x[{offset}] & 1;");
    } else {
        let at = if parameter.pointer { variable.to_owned() } else { format!("&{variable}") };
        let _ = writeln!(out, "    __builtin_memcpy({at}, x + {offset}, {});", kind.size());
    }
    out
}

/// Returns the C type of the value, without qualifiers.
fn value_type(report: &Report, parameter: &Parameter) -> String {
    if !penfuzz_testgen::must_include(report)
        && let Some(name) = penfuzz_testgen::c_type(&parameter.kind, &parameter.type_name)
    {
        return name.to_owned();
    }
    let name = if parameter.pointer { parameter.pointee() } else { &parameter.type_name };
    let name = name.strip_prefix("const ").unwrap_or(name);
    callable(name.strip_prefix("volatile ").unwrap_or(name))
}

#[cfg(test)]
mod tests;
