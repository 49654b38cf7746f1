//! `penfuzz accuracy TARGET`: finds the inputs on which a numeric function has the largest errors.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use penfuzz_accuracy::{
    self as accuracy, Answer, Options, answer,
    controls::Control,
    emitted::{self, Style},
    fpcore::{self, Core},
    library,
    pair::{self, Pair},
    plot,
    reference::Reference,
    store::{Identity, Store},
    value::{Measure, Names},
};
use penfuzz_directory::{
    rendering::single::BuildInputs,
    replay::{
        generated,
        session::{ReplaySession, Subject},
    },
};
use penfuzz_engine::saturation::{Goals, ScopeKind};
use penfuzz_error::Error;
use penfuzz_report::test_format::TestFormat;
use penfuzz_system::{console, errln};

use super::{
    Outcome, choices,
    replay::LimitArgs,
    target::{Linked, TargetArgs},
    values,
};

/// Default time limit of the search.
const SEARCH: Duration = Duration::from_secs(10);
/// A year: practically unlimited, but can be added to any instant.
const UNLIMITED: Duration = Duration::from_hours(365 * 24);

/// Arguments.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: TargetArgs,

    /// Reference: mpfr:NAME (a function of <math.h>, for example mpfr:sin), auto (mpfr with the name of the function
    /// under test), FILE.c:NAME (another implementation, best in long double or __float128), or FILE.fpcore. A
    /// TARGET.fpcore is compared with itself over the real numbers.
    #[arg(long, value_name = "REF", default_value = "auto")]
    reference: String,

    /// Member of a structure that the function fills in, to compare instead of the returned value: r->val or val
    /// [default: the first float of the structure]. "returned" selects the returned value.
    #[arg(long, value_name = "MEMBER")]
    result: Option<String>,

    /// Search where the error exceeds the function's own estimate: the member of a structure in which the function
    /// stores the estimate, for example r->err or err.
    #[arg(long, value_name = "MEMBER")]
    estimate: Option<String>,

    #[command(flatten)]
    search: SearchArgs,
}

/// Units of errors, and their names on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum ErrorUnit {
    /// Units in the last place of the exact value.
    Ulp,
    /// The difference itself.
    Absolute,
    /// The difference divided by the exact value.
    Relative,
}

impl ErrorUnit {
    const fn measure(self) -> Measure {
        match self {
            Self::Ulp => Measure::Ulp,
            Self::Absolute => Measure::Absolute,
            Self::Relative => Measure::Relative,
        }
    }
}

/// How to search; shared with `penfuzz differ`.
#[derive(Debug, clap::Args)]
pub(super) struct SearchArgs {
    /// Unit of the errors that the search maximizes.
    #[arg(long, value_name = "UNIT", value_enum, default_value_t = ErrorUnit::Ulp)]
    error: ErrorUnit,

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

    /// Search strategy. All but the first are baselines: random moves from the best point so far, structured values,
    /// uniformly drawn values.
    #[arg(long, value_name = "NAME", value_enum, default_value_t = Search::Extremes, conflicts_with = "exhaust")]
    search: Search,

    /// Evaluate every input, if there are at most 2^32 (one float argument, or narrow ranges). Then the reported error
    /// is the largest.
    #[arg(long)]
    exhaust: bool,

    /// Functions whose branches count: the report has the worst input of each set of branches that calls take, and the
    /// search also starts at the ends of the intervals in which a branch is taken.
    #[arg(long, value_parser = choices::scope(), default_value = "function")]
    scope: ScopeKind,

    /// Compare errno as well: with the value of the C standard (EDOM, ERANGE), or with that of a reference in C.
    #[arg(long)]
    errno: bool,

    /// Type of the function, for example 'double(double, int)', if TARGET is a shared library that pen-cc did not link.
    /// Functions of <math.h> need none.
    #[arg(long, value_name = "TYPE")]
    signature: Option<String>,

    /// Write a picture (SVG) of the largest error in each part of the domain, for a function of one argument.
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,

    /// Output directory for the finds, the report, a page with the plot, and tests. The next run continues from it;
    /// runs with other seeds may use it at the same time.
    #[arg(long, short = 'o', value_name = "DIR")]
    output: Option<PathBuf>,

