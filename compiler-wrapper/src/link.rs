//! The dual file: one file that runs as a program and loads as a shared object.
//!
//! glibc refuses to load a position-independent executable, and the kernel asks of a program only an entry point and an
//! interpreter. So programs are linked with `-shared`, get their `.interp` section from the runtime object, and
//! start at the `_start` of `Scrt1.o`. The rest of the options gives such a file a program's habits: its own symbols
//! come first, and an undefined one is an error of the link.

use std::process::Command;

use crate::{
    Error,
    arguments::{Action, Arguments},
    artifact,
};

/// Calls that end the process go to the runtime, which ends only the evaluation when the fuzzer asks for it.
const WRAPPED_EXITS: &str = "-Wl,--wrap=exit,--wrap=_exit,--wrap=_Exit,--wrap=quick_exit";

/// What a link adds around the user's arguments.
#[derive(Debug, Default)]
pub(crate) struct Linking {
    /// Start files come first, so that `main` may also come from a static library.
    pub(crate) before: Vec<String>,
    pub(crate) after: Vec<String>,
}

impl Linking {
    pub(crate) fn new(line: &Arguments, clang: &str) -> Result<Self, Error> {
        let mut linking = Self::default();
        match line.action {
            Action::Program => linking.program(line, clang)?,
            Action::PlainProgram(_) => linking.runtime(line, &artifact::RUNTIME_STATIC)?,
            Action::Library => linking.library(line)?,
            Action::Query | Action::Compile | Action::Relocatable => {}
        }
        if matches!(line.action, Action::Program | Action::Library | Action::Relocatable) {
            // The SanCov option would bring a sanitizer's runtime; the callbacks are in ours.
            linking.add(&["-fno-sanitize-link-runtime"]);
        }
        Ok(linking)
    }

    fn add(&mut self, args: &[&str]) {
        self.after.extend(args.iter().copied().map(str::to_owned));
    }

    fn program(&mut self, line: &Arguments, clang: &str) -> Result<(), Error> {
        if !line.no_start_files {
            self.before.push(start_file(line, clang)?);
        }
        self.add(&["-shared", "-Wl,-Bsymbolic", "-Wl,-z,defs"]);
        if !line.entry {
            self.add(&["-Wl,-e,_start"]);
        }
        self.runtime(line, &artifact::RUNTIME)
    }

    fn library(&mut self, line: &Arguments) -> Result<(), Error> {
        // Functions only: data that C++ keeps once per process (inline variables, type information) stays one.
        self.add(&["-Wl,-Bsymbolic-functions"]);
        if line.no_undefined {
            self.add(&["-Wl,-z,defs"]);
        }
        self.runtime(line, &artifact::RUNTIME)
    }

    fn runtime(&mut self, line: &Arguments, object: &artifact::Artifact) -> Result<(), Error> {
        if line.args.iter().any(|arg| arg == "-x") {
            // The object must not be read in the language of the sources before it.
            self.add(&["-x", "none"]);
        }
        self.after.push(object.path()?.to_string_lossy().into_owned());
        self.add(&[WRAPPED_EXITS]);
        if line.drops_sections && !line.args.iter().any(|arg| arg == "-fuse-ld=gold") {
            // The tables are reached through the section's bounds only.
            self.add(&["-Wl,-z,nostart-stop-gc"]);
        }
        if line.no_libc {
            // The runtime itself needs a C library where the user links none.
            self.add(&["-Wl,--push-state,--as-needed,-lc,--pop-state"]);
        }
        Ok(())
    }
}

/// Where clang keeps the start file of position-independent programs.
fn start_file(line: &Arguments, clang: &str) -> Result<String, Error> {
    let answer = Command::new(clang)
        .args(&line.search)
        .arg("-print-file-name=Scrt1.o")
        .output()
        .map_err(|source| Error::NoClang { path: clang.into(), source })?;
    Ok(String::from_utf8_lossy(&answer.stdout).trim().to_owned())
}
