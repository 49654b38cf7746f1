//! Writes C text from names that may contain any character.

use std::{fmt::Write, path::Path};

use penfuzz_mutators::view::{NEAREST, RAISED};
use penfuzz_system::console::shown;

use super::{
    arg::{Arg, calls_of},
    literal::mode_name,
    model::{Parameter, Report, Signature},
};

/// Makes a C identifier or a part of a file name: every character that is not a letter, a digit or `_` becomes `_`. The
/// result has at most 100 characters, because file names are limited to 255 bytes.
#[must_use]
pub fn identifier(name: &str) -> String {
    name.chars().take(100).map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}

/// Makes text safe within a comment: it cannot end the comment, leave its line, or change how the lines around it are
/// displayed.
#[must_use]
pub fn comment(text: &str) -> String {
    let text = shown(text).replace("*/", "* /").replace("/*", "/ *");
    // `??/` is a trigraph for a backslash. A backslash at the end of a line, even with blanks after it, joins the next
    // line.
    let text = text.replace("??/", "? ?/");
    match text.trim_end().strip_suffix('\\') {
        Some(before) => format!("{before}\\u{{5c}}"),
        None => text,
    }
}

/// Returns the text if it is a number or an initializer of numbers, and `0` otherwise. The report may come from an
/// untrusted source.
#[must_use]
pub fn numbers(text: &str) -> &str {
    let fits = |c: char| c.is_ascii_hexdigit() || "xXpPuUlL+-., (){}".contains(c);
    if !text.is_empty() && text.chars().all(fits) { text } else { "0" }
}

/// Integers above this are addresses, masks or sizes rather than counts, which hex shows better.
const LARGEST_DECIMAL: u64 = 1_000_000;

/// The number of an argument as a person would write it in C: a float as a decimal, which every standard of C and C++
/// has (hex floats came with C99 and C++17) and which has the same bits, and so is a small integer.
#[must_use]
pub fn number(arg: &Arg) -> String {
    let hex = numbers(&arg.hex);
    let (digits, suffix) = hex.split_at(hex.trim_end_matches(['u', 'U', 'l', 'L']).len());
    let unsigned = digits.trim_start_matches('-').strip_prefix("0x");
    let is_small = |digits| u64::from_str_radix(digits, 16).is_ok_and(|value| value <= LARGEST_DECIMAL);
    match unsigned {
        Some(digits) if digits.contains('p') && arg.decimal.parse::<f64>().is_ok_and(f64::is_finite) => {
            format!("{}{}", numbers(&arg.decimal), if digits.ends_with('f') { "f" } else { "" })
        }
        Some(digits) if is_small(digits) && arg.decimal.parse::<i64>().is_ok() => format!("{}{suffix}", arg.decimal),
        _ => hex.to_owned(),
    }
}

/// Names that an initializer may contain.
const NAMES: [&str; 19] = [
    "INFINITY",
    "NAN",
    "__builtin_nan",
    "__builtin_nanf",
    "__builtin_nans",
    "__builtin_nansf",
    "__builtin_nanl",
    "__builtin_nansl",
    super::extended::FUNCTION,
    "void",
    "char",
    "penfuzz_stream",
    "penfuzz_file",
    "__builtin_complex",
    "float",
    "double",
    "long",
    "__int128",
    "f",
];

/// Returns the text if it is an initializer with named members, strings, and addresses of variables of the program
/// (`in1_s`), and `{0}` otherwise. The report may come from an untrusted source.
#[must_use]
pub fn initializer(text: &str) -> &str {
    let is_name = |before: char, word: &str, _: &str| {
        let is_own = word.starts_with("penfuzz_stub")
            || word.strip_prefix("in").is_some_and(|w| w.starts_with(|c: char| c.is_ascii_digit()));
        before == '.' || is_own || NAMES.contains(&word)
    };
    if is_made_of(text, is_name, |_, c| "{}(),.=&+-<|* []".contains(c)) { text } else { "{0}" }
}

/// Returns the text if it is a C++ initializer, with type names before braces and in casts, that calls no function, and
/// `{}` otherwise. The report may come from an untrusted source.
#[must_use]
pub fn object_initializer(text: &str) -> &str {
    let is_name = |_, word: &str, rest: &str| !rest.trim_start().starts_with('(') || NAMES.contains(&word);
    // Rejects calls of the value of a parenthesized or indexed expression.
    let is_sign = |before, c| !(c == '(' && matches!(before, ')' | ']' | '>' | '}')) && "{}(),.&+-<>:|* ".contains(c);
    if is_made_of(text, is_name, is_sign) { text } else { "{}" }
}

