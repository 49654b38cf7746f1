//! `campaign.json`: the manifest of a campaign, written when it begins. With it, the commands that work on an output
//! directory (`cmin`, `merge`, `status`, `report`) need only the directory name.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use penfuzz_compile as build;
use penfuzz_engine::saturation::{Goals, ScopeKind};
use penfuzz_error::{Error, at, plain};
use penfuzz_executor::{evaluator::EvaluationLimits, sandbox::Allow};
use penfuzz_report::criterion::Criterion;
use penfuzz_system::files::{atomic, foreign};
use penfuzz_target::{
    inputs::{Calls, Sizes},
    program::Rounding,
};
use serde::{Deserialize, Serialize};

use crate::output::trust;

/// The name of the file in the output directory.
pub const FILE: &str = "campaign.json";

/// Version of the file format.
pub const SCHEMA: u32 = 1;

/// Range of `--timeout` in seconds: from 1 ms to ten years.
const TIMEOUTS: core::ops::RangeInclusive<f64> = 0.001..=315_360_000.0;

/// Minimum of `--memory-limit` in bytes.
const LEAST_MEMORY: u64 = 16 << 20;

/// Maximum number of elements of an array in an input.
const MOST_ELEMENTS: usize = 1 << 16;

/// What a campaign runs on. Paths are absolute.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Source name of the function under test.
    pub function: String,
    /// Symbol of the function under test.
    pub symbol: String,
    /// The functions whose branches are goals.
    pub scope: ScopeKind,
    /// What the user chose.
    #[serde(flatten)]
    pub settings: Settings,
    /// The sizes of the memory blocks behind pointers, as determined when the campaign began; `None` in manifests of
    /// older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sizes: Option<Sizes>,
    /// The fingerprint, see [`super::fingerprint::fingerprint`].
    pub fingerprint: String,
}

/// The settings that a resumed campaign keeps: target, declarations of the inputs, goals, and limits of one evaluation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// The target as given on the command line.
    pub target: PathBuf,
    /// The linked file that is loaded.
    pub linked: PathBuf,
    /// The sources that it was compiled from; empty if the target is a linked file.
    pub sources: Vec<PathBuf>,
    /// Compiler flags of the sources.
    pub flags: Vec<String>,
    /// Libraries linked to the sources.
    pub libs: Vec<String>,
    /// Rounding modes in which the function is called.
    pub rounding: Rounding,
    /// Declared domains of the arguments: `NAME: DOMAIN` ([`penfuzz_target::inputs::ArgConstraint`]).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// Declared structure of the sequence of calls that an input describes.
    #[serde(rename = "sequence", default, skip_serializing_if = "Calls::is_nothing")]
    pub calls: Calls,
    /// The goals of the search.
    #[serde(default)]
    pub goals: Goals,
    /// The file of the goal, for [`Goals::Custom`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal: Option<PathBuf>,
    /// The criteria that the tests must fulfil, in ascending order without duplicates; empty in manifests of older
    /// versions for branches only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub criteria: Vec<Criterion>,
    /// Maximum wall time of one evaluation, in seconds.
    pub timeout: f64,
    /// Maximum number of loop iterations and calls in one evaluation.
    pub fuel: i64,
    /// Memory that the target may use, in bytes.
    pub memory_limit: u64,
    /// Operations of the target that the sandbox refuses by default and that are allowed here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<Allow>,
}

impl Settings {
    /// Whether the linked file can be loaded as it is. Otherwise it is linked again from its sources, because it is
    /// missing or others can write to it. A target that is a linked file is always loaded as it is.
    #[must_use]
    pub fn is_linked(&self) -> bool {
        self.sources.is_empty() || build::is_usable(&self.linked)
    }

    /// Limits of one evaluation.
    #[must_use]
    pub fn limits(&self) -> EvaluationLimits {
        let timeout = Duration::try_from_secs_f64(self.timeout).unwrap_or(EvaluationLimits::default().timeout);
        EvaluationLimits { timeout, fuel: self.fuel, memory: self.memory_limit }
    }

    /// The same settings with absolute paths of the files, as in a [`Manifest`].
    #[must_use]
    pub fn with_absolute_paths(mut self) -> Self {
        for path in self.sources.iter_mut().chain([&mut self.linked]).chain(&mut self.goal) {
            if let Ok(absolute) = std::path::absolute(&path) {
                *path = absolute;
            }
        }
        self
    }
}

impl Manifest {
    /// Why no campaign can have written this manifest: the command line refuses these values.
    fn nonsense(&self) -> Option<String> {
        let Settings { timeout, fuel, memory_limit, .. } = self.settings;
        let is_timeout = TIMEOUTS.contains(&timeout);
        match () {
            () if self.symbol.is_empty() => Some("it names no function".to_owned()),
            () if !is_timeout => Some(format!("its timeout is {timeout} s, not 1 ms to ten years")),
            () if fuel < 1 => Some(format!("its fuel is {fuel}, not at least 1")),
            () if memory_limit < LEAST_MEMORY => {
                Some(format!("its memory limit is {memory_limit} bytes, not at least 16 MiB"))
            }
            () if self.sizes.iter().flatten().any(|(_, size)| size.capacity > MOST_ELEMENTS) => {
                Some(format!("it has an array of more than {MOST_ELEMENTS} elements"))
            }
            () => None,
        }
    }

    /// Writes the manifest into `dir` with the tag of this user ([`trust`]), unless the same content exists there.
    ///
    /// # Errors
    /// File system errors.
    pub fn write(&self, dir: &Path) -> Result<(), Error> {
        let text = trust::signed(self)?;
        if read_bytes(dir).is_ok_and(|found| found == text) {
            return Ok(());
        }
        atomic::write(&dir.join(FILE), &text).map_err(Error::from_source)
    }
}

/// Reads the manifest from `dir` to display it. Code that loads or compiles its target must use [`trust::Trusted`].
///
/// # Errors
/// When there is no manifest, or none of this version, or none that a campaign could have written.
pub fn read(dir: &Path) -> Result<Manifest, Error> {
    parse(&read_bytes(dir)?, &dir.join(FILE))
}

/// The bytes of `campaign.json` in `dir`.
///
/// # Errors
/// When it cannot be read.
pub fn read_bytes(dir: &Path) -> Result<Vec<u8>, Error> {
    let path = dir.join(FILE);
    foreign::read_own(&path, foreign::LONGEST_TEXT).map_err(|e| {
        let message = format!("is not an output directory of penfuzz ({FILE} cannot be read: {})", plain(&e));
        at(dir, message).with_source(e)
    })
}

/// Parses the content of the `campaign.json` at `path`.
///
/// # Errors
/// When it is not of this version, or no campaign could have written it.
pub fn parse(bytes: &[u8], path: &Path) -> Result<Manifest, Error> {
    match serde_json::from_slice::<Manifest>(bytes) {
        Ok(manifest) if manifest.schema == SCHEMA => match manifest.nonsense() {
            None => Ok(manifest),
            Some(what) => Err(at(path, format!("cannot be used: {what}"))),
        },
        Ok(manifest) => Err(at(path, format!("is of version {} instead of {SCHEMA}", manifest.schema))),
        Err(e) => Err(at(path, format!("cannot be understood: {e}")).with_source(e)),
    }
}
