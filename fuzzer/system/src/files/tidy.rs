//! Normalises paths as text.

use std::path::{Component, Path, PathBuf};

/// Removes `.` and `..` without access to the file system: the directory may not exist yet.
#[must_use]
pub fn tidy(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            other => out.push(other),
        }
    }
    out
}