/// Returns whether the text consists only of string literals, numbers, accepted words and accepted characters.
/// `is_word` gets the character before the word, the word, and the text after it. `is_sign` gets the last character
/// before that is no space, and the character. An empty text is rejected.
fn is_made_of(text: &str, is_word: impl Fn(char, &str, &str) -> bool, is_sign: impl Fn(char, char) -> bool) -> bool {
    let (mut rest, mut before, mut solid) = (text, ' ', ' ');
    while let Some(c) = rest.chars().next() {
        let length = match c {
            '"' => string_length(rest),
            c if c.is_ascii_digit() => rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '.').or(Some(rest.len())),
            c if c.is_ascii_alphabetic() || c == '_' => {
                let n = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
                is_word(before, &rest[..n], &rest[n..]).then_some(n)
            }
            c => is_sign(solid, c).then_some(1),
        };
        let Some(n) = length else { return false };
        before = c;
        solid = if c == ' ' { solid } else { c };
        rest = &rest[n..];
    }
    !text.is_empty()
}

/// Returns the length of the string literal at the start of the text.
fn string_length(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    let end = text.bytes().skip(1).position(|b| {
        let is_end = b == b'"' && !is_escaped;
        is_escaped = b == b'\\' && !is_escaped;
        is_end
    })?;
    let literal = &text[..end + 2];
    literal.bytes().all(|b| (b' '..=b'~').contains(&b)).then_some(literal.len())
}

/// A C string literal with exactly the bytes of a text.
#[must_use]
pub fn string(text: &str) -> String {
    string_of(text.as_bytes())
}

/// A C string literal with exactly these bytes.
#[must_use]
pub fn string_of(bytes: &[u8]) -> String {
    let mut out = String::from("\"");
    for byte in bytes {
        match byte {
            // `?` could begin a trigraph.
            b'"' | b'\\' | b'?' => {
                out.push('\\');
                out.push(char::from(*byte));
            }
            b' '..=b'~' => out.push(char::from(*byte)),
            // An octal escape ends after three digits; a hex escape has no limit.
            _ => {
                let _ = write!(out, "\\{byte:03o}");
            }
        }
    }
    out.push('"');
    out
}

/// The name by which a program that includes the source can call the function.
#[must_use]
pub fn callable(function: &str) -> String {
    comment(&function.replace("(anonymous namespace)::", ""))
}

/// A floating-point environment of a call that is not the default one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Environment {
    /// The statements that set the environment, on one line.
    pub set: String,
    /// The statements that restore the default environment.
    pub restore: String,
}

/// Returns the floating-point environment that the arguments contain; `None` for the default one.
#[must_use]
pub fn environment(args: &[Arg]) -> Option<Environment> {
    let number = args.last().filter(|a| a.is_rounding())?.hex.strip_prefix("0x")?;
    let mode = u64::from_str_radix(number, 16).ok()?;
    let directed = (mode & 3 != NEAREST)
        .then(|| [format!("fesetround({});", mode_name(mode)), "fesetround(FE_TONEAREST);".to_owned()]);
    let raised = (mode & RAISED != 0)
        .then(|| ["feraiseexcept(FE_ALL_EXCEPT);", "feclearexcept(FE_ALL_EXCEPT);"].map(str::to_owned));
    let statements: Vec<_> = directed.into_iter().chain(raised).collect();
    let all = |i: usize| statements.iter().map(|s| s[i].as_str()).collect::<Vec<_>>().join(" ");
    (!statements.is_empty()).then(|| Environment { set: all(0), restore: all(1) })
}

/// Returns a statement that makes the text among the arguments the standard input; `None` if there is no such text.
#[must_use]
pub fn standard_input(args: &[Arg]) -> Option<String> {
    let input = args.iter().find(|a| a.is_input())?;
    if input.is_input_file() {
        return Some(format!("penfuzz_input({}, {});", initializer(&input.hex), input.bits.len() / 2));
    }
    Some(format!("stdin = fmemopen((void *){}, {}, \"r\");", initializer(&input.hex), input.bits.len() / 2))
}

