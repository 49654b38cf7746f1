//! Crashes and hangs, and how likely it is that a caller causes them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::arg::Arg;

/// How likely it is that a finding is a fault of the function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Grade {
    /// It occurs through an entry point that takes any input: `main`, or a fuzzing harness.
    Confirmed,
    /// The input violates no precondition that is known or likely.
    Plausible,
    /// The input violates a likely precondition: the caller would be wrong.
    ViolatesPrecondition,
}

/// The likely preconditions that crashes violate, each with the number of crashes, in alphabetical order.
#[must_use]
pub fn relied_on(crashes: &[Finding]) -> BTreeMap<&str, usize> {
    let mut found = BTreeMap::new();
    for precondition in crashes.iter().filter(|crash| !crash.counts()).flat_map(|crash| &crash.violates) {
        *found.entry(precondition.as_str()).or_default() += 1;
    }
    found
}

impl Grade {
    /// Whether such findings count for the exit status and as errors.
    #[must_use]
    pub const fn counts(self) -> bool {
        matches!(self, Self::Confirmed | Self::Plausible)
    }
}

/// A crash or a hang.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// The input that caused it: a file in `crashes/` or `hangs/`, relative to the output directory.
    pub file: String,
    /// The fault: `SIGSEGV at 0x0`, `SIGABRT`, `out of fuel`, `did not return within 1 s`.
    pub reason: String,
    /// The place: `function (file:line)`, or `module+0xoffset`.
    pub place: String,
    /// The stack frames of the target and of libraries, innermost first, each in the format of `place`; empty if
    /// unknown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stack: Vec<String>,
    /// The arguments, simplified while they fail at the same place.
    pub args: Vec<Arg>,
    /// For a crash: whether it also occurs in a fresh process. If not, no test expects it. `None` if it was not
    /// replayed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_fresh_process: Option<bool>,
    /// For a crash that does not occur in the emitted tests: what happened there instead. Then no test expects it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_test_program: Option<String>,
    /// For a crash: what a caller would have to do wrong; `None` in reports of earlier versions, and for a hang.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grade: Option<Grade>,
    /// The likely preconditions that the input violates: `p != NULL`, `n <= length of p`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub violates: Vec<String>,
}

impl Finding {
    /// Whether the finding is likely to be a fault of the function, not of its caller. Only such findings count for
    /// the exit status.
    #[must_use]
    pub fn counts(&self) -> bool {
        self.grade.is_none_or(Grade::counts)
    }

    /// A remark for people if the crash did not occur in a fresh process or in the emitted tests; `None` if it did, or
    /// if that is not known.
    #[must_use]
    pub fn dependence(&self) -> Option<&str> {
        let depends = "depends on earlier calls: it does not occur in a fresh process";
        (self.in_fresh_process == Some(false)).then_some(depends).or(self.in_test_program.as_deref())
    }
}
