//! A program that a compiler accepts if and only if it accepts the emitted one: to find out which header declares the function.

use super::{
    cases,
    prologue::{constants, headers, prologue},
};
use crate::report::{
    arg::Arg,
    literal,
    model::{OUTPUT_KIND, Report, Test},
};
use penfuzz_mutators::view::Kind;

/// The prologue of the program, and a function that calls the function under test with zeros as the emitted tests would.
#[must_use]
pub fn trial(report: &Report) -> String {
    let mut report = report.clone();
    // In the language of the program.
    let throws = report.tests.iter().find_map(|t| t.throws.clone());
    // The calls of a sequence are those of a test: its makers have objects. Objects of C++ are made of no zero.
    let is_needed = |a: &Arg| a.is_call() || a.memory.iter().any(|m| m.object.is_some());
    let of_test = report.tests.first().filter(|t| t.args.iter().any(is_needed)).map(|t| t.args.clone());
    report.tests = vec![Test { args: of_test.unwrap_or_else(|| zeros(&report)), throws, ..Test::default() }];
    report.crashes.clear();
    report.goals = penfuzz_engine::saturation::Goals::Branches;
    let cases = cases::all(&report);
    let mut out = prologue(&report, &headers(&report, &cases, &[]));
    out.push_str(&constants(&cases));
    out.push_str("void penfuzz_trial(void);\n\nvoid penfuzz_trial(void)\n{\n");
    for case in &cases {
        for step in &case.steps {
            out.push_str(&step.variables);
            out.push_str(&step.statement(case.mode.as_deref(), "    "));
        }
        out.push_str(&case.variables);
        out.push_str(&case.call_in_its_environment(case.result.as_deref()));
    }
    out.push_str("}\n");
    out
}

/// An argument for each parameter that takes one.
fn zeros(report: &Report) -> Vec<Arg> {
    let parameters = report.signature.parameters.iter().filter(|p| p.kind != OUTPUT_KIND);
    parameters
        .map(|p| {
            let type_name = if p.pointer { p.pointee() } else { &p.type_name };
            literal::arg(&p.name, type_name, literal::kind_named(&p.kind).unwrap_or(Kind::I32), 0)
        })
        .collect()
}
