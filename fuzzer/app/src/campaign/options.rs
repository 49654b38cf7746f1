//! The options of a campaign, which the command line fills in.

use std::{net::IpAddr, path::PathBuf, time::Duration};

use penfuzz_engine::{
    executor::{evaluator::Limits, sandbox::Allow},
    inputs::Calls,
    program::Rounding,
    saturation::{Goals, ScopeKind},
};

use super::criteria::Criterion;
use crate::{
    prove,
    report::{Compilation, unit_test::formats::TestFormat},
    watch::Monitor,
};

/// The kinds of search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchKind {
    /// Minimizes each uncovered branch's own distance by basinhopping, alternating with havoc.
    Targeted,
    /// `CoverMe`'s Algorithm 1 as written: one representing function, squared distances, Powell.
    Paper,
    /// Special values and their neighbours, bit patterns, small exponents, related arguments.
    Structured,
    /// Uniform bit patterns.
    Random,
    /// Uniform values over the whole range of each type.
    Uniform,
    /// Stock `LibAFL` mutators only.
    Havoc,
}

impl SearchKind {
    /// The name on the command line and in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Targeted => "targeted",
            Self::Paper => "paper",
            Self::Structured => "structured",
            Self::Random => "random",
            Self::Uniform => "uniform",
            Self::Havoc => "havoc",
        }
    }
}

/// Options of one campaign.
#[derive(Debug, Clone)]
pub struct Options {
    /// The target as the user named it.
    pub target: PathBuf,
    /// The linked file to load.
    pub linked: PathBuf,
    /// What `linked` was compiled from; empty when the user gave a linked file.
    pub sources: Vec<PathBuf>,
    /// The same of a linked file, as pen-cc has noted it.
    pub compilations: Vec<Compilation>,
    /// Compiler flags of the sources.
    pub flags: Vec<String>,
    /// Libraries linked to the sources.
    pub libs: Vec<String>,
    /// Name of the function under test, if given.
    pub function: Option<String>,
    /// Output directory; by default named after target and function.
    pub out: Option<PathBuf>,
    /// Directory of seed inputs.
    pub seeds: Option<PathBuf>,
    /// Start over, keeping the old directory under another name.
    pub fresh: bool,
    /// Seed of the generator.
    pub seed: u64,
    /// Wall time of this run of the campaign, without its start.
    pub max_time: Option<Duration>,
    /// Evaluations of the whole campaign.
    pub max_evals: Option<u64>,
    /// Wall time of one evaluation.
    pub timeout: Duration,
    /// Loop iterations and calls of one evaluation.
    pub fuel: i64,
    /// Memory that the target may use, in bytes.
    pub memory_limit: u64,
    /// What the target may do that the sandbox refuses by default.
    pub allow: Vec<Allow>,
    /// Which search.
    pub search: SearchKind,
    /// Local minimizer; by default the search's own.
    pub minimizer: Option<String>,
    /// `n_start` of Algorithm 1.
    pub n_start: u32,
    /// `n_iter` of Algorithm 1.
    pub n_iter: u32,
    /// Rounding modes that the function is called in.
    pub rounding: Rounding,
    /// What the user says about the arguments: `NAME: DOMAIN` ([`penfuzz_engine::inputs::Statement`]).
    pub args: Vec<String>,
    /// What the user says about the calls of an input.
    pub calls: Calls,
    /// Floats that the results of a test may be away from those of the campaign.
    pub ulp: u64,
    /// The format of the emitted tests.
    pub test_format: TestFormat,
    /// What is searched for.
    pub goals: Goals,
    /// The criteria that the tests fulfil, ascending, each once.
    pub criteria: Vec<Criterion>,
    /// Tags in comments that the tests are traced to.
    pub requirements: Vec<String>,
    /// Whose branches are goals.
    pub scope: Option<ScopeKind>,
    /// Directories of other fuzzers, whose finds are imported while the campaign runs.
    pub sync: Vec<PathBuf>,
    /// How the campaign is shown.
    pub monitors: Vec<Monitor>,
    /// No progress display.
    pub quiet: bool,
    /// Several clients, or several machines.
    pub farm: Farm,
    /// Inputs that are tried first, also when the campaign goes on with an earlier one.
    pub hints: Vec<Vec<u8>>,
    /// The worker ends when it has found no new branch for this time, and the supervisor asks solvers. `None`: it does not end.
    pub patience: Option<Duration>,
    /// Whether solvers are asked at the end about the branches that no input takes.
    pub proofs: Proofs,
}

/// When solvers are asked about branches that no input takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proofs {
    /// Not at all.
    Off,
    /// At the end, for a small share of the campaign's time.
    Brief,
    /// At the end, within these limits.
    Within(prove::Limits),
}

impl Options {
    /// Limits of one evaluation.
    #[must_use]
    pub fn limits(&self) -> Limits {
        Limits { timeout: self.timeout, fuel: self.fuel, memory: self.memory_limit }
    }
}

/// Where the clients of a campaign run, and how they are connected.
#[derive(Debug, Clone)]
pub struct Farm {
    /// One client per core, bound to it; empty for one client that is bound to none.
    pub cores: Vec<usize>,
    /// The port for brokers of other machines; by default none, or any free one if `broker_address` is not the loopback device.
    pub broker_port: Option<u16>,
    /// The address that other machines may connect to.
    pub broker_address: IpAddr,
    /// `HOST:PORT` of the brokers of other machines.
    pub remote_brokers: Vec<String>,
    /// The file with the secret that all machines share.
    pub secret: Option<PathBuf>,
    /// Connect to other machines also without a secret.
    pub insecure: bool,
}

impl Farm {
    /// Does the campaign need a broker: has it several clients, or is it connected to other machines?
    #[must_use]
    pub fn is_needed(&self) -> bool {
        !self.cores.is_empty() || self.is_connected()
    }

    /// Is it connected to other machines?
    #[must_use]
    pub fn is_connected(&self) -> bool {
        self.has_port() || !self.remote_brokers.is_empty()
    }

    /// May brokers of other machines connect?
    #[must_use]
    pub fn has_port(&self) -> bool {
        self.broker_port.is_some() || !self.broker_address.is_loopback()
    }
}
