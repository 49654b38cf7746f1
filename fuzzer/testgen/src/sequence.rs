//! Sequences of calls as C text: the objects that makers create, and one call after another.

use std::fmt::Write;

use penfuzz_report::{
    arg::{Arg, CallStart, Object, calls_of},
    c_text::{callable, comment, identifier, string},
    model::{Maker, Report, Test},
};

use super::{
    access::{Access, has_types, is_cxx_program},
    cases::{Callee, Case, Ending, Step, check, errno_check, one_call, setup_statements},
    checks::{Check, Kind, Label},
    globals, memory,
    prologue::{address, c_type, qualified, tested_name, variable_type},
    result,
};

/// The last part of a qualified name, without template arguments.
fn short(name: &str) -> &str {
    let name = name.split('<').next().unwrap_or(name);
    name.rsplit("::").next().unwrap_or(name)
}

/// Returns whether the program must declare the maker by its symbol.
fn is_declared(report: &Report, maker: &Maker) -> bool {
    let is_c = !maker.signature.symbol.starts_with("_Z");
    is_c && match Access::of(report) {
        Access::Source => maker.signature.source() != report.signature.source(),
        Access::Header => false,
        Access::Prototype | Access::Wrapper => true,
    }
}

/// The name by which the program calls a maker.
fn maker_name(report: &Report, maker: &Maker) -> String {
    if is_declared(report, maker) {
        return format!("penfuzz_{}", identifier(&maker.function));
    }
    let symbol = &maker.signature.symbol;
    if symbol.starts_with("_Z") { qualified(&callable(&maker.function), symbol) } else { identifier(&maker.function) }
}

/// Declarations of the makers that neither the source nor the header declares. Pointers are `void *`, because the
/// program may not be able to name their types.
pub(super) fn declarations(report: &Report) -> String {
    let makers = report.signature.makers.iter().filter(|m| is_declared(report, m));
    makers
        .map(|m| {
            let of = |kind: &str, name: &str| match c_type(kind, name) {
                Some(text @ ("void" | "void *")) => text.to_owned(),
                Some(_) => memory::plain_type(kind).to_owned(),
                None => "void *".to_owned(),
            };
            let parameters: Vec<_> = m
                .signature
                .parameters
                .iter()
                .map(|p| if p.pointer { "void *".to_owned() } else { of(&p.kind, &p.type_name) })
                .collect();
            let linkage = if is_cxx_program(report) { "extern \"C\"" } else { "extern" };
            let parameters = if parameters.is_empty() { "void".to_owned() } else { parameters.join(", ") };
            let text = format!(
                "{linkage} {} {}({parameters}) __asm__({});\n\n",
                of(&m.signature.result_kind, &m.signature.result),
                maker_name(report, m),
                string(&m.signature.symbol)
            );
            if is_cxx_program(report) { text.replace("_Bool", "bool") } else { text }
        })
        .collect()
}

/// The maker that a call calls; `None` for the function under test.
fn maker_of<'a>(report: &'a Report, called: &CallStart) -> Option<&'a Maker> {
    report.signature.makers.get(called.maker?)
}

/// Returns whether the object is a variable of its own class, initialized by its constructor.
fn is_constructed(report: &Report, called: &CallStart, object: &Object) -> bool {
    let Some(maker) = maker_of(report, called) else { return false };
    let is_constructor = maker.signature.parameters.first().is_some_and(|p| p.name == "this")
        && short(&maker.function) == short(&object.type_name);
    object.size > 0 && is_constructor && is_cxx_program(report) && has_types(report)
}

/// Returns whether the object is a variable of its own type.
fn is_typed(report: &Report, object: &Object) -> bool {
    has_types(report) && !is_cxx_program(report) && memory::is_type(&object.type_name)
}

/// Returns whether an object must not be destroyed at the end of the test: its destructor may free variables of the
/// test that a call has given to it, or it is under test.
fn outlives(report: &Report, test: &Test) -> bool {
    let is_pointer = |a: &Arg| !a.memory.is_empty() && a.type_name.trim_end().ends_with('*');
    test.args.iter().any(is_pointer) || report.function.contains('~')
}

fn objects(args: &[Arg]) -> impl Iterator<Item = (&CallStart, &Object)> {
    args.iter().filter_map(|a| a.called.as_ref()).filter_map(|c| Some((c, c.object.as_ref()?)))
}

