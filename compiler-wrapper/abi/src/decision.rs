//! Decisions: expressions of `&&` and `||` in which several conditions branch.

/// A condition of a decision.
#[repr(C)]
#[derive(Debug)]
pub struct Node {
    /// Action bytes of its two-way site.
    pub actions: *const u8,
    /// The condition that is evaluated next if this one is true, or one of [`decided`].
    pub next_true: u32,
    /// The condition that is evaluated next if this one is false, or one of [`decided`].
    pub next_false: u32,
    /// Number of vectors (ways through the rest of the decision) that begin with this condition being true.
    pub on_true: u32,
    /// Padding.
    pub unused: u32,
}

/// A decision: its conditions in source order. A vector, or way through the decision, lists the conditions that are
/// evaluated with their values. The number of a vector is the sum of [`Node::on_true`] over the conditions that are
/// false.
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

/// Values of [`Node::next_true`] and [`Node::next_false`] at which the whole expression is decided.
pub mod decided {
    /// The expression is false.
    pub const FALSE: u32 = 0xffff_fffe;
    /// The expression is true.
    pub const TRUE: u32 = 0xffff_ffff;
}

/// The progress of an evaluation of a decision.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct Walk {
    /// The next condition; 0 if no evaluation has begun.
    pub node: u32,
    /// The partial sum that becomes the number of the vector.
    pub vector: u32,
}
