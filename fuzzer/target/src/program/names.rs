//! Qualified names of C++ functions, with their namespaces and classes. Debug information has only the unqualified
//! name; the symbol contains the qualified name in mangled form.

use crate::program::symbols::demangled;

/// Returns `name` with the scopes in its symbol: `outer::inner::f`. Anonymous namespaces are omitted. A name of C, or
/// one that is already qualified, is returned unchanged.
#[must_use]
pub fn qualified(name: &str, symbol: &str) -> String {
    // Template arguments have scopes of their own.
    if !symbol.starts_with("_Z") || name.split('<').next().is_some_and(|base| base.contains("::")) {
        return name.to_owned();
    }
    let text = demangled(symbol.into()).replace("(anonymous namespace)::", "");
    format!("{}{name}", scope(&text, name).unwrap_or_default())
}

/// Returns the scopes before `name` in `outer::inner::name<int>(double)`, without a result type before them.
fn scope<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    // Template arguments are spaced differently in debug information.
    let base = if name.starts_with("operator") { name } else { name.split('<').next()? };
    let (mut depth, mut start) = (0, 0);
    for (i, c) in text.char_indices() {
        if depth == 0 && i >= start && text[i..].starts_with(base) {
            let before = &text[start..i];
            let rest = &text[i + base.len()..];
            let is_end = rest.chars().next().is_none_or(|next| "(<[".contains(next));
            // A constructor of a class template has the name of the class: `Box<int>::Box`.
            let is_end = is_end && !after_arguments(rest).starts_with("::");
            if is_end && (before.is_empty() || before.ends_with("::")) {
                return Some(before);
            }
        }
        match c {
            '<' | '(' | '{' | '[' => depth += 1,
            '>' | ')' | '}' | ']' => depth -= 1,
            ' ' if depth == 0 => start = i + 1,
            _ => {}
        }
    }
    None
}

/// The text after the template arguments with which `text` begins, if it begins with such.
fn after_arguments(text: &str) -> &str {
    let mut depth = 0;
    for (i, c) in text.char_indices() {
        match c {
            '<' => depth += 1,
            '>' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return if c == '>' { &text[i + 1..] } else { text };
        }
    }
    ""
}

/// Is this the function's name, with or without its scopes?
#[must_use]
pub fn is_name_of(wanted: &str, name: &str) -> bool {
    name.strip_suffix(wanted).is_some_and(|scopes| scopes.is_empty() || scopes.ends_with("::")) && !wanted.is_empty()
}

/// Is this a function of the C++ library, whose headers add it to every program, or of the compiler?
#[must_use]
pub fn is_of_library(name: &str, file: &str) -> bool {
    ["/include/c++/", "/include/g++", "/c++/v1/"].iter().any(|part| file.contains(part))
        || ["std::", "__gnu_cxx::", "__cxxabiv1::", "__clang_call_terminate"]
            .iter()
            .any(|scope| name.starts_with(scope))
}

/// Suggests names from `known` for a name that is not among them, as the end of a sentence.
#[must_use]
pub fn suggest_names<'a>(known: impl Iterator<Item = &'a str>, wanted: &str) -> String {
    let mut near: Vec<(f64, &str)> = known.map(|name| (similarity(name, wanted), name)).collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0));
    near.dedup_by(|a, b| a.1 == b.1);
    let names: Vec<&str> = near.iter().filter(|(score, _)| *score > 0.6).take(3).map(|(_, n)| *n).collect();
    if !names.is_empty() {
        return format!("did you mean {}?", names.join(", "));
    }
    let all: Vec<&str> = near.iter().take(5).map(|(_, n)| *n).collect();
    if all.is_empty() { "it defines none".to_owned() } else { format!("it has {}", all.join(", ")) }
}

/// Minimum length of a name that is searched for in other names; shorter ones occur in too many.
const PART: usize = 3;

/// Returns the similarity of two names, from 0 to 2: above 1 if one is the other with a prefix or a suffix
/// (`lib_hyp2f1`, `hyp2f1`).
fn similarity(name: &str, wanted: &str) -> f64 {
    let (long, short) = if name.len() >= wanted.len() { (name, wanted) } else { (wanted, name) };
    let is_part = short.len() >= PART && (long.starts_with(short) || long.ends_with(short));
    strsim::jaro_winkler(name, wanted) + f64::from(u8::from(is_part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_their_scopes() {
        for (name, symbol, whole) in [
            ("f", "_ZN5outer5inner1fEd", "outer::inner::f"),
            ("half<float>", "_ZN1n4halfIfEET_S1_", "n::half<float>"),
            ("f", "_ZN1n12_GLOBAL__N_1L1fEd", "n::f"),
            ("f", "_Z1fd", "f"),
            ("f", "f", "f"),
            ("n::f", "_ZN1n1fEd", "n::f"),
            ("f", "_ZN99999999999999999999f", "f"),
            ("A", "_ZN1n1AC2Ei", "n::A::A"),
            ("Box", "_ZN3BoxIdEC2Emb", "Box<double>::Box"),
            ("~Box", "_ZN3BoxIdED2Ev", "Box<double>::~Box"),
            ("operator()", "_ZN1n1AclEi", "n::A::operator()"),
            ("operator<", "_ZN1nltERKNS_1AES2_", "n::operator<"),
            ("get", "_ZNK1n3BoxIdE3getEv", "n::Box<double>::get"),
            ("red<n::Box<double> >", "_ZNK1n4PolyIiE3redINS_3BoxIdEEEEdRT_i", "n::Poly<int>::red<n::Box<double> >"),
        ] {
            assert_eq!(qualified(name, symbol), whole, "{symbol}");
        }
    }

    #[test]
    fn a_name_is_found_with_or_without_its_scopes() {
        assert!(is_name_of("f", "n::f") && is_name_of("n::f", "m::n::f") && is_name_of("f", "f"));
        assert!(!is_name_of("f", "n::ff") && !is_name_of("f", "gf") && !is_name_of("", "f"));
    }
}
