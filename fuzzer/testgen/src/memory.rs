//! Structures, arrays and strings as variables of a test.
//!
//! A C program that has the types of the project initializes them by the names of their members. Objects of the C++
//! library, and C++ structures without constructors, are variables of their own types. Other variables have a declared
//! type with the same [layout](super::mirror), and its initializers. If there is no such type, they are byte arrays
//! into which the addresses are copied.

use std::fmt::Write;

use penfuzz_report::{
    arg::{Arg, Memory, Place, RECEIVED, RESULT, WRITTEN},
    c_text::{comment, identifier, initializer, object_initializer},
    literal::{c_keywords, kind_named},
    model::{Parameter, Report},
};

use super::{
    access::{has_types, includes_source, is_cxx_program},
    callbacks, globals, mirror,
    prologue::{address, spelled, spelled_type, tested_name},
    result, sequence,
};
use crate::ARGUMENT;

/// The declarations of the variables of an argument. Each comes after the variables that it points to.
pub(super) fn variables(report: &Report, arg: &Arg) -> String {
    let each = arg.memory.iter();
    let memory = each.map(|m| if m.is_allocated { allocated(report, m) } else { variable(report, m) });
    let n = report.signature.callbacks.len();
    let results = arg.callbacks.iter().filter(|(i, _)| *i < n);
    memory.chain(results.map(|(i, value)| callbacks::setting(report, *i, value))).collect()
}

fn variable(report: &Report, memory: &Memory) -> String {
    match declared_as(report, memory) {
        DeclaredAs::Object => as_object(memory),
        DeclaredAs::Members | DeclaredAs::Mirror => {
            by_members(memory, &element_type(report, memory), is_cxx_program(report))
        }
        DeclaredAs::Bytes => as_bytes(report, memory),
    }
}

/// The type of an element as the program names it.
fn element_type(report: &Report, memory: &Memory) -> String {
    match declared_as(report, memory) {
        DeclaredAs::Object | DeclaredAs::Members => memory.type_name.clone(),
        DeclaredAs::Mirror => {
            let own = memory.layout.and_then(|index| mirror::type_name(report, index)).unwrap_or_default();
            own + declarator(&memory.type_name).1
        }
        DeclaredAs::Bytes => "unsigned char".to_owned(),
    }
}

/// A pointer to memory from `malloc`, with values from an array.
fn allocated(report: &Report, memory: &Memory) -> String {
    let name = identifier(&memory.name);
    let array = format!("{name}_values");
    let values = variable(report, &Memory { name: array.clone(), ..memory.clone() });
    let pointer = pointer_to(&element_type(report, memory).replace("_Bool", "bool"));
    let declared = match pointer.split_once("(*)") {
        Some((base, dimensions)) => format!("{base}(*{name}){dimensions}"),
        None => format!("{pointer}{name}"),
    };
    let cast = if is_cxx_program(report) { format!("({pointer})") } else { String::new() };
    format!("{values}    {declared} = {cast}penfuzz_heap({array}, sizeof {array});\n")
}

/// Returns whether the variable holds the arguments of a program.
fn is_argument(report: &Report, memory: &Memory) -> bool {
    report.is_program() && memory.type_name == ARGUMENT
}

/// How a variable is declared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DeclaredAs {
    /// As an object of its C++ class.
    Object,
    /// With the type of the project, or of C itself.
    Members,
    /// With a type of the same layout.
    Mirror,
    /// As an array of bytes.
    Bytes,
}

/// How the program declares the variable.
pub(super) fn declared_as(report: &Report, memory: &Memory) -> DeclaredAs {
    if is_object(report, memory) {
        return DeclaredAs::Object;
    }
    if !memory.objects.is_empty() {
        return DeclaredAs::Bytes;
    }
    let layout = || memory.layout.and_then(|index| report.signature.layouts.get(index));
    let has_names = || !is_cxx_program(report) || layout().is_some_and(|l| l.is_plain);
    // A header that a test includes defines all its types; the source of the function may only declare one.
    let is_foreign = || includes_source(report) && layout().is_some_and(|l| l.is_foreign);
    let is_own =
        has_types(report) && is_type(&memory.type_name) && has_names() && (is_cxx_program(report) || !is_foreign());
    if is_own || is_basic(memory) || is_argument(report, memory) {
        return DeclaredAs::Members;
    }
    let mirror = memory.layout.and_then(|index| mirror::type_name(report, index));
    if mirror.is_some() { DeclaredAs::Mirror } else { DeclaredAs::Bytes }
}

