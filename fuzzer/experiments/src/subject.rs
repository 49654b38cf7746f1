//! A function that tools are compared on.

use std::{path::PathBuf, sync::Arc};

use penfuzz_report::Report;
use penfuzz_suite::{Suite, config::TargetSpec};

use super::assumptions::Assumed;

/// A function of a suite with its signature.
#[derive(Debug, Clone)]
pub struct Subject {
    /// Unique in the experiment; can name a directory.
    pub name: String,
    /// Its suite.
    pub suite: Arc<Suite>,
    /// Its entry there.
    pub spec: TargetSpec,
    /// The time it took to compile the function for penfuzz, in seconds; almost 0 if it was in penfuzz's cache.
    pub compile_seconds: f64,
    /// Assumptions about its arguments, for other tools and the referee.
    pub assumed: Option<Assumed>,
    /// The report of a campaign of one evaluation. Only the signature in it is used.
    pub report: Report,
}

impl Subject {
    /// Returns the source file, absolute, including its assumptions.
    #[must_use]
    pub fn file(&self) -> PathBuf {
        self.assumed.as_ref().map_or_else(|| self.suite.file_of(&self.spec), |a| a.file.clone())
    }

    /// Returns the compiler flags of its file and the support files, for compilers other than pen-cc.
    #[must_use]
    pub fn flags(&self) -> Vec<String> {
        let assumed = self.assumed.iter().flat_map(|a| a.flags.clone());
        self.report.rounding.flag().into_iter().chain(self.suite.flags_of(&self.spec)).chain(assumed).collect()
    }

    /// Returns the other source files that it needs, absolute.
    #[must_use]
    pub fn support(&self) -> Vec<PathBuf> {
        self.suite.support_of(&self.spec)
    }

    /// Returns the support files that are linked only if the program calls a function in them.
    #[must_use]
    pub fn archived(&self) -> Vec<PathBuf> {
        self.support().into_iter().filter(|f| !self.suite.setup_files.contains(f)).collect()
    }

    /// Returns the support files that are always linked.
    #[must_use]
    pub fn linked(&self) -> Vec<PathBuf> {
        self.support().into_iter().filter(|f| self.suite.setup_files.contains(f)).collect()
    }

    /// Returns the libraries, as arguments of the linker.
    #[must_use]
    pub fn libs(&self) -> &[String] {
        &self.suite.build.libs
    }

    /// Returns the size of an input in bytes: the arguments one after the other, then a byte for the rounding mode if
    /// that is an input. Shorter inputs are padded with zeros; further bytes are ignored. `None` for libFuzzer's entry
    /// point, which takes inputs of any size.
    #[must_use]
    pub fn input_size(&self) -> Option<usize> {
        super::harness::input_size(&self.report)
    }
}
