//! The prototype of a function with structures whose definitions the program lacks.

use penfuzz_report::{
    c_text::with_outputs,
    literal::kind_named,
    model::{Parameter, Report},
};

use super::{mirror, prologue::spelled_type};

/// How a parameter or result is passed that is neither a number nor a pointer to one.
pub(super) enum PassedAs {
    /// As an address.
    Address,
    /// As a structure, with the index of its layout.
    Structure(usize),
    /// As a number of this type.
    Number(String),
}

/// Types of `<stdint.h>` and `<stddef.h>`, which the program includes.
const STANDARD: [&str; 11] = [
    "int8_t",
    "int16_t",
    "int32_t",
    "int64_t",
    "uint8_t",
    "uint16_t",
    "uint32_t",
    "uint64_t",
    "size_t",
    "intptr_t",
    "uintptr_t",
];

/// Returns whether the program can declare the function. It cannot declare a `static` one, which has no name outside
/// its source.
pub(super) fn is_possible(report: &Report) -> bool {
    let signature = &report.signature;
    let is_alike = |passed: Option<PassedAs>| match passed {
        Some(PassedAs::Address | PassedAs::Number(_)) => true,
        Some(PassedAs::Structure(index)) => {
            mirror::is_passed_alike(&signature.layouts[index], super::formats::format_of(report).is_cxx)
        }
        None => false,
    };
    let is_number = |kind: &str| kind == "void" || kind_named(kind).is_some();
    !signature.is_static
        && (is_number(&signature.result_kind) || is_alike(of_result(report)))
        && signature
            .parameters
            .iter()
            .enumerate()
            .all(|(i, p)| is_number(&p.kind) || is_alike(of_parameter(report, i, p)))
}

/// How the result is passed, if it is not a number.
pub(super) fn of_result(report: &Report) -> Option<PassedAs> {
    let signature = &report.signature;
    if signature.result.trim_end().ends_with('*') {
        return Some(PassedAs::Address);
    }
    structure(report, signature.result_layout)
}

/// How a parameter is passed, if it is not a number.
pub(super) fn of_parameter(report: &Report, i: usize, p: &Parameter) -> Option<PassedAs> {
    if p.pointer || p.is_output() || p.type_name.trim_end().ends_with(['*', '&']) {
        return Some(PassedAs::Address);
    }
    if spelled_type(&p.type_name) || STANDARD.contains(&p.type_name.as_str()) {
        return Some(PassedAs::Number(p.type_name.clone()));
    }
    let test = report.tests.iter().map(|t| &t.args).chain(report.crashes.iter().map(|c| &c.args)).next()?;
    let arg = with_outputs(&report.signature, test).nth(i)?.1?;
    let memory = arg.memory.last()?;
    let is_value = memory.elements.is_none() && arg.hex == memory.name;
    if is_value { structure(report, memory.layout) } else { Some(PassedAs::Address) }
}

fn structure(report: &Report, layout: Option<usize>) -> Option<PassedAs> {
    let index = layout.filter(|i| report.signature.layouts.get(*i).is_some_and(|l| l.kind == "structure"))?;
    Some(PassedAs::Structure(index))
}
