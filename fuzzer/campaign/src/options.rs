//! The options of a campaign, which the command line fills in.

use std::{
    net::{IpAddr, Ipv4Addr},
    path::{Path, PathBuf},
    time::Duration,
};

use penfuzz_directory::{
    output::manifest::{Manifest, Settings},
    rendering::linked::{self, BuildRecord},
};
use penfuzz_engine::{
    saturation::ScopeKind,
    stages::{SearchKind, paper},
};
use penfuzz_prove as prove;
use penfuzz_report::{
    Compilation,
    c_text::is_cxx,
    criterion::Criterion,
    test_format::{TestFormat, TestStyle},
};

use crate::watch::Monitor;

/// Options of one campaign, as given on the command line.
#[derive(Debug, Clone)]
pub struct Options {
    /// What a resumed campaign keeps.
    pub settings: Settings,
    /// Name or symbol of the function under test, if given.
    pub function: Option<String>,
    /// The functions whose branches are goals; `None`: the default of the target and the goals.
    pub scope: Option<ScopeKind>,
    /// The compilations of a target that is a linked file, as recorded by pen-cc.
    pub compilations: Vec<Compilation>,
    /// What one run of the campaign does.
    pub run: RunOptions,
}

/// The time that a long campaign leaves for the compilation of its tests.
const MOST_FOR_TESTS: Duration = Duration::from_secs(3);
/// The same of a campaign of some seconds: two compilers side by side translate a C file in this time.
const LEAST_FOR_TESTS: Duration = Duration::from_millis(500);
/// The same for a file of C++, whose headers take longer.
const LEAST_FOR_CXX_TESTS: Duration = Duration::from_millis(1500);

/// The options of one run of a campaign, which the next run does not keep.
#[derive(Debug, Clone)]
pub struct RunOptions {
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
    /// The kind of search.
    pub search: SearchKind,
    /// Local minimizer; by default the search's own.
    pub minimizer: Option<String>,
    /// The constants of `CoverMe`'s Algorithm 1, for the searches [`SearchKind::Paper`] and [`SearchKind::PaperAsRun`].
    pub paper: paper::Parameters,
    /// Tolerance of the emitted tests: maximum distance, in floats, of a result from that of the campaign.
    pub ulp: u64,
    /// The format of the emitted tests.
    pub test_format: TestFormat,
    /// How the tests of plain numbers are written.
    pub test_style: TestStyle,
    /// Requirement tags in source comments that the tests are traced to.
    pub requirements: Vec<String>,
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
    /// When crashes are searched for through callers.
    pub caller_search: CallerSearch,
    /// Compile and run the emitted tests at the end.
    pub check_tests: bool,
}

impl Default for RunOptions {
    /// One client without limits, displays and proofs.
    fn default() -> Self {
        Self {
            out: None,
            seeds: None,
            fresh: false,
            seed: 0,
            max_time: None,
            max_evals: None,
            search: SearchKind::Targeted,
            minimizer: None,
            paper: paper::Parameters::AS_WRITTEN,
            ulp: 0,
            test_format: TestFormat::default(),
            test_style: TestStyle::default(),
            requirements: Vec::new(),
            sync: Vec::new(),
            monitors: Vec::new(),
            quiet: true,
            farm: Farm::default(),
            hints: Vec::new(),
            patience: None,
            proofs: Proofs::Off,
            caller_search: CallerSearch::Never,
            check_tests: false,
        }
    }
}

/// When crashes that need a caller are searched for through one ([`crate::callers`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallerSearch {
    /// Never.
    Never,
    /// At the end.
    AtEnd,
    /// This campaign is such a search: only its crashes matter. Tests are not simplified, and no header is tried.
    ThisOne,
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
    /// How long the clients search: the limit of the run, without the time that the check of the emitted tests takes.
    #[must_use]
    pub fn search_limit(&self) -> Option<Duration> {
        let limit = self.run.max_time?;
        if !self.run.check_tests {
            return Some(limit);
        }
        let compiled = self.compilations.iter().map(|c| Path::new(&c.source));
        let is_cxx = self.settings.sources.iter().map(PathBuf::as_path).chain(compiled).any(is_cxx);
        let least = if is_cxx { (limit / 2).min(LEAST_FOR_CXX_TESTS) } else { (limit / 4).min(LEAST_FOR_TESTS) };
        Some(limit.saturating_sub(least.max((limit / 20).min(MOST_FOR_TESTS))))
    }

    /// Options with these settings, and all else by default. For a target that is a linked file, the compilations and
    /// libraries are those that pen-cc recorded in it.
    #[must_use]
    pub fn new(mut settings: Settings) -> Self {
        let recorded =
            if settings.sources.is_empty() { linked::recorded(&settings.linked) } else { BuildRecord::default() };
        if !recorded.libs.is_empty() {
            settings.libs = recorded.libs;
        }
        if settings.criteria.is_empty() {
            settings.criteria.push(Criterion::Branch);
        }
        Self { settings, function: None, scope: None, compilations: recorded.compilations, run: RunOptions::default() }
    }

    /// The options of a campaign that resumes the one with this manifest.
    #[must_use]
    pub fn resuming(manifest: &Manifest) -> Self {
        Self {
            function: Some(manifest.symbol.clone()),
            scope: Some(manifest.scope),
            ..Self::new(manifest.settings.clone())
        }
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

impl Default for Farm {
    /// One client that is not connected to other machines.
    fn default() -> Self {
        Self {
            cores: Vec::new(),
            broker_port: None,
            broker_address: Ipv4Addr::LOCALHOST.into(),
            remote_brokers: Vec::new(),
            secret: None,
            insecure: false,
        }
    }
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
    let stem =
        options.settings.target.file_stem().map_or_else(|| "target".into(), |s| s.to_string_lossy().into_owned());
    let name: String = function.chars().map(|c| if c.is_alphanumeric() || c == '_' { c } else { '-' }).collect();
    let base = if stem == name { stem } else { format!("{stem}.{name}") };
    let goals = options.settings.goals;
    Path::new("penfuzz-out").join(if goals.are_branches() { base } else { format!("{base}.{}", goals.name()) })
}
