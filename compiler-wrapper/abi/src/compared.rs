//! The record that the hooks write for each two-way condition that a run passes.

/// A pass of an armed two-way site.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Compared {
    /// Action bytes of the site.
    pub actions: *const u8,
    /// The left operand. For `double` and `float`: the bits of a double. For an integer: its value, extended to 64
    /// bits.
    pub a: u64,
    /// The right operand.
    pub b: u64,
    /// One of [`predicate`](super::predicate). With [`NO_PREDICATE`](super::NO_PREDICATE), `a` is the distance to the
    /// branch that was not taken.
    pub predicate: u32,
    /// 0: the true branch, 1: the false one.
    pub taken: u32,
}
