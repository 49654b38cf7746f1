//! The head of the program: headers, the function under test, and the C types of its parameters.

use std::path::Path;

use penfuzz_report::{
    Arg,
    c_text::{callable, comment, identifier, is_header, is_source, string},
    extended,
    literal::{c_keywords, kind_named},
    model::{Parameter, Report},
};

use super::{
    access::{Access, File, file_name, is_cxx_function, is_cxx_program, wrapper_function, wrapper_name},
    callbacks,
    cases::{Case, Ending},
    command::absolute,
    environment, globals, is_byte_harness, memory, mirror,
    prototype::{self, PassedAs},
    result, sequence, streams,
};

/// The memory behind a pointer parameter is a whole number of cells of this size in bytes, as in the fuzzer.
const CELL_BYTES: usize = 16;

/// The headers, and the declaration or the source of the function under test. `needed` has further `#include` lines.
#[must_use]
pub fn prologue(report: &Report, needed: &str) -> String {
    let any = if is_cxx_program(report) && memory::has_any(report) { ANY } else { "" };
    let memory = if has_references(report) { MEMORY } else { "" };
    let memory = format!("{}{memory}{any}", result::header(report));
    let environment = environment::definitions(report);
    let memory = format!(
        "{memory}{}{}{environment}{}",
        callbacks::definitions(report),
        streams::helpers(report),
        sequence::declarations(report)
    );
    let placed = if memory::is_placed(report) { "#include <new>\n" } else { "" };
    let memory = placed.to_owned() + &mirror::definitions(report) + &memory;
    let standard = "#include <stdint.h>\n#include <stdio.h>\n";
    match Access::of(report) {
        Access::Source => including(report, Path::new(report.signature.source()), needed) + &memory,
        Access::Header => format!("{}{needed}{standard}{memory}", header(report)),
        Access::Prototype | Access::Wrapper => format!("{needed}{standard}{memory}\n{}", declaration(report)),
    }
}

/// Includes the project's own header before any other, because it may configure the others. This also checks that it
/// compiles alone.
fn header(report: &Report) -> String {
    let Some(header) = &report.header else { return String::new() };
    let lines: String =
        header.includes.iter().flat_map(|name| ["#include ".to_owned(), comment(name), "\n".to_owned()]).collect();
    if header.extern_c { format!("extern \"C\" {{\n{lines}}}\n") } else { lines }
}

/// The file through which a C++ program calls a C function that only its source declares.
#[must_use]
pub(super) fn wrapper(report: &Report) -> Option<File> {
    if Access::of(report) != Access::Wrapper {
        return None;
    }
    let name = wrapper_function(report);
    let signature = &report.signature;
    let head = including(report, Path::new(signature.source()), "");
    let result = spelled_in_c(&signature.result_kind, &signature.result);
    let returned = if result == "void" || result.ends_with('*') { "" } else { "return " };
    let result = if returned.is_empty() { "void" } else { &result };
    let (declared, passed): (Vec<_>, Vec<_>) = if is_byte_harness(report) {
        (vec!["const uint8_t *data".to_owned(), "size_t size".to_owned()], vec!["data".to_owned(), "size".to_owned()])
    } else {
        let each = signature.parameters.iter().enumerate();
        each.map(|(i, p)| {
            let cast = if p.pointer { "(void *)" } else { "" };
            (format!("{} a{}", parameter_type(p, &spelled_in_c), i + 1), format!("{cast}a{}", i + 1))
        })
        .unzip()
    };
    let result = if is_byte_harness(report) { "int" } else { result };
    let returned = if is_byte_harness(report) { "return " } else { returned };
    let parameters = if declared.is_empty() { "void".to_owned() } else { declared.join(", ") };
    let text = format!(
        "/* Calls {} for the tests in {}: C++ cannot include its source. */\n{head}#include <stdint.h>\n\n{result} \
         {name}({parameters});\n\n{result} {name}({parameters})\n{{\n  {returned}{}({});\n}}\n{}",
        comment(&report.function),
        file_name(report),
        callable(&report.function),
        passed.join(", "),
        globals::accessors(report)
    );
    Some((wrapper_name(report), text))
}

