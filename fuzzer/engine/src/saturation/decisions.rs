//! Which vectors of decisions are still worth a search: those that complete a pair for a condition that no pair shows
//! yet.
//!
//! A decision of n conditions has up to exponentially many vectors, and n + 1 of them can show all its conditions. A
//! vector that no condition needs any more is therefore no goal.

use serde::{Deserialize, Serialize};

use penfuzz_target::program::{Decision, Vector};

/// The vectors of a decision, as goals.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct VectorGoals {
    /// The branch of the first vector; the others follow.
    pub first: u32,
    /// Number of conditions.
    pub n_conditions: usize,
    /// All vectors.
    pub vectors: Vec<Vector>,
    /// For each vector the branches of its conditions, in order.
    pub steps: Vec<Vec<u32>>,
}

impl VectorGoals {
    /// The vectors of a decision, which are the branches from `first` on. `branch_of` returns the first branch of a
    /// site.
    #[must_use]
    pub fn new(decision: &Decision, first: usize, branch_of: impl Fn(usize) -> usize) -> Self {
        let branch = |(condition, holds): &(usize, bool)| {
            (branch_of(decision.conditions[*condition].site) + usize::from(!holds)) as u32
        };
        let steps = (0..decision.n_vectors).map(|v| decision.steps(v).0.iter().map(branch).collect()).collect();
        Self { first: first as u32, n_conditions: decision.conditions.len(), vectors: decision.vectors(), steps }
    }

    /// For each condition the first pair of vectors that shows it, among the vectors for which `is_there` holds.
    #[must_use]
    pub fn pairs(&self, is_there: impl Fn(usize) -> bool) -> Vec<Option<(usize, usize)>> {
        let mut pairs = vec![None; self.n_conditions];
        let there: Vec<usize> = (0..self.vectors.len()).filter(|v| is_there(*v)).collect();
        for (i, v) in there.iter().enumerate() {
            for w in &there[i + 1..] {
                if let Some(condition) = self.vectors[*v].shows(&self.vectors[*w]) {
                    pairs[condition as usize].get_or_insert((*v, *w));
                }
            }
        }
        pairs
    }

    /// For each vector, whether it forms a pair with another vector for one of the open conditions.
    #[must_use]
    pub fn is_needed(&self, open: &[bool]) -> Vec<bool> {
        let shows_open = |v: &Vector, w: &Vector| v.shows(w).is_some_and(|condition| open[condition as usize]);
        self.vectors.iter().map(|v| self.vectors.iter().any(|w| shows_open(v, w))).collect()
    }

    /// The index of a branch among the vectors; `None` if it is no vector of this decision.
    #[must_use]
    pub fn vector_of(&self, branch: usize) -> Option<usize> {
        branch.checked_sub(self.first as usize).filter(|v| *v < self.vectors.len())
    }
}
