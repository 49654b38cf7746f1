//! Tests of plain numbers as one table (`--test-style table`): a row for each test, with its arguments and its expected
//! result, and a loop that calls the function with each row.

use std::fmt::Write;

use penfuzz_report::{
    arg::Arg,
    c_text::{comment, identifier, string, with_outputs},
    model::{Parameter, Report, Test},
};

use super::{
    cases::{self, Case, Ending},
    checks::{Check, Label},
    enumerations, is_byte_harness,
    names::identifier_of,
    prologue::tested_name,
};

/// An argument that is passed by value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Number {
    /// Its type as the program spells it.
    pub type_name: String,
    /// Name of the parameter.
    pub name: String,
    /// The value as an initializer.
    pub value: String,
}

/// A table of tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// Names of the columns for the condition and for the result.
    names: [String; 2],
    /// Types and names of the columns for arguments.
    columns: Vec<(String, String)>,
    /// The rows, as initializers.
    rows: Vec<String>,
    /// The call with the arguments of a row.
    call: String,
    /// The type of the results.
    result: String,
    /// The check of a row's result.
    check: Check,
}

/// The arguments of a test; `None` if one of them is not a number that is passed by value, or if the test checks more
/// than the result.
pub(super) fn numbers(report: &Report, test: &Test) -> Option<Vec<Number>> {
    if is_byte_harness(report) || !test.outputs.is_empty() || test.result.is_none() {
        return None;
    }
    let enumerations = enumerations::of_parameters(report, &report.signature);
    let number = |i: usize, parameter: Option<&Parameter>, arg: Option<&Arg>| {
        let (parameter, arg) = (parameter?, arg?);
        if cases::is_memory(parameter, arg) || parameter.pointer {
            return None;
        }
        let enumeration = enumerations.get(i).and_then(Option::as_deref);
        Some(Number {
            type_name: cases::initializer(report, parameter, arg, enumeration).0,
            name: identifier(&arg.name),
            value: cases::number_passed(report, parameter, arg, enumeration),
        })
    };
    with_outputs(&report.signature, &test.args).enumerate().map(|(i, (p, arg))| number(i, p, arg)).collect()
}

/// The tests, with those that have only numbers as rows of one table. One row alone remains a test.
pub(super) fn joined(report: &Report, cases: Vec<Case>) -> Vec<Case> {
    let (in_rows, mut apart): (Vec<_>, Vec<_>) = cases.into_iter().partition(is_row);
    match table(report, &in_rows) {
        Some(table) => {
            let n = in_rows.len();
            let own = identifier_of(report);
            let Some(first) = in_rows.into_iter().next() else { return apart };
            let title = format!("{n} tests, one in each row");
            let shown = format!("{}, {n} rows", comment(&report.function));
            apart.insert(0, Case { name: format!("{own}_table"), title, shown, table: Some(table), ..first });
            apart
        }
        None => in_rows.into_iter().chain(apart).collect(),
    }
}

fn is_row(case: &Case) -> bool {
    let is_plain = case.variables.is_empty() && case.steps.is_empty() && case.environment.is_none();
    let returns = case.ending == Ending::Return && case.throws.is_none() && !case.errno;
    let has_numbers = case.numbers.as_ref().is_some_and(|numbers| !numbers.is_empty());
    let has_result = case.result.is_some() && matches!(&case.checks[..], [only] if only.expected.is_some());
    is_plain && returns && has_numbers && has_result && !case.own_process && !case.sets_state
}

fn table(report: &Report, cases: &[Case]) -> Option<Table> {
    let [first, _, ..] = cases else { return None };
    let columns: Vec<_> =
        first.numbers.as_ref()?.iter().map(|number| (number.type_name.clone(), number.name.clone())).collect();
    let passed: Vec<_> = columns.iter().map(|(_, name)| format!("rows[i].{name}")).collect();
    let check = first.checks.first()?;
    let cast =
        if check.is_integer() { cases::from_enumeration(report, &report.signature.result) } else { String::new() };
    let [when, expected] = ["when", "expected"].map(|name| unused(name, &columns));
    Some(Table {
        call: format!("{cast}{}({})", tested_name(report), passed.join(", ")),
        result: first.result.clone()?,
        check: Check {
            label: Label::Expression(format!("rows[i].{when}")),
            value: "result".to_owned(),
            expected: Some(format!("rows[i].{expected}")),
            ..check.clone()
        },
        names: [when, expected],
        columns,
        rows: cases.iter().map(row).collect::<Option<_>>()?,
    })
}

/// A name for a column that no parameter has.
fn unused(name: &str, columns: &[(String, String)]) -> String {
    let mut name = name.to_owned();
    while columns.iter().any(|(_, other)| *other == name) {
        name.push('_');
    }
    name
}

fn row(case: &Case) -> Option<String> {
    let values = case.numbers.as_ref()?.iter().map(|number| number.value.as_str());
    let when = string(case.title.split("; input ").next().unwrap_or_default());
    let expected = case.checks.first()?.expected.as_deref()?;
    let cells: Vec<_> = core::iter::once(when.as_str()).chain(values).chain([expected]).collect();
    Some(format!("{{{}}}", cells.join(", ")))
}

impl Table {
    /// The table and its loop. `checked` writes the check of a result.
    pub(super) fn statements(&self, checked: &dyn Fn(&Check) -> String) -> String {
        let [when, expected] = &self.names;
        let mut out = format!("    const struct {{\n      const char *{when};\n");
        for (type_name, name) in &self.columns {
            let _ = writeln!(out, "      {type_name} {name};");
        }
        let _ = writeln!(out, "      {} {expected};\n    }} rows[] = {{", self.result);
        for row in &self.rows {
            let _ = writeln!(out, "      {row},");
        }
        let (result, call) = (&self.result, &self.call);
        out.push_str("    };\n    unsigned i;\n    for (i = 0; i < sizeof rows / sizeof rows[0]; i++) {\n");
        let _ = writeln!(out, "      {result} result = {call};");
        for line in checked(&self.check).lines() {
            let _ = writeln!(out, "  {line}");
        }
        out + "    }\n"
    }
}
