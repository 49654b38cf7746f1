//! `penfuzz reach TARGET`: finds an input that takes a path, or executes a line.

mod all;
mod found;

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
    time::Duration,
};

use libafl_bolts::rands::StdRand;
use penfuzz_campaign::corpus::directory;
use penfuzz_directory::replay::session::{ReplaySession, Subject};
use penfuzz_engine::{
    goals::path::Step,
    saturation::{Goals, ScopeKind},
    stages::SearchKind,
};
use penfuzz_error::{Error, failed};
use penfuzz_mutators::{dictionary::Dictionary, minimizer::MINIMIZERS, random, structured};
use penfuzz_path_search::{Options, Query};
use penfuzz_questions::reach::{
    self,
    lines::{Executed, executed},
    spec::Conditionals,
};
use penfuzz_report::literal;
use penfuzz_system::{console, files::foreign};

use super::{Outcome, choices, replay::LimitArgs, target::TargetArgs, values};

/// Arguments.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: TargetArgs,

    #[command(flatten)]
    wanted: Wanted,

    /// Functions whose conditionals make the path [default: function; for a line: calls].
    #[arg(long, value_parser = choices::scope())]
    scope: Option<ScopeKind>,

    /// Directory for the found input and a C program that calls the function with it.
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,

    /// Inputs to start from: a campaign, or a directory of files.
    #[arg(short, long, value_name = "DIR")]
    input: Option<PathBuf>,

    /// Seed of the pseudo-random generator.
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,

    /// Time limit of the search.
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = values::duration)]
    max_time: Duration,

    /// Limit of evaluations of the search.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    max_evals: Option<u64>,

    /// Search strategy: targeted, structured, random or uniform.
    #[arg(long, value_parser = choices::search(), default_value = "targeted")]
    search: SearchKind,

    /// Print the input as it was found, not simplified.
    #[arg(long)]
    no_simplify: bool,

    #[command(flatten)]
    limits: LimitArgs,

    /// Print the answer as JSON.
    #[arg(long)]
    json: bool,
}

/// What to reach; one of them.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct Wanted {
    /// Branches in the order in which the input takes them, or @FILE to read them from (syntax: docs/reach.md).
    #[arg(
        long,
        value_name = "SPEC",
        help = "Branches in the order of their passes: FILE:LINE:OUTCOME,… (see docs/reach.md), or @FILE to read them \
                from"
    )]
    path: Option<String>,

    /// Line to execute, in the function or in a function it calls.
    #[arg(long, value_name = "FILE:N")]
    line: Option<String>,

    /// Do not search: print N distinct paths that random inputs take, one JSON object per line.
    #[arg(long, value_name = "N")]
    draw: Option<usize>,

    /// Enumerate all paths with up to K iterations of each loop: prints each path for which an input is found, one
    /// JSON object per line, then the prefixes that no input took, and the counts. The limits of evaluations [default:
    /// 20000] and time apply to each search.
    #[arg(long, value_name = "K")]
    all: Option<u32>,
}

/// Searches for an input and prints it.
pub(super) fn run(args: &Args) -> Result<Outcome, Error> {
    check_search(args.search)?;
    if let Some(out) = &args.output {
        directory::refuse_used(out)?;
    }
    let seeds = args.input.as_deref().map_or(Ok(Vec::new()), seeds)?;
    let linked = args.target.link(Goals::Branches)?;
    let subject = Subject {
        name: args.target.path()?,
        function: args.target.function.as_deref(),
        rounding: args.target.rounding,
        args: &args.target.args,
        calls: &args.target.calls.calls(),
        sizes: None,
        only_numbers: false,
        goals: Goals::Branches,
        scope: args.scope.or_else(|| args.wanted.line.as_ref().map(|_| ScopeKind::Calls)),
        limits: args.limits.limits(),
    };
    let mut session = ReplaySession::load(&linked.file, subject)?;
    let target = std::rc::Rc::clone(session.evaluator.target());
    let names = Conditionals::new(&target, &session.scope);
    if let Some(n) = args.wanted.draw {
        draw(&mut session, &names, n, args.seed);
        return Ok(Outcome::Fine);
    }
    if let Some(rounds) = args.wanted.all {
        return all::print(args, &mut session, &names, seeds, rounds);
    }
    let paths = paths(args, &session, &names)?;
    let query = Query { scope: session.scope.clone(), counts: names.branches(), paths, parts: Vec::new() };
    let options = Options {
        search: args.search,
        seed: args.seed,
        max_time: args.max_time,
        max_evals: args.max_evals.unwrap_or(u64::MAX),
        timeout: session.timeout(),
        simplify: !args.no_simplify,
        seeds,
        minimizer: MINIMIZERS[0].0.to_owned(),
    };
    let answer = if query.paths.is_empty() {
        penfuzz_path_search::any_input(&mut session.evaluator, &query, &options)?
    } else {
        penfuzz_path_search::run(&mut session.evaluator, &query, &options)?
    };
    found::report_answer(args, &linked, &session, &names, &query, &answer)
}

