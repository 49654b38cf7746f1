//! The emitted tests as C text: variables, call, checks and end. Every format writes the same cases.

use std::fmt::Write;

use penfuzz_report::{
    arg::Arg,
    c_text::{self, Environment, call, comment, environment, identifier, numbers, standard_input, with_outputs},
    model::{End, Finding, OUTPUT_KIND, Parameter, Report, Signature, Test},
    test_format::TestStyle,
};

use super::{
    access::{has_types, is_cxx_program},
    checks::{Check, Kind, Label},
    enumerations, environment, globals, is_byte_harness, memory,
    names::{Names, Title},
    prologue::{address, cell_values, output, spelled, tested_name, variable_type},
    result, sequence,
    table::{self, Number, Table},
};

/// The signals by which an emitted test may expect to die, and whether it must. A memory fault is undefined behaviour,
/// and the program of another compiler may continue; only the other signals must occur again.
const SIGNALS: [(&str, bool); 6] =
    [("SIGABRT", true), ("SIGFPE", true), ("SIGILL", true), ("SIGTRAP", true), ("SIGBUS", false), ("SIGSEGV", false)];

/// The expected end of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The call returns.
    Return,
    /// The call ends the process with this exit status.
    Exit(u8),
    /// The call ends the process by this signal.
    Signal {
        /// Name of the signal: `SIGABRT`.
        name: &'static str,
        /// A return is a failure. If false, the call may return as well.
        must: bool,
    },
}

/// One test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Case {
    /// A part of an identifier, unique in the program: `clamp_returns_0_when_x_is_nan`.
    pub name: String,
    /// The reason of the test and its input, for a comment.
    pub title: String,
    /// The call with its arguments, for people.
    pub shown: String,
    /// The calls of a sequence before the last one.
    pub steps: Vec<Step>,
    /// Declarations of the variables, indented by four spaces, and statements that must run before the call. Arguments
    /// are passed in variables, because the compiler could evaluate a call with constants.
    pub variables: String,
    /// The call expression.
    pub call: String,
    /// The type of a variable for the result; `None` if the result is not checked.
    pub result: Option<String>,
    /// The floating-point environment of the call, if it is not the default.
    pub environment: Option<Environment>,
    /// `errno` is checked.
    pub errno: bool,
    /// The checks after the call: the result first, then `errno`, then outputs.
    pub checks: Vec<Check>,
    /// How the call ends.
    pub ending: Ending,
    /// The type of the C++ exception that the call throws, as `std::type_info::name` returns it; `None` if it returns.
    pub throws: Option<String>,
    /// The function keeps values between calls, so the test runs in its own process, with the values of a fresh one.
    pub own_process: bool,
    /// The test sets variables of the program. If the call ends its process, these are set in the child, too.
    pub sets_state: bool,
    /// The arguments, if they are numbers.
    pub numbers: Option<Vec<Number>>,
    /// The rows of a table that this test runs one by one.
    pub table: Option<Table>,
}

/// A call of a sequence before the last one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Declarations of its variables, as in [`Case::variables`].
    pub variables: String,
    /// The call expression.
    pub call: String,
    /// A declaration that replaces the call statement and stores the value or object that the call creates.
    pub statement: Option<String>,
    /// The type of a variable for the result; `None` if the result is not checked.
    pub result: Option<String>,
    /// `errno` is set to 0 before the call, and checked after it.
    pub errno: bool,
    /// The checks after the call: the result and `errno`.
    pub checks: Vec<Check>,
}

impl Step {
    /// The check of its result, if the result is known.
    pub(super) fn result_check(&self) -> Option<&Check> {
        self.checks.iter().find(|c| c.value == "result")
    }

    /// The call as in [`Case::call_statements`], in its own block, with the checks that `checked` writes.
    pub(super) fn call_block(&self, environment: Option<&Environment>, checked: &dyn Fn(&Check) -> String) -> String {
        let result = self.result.as_deref().filter(|_| self.result_check().is_some());
        let called = in_environment(&self.call, result, self.errno, environment);
        let checks: String = self.checks.iter().map(checked).collect();
        let inner: String = (called + &checks).lines().flat_map(|line| ["  ", line, "\n"]).collect();
        format!("    {{\n{inner}    }}\n")
    }

    /// The call as a statement, in the floating-point environment of the test.
    pub(super) fn statement(&self, environment: Option<&Environment>, indent: &str) -> String {
        let called = self.statement.clone().unwrap_or_else(|| format!("(void){}", self.call));
        with_environment(environment, indent, &called)
    }