/// The object that an argument refers to, and the call that creates it.
fn object_of<'a>(all: &'a [Arg], arg: &Arg) -> Option<(&'a CallStart, &'a Object)> {
    let name = arg.hex.trim_start_matches('&');
    objects(all).find(|(_, o)| o.variable == name)
}

/// Returns whether the variable is an object that a constructor initializes.
pub(super) fn is_object_of_class(report: &Report, all: &[Arg], variable: &str) -> bool {
    objects(all).any(|(called, o)| o.variable == variable && is_constructed(report, called, o))
}

/// The expression that passes an object that a maker created; `None` for any other argument.
pub(super) fn passed(report: &Report, is_reference: bool, arg: &Arg, all: &[Arg]) -> Option<String> {
    let (called, object) = object_of(all, arg)?;
    let (name, type_name) = (identifier(&object.variable), comment(&object.type_name));
    let star = |pointer: String| if is_reference { format!("*{pointer}") } else { pointer };
    Some(if object.size == 0 {
        star(name)
    } else if is_constructed(report, called, object) || is_typed(report, object) {
        if is_reference { name } else { format!("&{name}") }
    } else if has_types(report) && memory::is_type(&object.type_name) {
        star(format!("(({type_name} *){name})"))
    } else {
        format!("(void *){name}")
    })
}

/// The call of a member function of an object that a maker created.
pub(super) fn method(report: &Report, all: &[Arg], this: &Arg, name: &str, rest: &str) -> Option<String> {
    let (called, object) = object_of(all, this)?;
    let variable = identifier(&object.variable);
    Some(if object.size == 0 {
        format!("{variable}->{name}({rest})")
    } else if is_constructed(report, called, object) {
        // The unqualified name is unique in a class that is not a template and has no virtual bases.
        let own = if name.contains('<') { name } else { short(name) };
        format!("{variable}.{own}({rest})")
    } else {
        format!("(({} *){variable})->{name}({rest})", comment(&object.type_name))
    })
}

/// A call with its variables.
struct WrittenCall {
    variables: String,
    /// The statement that creates the object, if it is more than the call.
    statement: Option<String>,
    call: String,
    outputs: Vec<Check>,
    result: Option<Check>,
    result_type: Option<String>,
    /// For a maker that returns or stores a pointer: an expression that makes the call and is 1 if the pointer is null.
    makes_nothing: Option<String>,
}

/// A test of a sequence. All calls except the last are its steps.
pub(super) fn case(report: &Report, test: &Test, ending: Ending, case: Case) -> Case {
    let calls = calls_of(&test.args);
    let mut number = 0;
    let mut written: Vec<WrittenCall> = Vec::new();
    for (i, (begin, own)) in calls.iter().enumerate() {
        let called = begin.and_then(|b| b.called.clone()).unwrap_or_default();
        number += usize::from(called.maker.is_none());
        written.push(write(report, test, i, &called, own, number));
    }
    let Some(last) = written.pop() else { return case };
    let is_nothing = calls.last().is_some_and(|(begin, _)| begin.and_then(|b| b.called.as_ref()?.maker).is_some());
    let looks_at_errno = !test.errnos.is_empty();
    let errno_of = |i: usize| test.errnos.get(i).copied().flatten().map(errno_check);
    let n_before = written.len();
    let mut steps: Vec<Step> = written
        .into_iter()
        .enumerate()
        .map(|(i, w)| Step {
            variables: w.variables,
            // A declaration that creates an object must not be in a nested block.
            errno: looks_at_errno && w.statement.is_none(),
            checks: w.result.into_iter().chain(errno_of(i)).filter(|_| w.statement.is_none()).collect(),
            result: w.result_type.filter(|_| w.statement.is_none()),
            call: w.call,
            statement: w.statement,
        })
        .collect();
    let normal = ending == Ending::Return && test.throws.is_none();
    let (call, result, mut checks) = match last.makes_nothing.filter(|_| is_nothing && normal) {
        Some(expression) => {
            let check = Check {
                label: Label::Text("no object".to_owned()),
                value: "result".to_owned(),
                kind: Kind::Signed,
                expected: Some("1".to_owned()),
            };
            (expression, Some("int".to_owned()), vec![check])
        }
        None => (last.call, last.result_type, last.result.into_iter().collect()),
    };
    checks.extend(errno_of(n_before));
    checks.extend(last.outputs);
    let mut variables =
        if report.reads_environment { "    feclearexcept(FE_ALL_EXCEPT);\n".to_owned() } else { String::new() };
    variables.push_str(&last.variables);
    let first = steps.first_mut().map_or(&mut variables, |first| &mut first.variables);
    first.insert_str(0, &setup_statements(report, &test.args));
    Case { steps, variables, call, result, checks, errno: looks_at_errno, ..case }
}

