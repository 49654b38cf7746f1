//! What can go wrong before or while clang runs.

use std::{fmt, io, path::PathBuf};

/// Why a compilation did not happen or failed.
#[derive(Debug)]
pub enum Error {
    /// The command line names nothing to compile or link.
    NoInput,
    /// An option that cannot work with targets.
    Unsupported {
        /// The option as given.
        option: String,
        /// Why, and what to do instead.
        reason: &'static str,
    },
    /// The compiler could not be started.
    NoClang {
        /// The compiler that was tried.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The chosen clang is of another LLVM than the pass plugin.
    WrongClang {
        /// The environment variable that chose it.
        variable: &'static str,
        /// The chosen compiler.
        path: PathBuf,
        /// Its major version, if it told one.
        found: Option<u32>,
        /// The major version of the pass plugin.
        wanted: u32,
    },
    /// The plugin or the runtime could not be written to the cache directory.
    Cache {
        /// The directory or file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A response file (`@file`) could not be read.
    Response {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The compiler ran and failed (only from [`crate::Compile`]; the command line tools pass clang's messages through).
    Compiler {
        /// Its exit status, as a shell reports it.
        status: i32,
        /// What it wrote to standard error.
        stderr: String,
    },
    /// `libafl_cc` refused the command line.
    Wrapper(String),
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::NoClang { source, .. } | Self::Cache { source, .. } | Self::Response { source, .. } => Some(source),
            _ => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoInput => write!(f, "no input files"),
            Self::Unsupported { option, reason } => write!(f, "{option} is not supported: {reason}"),
            Self::NoClang { path, source } => {
                write!(f, "cannot run {}: {source} (install clang with ./setup)", path.display())
            }
            Self::WrongClang { variable, path, found, wanted } => {
                let (path, found) =
                    (path.display(), found.map_or("of an unknown version".into(), |v| format!("LLVM {v}")));
                write!(
                    f,
                    "{variable}={path} is {found}, but the pen pass is built for LLVM {wanted}: \
                     choose a clang of LLVM {wanted}, or rebuild penfuzz with LLVM_CONFIG set to that clang's llvm-config"
                )
            }
            Self::Cache { path, source } => {
                write!(
                    f,
                    "cannot write {}: {source} (set XDG_CACHE_HOME to a directory that can be written)",
                    path.display()
                )
            }
            Self::Response { path, source } => {
                write!(f, "cannot read response file {}: {source}", path.display())
            }
            Self::Compiler { status, stderr } => {
                write!(f, "the compiler failed with status {status}\n{stderr}")
            }
            Self::Wrapper(message) => write!(f, "{message}"),
        }
    }
}
