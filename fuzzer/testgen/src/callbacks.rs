//! The functions that the function under test receives as callbacks. Each returns the value that the test has set,
//! counts its calls, and keeps the numbers that it received for the checks after the call.

use std::fmt::Write;

use penfuzz_report::{
    c_text::initializer,
    literal::{c_keywords, kind_named},
    model::{POINTER_KIND, Report},
};

use crate::access::is_cxx_program;

/// The callbacks and their variables.
pub(super) fn definitions(report: &Report) -> String {
    let callbacks = &report.signature.callbacks;
    let types = if callbacks.is_empty() { "" } else { "#include <stdint.h>\n" };
    types.to_owned() + &callbacks.iter().enumerate().map(|(i, kind)| definition(report, i, kind)).collect::<String>()
}

/// The statements that set what callback `i` returns, and the number of its calls to 0.
pub(super) fn setting(report: &Report, i: usize, value: &str) -> String {
    let mut text = String::new();
    if !value.is_empty() {
        let _ = writeln!(text, "    penfuzz_value{i} = {};", initializer(value));
    }
    if is_checked(report, &calls(i)) {
        let _ = writeln!(text, "    {} = 0;", calls(i));
    }
    text
}

fn definition(report: &Report, i: usize, kind: &str) -> String {
    let type_name = type_of(report, kind).unwrap_or_else(|| "long".to_owned());
    let mut text = format!("\nstatic {type_name} penfuzz_value{i};\n");
    let counts = is_checked(report, &calls(i));
    if counts {
        let _ = writeln!(text, "static int {};", calls(i));
    }
    let (mut parameters, mut statements) = (Vec::new(), String::new());
    let known = report.signature.callback_parameters.get(i).filter(|_| counts);
    for (n, kind) in known.into_iter().flatten().enumerate() {
        let (name, variable) = (format!("argument{}", n + 1), received(i, n));
        let parameter = if kind == POINTER_KIND { Some("const void *".to_owned()) } else { type_of(report, kind) };
        let Some(parameter) = parameter else { break };
        if is_checked(report, &variable) {
            let _ = writeln!(text, "static {parameter} {variable};");
            let _ = writeln!(statements, "  {variable} = {name};");
        } else {
            let _ = writeln!(statements, "  (void){name};");
        }
        parameters.push(format!("{parameter}{}{name}", if parameter.ends_with('*') { "" } else { " " }));
    }
    let is_unknown = parameters.is_empty() && is_cxx_program(report);
    let parameters = if is_unknown { "...".to_owned() } else { parameters.join(", ") };
    let count = if counts { format!("  {}++;\n", calls(i)) } else { String::new() };
    let _ = write!(text, "static {type_name} penfuzz_stub{i}({parameters})\n{{\n{count}{statements}");
    text + &format!("  return penfuzz_value{i};\n}}\n")
}

/// The C type of a number; `None` for anything else.
fn type_of(report: &Report, kind: &str) -> Option<String> {
    let type_name = c_keywords(kind_named(kind)?);
    Some(if is_cxx_program(report) { type_name.replace("_Bool", "bool") } else { type_name.to_owned() })
}

fn calls(i: usize) -> String {
    penfuzz_report::arg::received_calls(i)
}

fn received(i: usize, parameter: usize) -> String {
    penfuzz_report::arg::received(i, parameter)
}

/// Whether a test checks this variable.
fn is_checked(report: &Report, variable: &str) -> bool {
    let places = report.tests.iter().flat_map(|test| &test.outputs).filter_map(|output| output.place.as_ref());
    places.into_iter().any(|place| place.expression == variable)
}
