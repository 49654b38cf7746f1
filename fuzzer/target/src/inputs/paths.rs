//! Paths of numbers and blocks, as C writes them.

use super::types::Form;

/// A path with every index replaced: rows of a matrix have one size.
#[must_use]
pub fn any_index(path: &str) -> String {
    let mut out = String::new();
    let mut rest = path;
    while let Some((head, tail)) = rest.split_once('[') {
        out.push_str(head);
        out.push_str("[]");
        rest = tail.split_once(']').map_or("", |(_, behind)| behind);
    }
    out + rest
}

/// How C writes a member.
pub(super) fn join(path: &str, member: &str) -> String {
    match (path, member) {
        (_, "") => path.to_owned(),
        ("", _) => member.to_owned(),
        _ if path.ends_with("->") => format!("{path}{member}"),
        _ => format!("{path}.{member}"),
    }
}

/// How C++ writes the call of a member function without arguments.
pub(super) fn joined_call(object: &str, function: &str) -> String {
    format!("{}()", join(object, function))
}

/// How C writes an element of a block, as a prefix of its members.
pub(super) fn element_path(pointer: &str, index: usize, capacity: usize, form: &Form) -> String {
    match form {
        Form::Struct(_) | Form::Union(_) if capacity == 1 => format!("{pointer}->"),
        _ if capacity == 1 => format!("*{pointer}"),
        _ => format!("{pointer}[{index}]"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_those_of_c() {
        assert_eq!(join("s->", "next"), "s->next");
        assert_eq!(join("s->inner", "x"), "s->inner.x");
        assert_eq!(any_index("m[12]->rows[3]"), "m[]->rows[]");
        assert_eq!(element_path("a", 2, 4, &Form::Void), "a[2]");
    }
}