    /// The variables and the call statement without checks, with further indentation.
    pub(super) fn bare(&self, environment: Option<&Environment>) -> String {
        let variables: String = self.variables.lines().flat_map(|line| ["  ", line, "\n"]).collect();
        variables + &self.statement(environment, "      ")
    }
}

/// A statement between those that set and restore a floating-point environment.
pub(super) fn with_environment(environment: Option<&Environment>, indent: &str, statement: &str) -> String {
    match environment {
        None => format!("{indent}{statement};\n"),
        Some(e) => format!("{indent}{}\n{indent}{statement};\n{indent}{}\n", e.set, e.restore),
    }
}

/// The function that a call calls.
pub(super) struct Callee<'a> {
    /// Its prototype.
    pub signature: &'a Signature,
    /// The name by which the program calls it.
    pub name: String,
    /// A prefix that distinguishes the variables of this call.
    pub prefix: String,
    /// It is the function under test.
    pub is_tested: bool,
}

impl Case {
    /// Returns whether, if the call ends its process, the whole test must run in a child.
    pub(super) fn runs_whole_in_child(&self) -> bool {
        !self.steps.is_empty() || self.sets_state
    }

    /// The call statements, for a test that checks `errno` or sets the floating-point environment. In an environment
    /// other than the default, only the call runs: printing rounds, too. `errno` is read before anything else can set
    /// it. `result` is the type of the variable `result`.
    pub(super) fn call_statements(&self, result: Option<&str>) -> String {
        in_environment(&self.call, result, self.errno, self.environment.as_ref())
    }
}

fn in_environment(call: &str, result: Option<&str>, errno: bool, environment: Option<&Environment>) -> String {
    let mut lines = Vec::new();
    lines.extend(errno.then(|| "int error;".to_owned()));
    lines.extend(result.map(|type_name| format!("{};", result::declared(type_name))));
    lines.extend(errno.then(|| "errno = 0;".to_owned()));
    lines.extend(environment.map(|e| e.set.clone()));
    lines.push(format!("{}{call};", if result.is_some() { "result = " } else { "(void)" }));
    lines.extend(errno.then(|| "error = errno;".to_owned()));
    lines.extend(environment.map(|e| e.restore.clone()));
    lines.iter().flat_map(|line| ["    ", line, "\n"]).collect()
}

/// The signal that ends a call with these arguments, and whether it must occur again. `None` for a crash that no test
/// program can expect, such as one caused by too much memory or one that depends on earlier calls.
fn signal(finding: &Finding) -> Option<(&'static str, bool)> {
    let can_occur = !finding.args.is_empty() && finding.dependence().is_none() && finding.counts();
    // Without pen-cc a failed check aborts (penfuzz.h).
    if can_occur && finding.reason.starts_with("PEN_CHECK(") {
        return Some(("SIGABRT", true));
    }
    SIGNALS.into_iter().find(|(name, _)| can_occur && finding.reason.contains(name))
}

/// Returns whether the crash is an expected failure with its own test.
pub(super) fn is_expected(finding: &Finding) -> bool {
    signal(finding).is_some()
}

/// All tests of the report, and the crashes that are expected failures.
pub(super) fn all(report: &Report) -> Vec<Case> {
    let mut names = Names::new(report);
    let tests = report.tests.iter().map(|test| {
        let ending = test.ends.map_or(Ending::Return, |End::Exit(status)| Ending::Exit(status));
        let Title { name, reason } = names.of(test, ending);
        let title =
            if reason.is_empty() { input(&test.file) } else { format!("{reason}; input {}", input(&test.file)) };
        case(report, Title { name, reason: title }, test, ending)
    });
    let mut cases: Vec<_> = tests.collect();
    cases.extend(report.crashes.iter().filter_map(|finding| failing(report, finding, &mut names)));
    if report.test_style == TestStyle::Table { table::joined(report, cases) } else { cases }
}

/// The test of an input that crashes, as an expected failure.
fn failing(report: &Report, finding: &Finding, names: &mut Names) -> Option<Case> {
    let (name, must) = signal(finding)?;
    let title = format!(
        "an expected failure: {} in {}; input {}",
        comment(&finding.reason),
        comment(&finding.place),
        input(&finding.file)
    );
    let test = Test { file: finding.file.clone(), args: finding.args.clone(), ..Test::default() };
    let ending = Ending::Signal { name, must };
    let name = names.of(&test, ending).name;
    Some(case(report, Title { name, reason: title }, &test, ending))
}

