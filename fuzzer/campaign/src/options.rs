//! The options of a campaign, which the command line fills in.

use std::{
    net::{IpAddr, Ipv4Addr},
    path::{Path, PathBuf},
    time::Duration,
};

use penfuzz_directory::{
    output::manifest::{self, Manifest},
    rendering::linked::{self, BuildRecord},
};
use penfuzz_engine::{
    saturation::{Goals, ScopeKind},
    stages::{SearchKind, paper},
};
use penfuzz_executor::{evaluator::EvaluationLimits, sandbox::Allow};
use penfuzz_prove as prove;
use penfuzz_report::{Compilation, criterion::Criterion, test_format::TestFormat};
use penfuzz_target::{inputs::Calls, program::Rounding};

use crate::watch::Monitor;

/// Options of one campaign, as given on the command line.
#[derive(Debug, Clone)]
pub struct Options {
    /// The target as given on the command line.
    pub target: PathBuf,
    /// The linked file to load.
    pub linked: PathBuf,
    /// The sources that `linked` was compiled from; empty if the target is a linked file.
    pub sources: Vec<PathBuf>,
    /// The compilations of a target that is a linked file, as recorded by pen-cc.
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
    /// Start a new campaign, and keep the old directory under another name.
    pub fresh: bool,
    /// Seed of the random generator.
    pub seed: u64,
    /// Wall time of this run of the campaign; the startup of the clients is not counted.
    pub max_time: Option<Duration>,
    /// Maximum number of evaluations of the whole campaign.
    pub max_evals: Option<u64>,
    /// Maximum wall time of one evaluation.
    pub timeout: Duration,
    /// Maximum number of loop iterations and calls in one evaluation.
    pub fuel: i64,
    /// Memory that the target may use, in bytes.
    pub memory_limit: u64,
    /// Operations of the target that the sandbox refuses by default and that are allowed here.
    pub allow: Vec<Allow>,
    /// The kind of search.
    pub search: SearchKind,
    /// Local minimizer; by default the search's own.
    pub minimizer: Option<String>,
    /// `n_start` of Algorithm 1.
    pub n_start: u32,
    /// `n_iter` of Algorithm 1.
    pub n_iter: u32,
    /// Rounding modes that the function is called in.
    pub rounding: Rounding,
    /// Declared domains of the arguments: `NAME: DOMAIN` ([`penfuzz_target::inputs::ArgConstraint`]).
    pub args: Vec<String>,
    /// Declared structure of the sequence of calls that an input describes.
    pub calls: Calls,
    /// Tolerance of the emitted tests: maximum distance, in floats, of a result from that of the campaign.
    pub ulp: u64,
    /// The format of the emitted tests.
    pub test_format: TestFormat,
    /// The goals of the search.
    pub goals: Goals,
    /// The criteria that the tests must fulfil, in ascending order without duplicates.
    pub criteria: Vec<Criterion>,
    /// Requirement tags in source comments that the tests are traced to.
    pub requirements: Vec<String>,
    /// The functions whose branches are goals; `None`: the default of the target and the goals.
    pub scope: Option<ScopeKind>,
    /// Directories of other fuzzers whose finds are imported while the campaign runs.
    pub sync: Vec<PathBuf>,
    /// The progress displays.
    pub monitors: Vec<Monitor>,
    /// Disables the progress display.
    pub quiet: bool,
    /// Several clients on this machine, or on several machines.
    pub farm: Farm,
    /// Inputs that are tried first, also when an earlier campaign is continued.
    pub hints: Vec<Vec<u8>>,
    /// The worker ends when it has found no new branch for this time, and the supervisor then runs solvers. `None`: the
    /// worker does not end.
    pub patience: Option<Duration>,
    /// When solvers run on the branches that no input takes.
    pub proofs: Proofs,
}

/// When solvers run on the branches that no input takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proofs {
    /// Never.
    Off,
    /// At the end, for a small share of the campaign's time.
    Brief,
    /// At the end, within these limits.
    Within(prove::Limits),
}

impl Options {
    /// The manifest of a campaign on the function `name` with the linker's `symbol`.
    #[must_use]
    pub fn manifest(&self, name: &str, symbol: &str, scope: ScopeKind, fingerprint: &str) -> Manifest {
        let absolute = |p: &PathBuf| std::path::absolute(p).unwrap_or_else(|_| p.clone());
        Manifest {
            schema: manifest::SCHEMA,
            target: self.target.display().to_string(),
            linked: absolute(&self.linked),
            sources: self.sources.iter().map(absolute).collect(),
            flags: self.flags.clone(),
            libs: self.libs.clone(),
            function: name.to_owned(),
            symbol: symbol.to_owned(),
            rounding: self.rounding,
            args: self.args.clone(),
            sequence: self.calls.clone(),
            sizes: None,
            goals: self.goals,
            criteria: self.criteria.clone(),
            scope,
            timeout: self.timeout.as_secs_f64(),
            fuel: self.fuel,
            memory_limit: self.memory_limit,
            allow: self.allow.clone(),
            fingerprint: fingerprint.to_owned(),
        }
    }

