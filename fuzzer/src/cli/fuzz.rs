//! `penfuzz TARGET`: one campaign.

use std::{
    net::IpAddr,
    path::{Path, PathBuf},
    time::Duration,
};

use clap::builder::PossibleValuesParser;
use penfuzz_app::{
    campaign::{self, Farm, Finished, Options, Proofs, SearchKind, criteria::Criterion},
    console, errln,
    files::foreign,
    output::destination::Unusable,
    paths,
    process::build::build,
    prove,
    report::{
        Compilation, Report,
        format::share,
        json,
        junit::Campaign,
        linked::{self, Recorded},
        summary,
        unit_test::formats::TestFormat,
    },
    watch::Monitor,
};
use penfuzz_cc::{ASSUME_FLAG, single_colons};
use penfuzz_engine::{
    error::{Error, failed},
    executor::{evaluator::DEFAULT_FUEL, sandbox::Allow},
    inputs::Calls,
    program::{
        Rounding,
        build::Recipe,
        kind::{TargetKind, classify},
    },
    saturation::{Goals, ScopeKind},
    stages::paper,
};
use penfuzz_mutators::minimizer::MINIMIZERS;

use super::{
    Outcome, choices,
    ci::CiArgs,
    values::{self, Cores},
};

/// The target and how its sources are compiled; shared by the commands that take one.
#[derive(Debug, Clone, clap::Args)]
pub struct TargetArgs {
    /// C or C++ source file, LLVM bitcode, or a file linked by pen-cc.
    #[arg(value_name = "TARGET", required = true)]
    pub target: Option<PathBuf>,

    /// Function under test; may be omitted when the target has only one.
    #[arg(long, short = 'f', value_name = "NAME")]
    pub function: Option<String>,

    /// Compiler flag for the sources; may be repeated.
    #[arg(long = "cflag", value_name = "FLAG", allow_hyphen_values = true)]
    pub cflags: Vec<String>,

    /// Further source file to compile with TARGET; may be repeated.
    #[arg(long = "with", value_name = "FILE")]
    pub with: Vec<PathBuf>,

    /// Library to link with the sources, as -lNAME or a file; may be repeated.
    #[arg(long = "lib", value_name = "LIB", allow_hyphen_values = true)]
    pub libs: Vec<String>,

    /// Rounding modes in which the function is called.
    #[arg(long, value_parser = choices::rounding(), default_value = "nearest")]
    pub rounding: Rounding,

    /// What an argument can be, as 'NAME: DOMAIN'; may be repeated. Domains: array[10], array[n+1], array[n*m], string[..32], 0..90, finite.
    #[arg(long = "arg", value_name = "NAME: DOMAIN", allow_hyphen_values = true, value_parser = values::statement)]
    pub args: Vec<String>,

    /// Condition over the arguments that each input fulfils, as a C expression: 'lo < hi && n % 2 == 0'; may be repeated. TARGET must be a source.
    #[arg(long = "assume", value_name = "EXPR", allow_hyphen_values = true, requires = "function")]
    pub assumptions: Vec<String>,
    #[command(flatten)]
    pub calls: CallArgs,
}

/// The calls of one input.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct CallArgs {
    /// Make up to N calls of the function in each evaluation, between which state is kept: 1 to 32 [default: 1].
    #[arg(long = "calls", value_name = "N", value_parser = clap::value_parser!(u8).range(1..=32))]
    most: Option<u8>,

    /// Function that is called first, to make the object that the function takes.
    #[arg(long, value_name = "NAME")]
    init: Option<String>,

    /// Variable with static storage duration that is an input, by its name; may be repeated.
    #[arg(long = "global", value_name = "NAME")]
    globals: Vec<String>,
}

impl CallArgs {
    /// As the engine has them.
    pub fn calls(&self) -> Calls {
        Calls { most: self.most.map(usize::from), init: self.init.clone(), globals: self.globals.clone() }
    }
}

/// A target that is ready to be loaded.
pub struct Linked {
    /// The file.
    pub file: PathBuf,
    /// Its sources; empty when the user gave a linked file.
    pub sources: Vec<PathBuf>,
    /// Those of a file that the user linked, as pen-cc has noted them.
    pub compilations: Vec<Compilation>,
    /// Its libraries.
    pub libs: Vec<String>,
}

impl TargetArgs {
    /// The path as given.
    pub fn path(&self) -> Result<&PathBuf, Error> {
        self.target.as_ref().ok_or_else(|| Error::new("no target is given"))
    }

    /// Compiler flags of the sources. Those of the user come last, so that they win.
    pub fn flags(&self) -> Vec<String> {
        let rounding = self.rounding.flag().into_iter();
        let assumed = self.assumptions.iter().map(|e| format!("{ASSUME_FLAG}{}:{e}", self.name_in_source()));
        rounding.chain(self.header_directory()).chain(assumed).chain(self.cflags.iter().cloned()).collect()
    }

