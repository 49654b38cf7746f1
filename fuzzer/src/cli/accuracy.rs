//! `penfuzz accuracy TARGET`: the inputs on which a numeric function is most wrong.

use std::{path::PathBuf, time::Duration};

use penfuzz_app::{
    accuracy::{
        self, Options, answer,
        controls::Control,
        fpcore, library,
        pair::{self, Pair},
        plot,
        reference::Reference,
        value::Names,
    },
    console,
    replay::{
        generated,
        session::{ReplaySession, Subject},
    },
};
use penfuzz_engine::{
    error::Error,
    saturation::{Goals, ScopeKind},
};

use super::{Outcome, replay::LimitArgs, target::TargetArgs, values};

/// Time of a search, if the user says nothing else.
const SEARCH: Duration = Duration::from_secs(10);
/// A year, which can be added to any instant.
const UNLIMITED: Duration = Duration::from_hours(365 * 24);

/// Arguments.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: TargetArgs,

    /// What the function is compared with: mpfr:NAME (a function of <math.h>, as mpfr:sin), auto (the same, by the name of the function), or
    /// FILE.c:NAME (another implementation, best in long double or __float128), or FILE.fpcore. A TARGET.fpcore is compared with itself over the real numbers.
    #[arg(long, value_name = "REF", default_value = "auto")]
    reference: String,

    /// What is compared, if it is not what the function returns: a member of a structure that it fills in, as r->val or val [default: the
    /// first number of the structure].
    #[arg(long, value_name = "MEMBER")]
    result: Option<String>,

    /// Search where the error exceeds what the function says itself: the member of a structure that it fills in with an estimate of its error,
    /// as r->err or err.
    #[arg(long, value_name = "MEMBER")]
    estimate: Option<String>,

    #[command(flatten)]
    search: SearchArgs,
}

/// How to search; shared with `penfuzz differ`.
#[derive(Debug, clap::Args)]
pub(super) struct SearchArgs {
    /// Seed of the pseudo-random generator.
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,

    /// Time limit of the search [default: 10s; none with --exhaust].
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    max_time: Option<Duration>,

    /// Limit of the CPU time of the search [default: none].
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    max_cpu: Option<Duration>,

    /// Limit of evaluations of the search.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    max_evals: Option<u64>,

    /// How to search. All but the first are controls: random moves from the best point so far, structured values, values drawn evenly.
    #[arg(long, value_name = "NAME", value_enum, default_value_t = Search::Extremes, conflicts_with = "exhaust")]
    search: Search,

    /// Try every input, where there are at most 2^32, as of a function of one float or of narrow ranges: then no error is larger than the one that
    /// is reported.
    #[arg(long)]
    exhaust: bool,

    /// Compare errno, too: with what the C standard says (EDOM, ERANGE), or with what a reference in C leaves there.
    #[arg(long)]
    errno: bool,

    /// Type of the function, as 'double(double, int)', when TARGET is a shared library that pen-cc did not link. Functions of
    /// <math.h> need none.
    #[arg(long, value_name = "TYPE")]
    signature: Option<String>,

    /// Write a picture (SVG) of the largest error in each part of the domain, for a function of one argument.
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,

    #[command(flatten)]
    limits: LimitArgs,

    /// Print the report as JSON.
    #[arg(long)]
    json: bool,
}

/// Searches by their names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Search {
    /// Cells, climbers and swarms.
    Extremes,
    Moves,
    Structured,
    Uniform,
}

impl Search {
    const fn control(self) -> Option<Control> {
        match self {
            Self::Extremes => None,
            Self::Moves => Some(Control::Moves),
            Self::Structured => Some(Control::Structured),
            Self::Uniform => Some(Control::Uniform),
        }
    }
}

impl SearchArgs {
    fn options(&self, exact: bool) -> Options {
        Options {
            seed: self.seed,
            max_time: self.max_time.unwrap_or(if self.exhaust { UNLIMITED } else { SEARCH }),
            max_cpu: self.max_cpu.unwrap_or(Duration::MAX),
            max_evals: self.max_evals.unwrap_or(u64::MAX),
            exact,
            errno: self.errno,
            exhaust: self.exhaust,
            control: self.search.control(),
        }
    }
}

/// Searches and prints the report.
pub(super) fn run(args: &Args) -> Result<Outcome, Error> {
    let names = Names { result: args.result.as_deref(), estimate: args.estimate.as_deref() };
    compare(&args.target, &args.reference, names, &args.search, false).map(|_| Outcome::Fine)
}