/// The file of a test's input, without how it was found.
fn input(file: &str) -> String {
    comment(file.split(',').next().unwrap_or(file))
}

fn case(report: &Report, title: Title, test: &Test, ending: Ending) -> Case {
    let (shown, mut variables, mut call, outputs) =
        if is_byte_harness(report) { bytes_call(report, test) } else { typed_call(report, test) };
    if report.reads_environment {
        variables.push_str("    feclearexcept(FE_ALL_EXCEPT);\n");
    }
    let (kind, type_name) = if is_byte_harness(report) {
        ("i32", "int")
    } else {
        (report.signature.result_kind.as_str(), report.signature.result.as_str())
    };
    let mut result = check(kind, "result", "result", test.result.as_ref());
    let named = test.result.as_ref().and_then(|arg| enumerator(report, arg, None));
    if let Some((check, name)) = result.as_mut().zip(named) {
        check.expected = Some(name);
    }
    if result.as_ref().is_some_and(Check::is_integer) && ending == Ending::Return && test.throws.is_none() {
        call = format!("{}{call}", from_enumeration(report, type_name));
    }
    if let Some(check) = result.as_ref().filter(|check| check.is_integer() && accepts_near_integer(report, test)) {
        let sign = if check.kind == Kind::Signed { "signed" } else { "unsigned" };
        call = format!("penfuzz_within_{sign}({call}, {})", check.expected.as_deref().unwrap_or("0"));
    }
    let errno = test.errno.map(errno_check);
    let case = Case {
        name: title.name,
        steps: Vec::new(),
        title: title.reason,
        shown,
        variables,
        call,
        result: match result {
            Some(_) => Some(variable_type(report, kind, type_name)),
            None => result::variable(report, test),
        },
        environment: environment(&test.args),
        errno: test.errno.is_some(),
        checks: result.into_iter().chain(errno).chain(outputs).collect(),
        ending,
        throws: test.throws.clone(),
        own_process: ending == Ending::Return && needs_fresh_process(report, test),
        sets_state: test.args.iter().any(Arg::is_global),
        numbers: table::numbers(report, test),
        table: None,
    };
    if test.args.iter().any(Arg::is_call) { sequence::case(report, test, ending, case) } else { case }
}

/// The check that a call has set `errno` to `n`.
pub(super) fn errno_check(n: i32) -> Check {
    Check {
        label: Label::Text("errno".to_owned()),
        value: "error".to_owned(),
        kind: Kind::Signed,
        expected: Some(n.to_string()),
    }
}

/// Returns whether the test must begin with the state of a new process. A call of `main` must, and so must a test that
/// reads standard input as a file, because streams read ahead.
fn needs_fresh_process(report: &Report, test: &Test) -> bool {
    let has_state = !report.shared_state.is_empty() || report.tests_apart;
    has_state || report.is_program() || test.args.iter().any(Arg::is_input_file)
}

/// A cast of the result to its integer type, in C++, where an `enum class` has no implicit conversion. Neither
/// signature nor symbol shows whether the result is an enumeration, so every integer result gets the cast.
pub(super) fn from_enumeration(report: &Report, type_name: &str) -> String {
    let is_needed = is_cxx_program(report) && has_types(report) && !is_byte_harness(report);
    if is_needed { format!("({})", comment(type_name)) } else { String::new() }
}

/// The check of a scalar; `None` if the value is not a scalar.
pub(super) fn check(kind: &str, label: &str, value: &str, expected: Option<&Arg>) -> Option<Check> {
    let checked = match kind {
        "f32" => Kind::F32,
        "f64" => Kind::F64,
        "i8" | "i16" | "i32" | "i64" => Kind::Signed,
        "u8" | "u16" | "u32" | "u64" | "bool" => Kind::Unsigned,
        _ => return None,
    };
    let expected = expected.map(|arg| number(kind, arg));
    Some(Check { label: Label::Text(label.to_owned()), value: value.to_owned(), kind: checked, expected })
}

/// Whether an integer may differ from the value of a reference by [`Report::ulp`]. A status next to other results may
/// not.
fn accepts_near_integer(report: &Report, test: &Test) -> bool {
    report.ulp > 0 && report.expects.is_some() && test.outputs.is_empty()
}

/// The number of an argument or result as an expression.
fn number(kind: &str, arg: &Arg) -> String {
    let bits = numbers(&arg.bits);
    match (arg.decimal.as_str(), bits) {
        ("inf", _) => "INFINITY".to_owned(),
        ("-inf", _) => "-INFINITY".to_owned(),
        (_, "0x7fc00000" | "0x7ff8000000000000") if arg.decimal.contains("nan") => "NAN".to_owned(),
        (text, _) if text.contains("nan") => {
            let (kind, suffix) = if kind == "f32" { ("f32", "U") } else { ("f64", "ULL") };
            format!("penfuzz_{kind}({bits}{suffix})")
        }
        _ => c_text::number(arg),
    }
}

