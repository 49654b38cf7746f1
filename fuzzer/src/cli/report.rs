//! `penfuzz report DIR`: writes the reports of a campaign or an experiment again.

use std::path::PathBuf;

use penfuzz_directory::output::{
    reports::write_all,
    trust::{Trusted, Untrusted},
};
use penfuzz_engine::saturation::Goals;
use penfuzz_error::Error;
use penfuzz_experiments::{self, archive};
use penfuzz_questions::exceptions;
use penfuzz_report::{Report, boundary, exceptions_text, goal, json, summary};
use penfuzz_system::console;

use super::{Outcome, values::TrustArgs};

/// Arguments.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Output directory of a campaign or an experiment.
    dir: PathBuf,

    #[command(flatten)]
    trust: TrustArgs,

    /// Print report.json (or summary.json of an experiment) on standard output instead of the summary.
    #[arg(long)]
    json: bool,
}

/// Reads `report.json` (or the trials of an experiment) and derives the other reports from it.
pub(super) fn run(args: &Args) -> Result<Outcome, Error> {
    if let Some(experiment) = archive::read_experiment(&args.dir)? {
        let trials = archive::read_trials(&args.dir, &experiment);
        penfuzz_experiments::report::write_all(&args.dir, &experiment, &trials).map_err(Error::from_source)?;
        super::compare::show(&args.dir, &experiment, &trials, args.json)?;
        return Ok(Outcome::Fine);
    }
    let mut report = json::read(&args.dir.join(json::FILE)).map_err(Error::from_source)?;
    if report.goals.are_exceptions() && report.exceptions.is_none() {
        examine(args, &mut report)?;
    }
    write_all(&args.dir, &report).map_err(Error::from_source)?;
    if args.json {
        console::out_json(&json::to_string(&report));
    } else if report.exceptions.is_some() {
        console::out(&exceptions_text::text(&report, &args.dir, false));
    } else {
        let text = match report.goals {
            Goals::Boundaries => boundary::text,
            Goals::Custom => goal::text,
            _ => summary::text,
        };
        console::out(&text(&report, &args.dir));
    }
    Ok(Outcome::Fine)
}

/// Adds the examination of the finds to the report of a campaign that ended before it. This runs the target, so without
/// trust the reports are written without the examination.
fn examine(args: &Args, report: &mut Report) -> Result<(), Error> {
    match Trusted::read(&args.dir, args.trust.trust) {
        Ok(campaign) => exceptions::complete(&args.dir, &campaign, report),
        Err(e) if Untrusted::is_cause_of(&e) => {
            penfuzz_system::errln!("penfuzz: the finds are not examined: {e}");
            Ok(())
        }
        Err(e) => Err(e),
    }
}