    /// The name of the function without the file, and without the parameters by which it may be given.
    fn name_in_source(&self) -> &str {
        let name = self.function.as_deref().unwrap_or_default();
        let name = name.split('(').next().unwrap_or_default();
        single_colons(name).next_back().map_or(name, |colon| &name[colon + 1..])
    }

    /// Why `--assume` cannot be a part of the target.
    fn why_not_assumed(&self, target: &Path) -> Result<Option<String>, Error> {
        let Some(first) = self.assumptions.first() else { return Ok(None) };
        let (name, file) = (self.name_in_source(), target.display());
        if classify(target)? == TargetKind::Linked {
            return Ok(Some(format!(
                "--assume is compiled into the source, and {file} is linked already; compile the source with pen-cc '{ASSUME_FLAG}{name}:{first}'"
            )));
        }
        let defines = |path: &PathBuf| {
            foreign::read(path, foreign::LONGEST_TEXT)
                .is_ok_and(|text| penfuzz_cc::defines(&String::from_utf8_lossy(&text), name))
        };
        let is_there = self.target.iter().chain(&self.with).any(defines);
        Ok((!is_there).then(|| {
            format!("--assume: {file} has no definition of `{name}` in its text; write PEN_ASSUME({first}) of penfuzz.h into the function")
        }))
    }

    /// The option by which other compilers find `penfuzz.h`, if a source mentions it. pen-cc finds it anyway.
    fn header_directory(&self) -> Option<String> {
        let sources = self.target.iter().chain(&self.with);
        let mentions = |path: &PathBuf| {
            foreign::read(path, foreign::LONGEST_TEXT)
                .is_ok_and(|text| String::from_utf8_lossy(&text).contains("penfuzz.h"))
        };
        let is_source = |path: &&PathBuf| classify(path).is_ok_and(|kind| kind != TargetKind::Linked);
        sources
            .filter(is_source)
            .any(mentions)
            .then(penfuzz_cc::include_directory)?
            .ok()
            .map(|d| format!("-I{}", d.display()))
    }

    /// Compiles and links the target if it is source.
    pub fn link(&self, goals: Goals) -> Result<Linked, Error> {
        let target = self.path()?;
        if let Some(why) = self.why_not_assumed(target)? {
            return Err(Error::from_source(Unusable(why)));
        }
        if classify(target)? == TargetKind::Linked {
            let Recorded { compilations, libs } = linked::recorded(target);
            return Ok(Linked { file: target.clone(), sources: Vec::new(), compilations, libs });
        }
        let mut sources = vec![target.clone()];
        for other in &self.with {
            classify(other)?;
            sources.push(other.clone());
        }
        let recipe = Recipe {
            sources,
            flags: self.flags(),
            libs: self.libs.clone(),
            exceptions: goals.need_operations(),
            decisions: goals.are_decisions(),
            ..Recipe::default()
        };
        let file = build(&recipe)?;
        Ok(Linked { file, sources: recipe.sources, compilations: Vec::new(), libs: Vec::new() })
    }
}

/// Arguments of the main command.
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

    /// Stop after this time of search (500ms, 30s, 5m, 2h) [default: when every branch is covered or given up].
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    max_time: Option<Duration>,

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

    /// What the target may do that the sandbox refuses by default; may be repeated, or a list.
    #[arg(long, value_name = "WHAT", value_delimiter = ',', value_parser = choices::allow())]
    allow: Vec<Allow>,

    /// Search strategy.
    #[arg(long, value_parser = choices::search(), default_value = "targeted")]
    search: SearchKind,

    /// Local minimizer of the targeted and paper searches [default: avm; for paper: powell].
    #[arg(long, value_name = "NAME", value_parser = minimizers())]
    minimizer: Option<String>,

    /// Random starts of the paper's algorithm.
    #[arg(long, value_name = "N", default_value_t = paper::N_START, value_parser = clap::value_parser!(u32).range(1..))]
    n_start: u32,

    /// Monte Carlo steps per start of the paper's algorithm.
    #[arg(long, value_name = "N", default_value_t = paper::N_ITER)]
    n_iter: u32,

    /// Floats that a result of the emitted tests may be away from the campaign's; 0 means that all bits are equal.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(super) ulp: u64,

    /// Format of the emitted tests.
    #[arg(long, value_name = "FORMAT", value_parser = choices::test_format(), default_value = "plain")]
    test_format: TestFormat,

    /// Coverage criteria that the tests fulfil; may be repeated, or a list [default: branch].
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = choices::criterion())]
    criterion: Vec<Criterion>,

    /// File with tags, one a line: the tests are traced to the lines whose comments have them (// REQ-12).
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

    #[command(flatten)]
    pub(super) ci: CiArgs,

    /// Print report.json on standard output instead of the summary.
    #[arg(long)]
    pub(super) json: bool,

    /// Print no progress and no summary.
    #[arg(long, short)]
    pub(super) quiet: bool,
}

impl Args {
    /// The first word of each line; `#` begins a comment.
    fn tags(&self) -> Result<Vec<String>, Error> {
        let Some(path) = &self.requirements else { return Ok(Vec::new()) };
        let text = foreign::read_text(path).map_err(|e| failed(path, "cannot be read", e))?;
        let first =
            |line: &str| line.split('#').next().unwrap_or_default().split_whitespace().next().map(str::to_owned);
        Ok(text.lines().filter_map(first).collect())
    }

