//! `penfuzz TARGET`: one campaign.

use std::{
    net::IpAddr,
    path::{Path, PathBuf},
    time::Duration,
};

use clap::builder::PossibleValuesParser;
use penfuzz_campaign::{self as campaign, CallerSearch, Farm, Finished, Options, Proofs, RunOptions, watch::Monitor};
use penfuzz_directory::{
    output::{manifest::Settings, reports::update},
    test_check,
};
use penfuzz_engine::{
    saturation::{Goals, ScopeKind},
    stages::{Parameters, SearchKind},
};
use penfuzz_error::{Error, failed};
use penfuzz_executor::{evaluator::DEFAULT_FUEL, sandbox::Allow};
use penfuzz_mutators::minimizer::MINIMIZERS;
use penfuzz_prove as prove;
use penfuzz_questions::{boundary, paths};
use penfuzz_report::{
    Finding, Report,
    criterion::Criterion,
    format::share,
    goal, json,
    junit::Campaign,
    summary,
    test_format::{TestFormat, TestStyle},
};
use penfuzz_system::{
    console, errln,
    files::{destination::Unusable, foreign},
    process::{deadline, interrupts},
};

use super::{
    Outcome, choices,
    ci::CiArgs,
    since,
    target::TargetArgs,
    values::{self, Cores},
};

/// Arguments of the main command.
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub(super) target: TargetArgs,

    /// Output directory [default: penfuzz-out/TARGET.FUNCTION].
    #[arg(short, long, value_name = "DIR")]
    pub(super) output: Option<PathBuf>,

    /// Directory of seed inputs: raw bytes of the arguments, in order.
    #[arg(short, long, value_name = "SEEDS")]
    input: Option<PathBuf>,

    /// Start over. An existing output directory is renamed, not deleted.
    #[arg(long)]
    fresh: bool,

    /// Seed of the pseudo-random generator.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(super) seed: u64,

    /// Stop after this time (500ms, 30s, 5m, 2h), solvers and reports included [default: when every branch is covered
    /// or given up].
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    pub(super) max_time: Option<Duration>,

    /// Stop after this many evaluations of the function.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    max_evals: Option<u64>,

    /// Time limit of one evaluation; more counts as a hang.
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = values::duration)]
    timeout: Duration,

    /// Limit of loop iterations and calls in one evaluation; more counts as a hang.
    #[arg(long, value_name = "N", default_value_t = DEFAULT_FUEL, value_parser = clap::value_parser!(i64).range(1..))]
    fuel: i64,

    /// Memory limit of the target (512M, 2G).
    #[arg(long, value_name = "SIZE", default_value = "1G", value_parser = values::memory)]
    memory_limit: u64,

    /// Operation that the sandbox refuses by default and the target may perform; may be repeated, or a list.
    #[arg(long, value_name = "WHAT", value_delimiter = ',', value_parser = choices::allow())]
    allow: Vec<Allow>,

    /// Search strategy.
    #[arg(long, value_parser = choices::search(), default_value = "targeted")]
    pub(super) search: SearchKind,

    /// Local minimizer of the targeted and paper searches [default: avm; for paper and paper-as-run: powell].
    #[arg(long, value_name = "NAME", value_parser = minimizers())]
    minimizer: Option<String>,

    #[command(flatten)]
    paper: PaperArgs,

    /// Largest distance, in floats, of a result from that of the campaign in the emitted tests; 0 requires equal bits.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(super) ulp: u64,

    /// Format of the emitted tests.
    #[arg(long, value_name = "FORMAT", value_parser = choices::test_format(), default_value = "plain")]
    test_format: TestFormat,

    /// How the emitted tests of plain numbers are written.
    #[arg(long, value_name = "STYLE", value_parser = choices::test_style(), default_value = "functions")]
    test_style: TestStyle,

    /// Coverage criteria that the tests fulfil; may be repeated, or a list [default: branch].
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = choices::criterion())]
    pub(super) criterion: Vec<Criterion>,

    /// C or C++ file that defines which inputs are wanted: those for which its r is 0 at the end of a run
    /// (docs/goals.md). TARGET must be a source.
    #[arg(long, value_name = "FILE", conflicts_with = "criterion")]
    pub(super) goal: Option<PathBuf>,

    /// Count only findings that a change introduced: REF is a revision of git (main, HEAD~3), or the file of an older
    /// build of the target.
    #[arg(long, value_name = "REF")]
    pub(super) since: Option<String>,

    /// File with requirement tags, one per line: the report traces tests to lines whose comments have one (// REQ-12).
    #[arg(long, value_name = "FILE")]
    requirements: Option<PathBuf>,

    /// Functions whose branches are goals [default: function; for LLVMFuzzerTestOneInput: all].
    #[arg(long, value_parser = choices::scope())]
    pub(super) scope: Option<ScopeKind>,

    #[command(flatten)]
    farm: FarmArgs,

    /// Corpus of another fuzzer (AFL++, libFuzzer) to import from while running; may be repeated.
    #[arg(long, value_name = "DIR")]
    sync: Vec<PathBuf>,

    /// Progress display: dashboard, lines, json or prometheus=ADDRESS:PORT; may be repeated [default: one line].
    #[arg(long = "monitor", value_name = "KIND", value_parser = values::monitor)]
    monitors: Vec<Monitor>,

    #[command(flatten)]
    pub(super) proofs: ProofArgs,

    /// Do not compile and run the emitted tests at the end.
    #[arg(long, env = "PENFUZZ_NO_CHECK_TESTS", value_parser = clap::builder::FalseyValueParser::new())]
    pub(super) no_check_tests: bool,

    #[command(flatten)]
    pub(super) ci: CiArgs,

    /// Inputs with equal operands for each comparison, in a search for boundary values.
    #[arg(skip)]
    pub(super) boundary_inputs: usize,

    /// Print report.json on standard output instead of the summary.
    #[arg(long)]
    pub(super) json: bool,

    /// Print no progress and no summary.
    #[arg(long, short)]
    pub(super) quiet: bool,
}

