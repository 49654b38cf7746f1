//! A program that a compiler accepts if and only if it accepts the emitted one. It is compiled to find out which header
//! declares the function.

use penfuzz_mutators::view::Kind;
use penfuzz_report::{
    arg::Arg,
    literal,
    model::{OUTPUT_KIND, Report, Test},
};

use super::{
    cases, formats,
    prologue::{constants, headers, prologue},
};

/// The prologue of the program, and a function that calls the function under test as the emitted tests do: with their
/// variables, or with zeros if they use no types of the project.
#[must_use]
pub fn trial(report: &Report) -> String {
    let mut report = report.clone();
    // The exception type decides the language of the program.
    let throws = report.tests.iter().find_map(|t| t.throws.clone());
    // A header may declare a type that only the source defines.
    let is_needed = |args: &&Vec<Arg>| args.iter().any(|a| a.is_call() || !a.memory.is_empty());
    let all = report.tests.iter().map(|t| &t.args).chain(report.crashes.iter().map(|c| &c.args));
    let mut calls: Vec<_> = all.filter(is_needed).cloned().collect();
    if calls.is_empty() {
        calls.push(zeros(&report));
    }
    report.tests = calls.into_iter().map(|args| Test { args, throws: throws.clone(), ..Test::default() }).collect();
    report.crashes.clear();
    report.goals = penfuzz_engine::saturation::Goals::Branches;
    let cases = cases::all(&report);
    let mut out = prologue(&report, &headers(&report, &cases));
    out.push_str(&constants(&cases));
    out.push_str(formats::VALUES);
    out.push_str("void penfuzz_trial(void);\n\nvoid penfuzz_trial(void)\n{\n");
    for case in &cases {
        out.push_str("  {\n");
        for step in &case.steps {
            out.push_str(&step.variables);
            out.push_str(&step.statement(case.environment.as_ref(), "    "));
        }
        out.push_str(&case.variables);
        out.push_str(&case.call_statements(case.result.as_deref()));
        out.push_str("  }\n");
    }
    out.push_str("}\n");
    out
}

/// A zero argument for each parameter that takes one.
fn zeros(report: &Report) -> Vec<Arg> {
    let parameters = report.signature.parameters.iter().filter(|p| p.kind != OUTPUT_KIND);
    parameters
        .map(|p| {
            let type_name = if p.pointer { p.pointee() } else { &p.type_name };
            literal::arg(&p.name, type_name, literal::kind_named(&p.kind).unwrap_or(Kind::I32), 0)
        })
        .collect()
}
