//! Values in objects of the C++ library, as a program reads them: by the public members of their classes.

use penfuzz_mutators::view::Kind;
use penfuzz_target::inputs::{
    Target,
    library::Class,
    types::{Form, Member, TypeId},
};

use super::{MOST_VALUES, Walk};

/// Part of the name of libstdc++'s base class that holds one element of a tuple: `std::_Head_base<2UL, int, false>`.
const TUPLE_ELEMENT: &str = "std::_Head_base<";

impl Walk<'_> {
    /// Visits an object whose members are private or have other names than the operations that read them:
    /// `std::complex`, `std::array`, `std::tuple`. Returns whether the object is one of them.
    pub(super) fn visit_public(
        &mut self,
        members: &[Member],
        name: &str,
        at: usize,
        path: &str,
        expression: &str,
    ) -> bool {
        let path = &dereferenced(path);
        if let Some(index) = name.strip_prefix(TUPLE_ELEMENT).and_then(tuple_index) {
            let get = |of: &str| format!("std::get<{index}>({of})");
            for m in members {
                self.visit(m.of, at + m.offset / 8, &get(path), &get(expression));
            }
            return true;
        }
        if name.starts_with("std::_Tuple_impl<") {
            // The base class of the remaining elements comes first.
            for m in members.iter().rev() {
                self.visit(m.of, at + m.offset / 8, path, expression);
            }
            return true;
        }
        let [only] = members else { return false };
        let at = at + only.offset / 8;
        match &self.renderer.model.types[only.of].form {
            Form::Array(part, 2) if name.starts_with("std::complex<") => {
                let size = self.renderer.model.types[*part].size;
                for (i, part_name) in ["real", "imag"].iter().enumerate() {
                    let named = |of: &str| format!("{of}.{part_name}()");
                    self.visit(*part, at + i * size, &named(path), &named(expression));
                }
            }
            Form::Array(..) if name.starts_with("std::array<") => self.visit(only.of, at, path, expression),
            _ => return false,
        }
        true
    }

    /// Visits a container, a string or an optional value.
    pub(super) fn visit_library(&mut self, class: &Class, at: usize, path: &str, expression: &str) {
        match class {
            Class::Optional { value, at: inner, flag } => {
                self.visit_optional((*value, at + inner), at + flag, path, expression);
            }
            Class::Vector { .. } | Class::String { .. } => self.visit_elements(class, at, path, expression),
            Class::View { .. } => {}
        }
    }

    fn visit_optional(&mut self, (value, at): (TypeId, usize), flag: usize, path: &str, expression: &str) {
        let named = |of: &str, operation: &str| format!("{of}.{operation}()");
        self.note(Kind::Bool, "bool", flag, &named(path, "has_value"), &named(expression, "has_value"));
        if self.after.get(flag).is_some_and(|flag| *flag != 0) {
            self.visit(value, at, &named(path, "value"), &named(expression, "value"));
        }
    }

    /// Visits the number of elements, and the elements.
    fn visit_elements(&mut self, class: &Class, at: usize, path: &str, expression: &str) {
        let Some((after, n)) = self.blocks.elements(self.after, at, class) else { return };
        let renderer = self.renderer;
        let (block, before) = match self.before {
            None => (None, None),
            Some(own) => {
                let Some(begin) = class.begin() else { return };
                let Some(Target::Block(block)) = renderer.model.pointer_at(own, at + begin).map(|p| p.target) else {
                    return;
                };
                let b = &renderer.model.blocks[block];
                (Some(block), Some(b.len(renderer.x) - usize::from(b.is_terminated)))
            }
        };
        let mut walk = Walk { in_object: true, ..Walk::new(renderer, self.blocks, block, after, self.variable) };
        let size = (format!("{path}.size()"), format!("{expression}.size()"));
        let size = walk.value(Kind::U64, n as u64, "std::size_t", 0, (&size.0, &size.1));
        walk.add(size, Some(n) != before);
        let stride = renderer.model.types[class.element()].size;
        for i in 0..n.min(MOST_VALUES) {
            walk.visit(class.element(), i * stride, &format!("{path}[{i}]"), &format!("{expression}[{i}]"));
        }
        self.changed.append(&mut walk.changed);
        self.unchanged.append(&mut walk.unchanged);
    }
}

/// The path of an object as an operand: `(*p)` for `*p`.
fn dereferenced(path: &str) -> String {
    if path.starts_with('*') { format!("({path})") } else { path.to_owned() }
}

/// The index at the beginning of a base class's template arguments: 2 in `2UL, int, false>`.
fn tuple_index(arguments: &str) -> Option<usize> {
    arguments.split(',').next()?.trim_end_matches(|c: char| c.is_ascii_alphabetic()).parse().ok()
}
