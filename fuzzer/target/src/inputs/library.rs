//! Classes of the C++ library whose objects can be built: containers and views, in the layout of libstdc++.
//!
//! A class is recognised by its name and its members. An object with another layout (`std::vector<bool>`, libc++, an
//! allocator of the program) is therefore not recognised, and cannot be built. Pairs and `std::array` are ordinary
//! structures.

use penfuzz_abi::type_flag;

use super::types::{Form, Member, Number, TypeId, Types};

/// A recognised class, with the offsets of its parts in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Class {
    /// `std::vector<T>`: three pointers into one array.
    Vector {
        /// The type `T`.
        element: TypeId,
        /// Offset of the pointer to the first element.
        begin: usize,
        /// Offset of the pointer past the last element.
        end: usize,
        /// Offset of the pointer past the memory.
        limit: usize,
    },
    /// `std::string`, with its characters outside of the object.
    String {
        /// The type `char`.
        element: TypeId,
        /// Offset of the pointer to the first character.
        begin: usize,
        /// Offset of the number of characters.
        count: usize,
        /// Offset of the number of characters that there is room for.
        room: usize,
    },
    /// `std::string_view` and `std::span<T>`: elements that the object does not own.
    View {
        /// The type `T`.
        element: TypeId,
        /// Whether the elements must not be written.
        is_const: bool,
        /// Offset of the pointer to the first element.
        begin: usize,
        /// Offset of the number of elements; `None` if the number is part of the type.
        count: Option<usize>,
        /// The number of elements in the type; 0 if the type has none.
        fixed: usize,
        /// Whether it is a `std::string_view`.
        is_text: bool,
    },
    /// `std::optional<T>`.
    Optional {
        /// The type `T`.
        value: TypeId,
        /// Offset of the value.
        at: usize,
        /// Offset of the flag that shows whether there is a value.
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

    /// Offset of the pointer to the first element; `None` if the class has none.
    #[must_use]
    pub const fn begin(&self) -> Option<usize> {
        match self {
            Self::Vector { begin, .. } | Self::String { begin, .. } | Self::View { begin, .. } => Some(*begin),
            Self::Optional { .. } => None,
        }
    }

    /// The class as written in source code, for example `std::vector<double>`. `name` returns the names of other types.
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

    /// Whether a test writes the elements as part of the object.
    #[must_use]
    pub const fn has_literal(&self) -> bool {
        self.owns() || matches!(self, Self::View { is_text: true, .. })
    }

    /// Whether the object frees its elements.
    #[must_use]
    pub const fn owns(&self) -> bool {
        matches!(self, Self::Vector { .. } | Self::String { .. })
    }
}

/// Recognises a class by its name and its members; `None` for an ordinary structure.
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
            // Strings of other character types have no literals in tests.
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

/// Finds a member by its name in a structure, in its bases and in its members. Returns its type, and its offset in
/// bytes.
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
