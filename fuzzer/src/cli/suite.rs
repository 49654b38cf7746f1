//! `penfuzz suite SUITE.toml`: runs many targets and prints one table.

use std::path::{Path, PathBuf};

use clap::{ValueEnum, builder::PossibleValuesParser};
use penfuzz_compile::cache_directory;
use penfuzz_directory::output::directory;
use penfuzz_engine::{saturation::Goals, stages::SearchKind};
use penfuzz_error::Error;
use penfuzz_mutators::minimizer::MINIMIZERS;
use penfuzz_report::{
    Report,
    criterion::Criterion,
    json,
    junit::Campaign,
    test_format::{TestFormat, TestStyle},
};
use penfuzz_suite::{self as suite, ForwardedOptions, Row};
use penfuzz_system::{console, errln};
use penfuzz_target::program::Rounding;

use super::{Outcome, choices, ci::CiArgs, values};

/// Tools that count branches besides penfuzz itself.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Referee {
    /// gcc's coverage counters at -O0, on the emitted tests.
    Gcov,
}

/// Arguments.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "one per switch of the command line")]
pub struct Args {
    /// Suite file.
    suite: PathBuf,

    /// Output directory; it gets one directory per target.
    #[arg(short, long, value_name = "DIR", default_value = "penfuzz-out/suite")]
    output: PathBuf,

    /// Number of targets to run at the same time [default: one per core].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,

    /// Run only targets with these names (* and ? match any); separated by commas, may be repeated.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    only: Vec<String>,

    /// Count the branches that the emitted tests cover with another tool as well.
    #[arg(long, value_enum)]
    referee: Option<Referee>,

    /// Time limit per target.
    #[arg(long, value_name = "TIME", value_parser = checked_duration)]
    max_time: Option<String>,

    /// Limit of evaluations per target.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    max_evals: Option<u64>,

    /// Seed of the pseudo-random generators.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    /// Search strategy.
    #[arg(long, value_parser = choices::search())]
    search: Option<SearchKind>,

    /// Local minimizer.
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(MINIMIZERS.iter().map(|(n, _)| *n)))]
    minimizer: Option<String>,

    /// Time limit of one evaluation.
    #[arg(long, value_name = "TIME", value_parser = checked_duration)]
    timeout: Option<String>,

    /// Rounding modes in which the functions are called [default: as in the suite, else nearest].
    #[arg(long, value_parser = choices::rounding())]
    rounding: Option<Rounding>,

    /// Format of the emitted tests [default: as in the suite, else plain].
    #[arg(long, value_name = "FORMAT", value_parser = choices::test_format())]
    test_format: Option<TestFormat>,

    /// How the emitted tests of plain numbers are written [default: as in the suite, else functions].
    #[arg(long, value_name = "STYLE", value_parser = choices::test_style())]
    test_style: Option<TestStyle>,

    /// Directory of recorded calls (penfuzz record) that the campaigns start with [default: as in the suite].
    #[arg(long, value_name = "DIR")]
    recorded: Option<PathBuf>,

    /// Coverage criteria that the tests fulfil, as for a single target; may be repeated, or a list [default: branch].
    #[arg(
        long,
        value_name = "NAME",
        value_delimiter = ',',
        value_parser = choices::criterion(),
        conflicts_with = "exceptions"
    )]
    criterion: Vec<Criterion>,

    /// Ask solvers at the end of each campaign about branches that no input takes, or exceptions that no input raises,
    /// for a tenth of its time, at least 2 s.
    #[arg(long)]
    prove: bool,

    /// Search for floating-point exceptions instead of branches; the counts go to exceptions.json.
    #[arg(long, conflicts_with = "referee")]
    exceptions: bool,

    /// Continue the campaigns in the output directory instead of starting over.
    #[arg(long)]
    resume: bool,

    #[command(flatten)]
    ci: CiArgs,

    /// Print suite.json (or exceptions.json) on standard output instead of the table.
    #[arg(long)]
    json: bool,

    /// Print no line per finished target.
    #[arg(long, short)]
    quiet: bool,
}

fn checked_duration(text: &str) -> Result<String, String> {
    values::duration(text).map(|_| text.to_owned())
}

/// Renames the output directory of an earlier run, unless `--resume` continues it.
fn rename_previous_output(args: &Args) -> Result<(), Error> {
    directory::refuse_foreign(&args.output, &[suite::FILE])?;
    if !args.resume && args.output.join(suite::FILE).exists() {
        let old = directory::rename_aside(&args.output)?;
        if !args.quiet {
            errln!("penfuzz: the results of the previous run are kept in {}", old.display());
        }
    }
    Ok(())
}

/// Runs the suite.
pub(super) fn run(args: &Args) -> Result<Outcome, Error> {
    let goals = if args.exceptions { Goals::Exceptions } else { Goals::Branches };
    args.ci.check_files(Some(&args.output), goals)?;
    let mut loaded = suite::load(&args.suite)?;
    if !args.only.is_empty() {
        suite::retain_matching(std::slice::from_mut(&mut loaded), &args.only)?;
    }
    rename_previous_output(args)?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let options = suite::Options {
        out: args.output.clone(),
        jobs: args.jobs.map_or(cores, usize::from),
        referee: args.referee.is_some(),
        cache: cache_directory()?.join("referee"),
        quiet: args.quiet,
        passed: ForwardedOptions {
            max_time: args.max_time.clone(),
            max_evals: args.max_evals,
            seed: args.seed,
            search: args.search.map(|s| s.name().to_owned()),
            minimizer: args.minimizer.clone(),
            timeout: args.timeout.clone(),
            rounding: args.rounding,
            test_format: args.test_format,
            test_style: args.test_style,
            recorded: args.recorded.clone(),
            criteria: args.criterion.iter().map(|c| c.text()).collect(),
            prove: args.prove,
            exceptions: args.exceptions,
        },
    };
    let report = suite::run_all(&loaded, &options)?;
    if args.exceptions {
        let table = suite::exceptions::Table::new(&loaded, &args.output, &report);
        table.write(&args.output)?;
        if args.json {
            console::out_json(&table.to_json());
        } else {
            console::out(&console::escape_strings(&table).text());
        }
    } else if args.json {
        console::out_json(&report.to_json());
    } else {
        console::out(&console::escape_strings(&report).table());
    }
    if args.ci.has_files() {
        let reports: Vec<_> = report.targets.iter().map(|row| read(&args.output, row)).collect();
        let campaigns: Vec<_> = report
            .targets
            .iter()
            .zip(&reports)
            .map(|(row, read)| Campaign { name: &row.name, outcome: read.as_ref().map_err(String::as_str) })
            .collect();
        args.ci.write(&report.name, &campaigns)?;
    }
    if report.totals.failed > 0 {
        return Err(Error::new(format!("{} targets of the suite failed; see the table", report.totals.failed)));
    }
    Ok(args.ci.outcome(report.mean_coverage, if report.has_findings() { Outcome::Found } else { Outcome::Fine }))
}

/// The report of a target, or the reason why there is none.
fn read(out: &Path, row: &Row) -> Result<Report, String> {
    match &row.error {
        // If only a referee has failed, the report of the campaign is still valid.
        Some(error) if row.has_failed() => return Err(error.clone()),
        _ => {}
    }
    json::read(&out.join(&row.name).join(json::FILE)).map_err(|e| e.to_string())
}