/// Writes a call. `number` is its number among the calls of the function under test, from 1.
fn write(report: &Report, test: &Test, i: usize, called: &CallStart, own: &[Arg], number: usize) -> WrittenCall {
    let maker = maker_of(report, called);
    let function = match (maker, called.maker) {
        (Some(maker), Some(m)) => Callee {
            signature: &maker.signature,
            name: maker_name(report, maker),
            prefix: format!("{}_", "0".repeat(m + 1)),
            is_tested: false,
        },
        _ => Callee {
            signature: &report.signature,
            name: tested_name(report),
            prefix: if report.signature.calls > 1 { format!("{number}_") } else { String::new() },
            is_tested: true,
        },
    };
    let is_last = i + 1 == calls_of(&test.args).len();
    let left = if is_last { result::checked(report, test) } else { Vec::new() };
    let (mut variables, call, outputs) = one_call(report, &function, own, &left, &test.args);
    variables.push_str(&globals::statements(report, own.iter()));
    let type_name = &function.signature.result;
    let kind = function.signature.result_kind.as_str();
    let expected = test.results.get(i).and_then(Option::as_ref);
    let result = check(kind, "result", "result", expected);
    let result_type = match result {
        Some(_) => Some(variable_type(report, kind, type_name)),
        None if is_last && function.is_tested => result::variable(report, test),
        None => None,
    };
    let call = match &result {
        Some(check) if check.is_integer() && maker.is_none() => {
            format!("{}{call}", super::cases::from_enumeration(report, type_name))
        }
        _ => call,
    };
    let mut statement = None;
    let mut makes_nothing = None;
    let mut call = call;
    if let (Some(object), Some(_)) = (&called.object, maker) {
        let name = identifier(&object.variable);
        let of = comment(&object.type_name);
        let pointer = if has_types(report) && memory::is_type(&object.type_name) {
            format!("{of} *")
        } else {
            "void *".to_owned()
        };
        let cast = if is_cxx_program(report) && pointer != "void *" { format!("({pointer})") } else { String::new() };
        if object.size == 0 && object.parameter.is_none() {
            statement = Some(format!("{pointer}{name} = {cast}{call}"));
            makes_nothing = Some(format!("({call} == 0)"));
        } else if object.size == 0 {
            variables.insert_str(0, &format!("    {pointer}{name} = 0;\n"));
            makes_nothing = Some(format!("({call}, {name} == 0)"));
        } else if is_constructed(report, called, object) {
            let inner = call.split_once('(').map_or("", |(_, rest)| rest.strip_suffix(')').unwrap_or(rest)).to_owned();
            let inner = inner.trim();
            statement = Some(if outlives(report, test) {
                let _ = writeln!(variables, "    alignas({of}) static unsigned char {name}_memory[sizeof({of})];");
                format!("{of} &{name} = *::new ((void *){name}_memory) {of}({inner})")
            } else if inner.is_empty() {
                format!("{of} {name}")
            } else {
                format!("{of} {name}({inner})")
            });
            call = format!("{of}({inner})");
        } else if is_typed(report, object) {
            variables.insert_str(0, &format!("    {of} {name} = {{0}};\n"));
        } else {
            let aligned = if is_cxx_program(report) { "alignas(16)" } else { "_Alignas(16)" };
            let size = object.size;
            variables.insert_str(0, &format!("    {aligned} unsigned char {name}[{size}] = {{0}}; /* {of} */\n"));
        }
    }
    WrittenCall { variables, statement, call, outputs, result, result_type, makes_nothing }
}

/// The address of the variable where a maker stores its pointer; `None` for any other argument.
pub(super) fn stored(report: &Report, function: &Callee, i: usize, arg: &Arg, all: &[Arg]) -> Option<String> {
    let (_, object) = object_of(all, arg).filter(|_| !function.is_tested)?;
    let is_own = object.size == 0 && object.parameter == Some(i);
    let name = identifier(&object.variable);
    let declared = function.name.starts_with("penfuzz_");
    is_own.then(|| if declared { format!("(void *)&{name}") } else { address(report, &name, false) })
}
