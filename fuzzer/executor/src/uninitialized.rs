//! Values of memory that is read before it is written.
//!
//! Such a read is undefined behaviour: an emitted test may read anything there, for example what the code before it has
//! left. So a replay evaluates an input with each of [`FILLS`] in turn. What differs between them depends on
//! uninitialized memory, and is neither covered nor expected. That all agree is no proof of the contrary.

use penfuzz_abi::{self as abi, FILL_VALUES};

/// Values of uninitialized memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fill {
    /// Bytes `0x5a`: invalid addresses, and large positive numbers, all equal.
    Pattern,
    /// Zeros, which memory that a process has not used yet contains.
    Zeros,
    /// Small positive numbers, as of counters and truth values: [`SMALL`]; bytes of 1.
    Small,
    /// The same, negated; bytes `0xff`, which are a NaN.
    Negated,
}

/// Every second number is 1, and each differs from the next.
const SMALL: [i8; FILL_VALUES] = [1, 2, 1, 3, 1, 4, 1, 5];

/// All values. With the first one, a replay also detects writes above the frame of the function.
pub const FILLS: [Fill; 4] = [Fill::Pattern, Fill::Zeros, Fill::Small, Fill::Negated];

/// The values while a search has not found that the function depends on them: zeros in variables that become registers.
/// Memory keeps what earlier calls have left.
pub(crate) const SEARCH: abi::Fill = abi::Fill {
    on: 0,
    integer: [0; FILL_VALUES],
    real: [0.0; FILL_VALUES],
    real32: [0.0; FILL_VALUES],
    bytes: [0; 64],
};

impl Fill {
    /// The bytes of memory without a type.
    pub(crate) const fn byte(self) -> u8 {
        match self {
            Self::Pattern => 0x5a,
            Self::Zeros => 0,
            Self::Small => 1,
            Self::Negated => 0xff,
        }
    }

    /// The values for the runtime of a target.
    pub(crate) fn values(self) -> abi::Fill {
        let byte = self.byte();
        let number = |i: usize| match self {
            Self::Small => Some(SMALL[i]),
            Self::Negated => Some(-SMALL[i]),
            _ => None,
        };
        abi::Fill {
            on: 1,
            integer: core::array::from_fn(|i| number(i).map_or(u64::from_ne_bytes([byte; 8]), |n| i64::from(n) as u64)),
            real: core::array::from_fn(|i| number(i).map_or(f64::from_ne_bytes([byte; 8]), f64::from)),
            real32: core::array::from_fn(|i| number(i).map_or(f32::from_ne_bytes([byte; 4]), f32::from)),
            bytes: [byte; 64],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::FILLS;

    /// Otherwise a replay would not show that a condition depends on uninitialized memory.
    #[test]
    fn conditions_on_one_or_two_numbers_differ_between_fills() {
        let differs = |holds: &dyn Fn(f64, f64) -> bool| {
            let n = FILLS.map(super::Fill::values).iter().filter(|v| holds(v.real[0], v.real[1])).count();
            (1..FILLS.len()).contains(&n)
        };
        assert!(differs(&|x, _| x > 0.0) && differs(&|x, _| x < 0.0) && differs(&|x, _| x == 0.0));
        assert!(differs(&|x, _| x < 1e6) && differs(&|x, _| x.to_bits() == 1f64.to_bits()));
        assert!(differs(&|x, y| x < y) && differs(&|x, y| x > y) && differs(&|x, y| x.to_bits() == y.to_bits()));
        assert_eq!(FILLS.map(|fill| fill.values().integer[1] as i32), [0x5a5a_5a5a, 0, 2, -2]);
    }
}
