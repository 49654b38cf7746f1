//! penfuzz's compiler wrapper: clang with a pass by which each conditional computes its branch distance.
//!
//! The branch distance is 0 if a branch is taken, else positive and smaller the closer the operands are to taking it.
//! penfuzz minimizes it. `pen-cc` and `pen-cxx` are drop-in replacements for `CC` and `CXX`. They compile with the pen
//! pass (`pass/plugin.cc`) and link the runtime (`runtime/pen.c`). What they link as a program is a *dual file*: it
//! runs as before, and penfuzz can load it. `penfuzz-abi` describes its tables. [`Compile`] does the same from Rust.
//!
//! | request of the command line | effect |
//! | --- | --- |
//! | query, preprocess, list dependencies, check syntax | clang runs, with the same arguments |
//! | compile (`-c`, `-S`) | with the pass, SanCov, position-independent code, and debug information of all types |
//! | link a program | the result is a dual file |
//! | link a shared library | the runtime is linked, too; each shared object has its own |
//! | link with `-static` or a sanitizer | the result is an ordinary program with the runtime; a note explains why |
//! | link partially (`-r`) | the runtime is not linked |

mod arguments;
mod artifact;
mod assume;
mod bitcode;
mod clang;
mod compile;
mod directories;
mod error;
mod link;
#[cfg(test)]
mod properties;
mod response;
mod room;
mod tokens;

use std::{
    env,
    ffi::OsString,
    os::unix::process::ExitStatusExt,
    path::Path,
    process::{Command, ExitCode, ExitStatus},
};

pub use arguments::{
    DECISIONS as DECISIONS_FLAG, EXCEPTIONS as EXCEPTIONS_FLAG, GOAL as GOAL_FLAG, MOVES as MOVES_FLAG,
    MUTANTS as MUTANTS_FLAG,
};
pub use artifact::{LLVM_MAJOR, include_directory};
pub use assume::{ASSUME as ASSUME_FLAG, defines, with_assumptions};
pub use clang::find_clang;
pub use compile::Compile;
pub use directories::{cache_directory, is_private_file, private_directory, state_directory, user};
pub use error::Error;
pub use room::{cache_room, note_use};

/// The language of the sources: `clang` compiles C, `clang++` compiles and links C++.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// C
    C,
    /// C++
    Cxx,
}

impl Language {
    /// The language of a source file by its extension; C if it is none of C++.
    #[must_use]
    pub fn of(source: &Path) -> Self {
        match source.extension().and_then(|extension| extension.to_str()) {
            Some("cc" | "cp" | "cxx" | "cpp" | "CPP" | "c++" | "C" | "ii") => Self::Cxx,
            _ => Self::C,
        }
    }
}

/// Runs `pen-cc` (or `pen-cxx`) with these arguments, without the program's name.
///
/// Returns the compiler's exit code, or 128 + the number of the signal that ended it. Messages go to standard error.
///
/// # Errors
/// If the command line is unusable, or the compiler cannot be run.
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

/// These options without those that only pen-cc knows.
#[must_use]
pub fn for_other_compilers(options: &[String]) -> Vec<String> {
    let own = [EXCEPTIONS_FLAG, MOVES_FLAG, DECISIONS_FLAG, GOAL_FLAG];
    let is_own = |o: &str| own.contains(&o) || o.starts_with(ASSUME_FLAG) || arguments::mutated(o).is_some();
    options.iter().filter(|o| !is_own(o)).cloned().collect()
}

/// The main function of the command line tools. If the program's name ends in `++`, the language is C++.
#[must_use]
pub fn main(language: Language) -> ExitCode {
    let plus = env::args_os().next().is_some_and(|name| name.as_encoded_bytes().ends_with(b"++"));
    let language = if plus { Language::Cxx } else { language };
    let args: Result<Vec<String>, _> = env::args_os().skip(1).map(OsString::into_string).collect();
    let outcome = args
        .map_err(|arg| Error::Unsupported {
            option: arg.to_string_lossy().into_owned(),
            reason: "an argument must be valid UTF-8; rename the file",
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

/// Identifies the instrumentation: it changes whenever the pass or the runtime changes. Contains hashes of both.
#[must_use]
pub fn fingerprint() -> String {
    artifact::fingerprint()
}

/// The exit status as a shell reports it: 128 + the number of the signal, if one ended the process.
#[must_use]
pub fn exit_status(status: ExitStatus) -> i32 {
    status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1)
}
