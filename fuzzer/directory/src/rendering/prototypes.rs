//! Builds the prototypes of functions that reports contain.

use std::fs;

use penfuzz_report::{self as report, Maker, Signature, literal};
use penfuzz_target::{
    inputs::{Decoding, Stub},
    program::{Function, units::unit_of},
};

use super::{limits, memory};

/// The prototype of a function for a report.
#[must_use]
pub fn signature(function: &Function) -> Signature {
    let kind_name = |k: Option<_>| k.map_or_else(String::new, |k| literal::kind_name(k).to_owned());
    let sequence = function.model.as_ref().and_then(|model| model.sequence.as_ref());
    Signature {
        symbol: function.symbol.clone(),
        result: function.result_type.clone(),
        result_kind: if function.result_type == "void" { "void".to_owned() } else { kind_name(function.result_kind) },
        parameters: function
            .parameters
            .iter()
            .map(|p| report::Parameter {
                name: p.name.clone(),
                type_name: p.type_name.clone(),
                // With a model, every parameter has an argument.
                kind: match p.is_output() {
                    true if function.model.is_some() => String::new(),
                    true => report::OUTPUT_KIND.to_owned(),
                    false => kind_name(p.kind),
                },
                pointer: p.pointer,
                size: if function.model.is_some() { 0 } else { p.output_size },
            })
            .collect(),
        file: function.file.clone(),
        unit: unit(function),
        line: function.line,
        is_static: function.is_static,
        inputs: function.model.as_ref().map_or_else(Vec::new, |model| model.described()),
        callbacks: function.model.as_ref().map_or_else(Vec::new, |model| {
            model.stubs.iter().map(|s| kind_name(s.slot.map(|slot| slot.kind))).collect()
        }),
        callback_parameters: function
            .model
            .as_ref()
            .map_or_else(Vec::new, |model| model.stubs.iter().map(callback_parameters).collect()),
        decoding: function.model.as_ref().map(|model| Decoding::of(model)),
        layouts: function.model.as_ref().map_or_else(Vec::new, |model| memory::layouts::all(model)),
        result_layout: function.model.as_ref().and_then(|model| memory::layouts::of_result(model)),
        makers: sequence.map_or_else(Vec::new, |s| s.constructors.iter().map(|call| maker(&call.f)).collect()),
        calls: sequence.map_or(0, |s| s.steps.len()),
        globals: function.model.as_ref().map_or_else(Vec::new, |model| memory::globals(function, model)),
    }
}

fn callback_parameters(stub: &Stub) -> Vec<String> {
    let names = stub.parameters.iter().flatten().map(|kind| kind.map_or(report::POINTER_KIND, literal::kind_name));
    names.map(str::to_owned).collect()
}

/// The source file that includes the file of the definition; empty if that file is itself the source, or if the source
/// does not exist.
fn unit(function: &Function) -> String {
    let unit = unit_of(function);
    let is_other = limits::is_there(unit) && fs::canonicalize(unit).ok() != fs::canonicalize(&function.file).ok();
    if is_other { unit.to_owned() } else { String::new() }
}

fn maker(function: &Function) -> Maker {
    let mut signature = signature(function);
    for p in signature.parameters.iter_mut().filter(|p| p.is_output()) {
        // The function under test has the same values for its output parameters when it has a model.
        (p.kind, p.size) = (String::new(), 0);
    }
    Maker { function: function.name.clone(), signature }
}
