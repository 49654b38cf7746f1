//! Values in reports. The lowest of the types: the others in [`model`](super::model) are made of them.

use serde::{Deserialize, Serialize};

/// One argument value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Arg {
    /// Parameter name.
    pub name: String,
    /// Type as C writes it; for a pointer, the type pointed to.
    #[serde(rename = "type")]
    pub type_name: String,
    /// A C literal that reproduces every bit: hex float, `NAN` forms with their payload bits in `bits`, or an integer in hex.
    pub hex: String,
    /// The shortest decimal that reads back to the same value.
    pub decimal: String,
    /// The raw bits, little-endian value, as `0x…` with all digits of the type.
    pub bits: String,
}

/// [`Arg::type_name`] of the rounding mode of a call. No C type has this name.
pub const ROUNDING_MODE: &str = "rounding mode";

impl Arg {
    /// Is this the rounding mode of the call instead of an argument?
    #[must_use]
    pub fn is_rounding(&self) -> bool {
        self.type_name == ROUNDING_MODE
    }
}

/// The value of an operand; a `float` as the `double` of the same value, an integer as one of 64 bits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operand {
    /// A C literal that reproduces every bit.
    pub hex: String,
    /// The shortest decimal that reads back to the same value.
    pub decimal: String,
}
