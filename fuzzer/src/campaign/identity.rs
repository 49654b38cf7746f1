//! Which campaign this is: where it lies when the user does not say, and what makes it the same one when it is resumed.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
};

use super::Options;
use crate::{saturation::ScopeKind, target::Target};

/// `penfuzz-out/FILE.FUNCTION` below the current directory.
#[must_use]
pub fn default_directory(options: &Options, function: &str) -> PathBuf {
    let stem = options.target.file_stem().map_or_else(|| "target".into(), |s| s.to_string_lossy().into_owned());
    let name: String = function.chars().map(|c| if c.is_alphanumeric() || c == '_' { c } else { '-' }).collect();
    Path::new("penfuzz-out").join(if stem == name { stem } else { format!("{stem}.{name}") })
}

/// Tells targets apart: another function, scope or set of sites is another campaign.
#[must_use]
pub fn fingerprint(target: &Target, function: usize, scope: ScopeKind) -> String {
    let mut hasher = DefaultHasher::new();
    for s in &target.sites {
        (s.line, s.column, s.n_branches, s.kind, s.predicate).hash(&mut hasher);
    }
    let f = &target.functions[function];
    format!("{} {scope:?} {} branches {:016x}", f.symbol, target.n_branches, hasher.finish())
}
