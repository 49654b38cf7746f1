//! The kind of a target file, recognised by its magic number if it has one, otherwise by its extension.

use std::{
    fs::File,
    io::Read,
    path::{Path, PathBuf},
};

use penfuzz_error::{Error, at, failed};

/// The forms in which a target may be given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TargetKind {
    /// C or C++ source, or LLVM bitcode or assembly, which pen-cc compiles first; or an archive of objects that pen-cc
    /// compiled.
    Source,
    /// An ELF file, expected to be linked by pen-cc.
    Linked,
}

const SOURCE_EXTENSIONS: [&str; 8] = ["c", "cc", "cpp", "cxx", "c++", "C", "bc", "ll"];

/// Magic number of an archive.
const ARCHIVE: [u8; 4] = *b"!<ar";

/// Is it an archive (`libX.a`)?
#[must_use]
pub fn is_archive(path: &Path) -> bool {
    let mut magic = [0u8; 4];
    File::open(path).and_then(|mut file| file.read_exact(&mut magic)).is_ok() && magic == ARCHIVE
}

/// Returns the kind of a file.
///
/// # Errors
/// If it is missing, a directory, empty, unreadable, or of a kind that cannot be fuzzed.
pub fn classify(path: &Path) -> Result<TargetKind, Error> {
    let meta = std::fs::metadata(path).map_err(|e| failed(path, "cannot be read", e))?;
    if meta.is_dir() {
        return Err(at(path, "is a directory; give a C or C++ file, LLVM bitcode, or a file linked by pen-cc"));
    }
    if meta.len() == 0 {
        return Err(at(path, "is empty"));
    }
    let mut magic = [0u8; 4];
    let mut file = File::open(path).map_err(|e| failed(path, "cannot be read", e))?;
    let n = file.read(&mut magic).map_err(|e| failed(path, "cannot be read", e))?;
    if magic[..n] == ARCHIVE[..n] && n == ARCHIVE.len() {
        return Ok(TargetKind::Source);
    }
    if &magic[..n] == b"\x7fELF" {
        return Ok(TargetKind::Linked);
    }
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or("");
    if SOURCE_EXTENSIONS.contains(&extension) || &magic[..n] == b"BC\xc0\xde" {
        return Ok(TargetKind::Source);
    }
    Err(at(path, "is neither C or C++ source (.c .cc .cpp .cxx), LLVM bitcode (.bc .ll), nor a file linked by pen-cc"))
}

/// Returns the absolute form of the path of an existing file.
///
/// # Errors
/// If it cannot be resolved.
pub fn absolute(path: &Path) -> Result<PathBuf, Error> {
    path.canonicalize().map_err(|e| failed(path, "cannot be resolved", e))
}
