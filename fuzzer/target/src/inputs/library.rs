//! Classes of the C++ library whose objects are made: containers and views, by the layout that libstdc++ gives them.
//!
//! A class is recognised by its name and its members, so an object with another layout (`std::vector<bool>`, libc++, an allocator of the
//! program's own) stays one that cannot be made. Pairs and `std::array` are structures like others.

use penfuzz_abi::type_flag;

use super::types::{Form, Member, Number, TypeId, Types};

/// What an object is, and where its parts lie, in bytes from its start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Class {
    /// `std::vector<T>`: three pointers into one array.
    Vector {
        /// T.
        element: TypeId,
        /// The pointer to the first element.
        begin: usize,
        /// The pointer behind the last one.
        end: usize,
        /// The pointer behind the memory.
        limit: usize,
    },
    /// `std::string`, with its characters outside of it.
    String {
        /// `char`.
        element: TypeId,
        /// The pointer to the first character.
        begin: usize,
        /// The number of characters.
        count: usize,
        /// The number of characters that there is room for.
        room: usize,
    },
    /// `std::string_view` and `std::span<T>`: elements of somebody else.
    View {
        /// T.
        element: TypeId,
        /// The elements may not be written.
        is_const: bool,
        /// The pointer to the first element.
        begin: usize,
        /// Where the number of elements lies, if it is not a part of the type.
        count: Option<usize>,
        /// The number of elements in the type.
        fixed: usize,
        /// It is a `std::string_view`.
        is_text: bool,
    },
    /// `std::optional<T>`.
    Optional {
        /// T.
        value: TypeId,
        /// Where the value lies.
        at: usize,
        /// Where it is noted whether there is one.
        flag: usize,
    },
}

impl Class {
    /// The type of the elements, or of the value.
    #[must_use]
    pub const fn element(&self) -> TypeId {
        match self {
            Self::Vector { element, .. } | Self::String { element, .. } | Self::View { element, .. } => *element,
            Self::Optional { value, .. } => *value,
        }
    }

    /// The name of the class as a person writes it, `std::vector<double>`, with the names of other types.
    pub fn spelled(&self, name: impl Fn(TypeId) -> String) -> String {
        match self {
            Self::Vector { element, .. } => format!("std::vector<{}>", name(*element)),
            Self::String { .. } => "std::string".to_owned(),
            Self::View { is_text: true, .. } => "std::string_view".to_owned(),
            Self::View { element, is_const, count, fixed, .. } => {
                let constant = if *is_const { "const " } else { "" };
                let extent = if count.is_none() { format!(", {fixed}") } else { String::new() };
                format!("std::span<{constant}{}{extent}>", name(*element))
            }
            Self::Optional { value, .. } => format!("std::optional<{}>", name(*value)),
        }
    }

    /// Are its elements written as a part of it, in a test?
    #[must_use]
    pub const fn has_literal(&self) -> bool {
        self.owns() || matches!(self, Self::View { is_text: true, .. })
    }

    /// Does the object free its elements?
    #[must_use]
    pub const fn owns(&self) -> bool {
        matches!(self, Self::Vector { .. } | Self::String { .. })
    }
}

/// The class of this name with these members; `None` for a structure like others.
pub(super) fn recognise(types: &Types, name: &str, members: &[Member]) -> Option<Class> {
    let name = name.strip_prefix("std::")?;
    let name = name.strip_prefix("__cxx11::").unwrap_or(name);
    let (template, arguments) = name.split_once('<')?;
    let find = |member: &str| find(types, members, 0, member, 0);
    let pointer = |member: &str| {
        let (of, at) = find(member)?;
        let Form::Pointer(to) = types[of].form else { return None };
        Some((to, types[of].has(type_flag::CONST), at))
    };
    match template {
        "vector" if arguments.contains(", std::allocator<") => {
            let (element, _, begin) = pointer("_M_start")?;
            let class =
                Class::Vector { element, begin, end: pointer("_M_finish")?.2, limit: pointer("_M_end_of_storage")?.2 };
            Some(class)
        }
        "basic_string" if arguments.contains(", std::allocator<") => {
            let (element, _, begin) = pointer("_M_p")?;
            let count = find("_M_string_length")?.1;
            // Other characters have no literals here.
            let is_char = matches!(types[element].form, Form::Number(Number::Plain(_))) && types[element].size == 1;
            is_char.then_some(Class::String { element, begin, count, room: find("_M_allocated_capacity")?.1 })
        }
        "basic_string_view" => {
            let (element, is_const, begin) = pointer("_M_str")?;
            let count = Some(find("_M_len")?.1);
            (types[element].size == 1).then_some(Class::View {
                element,
                is_const,
                begin,
                count,
                fixed: 0,
                is_text: true,
            })
        }
        "span" => {
            let (element, is_const, begin) = pointer("_M_ptr")?;
            let count = find("_M_extent_value").map(|(_, at)| at);
            let extent = arguments.trim_end_matches('>').rsplit(", ").next().unwrap_or_default();
            let fixed = extent.trim().trim_end_matches(|c: char| c.is_ascii_alphabetic()).parse().unwrap_or(0);
            (count.is_some() || fixed > 0).then_some(Class::View {
                element,
                is_const,
                begin,
                count,
                fixed: if count.is_some() { 0 } else { fixed },
                is_text: false,
            })
        }
        "optional" => {
            let ((value, at), (_, flag)) = (find("_M_value")?, find("_M_engaged")?);
            Some(Class::Optional { value, at, flag })
        }
        _ => None,
    }
}

/// The member of this name in a structure, its bases and its members: its type, and bytes from the start.
fn find(types: &Types, members: &[Member], from: usize, name: &str, depth: usize) -> Option<(TypeId, usize)> {
    const DEEPEST: usize = 8;
    let own = members.iter().find(|m| m.name == name).map(|m| (m.of, from + m.offset / 8));
    let inner = || {
        members.iter().filter(|_| depth < DEEPEST).find_map(|m| match &types[m.of].form {
            Form::Struct(inner) | Form::Union(inner) => find(types, inner, from + m.offset / 8, name, depth + 1),
            _ => None,
        })
    };
    own.or_else(inner)
}