/// A wrapper for the address of a variable in C++, which converts to a pointer and to a reference.
const MEMORY: &str = "
template <class T> struct penfuzz_memory {
  T *at;
  operator T *() const { return at; }
  operator T &() const { return *at; }
};

template <class T> penfuzz_memory<T> penfuzz_at(T *at)
{
  penfuzz_memory<T> memory = {at};
  return memory;
}
";

/// A wrapper for the address of a variable, which converts to any pointer type.
const ANY: &str = "
struct penfuzz_any {
  void *at;
  explicit penfuzz_any(void *at) : at(at) {}
  template <class T> operator T *() const { return (T *)at; }
};
";

/// The expression that passes an address as an argument.
pub(super) fn address(report: &Report, variable: &str, is_array: bool) -> String {
    let pointer = if is_array { variable.to_owned() } else { format!("&{variable}") };
    if has_references(report) { format!("penfuzz_at({pointer})") } else { pointer }
}

/// Returns whether a parameter of the function can be a reference.
fn has_references(report: &Report) -> bool {
    match Access::of(report) {
        Access::Source | Access::Header => is_cxx_program(report),
        Access::Prototype | Access::Wrapper => false,
    }
}

/// The head of a program that includes this file and then the headers `needed`.
pub(super) fn including(report: &Report, file: &Path, needed: &str) -> String {
    let path = absolute(&file.to_string_lossy());
    let path = path.to_string_lossy();
    let is_text = is_source(file) || is_header(file);
    if !is_text || path.contains(['"', '\n', '\r']) {
        let why = format!("the tests must include the source of {}, and its path is unknown", report.function);
        return format!("#include <stdio.h>\n\n#error {}\n", string(&why));
    }
    // Included before any header, because the source may configure them. A `main` of the source must not be this
    // program's. Some sources define macros whose names the standard headers declare.
    let names = ["abs", "exit", "min", "max", "printf", "puts", "raise", "signal"];
    let undefined: String = names.iter().flat_map(|name| ["#undef ", name, "\n"]).collect();
    format!(
        "/* With its source, the function can be called by its name and types. */\n#define main program_main\n#include \
         \"{path}\"\n#undef main\n{undefined}{needed}#include <stdio.h>\n"
    )
}

/// The headers that only some programs need: for the floating-point environment, `errno`, signals, and input from
/// files. They are left out otherwise, because a library under test may have its own headers with these names.
pub(super) fn headers(report: &Report, cases: &[Case]) -> String {
    let mut headers = Vec::new();
    if cases.iter().any(|c| c.errno || c.steps.iter().any(|s| s.errno)) {
        headers.push("errno.h");
    }
    if report.reads_environment || cases.iter().any(|c| c.environment.is_some()) {
        headers.push("fenv.h");
    }
    if cases.iter().any(|c| matches!(c.ending, Ending::Signal { .. })) {
        headers.push("signal.h");
    }
    if report.tests.iter().any(|t| t.args.iter().any(Arg::is_input_file)) {
        headers.push("unistd.h");
    }
    headers.iter().flat_map(|h| ["#include <", h, ">\n"]).collect()
}

/// Definitions of the `<math.h>` constants that the values of `cases` use. The header itself could be one of the
/// library under test, or conflict with its source.
pub(super) fn constants(cases: &[Case]) -> String {
    let calls =
        cases.iter().flat_map(|c| c.steps.iter().flat_map(|s| [&s.variables, &s.call]).chain([&c.variables, &c.call]));
    let expected = cases
        .iter()
        .flat_map(|c| c.steps.iter().flat_map(|s| &s.checks).chain(&c.checks))
        .filter_map(|c| c.expected.as_ref());
    let texts: Vec<_> = calls.chain(expected).collect();
    let is_used = |name: &str| texts.iter().any(|text| text.contains(name));
    let all = [("NAN", "__builtin_nanf(\"\")"), ("INFINITY", "__builtin_inff()")];
    let definition = |(name, value)| is_used(name).then(|| format!("#ifndef {name}\n#define {name} {value}\n#endif\n"));
    let function = is_used(extended::FUNCTION).then_some(extended::DEFINITION);
    all.into_iter().filter_map(definition).collect::<String>() + function.unwrap_or_default()
}

