//! The representing function of `CoverMe`'s public program (github.com/zhoulaifu/coverme, commit 3fb9e69). It differs
//! from Definition 4.2 of the paper.
//!
//! 1. *Explored* takes the place of saturated: each evaluation explores the branch that it takes at the last site that
//!    has a branch not explored before. There is no branch graph.
//! 2. Only the first pass of a site in an evaluation counts.
//! 3. The distance of a comparison is `|a - b|` whatever the relation is, times an amplifier: `42 n^4 + 1`. There `n`
//!    is the number of evaluations that took the same branch, in earlier iterations of the local minimizer since the
//!    start point.
//! 4. At a new start point, a branch is no longer explored unless both branches of its site are.
//! 5. Only every tenth step of basinhopping gives a branch up: the other one at the last site of its last evaluation.

use penfuzz_abi::{Compared, NO_PREDICATE, action, predicate};
use penfuzz_executor::PenEvaluator;
use penfuzz_mutators::evaluate::{Metric, RepresentingFunction, Stop};

use super::budgeted::BudgetedFunction;
use crate::{
    goals::{Goal, Pens},
    saturation::Saturation,
};

/// A branch is given up after this many steps of basinhopping.
const STEPS_PER_ABANDONED: u64 = 10;

/// The branches that a pass of a site takes and does not take.
#[derive(Debug, Clone, Copy)]
struct Pass {
    taken: usize,
    other: usize,
}

/// What the evaluations have explored. All vectors have one entry per branch, unless it is said otherwise.
#[derive(Debug, Default)]
pub(super) struct Explored {
    /// The action bytes. Every goal is wanted, because sites without actions are not measured.
    actions: Vec<u8>,
    is_goal: Vec<bool>,
    /// Which branches are explored.
    done: Vec<bool>,
    /// The number of the last evaluation that passed the site; in the entry of its first branch.
    passed: Vec<u64>,
    /// Number of evaluations that took the branch in earlier iterations of the minimizer, and in the current one.
    before: Vec<u64>,
    current: Vec<u64>,
    /// The branches whose entry of `current` is not 0.
    counted: Vec<usize>,
    /// The distance of operands that are equal.
    epsilon: f64,
    /// The number of the evaluation, its `r` so far, and its last pass that counts.
    evaluation: u64,
    r: f64,
    last: Option<Pass>,
    /// Steps of basinhopping so far.
    steps: u64,
}

impl Explored {
    /// Nothing is explored. `epsilon` is the distance of operands that are equal: 0 in the public program.
    pub(super) fn new(epsilon: f64) -> Self {
        Self { epsilon, ..Self::default() }
    }

    /// Prepares a start point (rules 3 and 4) and arms the target.
    pub(super) fn start<V: PenEvaluator>(&mut self, saturation: &Saturation, evaluator: &mut V) {
        let n = saturation.len();
        self.is_goal = (0..n).map(|b| saturation.is_goal(b)).collect();
        let wanted = |b: usize| if saturation.is_goal(b) { action::WANT } else { 0 };
        self.actions = (0..n).map(|b| Pens.action(saturation, b) | wanted(b)).collect();
        self.done.resize(n, false);
        let is_one_sided = |b: usize| saturation.siblings(b).any(|other| !self.done[other]);
        self.done = (0..n).map(|b| saturation.is_given_up(b) || self.done[b] && !is_one_sided(b)).collect();
        self.passed.resize(n, 0);
        (self.before, self.current) = (vec![0; n], vec![0; n]);
        self.counted.clear();
        self.last = None;
        evaluator.set_measuring(true);
        evaluator.set_metric(penfuzz_abi::metric::ULP, u64::MAX);
        evaluator.arm(|b| self.actions[b]);
    }

    /// Stops recording branches that were found, and arms the target again, because a find disarms its branches.
    fn found<V: PenEvaluator>(&mut self, branches: &[u32], evaluator: &mut V) {
        for b in branches {
            self.actions[*b as usize] &= !action::RECORD;
        }
        evaluator.arm(|b| self.actions[b]);
    }

