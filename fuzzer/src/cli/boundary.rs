//! `penfuzz boundary TARGET`: boundary values (ME, Sect. 4.4.2). Finds for every comparison inputs that make its
//! operands equal, and inputs that make them neighbours.

use penfuzz_engine::saturation::Goals;
use penfuzz_error::Error;
use penfuzz_report::boundary;

use super::{Outcome, fuzz};

/// Arguments.
#[derive(Debug, clap::Args)]
// Without this, the flattened arguments would have a group of the same name.
#[group(skip)]
pub struct Args {
    #[command(flatten)]
    fuzz: fuzz::Args,

    /// Inputs with equal operands to search for, for each comparison: 1 to 256.
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..=256))]
    inputs: u16,
}

/// Runs a campaign whose goals are the boundary values, and searches for further inputs of those that it meets.
pub(super) fn run(args: &Args) -> Result<Outcome, Error> {
    let mut fuzz = args.fuzz.clone();
    fuzz.boundary_inputs = usize::from(args.inputs);
    fuzz::run_for(&fuzz, Goals::Boundaries, boundary::text)
}
