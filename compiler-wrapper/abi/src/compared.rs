//! What runs note of the conditions that they pass.

/// A pass of an armed two-way site.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Compared {
    /// Action bytes of the site.
    pub actions: *const u8,
    /// The left operand: of `double` and `float` the bits of a double; of an integer its value, extended to 64 bits.
    pub a: u64,
    /// The right operand.
    pub b: u64,
    /// One of [`predicate`](super::predicate); with [`NO_PREDICATE`](super::NO_PREDICATE) `a` is the distance to the other branch.
    pub predicate: u32,
    /// 0: the true branch, 1: the false one.
    pub taken: u32,
}
