//! `penfuzz compare SUITE.toml`: compares penfuzz with other fuzzers.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use clap::ValueEnum;
use penfuzz_compile::cache_directory;
use penfuzz_error::{Error, at};
use penfuzz_experiments::{self, Experiment, Trial, experiment::Settings, model::Budget, tools};
use penfuzz_suite as suite;
use penfuzz_system::{console, errln, outln};

use super::{Outcome, values};

/// Published experiments.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Preset {
    /// The protocol of `CoverMe`'s paper: its search to the end, the others ten times its time.
    #[value(help = "CoverMe's paper (PLDI 2017): its search to the end, the others ten times its time")]
    Coverme,
}

/// Arguments.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "flags of a command line")]
pub struct Args {
    /// Suite files.
    #[arg(value_name = "SUITE", required = true)]
    suites: Vec<PathBuf>,

    /// Output directory. An experiment in it is continued.
    #[arg(short, long, value_name = "DIR", default_value = "penfuzz-out/compare")]
    output: PathBuf,

    /// Tools, separated by commas [default: all that are installed].
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    tools: Vec<String>,

    /// List the tools with their versions and commands, and exit.
    #[arg(long, exclusive = true)]
    list_tools: bool,

    /// Trials of each tool on each function [default: 20; with --preset: 1].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    trials: Option<u32>,

    /// CPU time of one trial: of all its processes, start-up included [default: 10s; with --budget-evals: 1h].
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    budget: Option<Duration>,

    /// Evaluations of one trial.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    budget_evals: Option<u64>,

    /// Use the tools and the budget of a published experiment.
    #[arg(long, value_enum, conflicts_with_all = ["budget", "budget_evals"])]
    preset: Option<Preset>,

    /// Compare only on functions with these names (* and ? match any); separated by commas, may be repeated.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    only: Vec<String>,

    /// Compare only on functions that have a pointer to a structure, an array or a string.
    #[arg(long)]
    composite: bool,

    /// Compare on this many functions, drawn at random from those with branches.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    draw: Option<u16>,

    /// Seed of the draw.
    #[arg(long, value_name = "N", default_value_t = 0, requires = "draw")]
    draw_seed: u64,

    /// Seed of the first trial; each further trial has the next number.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Cores to run on, one trial on each at a time (0-3, or 0,2) [default: all].
    #[arg(long, value_name = "LIST", value_parser = values::cores)]
    cores: Option<values::Cores>,

    /// Start over. An existing output directory is renamed, not deleted.
    #[arg(long)]
    fresh: bool,

    /// Print summary.json on standard output instead of the table.
    #[arg(long)]
    json: bool,

    /// Print no progress.
    #[arg(long, short)]
    quiet: bool,
}

/// The tools that `CoverMe`'s paper compares, except Austin, and penfuzz.
const COVERME_TOOLS: [&str; 5] = ["penfuzz", "penfuzz-paper", "penfuzz-paper-as-run", "uniform", "afl++"];
/// "ten times of the `CoverMe` time" (PLDI 2017, Sect. 6.1).
const COVERME_TIMES: f64 = 10.0;
/// Time limit of a search that should end by itself.
const ENDLESS_SEARCH_LIMIT: Duration = Duration::from_mins(10);
/// Time limit of a trial whose budget is a number of evaluations.
const LONG: Duration = Duration::from_hours(1);

impl Args {
    fn budget(&self) -> Budget {
        let cpu = match (self.preset, self.budget) {
            (Some(Preset::Coverme), _) => ENDLESS_SEARCH_LIMIT,
            (None, Some(time)) => time,
            (None, None) if self.budget_evals.is_some() => LONG,
            (None, None) => Duration::from_secs(10),
        };
        Budget {
            cpu_seconds: cpu.as_secs_f64(),
            evaluations: self.budget_evals,
            times_paper: self.preset.map(|Preset::Coverme| COVERME_TIMES),
        }
    }

    fn tools(&self) -> Vec<String> {
        if self.tools.is_empty() && self.preset.is_some() {
            return COVERME_TOOLS.map(str::to_owned).to_vec();
        }
        if self.tools.iter().any(|t| t == "all") { Vec::new() } else { self.tools.clone() }
    }

    fn settings(&self) -> Result<Settings, Error> {
        let mut suites = Vec::new();
        for path in &self.suites {
            suites.push(suite::load(path)?);
        }
        if !self.only.is_empty() {
            suite::retain_matching(&mut suites, &self.only)?;
        }
        Ok(Settings {
            suites,
            tools: self.tools(),
            draw: self.draw.map(usize::from),
            draw_seed: self.draw_seed,
            composite: self.composite,
            trials: self.trials.unwrap_or(if self.preset.is_some() { 1 } else { 20 }),
            budget: self.budget(),
            // In the paper, random testing starts without seeds.
            without_seeds: self.preset.is_some(),
            seed: self.seed,
            cores: self.cores.clone().map_or_else(Vec::new, |c| c.0),
            out: self.output.clone(),
            cache: cache_directory()?.join("compare"),
            quiet: self.quiet,
            command: repeatable(std::env::args().skip(2)),
        })
    }
}

/// The arguments with which an experiment can be repeated: without the output directory and without flags that concern
/// only this run.
fn repeatable(arguments: impl Iterator<Item = String>) -> Vec<String> {
    let mut kept = Vec::new();
    let mut arguments = arguments;
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "-o" | "--output" => drop(arguments.next()),
            "--fresh" | "--json" | "--quiet" | "-q" => {}
            a if a.starts_with("--output=") || a.starts_with("-o") => {}
            _ => kept.push(argument),
        }
    }
    kept
}

/// Prints the headline, or `summary.json`.
pub(super) fn show(dir: &Path, experiment: &Experiment, trials: &[Trial], json: bool) -> Result<(), Error> {
    if json {
        let path = dir.join("summary.json");
        console::out_json(&std::fs::read_to_string(&path).map_err(|e| at(&path, &e).with_source(e))?);
    } else {
        console::out(&penfuzz_experiments::report::headline(experiment, trials));
        outln!("{}: index.html, table.md, results.csv, summary.json, rerun.sh", dir.display());
    }
    Ok(())
}

/// Runs the experiment.
pub(super) fn run(args: &Args) -> Result<Outcome, Error> {
    if args.list_tools {
        console::out(&tools::list());
        return Ok(Outcome::Fine);
    }
    let settings = args.settings()?;
    if args.fresh
        && let Some(old) = penfuzz_directory::output::directory::set_aside(&args.output, std::process::id())?
        && !args.quiet
    {
        errln!("penfuzz: the previous experiment is kept in {}", old.display());
    }
    let outcome = penfuzz_experiments::experiment::run(&settings)?;
    let failed = outcome.trials.iter().filter(|t| t.error.is_some()).count();
    show(&args.output, &outcome.experiment, &outcome.trials, args.json)?;
    if outcome.interrupted {
        return Err(Error::new("interrupted; the same command resumes the rest"));
    }
    if failed > 0 {
        return Err(Error::new(format!("{failed} trials failed; results.csv has the reasons")));
    }
    Ok(Outcome::Fine)
}

#[cfg(test)]
mod tests {
    use super::repeatable;

    #[test]
    fn repeatable_arguments_have_no_output_directory() {
        let all = ["a.toml", "-o", "x", "--trials", "3", "--output=y", "-oz", "--json", "--seed=7"];
        assert_eq!(repeatable(all.into_iter().map(str::to_owned)), ["a.toml", "--trials", "3", "--seed=7"]);
    }
}