/// The text for people, the variables, the call and the output checks of a function with typed parameters.
fn typed_call(report: &Report, test: &Test) -> (String, String, String, Vec<Check>) {
    let function =
        Callee { signature: &report.signature, name: tested_name(report), prefix: String::new(), is_tested: true };
    let outputs = result::checked(report, test);
    let (variables, called, checks) = one_call(report, &function, &test.args, &outputs, &test.args);
    (call(report, &test.args), setup_statements(report, &test.args) + &variables, called, checks)
}

/// Statements that set what the function reads in addition to its arguments.
pub(super) fn setup_statements(report: &Report, args: &[Arg]) -> String {
    let globals = globals::statements(report, args.iter().take_while(|a| !a.is_call()));
    let input = standard_input(args).map_or_else(String::new, |set| format!("    {set}\n"));
    globals + &input + &environment::results(report, args)
}

/// Variables, call and output checks of one call. `all` has the arguments of all calls of the test.
pub(super) fn one_call(
    report: &Report,
    function: &Callee,
    args: &[Arg],
    outputs: &[Arg],
    all: &[Arg],
) -> (String, String, Vec<Check>) {
    let (mut checks, mut passed, mut variables) = (Vec::new(), Vec::new(), String::new());
    let (signature, prefix) = (function.signature, &function.prefix);
    let expected = |name: &str| outputs.iter().find(|o| o.name == name);
    let enumerations = enumerations::of_parameters(report, signature);
    for (i, (parameter, arg)) in with_outputs(signature, args).enumerate() {
        let Some(parameter) = parameter else { continue };
        let enumeration = enumerations.get(i).and_then(Option::as_deref);
        let Some(arg) = arg else {
            let variable = format!("out{prefix}{}_{}", i + 1, identifier(&parameter.name));
            variables.push_str(&output(has_types(report), parameter, &variable));
            checks.extend(structure(&parameter.name, &variable, expected(&parameter.name)));
            checks.extend(filled_in(report, &parameter.name, &variable, outputs));
            passed.push(address(report, &variable, false));
            continue;
        };
        if is_memory(parameter, arg) {
            variables.push_str(&memory::variables(report, arg));
            let stored = sequence::stored(report, function, i, arg, all);
            passed.push(stored.unwrap_or_else(|| memory::passed(report, parameter, arg, all)));
            continue;
        }
        if !parameter.pointer {
            passed.push(number_passed(report, parameter, arg, enumeration));
            continue;
        }
        let variable = format!("in{prefix}{}_{}", i + 1, identifier(&arg.name));
        let (type_name, value) = initializer(report, parameter, arg, enumeration);
        // An enumeration of C++ takes no number without a cast.
        let plain = number(&parameter.kind, arg);
        let value = if enumeration.is_none() { &plain } else { &value };
        let shown = comment(&format!("*{} = {}", arg.name, arg.decimal));
        let shown = if plain.contains(&arg.decimal) { String::new() } else { format!(" /* {shown} */") };
        let n = cell_values(&parameter.kind);
        let _ = writeln!(variables, "    {type_name} {variable}[{n}] = {{{value}}};{shown}");
        let cast = enumeration.map_or_else(String::new, |_| format!("({})", comment(&arg.type_name)));
        let (label, left) = (format!("*{}", arg.name), format!("{cast}{variable}[0]"));
        checks.extend(check(&parameter.kind, &label, &left, expected(&parameter.name)));
        passed.push(address(report, &variable, true));
    }
    checks.extend(outputs.iter().filter_map(|output| {
        let place = output.place.as_ref().filter(|place| !place.is_filled_in)?;
        if result::is_of_pointer(place) {
            return Some(result::pointer_check(place, output));
        }
        check(&place.kind, &output.name, &memory::value(report, all, place)?, Some(output))
    }));
    let called =
        memory::method(report, &function.name, args, &passed, all).unwrap_or_else(|| call_of(&function.name, &passed));
    (variables, called, checks)
}

