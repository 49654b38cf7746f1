//! An ordinary libFuzzer-style LibAFL fuzzer (`LLVMFuzzerTestOneInput`, the edge map of `libafl_targets`, havoc) with
//! penfuzz's stage in addition to its mutations.
//!
//! `cargo run --release -p penfuzz-engine --example harness -- FILE.c [EVALUATIONS] [map|pen|both]` compiles FILE.c as
//! pen-cc does, `SanCov` included, and fuzzes its harness. `map` is the ordinary fuzzer alone, `pen` penfuzz's stage
//! and feedback alone.

use std::{error::Error, path::PathBuf, rc::Rc, sync::Arc};

use libafl::{
    Evaluator as _, Fuzzer as _, HasMetadata as _, StdFuzzer,
    corpus::{Corpus as _, InMemoryCorpus},
    events::SimpleEventManager,
    feedback_and_fast, feedback_or,
    feedbacks::{ConstFeedback, MaxMapFeedback},
    inputs::BytesInput,
    monitors::SimpleMonitor,
    mutators::{HavocScheduledMutator, havoc_mutations},
    observers::HitcountsMapObserver,
    schedulers::QueueScheduler,
    stages::{IfStage, StdMutationalStage},
    state::{HasCorpus as _, HasExecutions as _, HasSolutions as _, StdState},
};
use libafl_bolts::{
    rands::StdRand,
    tuples::{Handled as _, tuple_list},
};
use libafl_targets::{MAX_EDGES_FOUND, edges_map_mut_ptr, std_edges_map_observer};
use penfuzz_compile::{Recipe, build};
use penfuzz_engine::{
    goals::{Goal as _, Record},
    saturation::{
        BranchCounts, BranchGraph, Goals, NewPlaceFeedback, Saturation, SaturationFeedback, Scope, ScopeKind,
    },
    stages::{BasinhoppingStage, Clock},
};
use penfuzz_executor::{Evaluator, HasEvaluator as _, PenExecutor, PenObserver, evaluator::EvaluationLimits};
use penfuzz_target::program::{Target, program_constants, select::select};

const HARNESS: &str = "LLVMFuzzerTestOneInput";

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let source = PathBuf::from(args.first().ok_or("usage: harness FILE.c [EVALUATIONS] [map|pen|both]")?);
    let evaluations: u64 = args.get(1).map_or(Ok(100_000), |text| text.parse())?;
    let kind = args.get(2).map_or("both", String::as_str);
    let (by_map, by_pens) = (kind != "pen", kind != "map");

    let target = Rc::new(Target::load(&build(&Recipe { sources: vec![source], san_cov: true, ..Recipe::default() })?)?);
    let function = select(&target, Some(HARNESS))?;
    let graph = BranchGraph::new(&target, &Scope::new(&target, function, ScopeKind::All, Goals::Branches));
    let layout = Arc::new(target.functions[function].layout());
    let dictionary = Arc::new(program_constants::dictionary(&target, function));
    let mut evaluator = Evaluator::new(Rc::clone(&target), function, EvaluationLimits::default())?;

    // The map of libafl_targets, filled by the target's SanCov callbacks.
    // SAFETY: the map is a static of two megabytes, which only the target of this thread writes to.
    let edges = unsafe {
        MAX_EDGES_FOUND = target.n_guards + 1;
        evaluator.count_edges(edges_map_mut_ptr());
        HitcountsMapObserver::new(std_edges_map_observer("edges"))
    };
    let observer = PenObserver::new();
    let handle = observer.handle();

    let mut feedback = feedback_or!(
        feedback_and_fast!(ConstFeedback::new(by_map), MaxMapFeedback::new(&edges)),
        SaturationFeedback::new(&observer, graph)
    );
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
    let mut executor = PenExecutor::new(evaluator, tuple_list!(edges, observer), handle);
    let mut stages = tuple_list!(
        StdMutationalStage::new(HavocScheduledMutator::new(havoc_mutations())),
        IfStage::new(
            |_: &mut _, _: &mut _, _: &mut _, _: &mut _| Ok(by_pens),
            tuple_list!(BasinhoppingStage::new(layout, dictionary, "avm", Clock::endless())?)
        )
    );

    Record.arm(executor.evaluator_mut(), state.metadata::<Saturation>()?);
    fuzzer.add_input(&mut state, &mut executor, &mut manager, BytesInput::new(vec![0; 16]))?;
    while executor.evaluator().evaluations() < evaluations && !state.metadata::<Saturation>()?.is_done() {
        Record.arm(executor.evaluator_mut(), state.metadata::<Saturation>()?);
        fuzzer.fuzz_one(&mut stages, &mut executor, &mut state, &mut manager)?;
    }

    let BranchCounts { total, covered, .. } = state.metadata::<Saturation>()?.counts();
    println!(
        "{covered} of {total} branches covered in {} evaluations ({} through LibAFL), {} inputs kept, {} crashes and \
         hangs",
        executor.evaluator().evaluations(),
        state.executions(),
        state.corpus().count(),
        state.solutions().count()
    );
    Ok(())
}