/// Returns whether the variable is an object of its own class. If a destructor is under test, it is not: the call ends
/// the object's lifetime, and the end of the block would destroy it again.
fn is_object(report: &Report, memory: &Memory) -> bool {
    let has_class = has_types(report) && is_cxx_program(report) && is_type(&memory.type_name);
    has_class && memory.object.is_some() && !report.function.contains('~')
}

fn as_object(memory: &Memory) -> String {
    let (name, type_name) = (identifier(&memory.name), comment(&memory.type_name));
    let value = object_initializer(memory.object.as_deref().unwrap_or_default());
    let inner = value.strip_prefix('{').and_then(|v| v.strip_suffix('}')).unwrap_or("").trim();
    let is_of = |classes: &[&str]| {
        classes.iter().any(|class| type_name == *class || type_name.starts_with(&format!("{class}<")))
    };
    match memory.elements {
        Some(0) => format!("    {type_name} {name}[1]; /* no element */\n    (void){name};\n"),
        Some(n) => format!("    {type_name} {name}[{n}] = {value};\n"),
        None if is_of(&["std::optional"]) => {
            format!("    {type_name} {name} = {};\n", if inner.is_empty() { "std::nullopt" } else { inner })
        }
        None if is_of(&["std::string", "std::string_view", "std::span"]) && !inner.is_empty() => {
            format!("    {type_name} {name}({inner});\n")
        }
        None => format!("    {type_name} {name} = {value};\n"),
    }
}

/// The argument that passes an object: the object itself, or its address.
fn passed_object(parameter: &Parameter, memory: &Memory) -> String {
    let (name, type_name) = (identifier(&memory.name), comment(&memory.type_name));
    let (declared, is_array) = (parameter.type_name.trim_end(), memory.elements.is_some());
    match (declared.chars().next_back(), is_array) {
        (Some('&'), true) => format!("*{name}"),
        (Some('&'), false) if declared.ends_with("&&") => format!("static_cast<{type_name} &&>({name})"),
        (Some('*'), false) => format!("&{name}"),
        _ => name,
    }
}

/// Returns whether the type is one of C itself.
fn is_basic(memory: &Memory) -> bool {
    memory.elements.is_some() && memory.addresses.is_empty() && spelled_type(declarator(&memory.type_name).0)
}

/// Splits a type into the parts before and after the name of a variable: `double[3]` into `double` and `[3]`.
fn declarator(type_name: &str) -> (&str, &str) {
    type_name.split_at(type_name.find('[').unwrap_or(type_name.len()))
}

/// Returns whether the text is the name of a type, or an array of it.
pub(super) fn is_type(text: &str) -> bool {
    let fits = |c: char| c.is_alphanumeric() || "_ :<>,*".contains(c);
    let (base, dimensions) = declarator(text);
    !base.is_empty() && base.chars().all(fits) && dimensions.chars().all(|c| c.is_ascii_digit() || "[]".contains(c))
}

fn by_members(memory: &Memory, type_name: &str, is_cxx: bool) -> String {
    let (name, value) = (identifier(&memory.name), initializer(&memory.value));
    let value = if is_cxx { complex_in_cxx(value) } else { value.to_owned() };
    let type_name = type_name.replace("_Bool", "bool");
    let (type_name, dimensions) = declarator(&type_name);
    let space = if type_name.ends_with('*') { "" } else { " " };
    match memory.elements {
        // C has no array without elements. The array has one element, and its address stands for an empty array.
        Some(0) => format!("    {type_name}{space}{name}[1]{dimensions}; /* no element */\n    (void){name};\n"),
        Some(n) => format!("    {type_name}{space}{name}[{n}]{dimensions} = {value};\n"),
        None => format!("    {type_name}{space}{name} = {value};\n"),
    }
}

