//! `DIR/proofs/stated.json`: stores the verdicts about the branches of a campaign, for when it continues or is resumed.
//! Reports that are written during the search do not contain them.

use std::path::Path;

use penfuzz_directory::output::manifest::Manifest;
use penfuzz_error::Error;
use penfuzz_report::{BranchIndex, Report, Site, proof::Proof};
use penfuzz_system::files::foreign;
use penfuzz_target::{hash::of_bytes, program::Target};
use serde::{Deserialize, Serialize};

use super::{PROOFS, note, open_branches, write};

/// The file in [`PROOFS`].
const FILE: &str = "stated.json";
/// How the assumption of a closed world begins: no code outside of the sources writes a variable
/// (`pass/smt/memory.cc`).
const CLOSED_WORLD: &str = "closed world: ";
/// Maximum number of bytes that are read of a linked file.
const LONGEST_TARGET: u64 = 1 << 30;

/// Identifies a branch in the compiled code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// Line and column of its site, since static functions of two sources may have the same name.
    position: (u32, u32),
    /// The linker symbol of its function.
    symbol: String,
    /// The number of its site among those of the function.
    site: usize,
    /// The number of the branch at its site.
    branch: usize,
}

impl Place {
    pub(super) fn of(site: &Site, branch: usize) -> Option<Self> {
        let code = site.code.as_ref()?;
        let branch = *code.branches.get(branch)?;
        Some(Self { position: (site.line, site.column), symbol: code.symbol.clone(), site: code.number, branch })
    }

    /// The index of the branch in the target; `None` if the target does not have it, or if several functions have its
    /// symbol.
    #[must_use]
    pub fn number(&self, target: &Target) -> Option<usize> {
        let mut functions = target.functions.iter().filter(|f| f.symbol == self.symbol);
        let site = target.sites.get(functions.next()?.sites.clone())?.get(self.site)?;
        let is_it = functions.next().is_none() && (site.line, site.column) == self.position;
        (is_it && self.branch < site.n_branches).then(|| site.first_branch + self.branch)
    }
}

/// The stored verdicts about branches that no input took.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoredProofs {
    /// Hash of the linked file, in hexadecimal digits: the verdicts hold only for this code.
    code: String,
    branches: Vec<(Place, Proof)>,
}

impl StoredProofs {
    /// The verdicts in a report.
    #[must_use]
    pub fn of(report: &Report) -> Self {
        let stated = |at: BranchIndex| {
            let place = Place::of(&report.sites[at.site], at.branch)?;
            Some((place, report.branch(at).proof.clone()?))
        };
        Self { branches: open_branches(report).into_iter().filter_map(stated).collect(), ..Self::default() }
    }

    /// Stores the verdicts in a report of the target of `manifest`, in the campaign directory `dir`.
    ///
    /// # Errors
    /// When the linked file cannot be read, or the file cannot be written.
    pub(super) fn keep(dir: &Path, manifest: &Manifest, report: &Report) -> Result<(), Error> {
        let code = code_of(manifest).ok_or_else(|| Error::new("the target cannot be read"))?;
        let stated = Self { code, ..Self::of(report) };
        let text = serde_json::to_string(&stated).map_err(Error::from_source)?;
        write(&dir.join(PROOFS).join(FILE), &text)
    }

    /// Reads the verdicts in `dir`, except those that assume a closed world and those whose query no longer exists.
    /// Empty if the target has changed since then.
    #[must_use]
    pub fn read(dir: &Path, manifest: &Manifest) -> Self {
        // First, since in most campaigns this file does not exist, and hashing a large target takes time.
        let Ok(text) = foreign::read_text(&dir.join(PROOFS).join(FILE)) else { return Self::default() };
        let mut stated: Self = serde_json::from_str(&text).unwrap_or_default();
        if code_of(manifest).is_none_or(|code| code != stated.code) {
            return Self::default();
        }
        stated.branches.retain(|(_, proof)| {
            let has_query = proof.file.is_empty() || dir.join(&proof.file).is_file();
            has_query && !proof.assumptions.iter().any(|text| text.starts_with(CLOSED_WORLD))
        });
        stated
    }

    /// The branches that are proved unreachable.
    pub fn proved(&self) -> impl Iterator<Item = &Place> {
        self.branches.iter().filter(|(_, proof)| proof.is_proved()).map(|(place, _)| place)
    }

    /// Copies the verdicts into a report of the same target. Returns the branches that are proved unreachable although
    /// an input of that report takes them: each is a fault of penfuzz.
    #[must_use]
    pub fn carry_over(&self, to: &mut Report) -> Vec<String> {
        let (mut goals, mut proofs, mut faults) = (Vec::new(), Vec::new(), Vec::new());
        for (i, site) in to.sites.iter().enumerate() {
            for (j, branch) in site.branches.iter().enumerate() {
                let Some(proof) = Place::of(site, j).and_then(|place| self.about(&place)) else { continue };
                if branch.status.is_untaken() {
                    goals.push(BranchIndex { site: i, branch: j });
                    proofs.push(proof.clone());
                } else if proof.is_proved() {
                    faults.push(format!("{}:{}:{} {}", site.file, site.line, site.column, branch.outcome));
                }
            }
        }
        note(to, &goals, proofs);
        faults
    }

    fn about(&self, place: &Place) -> Option<&Proof> {
        self.branches.iter().find(|(of, _)| of == place).map(|(_, proof)| proof)
    }
}

fn code_of(manifest: &Manifest) -> Option<String> {
    let bytes = foreign::read(&manifest.settings.linked, LONGEST_TARGET).ok()?;
    Some(format!("{:016x}", of_bytes(&bytes)))
}
