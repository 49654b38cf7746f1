//! `penfuzz suite SUITE.toml`: many targets, one table.

use std::path::PathBuf;

use clap::{ValueEnum, builder::PossibleValuesParser};
use penfuzz_app::{
    campaign::SearchKind,
    output::directory,
    suite::{self, Passed},
};
use penfuzz_engine::{
    error::Error,
    program::{Rounding, build::cache_directory},
};
use penfuzz_mutators::minimizer::MINIMIZERS;

use super::{Outcome, choices, values};

/// Who counts besides penfuzz itself.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Referee {
    /// gcc's coverage counters at -O0, on the emitted tests.
    Gcov,
}

/// Arguments.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "one per switch of the command line")]
pub struct Args {
    /// The suite's description.
    suite: PathBuf,

    /// Output directory; each target has its own inside.
    #[arg(short, long, value_name = "DIR", default_value = "penfuzz-out/suite")]
    output: PathBuf,

    /// Targets that run side by side [default: one per core].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,

    /// Run the targets of these names only (with * and ?); separated by commas, may be repeated.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    only: Vec<String>,

    /// Let another tool count the branches that the emitted tests cover.
    #[arg(long, value_enum)]
    referee: Option<Referee>,

    /// Time per target.
    #[arg(long, value_name = "TIME", value_parser = checked_duration)]
    max_time: Option<String>,

    /// Evaluations per target.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    max_evals: Option<u64>,

    /// Seed of the pseudo-random generators.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    /// How to search.
    #[arg(long, value_parser = choices::search())]
    search: Option<SearchKind>,

    /// Local minimizer.
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(MINIMIZERS.iter().map(|(n, _)| *n)))]
    minimizer: Option<String>,

    /// Time one evaluation may take.
    #[arg(long, value_name = "TIME", value_parser = checked_duration)]
    timeout: Option<String>,

    /// Rounding modes that the functions are called in [default: what the suite says, else nearest].
    #[arg(long, value_parser = choices::rounding())]
    rounding: Option<Rounding>,

    /// Search for floating-point exceptions instead of branches; exceptions.json counts them.
    #[arg(long, conflicts_with = "referee")]
    exceptions: bool,

    /// Go on with campaigns that the output directory already holds, instead of starting over.
    #[arg(long)]
    resume: bool,

    /// Print suite.json (or exceptions.json) on standard output instead of the table.
    #[arg(long)]
    json: bool,

    /// No line per finished target.
    #[arg(long, short)]
    quiet: bool,
}

fn checked_duration(text: &str) -> Result<String, String> {
    values::duration(text).map(|_| text.to_owned())
}

/// A suite starts over unless told otherwise; what an earlier run left is kept under another name.
fn make_room(args: &Args) -> Result<(), Error> {
    directory::refuse_foreign(&args.output, &[suite::FILE])?;
    if !args.resume && args.output.join(suite::FILE).exists() {
        let old = directory::rename_aside(&args.output)?;
        if !args.quiet {
            eprintln!("penfuzz: the results of the last run are kept in {}", old.display());
        }
    }
    Ok(())
}

/// Runs the suite.
pub(super) fn run(args: &Args) -> Result<Outcome, Error> {
    let mut loaded = suite::load(&args.suite)?;
    if !args.only.is_empty() {
        suite::keep_only(std::slice::from_mut(&mut loaded), &args.only)?;
    }
    make_room(args)?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let options = suite::Options {
        out: args.output.clone(),
        jobs: args.jobs.map_or(cores, usize::from),
        referee: args.referee.is_some(),
        cache: cache_directory()?.join("referee"),
        quiet: args.quiet,
        passed: Passed {
            max_time: args.max_time.clone(),
            max_evals: args.max_evals,
            seed: args.seed,
            search: args.search.map(|s| s.name().to_owned()),
            minimizer: args.minimizer.clone(),
            timeout: args.timeout.clone(),
            rounding: args.rounding,
            exceptions: args.exceptions,
        },
    };
    let report = suite::run_all(&loaded, &options)?;
    if args.exceptions {
        let table = suite::exceptions::Table::new(&loaded, &args.output, &report);
        table.write(&args.output)?;
        print!("{}", if args.json { table.to_json() } else { table.text() });
    } else if args.json {
        print!("{}", report.to_json());
    } else {
        print!("{}", report.table());
    }
    if report.totals.failed > 0 {
        return Err(Error::new(format!("{} targets of the suite failed; see the table", report.totals.failed)));
    }
    Ok(if report.has_findings() { Outcome::Found } else { Outcome::Fine })
}
