//! How many elements a block has, and how that is known.

use std::{collections::BTreeMap, fmt};

use penfuzz_mutators::{group::Length, view::Slot};
use serde::{Deserialize, Serialize};

/// The source of a size, the most certain last. An access outside of an inferred size is no crash, because the actual
/// size is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// One element, until an access shows that there must be more.
    Assumed,
    /// The loops of the function extend this far, and no call accessed more.
    Loop,
    /// Calls of the function accessed this many elements.
    Probed,
    /// The function uses the pointer without an index, so there is one object.
    Single,
    /// The function compares pointers into the block with its end.
    Bounded,
    /// The declaration gives the size (`double a[static 10]`, a reference).
    Declared,
    /// A constraint gives the size.
    Given,
}

impl Origin {
    /// Whether an access outside is an error of the function.
    #[must_use]
    pub const fn is_sure(self) -> bool {
        matches!(self, Self::Single | Self::Bounded | Self::Declared | Self::Given)
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Assumed => "assumed",
            Self::Loop => "from the loops",
            Self::Probed => "found by calls",
            Self::Single => "used without an index",
            Self::Bounded => "compared with its end",
            Self::Declared => "declared",
            Self::Given => "given",
        })
    }
}

/// The size of a block.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Size {
    /// Number of elements that there is memory for.
    pub capacity: usize,
    /// Number of elements in an input, as a rule over its integers.
    pub length: Rule,
    /// How the size is known.
    pub origin: Origin,
    /// Whether the block is a result only: it is zero before the call, and no part of it is in an input.
    pub is_output: bool,
    /// Whether a call used the block although it lies beyond the limits of a model. Such a block is built before other
    /// memory.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub is_needed: bool,
}

/// A [`Length`] in terms of the names of parameters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Rule {
    /// As many elements as there is memory for.
    Full,
    /// `times * n + plus`
    Linear(String, i64, i64),
    /// `a * b + plus`
    Product(String, String, i64),
}

impl Rule {
    /// The rule as a function of the input; [`Length::Fixed`] if an integer of that name has no slot.
    #[must_use]
    pub fn length(&self, capacity: usize, slot: impl Fn(&str) -> Option<Slot>) -> Length {
        let found = match self {
            Self::Full => None,
            Self::Linear(n, times, plus) => slot(n).map(|n| Length::Linear { n, times: *times, plus: *plus }),
            Self::Product(a, b, plus) => slot(a).zip(slot(b)).map(|(a, b)| Length::Product { a, b, plus: *plus }),
        };
        found.unwrap_or(Length::Fixed(capacity))
    }

    /// The number of elements for these integers; `None` if one of them is unknown.
    pub fn value(&self, of: impl Fn(&str) -> Option<i64>) -> Option<i64> {
        match self {
            Self::Full => None,
            Self::Linear(n, times, plus) => of(n)?.checked_mul(*times)?.checked_add(*plus),
            Self::Product(a, b, plus) => of(a)?.checked_mul(of(b)?)?.checked_add(*plus),
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (product, plus) = match self {
            Self::Full => return Ok(()),
            Self::Linear(n, 1, plus) => (n.clone(), *plus),
            Self::Linear(n, times, plus) => (format!("{times}*{n}"), *plus),
            Self::Product(a, b, plus) => (format!("{a}*{b}"), *plus),
        };
        match plus {
            0 => write!(f, "{product}"),
            1.. => write!(f, "{product} + {plus}"),
            _ => write!(f, "{product} - {}", -plus),
        }
    }
}

/// The sizes of the blocks of a function, by path. A block without an entry has its default size.
pub type Sizes = BTreeMap<String, Size>;