/// The initializer with `{re, im}` instead of `__builtin_complex(re, im)`, which only C has.
fn complex_in_cxx(text: &str) -> String {
    const CALL: &str = "__builtin_complex(";
    let Some(start) = text.find(CALL) else { return text.to_owned() };
    let inner = &text[start + CALL.len()..];
    let mut depth = 1;
    let end = inner.find(|c| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        depth == 0
    });
    let Some(end) = end else { return text.to_owned() };
    format!("{}{{{}}}{}", &text[..start], &inner[..end], complex_in_cxx(&inner[end + 1..]))
}

fn as_bytes(report: &Report, memory: &Memory) -> String {
    let name = identifier(&memory.name);
    let bytes: Vec<u8> = memory
        .bytes
        .as_bytes()
        .chunks(2)
        .filter_map(|digits| u8::from_str_radix(core::str::from_utf8(digits).ok()?, 16).ok())
        .collect();
    let used = bytes.iter().rposition(|b| *b != 0).map_or(1, |last| last + 1).min(bytes.len());
    let items: Vec<_> = bytes[..used].iter().map(|b| format!("{b:#x}")).collect();
    let items = if items.is_empty() { "0".to_owned() } else { items.join(", ") };
    let size = bytes.len().max(1);
    let shown = comment(&format!("{} {}", memory.type_name, memory.value));
    let aligned = if is_cxx_program(report) { "alignas(16)" } else { "_Alignas(16)" };
    let mut out = format!("    {aligned} unsigned char {name}[{size}] = {{{items}}}; /* {shown} */\n");
    for (at, expression) in &memory.addresses {
        let to = initializer(expression);
        let cast = match to.starts_with('(') {
            true => to.to_owned(),
            false if to.contains(' ') => format!("(void *)({to})"),
            false => format!("(void *){to}"),
        };
        let _ = writeln!(out, "    {{ void *to = {cast}; __builtin_memcpy({name} + {at}, &to, sizeof to); }}");
    }
    if has_types(report) && is_cxx_program(report) {
        for (at, expression) in &memory.objects {
            let _ = writeln!(out, "    ::new ((void *)({name} + {at})) {};", object_initializer(expression));
        }
    }
    out
}

/// Whether the parameter is declared as a pointer to this type: then a variable is passed without a cast.
fn is_pointer_to(parameter: &Parameter, type_name: &str) -> bool {
    let pointee = parameter.type_name.trim_end().strip_suffix('*').map(str::trim);
    let pointee = pointee.map(|pointee| pointee.strip_prefix("const ").unwrap_or(pointee));
    !type_name.contains('*') && pointee == Some(type_name)
}

/// The expression that is passed for an argument. `all` has the arguments of all calls.
pub(super) fn passed(report: &Report, parameter: &Parameter, arg: &Arg, all: &[Arg]) -> String {
    let is_reference = parameter.type_name.trim_end().ends_with('&');
    if let Some(object) = sequence::passed(report, is_reference, arg, all) {
        return object;
    }
    let declared = declared(arg, all);
    let expression = initializer(&arg.hex);
    if expression == "{0}" || expression == "0" && parameter.pointer {
        return "0".to_owned();
    }
    let Some(memory) = declared else {
        let is_converted = is_callback(arg) && has_types(report) && is_cxx_program(report);
        return if is_converted { format!("penfuzz_any({expression})") } else { expression.to_owned() };
    };
    let is_file = expression.starts_with("penfuzz_file(");
    if is_file || is_argument(report, memory) {
        return expression.to_owned();
    }
    let declared_as = declared_as(report, memory);
    if declared_as == DeclaredAs::Object {
        return passed_object(parameter, memory);
    }
    let is_pointer = parameter.type_name.trim_end().ends_with(['*', '&']) || parameter.pointer;
    // In a prototype, the parameter type of a structure by value is the mirror itself.
    let is_mirror = declared_as == DeclaredAs::Mirror && !is_pointer && !has_types(report);
    if declared_as == DeclaredAs::Members && !is_cxx_program(report) || is_mirror {
        // A pointer to an array of variable size is none to its elements.
        let is_array = parameter.type_name.contains('…') && is_basic(memory) && !memory.type_name.contains('[');
        return format!("{}{expression}", if is_array { "(void *)" } else { "" });
    }
    let is_one = declared_as != DeclaredAs::Bytes && memory.elements.is_none();
    // The number of an element in a buffer: " + 3".
    let element = &expression[variable_of(expression).len()..];
    let name = format!("{}{}{element}", if is_one { "&" } else { "" }, identifier(&memory.name));
    let type_name = comment(&memory.type_name);
    match (is_pointer, is_type(&memory.type_name) && has_types(report)) {
        (true, true) if is_basic(memory) && is_pointer_to(parameter, &memory.type_name) => name,
        (true, true) => address(report, &format!("({}){name}", pointer_to(&type_name)), true),
        (true, false) if is_cxx_program(report) && has_types(report) => format!("penfuzz_any({name})"),
        // C++ does not convert from `void *`.
        (true, false) => match kind_named(&parameter.kind) {
            Some(_) => format!("({} *){name}", spelled(report, &parameter.kind, parameter.pointee())),
            None => format!("(void *){name}"),
        },
        (false, _) => format!("*({type_name} *){name}"),
    }
}

