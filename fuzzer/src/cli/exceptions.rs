//! `penfuzz exceptions TARGET`: a campaign whose goals are floating-point exceptions.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use penfuzz_directory::{
    output::{reports::update, trust::Trusted},
    replay::session::silence,
};
use penfuzz_engine::saturation::Goals;
use penfuzz_error::{Error, at};
use penfuzz_prove::{Limits, solver};
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
// Without this, the flattened arguments would have a group of the same name.
#[group(skip)]
pub struct Args {
    #[command(flatten)]
    fuzz: fuzz::Args,

    /// Search for inexact results as well; nearly every operation has them.
    #[arg(long)]
    inexact: bool,

    /// List every underflow, subnormal sum and inexact result instead of one line per function.
    #[arg(long)]
    underflow: bool,
}

/// Runs the campaign, examines its finds by replay, and prints the results.
pub(super) fn run(args: &Args) -> Result<Outcome, Error> {
    let goals = if args.inexact { Goals::InexactToo } else { Goals::Exceptions };
    args.fuzz.ci.check_files(args.fuzz.output.as_deref(), goals)?;
    let target = args.fuzz.target.path()?;
    if classify(target)? == TargetKind::Linked {
        expect_operations(target)?;
    }
    let mut done = fuzz::campaign_within(&with_time_for_proofs(&args.fuzz), goals, args.fuzz.max_time)?;
    // The campaign is trusted: this process has just run it.
    let campaign = Trusted::read(&done.dir, true)?;
    update(&done.dir, &mut done.report, |report| exceptions::complete(&done.dir, &campaign, report))?;
    if args.fuzz.json {
        console::out_json(&json::to_string(&done.report));
    } else if !args.fuzz.quiet {
        console::out(&exceptions_text::text(&done.report, &done.dir, args.underflow));
    }
    fuzz::outcome(&args.fuzz, &done)
}

/// Time of all solvers for one function if the user gives no time limit. Short, because a goal that the solvers cannot
/// decide uses all of it, and the search in a small function takes less.
const PROOF_TIME: Duration = Duration::from_secs(3);
/// The share of it for one solver and one query.
const QUERIES: u32 = 3;

/// The options of the campaign with half of the time limit for the search. The other half is for solvers, which examine
/// every exception that the search does not find. Without solvers the search gets all of it.
fn with_time_for_proofs(args: &fuzz::Args) -> fuzz::Args {
    let mut fuzz = args.clone();
    if fuzz.proofs.are_wanted() && solver::is_there() {
        let all = args.max_time.map_or(PROOF_TIME, |limit| limit / 2);
        fuzz.max_time = args.max_time.map(|limit| limit / 2);
        fuzz.proofs.limits = Some(Limits { each: all / QUERIES, all, closed_world: false });
    }
    fuzz
}

/// Time limit for loading a target, including its constructors.
const PATIENCE: Duration = Duration::from_secs(20);

/// Returns an error if a linked target has no operation sites, so that there is nothing to search for. The target is
/// loaded in a child process, since the supervisor of a campaign loads no target. If it cannot be loaded, the campaign
/// will report that.
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