    /// The options of a campaign that resumes this one: target, function and limits from its manifest, all else by
    /// default.
    #[must_use]
    pub fn resuming(manifest: &Manifest) -> Self {
        // Of a file that the user linked.
        let recorded =
            if manifest.sources.is_empty() { linked::recorded(&manifest.linked) } else { BuildRecord::default() };
        Self {
            target: PathBuf::from(&manifest.target),
            linked: manifest.linked.clone(),
            sources: manifest.sources.clone(),
            flags: manifest.flags.clone(),
            libs: if recorded.libs.is_empty() { manifest.libs.clone() } else { recorded.libs },
            compilations: recorded.compilations,
            function: Some(manifest.symbol.clone()),
            out: None,
            seeds: None,
            fresh: false,
            seed: 0,
            max_time: None,
            max_evals: None,
            timeout: manifest.limits().timeout,
            fuel: manifest.fuel,
            memory_limit: manifest.memory_limit,
            allow: manifest.allow.clone(),
            search: SearchKind::Targeted,
            minimizer: None,
            n_start: paper::N_START,
            n_iter: paper::N_ITER,
            rounding: manifest.rounding,
            args: manifest.args.clone(),
            calls: manifest.sequence.clone(),
            ulp: 0,
            test_format: TestFormat::default(),
            goals: manifest.goals,
            criteria: if manifest.criteria.is_empty() { vec![Criterion::Branch] } else { manifest.criteria.clone() },
            requirements: Vec::new(),
            scope: Some(manifest.scope),
            sync: Vec::new(),
            monitors: Vec::new(),
            quiet: true,
            farm: Farm {
                cores: Vec::new(),
                broker_port: None,
                broker_address: Ipv4Addr::LOCALHOST.into(),
                remote_brokers: Vec::new(),
                secret: None,
                insecure: false,
            },
            hints: Vec::new(),
            patience: None,
            proofs: Proofs::Off,
        }
    }

    /// Limits of one evaluation.
    #[must_use]
    pub fn limits(&self) -> EvaluationLimits {
        EvaluationLimits { timeout: self.timeout, fuel: self.fuel, memory: self.memory_limit }
    }
}

/// Where the clients of a campaign run, and how they are connected.
#[derive(Debug, Clone)]
pub struct Farm {
    /// The cores, one client bound to each; empty for one client that is not bound.
    pub cores: Vec<usize>,
    /// The port on which brokers of other machines connect. By default there is none, or any free one if
    /// `broker_address` is not a loopback address.
    pub broker_port: Option<u16>,
    /// The address that other machines may connect to.
    pub broker_address: IpAddr,
    /// The brokers of other machines, as `HOST:PORT`.
    pub remote_brokers: Vec<String>,
    /// The file with the secret that all machines share.
    pub secret: Option<PathBuf>,
    /// Allows connections to other machines without a secret.
    pub insecure: bool,
}

impl Farm {
    /// Whether the campaign needs a broker: it has several clients, or is connected to other machines.
    #[must_use]
    pub fn is_needed(&self) -> bool {
        !self.cores.is_empty() || self.is_connected()
    }

    /// Whether it is connected to other machines.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        self.has_port() || !self.remote_brokers.is_empty()
    }

    /// Whether brokers of other machines may connect.
    #[must_use]
    pub fn has_port(&self) -> bool {
        self.broker_port.is_some() || !self.broker_address.is_loopback()
    }
}

/// `penfuzz-out/FILE.FUNCTION` below the current directory.
#[must_use]
pub fn default_directory(options: &Options, function: &str) -> PathBuf {
    let stem = options.target.file_stem().map_or_else(|| "target".into(), |s| s.to_string_lossy().into_owned());
    let name: String = function.chars().map(|c| if c.is_alphanumeric() || c == '_' { c } else { '-' }).collect();
    let base = if stem == name { stem } else { format!("{stem}.{name}") };
    let goals = options.goals;
    Path::new("penfuzz-out").join(if goals.are_branches() { base } else { format!("{base}.{}", goals.name()) })
}