impl Args {
    /// The tags in the file: the first word of each line. `#` begins a comment.
    fn tags(&self) -> Result<Vec<String>, Error> {
        let Some(path) = &self.requirements else { return Ok(Vec::new()) };
        let text = foreign::read_text(path).map_err(|e| failed(path, "cannot be read", e))?;
        let first =
            |line: &str| line.split('#').next().unwrap_or_default().split_whitespace().next().map(str::to_owned);
        Ok(text.lines().filter_map(first).collect())
    }

    /// The options of this run.
    fn to_run_options(&self, goals: Goals) -> Result<RunOptions, Error> {
        Ok(RunOptions {
            out: self.output.clone(),
            seeds: self.input.clone(),
            fresh: self.fresh,
            seed: self.seed,
            max_time: self.max_time,
            max_evals: self.max_evals,
            search: self.search,
            minimizer: self.minimizer.clone(),
            paper: self.paper.to_parameters(self.search),
            ulp: self.ulp,
            test_format: self.test_format,
            test_style: self.test_style,
            requirements: self.tags()?,
            sync: self.sync.clone(),
            monitors: self.monitors.clone(),
            quiet: self.quiet,
            farm: self.farm.to_options(),
            proofs: self.proofs.to_options(goals),
            caller_search: CallerSearch::AtEnd,
            check_tests: !self.no_check_tests,
            ..RunOptions::default()
        })
    }

    /// The same campaign on an older state of the target, for a short time, from these seeds.
    pub(super) fn on_older_state(&self, seeds: PathBuf, output: PathBuf) -> Self {
        Self {
            output: Some(output),
            input: Some(seeds),
            max_time: Some(Duration::from_secs(1)),
            since: None,
            quiet: true,
            no_check_tests: true,
            proofs: ProofArgs { no_prove: true, ..self.proofs.clone() },
            sync: Vec::new(),
            monitors: Vec::new(),
            requirements: None,
            farm: FarmArgs { cores: None, broker_port: None, remote_brokers: Vec::new(), ..self.farm.clone() },
            ..self.clone()
        }
    }

    /// The criteria, ascending and without duplicates.
    fn criteria(&self) -> Vec<Criterion> {
        let mut all = if self.criterion.is_empty() { vec![Criterion::Branch] } else { self.criterion.clone() };
        all.sort_unstable();
        all.dedup();
        // Of several `path:K` criteria only the one with the largest K remains, which is the last.
        let paths = all.iter().filter(|c| matches!(c, Criterion::Path(_))).count();
        all.drain(all.len() - paths..all.len() - usize::from(paths > 0));
        all
    }
}

/// Proofs at the end of a campaign.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct ProofArgs {
    /// Ask solvers about branches that no input takes, when nothing new is found and at the end, each time for a tenth
    /// of the time so far: at least 2 s, at most a minute [default].
    #[arg(long = "prove", overrides_with = "no_prove")]
    _prove: bool,

    /// Ask no solver.
    #[arg(long, overrides_with = "_prove")]
    no_prove: bool,

    /// The limits of `penfuzz prove`.
    #[arg(skip)]
    pub(super) limits: Option<prove::Limits>,
}