fn declaration(report: &Report) -> String {
    let signature = &report.signature;
    let name = tested_name(report);
    let linkage = if is_cxx_program(report) { "extern \"C\"" } else { "extern" };
    if is_byte_harness(report) {
        return format!("{linkage} int {name}(const uint8_t *, size_t);\n");
    }
    if report.is_program() {
        return streams::declaration(report, linkage);
    }
    let spelling = |kind: &str, type_name: &str| spelled(report, kind, type_name);
    let result = match signature.result_kind.as_str() {
        // A structure is not returned through the wrapper.
        kind if Access::of(report) == Access::Wrapper && kind_named(kind).is_none() => "void".to_owned(),
        "" => mirrored(report, prototype::of_result(report)).unwrap_or_else(|| spelling("", &signature.result)),
        kind => spelling(kind, &signature.result),
    };
    let each = signature.parameters.iter().enumerate();
    let parameter = |(i, p): (usize, &Parameter)| {
        let is_number = kind_named(&p.kind).is_some();
        let mirror = (!is_number).then(|| mirrored(report, prototype::of_parameter(report, i, p))).flatten();
        mirror.unwrap_or_else(|| parameter_type(p, &spelling))
    };
    let parameters: Vec<_> = each.map(parameter).collect();
    let parameters = match parameters.is_empty() {
        true if is_cxx_program(report) => String::new(),
        true => "void".to_owned(),
        false => parameters.join(", "),
    };
    let globals = if Access::of(report) == Access::Wrapper { globals::declarations(report) } else { String::new() };
    format!("{linkage} {result} {name}({parameters});\n{globals}")
}

/// The type of a structure that the program declares again.
fn mirrored(report: &Report, passed: Option<PassedAs>) -> Option<String> {
    match passed.filter(|_| Access::of(report) == Access::Prototype && report.without_source)? {
        PassedAs::Structure(index) => mirror::type_name(report, index),
        PassedAs::Number(name) if is_cxx_program(report) => Some(name.replace("_Bool", "bool")),
        PassedAs::Number(name) => Some(name),
        PassedAs::Address => Some("void *".to_owned()),
    }
}

/// The name by which the test program calls the function under test.
pub(super) fn tested_name(report: &Report) -> String {
    let symbol = &report.signature.symbol;
    match Access::of(report) {
        Access::Source => qualified(&callable(&report.function), symbol),
        Access::Header if is_cxx_function(report) => qualified(&callable(&report.function), symbol),
        Access::Header => identifier(&report.function),
        Access::Wrapper => wrapper_function(report),
        Access::Prototype if report.is_program() => streams::MAIN.to_owned(),
        Access::Prototype => identifier(if symbol.is_empty() { &report.function } else { symbol }),
    }
}

/// The name with the namespaces and classes of its symbol (`_ZN5outer5inner1fEd`), which the Itanium C++ ABI encodes as
/// length and name of each part. Unnamed scopes are left out. A name that is already qualified stays unchanged.
pub(super) fn qualified(name: &str, symbol: &str) -> String {
    let Some(mut rest) = symbol.strip_prefix("_ZN").filter(|_| !name.contains("::")) else { return name.to_owned() };
    rest = rest.trim_start_matches(['K', 'V', 'r']);
    let mut parts = Vec::new();
    if let Some(behind) = rest.strip_prefix("St") {
        parts.push("std");
        rest = behind;
    }
    loop {
        rest = rest.strip_prefix('L').unwrap_or(rest);
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let part = rest[..digits].parse().ok().and_then(|n: usize| rest.get(digits..digits.checked_add(n)?));
        let Some(part) = part.filter(|part| !part.is_empty()) else { break };
        rest = &rest[digits + part.len()..];
        parts.push(part);
    }
    // The last part is the function.
    parts.pop();
    let scopes = parts.iter().filter(|part| !part.starts_with("_GLOBAL__N"));
    scopes.flat_map(|part| [identifier(part), "::".to_owned()]).collect::<String>() + name
}

