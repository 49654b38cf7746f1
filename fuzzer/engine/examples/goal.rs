//! A new goal in one file: an input that runs any one of several lines.
//!
//! `cargo run --release --example goal -- FILE.c FUNCTION LINE...` compiles FILE.c as pen-cc does and minimizes its
//! distance by basinhopping. `docs/goals.md` explains it.

use std::{error::Error, path::PathBuf, rc::Rc, sync::Arc};

use libafl_bolts::rands::StdRand;
use penfuzz_abi::{action, metric};
use penfuzz_compile::{Recipe, build};
use penfuzz_engine::{
    goals::Goal,
    saturation::{BranchGraph, Goals, Saturation, Scope, ScopeKind},
};
use penfuzz_executor::{
    Evaluator,
    evaluator::{EvaluationLimits, RunStatus},
};
use penfuzz_mutators::{
    basinhopping::Basinhopping,
    evaluate::{Metric, RepresentingFunction, Stop},
    minimizer::{LocalMinimizer as _, create},
    start::StartPoints,
};
use penfuzz_target::program::{Target, program_constants, select::select};

/// `r` is the distance to the nearest of the wanted branches, over all passes of their sites.
struct AnyOf {
    branches: Vec<usize>,
}

impl AnyOf {
    /// The branches of `function` after which one of the `lines` runs before the next decision.
    fn lines(target: &Target, function: usize, lines: &[u32]) -> Self {
        let sites = target.functions[function].sites.clone();
        let ends = sites.flat_map(|s| target.sites[s].branches().zip(&target.sites[s].edges));
        let wanted = ends.filter(|(_, edges)| edges.lines.iter().any(|line| lines.contains(line)));
        Self { branches: wanted.map(|(branch, _)| branch).collect() }
    }
}

impl Goal for AnyOf {
    fn metric(&self) -> u32 {
        metric::ULP
    }

    fn r0(&self) -> u64 {
        u64::MAX // no site passed: the largest distance
    }

    fn action(&self, _: &Saturation, branch: usize) -> u8 {
        if self.branches.contains(&branch) { action::WANT | action::MIN } else { 0 }
    }
}

/// The armed target as the function to minimize.
struct Armed<'a> {
    evaluator: &'a mut Evaluator,
    budget: u64,
}

impl RepresentingFunction for Armed<'_> {
    fn evaluate(&mut self, x: &[u8]) -> Result<u64, Stop> {
        self.budget = self.budget.checked_sub(1).ok_or(Stop::Budget)?;
        match self.evaluator.run(x) {
            RunStatus::Returned => Ok(self.evaluator.r()),
            RunStatus::Faulted => Ok(u64::MAX), // a crash ends no search, and is not wanted
        }
    }

    fn metric(&self) -> Metric {
        Metric::Ulp
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [file, name, lines @ ..] = &args[..] else { return Err("usage: goal FILE.c FUNCTION LINE...".into()) };
    let lines = lines.iter().map(|n| n.parse()).collect::<Result<Vec<u32>, _>>()?;

    let linked = build(&Recipe { sources: vec![PathBuf::from(file)], ..Recipe::default() })?;
    let target = Rc::new(Target::load(&linked)?);
    let function = select(&target, Some(name))?;
    let goal = AnyOf::lines(&target, function, &lines);
    if goal.branches.is_empty() {
        return Err(format!("no branch of {name} leads directly to line {lines:?}").into());
    }

    // Arming writes one action byte per branch. From then on, every run computes its `r`.
    let scope = Scope::new(&target, function, ScopeKind::Function, Goals::Branches);
    let saturation = Saturation::new(BranchGraph::new(&target, &scope));
    let mut evaluator = Evaluator::new(Rc::clone(&target), function, EvaluationLimits::default())?;
    goal.arm(&mut evaluator, &saturation);

    let layout = evaluator.function().layout();
    let dictionary = Arc::new(program_constants::dictionary(&target, function));
    let minimizer = create("avm", Arc::clone(&dictionary)).ok_or("there is no such minimizer")?;
    let mut search = Basinhopping::new(minimizer, Arc::clone(&dictionary));
    let (mut starts, mut rng) = (StartPoints::new(), StdRand::with_seed(1));
    let mut armed = Armed { evaluator: &mut evaluator, budget: 1_000_000 };
    let mut x = vec![0; layout.size()];
    while armed.budget > 0 {
        starts.next(&mut rng, &layout, &dictionary, &mut x);
        if search.minimize(&mut armed, &mut x, &layout, &mut rng) == Ok(0) {
            println!("{name}{:?}  after {} evaluations", layout.reals(&x), armed.evaluator.evaluations());
            return Ok(());
        }
    }
    Err(format!("no input found in {} evaluations", evaluator.evaluations()).into())
}
