//! `penfuzz cmin DIR`: selects a few inputs of a campaign that cover the same branches as all of them.

use std::path::PathBuf;

use penfuzz_campaign::corpus::cmin;
use penfuzz_error::Error;
use penfuzz_system::{console, errln, outln};

use super::{Outcome, values::TrustArgs};

/// Arguments.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Output directory of a campaign. It is not changed.
    dir: PathBuf,

    /// New or empty directory for the chosen inputs; penfuzz and AFL++ take it as -i [default: print their names].
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,

    #[command(flatten)]
    trust: TrustArgs,

    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

/// Selects the inputs, and prints or writes them.
pub(super) fn run(args: &Args) -> Result<Outcome, Error> {
    let done = cmin::run(&args.dir, args.output.as_deref(), args.trust.trust)?;
    if let Some(warning) = &done.warning {
        errln!("penfuzz: {warning}");
    }
    if args.json {
        console::out_json(&serde_json::to_string_pretty(&done).map_err(Error::from_source)?);
        return Ok(Outcome::Fine);
    }
    outln!(
        "{} of {} inputs suffice for the {} branches (of {}) that all of them cover",
        done.chosen.len(),
        done.inputs,
        done.covered,
        done.total
    );
    if done.failing > 0 {
        outln!("{} inputs do not return and were left out", done.failing);
    }
    match &done.output {
        Some(out) => outln!("written to {}", out.display()),
        None => done.chosen.iter().for_each(|file| outln!("  {file}")),
    }
    Ok(Outcome::Fine)
}
