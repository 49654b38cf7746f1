//! `penfuzz tmin TARGET INPUT`: simplifies one input.

use std::path::PathBuf;

use penfuzz_campaign::corpus::tmin;
use penfuzz_directory::{
    rendering::arguments::arguments,
    replay::session::{ReplaySession, Subject},
};
use penfuzz_engine::saturation::{Goals, ScopeKind};
use penfuzz_error::{Error, failed};
use penfuzz_system::{
    files::{atomic, foreign},
    outln,
};

use super::{
    Outcome, choices,
    replay::{LimitArgs, warn_of_mode},
    target::TargetArgs,
};

/// Arguments.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: TargetArgs,

    /// Input file: raw bytes of the arguments, as in queue/, crashes/ and hangs/. It is not changed.
    #[arg(value_name = "INPUT")]
    input: PathBuf,

    /// File for the simplified input [default: INPUT.min].
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    #[command(flatten)]
    limits: LimitArgs,

    /// Functions whose branches must stay the same [default: function; for LLVMFuzzerTestOneInput: all].
    #[arg(long, value_parser = choices::scope())]
    scope: Option<ScopeKind>,
}

/// Simplifies the input, writes it and prints both. If the input fails, it still fails afterwards; that is not a
/// finding of this command, so the exit status is 0.
pub(super) fn run(args: &Args) -> Result<Outcome, Error> {
    let bytes =
        foreign::read(&args.input, foreign::LONGEST_INPUT).map_err(|e| failed(&args.input, "cannot be read", e))?;
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
        scope: args.scope,
        limits: args.limits.limits(),
    };
    let mut session = ReplaySession::load(&linked.file, subject)?;
    warn_of_mode(&session.evaluator, &args.input, &bytes);
    let out = args.output.clone().unwrap_or_else(|| {
        let mut name = args.input.clone().into_os_string();
        name.push(".min");
        name.into()
    });
    let done = tmin::run(&mut session, &bytes)?;
    atomic::write(&out, &done.bytes).map_err(Error::from_source)?;
    let function = session.evaluator.function();
    let (before, after) = (arguments(function, &bytes), arguments(function, &done.bytes));
    let width = before.iter().map(|a| a.name.chars().count()).max().unwrap_or(0);
    for (title, list) in [("before", before), ("after", after)] {
        outln!("{title}");
        for arg in list {
            outln!("  {:<width$} = {}   ({})", arg.name, arg.hex, arg.decimal);
        }
    }
    match &done.run.fault {
        Some(fault) => outln!("{} in {}", fault.reason, fault.place),
        None => outln!("takes the same {} branches", done.run.covers.len()),
    }
    outln!("written to {}", out.display());
    Ok(Outcome::Fine)
}
