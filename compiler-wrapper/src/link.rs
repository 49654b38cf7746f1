//! The dual file: one file that runs as a program and loads as a shared object.
//!
//! glibc does not load position-independent executables. The kernel needs only an entry point and an interpreter to run
//! a file. So programs are linked with `-shared`, have an `.interp` section from the runtime object, and start at
//! `_start` of `Scrt1.o`. Further options make the file behave like a program: its own symbols come first, and an
//! undefined symbol is an error of the link.

use std::process::Command;

use crate::{
    Error,
    arguments::{Action, Arguments},
    artifact,
};

/// Redirects calls that end the process to the runtime, which ends only the evaluation while a fuzzer runs the target.
/// Also redirects calls that register functions for the end of the process (`atexit` among them).
const WRAPPED_EXITS: &str = "-Wl,--wrap=exit,--wrap=_exit,--wrap=_Exit,--wrap=quick_exit,--wrap=pthread_exit,\
                             --wrap=__cxa_atexit";

/// Redirects calls that allocate memory, and those by which the C library takes over memory: the runtime lists the
/// memory that an evaluation does not free.
const WRAPPED_ALLOCATIONS: &str = "-Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=reallocarray,\
                                   --wrap=aligned_alloc,--wrap=posix_memalign,--wrap=free,--wrap=strdup,\
                                   --wrap=strndup,--wrap=getline,--wrap=getdelim,--wrap=__getdelim,--wrap=putenv,\
                                   --wrap=setvbuf,--wrap=setbuf,--wrap=malloc_usable_size,--wrap=_Znwm,--wrap=_Znam,\
                                   --wrap=_ZdlPv,--wrap=_ZdlPvm,--wrap=_ZdaPv,--wrap=_ZdaPvm";

/// The arguments that linking adds before and after the user's.
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
            // The SanCov option would link a sanitizer's runtime; pen's runtime has the callbacks.
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
        // Only functions: data that is unique per process in C++ (inline variables, type information) must stay unique.
        self.add(&["-Wl,-Bsymbolic-functions"]);
        if line.no_undefined {
            self.add(&["-Wl,-z,defs"]);
        }
        self.runtime(line, &artifact::RUNTIME)
    }

    fn runtime(&mut self, line: &Arguments, object: &artifact::Artifact) -> Result<(), Error> {
        if line.args.iter().any(|arg| arg == "-x") {
            // The language option of the preceding sources must not apply to the object.
            self.add(&["-x", "none"]);
        }
        self.after.push(object.path()?.to_string_lossy().into_owned());
        self.add(&[WRAPPED_EXITS, WRAPPED_ALLOCATIONS]);
        if line.drops_sections && !line.args.iter().any(|arg| arg == "-fuse-ld=gold") {
            // Only the bounds of their sections reference the tables.
            self.add(&["-Wl,-z,nostart-stop-gc"]);
        }
        if line.no_libc {
            // The runtime needs a C library even if the user links none.
            self.add(&["-Wl,--push-state,--as-needed,-lc,--pop-state"]);
        }
        Ok(())
    }
}

/// The path of the start file of position-independent programs.
fn start_file(line: &Arguments, clang: &str) -> Result<String, Error> {
    let answer = Command::new(clang)
        .args(&line.search)
        .arg("-print-file-name=Scrt1.o")
        .output()
        .map_err(|source| Error::NoClang { path: clang.into(), source })?;
    Ok(String::from_utf8_lossy(&answer.stdout).trim().to_owned())
}