    fn begin_evaluation(&mut self) {
        self.evaluation += 1;
        self.r = 1.0;
        self.last = None;
    }

    /// A pass of a site at the distance `d` of its operands.
    fn pass(&mut self, pass: Pass, d: f64) {
        let Pass { taken, other } = pass;
        let is_of_interest = self.is_goal[taken] || self.is_goal[other];
        let site = taken.min(other);
        if !is_of_interest || self.done[taken] && self.done[other] || self.passed[site] == self.evaluation {
            return;
        }
        self.passed[site] = self.evaluation;
        let d = if d == 0.0 { self.epsilon } else { d };
        self.r = if self.done[taken] { d * amplifier(self.before[taken]) } else { 0.0 };
        if self.current[taken] == 0 {
            self.counted.push(taken);
        }
        self.current[taken] += 1;
        self.last = Some(pass);
    }

    /// Ends an evaluation (rule 1) and returns `r`, at least 0.
    fn end_evaluation(&mut self) -> f64 {
        if let Some(last) = self.last {
            self.done[last.taken] = true;
        }
        // NaN is the distance of a NaN, and of infinities.
        if self.r.is_nan() { f64::INFINITY } else { self.r }
    }

    /// Counts the evaluations of an iteration of the minimizer (rule 3).
    fn end_iteration(&mut self) {
        for branch in self.counted.drain(..) {
            self.before[branch] += core::mem::take(&mut self.current[branch]);
        }
    }

    /// Counts the steps of a start that has ended. Returns the branch that is thereby given up, if any (rule 5).
    ///
    /// The public program selects the branch at each tenth step, this function at the end of a start with a tenth step.
    /// With five steps per start, the default of both, this is the same.
    pub(super) fn count_steps(&mut self, steps: u32) -> Option<usize> {
        let tens = self.steps / STEPS_PER_ABANDONED;
        self.steps += u64::from(steps);
        let branch = self.last?.other;
        if self.steps / STEPS_PER_ABANDONED == tens || self.done[branch] {
            return None;
        }
        self.done[branch] = true;
        Some(branch)
    }
}

/// The factor of rule 3, after `n` evaluations.
fn amplifier(n: u64) -> f64 {
    42.0 * (n as f64).powi(4) + 1.0
}

/// `|a - b|`, as the public program computes it: every integer is converted as a signed one. NaN if an operand is NaN,
/// or if both are the same infinity.
fn linear_distance(pass: &Compared) -> f64 {
    match u8::try_from(pass.predicate).unwrap_or(NO_PREDICATE) {
        predicate::ICMP_EQ..=predicate::ICMP_SLE => (pass.a as i64 as f64 - pass.b as i64 as f64).abs(),
        // The condition is no comparison of two operands. The distance to its other value is known.
        NO_PREDICATE => pass.a as f64,
        _ => (f64::from_bits(pass.a) - f64::from_bits(pass.b)).abs(),
    }
}

/// The representing function. A value of 0 does not end the search, so it is returned as the smallest double.
pub(super) struct ExploringFunction<'a, 'b, V> {
    pub(super) function: &'a mut BudgetedFunction<'b, V>,
    pub(super) explored: &'a mut Explored,
}

impl<V: PenEvaluator> RepresentingFunction for ExploringFunction<'_, '_, V> {
    fn evaluate(&mut self, x: &[u8]) -> Result<u64, Stop> {
        let finds = self.function.finds.len();
        self.function.evaluate(x)?;
        let found = self.function.finds.len() > finds;
        let (evaluator, hits) = self.function.evaluator_and_hits();
        let explored = &mut *self.explored;
        explored.begin_evaluation();
        evaluator.take_compared(|taken, other, pass| explored.pass(Pass { taken, other }, linear_distance(pass)));
        if found {
            explored.found(hits, evaluator);
        }
        Ok(explored.end_evaluation().to_bits().max(1))
    }