fn check_search(search: SearchKind) -> Result<(), Error> {
    match search {
        SearchKind::Targeted | SearchKind::Structured | SearchKind::Random | SearchKind::Uniform => Ok(()),
        other => Err(Error::new(format!(
            "--search {} searches for branches; use targeted, structured, random or uniform with reach",
            other.name()
        ))),
    }
}

/// The inputs of a campaign, or of a plain directory.
pub(super) fn seeds(dir: &Path) -> Result<Vec<Vec<u8>>, Error> {
    let clients = directory::clients(dir)?;
    let inputs =
        if clients.is_empty() { directory::plain_inputs(dir)? } else { directory::inputs(&clients, &directory::KEPT)? };
    Ok(inputs.into_iter().map(|i| i.bytes).collect())
}

/// The requested paths, of which the input must take one; empty if every input takes one.
fn paths(args: &Args, session: &ReplaySession, names: &Conditionals) -> Result<Vec<Vec<Step>>, Error> {
    if let Some(line) = &args.wanted.line {
        let wrong = || Error::new(format!("--line {line} is not FILE:N with a line number N"));
        let (file, n) = line.rsplit_once(':').ok_or_else(wrong)?;
        let n: u32 = n.parse().map_err(|_| wrong())?;
        let evaluator = &session.evaluator;
        return Ok(match executed(evaluator.target(), evaluator.function_index(), file, n)? {
            Executed::Always => Vec::new(),
            Executed::By(branches) => branches.into_iter().map(|b| vec![Step::Any, Step::Branch(b)]).collect(),
        });
    }
    let spec = args.wanted.path.as_deref().unwrap_or_default();
    let text = match spec.strip_prefix('@') {
        Some(file) => foreign::read_text(Path::new(file)).map_err(|e| failed(Path::new(file), "cannot be read", e))?,
        None => spec.to_owned(),
    };
    let steps = names.parse(&text)?;
    reach::check(session.evaluator.target(), session.evaluator.function_index(), &session.scope, names, &steps)?;
    Ok(vec![steps])
}

/// Maximum number of inputs that are tried per printed path.
const DRAWS: usize = 5_000;
/// Number of inputs that run in one child process.
const BATCH: usize = 512;
/// Maximum length of a printed path, in steps.
const DRAWN_STEPS: usize = 100_000;

/// Prints distinct paths in the order in which random inputs take them. Random bit patterns, uniform values and
/// structured values alternate.
fn draw(session: &mut ReplaySession, names: &Conditionals, n: usize, seed: u64) {
    let layout = session.evaluator.function().layout();
    let (mut rng, dictionary) = (StdRand::with_seed(seed), Dictionary::general());
    let (mut known, mut x, counts) = (HashSet::new(), vec![0; layout.size()], names.branches());
    let mut draws = 0..n.saturating_mul(DRAWS);
    while known.len() < n && !draws.is_empty() && !console::has_failed() {
        let inputs: Vec<Vec<u8>> = draws
            .by_ref()
            .take(BATCH)
            .map(|i| {
                match i % 4 {
                    0 => random::fill(&mut rng, &layout, &mut x),
                    1 => random::fill_uniform(&mut rng, &layout, &mut x),
                    _ => structured::fill(&mut rng, &layout, &dictionary, &mut x),
                }
                x.clone()
            })
            .collect();
        let timeout = session.timeout();
        for (input, passes) in
            penfuzz_path_search::record_all(&mut session.evaluator, &counts, &inputs, DRAWN_STEPS, timeout)
        {
            if passes.is_empty() || known.len() == n || known.contains(&passes) {
                continue;
            }
            let line = serde_json::json!({
                "path": format!("{},$", names.path(&passes, usize::MAX)),
                "steps": passes.len(),
                "input": literal::hex(&input),
            });
            console::out_json(&line.to_string());
            known.insert(passes);
        }
    }
}