/// A call with these arguments that can be pasted into C code. The target of a pointer is a compound literal. A
/// rounding mode is set before the call.
#[must_use]
pub fn call(report: &Report, args: &[Arg]) -> String {
    let before = environment(args).map_or(String::new(), |e| format!("{} ", e.set));
    let input = standard_input(args).map_or(String::new(), |statement| format!("{statement} "));
    let results: String = args.iter().filter(|a| a.is_results() && !a.memory.is_empty()).map(shown_results).collect();
    let shared = args.iter().take_while(|a| !a.is_call()).filter(|a| a.is_global());
    let globals: String = shared.map(shown_sets).collect();
    let calls: Vec<_> = calls_of(args)
        .into_iter()
        .map(|(begin, own)| {
            let globals: String = own.iter().filter(|a| begin.is_some() && a.is_global()).map(shown_sets).collect();
            let maker = begin.and_then(|b| b.called.as_ref()?.maker).and_then(|m| report.signature.makers.get(m));
            let (function, signature) =
                maker.map_or((&report.function, &report.signature), |m| (&m.function, &m.signature));
            globals + &bare_call(function, signature, own)
        })
        .collect();
    format!("{before}{globals}{input}{results}{}", calls.join("; "))
}

fn bare_call(function: &str, signature: &Signature, args: &[Arg]) -> String {
    let texts: Vec<_> = with_outputs(signature, args)
        .map(|(parameter, arg)| match (parameter, arg) {
            (Some(p), None) => format!("&({}){{0}}", p.pointee()),
            (_, Some(a)) if !a.memory.is_empty() => a.decimal.clone(),
            (Some(p), Some(a)) if p.pointer && !p.kind.is_empty() => {
                format!("&({}){{{}}}", a.type_name, shown_number(a))
            }
            (_, a) => a.map_or_else(String::new, shown_number),
        })
        .collect();
    format!("{}({})", callable(function), texts.join(", "))
}

/// A number, or what else the argument is.
fn shown_number(arg: &Arg) -> String {
    if numbers(&arg.hex) == arg.hex { number(arg) } else { arg.hex.clone() }
}

/// The assignments to a variable: `model_U.speed = 3.5; model_U.mode = 1; `
fn shown_sets(arg: &Arg) -> String {
    arg.sets.iter().fold(String::new(), |mut text, s| {
        let _ = write!(text, "{} = {}; ", comment(&s.place), comment(&s.value));
        text
    })
}

/// The results of a function of the environment: `__VERIFIER_nondet_int() = 3, -1; `
fn shown_results(arg: &Arg) -> String {
    format!("{}() = {}; ", identifier(&arg.name), arg.decimal)
}

/// Pairs every parameter with its argument. Output parameters have no argument; arguments without a parameter (the
/// bytes of a harness) come last. The rounding mode, standard input, variables and results of the environment are left
/// out.
pub fn with_outputs<'a>(
    signature: &'a Signature,
    args: &'a [Arg],
) -> impl Iterator<Item = (Option<&'a Parameter>, Option<&'a Arg>)> {
    let mut rest = args.iter().filter(|a| a.is_of_parameter());
    let mut parameters = signature.parameters.iter();
    std::iter::from_fn(move || {
        let parameter = parameters.next();
        let arg = if parameter.is_some_and(Parameter::is_output) { None } else { rest.next() };
        let is_output = parameter.is_some_and(Parameter::is_output);
        (is_output || arg.is_some()).then_some((parameter, arg))
    })
}

/// The arguments in decimal: `x = 0.5, n = 3`; for a sequence of calls `init: n = 3; f: x = 0.5; f: x = 1.5`.
#[must_use]
pub fn decimals(args: &[Arg]) -> String {
    let of = |args: &[Arg]| args.iter().map(|a| format!("{} = {}", a.name, a.decimal)).collect::<Vec<_>>().join(", ");
    let is_sequence = args.iter().any(Arg::is_call);
    let shared: Vec<Arg> =
        args.iter().take_while(|a| is_sequence && !a.is_call()).filter(|a| a.is_global()).cloned().collect();
    let first = (!shared.is_empty()).then(|| of(&shared));
    let calls = calls_of(args).into_iter().map(|(begin, own)| match begin {
        Some(b) if own.is_empty() => format!("{}: no argument", b.name),
        Some(b) => format!("{}: {}", b.name, of(own)),
        None => of(own),
    });
    first.into_iter().chain(calls).collect::<Vec<_>>().join("; ")
}