/// The target may be left out where a library is named.
pub(super) fn without_target(command: clap::Command) -> clap::Command {
    command.mut_arg("target", |target| target.required(false).required_unless_present("libs"))
}

/// A library without a target is the target.
fn of_library(target: &TargetArgs) -> Result<TargetArgs, Error> {
    match (&target.target, target.libs.as_slice()) {
        (None, [lib]) if lib.starts_with("-l") => Err(Error::new(format!(
            "--lib {lib}: without a TARGET, name the file or what the loader finds, as libm.so.6"
        ))),
        (None, [lib]) => Ok(TargetArgs { target: Some(lib.into()), libs: Vec::new(), ..target.clone() }),
        _ => Ok(target.clone()),
    }
}

/// A target whose operations are recorded together with where their operands come from.
fn recorded(target: &TargetArgs) -> TargetArgs {
    let cflags = target.cflags.iter().cloned().chain([penfuzz_cc::MOVES_FLAG.to_owned()]).collect();
    TargetArgs { cflags, ..target.clone() }
}

/// Compares the function of a target with a reference, and prints the report. Returns whether there are wrong results that have no
/// size; where every difference counts, whether there is one.
pub(super) fn compare(
    target: &TargetArgs,
    reference: &str,
    names: Names,
    search: &SearchArgs,
    exact: bool,
) -> Result<bool, Error> {
    let target = &of_library(target)?;
    let name = target.path()?;
    let core = fpcore::is_fpcore(name).then(|| fpcore::read(name, target.function.as_deref())).transpose()?;
    let target = &match &core {
        None if library::is_library(name) => TargetArgs {
            target: Some(library::source(name, target.function.as_deref(), search.signature.as_deref())?),
            cflags: ["-fno-builtin", "-w"].map(str::to_owned).to_vec(),
            libs: target.libs.iter().cloned().chain(["-ldl".to_owned()]).collect(),
            ..target.clone()
        },
        Some(core) => TargetArgs {
            target: Some(generated::source(pair::REFERENCES, &fpcore::source(core))?),
            function: Some(fpcore::FUNCTION.to_owned()),
            cflags: target.cflags.iter().cloned().chain(["-ffp-contract=off".to_owned()]).collect(),
            libs: target.libs.iter().cloned().chain(["-lm".to_owned()]).collect(),
            args: fpcore::domains(core, &target.args),
            ..target.clone()
        },
        None => target.clone(),
    };
    let linked = target.link(Goals::Branches)?;
    let calls = target.calls.calls();
    let subject = |goals| Subject {
        name,
        function: target.function.as_deref(),
        rounding: target.rounding,
        args: &target.args,
        calls: &calls,
        sizes: None,
        only_numbers: true,
        goals,
        scope: Some(ScopeKind::Function),
        limits: search.limits.limits(),
    };
    let session = ReplaySession::load(&linked.file, subject(Goals::Branches))?;
    let bounded = core.clone().filter(|_| reference == "auto");
    let reference = match core {
        Some(core) if reference == "auto" => Reference::Core { file: name.clone(), core: Box::new(core) },
        _ => Reference::parse(reference, session.evaluator.function())?,
    };
    let libs = if linked.sources.is_empty() { &linked.libs } else { &target.libs };
    let mut pair = Pair::new(session, reference, names, (&target.flags(), libs))?;
    // The operations of a library that is not instrumented are not known.
    let is_source = !linked.sources.is_empty() && !library::is_library(name);
    if is_source && pair.takes_twin() && !exact && !search.exhaust && search.search == Search::Extremes {
        let twin = recorded(target).link(Goals::Exceptions)?;
        pair.set_twin(ReplaySession::load(&twin.file, subject(Goals::Exceptions))?);
    }
    let picture = search.plot.as_ref().map(|file| plot::check(file, &pair)).transpose()?;
    let mut answer = accuracy::run(&mut pair, &search.options(exact))?;
    answer.bound = bounded.as_ref().map(fpcore::bound);
    if search.json {
        console::out_json(&answer::json(&pair, &answer, &name.display().to_string(), search.seed));
    } else {
        console::out(&answer::text(&pair, &answer));
    }
    if let Some(file) = &picture {
        plot::write(file, &pair, &answer)?;
    }
    Ok(!answer.wrong.is_empty())
}
