//! Declares the function under test with its symbol as an assembler name. The harnesses of other fuzzers need this:
//! they are compiled at optimization levels at which a compiler would evaluate a call of a function such as `pow` as
//! the built-in one. Emitted tests, which users commit, do not contain it.

use std::path::Path;

use penfuzz_report::{
    c_text::{callable, identifier, string},
    model::{Parameter, Report},
};

use super::{c_type, is_byte_harness, prologue::including};

/// Returns whether the function can only be called from code that includes its source: it is `static`, or its result or
/// a parameter has a type that only the project's own headers define.
#[must_use]
pub fn must_include(report: &Report) -> bool {
    let signature = &report.signature;
    signature.is_static
        || c_type(&signature.result_kind, &signature.result).is_none() && !is_byte_harness(report)
        || signature.parameters.iter().any(|p| p.kind.is_empty()) && !is_byte_harness(report)
}

/// The headers, and the declaration or the source of the function under test.
#[must_use]
pub fn symbol_prologue(report: &Report) -> String {
    if must_include(report) {
        return including(report, Path::new(report.signature.source()), "");
    }
    format!("#include <math.h>\n#include <stdint.h>\n#include <stdio.h>\n\n{}", declaration(report))
}

fn declaration(report: &Report) -> String {
    let signature = &report.signature;
    let name = symbol_name(report);
    let symbol = string(if signature.symbol.is_empty() { &report.function } else { &signature.symbol });
    if is_byte_harness(report) {
        return format!("extern int {name}(const uint8_t *, size_t) __asm__({symbol});\n");
    }
    let result = c_type(&signature.result_kind, &signature.result).unwrap_or("void *");
    let parameters: Vec<_> = signature.parameters.iter().map(parameter_type).collect();
    let parameters = if parameters.is_empty() { "void".to_owned() } else { parameters.join(", ") };
    format!("extern {result} {name}({parameters}) __asm__({symbol});\n")
}

/// The name by which the harness calls the function under test.
#[must_use]
pub fn symbol_name(report: &Report) -> String {
    if must_include(report) { callable(&report.function) } else { format!("tested_{}", identifier(&report.function)) }
}

fn parameter_type(parameter: &Parameter) -> String {
    let value =
        if parameter.is_output() { "void" } else { c_type(&parameter.kind, &parameter.type_name).unwrap_or("void") };
    format!("{value}{}", if parameter.pointer { " *" } else { "" })
}
