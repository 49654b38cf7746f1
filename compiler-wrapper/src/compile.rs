//! Compilation from a Rust program instead of a command line.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use crate::{Error, Language, clang::Invocation, exit_status};

/// One compilation with instrumentation. The compiler's messages are captured.
///
/// Without further flags, the sources are compiled and linked with the mathematics library into a dual file.
///
/// ```no_run
/// use penfuzz_cc::Compile;
///
/// let warnings = Compile::new("tanh.pen").source("tanh.c").flag("-O2").run()?;
/// # Ok::<(), penfuzz_cc::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Compile {
    /// C or C++. `None`: C++ if the name of any source is that of C++ ([`Language::of`]).
    pub language: Option<Language>,
    /// Sources, bitcode, objects and libraries, in the order of the command line.
    pub sources: Vec<PathBuf>,
    /// The file to write.
    pub output: PathBuf,
    /// Options before the sources.
    pub flags: Vec<String>,
    /// Options after the sources, where libraries must be. By default `-lm`.
    pub libraries: Vec<String>,
    /// Whether SanCov counts edges, too, as with pen-cc; by default on. Other tools and LibAFL's map observers need it,
    /// penfuzz's own searches do not. It costs up to a fifth of an evaluation.
    pub san_cov: bool,
}

impl Compile {
    /// A compilation that writes `output`.
    #[must_use]
    pub fn new(output: impl Into<PathBuf>) -> Self {
        Self {
            language: None,
            sources: Vec::new(),
            output: output.into(),
            flags: Vec::new(),
            libraries: vec!["-lm".to_owned()],
            san_cov: true,
        }
    }

    /// Adds a source file (or bitcode, an object, a library).
    #[must_use]
    pub fn source(mut self, path: impl Into<PathBuf>) -> Self {
        self.sources.push(path.into());
        self
    }

    /// Adds source files.
    #[must_use]
    pub fn sources<P: Into<PathBuf>>(mut self, paths: impl IntoIterator<Item = P>) -> Self {
        self.sources.extend(paths.into_iter().map(Into::into));
        self
    }

    /// Adds a compiler option.
    #[must_use]
    pub fn flag(mut self, flag: impl Into<String>) -> Self {
        self.flags.push(flag.into());
        self
    }

    /// Adds compiler options.
    #[must_use]
    pub fn flags<S: Into<String>>(mut self, flags: impl IntoIterator<Item = S>) -> Self {
        self.flags.extend(flags.into_iter().map(Into::into));
        self
    }

    /// Turns the counters of SanCov on (the default) or off.
    #[must_use]
    pub fn san_cov(mut self, on: bool) -> Self {
        self.san_cov = on;
        self
    }

    /// Sets the language instead of deriving it from the names of the sources.
    #[must_use]
    pub fn language(mut self, language: Language) -> Self {
        self.language = Some(language);
        self
    }

    /// The arguments of pen-cc for this compilation. They do not contain [`Compile::san_cov`].
    #[must_use]
    pub fn args(&self) -> Vec<String> {
        let mut args = self.flags.clone();
        args.push("-o".to_owned());
        args.push(as_argument(&self.output));
        args.extend(self.sources.iter().map(|source| as_argument(source)));
        args.extend(self.libraries.iter().cloned());
        args
    }

    /// Compiles; returns the compiler's warnings.
    ///
    /// # Errors
    /// [`Error::Compiler`] with the compiler's messages if it rejects the source; else why it could not be run.
    pub fn run(&self) -> Result<String, Error> {
        let mut command = self.command()?;
        let output =
            command.output().map_err(|source| Error::NoClang { path: command.get_program().into(), source })?;
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.success() {
            return Ok(stderr);
        }
        Err(Error::Compiler { status: exit_status(output.status), stderr })
    }

    /// The compiler's command, for a caller that runs it in its own way.
    ///
    /// # Errors
    /// If there is nothing to compile, or the compiler or the plugin is missing.
    pub fn command(&self) -> Result<Command, Error> {
        if self.sources.is_empty() {
            return Err(Error::NoInput);
        }
        let Invocation { command, .. } = Invocation::new(&self.args(), self.language_or_guess(), self.san_cov)?;
        let mut ready = Command::new(&command[0]);
        ready.args(&command[1..]);
        Ok(ready)
    }

    fn language_or_guess(&self) -> Language {
        self.language.unwrap_or_else(|| {
            let any = self.sources.iter().any(|source| Language::of(source) == Language::Cxx);
            if any { Language::Cxx } else { Language::C }
        })
    }
}

/// A path as an argument that is neither an option nor a response file.
fn as_argument(path: &Path) -> String {
    let text = path.to_string_lossy().into_owned();
    if text.starts_with(['-', '@']) { format!("./{text}") } else { text }
}
