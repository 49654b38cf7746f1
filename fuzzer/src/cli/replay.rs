//! `penfuzz replay TARGET INPUT...`, `penfuzz replay DIR/crashes/INPUT...`: runs inputs and prints what they do.

use std::{
    path::{Path, PathBuf},
    rc::Rc,
    time::Duration,
};

use penfuzz_campaign::{assembly::outcome_text, corpus::directory};
use penfuzz_directory::{
    output::trust::Trusted,
    rendering::arguments::arguments,
    replay::{
        long_input::{self, Answer},
        open, session,
    },
};
use penfuzz_engine::saturation::{Goals, Scope, ScopeKind};
use penfuzz_error::{Error, at, failed};
use penfuzz_executor::{
    Evaluator,
    evaluator::{EvaluationLimits, RunStatus},
    sandbox::Sandbox,
};
use penfuzz_mutators::view::Kind;
use penfuzz_questions::reach::spec::Conditionals;
use penfuzz_report::literal;
use penfuzz_system::{
    errln,
    files::{destination::Unusable, foreign},
    outln,
};
use penfuzz_target::{
    inputs::{Calls, Sizes},
    program::{Rounding, Target},
};

use super::{
    Outcome, choices,
    target::TargetArgs,
    values::{self, TrustArgs},
};

/// Arguments.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: TargetArgs,

    /// Input files: raw bytes of the arguments, as in queue/, crashes/ and hangs/. Those of a campaign need no TARGET.
    #[arg(value_name = "INPUT")]
    inputs: Vec<PathBuf>,

    #[command(flatten)]
    trust: TrustArgs,

    #[command(flatten)]
    limits: LimitArgs,

    /// Functions whose branches are printed.
    #[arg(long, value_parser = choices::scope(), default_value = "function")]
    scope: ScopeKind,

    /// Print the path of branches, in the syntax of penfuzz reach.
    #[arg(long)]
    path: bool,
}

/// Limits of one evaluation; shared by the commands that run an input.
#[derive(Debug, clap::Args)]
pub struct LimitArgs {
    /// Time limit of one evaluation [default: that of the campaign, or 1s].
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    timeout: Option<Duration>,

    /// Limit of loop iterations and calls in one evaluation [default: that of the campaign, or 1048576].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(1..))]
    fuel: Option<i64>,

    /// Memory limit of the target (512M, 2G) [default: that of the campaign, or 1G].
    #[arg(long, value_name = "SIZE", value_parser = values::memory)]
    memory_limit: Option<u64>,
}

impl LimitArgs {
    /// The limits for the evaluator.
    pub fn limits(&self) -> EvaluationLimits {
        self.limits_or(EvaluationLimits::default())
    }

    /// The limits for the evaluator; limits that are not given are those of `others`.
    fn limits_or(&self, others: EvaluationLimits) -> EvaluationLimits {
        EvaluationLimits {
            timeout: self.timeout.unwrap_or(others.timeout),
            fuel: self.fuel.unwrap_or(others.fuel),
            memory: self.memory_limit.unwrap_or(others.memory),
        }
    }
}

/// The target and the inputs to run again.
struct Subject {
    /// The name of the target in messages.
    name: PathBuf,
    file: PathBuf,
    function: Option<String>,
    rounding: Rounding,
    args: Vec<String>,
    calls: Calls,
    /// The sizes of its blocks, if known.
    sizes: Option<Sizes>,
    limits: EvaluationLimits,
    inputs: Vec<PathBuf>,
}

impl Subject {
    fn new(args: &Args) -> Result<Self, Error> {
        let target = args.target.path()?;
        if let Some(dir) = directory::campaign_of(target) {
            return Self::of_campaign(args, target, &dir);
        }
        if args.inputs.is_empty() {
            let why = format!("{} is not an input of a campaign; give TARGET first, then each INPUT", target.display());
            return Err(Error::from_source(Unusable(why)));
        }
        Ok(Self {
            name: target.clone(),
            file: args.target.link(Goals::Branches)?.file,
            function: args.target.function.clone(),
            rounding: args.target.rounding,
            args: args.target.args.clone(),
            calls: args.target.calls.calls(),
            sizes: None,
            limits: args.limits.limits(),
            inputs: args.inputs.clone(),
        })
    }

