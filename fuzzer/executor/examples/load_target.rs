//! Loads a file that pen-cc has linked, searches for two seconds at most, and prints the covered branches.
//!
//! `cargo run --release -p penfuzz-executor --example load_target -- FILE FUNCTION`. It needs no compiler: link the
//! target elsewhere, with `pen-cc -O2 FILE.c -o FILE`.

use std::{
    error::Error,
    path::Path,
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    thread,
    time::Duration,
};

use libafl::{
    Evaluator as _, Fuzzer as _, HasMetadata as _, StdFuzzer, corpus::InMemoryCorpus, events::NopEventManager,
    inputs::BytesInput, schedulers::QueueScheduler, state::StdState,
};
use libafl_bolts::{
    rands::StdRand,
    tuples::{Handled as _, tuple_list},
};
use penfuzz_engine::{
    saturation::{
        BranchCounts, BranchGraph, Goals, NewPlaceFeedback, Saturation, SaturationFeedback, Scope, ScopeKind,
    },
    stages::{BasinhoppingStage, Clock},
};
use penfuzz_executor::{Evaluator, PenExecutor, PenObserver, evaluator::EvaluationLimits};
use penfuzz_target::program::{Target, program_constants, select::select};

const SEARCH_TIME: Duration = Duration::from_secs(2);
static STOP: AtomicU32 = AtomicU32::new(0);

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [file, name] = &args[..] else { return Err("usage: load_target FILE FUNCTION".into()) };
    let target = Rc::new(Target::load(Path::new(file))?);
    let function = select(&target, Some(name))?;
    let scope = Scope::new(&target, function, ScopeKind::Function, Goals::Branches);
    let layout = Arc::new(target.functions[function].layout());
    let dictionary = Arc::new(program_constants::dictionary(&target, function));
    let evaluator = Evaluator::new(Rc::clone(&target), function, EvaluationLimits::default())?;

    let observer = PenObserver::new();
    let handle = observer.handle();
    let mut feedback = SaturationFeedback::new(&observer, BranchGraph::new(&target, &scope));
    let mut objective = NewPlaceFeedback::new(&observer);
    let (corpus, solutions) = (InMemoryCorpus::<BytesInput>::new(), InMemoryCorpus::new());
    let mut state = StdState::new(StdRand::with_seed(1), corpus, solutions, &mut feedback, &mut objective)?;
    let mut fuzzer = StdFuzzer::new(QueueScheduler::new(), feedback, objective);
    let (mut manager, start) = (NopEventManager::new(), BytesInput::new(vec![0; layout.size()]));
    let mut executor = PenExecutor::new(evaluator, tuple_list!(observer), handle);
    let clock = Clock::new(u64::MAX, &STOP);
    let mut stages = tuple_list!(BasinhoppingStage::new(layout, dictionary, "avm", clock)?);

    thread::spawn(|| {
        thread::sleep(SEARCH_TIME);
        STOP.store(1, Ordering::Relaxed);
    });
    fuzzer.add_input(&mut state, &mut executor, &mut manager, start)?;
    while STOP.load(Ordering::Relaxed) == 0 && !state.metadata::<Saturation>()?.is_done() {
        fuzzer.fuzz_one(&mut stages, &mut executor, &mut state, &mut manager)?;
    }

    let saturation = state.metadata::<Saturation>()?;
    let BranchCounts { total, covered, .. } = saturation.counts();
    println!("{name}: {covered} of {total} branches covered");
    for site in &target.sites[target.functions[function].sites.clone()] {
        for (k, branch) in site.branches().enumerate().filter(|(_, b)| saturation.is_covered(*b)) {
            let by = if saturation.is_covered_by_crash(branch) { ", only by inputs that crash" } else { "" };
            println!("  {}:{}:{} branch {k}{by}", site.file, site.line, site.column); // 0: true, 1: false
        }
    }
    Ok(())
}