    /// Largest distance, in floats, of a result from that of the reference in the emitted tests (-o) [default: that of
    /// the worst error; for differ: 0].
    #[arg(long, value_name = "N", requires = "output")]
    ulp: Option<u64>,

    /// Format of the emitted tests.
    #[arg(
        long,
        value_name = "FORMAT",
        value_parser = choices::test_format(),
        default_value = "plain",
        requires = "output"
    )]
    test_format: TestFormat,

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
    /// The unit of errors, without the names of a result and an estimate.
    pub(super) fn names(&self) -> Names<'static> {
        Names { measure: self.error.measure(), ..Names::default() }
    }

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
            kept: None,
            tried: 0,
        }
    }
}

/// Searches and prints the report.
pub(super) fn run(args: &Args) -> Result<Outcome, Error> {
    if args.estimate.is_some() && args.search.error != ErrorUnit::Ulp {
        return Err(Error::new("--estimate measures errors as multiples of an estimate; leave --error out"));
    }
    let names = Names { result: args.result.as_deref(), estimate: args.estimate.as_deref(), ..args.search.names() };
    let question = Question { reference: &args.reference, names, exact: false, is_difference: false };
    compare(&args.target, &question, &args.search).map(|_| Outcome::Fine)
}

/// Makes the target optional if `--lib` names a library.
pub(super) fn without_target(command: clap::Command) -> clap::Command {
    command.mut_arg("target", |target| target.required(false).required_unless_present("libs"))
}

/// Without a target, the library that `--lib` names is the target.
fn of_library(target: &TargetArgs) -> Result<TargetArgs, Error> {
    match (&target.target, target.libs.as_slice()) {
        (None, [lib]) if lib.starts_with("-l") => Err(Error::new(format!(
            "--lib {lib}: without a TARGET, name the file or what the loader finds, as libm.so.6"
        ))),
        (None, [lib]) => Ok(TargetArgs { target: Some(lib.into()), libs: Vec::new(), ..target.clone() }),
        _ => Ok(target.clone()),
    }
}

/// The target, compiled so that operations are recorded together with the origins of their operands.
fn recorded(target: &TargetArgs) -> TargetArgs {
    let cflags = target.cflags.iter().cloned().chain([penfuzz_cc::MOVES_FLAG.to_owned()]).collect();
    TargetArgs { cflags, ..target.clone() }
}

/// What the function of a target is compared with, and how.
#[derive(Debug, Clone, Copy)]
pub(super) struct Question<'a> {
    pub reference: &'a str,
    pub names: Names<'a>,
    /// True if every difference of bits counts.
    pub exact: bool,
    /// True for `penfuzz differ`: both implementations are the user's, and neither is the correct one.
    pub is_difference: bool,
}

/// A compiled target, and what it was compiled from.
struct Subjects {
    /// The target as the command line names it.
    name: PathBuf,
    target: TargetArgs,
    linked: Linked,
    /// The `FPCore` that the target was compiled from, if any.
    core: Option<Core>,
    /// True if the target is a library that is not instrumented.
    is_library: bool,
}

impl Subjects {
    fn of(target: &TargetArgs, search: &SearchArgs) -> Result<Self, Error> {
        let given = of_library(target)?;
        let name = given.path()?.clone();
        let core = fpcore::is_fpcore(&name).then(|| fpcore::read(&name, given.function.as_deref())).transpose()?;
        let is_library = core.is_none() && library::is_library(&name);
        let target = match &core {
            None if is_library => TargetArgs {
                target: Some(library::source(&name, given.function.as_deref(), search.signature.as_deref())?),
                cflags: ["-fno-builtin", "-w"].map(str::to_owned).to_vec(),
                libs: given.libs.iter().cloned().chain(["-ldl".to_owned()]).collect(),
                ..given
            },
            Some(core) => TargetArgs {
                target: Some(generated::source(pair::REFERENCES, &fpcore::source(core))?),
                function: Some(fpcore::FUNCTION.to_owned()),
                cflags: given.cflags.iter().cloned().chain(["-ffp-contract=off".to_owned()]).collect(),
                libs: given.libs.iter().cloned().chain(["-lm".to_owned()]).collect(),
                args: fpcore::domains(core, &given.args),
                ..given
            },
            None => given,
        };
        let linked = target.link(Goals::Branches)?;
        Ok(Self { name, target, linked, core, is_library })
    }