    /// The subject if the inputs belong to the campaign in `dir`: the campaign determines the target. `first` is the
    /// first input.
    fn of_campaign(args: &Args, first: &Path, dir: &Path) -> Result<Self, Error> {
        if let Some(other) = args.inputs.iter().find(|input| directory::campaign_of(input).as_deref() != Some(dir)) {
            return Err(at(other, format!("is not an input of the campaign in {}", dir.display())));
        }
        let campaign = Trusted::read(dir, args.trust.trust)?;
        let manifest = campaign.manifest();
        Ok(Self {
            name: manifest.settings.target.clone(),
            file: session::link_again(&campaign)?,
            function: Some(args.target.function.clone().unwrap_or_else(|| manifest.symbol.clone())),
            rounding: manifest.settings.rounding,
            args: manifest.settings.args.clone(),
            calls: manifest.settings.calls.clone(),
            sizes: manifest.sizes.clone().filter(|_| args.target.function.is_none()),
            limits: args.limits.limits_or(manifest.settings.limits()),
            inputs: [&[first.to_path_buf()], &args.inputs[..]].concat(),
        })
    }
}

/// Replays each input.
pub(super) fn run(args: &Args) -> Result<Outcome, Error> {
    let subject = Subject::new(args)?;
    let mut hold = Sandbox::before_loading();
    let target = Target::load(&subject.file)?.named(&subject.name);
    hold.loaded();
    let target = if subject.rounding.is_nearest() { target } else { target.with_rounding() };
    let mut target = target;
    let function = open::select(&mut target, subject.function.as_deref(), &subject.calls)?;
    let sizes = open::KnownSizes::stored(subject.sizes.as_ref());
    let (target, _) = open::with_sizes(target, function, &subject.args, sizes, subject.limits, &hold)?;
    let scope = Scope::new(&target, function, args.scope, Goals::Branches);
    let mut evaluator = Evaluator::new(Rc::clone(&target), function, subject.limits)?;
    // The same filter as in the campaign. If it cannot be installed, the inputs run without it.
    let _ = hold.install();
    let mut outcome = Outcome::Fine;
    for path in &subject.inputs {
        hold.restore_process_state();
        let bytes = foreign::read(path, foreign::LONGEST_INPUT).map_err(|e| failed(path, "cannot be read", e))?;
        outln!("{}", path.display());
        warn_of_mode(&evaluator, path, &bytes);
        if replay(&mut evaluator, &scope, &bytes, args.path, subject.limits.timeout) == RunStatus::Faulted {
            outcome = Outcome::Found;
        }
    }
    Ok(outcome)
}

/// Warns if an input seems to contain a rounding mode, which this target ignores: then it is one byte too long for a
/// target without `--rounding all`.
pub(super) fn warn_of_mode(evaluator: &Evaluator, path: &Path, bytes: &[u8]) {
    let function = evaluator.function();
    let is_longer_by_one = bytes.len() == evaluator.input_size() + 1;
    if is_longer_by_one && !function.has_rounding && !function.is_harness() && bytes.last().is_some_and(|b| b & 7 != 0)
    {
        errln!(
            "penfuzz: the last byte of {} is not used; if it is a rounding mode, give --rounding all",
            path.display()
        );
    }
}

