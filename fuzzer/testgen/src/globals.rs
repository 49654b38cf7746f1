//! Variables with static storage duration that are inputs of the function under test.
//!
//! A C program that includes the source uses the variables by name and sets the members whose values differ from those
//! at program start. A C++ program copies bytes, because members may be private or enumerations. A program that cannot
//! include the source gets the addresses of the variables from the file that does ([`Access::Wrapper`]).

use std::fmt::Write;

use penfuzz_report::{
    arg::{Arg, Place, Set},
    c_text::{comment, identifier, initializer, string_of},
    model::Report,
};

use super::{
    access::{Access, is_cxx_program, wrapper_function},
    memory,
};

/// Returns whether the function has such inputs. Then the source must be included.
pub(super) fn has_any(report: &Report) -> bool {
    !report.signature.globals.is_empty()
}

/// The statements that set the variables, from the arguments of one call, or from those before all calls.
pub(super) fn statements<'a>(report: &Report, args: impl Iterator<Item = &'a Arg>) -> String {
    let mut out = String::new();
    for arg in args.filter(|a| a.is_global()) {
        out.push_str(&memory::variables(report, arg));
        arg.sets.iter().for_each(|set| out.push_str(&statement(report, set)));
    }
    out
}

fn statement(report: &Report, set: &Set) -> String {
    let is_named = !is_cxx_program(report) && is_place(&set.place);
    let value = initializer(&set.value);
    if is_named && !set.is_pointer {
        return format!("    {} = {value};\n", set.place);
    }
    let Some(address) = address(report, &set.variable) else { return String::new() };
    let (shown, at) = (comment(&format!("{} = {}", set.place, set.value)), set.offset);
    if set.is_pointer {
        let value = if value == "{0}" { "0" } else { value };
        return format!("    *(void **)((unsigned char *){address} + {at}) = (void *){value}; /* {shown} */\n");
    }
    let digits = set.bytes.as_bytes().chunks(2);
    let bytes: Vec<u8> = digits.filter_map(|d| u8::from_str_radix(core::str::from_utf8(d).ok()?, 16).ok()).collect();
    let (text, n) = (string_of(&bytes), bytes.len());
    format!("    __builtin_memcpy((unsigned char *){address} + {at}, {text}, {n}); /* {shown} */\n")
}

/// Returns whether the text is a variable, member or element: `model_U.speed[2]`.
fn is_place(text: &str) -> bool {
    let fits = |c: char| c.is_alphanumeric() || "_.[]".contains(c);
    text.starts_with(|c: char| c.is_alphabetic() || c == '_') && text.chars().all(fits)
}

/// The address of a variable; `None` for a variable that the function does not have.
fn address(report: &Report, variable: &str) -> Option<String> {
    let i = report.signature.globals.iter().position(|g| g.name == variable)?;
    let fits = |c: char| c.is_alphanumeric() || "_:".contains(c);
    Some(if Access::of(report) == Access::Wrapper {
        format!("{}_global{i}()", wrapper_function(report))
    } else if variable.chars().all(fits) {
        format!("&{variable}")
    } else {
        return None;
    })
}

/// The expression for a value in a variable after the call.
pub(super) fn value(report: &Report, place: &Place) -> String {
    if !is_cxx_program(report) && is_place(&place.expression) {
        return place.expression.clone();
    }
    let type_name = memory::plain_type(&place.kind);
    let type_name = if is_cxx_program(report) { type_name.replace("_Bool", "bool") } else { type_name.to_owned() };
    let address = address(report, &place.variable).unwrap_or_else(|| format!("&{}", identifier(&place.variable)));
    format!("*({type_name} *)((unsigned char *){address} + {})", place.offset)
}

/// Functions that return the addresses, for the file that includes the source.
pub(super) fn accessors(report: &Report) -> String {
    let mut out = String::new();
    for (i, global) in report.signature.globals.iter().enumerate() {
        let (function, name) = (wrapper_function(report), identifier(&global.name));
        let _ = write!(
            out,
            "\nvoid *{function}_global{i}(void);\n\nvoid *{function}_global{i}(void)\n{{\n  return (void *)&{name};\n\
             }}\n"
        );
    }
    out
}

/// The declarations of the [`accessors`], for the tests.
pub(super) fn declarations(report: &Report) -> String {
    let function = wrapper_function(report);
    (0..report.signature.globals.len()).fold(String::new(), |mut text, i| {
        let _ = writeln!(text, "extern \"C\" void *{function}_global{i}(void);");
        text
    })
}
