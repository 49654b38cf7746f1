//! Errors before and while clang runs. A message names what failed and where, and what the user can do.

use std::{fmt, io, path::PathBuf};

/// Why a compilation was not started, or failed.
#[derive(Debug)]
pub enum Error {
    /// The command line names nothing to compile or link.
    NoInput,
    /// An option or an argument that pen-cc cannot process.
    Unsupported {
        /// The option as the user wrote it.
        option: String,
        /// The reason, and what the user can do instead.
        reason: &'static str,
    },
    /// The compiler could not be started.
    NoClang {
        /// The compiler that was tried.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The clang that an environment variable names is of another LLVM version than the pass plugin.
    WrongClang {
        /// The environment variable.
        variable: &'static str,
        /// The compiler.
        path: PathBuf,
        /// Its major version, if it printed one.
        found: Option<u32>,
        /// The major version of the pass plugin.
        wanted: u32,
    },
    /// The plugin or the runtime could not be written to the cache directory.
    Cache {
        /// The directory or file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// Others can write a directory from which code is loaded, or rename a directory above it.
    Exposed {
        /// The directory that they can write.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// A response file (`@file`) could not be read.
    Response {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The compiler ran and failed. Only from [`crate::Compile`]: the command line tools show clang's messages
    /// directly.
    Compiler {
        /// Its exit status, as a shell reports it.
        status: i32,
        /// Its standard error.
        stderr: String,
    },
    /// `libafl_cc` rejected the command line.
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
            Self::NoInput => write!(f, "no input files: name a source, an object or a library"),
            Self::Unsupported { option, reason } => write!(f, "{option} is not supported: {reason}"),
            Self::NoClang { path, source } => {
                write!(
                    f,
                    "cannot run {}: {source} (install it, or set PEN_CC_CLANG, for C++ PEN_CC_CLANGXX, to a \
                     clang of LLVM {})",
                    path.display(),
                    crate::LLVM_MAJOR
                )
            }
            Self::WrongClang { variable, path, found, wanted } => {
                let (path, found) =
                    (path.display(), found.map_or("of an unknown version".into(), |v| format!("LLVM {v}")));
                write!(
                    f,
                    "{variable}={path} is {found}, but the pen pass is built for LLVM {wanted}: \
                     choose a clang of LLVM {wanted}, or rebuild penfuzz with LLVM_CONFIG set to that clang's \
                     llvm-config"
                )
            }
            Self::Cache { path, source } => {
                write!(
                    f,
                    "cannot write {}: {source} (set XDG_CACHE_HOME to a directory that can be written)",
                    path.display()
                )
            }
            Self::Exposed { path, mode } => {
                write!(
                    f,
                    "other users can write {} (mode {mode:04o}), and what is loaded from there is run: remove it or \
                     its write permissions, or set XDG_CACHE_HOME and XDG_STATE_HOME to directories that only you \
                     can write",
                    path.display()
                )
            }
            Self::Response { path, source } => {
                write!(f, "cannot read response file {}: {source} (it must be a text file in UTF-8)", path.display())
            }
            Self::Compiler { status, stderr } => {
                write!(f, "the compiler failed with status {status}\n{stderr}")
            }
            Self::Wrapper(message) => write!(f, "cannot use this command line: {message}"),
        }
    }
}
