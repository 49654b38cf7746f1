//! `r` of a path is 0 for exactly the inputs whose recorded branches follow the path.

use libafl_bolts::rands::{Rand, StdRand};
use penfuzz_engine::{
    goals::{
        Goal, Path,
        path::{Step, is_taken},
    },
    saturation::{BranchGraph, Goals, Saturation, Scope, ScopeKind},
};
use penfuzz_executor::Evaluator;
use penfuzz_mutators::{dictionary::Dictionary, structured};

use crate::twin::{Twin, on_target_thread};

const PATHS: &str = include_str!("../fixtures/paths.c");
const WRITTEN: &str = include_str!("../fixtures/written.c");

/// Inputs of a function and the branches that each takes.
struct Runs {
    evaluator: Evaluator,
    counts: Vec<bool>,
    saturation: Saturation,
    inputs: Vec<(Vec<u8>, Vec<u32>)>,
}

impl Runs {
    fn new(twin: &Twin, function: usize, rng: &mut StdRand, make: &mut dyn FnMut(&mut StdRand) -> Vec<u8>) -> Self {
        let scope = Scope::new(&twin.target, function, ScopeKind::Calls, Goals::Branches);
        let mut counts = vec![false; twin.target.n_branches];
        for s in scope.sites.iter().map(|s| &twin.target.sites[*s]).filter(|s| s.is_conditional()) {
            counts[s.branches()].fill(true);
        }
        let mut evaluator = twin.evaluator(function);
        let saturation = Saturation::new(BranchGraph::new(&twin.target, &scope));
        let run = |_| {
            let x = make(rng);
            let passes = evaluator.passes(&counts, &x, 10_000).1;
            (x, passes.branches)
        };
        let inputs = (0..60).map(run).collect();
        Self { evaluator, counts, saturation, inputs }
    }

    /// Returns pieces of recorded runs, with any branches between them. The path may have to begin at the first pass
    /// and end at the last.
    fn steps(&self, rng: &mut StdRand) -> Vec<Step> {
        let mut steps = Vec::new();
        for piece in 0..=rng.below_or_zero(3) {
            if piece > 0 || rng.coinflip(0.5) {
                steps.push(Step::Any);
            }
            let passes = &self.inputs[rng.below_or_zero(self.inputs.len())].1;
            let from = if steps.is_empty() { 0 } else { rng.below_or_zero(passes.len().max(1)) };
            let n = rng.below_or_zero(7);
            steps.extend(passes[from..].iter().take(n).map(|b| Step::Branch(*b as usize)));
        }
        if rng.below_or_zero(4) == 0 {
            steps.push(Step::End);
        }
        steps
    }

    /// Returns the numbers of paths that were taken and missed.
    fn check(&mut self, name: &str, rng: &mut StdRand) -> (usize, usize) {
        let (mut taken, mut missed) = (0, 0);
        for round in 0..200 {
            let steps = self.steps(rng);
            let Some(mut path) = Path::new(&steps, self.counts.clone()) else { continue };
            // Alternates between no approach level and one.
            path.lead(if round % 2 == 0 { 0 } else { path.len() }, &self.saturation);
            path.arm(&mut self.evaluator, &self.saturation);
            for (x, passes) in &self.inputs {
                let expected = is_taken(&steps, passes);
                let _ = self.evaluator.run(x);
                let r = self.evaluator.r();
                assert_eq!(r == 0, expected, "{name} at {x:02x?}: r is {r:#x}; {steps:?} of {passes:?}");
                *(if expected { &mut taken } else { &mut missed }) += 1;
            }
        }
        (taken, missed)
    }
}

/// Iterations of a loop with two branches in it: the matcher falls back to every position of a path.
fn check_loop(level: &str) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let twin = Twin::of_text(directory.path(), "paths.c", PATHS, level);
    let mut rng = StdRand::with_seed(11);
    let mut make = |rng: &mut StdRand| {
        let n = rng.below_or_zero(12) as i32;
        [n.to_le_bytes().as_slice(), &rng.next_float().to_le_bytes()].concat()
    };
    let mut runs = Runs::new(&twin, twin.index_of("loop"), &mut rng, &mut make);
    let (taken, missed) = runs.check("loop", &mut rng);
    assert!(taken > 500 && missed > 500, "both happen: {taken} taken, {missed} missed");
}

/// Conditions of every kind.
fn check_conditions(level: &str) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let twin = Twin::of_text(directory.path(), "written.c", WRITTEN, level);
    let (mut taken, mut missed) = (0, 0);
    for (i, f) in twin.target.functions.iter().enumerate() {
        if f.is_static || f.entry().is_none() || f.parameters.is_empty() {
            continue;
        }
        let (layout, dictionary) = (f.layout(), Dictionary::new(&f.floats, &f.integers));
        let mut rng = StdRand::with_seed(i as u64);
        let mut make = |rng: &mut StdRand| {
            let mut x = vec![0; layout.size()];
            structured::fill(rng, &layout, &dictionary, &mut x);
            x
        };
        let (t, m) = Runs::new(&twin, i, &mut rng, &mut make).check(&f.name, &mut rng);
        (taken, missed) = (taken + t, missed + m);
    }
    assert!(taken > 10_000 && missed > 10_000, "both happen: {taken} taken, {missed} missed");
}

#[test]
fn paths_of_a_loop_are_matched_without_optimization() {
    on_target_thread(|| check_loop("-O0"));
}

#[test]
fn paths_of_a_loop_are_matched_with_optimization() {
    on_target_thread(|| check_loop("-O2"));
}

#[test]
fn paths_over_conditions_of_every_kind_are_matched() {
    on_target_thread(|| check_conditions("-O2"));
}