    fn metric(&self) -> Metric {
        Metric::Squared
    }

    fn end_iteration(&mut self) {
        self.explored.end_iteration();
    }
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "small integers and halves are exact")]
mod tests {
    use super::*;

    /// Two sites, with the branches 0 and 1, 2 and 3.
    fn two_sites() -> Explored {
        Explored {
            is_goal: vec![true; 4],
            done: vec![false; 4],
            passed: vec![0; 4],
            before: vec![0; 4],
            current: vec![0; 4],
            ..Explored::new(0.0)
        }
    }

    /// `r` of an evaluation with these passes: the branch taken, and the distance.
    fn evaluate(explored: &mut Explored, passes: &[(usize, f64)]) -> f64 {
        explored.begin_evaluation();
        for (taken, d) in passes {
            explored.pass(Pass { taken: *taken, other: taken ^ 1 }, *d);
        }
        explored.end_evaluation()
    }

    #[test]
    fn an_evaluation_explores_the_last_open_branch() {
        let mut explored = two_sites();
        assert_eq!(evaluate(&mut explored, &[(0, 5.0), (2, 7.0)]), 0.0, "nothing was explored");
        assert_eq!(explored.done, [false, false, true, false]);
        assert_eq!(evaluate(&mut explored, &[(0, 5.0), (2, 7.0)]), 7.0, "the distance to branch 3");
        assert_eq!(evaluate(&mut explored, &[(0, 5.0), (3, 7.0)]), 0.0);
        assert_eq!(evaluate(&mut explored, &[(0, 5.0), (2, 7.0)]), 0.0, "the second site is done");
        assert_eq!(evaluate(&mut explored, &[(0, 5.0), (2, 7.0)]), 5.0);
        assert_eq!(evaluate(&mut explored, &[(1, 5.0)]), 0.0);
        assert_eq!(evaluate(&mut explored, &[(1, 5.0)]), 1.0, "everything is explored: r stays as it was");
    }

    #[test]
    fn only_the_first_pass_of_a_site_counts() {
        let mut explored = two_sites();
        explored.done = vec![true, false, false, false];
        assert_eq!(evaluate(&mut explored, &[(0, 3.0), (1, 9.0), (0, 1.0)]), 3.0);
    }

    #[test]
    fn distances_grow_with_the_passes_of_earlier_iterations() {
        let mut explored = two_sites();
        explored.done = vec![true, false, false, false];
        assert_eq!(evaluate(&mut explored, &[(0, 3.0)]), 3.0);
        assert_eq!(evaluate(&mut explored, &[(0, 3.0)]), 3.0, "still the same iteration");
        explored.end_iteration();
        assert_eq!(evaluate(&mut explored, &[(0, 3.0)]), 3.0 * (42.0 * 16.0 + 1.0));
    }

    #[test]
    fn every_tenth_step_gives_the_other_branch_of_the_last_site_up() {
        let mut explored = two_sites();
        evaluate(&mut explored, &[(0, 5.0), (2, 7.0)]);
        assert_eq!(explored.count_steps(5), None);
        assert_eq!(explored.count_steps(5), Some(3));
        assert_eq!(evaluate(&mut explored, &[(0, 5.0), (2, 7.0)]), 0.0, "the second site is done");
    }

    #[test]
    fn operands_are_subtracted_as_signed_integers_or_doubles() {
        let distance = |code: u8, a: u64, b: u64| {
            linear_distance(&Compared { actions: core::ptr::null(), a, b, predicate: code.into(), taken: 0 })
        };
        assert_eq!(distance(predicate::ICMP_UGT, u64::MAX, 2), 3.0);
        assert_eq!(distance(predicate::FCMP_OLT, 1.5f64.to_bits(), (-1.0f64).to_bits()), 2.5);
        assert_eq!(distance(NO_PREDICATE, 9, 0), 9.0);
        assert!(distance(predicate::FCMP_OLT, f64::NAN.to_bits(), 0).is_nan());
    }
}
