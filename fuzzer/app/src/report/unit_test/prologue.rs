//! The head of the program: headers, the function under test, and the C types of its parameters.

use std::path::Path;

use super::{command::absolute, has_children, has_exits, includes_source, is_byte_harness};
use crate::report::{
    c_text::{callable, comment, directed_rounding, identifier, is_source, string},
    model::{Parameter, Report},
};

/// The memory behind a pointer parameter is a whole number of cells of this size, as in the fuzzer.
const CELL_BYTES: usize = 16;

/// The headers and the function under test: its declaration or its source.
#[must_use]
pub fn prologue(report: &Report) -> String {
    if !includes_source(report) {
        let headers = "#include <math.h>\n#include <stdint.h>\n#include <stdio.h>\n";
        return format!("{}{headers}\n{}", environment(report), declaration(report));
    }
    let file = &report.signature.file;
    let path = absolute(file);
    let path = path.to_string_lossy();
    if !is_source(Path::new(file)) || path.contains(['"', '\n', '\r']) {
        let why = format!("the tests must include the source of {}, and its path is unknown", report.function);
        return format!("#include <stdio.h>\n\n#error {}\n", string(&why));
    }
    // Before any header: the source may configure them. A `main` of its own must not be this program's.
    format!(
        "/* The function cannot be called from outside its source file. */\n#define main program_main\n#include \
         \"{path}\"\n#undef main\n{}#include <stdio.h>\n",
        environment(report)
    )
}

/// The headers that only some programs need: for rounding modes, `errno`, and child processes. A library under test may have
/// headers of its own by these names.
fn environment(report: &Report) -> String {
    let mut headers = Vec::new();
    if report.tests.iter().any(|t| t.errno.is_some()) {
        headers.push("errno.h");
    }
    if report.tests.iter().any(|t| directed_rounding(&t.args).is_some()) {
        headers.push("fenv.h");
    }
    if has_children(report) {
        headers.extend(["signal.h", "stdlib.h", "sys/wait.h", "unistd.h"]);
    }
    if has_exits(report) {
        headers.push("sys/syscall.h");
    }
    headers.iter().map(|h| format!("#include <{h}>\n")).collect()
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
#[must_use]
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

/// Values of a kind in the 16 bytes that the fuzzer has behind each pointer: a test must not give a function less that
/// writes two values.
#[must_use]
pub fn cell_values(kind: &str) -> usize {
    let size = match kind {
        "i8" | "u8" | "bool" => 1,
        "i16" | "u16" => 2,
        "f32" | "i32" | "u32" => 4,
        _ => 8,
    };
    CELL_BYTES / size
}

/// A zeroed variable that the function fills in. Its type is known only when the source is included.
#[must_use]
pub fn output(report: &Report, parameter: &Parameter, variable: &str) -> String {
    if includes_source(report) {
        let type_name = comment(parameter.pointee());
        return format!("    {type_name} {variable};\n    __builtin_memset(&{variable}, 0, sizeof {variable});\n");
    }
    let size = parameter.size.next_multiple_of(CELL_BYTES);
    let shown = comment(parameter.pointee());
    format!("    union {{ unsigned char bytes[{size}]; long double align; }} {variable} = {{{{0}}}}; /* {shown} */\n")
}