impl ProofArgs {
    pub(super) fn are_wanted(&self) -> bool {
        !self.no_prove
    }

    fn to_options(&self, goals: Goals) -> Proofs {
        match self.limits {
            _ if !goals.have_proofs() || self.no_prove => Proofs::Off,
            Some(limits) => Proofs::Within(limits),
            None => Proofs::Brief,
        }
    }
}

/// The constants of CoverMe's algorithm, for the searches paper and paper-as-run.
#[derive(Debug, Clone, clap::Args)]
struct PaperArgs {
    /// Start points of the paper's algorithm.
    #[arg(long, value_name = "N", default_value_t = Parameters::AS_WRITTEN.n_start,
        value_parser = clap::value_parser!(u32).range(1..))]
    n_start: u32,

    /// Monte Carlo steps per start of the paper's algorithm.
    #[arg(long, value_name = "N", default_value_t = Parameters::AS_WRITTEN.n_iter)]
    n_iter: u32,

    /// Largest change of a number in a Monte Carlo step of the paper's algorithm [default: 1; for paper-as-run: 300].
    #[arg(long, value_name = "REAL", value_parser = values::not_negative)]
    paper_step: Option<f64>,

    /// Temperature at which the paper's algorithm accepts a worse minimum [default: 1].
    #[arg(long, value_name = "REAL", value_parser = values::not_negative)]
    paper_temperature: Option<f64>,

    /// Distance of a strict comparison of equal numbers in the paper's algorithm [default: 1e-6; for paper-as-run: 0].
    #[arg(long, value_name = "REAL", value_parser = values::not_negative)]
    epsilon: Option<f64>,
}

impl PaperArgs {
    fn to_parameters(&self, search: SearchKind) -> Parameters {
        let defaults = if search == SearchKind::PaperAsRun { Parameters::AS_RUN } else { Parameters::AS_WRITTEN };
        Parameters {
            n_start: self.n_start,
            n_iter: self.n_iter,
            step: self.paper_step.unwrap_or(defaults.step),
            temperature: self.paper_temperature.unwrap_or(defaults.temperature),
            epsilon: self.epsilon.unwrap_or(defaults.epsilon),
            ..defaults
        }
    }
}

/// Several clients, and several machines.
#[derive(Debug, Clone, clap::Args)]
struct FarmArgs {
    /// Run one client on each of these cores (0-3, or 0,2); clients share their finds [default: one client on any
    /// core].
    #[arg(long, value_name = "LIST", value_parser = values::cores)]
    cores: Option<Cores>,

    /// Port on which brokers of other machines can connect, with the same secret [default: none].
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    broker_port: Option<u16>,

    /// Address on which brokers of other machines can connect.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    broker_address: IpAddr,

    /// Broker of another machine to exchange finds with; may be repeated.
    #[arg(long = "remote-broker", value_name = "HOST:PORT", value_parser = values::host_and_port)]
    remote_brokers: Vec<String>,

    /// File with 32 or more secret bytes, the same on all machines of the farm: it encrypts and authenticates their
    /// links.
    #[arg(long, value_name = "FILE", conflicts_with = "insecure")]
    broker_secret: Option<PathBuf>,

    /// Connect to other machines without a secret: any process that reaches the port can take part. For private
    /// networks only.
    #[arg(long)]
    insecure: bool,
}

impl FarmArgs {
    fn to_options(&self) -> Farm {
        Farm {
            cores: self.cores.clone().map(|c| c.0).unwrap_or_default(),
            broker_port: self.broker_port,
            broker_address: self.broker_address,
            remote_brokers: self.remote_brokers.clone(),
            secret: self.broker_secret.clone(),
            insecure: self.insecure,
        }
    }
}

pub(super) fn minimizers() -> PossibleValuesParser {
    PossibleValuesParser::new(MINIMIZERS.iter().map(|(name, _)| *name))
}

/// Runs the campaign and prints what it covered.
pub(super) fn run(args: &Args) -> Result<Outcome, Error> {
    if args.goal.is_some() {
        return run_for(args, Goals::Custom, goal::text);
    }
    run_for(args, Criterion::goals(&args.criterion), summary::text)
}

