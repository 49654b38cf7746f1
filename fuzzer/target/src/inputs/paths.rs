//! Paths of numbers and blocks in C notation.

use super::types::{Form, Member, TypeId, Types};

/// Replaces every index in a path by `[]`: all rows of a matrix have the same size.
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

/// The path of a member in C notation.
pub(super) fn join(path: &str, member: &str) -> String {
    match (path, member) {
        (_, "") => path.to_owned(),
        ("", _) => member.to_owned(),
        _ if path.ends_with("->") => format!("{path}{member}"),
        _ => format!("{path}.{member}"),
    }
}

/// The call of a member function without arguments in C++ notation.
pub(super) fn joined_call(object: &str, function: &str) -> String {
    format!("{}()", join(object, function))
}

/// The path of an element of a block in C notation, as a prefix of the paths of its members.
pub(super) fn element_path(pointer: &str, index: usize, capacity: usize, form: &Form) -> String {
    match form {
        Form::Struct(_) | Form::Union(_) if capacity == 1 => format!("{pointer}->"),
        _ if capacity == 1 => format!("*{pointer}"),
        _ => format!("{pointer}[{index}]"),
    }
}

/// The path of the member at this offset of a value of type `of`, which has the path `value`. `None` if there is no
/// member, or it has no name.
pub(super) fn member_path(types: &Types, of: TypeId, at: usize, value: &str) -> Option<String> {
    match &types[of].form {
        Form::Struct(members) => {
            let holds = |m: &&Member| {
                let start = m.offset / 8;
                m.bits == 0 && (start..start + types[m.of].size.max(1)).contains(&at) && !m.name.is_empty()
            };
            let m = members.iter().find(holds)?;
            member_path(types, m.of, at - m.offset / 8, &join(value, &m.name))
        }
        Form::Array(element, _) => {
            let stride = types[*element].size.max(1);
            member_path(types, *element, at % stride, &format!("{value}[{}]", at / stride))
        }
        Form::Pointer(_) if at == 0 => Some(value.to_owned()),
        _ => None,
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
