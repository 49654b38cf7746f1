//! Renders C++ objects as initializers: containers and views of the C++ library, and structures without constructors.
//!
//! All use braces after a type name (`std::vector<double>{1.0, 2.0}`), so that no text of a report is a call.

use penfuzz_abi::type_flag;
use penfuzz_report::c_text::string_of;
use penfuzz_target::inputs::{
    Target,
    library::Class,
    types::{Form, Member, Number, TypeId},
};
use penfuzz_testgen::ARGUMENT;

use super::{Renderer, bit_field, bits, plain, text_of};

impl Renderer<'_> {
    /// The name of the type of a variable.
    pub(super) fn named_type(&self, of: TypeId) -> String {
        let is_library = matches!(self.model.types[of].form, Form::Library(_));
        if is_library { self.spelled(of) } else { self.type_name(of) }
    }

    /// The name of a type. For an array without a typedef, it is that of the elements followed by the dimensions:
    /// `double[3][4]`.
    pub(super) fn type_name(&self, of: TypeId) -> String {
        let t = &self.model.types[of];
        if self.model.is_program && matches!(t.form, Form::Pointer(_)) {
            return ARGUMENT.to_owned();
        }
        if let Form::Array(element, _) = t.form
            && t.has(type_flag::COMPLEX)
        {
            // In debug information, all complex types have the same name.
            return format!("{} _Complex", self.model.types[element].name);
        }
        if !t.name.is_empty() {
            return t.name.clone();
        }
        if let Form::Pointer(to) = t.form {
            return self.pointer_name(of, to);
        }
        let Form::Array(element, n) = t.form else { return String::new() };
        let inner = self.type_name(element);
        let (base, dimensions) = inner.split_at(inner.find('[').unwrap_or(inner.len()));
        if base.is_empty() { String::new() } else { format!("{base}[{n}]{dimensions}") }
    }

    /// `const double *`; empty if the pointed-to type has no name, or a name with dimensions.
    fn pointer_name(&self, of: TypeId, to: TypeId) -> String {
        let (inner, is_const) = (self.type_name(to), self.model.types[of].has(type_flag::CONST));
        let is_pointer = matches!(self.model.types[to].form, Form::Pointer(_));
        match inner.as_str() {
            "" => String::new(),
            name if name.contains('[') => String::new(),
            name if is_const && is_pointer => format!("{name} const *"),
            name if is_const => format!("const {name} *"),
            name => format!("{name} *"),
        }
    }

    /// The usual spelling of a type in C++: `std::vector<double>`.
    pub(super) fn spelled(&self, of: TypeId) -> String {
        let t = &self.model.types[of];
        match &t.form {
            Form::Library(class) => class.spelled(|of| self.spelled(of)),
            _ => self.type_name(of).replace("_Bool", "bool"),
        }
    }

    /// The braced initializer of a C++ object; `None` if the type has no name, or if the object can only be made from
    /// bytes.
    pub(super) fn braces(&self, of: TypeId, block: usize, at: usize) -> Option<String> {
        let t = &self.model.types[of];
        match &t.form {
            Form::Library(class) => self.library_object(class, block, at),
            Form::Struct(members) if t.name.starts_with("std::pair<") => {
                let parts: Option<Vec<_>> = members
                    .iter()
                    .filter(|m| !m.name.is_empty())
                    .map(|m| self.expression(m.of, block, at + m.offset / 8))
                    .collect();
                Some(format!("{{{}}}", parts?.join(", ")))
            }
            Form::Struct(members) if t.name.starts_with("std::array<") => {
                let elements = members.iter().find(|m| m.name == "_M_elems")?;
                Some(format!("{{{}}}", self.expression(elements.of, block, at)?))
            }
            Form::Struct(members) if t.has(type_flag::AGGREGATE) && !t.name.is_empty() => {
                self.aggregate(members, block, at)
            }
            _ => None,
        }
    }

    /// The elements of a block as an array initializer.
    pub(super) fn array_of_objects(&self, block: usize) -> Option<String> {
        let b = &self.model.blocks[block];
        let each = (0..b.len(self.x)).map(|i| self.expression(b.element, block, i * b.stride));
        Some(format!("{{{}}}", each.collect::<Option<Vec<_>>>()?.join(", ")))
    }

    fn library_object(&self, class: &Class, block: usize, at: usize) -> Option<String> {
        if let Class::Optional { value, at: inner, flag } = class {
            let is_there = self.images[block].get(at + flag).is_some_and(|b| *b != 0);
            return Some(if is_there {
                format!("{{{}}}", self.expression(*value, block, at + inner)?)
            } else {
                "{}".to_owned()
            });
        }
        let begin = match class {
            Class::Vector { begin, .. } | Class::String { begin, .. } | Class::View { begin, .. } => *begin,
            Class::Optional { .. } => return None,
        };
        let Some(Target::Block(elements)) = self.model.pointer_at(block, at + begin).map(|p| p.target) else {
            return Some("{}".to_owned());
        };
        let b = &self.model.blocks[elements];
        if matches!(class, Class::String { .. } | Class::View { is_text: true, .. }) {
            let n = b.len(self.x) - usize::from(b.is_terminated && b.len(self.x) > 0);
            let text = self.images[elements].get(..n).unwrap_or_default();
            return Some(if n == 0 { "{}".to_owned() } else { format!("{{{}, {n}}}", string_of(text)) });
        }
        if matches!(class, Class::View { .. }) {
            return Some(format!("{{{}, {}}}", self.names[elements], b.len(self.x)));
        }
        self.array_of_objects(elements).or_else(|| self.range(elements))
    }

    /// The elements of a vector as two pointers into a variable of the test, if they have no initializers.
    fn range(&self, elements: usize) -> Option<String> {
        let (b, name) = (&self.model.blocks[elements], &self.names[elements]);
        let of = self.spelled(b.element);
        let n = b.len(self.x);
        (!of.is_empty()).then(|| match n {
            0 => "{}".to_owned(),
            _ => format!("{{({of} *){name}, ({of} *){name} + {n}}}"),
        })
    }

    fn aggregate(&self, members: &[Member], block: usize, at: usize) -> Option<String> {
        let is_named = |m: &&Member| m.bits == 0 || !m.name.is_empty();
        let parts: Option<Vec<_>> = members.iter().filter(is_named).map(|m| self.part(m, block, at)).collect();
        let mut parts = parts?;
        // Omitted members are initialized to 0.
        while parts.last().is_some_and(|part| is_zero(part)) {
            parts.pop();
        }
        Some(format!("{{{}}}", parts.join(", ")))
    }

    fn part(&self, m: &Member, block: usize, at: usize) -> Option<String> {
        if m.bits > 0 {
            return Some(bit_field(&self.images[block], 8 * at + m.offset, m.bits).to_string());
        }
        self.expression(m.of, block, at + m.offset / 8)
    }

    /// A value, with the name of its type where the initializer needs it.
    fn expression(&self, of: TypeId, block: usize, at: usize) -> Option<String> {
        let t = &self.model.types[of];
        match &t.form {
            Form::Number(Number::Plain(kind)) => {
                let value = plain(*kind, bits(&self.images[block], at, kind.size()));
                if !t.has(type_flag::ENUM) {
                    return Some(value);
                }
                // Braces do not convert a number to an enumeration.
                (!t.name.is_empty()).then(|| format!("({}){value}", t.name))
            }
            Form::Pointer(_) => match self.address(block, at) {
                None if t.has(type_flag::REFERENCE) => None,
                None => Some("0".to_owned()),
                Some(address) => {
                    let name = self.type_name(of);
                    (!name.is_empty() && !t.has(type_flag::REFERENCE)).then(|| format!("({name}){address}"))
                }
            },
            Form::Array(element, n) if !t.has(type_flag::COMPLEX) => {
                let stride = self.model.types[*element].size;
                if self.model.types[*element].has(type_flag::CHAR)
                    && let Some(text) = self.images[block].get(at..at + n).and_then(text_of)
                {
                    return Some(string_of(text));
                }
                let parts: Option<Vec<_>> =
                    (0..*n).map(|i| self.expression(*element, block, at + i * stride)).collect();
                let mut parts = parts?;
                while parts.last().is_some_and(|part| is_zero(part)) {
                    parts.pop();
                }
                Some(format!("{{{}}}", parts.join(", ")))
            }
            Form::Library(_) | Form::Struct(_) => Some(format!("{}{}", self.spelled(of), self.braces(of, block, at)?)),
            _ => None,
        }
    }

    /// The library objects in a part of a block, which cannot be made from bytes: their offsets, and their expressions.
    /// Objects that cannot be written are left out.
    pub(super) fn objects_in(&self, of: TypeId, block: usize, at: usize) -> Vec<(usize, String)> {
        let t = &self.model.types[of];
        match &t.form {
            Form::Library(_) => self.expression(of, block, at).map(|text| (at, text)).into_iter().collect(),
            Form::Struct(members) => {
                members.iter().flat_map(|m| self.objects_in(m.of, block, at + m.offset / 8)).collect()
            }
            Form::Array(element, n) => {
                let stride = self.model.types[*element].size;
                (0..*n).flat_map(|i| self.objects_in(*element, block, at + i * stride)).collect()
            }
            _ => Vec::new(),
        }
    }
}

/// Whether the text is a zero without a minus sign.
fn is_zero(text: &str) -> bool {
    matches!(text, "0" | "0.0" | "0.0f" | "0f" | "0U" | "0ULL" | "{}" | "\"\"")
}
