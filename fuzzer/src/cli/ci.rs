//! Options for continuous integration, shared by the commands that run campaigns.

use std::path::{Path, PathBuf};

use penfuzz_engine::saturation::Goals;
use penfuzz_error::Error;
use penfuzz_report::{
    junit::{self, Campaign},
    sarif,
    source_root::SourceRoot,
};
use penfuzz_system::{
    errln,
    files::destination::{Destination, Unusable},
};

use super::{Outcome, values};

/// Options for continuous integration.
#[derive(Debug, Clone, clap::Args)]
pub struct CiArgs {
    /// Exit with status 4 when less than this share of the branches is covered; of a suite, the mean over its
    /// functions.
    #[arg(long, value_name = "PERCENT", value_parser = values::percent)]
    fail_under: Option<f64>,

    /// The file of `JUnit`.
    #[arg(
        long,
        value_name = "FILE",
        help = "Write the emitted tests, crashes and hangs as JUnit XML; an existing file is replaced"
    )]
    junit: Option<PathBuf>,

    /// Write crashes, hangs, exceptions and unreached branches as SARIF 2.1.0; an existing file is replaced.
    #[arg(long, value_name = "FILE")]
    sarif: Option<PathBuf>,
}

impl CiArgs {
    /// Checks before a campaign whether its files can be written at its end.
    ///
    /// # Errors
    /// With the source [`Unusable`], when a file cannot be written, or when `--fail-under` is used without branches as
    /// goals.
    pub fn check_files(&self, output: Option<&Path>, goals: Goals) -> Result<(), Error> {
        if self.fail_under.is_some() && !goals.include_branches() {
            let why = format!("--fail-under applies to branches, but this command searches for {}", goals.name());
            return Err(Error::from_source(Unusable(why)));
        }
        for (option, path) in [("--junit", &self.junit), ("--sarif", &self.sarif)] {
            if let Some(path) = path {
                Destination::check(option, path, output)?;
            }
        }
        Ok(())
    }

    /// Returns true if there are files to write.
    pub fn has_files(&self) -> bool {
        self.junit.is_some() || self.sarif.is_some()
    }

    /// Writes the files about these campaigns; `name` is that of the suite, or of the target.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn write(&self, name: &str, campaigns: &[Campaign]) -> Result<(), Error> {
        let root = SourceRoot::current();
        if let Some(path) = &self.junit {
            Destination::check("--junit", path, None)?.write(&junit::document(name, campaigns, &root))?;
        }
        if let Some(path) = &self.sarif {
            let reports: Vec<_> = campaigns.iter().filter_map(|c| c.outcome.ok()).collect();
            Destination::check("--sarif", path, None)?.write(&sarif::document(&reports, &root))?;
        }
        Ok(())
    }

    /// The outcome of a command whose campaigns covered this percentage of branches. Too little coverage takes
    /// precedence over crashes and hangs.
    pub fn outcome(&self, covered: f64, otherwise: Outcome) -> Outcome {
        match self.fail_under {
            Some(least) if covered < least => {
                // Rounded down: 89.996 is below 90 and must not be shown as 90.00.
                let shown = (covered * 100.0).floor() / 100.0;
                errln!("penfuzz: branch coverage {shown:.2} % is below --fail-under {least}");
                Outcome::Below
            }
            _ => otherwise,
        }
    }
}
