//! `penfuzz report DIR`: reports of a campaign, written again.

use std::path::PathBuf;

use super::Outcome;
use crate::{
    error::Error,
    report::{json, summary, write_all},
};

/// Arguments.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Output directory of a campaign.
    dir: PathBuf,

    /// Print report.json on standard output instead of the summary.
    #[arg(long)]
    json: bool,
}

/// Reads `report.json` and derives everything else from it.
pub(super) fn run(args: &Args) -> Result<Outcome, Error> {
    let report = json::read(&args.dir.join(json::FILE)).map_err(|e| Error::new(e.to_string()))?;
    write_all(&args.dir, &report).map_err(|e| Error::new(e.to_string()))?;
    if args.json {
        print!("{}", json::to_string(&report));
    } else {
        print!("{}", summary::text(&report, &args.dir));
    }
    Ok(Outcome::Fine)
}
