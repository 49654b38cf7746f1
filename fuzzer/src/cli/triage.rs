//! `penfuzz triage DIR`: lists crashes and hangs, one entry per distinct place.

use std::path::PathBuf;

use penfuzz_campaign::corpus::triage::{self, FaultGroup};
use penfuzz_error::Error;
use penfuzz_report::format::{plural, seconds};
use penfuzz_system::{console, errln, outln};

use super::{Outcome, values::TrustArgs};

/// Arguments.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Output directory of a campaign or a farm, running or not. It is not changed.
    dir: PathBuf,

    #[command(flatten)]
    trust: TrustArgs,

    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

/// Prints the crashes and hangs; the exit status is 3 if there are any.
pub(super) fn run(args: &Args) -> Result<Outcome, Error> {
    let found = triage::run(&args.dir, args.trust.trust)?;
    if let Some(warning) = &found.warning {
        errln!("penfuzz: {warning}");
    }
    if args.json {
        console::out_json(&serde_json::to_string_pretty(&found).map_err(Error::from_source)?);
    } else {
        outln!("{} ({}): {}", found.function, found.target, headline(&found.places));
        for (i, place) in found.places.iter().enumerate() {
            print_group(i + 1, place);
        }
        if !found.returning.is_empty() {
            outln!();
            outln!("{} inputs in crashes/ and hangs/ return when they are run again:", found.returning.len());
            found.returning.iter().for_each(|file| outln!("  {file}"));
        }
    }
    Ok(if found.places.is_empty() { Outcome::Fine } else { Outcome::Found })
}

fn headline(places: &[FaultGroup]) -> String {
    let count = |kind: &str| places.iter().filter(|p| p.kind == kind).count();
    let inputs: usize = places.iter().map(|p| p.inputs).sum();
    let crashes = count("crash");
    format!(
        "{crashes} crash{} and {} at distinct places, by {}",
        if crashes == 1 { "" } else { "es" },
        plural(count("hang"), "hang"),
        plural(inputs, "input")
    )
}

fn print_group(number: usize, place: &FaultGroup) {
    outln!();
    outln!("{number}  {}  {} in {}", place.kind.to_uppercase(), place.reason, place.place);
    let first = place.first_seconds.map_or_else(String::new, |s| format!(", the first after {}", seconds(s)));
    let clients = if place.clients.is_empty() { String::new() } else { format!(" of {}", place.clients.join(", ")) };
    outln!("   {}{clients}{first}", plural(place.inputs, "input"));
    let width = place.args.iter().map(|a| a.name.chars().count()).max().unwrap_or(0);
    for arg in &place.args {
        outln!("   {:<width$} = {}   ({})", arg.name, arg.hex, arg.decimal);
    }
    place.stack.iter().for_each(|frame| outln!("     {frame}"));
    outln!("   {}", place.replay);
}