/// Returns whether a test passes an address whose C++ type the program cannot name.
pub(super) fn has_any(report: &Report) -> bool {
    all_args(report).any(|a| a.memory.last().is_some_and(|m| !is_type(&m.type_name)) || is_callback(a))
}

fn all_args(report: &Report) -> impl Iterator<Item = &Arg> {
    let args = report.tests.iter().map(|t| &t.args).chain(report.crashes.iter().map(|c| &c.args));
    args.flatten()
}

/// Returns whether the argument is a function of the program.
fn is_callback(arg: &Arg) -> bool {
    arg.memory.is_empty() && arg.hex.starts_with("(void *)penfuzz_stub")
}

/// Returns whether the program constructs objects in memory of its own.
pub(super) fn is_placed(report: &Report) -> bool {
    is_cxx_program(report)
        && has_types(report)
        && (is_constructor(&tested_name(report))
            || !report.signature.makers.is_empty()
            || all_args(report).flat_map(|a| &a.memory).any(|m| !m.objects.is_empty()))
}

/// Returns whether the qualified name is that of a constructor: `Box<int>::Box`.
fn is_constructor(name: &str) -> bool {
    let class = |name: &str| name.split('<').next().unwrap_or_default().rsplit("::").next().map(str::to_owned);
    name.rsplit_once("::").is_some_and(|(scope, own)| class(scope) == class(own) && !own.is_empty())
}

/// The part of an address before the number of an element: `in1_p` of `in1_p + 3`.
fn variable_of(address: &str) -> &str {
    address.split_once(" + ").map_or(address, |(variable, _)| variable)
}

/// The variable that an argument points to. An earlier call of a sequence may have declared it.
fn declared<'a>(arg: &'a Arg, all: &'a [Arg]) -> Option<&'a Memory> {
    let name = variable_of(&arg.hex).trim_start_matches('&');
    let earlier = || all.iter().flat_map(|a| &a.memory).find(|m| m.name == name);
    arg.memory.last().or_else(earlier)
}

/// The call of a member function of an object whose address is the first argument; `None` for any other function.
pub(super) fn method(report: &Report, name: &str, args: &[Arg], passed: &[String], all: &[Arg]) -> Option<String> {
    let this = args.first().filter(|a| a.name == "this" && is_cxx_program(report))?;
    let rest = passed.get(1..)?.join(", ");
    if let Some(call) = sequence::method(report, all, this, name, &rest) {
        return Some(call);
    }
    let object = declared(this, all)?;
    let (type_name, variable) = (comment(&object.type_name), identifier(&object.name));
    if is_constructor(name) {
        let and = if declared_as(report, object) == DeclaredAs::Bytes { "" } else { "&" };
        return Some(format!("::new ((void *){and}{variable}) {type_name}({rest})"));
    }
    let is_object = declared_as(report, object) == DeclaredAs::Object;
    if is_object && object.elements.is_none() {
        return Some(format!("{variable}.{name}({rest})"));
    }
    let and = if is_object || declared_as(report, object) == DeclaredAs::Bytes { "" } else { "&" };
    Some(format!("(({type_name} *){and}{variable})->{name}({rest})"))
}

fn pointer_to(type_name: &str) -> String {
    match declarator(type_name) {
        (base, "") => format!("{base} *"),
        (base, dimensions) => format!("{base} (*){dimensions}"),
    }
}

