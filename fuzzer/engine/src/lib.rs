//! The `LibAFL` plugin of penfuzz: goals, saturation and stages that minimize branch distances of numeric code.
//!
//! | module | contents |
//! | --- | --- |
//! | [`goals`] | what makes an input wanted, as a table of pen actions (Mathematical Execution's researcher layer) |
//! | [`saturation`] | which branches are covered and saturated (`CoverMe`, Def. 3.2), observer and feedbacks |
//! | [`stages`] | `LibAFL` stages: basinhopping, havoc, sampling, the algorithm of the paper |
//!
//! # A fuzzer of these parts
//! The executor, the observer, the feedbacks and the stage are penfuzz's; the rest is stock `LibAFL`.
//! ```no_run
//! use std::{rc::Rc, sync::Arc};
//!
//! use libafl::{
//!     Evaluator as _, Fuzzer as _, HasMetadata as _, StdFuzzer, corpus::InMemoryCorpus, events::NopEventManager,
//!     inputs::BytesInput, schedulers::QueueScheduler, state::StdState,
//! };
//! use libafl_bolts::{rands::StdRand, tuples::{Handled as _, tuple_list}};
//! use penfuzz_engine::{
//!     saturation::{
//!         BranchGraph, Goals, NewPlaceFeedback, PenObserver, Saturation, SaturationFeedback, Scope, ScopeKind,
//!     },
//!     stages::{BasinhoppingStage, Clock},
//! };
//! use penfuzz_executor::{Evaluator, PenExecutor, evaluator::EvaluationLimits};
//! use penfuzz_target::program::{Target, program_constants, select::select};
//!
//! // A file that pen-cc has linked, and a function that it defines.
//! let target = Rc::new(Target::load("./target".as_ref())?);
//! let function = select(&target, Some("solve"))?;
//! let scope = Scope::new(&target, function, ScopeKind::Function, Goals::Branches);
//! let layout = Arc::new(target.functions[function].layout());
//! let dictionary = Arc::new(program_constants::dictionary(&target, function));
//! let evaluator = Evaluator::new(Rc::clone(&target), function, EvaluationLimits::default())?;
//!
//! // An input is kept if it saturates a branch; a crash or hang is a solution if its place is new.
//! let observer = PenObserver::new();
//! let handle = observer.handle();
//! let mut feedback = SaturationFeedback::new(&observer, BranchGraph::new(&target, &scope));
//! let mut objective = NewPlaceFeedback::new(&observer);
//! let (corpus, solutions) = (InMemoryCorpus::<BytesInput>::new(), InMemoryCorpus::new());
//! let mut state = StdState::new(StdRand::with_seed(1), corpus, solutions, &mut feedback, &mut objective)?;
//! let mut fuzzer = StdFuzzer::new(QueueScheduler::new(), feedback, objective);
//! let mut manager = NopEventManager::new();
//! let mut executor = PenExecutor::new(evaluator, tuple_list!(observer), handle);
//!
//! // The stage minimizes the distances of uncovered branches.
//! let start = BytesInput::new(vec![0; layout.size()]);
//! let mut stages = tuple_list!(BasinhoppingStage::new(layout, dictionary, "avm", Clock::endless())?);
//! fuzzer.add_input(&mut state, &mut executor, &mut manager, start)?;
//! while !state.metadata::<Saturation>()?.is_done() {
//!     fuzzer.fuzz_one(&mut stages, &mut executor, &mut state, &mut manager)?;
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! `penfuzz-target` loads a target, `penfuzz-executor` evaluates its functions; neither needs a compiler.
//! `fuzzer/executor/examples/load_target.rs` is this fuzzer as a program. `examples/plugin.rs` compiles the target
//! first and adds havoc; `examples/goal.rs` adds a goal of its own. `examples/r_feedback.rs` has no stage of penfuzz:
//! there `r` is a feedback beside coverage ([`saturation::PenRFeedback`]).

#![warn(clippy::print_stdout, clippy::print_stderr)]

pub mod goals;
pub mod saturation;
pub mod stages;
