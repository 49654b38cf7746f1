//! Removes vectors of decisions from the goals when no condition needs them any more.

use super::Saturation;
use crate::saturation::VectorGoals;

impl Saturation {
    /// The decisions in scope.
    #[must_use]
    pub fn decisions(&self) -> &[VectorGoals] {
        &self.graph.decisions
    }

    /// The branches of the conditions of a vector, in order; `None` if the branch is no vector.
    #[must_use]
    pub fn steps_of_vector(&self, branch: usize) -> Option<&[u32]> {
        let place = self.graph.decisions.partition_point(|d| d.first as usize <= branch).checked_sub(1)?;
        let decision = &self.graph.decisions[place];
        Some(&decision.steps[decision.vector_of(branch)?])
    }

    /// Removes the vectors from the goals that no condition needs any more. `covered` are the branches that are newly
    /// covered.
    pub(super) fn release_vectors(&mut self, covered: &[u32]) {
        if self.graph.decisions.is_empty() {
            return;
        }
        let is_new = |v: &usize| covered.contains(&(*v as u32));
        let mut released = Vec::new();
        for decision in &self.graph.decisions {
            let first = decision.first as usize;
            if !(first..first + decision.vectors.len()).any(|b| is_new(&b)) {
                continue;
            }
            let pairs = decision.pairs(|v| self.covered[first + v] && !self.by_crash[first + v]);
            let open: Vec<bool> = pairs.iter().map(Option::is_none).collect();
            let needed = decision.is_needed(&open);
            let is_idle = |v: &usize| !needed[*v] && self.graph.goal[first + v] && !self.covered[first + v];
            released.extend((0..needed.len()).filter(is_idle).map(|v| first + v));
        }
        if !released.is_empty() {
            self.release(&released);
        }
    }

    /// Removes these branches from the goals.
    fn release(&mut self, branches: &[usize]) {
        for branch in branches {
            self.graph.goal[*branch] = false;
            self.n_open -= usize::from(!self.given_up[*branch]);
            self.changes.push(*branch as u32);
        }
        self.generation += 1;
        self.goals.retain(|b| self.graph.goal[*b as usize]);
        self.uncovered_from = 0;
        self.rebuild();
        self.has_ready = true;
    }
}