/// The call of a function. An operator of C++ may be declared in a class only, where its name is found by its operands.
fn call_of(name: &str, passed: &[String]) -> String {
    let is_symbol = |operator: &&str| operator.chars().all(|c| "+-*/%^&|~!=<>".contains(c));
    let operator = name.rsplit("::").next().and_then(|name| name.strip_prefix("operator")).filter(is_symbol);
    // An object in memory converts to a reference and to a pointer, which is ambiguous here.
    let operand = |text: &String| {
        let at = text.strip_prefix("penfuzz_at(").and_then(|text| text.strip_suffix(')'));
        at.map_or_else(|| text.clone(), |at| format!("*({at})"))
    };
    match (operator, passed) {
        (Some(operator), [left, right]) => format!("({} {operator} {})", operand(left), operand(right)),
        (Some(operator), [one]) => format!("({operator}{})", operand(one)),
        _ => format!("{name}({})", passed.join(", ")),
    }
}

/// Returns whether the argument is neither a number nor a pointer to one.
pub(super) fn is_memory(parameter: &Parameter, arg: &Arg) -> bool {
    let is_number = !parameter.kind.is_empty() && parameter.kind != OUTPUT_KIND;
    !arg.memory.is_empty() || parameter.pointer && arg.type_name == parameter.type_name || !is_number
}

fn structure(name: &str, variable: &str, expected: Option<&Arg>) -> Option<Check> {
    let arg = expected?;
    let words = numbers(&arg.hex);
    let n = arg.bits.split(' ').count();
    words.starts_with('{').then(|| Check {
        label: Label::Text(format!("*{name}")),
        value: format!("&{variable}"),
        kind: Kind::Words(n),
        expected: Some(words.to_owned()),
    })
}

/// The checks of members of a structure that the function fills in.
fn filled_in(report: &Report, parameter: &str, variable: &str, outputs: &[Arg]) -> Vec<Check> {
    let of = |output: &Arg| {
        let place = output.place.as_ref().filter(|place| place.is_filled_in && place.variable == parameter)?;
        check(&place.kind, &output.name, &memory::member(report, variable, place), Some(output))
    };
    outputs.iter().filter_map(of).collect()
}

/// Type and value of the variable for an argument. If the program includes the source, the types must be the project's
/// own: `long *` and `long long *` are different types. `enumeration` is the one that the parameter is or points to, in
/// C++.
pub(super) fn initializer(
    report: &Report,
    parameter: &Parameter,
    arg: &Arg,
    enumeration: Option<&str>,
) -> (String, String) {
    let value = number(&parameter.kind, arg);
    if has_types(report) {
        let type_name = comment(enumeration.unwrap_or(&arg.type_name));
        let cast = format!("({type_name}){value}");
        return (type_name, cast);
    }
    let type_name = if parameter.pointer { parameter.pointee() } else { &parameter.type_name };
    let type_name = spelled(report, &parameter.kind, type_name);
    (type_name.strip_prefix("const ").unwrap_or(&type_name).to_owned(), value)
}

/// The C++ types of literals, with which an argument selects the right one of several overloaded functions.
const TYPES_OF_LITERALS: [&str; 4] = ["double", "float", "int", "unsigned int"];

/// A number as an argument. `enumeration` is its type if that is an enumeration of C++.
pub(super) fn number_passed(report: &Report, parameter: &Parameter, arg: &Arg, enumeration: Option<&str>) -> String {
    if let Some(enumerator) = enumerator(report, arg, enumeration) {
        return enumerator;
    }
    let (type_name, value) = initializer(report, parameter, arg, enumeration);
    let is_exact = has_types(report) && TYPES_OF_LITERALS.contains(&type_name.as_str());
    if is_cxx_program(report) && has_types(report) && !is_exact { value } else { number(&parameter.kind, arg) }
}

/// The name of the value, if it is an enumerator that the program knows. `scope` is the enumeration, in C++.
fn enumerator(report: &Report, arg: &Arg, scope: Option<&str>) -> Option<String> {
    let name = arg.enumerator.as_deref().filter(|name| has_types(report) && identifier(name) == **name)?;
    if !is_cxx_program(report) {
        return Some(name.to_owned());
    }
    scope.map(|scope| format!("{scope}::{name}"))
}

fn bytes_call(report: &Report, test: &Test) -> (String, String, String, Vec<Check>) {
    let hex = test.args.first().map_or("{}", |arg| numbers(&arg.hex));
    // C has no empty initializer before C23.
    let (hex, size) = if hex == "{}" || !hex.starts_with('{') { ("{0}", "0") } else { (hex, "sizeof data") };
    let variables = format!("    static const unsigned char data[] = {hex};\n");
    (test.file.clone(), variables, format!("{}(data, {size})", tested_name(report)), Vec::new())
}