fn parameter_type(parameter: &Parameter, spelled: &dyn Fn(&str, &str) -> String) -> String {
    if parameter.is_output() || parameter.pointer && kind_named(&parameter.kind).is_none() {
        return "void *".to_owned();
    }
    if parameter.pointer {
        return format!("{} *", spelled(&parameter.kind, parameter.pointee()));
    }
    spelled(&parameter.kind, &parameter.type_name)
}

/// Keywords of the types that C itself has. A declaration with the same keywords as the definition agrees with that of
/// any header: `long` and `long long` are different types.
const WORDS: [&str; 10] = ["const", "signed", "unsigned", "char", "short", "int", "long", "float", "double", "_Bool"];

/// Returns whether it is a type of C itself.
pub(super) fn spelled_type(type_name: &str) -> bool {
    !type_name.is_empty() && type_name.split(' ').all(|w| WORDS.contains(&w))
}

/// A type in the language of the program: as the definition spells it if it is a type of C itself, otherwise the type
/// of [`c_type`].
pub(super) fn spelled(report: &Report, kind: &str, type_name: &str) -> String {
    let text = spelled_in_c(kind, type_name);
    if is_cxx_program(report) { text.replace("_Bool", "bool") } else { text }
}

fn spelled_in_c(kind: &str, type_name: &str) -> String {
    if !type_name.is_empty() && kind_named(kind).is_some() && type_name.split(' ').all(|w| WORDS.contains(&w)) {
        return type_name.to_owned();
    }
    c_type(kind, type_name).unwrap_or("void *").to_owned()
}

/// The type of a variable for a result, in keywords: a program that includes the source may lack `<stdint.h>`.
pub(super) fn variable_type(report: &Report, kind: &str, type_name: &str) -> String {
    let text = match kind_named(kind) {
        Some(kind) => c_keywords(kind),
        None => c_type(kind, type_name).unwrap_or("void *"),
    };
    if is_cxx_program(report) { text.replace("_Bool", "bool") } else { text.to_owned() }
}

/// The C type of a kind; `void *` for a result that is any pointer; `None` if there is none.
#[must_use]
pub fn c_type(kind: &str, type_name: &str) -> Option<&'static str> {
    Some(match kind {
        "f32" => "float",
        "f64" => "double",
        "i8" => "int8_t",
        "i16" => "int16_t",
        "i32" => "int32_t",
        "i64" => "int64_t",
        "u8" => "uint8_t",
        "u16" => "uint16_t",
        "u32" => "uint32_t",
        "u64" => "uint64_t",
        "bool" => "_Bool",
        "void" => "void",
        _ if type_name.trim_end().ends_with(['*', '&']) => "void *",
        _ => return None,
    })
}

/// Number of values of a kind in the 16 bytes behind each pointer in the fuzzer. A test must not provide less memory,
/// because the function may write more than one value.
#[must_use]
pub fn cell_values(kind: &str) -> usize {
    let size = match kind {
        "i8" | "u8" | "bool" => 1,
        "i16" | "u16" => 2,
        "f32" | "i32" | "u32" => 4,
        _ => 8,
    };
    CELL_BYTES / size
}

/// A zeroed variable that the function fills in. `has_types`: the program can name the variable's type.
#[must_use]
pub fn output(has_types: bool, parameter: &Parameter, variable: &str) -> String {
    if has_types {
        let type_name = comment(parameter.pointee());
        return format!("    {type_name} {variable};\n    __builtin_memset(&{variable}, 0, sizeof {variable});\n");
    }
    let size = parameter.size.next_multiple_of(CELL_BYTES);
    let shown = comment(parameter.pointee());
    format!("    union {{ unsigned char bytes[{size}]; long double align; }} {variable} = {{{{0}}}}; /* {shown} */\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn namespaces_come_from_the_symbol() {
        assert_eq!(qualified("f", "_ZN5outer5inner1fEd"), "outer::inner::f");
        assert_eq!(qualified("half<float>", "_ZN1n4halfIfEET_S1_"), "n::half<float>");
        assert_eq!(qualified("f", "_ZN1n12_GLOBAL__N_1L1fEd"), "n::f");
        assert_eq!(qualified("f", "_Z1fd"), "f");
        assert_eq!(qualified("n::f", "_ZN1n1fEd"), "n::f");
        assert_eq!(qualified("f", "_ZN99999999999999999999f"), "f");
    }
}
