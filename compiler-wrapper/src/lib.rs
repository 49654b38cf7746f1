//! penfuzz's compiler wrapper: clang, made to report how far every conditional is from taking its other way.
//!
//! `pen-cc` and `pen-cxx` are drop-in replacements for `CC` and `CXX`. They compile with the pen pass (`pass/pen.cc`) and
//! link the runtime (`runtime/pen.c`), and what they link as a program is a *dual file*: it runs as before, and penfuzz
//! loads it. [`abi`] describes what such a file holds.
//!
//! | the command line asks to | what happens |
//! | --- | --- |
//! | query, preprocess, list dependencies, check syntax | clang, unchanged |
//! | compile (`-c`, `-S`) | the pass and `SanCov` are added, position-independent code, debug information |
//! | link a program | a dual file |
//! | link a shared library | the runtime goes in; each shared object has its own |
//! | link with `-static` or a sanitizer | an ordinary program with the runtime, and a note |
//! | link partially (`-r`) | no runtime yet |

pub mod abi;
mod arguments;
mod artifact;
mod bitcode;
mod clang;
mod compile;
mod error;
mod link;
#[cfg(test)]
mod properties;
mod response;

use std::{
    env,
    ffi::OsString,
    os::unix::process::ExitStatusExt,
    path::Path,
    process::{Command, ExitCode, ExitStatus},
};

pub use arguments::EXCEPTIONS as EXCEPTIONS_FLAG;
pub use artifact::{LLVM_MAJOR, cache_directory};
pub use clang::find_clang;
pub use compile::Compile;
pub use error::Error;

/// The language that the compiler is called for; it decides between `clang` and `clang++`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// C
    C,
    /// C++
    Cxx,
}

impl Language {
    /// The language of a source file by its name; C if the name does not say C++.
    #[must_use]
    pub fn of(source: &Path) -> Self {
        match source.extension().and_then(|extension| extension.to_str()) {
            Some("cc" | "cp" | "cxx" | "cpp" | "CPP" | "c++" | "C" | "ii") => Self::Cxx,
            _ => Self::C,
        }
    }
}

/// Does what `pen-cc` (or `pen-cxx`) does with these arguments, the program's name not among them.
///
/// Returns the compiler's exit code; 128 + the signal's number if a signal ended it. Messages go to standard error.
///
/// # Errors
/// When the compiler could not be run at all.
pub fn run(args: &[String], language: Language) -> Result<i32, Error> {
    let clang::Invocation { command, notes } = clang::Invocation::new(args, language, true)?;
    for note in notes {
        eprintln!("pen-cc: note: {note}");
    }
    let status = Command::new(&command[0])
        .args(&command[1..])
        .status()
        .map_err(|source| Error::NoClang { path: command[0].clone().into(), source })?;
    Ok(exit_status(status))
}

/// Reads these arguments as `pen-cc` does, without running anything; returns those that go on to clang.
///
/// # Errors
/// When they are no command line, or a response file cannot be read.
pub fn read_arguments(args: &[String]) -> Result<Vec<String>, Error> {
    Ok(arguments::Arguments::read(args)?.args)
}

/// The body of the command line tools; a program name that ends in `++` means C++ whatever `language` says.
#[must_use]
pub fn main(language: Language) -> ExitCode {
    let plus = env::args_os().next().is_some_and(|name| name.as_encoded_bytes().ends_with(b"++"));
    let language = if plus { Language::Cxx } else { language };
    let args: Result<Vec<String>, _> = env::args_os().skip(1).map(OsString::into_string).collect();
    let outcome = args
        .map_err(|arg| Error::Unsupported {
            option: arg.to_string_lossy().into_owned(),
            reason: "the argument is not valid UTF-8; rename the file",
        })
        .and_then(|args| run(&args, language));
    match outcome {
        Ok(code) => ExitCode::from(u8::try_from(code).unwrap_or(1)),
        Err(error) => {
            eprintln!("pen-cc: error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Changes whenever instrumented code would: a hash over the plugin and the runtime.
#[must_use]
pub fn fingerprint() -> String {
    artifact::fingerprint()
}

fn exit_status(status: ExitStatus) -> i32 {
    status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1)
}
