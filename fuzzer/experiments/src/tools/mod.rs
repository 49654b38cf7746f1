//! The tools that are compared: one file per program, one line each in the list.

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

use penfuzz_engine::error::Error;

use super::{corpus::Stamped, model::Budget, subject::Subject, toolchain::Built};

/// The fuzzers of others.
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

    /// The version, as the program itself tells it.
    ///
    /// # Errors
    /// It is not installed; the text says how to install it.
    fn version(&self) -> Result<String, String>;

    /// How targets are built and how a trial is started, as one would type it.
    fn how(&self) -> How;

    /// Compiles the harness and the function, or finds them in the cache.
    ///
    /// # Errors
    /// A file does not compile or link.
    fn build(&self, subject: &Subject, cache: &Path) -> Result<Built, Error>;

    /// What starts the tool. Working directory, core, standard streams and the end are the runner's affair.
    fn command(&self, work: &Work) -> Command;

    /// The inputs that the tool kept, crashing ones too, in any order.
    ///
    /// # Errors
    /// Those of the file system.
    fn corpus(&self, work: &Work) -> io::Result<Vec<Stamped>>;

    /// Calls of the function so far, as the tool counts them; `None` when it does not tell.
    fn evaluations(&self, work: &Work) -> Option<u64>;

    /// An end before the budget is used up is meant, and not for starting again.
    fn ends_by_itself(&self) -> bool {
        false
    }

    /// How long it may take to end after it was told to (SIGINT); then it is killed.
    fn patience(&self) -> Duration {
        Duration::from_secs(1)
    }
}

/// All tools, in the order of the tables.
#[must_use]
pub fn all() -> Vec<Box<dyn Tool>> {
    let own = penfuzz::ALL.into_iter().map(|tool| Box::new(tool) as Box<dyn Tool>);
    own.chain(peers()).collect()
}

/// The tools for a person to read: what they are, whether they are installed, and how they are started.
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

/// For the reader who wants to repeat it by hand.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct How {
    /// Compiler, flags and environment.
    pub build: String,
    /// The command of a trial, with `CORPUS`, `SEED` and `TARGET` for what differs.
    pub run: String,
}

/// One trial at work.
#[derive(Debug)]
pub struct Work<'a> {
    /// The function.
    pub subject: &'a Subject,
    /// What [`Tool::build`] made.
    pub built: &'a Built,
    /// An empty directory of its own at the first start; at a further start what the tool left there.
    pub directory: &'a Path,
    /// A directory with the seed inputs, not to be written to.
    pub seeds: &'a Path,
    /// They are only for tools that cannot do without.
    pub without_seeds: bool,
    /// Seed of the generator.
    pub seed: u64,
    /// What is left of the budget. The runner ends the tool when the CPU time is used up; the tool itself must heed a limit
    /// of evaluations.
    pub budget: Budget,
    /// How often the tool was started on this directory before.
    pub restarts: u32,
    /// When it was started first.
    pub began: SystemTime,
}
