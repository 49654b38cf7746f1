//! Decisions: expressions of `&&` and `||` in which several conditions branch.

/// A condition of a decision.
#[repr(C)]
#[derive(Debug)]
pub struct Node {
    /// Action bytes of its two-way site.
    pub actions: *const u8,
    /// The condition that is evaluated next if this one holds, or one of [`decided`].
    pub next_true: u32,
    /// The same if it does not hold.
    pub next_false: u32,
    /// Ways through the decision from here if this condition holds.
    pub on_true: u32,
    /// Padding.
    pub unused: u32,
}

/// The conditions in the order of the source. A way through the decision is the vector of the conditions that are evaluated, with
/// their values. Its number is the sum of [`Node::on_true`] over the conditions that do not hold.
#[repr(C)]
#[derive(Debug)]
pub struct Decision {
    /// Action bytes of its site, one per vector.
    pub actions: *const u8,
    /// `n_nodes` entries.
    pub nodes: *const Node,
    /// Number of conditions.
    pub n_nodes: u32,
    /// Number of vectors.
    pub n_vectors: u32,
}

/// In [`Node::next_true`]: the whole expression is decided.
pub mod decided {
    /// It is false.
    pub const FALSE: u32 = 0xffff_fffe;
    /// It is true.
    pub const TRUE: u32 = 0xffff_ffff;
}

/// How far an evaluation of a decision has got.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct Walk {
    /// The condition that is next; 0: no evaluation has begun.
    pub node: u32,
    /// The number of the vector so far.
    pub vector: u32,
}
