//! One function that tools are compared on.

use std::{path::PathBuf, sync::Arc};

use penfuzz_app::{
    report::Report,
    suite::{Suite, config::TargetSpec},
};

/// See the module.
#[derive(Debug, Clone)]
pub struct Subject {
    /// Unique in the experiment; can name a directory.
    pub name: String,
    /// Where it comes from.
    pub suite: Arc<Suite>,
    /// Its entry there.
    pub spec: TargetSpec,
    /// What it took to compile it for penfuzz, in seconds; next to nothing when penfuzz's cache had it.
    pub compile_seconds: f64,
    /// Its signature, as a campaign of one evaluation tells it; the rest of that report is of no interest.
    pub report: Report,
}

impl Subject {
    /// Its source file, absolute.
    #[must_use]
    pub fn file(&self) -> PathBuf {
        self.suite.file_of(&self.spec)
    }

    /// Compiler flags of its file and the support files.
    #[must_use]
    pub fn flags(&self) -> Vec<String> {
        self.report.rounding.flag().into_iter().chain(self.suite.flags_of(&self.spec)).collect()
    }

    /// The other source files it needs, absolute.
    #[must_use]
    pub fn support(&self) -> Vec<PathBuf> {
        self.suite.support_of(&self.spec)
    }

    /// Those of them that are linked if something in them is called.
    #[must_use]
    pub fn archived(&self) -> Vec<PathBuf> {
        self.support().into_iter().filter(|f| !self.suite.setup_files.contains(f)).collect()
    }

    /// Those of them that are linked in any case.
    #[must_use]
    pub fn linked(&self) -> Vec<PathBuf> {
        self.support().into_iter().filter(|f| self.suite.setup_files.contains(f)).collect()
    }

    /// Libraries, as the linker is told of them.
    #[must_use]
    pub fn libs(&self) -> &[String] {
        &self.suite.build.libs
    }

    /// Bytes of an input: the arguments one after the other, then a byte for the rounding mode if it is one. Shorter
    /// inputs are filled up with zeros, further bytes are not looked at. `None` for libFuzzer's entry point, which
    /// takes inputs of any size.
    #[must_use]
    pub fn input_size(&self) -> Option<usize> {
        super::harness::input_size(&self.report)
    }
}
