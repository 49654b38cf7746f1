//! `penfuzz cmin DIR`: a few inputs of a campaign that cover the same branches as all of them.

use std::path::PathBuf;

use penfuzz_app::corpus::cmin;
use penfuzz_engine::error::Error;

use super::Outcome;

/// Arguments.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Output directory of a campaign. It is not changed.
    dir: PathBuf,

    /// New or empty directory for the chosen inputs; penfuzz and AFL++ take it as -i [default: print their names].
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,

    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

/// Chooses the inputs and prints or writes them.
pub(super) fn run(args: &Args) -> Result<Outcome, Error> {
    let done = cmin::run(&args.dir, args.output.as_deref())?;
    if let Some(warning) = &done.warning {
        eprintln!("penfuzz: {warning}");
    }
    if args.json {
        println!("{}", serde_json::to_string_pretty(&done).map_err(Error::from_source)?);
        return Ok(Outcome::Fine);
    }
    println!(
        "{} of {} inputs suffice for the {} branches (of {}) that all of them cover",
        done.chosen.len(),
        done.inputs,
        done.covered,
        done.total
    );
    if done.failing > 0 {
        println!("{} inputs do not return and were left out", done.failing);
    }
    match &done.output {
        Some(out) => println!("written to {}", out.display()),
        None => done.chosen.iter().for_each(|file| println!("  {file}")),
    }
    Ok(Outcome::Fine)
}