/// Runs a campaign that searches for `goals`, and prints its report with `text`.
pub(super) fn run_for(
    args: &Args,
    goals: Goals,
    text: impl FnOnce(&Report, &Path) -> String,
) -> Result<Outcome, Error> {
    args.ci.check_files(args.output.as_deref(), goals)?;
    since::check(args)?;
    let mut done = campaign(args, goals)?;
    since::judge(args, goals, &mut done)?;
    if args.json {
        console::out_json(&json::to_string(&done.report));
    } else if !args.quiet {
        console::out(&text(&done.report, &done.dir));
        // With JSON, standard error must contain only JSON objects.
        if !args.monitors.contains(&Monitor::Json) {
            note_missing_solver(done.proofs);
        }
    }
    outcome(args, &done)
}

/// Prints a line if no solver is installed.
pub(super) fn note_missing_solver(proofs: prove::Summary) {
    if proofs.without_solver {
        errln!(
            "penfuzz: no solver (z3, cvc5, bitwuzla) was found, so nothing is proved unreachable; ./setup installs them"
        );
    }
}

/// Writes the files for continuous integration. Returns the outcome, which depends on coverage, crashes and hangs.
pub(super) fn outcome(args: &Args, done: &Finished) -> Result<Outcome, Error> {
    let report = &done.report;
    args.ci.write(&report.target, &[Campaign { name: &report.function, outcome: Ok(report) }])?;
    let found = report.crashes.iter().chain(&report.hangs).any(Finding::counts);
    let covered = share(report.branches.covered, report.branches.reachable());
    Ok(args.ci.outcome(covered, if found { Outcome::Found } else { Outcome::Fine }))
}

/// Runs a campaign that searches for `goals`.
pub(super) fn campaign(args: &Args, goals: Goals) -> Result<Finished, Error> {
    run_campaign(args, goals, args.max_time)
}

/// As [`campaign`], but the limit of the whole command is another one than that of the search.
pub(super) fn campaign_within(args: &Args, goals: Goals, limit: Option<Duration>) -> Result<Finished, Error> {
    run_campaign(args, goals, limit)
}

/// As [`campaign`]. The time limit is that of the campaign only: the command goes on after it.
pub(super) fn campaign_before_more(args: &Args, goals: Goals) -> Result<Finished, Error> {
    run_campaign(args, goals, None)
}

fn run_campaign(args: &Args, goals: Goals, limit: Option<Duration>) -> Result<Finished, Error> {
    if !args.criterion.is_empty() && !goals.include_branches() {
        return Err(Error::from_source(Unusable("--criterion is for campaigns on branches only".to_owned())));
    }
    if args.goal.is_some() && goals != Goals::Custom {
        return Err(Error::from_source(Unusable("--goal is an option of `penfuzz TARGET` only".to_owned())));
    }
    let linked = args.target.link_with_goal(goals, args.goal.as_deref())?;
    if let Some(limit) = limit {
        deadline::set(limit);
    }
    let settings = args.target.settings(&linked, goals)?;
    let options = Options {
        settings: Settings {
            libs: [settings.libs, linked.libs].concat(),
            criteria: args.criteria(),
            goal: args.goal.clone(),
            timeout: args.timeout.as_secs_f64(),
            fuel: args.fuel,
            memory_limit: args.memory_limit,
            allow: args.allow.clone(),
            ..settings
        },
        function: args.target.function.clone(),
        scope: args.scope,
        compilations: linked.compilations,
        run: args.to_run_options(goals)?,
    };
    let adds_tests = args.boundary_inputs > 0 || args.criterion.iter().any(|c| matches!(c, Criterion::Path(_)));
    let mut reserved = paths::reserve_half_of_budget(options.clone());
    reserved.run.check_tests &= !adds_tests;
    let mut done = campaign::run(&boundary::reserve_quarter_of_budget(reserved, args.boundary_inputs))?;
    let Finished { dir, report, .. } = &mut done;
    update(dir, report, |report| boundary::complete(dir, report, &options, args.boundary_inputs))?;
    update(dir, report, |report| paths::complete(dir, report, &options))?;
    update(dir, report, |report| paths::prove(dir, report, &options))?;
    if adds_tests {
        check_tests(args, &mut done)?;
    }
    Ok(done)
}

/// Compiles and runs the emitted tests after a command has added some.
pub(super) fn check_tests(args: &Args, done: &mut Finished) -> Result<(), Error> {
    if args.no_check_tests || interrupts::requested() {
        return Ok(());
    }
    let allow_network = args.allow.contains(&Allow::Network);
    update(&done.dir, &mut done.report, |report| {
        test_check::check(report, allow_network);
        Ok(())
    })
}
