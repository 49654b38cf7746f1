//! `penfuzz exceptions TARGET`: a campaign whose goals are floating-point exceptions.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use penfuzz_directory::{output::trust::Trusted, replay::session::silence};
use penfuzz_engine::saturation::Goals;
use penfuzz_error::{Error, at};
use penfuzz_questions::exceptions;
use penfuzz_report::{exceptions_text, json};
use penfuzz_system::{
    console,
    process::child::{self, Limit},
};
use penfuzz_target::program::{
    Target,
    kind::{TargetKind, classify},
};

use super::{Outcome, fuzz};

/// Arguments.
#[derive(Debug, clap::Args)]
// The flattened arguments make a group of the same name.
#[group(skip)]
pub struct Args {
    #[command(flatten)]
    fuzz: fuzz::Args,

    /// Search for inexact results as well; nearly every operation has them.
    #[arg(long)]
    inexact: bool,

    /// List every underflow and inexact result instead of one line per function.
    #[arg(long)]
    underflow: bool,
}

/// Runs the campaign, examines its finds by replay, and prints them.
pub(super) fn run(args: &Args) -> Result<Outcome, Error> {
    let goals = if args.inexact { Goals::InexactToo } else { Goals::Exceptions };
    args.fuzz.ci.expect_usable(args.fuzz.output.as_deref(), goals)?;
    let target = args.fuzz.target.path()?;
    if classify(target)? == TargetKind::Linked {
        expect_operations(target)?;
    }
    let mut done = fuzz::campaign(&args.fuzz, goals)?;
    // This process has just run it.
    let campaign = Trusted::read(&done.dir, true)?;
    exceptions::complete(&done.dir, &campaign, &mut done.report)?;
    if args.fuzz.json {
        console::out_json(&json::to_string(&done.report));
    } else if !args.fuzz.quiet {
        console::out(&exceptions_text::text(&done.report, &done.dir, args.underflow, cfg!(feature = "mpfr")));
    }
    fuzz::outcome(&args.fuzz, &done)
}

/// Time limit for loading a target, constructors included.
const PATIENCE: Duration = Duration::from_secs(20);

/// A linked target without operation sites has nothing to search. It is loaded in a child process: the supervisor of a campaign
/// holds no target. A target that cannot be loaded is reported by the campaign.
fn expect_operations(target: &Path) -> Result<(), Error> {
    let mut has = true;
    let examine = |send: &mut dyn FnMut(&bool)| {
        silence();
        if let Ok(loaded) = Target::load(target) {
            send(&exceptions::has_operations(&loaded));
        }
    };
    child::run(examine, |answer| has = answer, Limit::At(Instant::now() + PATIENCE));
    if has {
        return Ok(());
    }
    Err(at(target, "has no floating-point operations as sites; compile it with pen-cc -fpen-exceptions"))
}