    /// Ascending, each once.
    fn criteria(&self) -> Vec<Criterion> {
        let mut all = if self.criterion.is_empty() { vec![Criterion::Branch] } else { self.criterion.clone() };
        all.sort_unstable();
        all.dedup();
        // Of several numbers of rounds the largest counts, which comes last.
        let paths = all.iter().filter(|c| matches!(c, Criterion::Path(_))).count();
        all.drain(all.len() - paths..all.len() - usize::from(paths > 0));
        all
    }
}

/// Proofs at the end of a campaign.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct ProofArgs {
    /// Ask solvers about branches that no input takes, when nothing new is found and at the end, each time for a tenth of the time so
    /// far: at least 2 s, at most a minute [default].
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
            _ if !goals.include_branches() || self.no_prove => Proofs::Off,
            Some(limits) => Proofs::Within(limits),
            None => Proofs::Brief,
        }
    }
}

/// Several clients, and several machines.
#[derive(Debug, Clone, clap::Args)]
struct FarmArgs {
    /// Run one client on each of these cores (0-3, or 0,2); clients share their finds [default: one client on any core].
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

    /// File with 32 or more secret bytes, the same on all machines of the farm: it encrypts and authenticates their links.
    #[arg(long, value_name = "FILE", conflicts_with = "insecure")]
    broker_secret: Option<PathBuf>,

    /// Connect to other machines without a secret: any process that reaches the port can take part. For private networks only.
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
    run_for(args, Criterion::goals(&args.criterion), summary::text)
}

/// Runs a campaign that searches for `goals`, and prints its report with `text`.
pub(super) fn run_for(
    args: &Args,
    goals: Goals,
    text: impl FnOnce(&Report, &Path) -> String,
) -> Result<Outcome, Error> {
    args.ci.expect_usable(args.output.as_deref(), goals)?;
    let done = campaign(args, goals)?;
    if args.json {
        console::out_json(&json::to_string(&done.report));
    } else if !args.quiet {
        console::out(&text(&done.report, &done.dir));
        // Nothing else may stand between JSON objects on standard error.
        if !args.monitors.contains(&Monitor::Json) {
            note_missing_solver(done.proofs);
        }
    }
    outcome(args, &done)
}

/// One line if no solver could be asked.
pub(super) fn note_missing_solver(proofs: prove::Summary) {
    if proofs.without_solver {
        errln!(
            "penfuzz: no solver (z3, cvc5, bitwuzla) was found, so nothing is proved unreachable; ./setup installs them"
        );
    }
}

/// Writes the files for continuous integration. Coverage, crashes and hangs make the exit status.
pub(super) fn outcome(args: &Args, done: &Finished) -> Result<Outcome, Error> {
    let report = &done.report;
    args.ci.write(&report.target, &[Campaign { name: &report.function, outcome: Ok(report) }])?;
    let found = !report.crashes.is_empty() || !report.hangs.is_empty();
    let covered = share(report.branches.covered, report.branches.reachable());
    Ok(args.ci.outcome(covered, if found { Outcome::Found } else { Outcome::Fine }))
}

/// Runs a campaign that searches for `goals`.
pub(super) fn campaign(args: &Args, goals: Goals) -> Result<Finished, Error> {
    if !args.criterion.is_empty() && !goals.include_branches() {
        return Err(Error::from_source(Unusable("--criterion is for campaigns on branches only".to_owned())));
    }
    let linked = args.target.link(goals)?;
    let options = Options {
        target: args.target.path()?.clone(),
        linked: linked.file,
        sources: linked.sources,
        compilations: linked.compilations,
        flags: args.target.flags(),
        libs: [args.target.libs.clone(), linked.libs].concat(),
        function: args.target.function.clone(),
        out: args.output.clone(),
        seeds: args.input.clone(),
        fresh: args.fresh,
        seed: args.seed,
        max_time: args.max_time,
        max_evals: args.max_evals,
        timeout: args.timeout,
        fuel: args.fuel,
        memory_limit: args.memory_limit,
        allow: args.allow.clone(),
        search: args.search,
        minimizer: args.minimizer.clone(),
        n_start: args.n_start,
        n_iter: args.n_iter,
        rounding: args.target.rounding,
        args: args.target.args.clone(),
        calls: args.target.calls.calls(),
        ulp: args.ulp,
        test_format: args.test_format,
        goals,
        criteria: args.criteria(),
        requirements: args.tags()?,
        scope: args.scope,
        sync: args.sync.clone(),
        monitors: args.monitors.clone(),
        quiet: args.quiet,
        farm: args.farm.to_options(),
        hints: Vec::new(),
        patience: None,
        proofs: args.proofs.to_options(goals),
    };
    let mut done = campaign::run(&paths::leave_half(options.clone()))?;
    paths::complete(&done.dir, &mut done.report, &options)?;
    Ok(done)
}
