//! `r` as a channel of feedback beside coverage, in a fuzzer of stock `LibAFL` parts that knows nothing of goals.
//!
//! `cargo run --release --example r_feedback -- FILE.c [FUNCTION]` fuzzes FUNCTION by havoc mutation twice, each time
//! for the same number of executions: with the feedback of saturated branches alone, and with the value of `r` as well.

use std::{error::Error, path::PathBuf, rc::Rc};

use libafl::{
    Evaluator as _, Fuzzer as _, HasMetadata as _, StdFuzzer,
    corpus::{Corpus as _, InMemoryCorpus},
    events::NopEventManager,
    feedback_or,
    feedbacks::Feedback,
    inputs::BytesInput,
    mutators::{HavocScheduledMutator, havoc_mutations},
    schedulers::StdScheduler,
    stages::StdMutationalStage,
    state::{HasCorpus as _, HasExecutions as _, StdState},
};
use libafl_bolts::{
    rands::StdRand,
    tuples::{Handled as _, tuple_list},
};
use penfuzz_compile::{Recipe, build};
use penfuzz_engine::saturation::{
    BranchCounts, BranchGraph, Goals, NewPlaceFeedback, PenObserver, PenRFeedback, Saturation, SaturationFeedback,
    Scope, ScopeKind,
};
use penfuzz_executor::{Evaluator, PenExecutor, evaluator::EvaluationLimits};
use penfuzz_target::program::{Target, select::select};

const EXECUTIONS: u64 = 500_000;

type State = StdState<InMemoryCorpus<BytesInput>, BytesInput, StdRand, InMemoryCorpus<BytesInput>>;
type Manager = NopEventManager;
type Observers = (PenObserver, ());

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let source = PathBuf::from(args.next().ok_or("usage: r_feedback FILE.c [FUNCTION]")?);
    let target = Rc::new(Target::load(&build(&Recipe { sources: vec![source], ..Recipe::default() })?)?);
    let function = select(&target, args.next().as_deref())?;
    for with_r in [false, true] {
        let (counts, kept) = fuzz(&target, function, with_r)?;
        let what = if with_r { "saturated branches and r" } else { "saturated branches alone" };
        println!("{what}: {} of {} branches covered, {kept} inputs kept", counts.covered, counts.total);
    }
    Ok(())
}

fn fuzz(target: &Rc<Target>, function: usize, with_r: bool) -> Result<(BranchCounts, usize), Box<dyn Error>> {
    let scope = Scope::new(target, function, ScopeKind::Function, Goals::Branches);
    let mut evaluator = Evaluator::new(Rc::clone(target), function, EvaluationLimits::default())?;
    evaluator.set_scope(&scope.sites);
    let observer = PenObserver::new();
    let saturation = SaturationFeedback::new(&observer, BranchGraph::new(target, &scope));
    let objective = NewPlaceFeedback::new(&observer);
    let handle = observer.handle();
    let executor = PenExecutor::new(evaluator, tuple_list!(observer.clone()), handle).with_default_goal();
    let size = target.functions[function].layout().size();
    if with_r {
        run(feedback_or!(PenRFeedback::new(&observer), saturation), objective, executor, size)
    } else {
        run(saturation, objective, executor, size)
    }
}

fn run<F: Feedback<Manager, BytesInput, Observers, State>>(
    mut feedback: F,
    mut objective: NewPlaceFeedback,
    mut executor: PenExecutor<Observers>,
    size: usize,
) -> Result<(BranchCounts, usize), Box<dyn Error>> {
    let (corpus, solutions) = (InMemoryCorpus::new(), InMemoryCorpus::new());
    let mut state = StdState::new(StdRand::with_seed(1), corpus, solutions, &mut feedback, &mut objective)?;
    let mut fuzzer = StdFuzzer::new(StdScheduler::new(), feedback, objective);
    let mut manager = Manager::new();
    let mut stages = tuple_list!(StdMutationalStage::new(HavocScheduledMutator::new(havoc_mutations())));
    fuzzer.add_input(&mut state, &mut executor, &mut manager, BytesInput::new(vec![0; size]))?;
    while *state.executions() < EXECUTIONS {
        fuzzer.fuzz_one(&mut stages, &mut executor, &mut state, &mut manager)?;
    }
    Ok((state.metadata::<Saturation>()?.counts(), state.corpus().count()))
}
