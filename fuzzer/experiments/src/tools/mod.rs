//! The tools that are compared: one file per program, and one line each in the list.

mod afl;
mod files;
mod honggfuzz;
mod libfuzzer;
pub mod penfuzz;
mod place;

use std::{
    fmt::Write,
    io,
    path::Path,
    process::Command,
    time::{Duration, SystemTime},
};

use penfuzz_error::Error;

use super::{corpus::Stamped, model::Budget, subject::Subject, toolchain::Built};

/// The other fuzzers.
fn peers() -> Vec<Box<dyn Tool>> {
    vec![
        Box::new(afl::PLAIN),
        Box::new(afl::CMPLOG),
        Box::new(afl::LAF),
        Box::new(afl::VALUE_PROFILE),
        Box::new(libfuzzer::PLAIN),
        Box::new(libfuzzer::VALUE_PROFILE),
        Box::new(honggfuzz::Honggfuzz),
    ]
}

/// A program that finds inputs.
pub trait Tool: Sync + Send {
    /// Name on the command line and in all tables.
    fn name(&self) -> &'static str;

    /// What it is, in a few words.
    fn what(&self) -> &'static str;

    /// The version that the program itself reports.
    ///
    /// # Errors
    /// It is not installed; the message has the command that installs it.
    fn version(&self) -> Result<String, String>;

    /// The commands that build targets and start a trial, as a user would type them.
    fn how(&self) -> How;

    /// Compiles harness and function, unless they are in the cache.
    ///
    /// # Errors
    /// A file does not compile or link.
    fn build(&self, subject: &Subject, cache: &Path) -> Result<Built, Error>;

    /// Returns the command that starts the tool. The runner sets working directory, core and standard streams, and ends
    /// the tool.
    fn command(&self, work: &Work) -> Command;

    /// Returns the inputs that the tool kept, including crashing ones, in any order.
    ///
    /// # Errors
    /// Those of the file system.
    fn corpus(&self, work: &Work) -> io::Result<Vec<Stamped>>;

    /// Returns the number of calls of the function so far by the tool's own count; `None` if it reports none.
    fn evaluations(&self, work: &Work) -> Option<u64>;

    /// Returns whether the tool ends by itself when it is done. Others are started again until their budget is used up.
    fn ends_by_itself(&self) -> bool {
        false
    }

    /// Returns the time from SIGINT until the tool is killed.
    fn patience(&self) -> Duration {
        Duration::from_secs(1)
    }
}

/// Returns all tools, in the order of the tables.
#[must_use]
pub fn all() -> Vec<Box<dyn Tool>> {
    let own = penfuzz::ALL.into_iter().map(|tool| Box::new(tool) as Box<dyn Tool>);
    own.chain(peers()).collect()
}

/// Returns the list of tools as text: what they are, whether they are installed, and how they are started.
#[must_use]
pub fn list() -> String {
    let mut out = String::new();
    for tool in all() {
        let how = tool.how();
        let version = tool.version().unwrap_or_else(|why| why);
        let _ = writeln!(
            out,
            "{}\n    {}\n    {version}\n    built: {}\n    run:   {}",
            tool.name(),
            tool.what(),
            how.build,
            how.run
        );
    }
    out
}

/// The commands of a tool, for readers who repeat an experiment by hand.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct How {
    /// Compiler, flags and environment.
    pub build: String,
    /// The command of a trial, with the placeholders `CORPUS`, `SEED` and `TARGET`.
    pub run: String,
}

/// One trial, for the tool that runs it.
#[derive(Debug)]
pub struct Work<'a> {
    /// The function.
    pub subject: &'a Subject,
    /// The result of [`Tool::build`].
    pub built: &'a Built,
    /// The trial's own directory: empty at the first start, later with the files of the tool.
    pub directory: &'a Path,
    /// A directory with the seed inputs, not to be written to.
    pub seeds: &'a Path,
    /// Whether only tools that cannot do without seeds get them.
    pub without_seeds: bool,
    /// Seed of the generator.
    pub seed: u64,
    /// The remaining budget. The runner ends the tool when the CPU time is used up; the tool itself must observe a
    /// limit of evaluations.
    pub budget: Budget,
    /// Number of earlier starts of the tool on this directory.
    pub restarts: u32,
    /// When it was first started.
    pub began: SystemTime,
}
