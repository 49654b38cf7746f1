//! `-fpen-assume=FUNCTION:EXPRESSION`: an assumption about the arguments of a function whose source is not changed.
//!
//! 1. The text of each source on the command line is searched for definitions of the function.
//! 2. `PEN_ASSUME(EXPRESSION)` ([`penfuzz.h`](crate::include_directory)) is inserted after the opening brace of each.
//! 3. clang reads the changed text under the name of the source (a virtual file system), and `#line` keeps the line
//!    numbers of the rest.
//!
//! The search is over tokens, not over syntax: a definition is the name, parentheses, anything that is allowed between
//! them and a body (qualifiers, attributes, the declarations of K&R), and a brace. A body that a macro opens is not
//! found.

use std::{
    fmt::Write as _,
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    io,
    path::Path,
    process,
};

use penfuzz_abi::names::single_colons;

use crate::{
    Error,
    artifact::include_directory,
    room::cache_room,
    tokens::{Token, tokens},
};

/// The option.
pub const ASSUME: &str = "-fpen-assume=";

/// An assumption about one function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Assumption {
    /// The name of the function, in C++ with as many scopes as the user gives.
    function: String,
    /// The expression over its parameters.
    expression: String,
}

impl Assumption {
    /// Reads the value of the option.
    pub(crate) fn parse(text: &str) -> Result<Self, Error> {
        let wrong =
            || Error::Unsupported { option: format!("{ASSUME}{text}"), reason: "write it as FUNCTION:EXPRESSION" };
        let colon = single_colons(text).next().ok_or_else(wrong)?;
        let (function, expression) = (text[..colon].trim(), text[colon + 1..].trim());
        if function.is_empty() || expression.is_empty() || text.contains('\n') {
            return Err(wrong());
        }
        Ok(Self { function: function.to_owned(), expression: expression.to_owned() })
    }
}

/// Whether the text of a source has a definition of this function, as far as its tokens show.
#[must_use]
pub fn defines(text: &str, function: &str) -> bool {
    !bodies(text, function).is_empty()
}

/// The text of a source with `PEN_ASSUME(EXPRESSION)` on separate lines at the start of each body of the function, for
/// compilers that need the header themselves; `None` if it has no definition of the function. The line numbers after it
/// change: with a `#line`, gcov would lose the function of the lines after it.
#[must_use]
pub fn with_assumptions(text: &str, function: &str, expressions: &[String]) -> Option<String> {
    let places = bodies(text, function);
    let (mut out, mut done) = (String::new(), 0);
    for at in &places {
        out.push_str(&text[done..*at]);
        out.push('\n');
        for expression in expressions {
            let _ = writeln!(out, "PEN_ASSUME({});", expression.replace('\n', " "));
        }
        done = *at;
    }
    out.push_str(&text[done..]);
    (!places.is_empty()).then_some(out)
}

/// The options by which clang reads the sources among `args` with the assumptions inserted; none if no source defines
/// the functions.
pub(crate) fn options(assumptions: &[Assumption], args: &[String]) -> Result<Vec<String>, Error> {
    if assumptions.is_empty() {
        return Ok(Vec::new());
    }
    let failed = |path: &Path| {
        let path = path.to_path_buf();
        |source: io::Error| Error::Cache { path, source }
    };
    let directory = cache_room("assumed")?;
    let mut roots = Vec::new();
    for source in args.iter().filter(|arg| !arg.starts_with('-')).map(Path::new) {
        let Ok(text) = fs::read_to_string(source) else { continue };
        let Some(changed) = inserted(&text, source, assumptions) else { continue };
        let file = directory.join(format!("{}.text", hash(&changed)));
        write_whole(&file, &changed).map_err(failed(&file))?;
        let name = std::path::absolute(source).map_err(failed(source))?;
        roots.push(format!(
            "{{\"type\": \"file\", \"name\": {}, \"external-contents\": {}}}",
            quoted(&name),
            quoted(&file)
        ));
    }
    if roots.is_empty() {
        return Ok(Vec::new());
    }
    let overlay = format!("{{\"version\": 0, \"use-external-names\": false, \"roots\": [{}]}}\n", roots.join(",\n"));
    let file = directory.join(format!("{}.yaml", hash(&overlay)));
    write_whole(&file, &overlay).map_err(failed(&file))?;
    let header = include_directory()?.join("penfuzz.h");
    // Passed as options of clang itself: other compilers that build the sources from a noted command line must not get
    // them.
    let own =
        ["-ivfsoverlay".to_owned(), file.display().to_string(), "-include".to_owned(), header.display().to_string()];
    Ok(own.into_iter().flat_map(|option| ["-Xclang".to_owned(), option]).collect())
}

