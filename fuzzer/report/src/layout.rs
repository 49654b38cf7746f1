//! Memory layout of a type. With it, a test program that lacks the definition of the type can declare the same memory.

use penfuzz_mutators::view::Kind;
use serde::{Deserialize, Serialize};

use super::literal::kind_named;

/// A type, or a member of one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layout {
    /// The name of the member; empty for an unnamed member and for a type.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// For a structure or union: its C name, empty if it has none.
    #[serde(rename = "type", default, skip_serializing_if = "String::is_empty")]
    pub type_name: String,
    /// For a number, its kind as [`kind_name`](super::literal::kind_name) spells it, or `char`, `f16`, `f80`, `f128`,
    /// `i128`, `u128`, `complex f32`, `complex f64`. Otherwise `pointer`, `structure` or `union`. Any other text means
    /// `size` bytes of memory.
    pub kind: String,
    /// Size of one element in bytes.
    pub size: usize,
    /// Offset in bits from the start of the enclosing type.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub offset: usize,
    /// Width in bits of a bit-field; otherwise 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub bits: usize,
    /// The dimensions of an array, outermost first; empty if it is not an array.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub elements: Vec<usize>,
    /// The members of a structure or union, in order of declaration.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<Layout>,
    /// A C++ program can initialize the type by the names of its members: all members are numbers, or arrays and
    /// structures of numbers, and none uses a C++ feature.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub is_plain: bool,
    /// The structure is defined in another translation unit than the function.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub is_foreign: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(n: &usize) -> bool {
    *n == 0
}

impl Layout {
    /// Size of all elements in bytes; `None` if it does not fit into an address, in a report from an untrusted source.
    #[must_use]
    pub fn bytes(&self) -> Option<usize> {
        self.elements.iter().try_fold(self.size, |size, n| size.checked_mul(*n))
    }

    /// The member that represents a union: the one whose value an input has. The order is that of
    /// `penfuzz_target::inputs::types::Types::of_union`.
    #[must_use]
    pub fn largest(&self) -> Option<&Self> {
        let has_pointers = self.members.iter().any(|m| m.any(&|m| m.kind == "pointer" && m.elements.is_empty()));
        let key = |m: &&Self| (m.bytes(), !m.any(&|m| m.bits > 0), !has_pointers && m.is_integer());
        self.members.iter().max_by_key(key)
    }

    /// Whether this holds for the member or for any member of it.
    fn any(&self, holds: &dyn Fn(&Self) -> bool) -> bool {
        holds(self) || self.elements.is_empty() && self.members.iter().any(|m| m.any(holds))
    }

    fn is_integer(&self) -> bool {
        let kind = if self.kind == "char" { Some(Kind::I8) } else { kind_named(&self.kind) };
        self.elements.is_empty() && kind.is_some_and(|kind| !kind.is_float() && kind != Kind::Bool)
    }
}
