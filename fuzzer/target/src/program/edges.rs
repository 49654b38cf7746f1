//! The edges of the branch graph of a function.

/// What control can reach from a branch before it passes another site.
#[derive(Debug, Clone, Default)]
pub struct Edges {
    /// Sites, as indices into [`Target::sites`](super::Target::sites).
    pub next: Vec<usize>,
    /// Functions called on the way, as indices into [`Target::functions`](super::Target::functions).
    pub calls: Vec<usize>,
    /// Lines of the function's own file with code on the way, ascending.
    pub lines: Vec<u32>,
    /// Lines and columns of that file where basic blocks on the way begin, ascending.
    pub starts: Vec<(u32, u32)>,
}
