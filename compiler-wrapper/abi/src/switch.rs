//! The tables of a `switch`: its cases, and the operands that came closest to them.

/// One label of a `switch`.
#[repr(C)]
#[derive(Debug)]
pub struct Case {
    /// The value, sign-extended.
    pub value: i64,
    /// Index among the branches of the site; 0 is the default destination.
    pub branch: u32,
    /// Distance from `value` to the nearest value that leads to the default destination; 0 if `value` does.
    pub to_default: u32,
}

/// The cases of a `switch` in the two orders in which the hook searches them.
#[repr(C)]
#[derive(Debug)]
pub struct Switch {
    /// By rising value.
    pub cases: *const Case,
    /// By rising branch, then by rising value.
    pub by_branch: *const Case,
    /// For each branch the index of its first case in `by_branch` and then the index of the end.
    pub first: *const u32,
    /// For each range of values the index of its first case in `cases` and then the index of the end.
    pub bucket: *const u32,
    /// Number of cases.
    pub n_cases: u32,
    /// Number of branches.
    pub n_branches: u32,
    /// The range of a value is its distance from the first value, shifted right by this number of bits.
    pub shift: u32,
    /// Padding.
    pub unused: u32,
}

/// The operand of a `switch` that came closest to a case.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Near {
    /// Distance from the operand to the value of the case; `u64::MAX` if no operand was seen.
    pub gap: u64,
    /// The operand, sign-extended.
    pub operand: i64,
}
