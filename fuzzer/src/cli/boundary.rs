//! `penfuzz boundary TARGET`: boundary values (ME, Sect. 4.4.2). Finds for every comparison inputs that make its
//! operands equal, and inputs that make them neighbours.

use penfuzz_engine::saturation::Goals;
use penfuzz_error::Error;
use penfuzz_report::boundary;

use super::{Outcome, fuzz};

/// Runs a campaign whose goals are the boundary values.
pub(super) fn run(args: &fuzz::Args) -> Result<Outcome, Error> {
    fuzz::run_for(args, Goals::Boundaries, boundary::text)
}
