//! Finds the enumerations among parameter types, for C++ programs. In a signature, a parameter of an enumeration has
//! the underlying integer type, but C++ does not convert an integer to an enumeration. The symbol of a C++ function
//! contains the type names of its parameters, which the casts in the emitted tests need.

use penfuzz_mutators::view::Kind;
use penfuzz_report::{
    literal::kind_named,
    model::{Parameter, Report, Signature},
};
use penfuzz_target::program::symbols::demangled;

use super::access::{has_types, is_cxx_program};

/// The C++ types that an integer argument can have without a cast.
const INTEGERS: [&str; 18] = [
    "bool",
    "char",
    "signed char",
    "unsigned char",
    "char8_t",
    "char16_t",
    "char32_t",
    "wchar_t",
    "short",
    "unsigned short",
    "int",
    "unsigned int",
    "long",
    "unsigned long",
    "long long",
    "unsigned long long",
    "__int128",
    "unsigned __int128",
];

/// For each parameter of a function, the enumeration that it is, points to or refers to, with its namespaces and
/// classes. `None` for every other parameter, for an unnamed enumeration, and if the program cannot name the types of
/// the source.
pub(super) fn of_parameters(report: &Report, signature: &Signature) -> Vec<Option<String>> {
    let parameters = &signature.parameters;
    let none = vec![None; parameters.len()];
    if !signature.symbol.starts_with("_Z") || !is_cxx_program(report) || !has_types(report) {
        return none;
    }
    let text = demangled(signature.symbol.as_str().into()).replace("(anonymous namespace)::", "");
    let types = types(&text);
    // The symbol of a member function does not contain the type of the object.
    let n_objects = usize::from(parameters.first().is_some_and(|p| p.name == "this"));
    if n_objects + types.len() != parameters.len() {
        return none;
    }
    let is_scalar = |p: &Parameter| kind_named(&p.kind).is_some_and(|kind| !matches!(kind, Kind::F32 | Kind::F64));
    let each = types.iter().zip(&parameters[n_objects..]);
    let enumerations = each.map(|(text, p)| enumeration(text).filter(|_| is_scalar(p)));
    vec![None; n_objects].into_iter().chain(enumerations).collect()
}

/// Splits the parameter types out of a demangled name: `n::f<int>(n::E const&, double)`.
fn types(name: &str) -> Vec<&str> {
    let Some(end) = name.rfind(')') else { return Vec::new() };
    let mut depth = 0;
    let start = name[..=end].char_indices().rev().find_map(|(i, c)| {
        depth += i32::from(c == ')') - i32::from(c == '(');
        (depth == 0).then_some(i + 1)
    });
    let Some(list) = start.map(|start| &name[start..end]).filter(|list| !list.is_empty()) else { return Vec::new() };
    list.split(|c| {
        depth += i32::from("(<[{".contains(c)) - i32::from(")>]}".contains(c));
        c == ',' && depth == 0
    })
    .map(str::trim)
    .collect()
}

/// The type name without pointers, references and qualifiers, if it is that of a type that a program can define and
/// name.
fn enumeration(text: &str) -> Option<String> {
    let mut base = text.trim();
    while let Some(shorter) =
        ["&", "*", " const", " volatile"].iter().find_map(|suffix| base.strip_suffix(suffix)).map(str::trim_end)
    {
        base = shorter;
    }
    let is_name = base.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && base.chars().all(|c| c.is_alphanumeric() || "_:<>, ".contains(c));
    (is_name && !INTEGERS.contains(&base)).then(|| base.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_found_in_a_demangled_name() {
        assert_eq!(types("n::f(n::E const&, double)"), ["n::E const&", "double"]);
        assert_eq!(types("int n::g<int, 3>(Box<int, 3>::E*) const"), ["Box<int, 3>::E*"]);
        assert_eq!(
            types("f(std::function<void (int, E)>, int (*)(E))"),
            ["std::function<void (int, E)>", "int (*)(E)"]
        );
        assert_eq!(types("n::operator>(E, E)"), ["E", "E"]);
        assert!(types("f()").is_empty() && types("f").is_empty() && types(")").is_empty());
    }

    #[test]
    fn the_object_of_a_member_function_is_no_parameter_of_its_symbol() {
        let mut report = penfuzz_report::example::report();
        report.signature.file = "/src/pick.cpp".to_owned();
        report.signature.symbol = "_ZN4Base4pickE4Kind".to_owned();
        report.signature.parameters.truncate(2);
        "this".clone_into(&mut report.signature.parameters[0].name);
        assert_eq!(of_parameters(&report, &report.signature), [None, Some("Kind".to_owned())]);
    }

    #[test]
    fn other_types_than_integers_are_enumerations() {
        for (text, name) in [
            ("n::C::Kind volatile*", "n::C::Kind"),
            ("E const* const&", "E"),
            ("Box<int>::E&&", "Box<int>::E"),
            ("std::byte", "std::byte"),
        ] {
            assert_eq!(enumeration(text).as_deref(), Some(name));
        }
        for text in ["unsigned long const&", "bool&", "char16_t", "f()::{unnamed type#1}", "'unnamed'", "E[3]", ""] {
            assert_eq!(enumeration(text), None, "{text}");
        }
    }
}