fn replay(evaluator: &mut Evaluator, scope: &Scope, bytes: &[u8], path: bool, timeout: Duration) -> RunStatus {
    let function = evaluator.function().clone();
    for arg in arguments(&function, bytes) {
        outln!("  {:<12} = {}   ({})", arg.name, arg.hex, arg.decimal);
    }
    let (mut ran, mut hits) =
        if path { print_path(evaluator, scope, bytes) } else { evaluator.record(&scope.requested, bytes) };
    let mut failed = evaluator.fault();
    if let Some(fault) = failed.take_if(|f| f.is_out_of_fuel) {
        match long_input::run_here(evaluator, &scope.requested, bytes, timeout) {
            Answer::Returns(long) => {
                (ran, hits) = (RunStatus::Returned, if path { Vec::new() } else { long.covers });
                outln!("  long: returns after {} ms", long.milliseconds);
            }
            Answer::Fails(other) => failed = Some(other),
            Answer::Hangs => failed = Some(long_input::hang_fault(fault, timeout)),
        }
    }
    if evaluator.is_rejected() {
        match evaluator.unmet_assumption(bytes) {
            Some(place) => outln!("  the input violates the assumption at {place}: the evaluation is rejected there"),
            None => outln!("  the input violates an assumption: the evaluation is rejected there"),
        }
        return ran;
    }
    for branch in hits {
        let site = &evaluator.target().sites[evaluator.target().site_of(branch as usize)];
        outln!(
            "  {}:{}:{}  {}",
            site.file,
            site.line,
            site.column,
            outcome_text(site, branch as usize - site.first_branch)
        );
    }
    match failed {
        None if evaluator.thrown().is_some() => {
            outln!("  throws {}", penfuzz_system::console::shown(&evaluator.thrown().unwrap_or_default()));
        }
        None if evaluator.exit_status().is_some() => {
            outln!("  exit({})", evaluator.exit_status().unwrap_or_default());
        }
        Some(fault) => {
            outln!("  {} in {}", fault.reason, fault.place);
            for frame in &fault.stack {
                outln!("    {frame}");
            }
        }
        None => print_result(evaluator),
    }
    ran
}

/// Prints the whole path in one line. Returns no branches, because the line contains them all.
fn print_path(evaluator: &mut Evaluator, scope: &Scope, bytes: &[u8]) -> (RunStatus, Vec<u32>) {
    let target = Rc::clone(evaluator.target());
    let names = Conditionals::new(&target, scope);
    let (ran, passes) = evaluator.passes(&names.branches(), bytes, penfuzz_path_search::MAX_PASSES);
    outln!("  path         = {}", names.path(&passes.branches, usize::MAX));
    (ran, Vec::new())
}

fn print_result(evaluator: &Evaluator) {
    let function = evaluator.function();
    let show = |name: &str, kind: Kind, bits: u64| {
        outln!("  {name:<12} = {}   ({})", literal::c_literal(kind, bits), literal::decimal(kind, bits));
    };
    let output = evaluator.output();
    match function.result_kind {
        Some(kind) => show("returned", kind, output[0] as u64 & kind.mask()),
        None => outln!("  returned"),
    }
    // Blocks are in memory of their own, not in cells.
    let has_cells = !function.is_harness() && evaluator.model().is_none();
    for p in function.parameters.iter().filter(|p| p.pointer && has_cells) {
        let first = p.cell / size_of::<u128>();
        if let Some(kind) = p.kind {
            show(&format!("*{}", p.name), kind, output[first] as u64 & kind.mask());
        } else if p.is_output() {
            print_structure(&p.name, &output[first..], p.output_size);
        }
    }
}

/// Prints a structure word by word, each word in hex and as a double, since its members are unknown here.
fn print_structure(name: &str, cells: &[u128], size: usize) {
    let words = cells.iter().flat_map(|c| [*c as u64, (*c >> 64) as u64]).take(size.div_ceil(8));
    for (i, word) in words.enumerate() {
        let label = format!("*{name}+{}", 8 * i);
        outln!("  {label:<12} = {word:#018x}   ({})", literal::decimal(Kind::F64, word));
    }
}
