//! Crashes and hangs, and how likely it is that a caller causes them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{arg::Arg, c_text::decimals};

/// How likely it is that a finding is a fault of the function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Grade {
    /// It occurs through an entry point that takes any input (`main`, a fuzzing harness), or through a caller.
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
    for precondition in crashes.iter().flat_map(|crash| &crash.violates) {
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
    /// The callers that could confirm the crash, because the function is static or the crash depends on the content of
    /// an object. Unless it occurs through one of them, it violates a precondition.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub callers: Vec<Caller>,
    /// The revision or the build of the target in which the finding existed before (`--since`). Then it does not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub existed_in: Option<String>,
}

/// A public function through which a program gets to the function under test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Caller {
    /// Its name in the source.
    pub name: String,
    /// Its name for the linker.
    pub symbol: String,
    /// The pointer to the object that it constructs for the function under test; `None` if it calls the function,
    /// directly or through static functions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub constructs: Option<String>,
    /// Whether the crash occurred in a search that started there; `None` if there was no time for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reproduces: Option<bool>,
    /// The arguments with which the crash occurs; empty if it does not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<Arg>,
}

/// The precondition that a crash violates if it occurs through none of these callers; `None` if there are no callers.
#[must_use]
pub fn made_by(callers: &[Caller]) -> Option<String> {
    let names: Vec<&str> = callers.iter().map(|caller| caller.name.as_str()).collect();
    let names = names.join(", ");
    Some(match &callers.first()?.constructs {
        Some(object) => format!("*{object} is made by {names}"),
        None => format!("called by {names}"),
    })
}

impl Finding {
    /// The innermost frame of its place: of an abort, `place` also has the callers.
    #[must_use]
    pub fn innermost(&self) -> &str {
        self.place.split(", called by").next().unwrap_or_default()
    }

    /// Whether the only reason against the crash is that it is not known to occur through a caller.
    #[must_use]
    pub fn needs_caller(&self) -> bool {
        made_by(&self.callers).is_some_and(|text| self.violates == [text])
    }

    /// The caller through which the crash occurs, if it is known.
    #[must_use]
    pub fn confirmed_by(&self) -> Option<&Caller> {
        self.callers.iter().find(|caller| caller.reproduces == Some(true))
    }

    /// Whether the finding is likely to be a fault of the function, not of its caller. Only such findings count for
    /// the exit status.
    #[must_use]
    pub fn counts(&self) -> bool {
        self.existed_in.is_none() && self.grade.is_none_or(Grade::counts)
    }

    /// A remark for people: through which caller the crash occurs.
    #[must_use]
    pub fn confirmation(&self) -> Option<String> {
        let Caller { name, constructs, args, .. } = self.confirmed_by()?;
        let with = if args.is_empty() { String::new() } else { format!(" ({})", decimals(args)) };
        Some(match constructs {
            Some(object) => format!("confirmed: also if {name} makes *{object}{with}"),
            None => format!("confirmed: also through {name}{with}"),
        })
    }

    /// A remark for people if the crash did not occur in a fresh process or in the emitted tests; `None` if it did, or
    /// if that is not known.
    #[must_use]
    pub fn dependence(&self) -> Option<&str> {
        let depends = "depends on earlier calls: it does not occur in a fresh process";
        (self.in_fresh_process == Some(false)).then_some(depends).or(self.in_test_program.as_deref())
    }
}