    fn session(&self, file: &Path, goals: Goals, search: &SearchArgs) -> Result<ReplaySession, Error> {
        let subject = Subject {
            name: &self.name,
            function: self.target.function.as_deref(),
            rounding: self.target.rounding,
            args: &self.target.args,
            calls: &self.target.calls.calls(),
            sizes: None,
            only_numbers: true,
            goals,
            scope: Some(search.scope),
            limits: search.limits.limits(),
        };
        ReplaySession::load(file, subject)
    }

    fn pair(&self, question: &Question, search: &SearchArgs) -> Result<Pair, Error> {
        let session = self.session(&self.linked.file, Goals::Branches, search)?;
        let reference = match &self.core {
            Some(core) if question.reference == "auto" => {
                Reference::Core { file: self.name.clone(), core: Box::new(core.clone()) }
            }
            _ => Reference::parse(question.reference, session.evaluator.function())?,
        };
        let libs = if self.linked.sources.is_empty() { &self.linked.libs } else { &self.target.libs };
        let mut pair = Pair::new(session, reference, question.names, &self.target.flags(), libs)?;
        // The operations of a library that is not instrumented cannot be recorded.
        let is_source = !self.linked.sources.is_empty() && !self.is_library;
        if is_source && !question.exact && !search.exhaust {
            let twin = recorded(&self.target).link(Goals::Exceptions);
            match twin.and_then(|twin| self.session(&twin.file, Goals::Exceptions, search)) {
                Ok(twin) => pair.set_twin(twin),
                Err(e) => errln!("penfuzz: the operations of `{}` are not analysed: {e}", pair.function().name),
            }
        }
        Ok(pair)
    }

    /// Writes the emitted tests to `dir`.
    fn write_tests(&self, dir: &Path, pair: &Pair, answer: &Answer, style: Style) -> Result<(), Error> {
        let made = BuildInputs {
            target: &self.name,
            sources: &self.linked.sources,
            flags: &self.target.flags(),
            compilations: &self.linked.compilations,
            libs: &[&self.target.libs[..], &self.linked.libs].concat(),
            rounding: self.target.rounding,
        };
        emitted::write(dir, pair, answer, &made, self.core.is_some() || self.is_library, style)
    }
}

/// Compares the function of a target with a reference, and prints the report. Returns whether there are wrong results
/// whose error has no size, or, if every difference counts, whether there is a difference.
pub(super) fn compare(target: &TargetArgs, question: &Question, search: &SearchArgs) -> Result<bool, Error> {
    let subjects = Subjects::of(target, search)?;
    let mut pair = subjects.pair(question, search)?;
    let picture = search.plot.as_ref().map(|file| plot::check(file, search.output.as_deref(), &pair)).transpose()?;
    let options = search.options(question.exact);
    let about = Identity::of(&pair, &subjects.name, &subjects.target.args, &options);
    let mut store =
        search.output.as_ref().map(|dir| Store::open(dir, &about, &subjects.name, search.seed)).transpose()?;
    let mut answer = accuracy::run(&mut pair, &options, store.as_mut())?;
    answer.bound = subjects.core.as_ref().filter(|_| question.reference == "auto").map(fpcore::bound);
    if search.json {
        console::out_json(&answer::json(&pair, &answer, &subjects.name.display().to_string(), search.seed));
    } else {
        console::out(&answer::text(&pair, &answer));
    }
    if let Some(file) = &picture {
        plot::write(file, &pair, &answer)?;
    }
    if let Some(store) = store {
        store.publish(&pair, &answer)?;
        let style = Style { format: search.test_format, ulp: search.ulp.or(question.is_difference.then_some(0)) };
        subjects.write_tests(store.dir(), &pair, &answer, style)?;
        store.close()?;
    }
    Ok(!answer.wrong.is_empty())
}