/// The text with assumptions inserted; `None` if it defines none of the functions.
fn inserted(text: &str, source: &Path, assumptions: &[Assumption]) -> Option<String> {
    let mut places: Vec<(usize, &str)> = assumptions
        .iter()
        .flat_map(|a| bodies(text, &a.function).into_iter().map(|at| (at, a.expression.as_str())))
        .collect();
    // The sort is stable: several assumptions about one function keep their order.
    places.sort_by_key(|(at, _)| *at);
    let (mut out, mut done) = (String::new(), 0);
    for (at, expression) in &places {
        let line = text[..*at].matches('\n').count() + 1;
        let column = at - text[..*at].rfind('\n').map_or(0, |newline| newline + 1);
        out.push_str(&text[done..*at]);
        let source = quoted(source);
        let _ = write!(out, "\n#line 1 \"--assume\"\nPEN_ASSUME({expression});\n#line {line} {source}\n{:column$}", "");
        done = *at;
    }
    out.push_str(&text[done..]);
    (!places.is_empty()).then_some(out)
}

/// The positions after the opening braces of a function's bodies.
fn bodies(text: &str, function: &str) -> Vec<usize> {
    let all = tokens(text);
    let scopes: Vec<&str> = function.split("::").map(str::trim).collect();
    let (name, scopes) = scopes.split_last().expect("a text has at least one part");
    (0..all.len())
        .filter(|i| all[*i].text == *name && is_in(&all[..*i], scopes))
        .filter_map(|i| body(&all[i + 1..]))
        .collect()
}

/// Whether the scopes before a name, if there are any, agree with those of the function.
fn is_in(mut before: &[Token], scopes: &[&str]) -> bool {
    let mut wanted = scopes.iter().rev();
    while let [rest @ .., scope, Token { text: "::", .. }] = before {
        if wanted.next().is_some_and(|wanted| *wanted != scope.text) {
            return false;
        }
        before = rest;
    }
    // A member of an object is called.
    !matches!(before, [.., Token { text: "." | "->", .. }])
}

/// The position after the opening brace of a function's body, given the tokens after its name; `None` if they are no
/// definition.
fn body(behind: &[Token]) -> Option<usize> {
    let behind = &behind[parentheses(behind)?..];
    let mut rest = behind.iter().enumerate();
    // The parts of a declaration between the parameters and the body, which end with `;` in the style of K&R.
    let (mut words, mut is_call) = (0, false);
    while let Some((i, token)) = rest.next() {
        match token.text {
            "{" => return Some(token.end),
            ";" if words >= 2 && !is_call => words = 0,
            "(" => {
                is_call = true;
                let skipped = parentheses(&behind[i..])?;
                rest.nth(skipped.checked_sub(2)?);
            }
            "*" | "[" | "]" | "," | "->" | "::" | "&" | "<" | ">" if words > 0 || token.text != "," => {}
            text if text.starts_with(|c: char| c.is_alphanumeric() || c == '_') => words += 1,
            _ => return None,
        }
    }
    None
}

/// The number of tokens of the parentheses with which `all` begins, both parentheses included.
fn parentheses(all: &[Token]) -> Option<usize> {
    let mut depth = 0;
    for (i, token) in all.iter().enumerate() {
        match token.text {
            "(" => depth += 1,
            ")" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return (i > 0).then_some(i + 1);
        }
    }
    None
}

