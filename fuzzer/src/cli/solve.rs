//! `penfuzz solve FILE.smt2...`: finds models of formulas by search.

use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use penfuzz_error::Error;
use penfuzz_mutators::minimizer::MINIMIZERS;
use penfuzz_report::proof;
use penfuzz_solve::{self as solve, Options, Proofs, Solved};
use penfuzz_system::{console, errln, outln};
use serde::Serialize;

use super::{Outcome, fuzz, values};

/// Arguments.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// SMT-LIB files with formulas over floats and bit vectors, or over reals and integers, each with one check-sat.
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    /// Seed of the pseudo-random generator.
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,

    /// Time limit of the search, for each file.
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = values::duration)]
    max_time: Duration,

    /// Limit of evaluations of the search, for each file.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    max_evals: Option<u64>,

    /// Local minimizer.
    #[arg(long, value_name = "NAME", value_parser = fuzz::minimizers(), default_value = MINIMIZERS[0].0)]
    minimizer: String,

    /// Time limit for evaluating all inputs of a formula whose variables have at most 32 bits together.
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = values::duration)]
    exhaust_time: Duration,

    /// Do not evaluate all inputs.
    #[arg(long, conflicts_with = "exhaust_time")]
    no_exhaust: bool,

    #[command(flatten)]
    solvers: SolverArgs,

    /// Print one JSON object for each file.
    #[arg(long)]
    json: bool,
}

/// Which solvers are asked.
#[derive(Debug, clap::Args)]
struct SolverArgs {
    /// Ask the installed solvers within --max-time if the first quarter of the search finds no answer; two must agree
    /// on unsat [default].
    #[arg(long = "prove", overrides_with = "no_prove")]
    _prove: bool,

    /// Ask no solver.
    #[arg(long, overrides_with = "_prove", conflicts_with = "solver_time")]
    no_prove: bool,

    /// Time of each solver for one file; solvers are then asked after the search, in addition to --max-time.
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    solver_time: Option<Duration>,
}

impl SolverArgs {
    fn proofs(&self) -> Proofs {
        match self.solver_time {
            _ if self.no_prove => Proofs::Off,
            Some(time) => Proofs::Each(time),
            None => Proofs::Within,
        }
    }
}

/// The output of `--json` for one file.
#[derive(Debug, Serialize)]
struct Json<'a> {
    schema: u32,
    file: String,
    answer: &'static str,
    method: &'static str,
    /// The values of all declared constants; `null` if there is no model.
    model: Option<Vec<Constant<'a>>>,
    /// The `:status` of the file.
    status: Option<&'a str>,
    contradicts_status: bool,
    seed: u64,
    minimizer: &'a str,
    evaluations: u64,
    /// Number of inputs that the C code accepts, but the check of the model does not.
    rejected: u64,
    seconds: f64,
    solvers: &'a [proof::Answer],
    notes: &'a [String],
    /// For a formula over reals and integers: how the answer is to be understood.
    #[serde(skip_serializing_if = "Option::is_none")]
    remark: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct Constant<'a> {
    name: &'a str,
    sort: String,
    value: String,
}

/// Solves each file and prints its answer. A file that cannot be read, or whose `:status` contradicts the answer, is an
/// error; the other files are still solved.
pub(super) fn run(args: &Args) -> Result<Outcome, Error> {
    let options = Options {
        seed: args.seed,
        max_time: args.max_time,
        max_evals: args.max_evals.unwrap_or(u64::MAX),
        minimizer: args.minimizer.clone(),
        exhaust_time: if args.no_exhaust { Duration::ZERO } else { args.exhaust_time },
        proofs: args.solvers.proofs(),
    };
    let mut errors = Vec::new();
    for file in &args.files {
        if args.files.len() > 1 && !args.json {
            outln!("; {}", console::shown(&file.to_string_lossy()));
        }
        if let Err(e) = one(args, file, &options) {
            errors.push(e);
        }
    }
    let last = errors.pop();
    for e in errors {
        errln!("error: {e}");
    }
    last.map_or(Ok(Outcome::Fine), Err)
}

fn one(args: &Args, file: &Path, options: &Options) -> Result<(), Error> {
    let begun = Instant::now();
    let solved = solve::solve(file, options)?;
    let seconds = begun.elapsed().as_secs_f64();
    if args.json {
        console::out_json(&serde_json::to_string(&json(args, file, &solved, seconds)).unwrap_or_default());
    } else {
        outln!("{}", solved.answer.name());
        if let Some(remark) = solved.remark() {
            outln!("; {remark}");
        }
        console::out(&solved.model());
        for note in &solved.notes {
            errln!("penfuzz: {}: {note}", console::shown(&file.to_string_lossy()));
        }
    }
    if solved.contradicts_status() {
        let (status, answer) = (solved.script.status.as_deref().unwrap_or_default(), solved.answer.name());
        return Err(Error::new(format!(
            "{}: its :status is {status}, and the answer is {answer}, by {}",
            file.display(),
            solved.method.name()
        )));
    }
    Ok(())
}

fn json<'a>(args: &'a Args, file: &Path, solved: &'a Solved, seconds: f64) -> Json<'a> {
    let constants = solved.constants();
    let model =
        constants.map(|all| all.into_iter().map(|(name, sort, value)| Constant { name, sort, value }).collect());
    Json {
        schema: 1,
        file: file.to_string_lossy().into_owned(),
        answer: solved.answer.name(),
        method: solved.method.name(),
        model,
        status: solved.script.status.as_deref(),
        contradicts_status: solved.contradicts_status(),
        seed: args.seed,
        minimizer: &args.minimizer,
        evaluations: solved.evaluations,
        rejected: solved.rejected,
        seconds: (seconds * 1e6).round() / 1e6,
        solvers: &solved.solvers,
        notes: &solved.notes,
        remark: solved.remark(),
    }
}
