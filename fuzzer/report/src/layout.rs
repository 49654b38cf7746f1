//! How the memory of a type is made up, so that a test program without its definition can declare the same memory.

use serde::{Deserialize, Serialize};

/// A type, or a member of one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layout {
    /// The name of the member; empty if it has none, and of a type.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Of a structure or union: its name as C writes it, empty if it has none.
    #[serde(rename = "type", default, skip_serializing_if = "String::is_empty")]
    pub type_name: String,
    /// Of a number, as [`kind_name`](super::literal::kind_name) spells it, or `char`, `f16`, `f80`, `f128`, `i128`, `u128`, `complex
    /// f32`, `complex f64`; `pointer`, `structure` or `union`. Anything else is memory of so many bytes.
    pub kind: String,
    /// Bytes of one element.
    pub size: usize,
    /// Bits from the start of what holds the member.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub offset: usize,
    /// Of a bit-field; else 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub bits: usize,
    /// The dimensions of an array, the outermost first; empty if it is none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub elements: Vec<usize>,
    /// Of a structure or union, in the order of their declaration.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<Layout>,
    /// A program in C++ can initialize the type by the names of its members: these are numbers, and arrays and structures of them, and
    /// none has anything of C++.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub is_plain: bool,
    /// Another translation unit than that of the function defines the structure.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub is_foreign: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(n: &usize) -> bool {
    *n == 0
}

impl Layout {
    /// Bytes of all elements; `None` if they are more than an address can count, in a report that others wrote.
    #[must_use]
    pub fn bytes(&self) -> Option<usize> {
        self.elements.iter().try_fold(self.size, |size, n| size.checked_mul(*n))
    }

    /// The member that stands for a union: the one whose value an input has.
    #[must_use]
    pub fn largest(&self) -> Option<&Self> {
        self.members.iter().max_by_key(|m| m.bytes())
    }
}
