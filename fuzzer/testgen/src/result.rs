//! Results that are structures. Their numbers are checked one by one, as are those behind pointers.

use penfuzz_report::{
    arg::{ADDRESS, Arg, Place, RESULT, TEXT},
    c_text::comment,
    layout::Layout,
    model::{Report, Test},
};

use super::{
    access::{Access, has_types, is_cxx_program},
    checks::{Check, Kind, Label},
    memory, mirror,
};

/// Returns whether the value is a number within the result.
fn is_of_result(output: &Arg) -> bool {
    output.place.as_ref().is_some_and(|place| place.variable == RESULT)
}

/// Returns whether the value is a fact about a result that is a pointer.
pub(super) fn is_of_pointer(place: &Place) -> bool {
    [ADDRESS, TEXT].contains(&place.kind.as_str())
}

/// The check of a fact about a result that is a pointer.
pub(super) fn pointer_check(place: &Place, output: &Arg) -> Check {
    let holds = output.decimal == "1";
    let (value, expected) = match place.kind.as_str() {
        TEXT => (format!("strcmp(result, {})", place.expression), "0"),
        _ => (format!("result == {}", place.expression), if holds { "1" } else { "0" }),
    };
    Check { label: Label::Text(output.name.clone()), value, kind: Kind::Signed, expected: Some(expected.to_owned()) }
}

/// The declaration of the variable for a result, without a semicolon.
pub(super) fn declared(type_name: &str) -> String {
    if type_name.ends_with('*') { format!("{type_name}result") } else { format!("{type_name} result") }
}

/// The header that the checks of texts need.
pub(super) fn header(report: &Report) -> &'static str {
    let is_text = |output: &Arg| output.place.as_ref().is_some_and(|place| place.kind == TEXT);
    if !report.tests.iter().flat_map(|test| &test.outputs).any(is_text) {
        return "";
    }
    // A library may define a function of that header, of which the program has its own prototype.
    let may_conflict = ["str", "mem"].iter().any(|start| report.function.starts_with(start));
    if may_conflict && !is_cxx_program(report) {
        "extern int strcmp(const char *, const char *);\n"
    } else {
        "#include <string.h>\n"
    }
}

/// The values that are checked after the call, without numbers of a result that the program cannot access.
pub(super) fn checked(report: &Report, test: &Test) -> Vec<Arg> {
    let has_variable = variable(report, test).is_some();
    test.outputs.iter().filter(|o| has_variable || !is_of_result(o)).cloned().collect()
}

/// The type of the variable for a result that is a structure; `None` if nothing of it is checked.
pub(super) fn variable(report: &Report, test: &Test) -> Option<String> {
    let first = test.outputs.iter().find(|o| is_of_result(o))?;
    if first.place.as_ref().is_some_and(is_of_pointer) {
        // The wrapper of a function of C returns no pointer.
        let pointer = match report.signature.result.trim_end_matches('*').trim() {
            "char" | "const char" => "const char *",
            _ => "const void *",
        };
        return (Access::of(report) != Access::Wrapper).then(|| pointer.to_owned());
    }
    let layout = layout(report)?;
    if !has_types(report) {
        return mirrored(report).and_then(|index| mirror::type_name(report, index));
    }
    match layout.kind.as_str() {
        "complex f32" => return Some("float _Complex".to_owned()),
        "complex f64" => return Some("double _Complex".to_owned()),
        _ => {}
    }
    let is_cxx = is_cxx_program(report);
    // If other statements run around the call, the variable is declared before it, and a class may have no default
    // constructor.
    let is_apart = test.errno.is_some() || test.args.last().is_some_and(Arg::is_rounding);
    if is_cxx && is_apart && !layout.is_plain && layout.kind != "library" {
        return None;
    }
    // In C++, only the name in the layout is qualified.
    let names =
        if is_cxx { [&layout.type_name, &String::new()] } else { [&report.signature.result, &layout.type_name] };
    names.into_iter().find(|name| memory::is_type(name)).map(|name| comment(name))
}

/// The index of the layout that the program declares again for the result.
pub(super) fn mirrored(report: &Report) -> Option<usize> {
    let is_needed = Access::of(report) == Access::Prototype && layout(report).is_some_and(|l| l.kind != "library");
    report.signature.result_layout.filter(|_| is_needed)
}

fn layout(report: &Report) -> Option<&Layout> {
    let layout = report.signature.layouts.get(report.signature.result_layout?)?;
    let is_object = matches!(layout.kind.as_str(), "structure" | "library");
    (is_object || layout.kind.starts_with("complex")).then_some(layout)
}

/// Returns whether the program can access the members of the result by name.
pub(super) fn has_members(report: &Report, place: &Place) -> bool {
    let has_public = |l: &Layout| ["std::pair<", "std::array<"].into_iter().any(|name| l.type_name.starts_with(name));
    place.variable == RESULT && (!is_cxx_program(report) || layout(report).is_some_and(|l| l.is_plain || has_public(l)))
}
