//! The cost of restoring variables so that each evaluation begins like the first one: newlib's functions
//! (`harnesses/newlib/suite.toml`) with and without restoring, in one process, and a replay in a fresh process.
//!
//! `cargo bench -p penfuzz --bench restoring`; `-- NAME…` restricts it to functions with one of these texts in their
//! name. The two forms alternate over the same inputs, so that other load on the machine affects them equally. Times
//! are medians of the rounds.

use std::{hint::black_box, rc::Rc, time::Instant};

use libafl_bolts::rands::StdRand;
use penfuzz_compile::{Recipe, build};
use penfuzz_directory::replay::fresh::{NO_SUPERVISOR, Pipes, Zygote};
use penfuzz_engine::saturation::{Goals, Scope, ScopeKind};
use penfuzz_executor::{Evaluator, fresh::FreshProcessRunner, limits::EvaluationLimits};
use penfuzz_mutators::{dictionary::Dictionary, structured};
use penfuzz_suite as suite;
use penfuzz_target::program::Target;

/// Number of inputs of one round. A round is short, so that the two forms alternate within a few microseconds to a
/// millisecond.
const INPUTS: usize = 256;
const ROUNDS: usize = 201;
const REPLAYS: usize = 51;

/// Number of calls in a measurement of restoring alone, which takes less than the clock resolves.
const RESTORINGS: usize = 4096;

/// The cost of one function.
struct Cost {
    name: String,
    /// Number of bytes that are restored.
    state: usize,
    /// Times in ns per evaluation: with restoring, and without.
    with: f64,
    without: f64,
    /// Time of restoring alone, in ns.
    alone: f64,
    /// Time of a replay in a fresh process, in µs.
    replay: f64,
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn evaluate_all(evaluator: &mut Evaluator, inputs: &[Vec<u8>]) -> f64 {
    let start = Instant::now();
    for x in inputs {
        black_box(evaluator.run(x));
    }
    start.elapsed().as_nanos() as f64 / inputs.len() as f64
}

fn restore_alone(evaluator: &Evaluator) -> f64 {
    let start = Instant::now();
    for _ in 0..RESTORINGS {
        black_box(evaluator.shared()).restore();
    }
    start.elapsed().as_nanos() as f64 / RESTORINGS as f64
}

fn inputs_for(evaluator: &Evaluator) -> Vec<Vec<u8>> {
    let (layout, dictionary) = (evaluator.function().layout(), Dictionary::general());
    let mut rng = StdRand::with_seed(1);
    let one = |_| {
        let mut x = vec![0; layout.size()];
        structured::fill(&mut rng, &layout, &dictionary, &mut x);
        x
    };
    (0..INPUTS).map(one).collect()
}

fn measure(target: &Rc<Target>, function: usize) -> Option<Cost> {
    let limits = EvaluationLimits::default();
    let mut evaluator = Evaluator::new(Rc::clone(target), function, limits).ok()?;
    let inputs = inputs_for(&evaluator);
    let scope = Scope::new(target, function, ScopeKind::Function, Goals::Branches);
    // The zygote must start before the first evaluation.
    let zygote = Zygote::start(Pipes::new()?, &mut evaluator, &scope, limits.timeout, NO_SUPERVISOR);
    evaluator.arm(|_| 0);
    // As in a search, inputs with long loops are stopped.
    evaluator.set_fuel_cap(limits.fuel >> 8);
    let (mut with, mut without, mut alone) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        evaluator.set_restoring(true);
        alone.push(restore_alone(&evaluator));
        with.push(evaluate_all(&mut evaluator, &inputs));
        evaluator.set_restoring(false);
        without.push(evaluate_all(&mut evaluator, &inputs));
    }
    evaluator.set_restoring(true);
    let replay = |mut fresh: Zygote| {
        let time = |x: &Vec<u8>| {
            let start = Instant::now();
            black_box(fresh.run_fresh(x));
            start.elapsed().as_nanos() as f64 / 1e3
        };
        median(inputs.iter().take(REPLAYS).map(time).collect())
    };
    Some(Cost {
        name: evaluator.function().name.clone(),
        state: evaluator.shared().size(),
        with: median(with),
        without: median(without),
        alone: median(alone),
        replay: zygote.map_or(f64::NAN, replay),
    })
}

fn load() -> (suite::Suite, Rc<Target>) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../harnesses/newlib/suite.toml");
    let suite = suite::load(&path).unwrap_or_else(|e| panic!("{e}"));
    let mut sources = suite.support_files.clone();
    sources.extend(suite.targets.iter().map(|t| suite.file_of(t)));
    sources.sort();
    sources.dedup();
    let mut flags = suite.flags_of(&suite.targets[0]);
    flags.extend(["-g", "-O2"].map(str::to_owned));
    let recipe = Recipe { sources, flags, libs: suite.build.libs.clone(), ..Recipe::default() };
    let linked = build(&recipe).unwrap_or_else(|e| panic!("{e}"));
    let target = Target::load(&linked).unwrap_or_else(|e| panic!("{e}"));
    (suite, Rc::new(target))
}

fn print_sum(title: &str, costs: &[&Cost]) {
    if costs.is_empty() {
        return;
    }
    let of = |f: &dyn Fn(&Cost) -> f64| median(costs.iter().map(|c| f(c)).collect());
    println!(
        "{title:34} {:9} {:8.1} {:8.1} {:+9.1} {:8.2} {:9.0}",
        costs.len(),
        of(&|c| c.with),
        of(&|c| c.without),
        of(&|c| 100.0 * (c.with / c.without - 1.0)),
        of(&|c| c.alone),
        of(&|c| c.replay)
    );
}

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let (suite, target) = load();
    println!(
        "ns per evaluation, median of {ROUNDS} rounds over {INPUTS} inputs; the difference in percent; \
         ns of restoring alone; µs of a replay"
    );
    let head = |first: &str, second: &str| {
        println!("{first:34} {second:>9} {:>8} {:>8} {:>9} {:>8} {:>9}", "with", "without", "%", "alone", "replay");
    };
    head("function", "bytes");
    let mut costs = Vec::new();
    for spec in &suite.targets {
        let is_it = |name: &str| name == spec.function;
        let is_wanted = wanted.is_empty() || wanted.iter().any(|w| spec.function.contains(w.as_str()));
        let function = target.functions.iter().position(|f| is_it(&f.name)).filter(|_| is_wanted);
        let Some(cost) = function.and_then(|f| measure(&target, f)) else { continue };
        println!(
            "{:34} {:9} {:8.1} {:8.1} {:+9.1} {:8.2} {:9.0}",
            cost.name,
            cost.state,
            cost.with,
            cost.without,
            100.0 * (cost.with / cost.without - 1.0),
            cost.alone,
            cost.replay
        );
        costs.push(cost);
    }
    println!();
    head("median of the functions", "functions");
    let (stateless, stateful): (Vec<_>, Vec<_>) = costs.iter().partition(|c| c.state == 0);
    print_sum("without state", &stateless);
    print_sum("with state", &stateful);
}
