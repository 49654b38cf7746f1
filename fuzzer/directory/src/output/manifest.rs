//! `campaign.json`: what a campaign is about, written when it begins, so that the commands that work on an output directory
//! (`cmin`, `merge`, `status`, `report`) need no more than its name.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use penfuzz_compile as build;
use penfuzz_engine::saturation::{Goals, ScopeKind};
use penfuzz_error::{Error, at, plain};
use penfuzz_executor::{evaluator::Limits, sandbox::Allow};
use penfuzz_report::criterion::Criterion;
use penfuzz_system::files::{atomic, foreign};
use penfuzz_target::{
    inputs::{Calls, Sizes},
    program::Rounding,
};
use serde::{Deserialize, Serialize};

use crate::output::trust;

/// The file in the output directory.
pub const FILE: &str = "campaign.json";

/// Version of the file.
pub const SCHEMA: u32 = 1;

/// Seconds that `--timeout` can be: from 1 ms to ten years.
const TIMEOUTS: core::ops::RangeInclusive<f64> = 0.001..=315_360_000.0;

/// Bytes that `--memory-limit` is at least.
const LEAST_MEMORY: u64 = 16 << 20;

/// Elements that an array of an input has at most.
const MOST_ELEMENTS: usize = 1 << 16;

/// Target, function and limits of a campaign. Paths are absolute.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The target as the user named it.
    pub target: String,
    /// The file that is loaded.
    pub linked: PathBuf,
    /// What it was compiled from; empty when the user gave a linked file.
    pub sources: Vec<PathBuf>,
    /// Compiler flags of the sources.
    pub flags: Vec<String>,
    /// Libraries linked to them.
    pub libs: Vec<String>,
    /// Source name of the function under test.
    pub function: String,
    /// Symbol of the function under test.
    pub symbol: String,
    /// Rounding modes.
    pub rounding: Rounding,
    /// What the user says about the arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// What the user says about the calls of an input.
    #[serde(default, skip_serializing_if = "Calls::is_nothing")]
    pub sequence: Calls,
    /// The sizes of the memory behind its pointers, as they were found out when the campaign began; `None` of an older campaign.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sizes: Option<Sizes>,
    /// What is searched for.
    #[serde(default)]
    pub goals: Goals,
    /// The criteria of the tests; empty for branches only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub criteria: Vec<Criterion>,
    /// Whose branches are goals.
    pub scope: ScopeKind,
    /// Seconds one evaluation may take.
    pub timeout: f64,
    /// Loop iterations and calls of one evaluation.
    pub fuel: i64,
    /// Memory that the target may use, in bytes.
    pub memory_limit: u64,
    /// What the target may do that the sandbox refuses by default.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<Allow>,
    /// See [`super::fingerprint::fingerprint`].
    pub fingerprint: String,
}

impl Manifest {
    /// Is the linked file loaded as it is? Otherwise it is linked again from its sources, because it is gone or others can write
    /// it. A file that the user linked is always loaded as it is.
    #[must_use]
    pub fn is_linked(&self) -> bool {
        self.sources.is_empty() || build::is_usable(&self.linked)
    }

    /// Limits of one evaluation.
    #[must_use]
    pub fn limits(&self) -> Limits {
        let timeout = Duration::try_from_secs_f64(self.timeout).unwrap_or(Limits::default().timeout);
        Limits { timeout, fuel: self.fuel, memory: self.memory_limit }
    }

    /// Why no campaign can have written this: the command line refuses these values.
    fn nonsense(&self) -> Option<String> {
        let is_timeout = TIMEOUTS.contains(&self.timeout);
        match () {
            () if self.symbol.is_empty() => Some("it names no function".to_owned()),
            () if !is_timeout => Some(format!("its timeout is {} s, not 1 ms to ten years", self.timeout)),
            () if self.fuel < 1 => Some(format!("its fuel is {}, not at least 1", self.fuel)),
            () if self.memory_limit < LEAST_MEMORY => {
                Some(format!("its memory limit is {} bytes, not at least 16 MiB", self.memory_limit))
            }
            () if self.sizes.iter().flatten().any(|(_, size)| size.capacity > MOST_ELEMENTS) => {
                Some(format!("it has an array of more than {MOST_ELEMENTS} elements"))
            }
            () => None,
        }
    }

    /// Writes it into `dir` with the tag of this user ([`trust`]), unless the same is there already.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn write(&self, dir: &Path) -> Result<(), Error> {
        let text = trust::signed(self)?;
        if read_bytes(dir).is_ok_and(|found| found == text) {
            return Ok(());
        }
        atomic::write(&dir.join(FILE), &text).map_err(Error::from_source)
    }
}

/// Reads it from `dir`, to show what it says. Code that loads or compiles its target needs [`trust::Trusted`].
///
/// # Errors
/// When there is none, or none of this version, or none that a campaign could have written.
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
        let message = format!("is no output directory of penfuzz ({FILE} cannot be read: {})", plain(&e));
        at(dir, message).with_source(e)
    })
}

/// Reads the content of the `campaign.json` at `path`.
///
/// # Errors
/// When it is none of this version, or none that a campaign could have written.
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