/// A file name in a string of C or of JSON.
fn quoted(path: &Path) -> String {
    format!("\"{}\"", path.display().to_string().replace('\\', "\\\\").replace('"', "\\\""))
}

/// A file name derived from the content.
fn hash(text: &str) -> String {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

/// Writes a file so that other processes see it completely or not at all.
fn write_whole(file: &Path, text: &str) -> io::Result<()> {
    let new = file.with_extension(process::id().to_string());
    fs::write(&new, text)?;
    fs::rename(&new, file)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(text: &str, option: &str) -> String {
        inserted(text, Path::new("x.c"), &[Assumption::parse(option).unwrap()]).unwrap_or_default()
    }

    #[test]
    fn an_assumption_stands_at_the_start_of_the_body() {
        let text = "int g(int);\nint f(int a, int (*b)(int)) { return g(f(a)); }\n";
        let shown = changed(text, "f: a < 3 && b");
        let wanted = format!(
            "int g(int);\nint f(int a, int (*b)(int)) {{\n#line 1 \"--assume\"\nPEN_ASSUME(a < 3 && b);\n\
                      #line 2 \"x.c\"
{:29} return g(f(a)); }}\n",
            ""
        );
        assert_eq!(shown, wanted);
    }

    #[test]
    fn other_compilers_get_assumptions_on_lines_of_their_own() {
        let expressions = ["a < 3".to_owned(), "a\n> 0".to_owned()];
        let shown = with_assumptions("int f(int a) { return a; }\n", "f", &expressions);
        let wanted = "int f(int a) {\nPEN_ASSUME(a < 3);\nPEN_ASSUME(a > 0);\n return a; }\n";
        assert_eq!(shown.as_deref(), Some(wanted));
        assert_eq!(with_assumptions("int g(int a) { return a; }\n", "f", &expressions), None);
    }

    #[test]
    fn definitions_are_found_by_their_tokens() {
        let defined = [
            "double f(double x) { }",
            "int\nf (a, b)\n  int a; double *b, c[3];\n{}",
            "/* f(x) { */ static int f(void)\n// {\n{}",
            "char *s = \"f() {\"; int f() __attribute__((const)) {}",
            "struct S { int f(int) const noexcept(true) override { } };",
            "auto f(int n) -> std::vector<int> {",
            "int n::S::f() { }",
            "#define f(x) { \\\n x }\nint f(int x) {}",
        ];
        for text in defined {
            assert_eq!(bodies(text, "f").len(), 1, "{text}");
        }
        let none = [
            "double f(double); int g() { }",
            "double f(double) __attribute__((const)); int g() { }",
            "double f(double) PURE; int g() { }",
            "int g() { if (f(1)) { } return o.f() ; }",
            "#define f(x) { }",
            "int m::S::g() { } int f",
            "int ff(int x) {} int g(f) {}",
            "int f = 3; int g(void) {}",
            "",
        ];
        for text in none {
            assert_eq!(bodies(text, "f"), [], "{text}");
        }
    }

    #[test]
    fn functions_of_one_name_differ_by_their_scopes() {
        let text = "int A::f() {} int B::f() {} int f() {} int n::B::f() {}";
        assert_eq!(bodies(text, "f").len(), 4);
        assert_eq!(bodies(text, "B::f").len(), 3, "without scopes it can be within any");
        assert_eq!(bodies(text, "m::B::f").len(), 2);
    }

    #[test]
    fn malformed_assumptions_are_refused() {
        for text in ["", "f", "f:", ":x", "n::f", "f:a\nb"] {
            assert!(Assumption::parse(text).is_err(), "{text}");
        }
        let parsed = Assumption::parse("n::C::f: a::b < 3").unwrap();
        assert_eq!((parsed.function.as_str(), parsed.expression.as_str()), ("n::C::f", "a::b < 3"));
    }
}
