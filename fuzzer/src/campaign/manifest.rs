//! `campaign.json`: what a campaign is about, written when it begins, so that the commands that work on an output directory
//! (`cmin`, `merge`, `status`, `report`) need no more than its name.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{Options, Rounding};
use crate::{
    error::{Error, at},
    report::durable,
    saturation::ScopeKind,
    target::kind::plain,
};

/// The file in the output directory.
pub const FILE: &str = "campaign.json";

/// Version of the file.
pub const SCHEMA: u32 = 1;

/// See the module. Paths are absolute.
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
    /// Whose branches are goals.
    pub scope: ScopeKind,
    /// Seconds one evaluation may take.
    pub timeout: f64,
    /// Loop iterations and calls of one evaluation.
    pub fuel: i64,
    /// Memory that the target may use, in bytes.
    pub memory_limit: u64,
    /// See [`super::identity::fingerprint`].
    pub fingerprint: String,
}

impl Manifest {
    /// Of a campaign on the function `name` with the linker's `symbol`.
    #[must_use]
    pub fn new(options: &Options, name: &str, symbol: &str, scope: ScopeKind, fingerprint: &str) -> Self {
        let absolute = |p: &PathBuf| std::path::absolute(p).unwrap_or_else(|_| p.clone());
        Self {
            schema: SCHEMA,
            target: options.target.display().to_string(),
            linked: absolute(&options.linked),
            sources: options.sources.iter().map(absolute).collect(),
            flags: options.flags.clone(),
            libs: options.libs.clone(),
            function: name.to_owned(),
            symbol: symbol.to_owned(),
            rounding: options.rounding,
            scope,
            timeout: options.timeout.as_secs_f64(),
            fuel: options.fuel,
            memory_limit: options.memory_limit,
            fingerprint: fingerprint.to_owned(),
        }
    }

    /// Writes it into `dir`, unless the same is there already.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn write(&self, dir: &Path) -> Result<(), Error> {
        if read(dir).is_ok_and(|m| m == *self) {
            return Ok(());
        }
        let text = serde_json::to_vec_pretty(self).map_err(|e| Error::new(format!("{FILE}: {e}")))?;
        durable::write(&dir.join(FILE), &text).map_err(|e| Error::new(e.to_string()))
    }
}

/// Reads it from `dir`.
///
/// # Errors
/// When there is none, or none of this version.
pub fn read(dir: &Path) -> Result<Manifest, Error> {
    let path = dir.join(FILE);
    let bytes = std::fs::read(&path)
        .map_err(|e| at(dir, format!("is no output directory of penfuzz ({FILE} cannot be read: {})", plain(&e))))?;
    match serde_json::from_slice::<Manifest>(&bytes) {
        Ok(manifest) if manifest.schema == SCHEMA => Ok(manifest),
        Ok(manifest) => Err(at(&path, format!("is of version {} instead of {SCHEMA}", manifest.schema))),
        Err(e) => Err(at(&path, format!("cannot be understood: {e}"))),
    }
}