/// Returns whether the file name is that of a C++ file.
#[must_use]
pub fn is_cxx(file: &Path) -> bool {
    extension(file).is_some_and(|e| ["cc", "cpp", "cxx", "c++", "C", "cp", "CPP"].contains(&e))
}

/// Returns whether the file name is that of a C or C++ source file.
#[must_use]
pub fn is_source(file: &Path) -> bool {
    is_cxx(file) || extension(file) == Some("c")
}

/// Returns whether the file name is that of a header.
#[must_use]
pub fn is_header(file: &Path) -> bool {
    extension(file).is_some_and(|e| ["h", "hh", "hpp", "hxx", "h++", "inl", "ipp", "tcc"].contains(&e))
}

fn extension(file: &Path) -> Option<&str> {
    file.extension().and_then(|e| e.to_str())
}

#[cfg(test)]
mod tests {
    use super::super::{example, literal};
    use super::*;

    #[test]
    fn odd_characters_cannot_break_out() {
        assert_eq!(identifier("ns::f<double>"), "ns__f_double_");
        assert_eq!(comment("a*/b\n/*c"), "a* /b\\n/ *c");
        assert_eq!(comment("a*??/\u{202e}\\"), "a*? ?/\\u{202e}\\u{5c}");
        assert_eq!(string("a\"b\\c?\né1"), r#""a\"b\\c\?\012\303\2511""#);
    }

    #[test]
    fn numbers_are_numbers() {
        for text in ["0x1.8p+1", "-0x0p+0f", "(-0x7fffffffffffffffLL - 1)", "0xffULL", "{0x01, 0x02}", "1"] {
            assert_eq!(numbers(text), text);
        }
        for text in ["", "0; system(\"x\")", "0\n", "\u{1b}", "INFINITY"] {
            assert_eq!(numbers(text), "0");
        }
    }

    #[test]
    fn initializers_are_initializers() {
        for text in [
            "{.kp = 1.5, .next = &in1_s_next, .name = \"a;\\\"b\", .cb = (void *)penfuzz_stub0}",
            "{{0}, {-1e-310, NAN, 3ULL}}",
            "((__int128)-1LL << 64 | 0x0ULL)",
        ] {
            assert_eq!(initializer(text), text);
        }
        for text in ["", "{system(\"x\")}", "{0}; x", "{\"a\n\"}", "{#}", "\"", "{in}"] {
            assert_eq!(initializer(text), "{0}", "{text}");
        }
    }

    #[test]
    fn initializers_of_objects_call_nothing() {
        for text in [
            "{1.0, -INFINITY, __builtin_nan(\"0x1\")}",
            "{std::vector<ns::P>{ns::P{1.0, (ns::E)-2}}, std::string{\"a(b\\\"\", 3}}",
            "{(double *)in1_p_data, (const char *)&in1_c}",
        ] {
            assert_eq!(object_initializer(text), text);
        }
        for text in
            ["", "{system(\"x\")}", "{(system)(\"x\")}", "{system (\"x\")}", "{}; x", "{[]{}}", "{a<b>(1)}", "{\"}"]
        {
            assert_eq!(object_initializer(text), "{}", "{text}");
        }
    }

    #[test]
    fn calls_can_be_pasted() {
        let call = call(&example::report(), &example::args(0.5, -3));
        assert_eq!(call, "clamp(0.5, -3, &(double){0.0})");
    }

    #[test]
    fn a_rounding_mode_is_set_before_the_call() {
        let called = |mode| {
            let args = [example::args(0.5, -3), vec![literal::rounding(mode)]].concat();
            call(&example::report(), &args)
        };
        assert_eq!(called(0), "clamp(0.5, -3, &(double){0.0})");
        assert_eq!(called(3), "fesetround(FE_TOWARDZERO); clamp(0.5, -3, &(double){0.0})");
    }

    #[test]
    fn the_extension_decides_the_language() {
        assert!(is_cxx(Path::new("a.C")) && is_cxx(Path::new("a.cpp")) && !is_cxx(Path::new("a.c")));
        assert!(is_source(Path::new("a.c")) && !is_source(Path::new("a.bc")) && !is_source(Path::new("a")));
    }
}