/// The type of a kind in keywords of C itself: a program that includes a source need not have `<stdint.h>`.
pub(super) fn plain_type(kind: &str) -> &'static str {
    kind_named(kind).map_or("unsigned char", c_keywords)
}

/// The expression for a value behind a pointer, in the memory of these arguments; `None` if the program cannot access
/// it.
pub(super) fn value(report: &Report, args: &[Arg], place: &Place) -> Option<String> {
    if place.is_global {
        return Some(globals::value(report, place));
    }
    if [RECEIVED, WRITTEN].contains(&place.variable.as_str()) {
        return Some(place.expression.clone());
    }
    let found = args.iter().flat_map(|arg| &arg.memory).find(|m| m.name == place.variable);
    let declared_as = found.map(|m| declared_as(report, m));
    let is_typed_result = place.variable == RESULT && has_types(report) && is_cxx_program(report);
    let is_object = declared_as == Some(DeclaredAs::Object);
    if is_object && is_of_variables(place.expression.trim_end_matches(".size()"))
        || (is_object || is_typed_result) && is_of_library(place)
    {
        return Some(place.expression.clone());
    }
    if place.in_object {
        return None;
    }
    let is_bit_field = place.bits > 0;
    let is_typed = match declared_as {
        Some(DeclaredAs::Mirror) => true,
        Some(declared_as) => has_types(report) && declared_as == DeclaredAs::Members,
        None if place.variable == RESULT => result::has_members(report, place),
        None => has_types(report) && !is_cxx_program(report),
    };
    if is_typed && is_of_variables(&place.expression) {
        return Some(place.expression.clone());
    }
    if is_bit_field {
        return None; // it has no address
    }
    let is_one = place.variable == RESULT
        || found.is_some_and(|m| m.elements.is_none() && declared_as != Some(DeclaredAs::Bytes))
        || sequence::is_object_of_class(report, args, &place.variable);
    let and = if is_one { "&" } else { "" };
    Some(by_offset(report, &format!("{and}{}", identifier(&place.variable)), place))
}

/// The expression for a member of the structure `variable`, which the function fills in.
pub(super) fn member(report: &Report, variable: &str, place: &Place) -> String {
    let has_names = has_types(report) && !is_cxx_program(report) && is_of_variables(&place.expression);
    if has_names {
        format!("{variable}{}", place.expression)
    } else {
        by_offset(report, &format!("&{variable}"), place)
    }
}

/// Returns whether an expression consists of names, members and elements.
fn is_of_variables(expression: &str) -> bool {
    expression.chars().all(|c| c.is_alphanumeric() || "_.[]".contains(c))
}

/// Returns whether an expression reads an object of the C++ library by its operations alone: `result.size()`,
/// `result[0].first`. Members of other classes in it may be private.
fn is_of_library(place: &Place) -> bool {
    let is_public = |part: &str| part.contains('(') || matches!(part.split('[').next(), Some("first" | "second"));
    let has_operation = place.in_object || place.expression.contains('(');
    has_operation && place.expression.split('.').skip(1).all(is_public)
}

/// The expression for the value at a byte offset from an address.
fn by_offset(report: &Report, address: &str, place: &Place) -> String {
    let kind = kind_named(&place.kind).map_or("u8", |_| place.kind.as_str());
    let type_name = plain_type(kind);
    let type_name = if is_cxx_program(report) { type_name.replace("_Bool", "bool") } else { type_name.to_owned() };
    format!("*({type_name} *)((unsigned char *){address} + {})", place.offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_complex_number_is_a_list_in_cxx() {
        let text = "{.a = __builtin_complex((double)1.5, (double)-2.0), __builtin_complex((float)0.0f, (float)NAN)}";
        assert_eq!(complex_in_cxx(text), "{.a = {(double)1.5, (double)-2.0}, {(float)0.0f, (float)NAN}}");
        assert_eq!(complex_in_cxx("__builtin_complex(("), "__builtin_complex((");
    }

    #[test]
    fn a_constructor_has_the_name_of_its_class() {
        for name in ["Geo::Geo", "n::Box<int>::Box", "n::Box<n::A, 3>::Box"] {
            assert!(is_constructor(name), "{name}");
        }
        for name in ["Geo", "Geo::~Geo", "n::f", "Box<int>::get", ""] {
            assert!(!is_constructor(name), "{name}");
        }
    }
}
