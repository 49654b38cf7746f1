//! A small LibAFL fuzzer of stock parts plus penfuzz's executor, observer, feedbacks and stage.
//!
//! `cargo run --release --example plugin -- FILE.c [FUNCTION]` compiles FILE.c as pen-cc does, fuzzes FUNCTION until
//! every branch is saturated or given up, and prints the kept inputs.

use std::{error::Error, path::PathBuf, rc::Rc, sync::Arc};

use libafl::{
    Evaluator as _, Fuzzer as _, HasMetadata as _, StdFuzzer,
    corpus::{Corpus as _, InMemoryCorpus},
    events::SimpleEventManager,
    inputs::{BytesInput, HasMutatorBytes as _, ResizableMutator as _},
    monitors::SimpleMonitor,
    mutators::{HavocScheduledMutator, havoc_mutations},
    schedulers::QueueScheduler,
    stages::StdMutationalStage,
    state::{HasCorpus as _, HasSolutions as _, StdState},
};
use libafl_bolts::{
    rands::StdRand,
    tuples::{Handled as _, Merge as _, tuple_list},
};
use penfuzz_compile::{Recipe, build};
use penfuzz_engine::{
    saturation::{
        BranchCounts, BranchGraph, Goals, NewPlaceFeedback, PenObserver, Saturation, SaturationFeedback, Scope,
        ScopeKind,
    },
    stages::{BasinhoppingStage, Clock},
};
use penfuzz_executor::{Evaluator, PenExecutor, evaluator::EvaluationLimits};
use penfuzz_mutators::havoc::numeric_mutations;
use penfuzz_target::program::{Target, program_constants, select::select};

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let source = PathBuf::from(args.next().ok_or("usage: plugin FILE.c [FUNCTION]")?);

    // The target: compiled with the pen hooks, loaded into this process.
    let file = build(&Recipe { sources: vec![source], ..Recipe::default() })?;
    let target = Rc::new(Target::load(&file)?);
    let function = select(&target, args.next().as_deref())?;
    let scope = Scope::new(&target, function, ScopeKind::Function, Goals::Branches);
    let graph = BranchGraph::new(&target, &scope);
    let body = &target.functions[function];
    let layout = Arc::new(body.layout());
    let dictionary = Arc::new(program_constants::dictionary(&target, function));
    let evaluator = Evaluator::new(Rc::clone(&target), function, EvaluationLimits::default())?;

    // From penfuzz: observer, feedbacks, executor. From LibAFL: state, scheduler, manager, fuzzer.
    let observer = PenObserver::new();
    let handle = observer.handle();
    let mut feedback = SaturationFeedback::new(&observer, graph);
    let mut objective = NewPlaceFeedback::new(&observer);
    let mut state = StdState::new(
        StdRand::with_seed(1),
        InMemoryCorpus::<BytesInput>::new(),
        InMemoryCorpus::new(),
        &mut feedback,
        &mut objective,
    )?;
    let mut fuzzer = StdFuzzer::new(QueueScheduler::new(), feedback, objective);
    let mut manager = SimpleEventManager::new(SimpleMonitor::new(|_| ()));
    let mut executor = PenExecutor::new(evaluator, tuple_list!(observer), handle);

    // Minimization, and mutation after it.
    let mutators = havoc_mutations().merge(numeric_mutations(&layout, &dictionary));
    let mut stages = tuple_list!(
        BasinhoppingStage::new(Arc::clone(&layout), dictionary, "avm", Clock::endless())?,
        StdMutationalStage::new(HavocScheduledMutator::new(mutators))
    );
    fuzzer.add_input(&mut state, &mut executor, &mut manager, BytesInput::new(vec![0; layout.size()]))?;
    while !state.metadata::<Saturation>()?.is_done() {
        fuzzer.fuzz_one(&mut stages, &mut executor, &mut state, &mut manager)?;
    }

    let BranchCounts { total, covered, .. } = state.metadata::<Saturation>()?.counts();
    println!("{}: {covered} of {total} branches covered", target.functions[function].name);
    for i in 0..state.corpus().count() {
        let mut input = state.corpus().cloned_input_for_id(state.corpus().nth(i))?;
        input.resize(layout.size(), 0); // havoc changes lengths; missing bytes are zeros
        println!("  kept {:?}", layout.reals(input.mutator_bytes()));
    }
    println!("  {} crashes and hangs", state.solutions().count());
    Ok(())
}
