//! The result of a campaign as one type. Every report (JSON, lcov, unit tests, the page, the text on the terminal) is
//! derived from [`Report`], and `report.json` is its serialization (schema 1).

use std::collections::BTreeMap;

use penfuzz_engine::saturation::Goals;
use penfuzz_target::program::Rounding;
use serde::{Deserialize, Serialize};

use super::{
    arg::Arg,
    criterion_goals::CriterionGoal,
    decisions::{Criterion, Decision, UncoveredLine},
    exceptions::{ExceptionVerdict, Exceptions, Operations},
    goal::GoalResult,
    mutation::Mutation,
    origin::Origin,
    proof::Proof,
    requirements::Requirement,
    test_check::{FailedTest, TestCheck, UninitializedVariable},
    test_format::{TestFormat, TestStyle},
};
pub use super::{
    branches::{Branch, BranchIndex, Branches, Met, Site, Status},
    finding::{Finding, Grade},
    signature::{Maker, OUTPUT_KIND, POINTER_KIND, Parameter, Signature},
};

/// The version of the `report.json` schema.
pub const SCHEMA: u32 = 1;

/// The result of a campaign on one function.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: u32,
    /// What made the report, and when; `None` for a single evaluation, and from an older penfuzz.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// The target as given on the command line.
    pub target: String,
    /// The sources that penfuzz compiled, limited to those that the function needs; empty for a linked file.
    #[serde(default)]
    pub sources: Vec<String>,
    /// The sources that pen-cc recorded in a linked file, limited to those that the function needs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub compilations: Vec<Compilation>,
    /// Compiler flags that the sources need (`--cflag`).
    #[serde(default)]
    pub flags: Vec<String>,
    /// Libraries to link (`--lib`), for example `-lm`.
    #[serde(default)]
    pub libs: Vec<String>,
    /// The function under test, by its source name.
    pub function: String,
    /// The signature in C.
    pub signature: Signature,
    /// Seed of the pseudo-random generator.
    pub seed: u64,
    /// Name of the search (`targeted`, `paper`, …).
    pub search: String,
    /// Rounding modes in which the function was called. With `all`, the mode is the last argument of every call.
    #[serde(default, skip_serializing_if = "Rounding::is_nearest")]
    pub rounding: Rounding,
    /// The kind of goals.
    #[serde(default, skip_serializing_if = "Goals::are_branches")]
    pub goals: Goals,
    /// Largest accepted distance of a float from the expected one, in ULPs (`--ulp`).
    #[serde(default, skip_serializing_if = "is_zero_u64")]
    pub ulp: u64,
    /// The reference function whose values the tests expect, if it is not the function itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expects: Option<String>,
    /// The format of the test program (`--test-format`).
    #[serde(default, skip_serializing_if = "TestFormat::is_plain")]
    pub test_format: TestFormat,
    /// How the tests of plain numbers are written (`--test-style`).
    #[serde(default, skip_serializing_if = "TestStyle::is_functions")]
    pub test_style: TestStyle,
    /// The project's header that declares the function; `None` if there is none that can be included without changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<Header>,
    /// The source of the function does not exist here, so a test cannot include it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub without_source: bool,
    /// Branch counts.
    pub branches: Branches,
    /// If the function has no branches: the number of branches of the functions that it calls, which `--scope calls`
    /// would make goals.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub branches_of_calls: usize,
    /// Calls of the representing function.
    pub evaluations: u64,
    /// Wall time of the search in seconds, over all resumed parts.
    pub seconds: f64,
    /// Evaluations per second of wall time.
    pub evaluations_per_second: f64,
    /// Why the campaign ended: `saturated`, `max-time`, `max-evals`, `interrupted`, or `workers-die` if the target
    /// ended one worker process after the other without a new find. `running` until the campaign ends; `merged` for a
    /// campaign that was merged from others and has not run.
    pub stop_reason: String,
    /// Every site in scope, in source order.
    pub sites: Vec<Site>,
    /// The commands that build and run the emitted tests; `None` in a report that an older penfuzz wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test_program: Option<TestProgram>,
    /// The emitted tests. Together they cover every covered branch that some returning input covers, and none of them
    /// is redundant.
    pub tests: Vec<Test>,
    /// Crashes, one entry per distinct place.
    pub crashes: Vec<Finding>,
    /// Hangs, one entry per distinct place.
    pub hangs: Vec<Finding>,
    /// Inputs that exceed their fuel (loop iterations and calls) but return with more fuel within the time limit of an
    /// evaluation. They are not hangs, and the tests may contain them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub long: Vec<LongInput>,
    /// File names of shared libraries that the target calls and whose branches are not in scope although calls are
    /// followed (`--scope calls`). Libraries of the compiler and the C library are left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_followed: Vec<String>,
    /// Undefined symbols that the function can reach. An evaluation that needs one ends there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undefined: Vec<String>,
    /// The place of the function's first assumption (`FILE:LINE`), if nothing is covered: probably no input meets all
    /// assumptions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unmet_assumption: Option<String>,
    /// Functions that code of the target takes from its environment, such as `__VERIFIER_nondet_int`. A program that
    /// contains this code must define them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub provided: Vec<String>,
    /// The hash ([`hash::of_bytes`](penfuzz_target::hash::of_bytes), 16 hexadecimal digits) of each source file of the
    /// sites when this report was made. Pages and texts show lines only of these files, and only while their content
    /// has this hash.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub source_hashes: BTreeMap<String, String>,
    /// Details of floating-point exceptions; only in campaigns that search for them, after they have ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exceptions: Option<Exceptions>,
    /// Whether the function is free of floating-point exceptions; only together with `exceptions`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<ExceptionVerdict>,
    /// The operations by what is known about their exceptions; only together with `exceptions`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operations: Option<Operations>,
    /// The result for the goal of `--goal`; only in campaigns with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal: Option<GoalResult>,
    /// The counts of each criterion of `--criterion`, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub criteria: BTreeMap<String, Criterion>,
    /// Lines with code that no test executes; only with `--criterion line`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uncovered_lines: Vec<UncoveredLine>,
    /// The tags of `--requirements`, in the order of that file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requirements: Vec<Requirement>,
    /// The decisions with several conditions in scope, in source order; only in campaigns for MC/DC.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<Decision>,
    /// Goals for boundary values, exceptions, paths and loops; only in campaigns for such a criterion.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub criterion_goals: Vec<CriterionGoal>,
    /// The limits of the enumeration of paths; only with `--criterion path`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paths: Option<Paths>,
    /// The mutants that the tests kill; only from `penfuzz mutate`.
    #[serde(flatten, default, skip_serializing_if = "Option::is_none")]
    pub mutation: Option<Mutation>,
    /// Variables with static storage duration that the function can reach. Each evaluation begins with the values that
    /// they had when the target was loaded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shared_state: Vec<SharedVariable>,
    /// The function has state besides `shared_state`: a test that runs after others may behave differently than in its
    /// own process.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub tests_apart: bool,
    /// Number of tests that were not repeated in a fresh process, because the system had none to spare.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unconfirmed_tests: usize,
    /// What each compiler made of the emitted tests; empty if they were not compiled.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub test_checks: Vec<TestCheck>,
    /// Tests that do not build, or fail outside of the campaign. They are not emitted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed_tests: Vec<FailedTest>,
    /// The variables on which tests or branches depend although the function has not written them, if gcc names any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uninitialized: Vec<UninitializedVariable>,
    /// The function may read the floating-point exception flags, or change the environment of later computations. Each
    /// call begins with all flags clear.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub reads_environment: bool,
}

impl Report {
    /// Returns whether the target is a whole program.
    #[must_use]
    pub fn is_program(&self) -> bool {
        self.signature.symbol == "main" && !self.signature.is_static
    }

    /// Returns the branches that are proved unreachable, in the order of the sites.
    pub fn proved(&self) -> impl Iterator<Item = ProvedBranch<'_>> {
        let all = self.sites.iter().flat_map(|s| s.branches.iter().map(move |b| (s, b)));
        all.filter_map(|(site, branch)| {
            Some(ProvedBranch { site, branch, proof: branch.proof.as_ref().filter(|p| p.is_proved())? })
        })
    }

    /// The branch with these indices.
    ///
    /// # Panics
    /// If there is none.
    #[must_use]
    pub fn branch(&self, index: BranchIndex) -> &Branch {
        &self.sites[index.site].branches[index.branch]
    }
}

/// A branch that is proved unreachable.
#[derive(Debug, Clone, Copy)]
pub struct ProvedBranch<'a> {
    /// Its site.
    pub site: &'a Site,
    /// The branch.
    pub branch: &'a Branch,
    /// The proof.
    pub proof: &'a Proof,
}

/// Limits of the enumeration of a function's paths.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Paths {
    /// Maximum number of rounds of each loop.
    pub rounds: u32,
    /// The search tried each prefix of a path.
    pub complete: bool,
}

/// A variable that keeps its value between two calls.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedVariable {
    /// Name in the source.
    pub name: String,
    /// Source file.
    pub file: String,
    /// Line of its definition; 0 if unknown.
    pub line: u32,
    /// Size in bytes.
    pub size: u64,
}

/// A source file, and the options that affect its meaning.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compilation {
    /// Its absolute path.
    pub source: String,
    /// Options of the preprocessor and of the language, with absolute paths.
    pub flags: Vec<String>,
}

/// A header of the project that declares the function under test.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// The arguments of `#include` as the source of the function writes them, with quotes or brackets: the headers that
    /// it needs, then the header itself.
    pub includes: Vec<String>,
    /// Compiler options that it needs, with absolute paths.
    pub flags: Vec<String>,
    /// A C++ program must include it within `extern "C"`.
    #[serde(default, skip_serializing_if = "is_false")]
    pub extern_c: bool,
}

/// The program of the emitted tests. The commands are for a shell in the output directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestProgram {
    /// Path of its text, relative to the output directory.
    pub file: String,
    /// Its format.
    #[serde(default)]
    pub format: TestFormat,
    /// Command that compiles and links it.
    pub build: String,
    /// Command that runs it after that. The exit status is 0 if every check holds, and otherwise not (1 for a plain
    /// program).
    pub run: String,
    /// Command that builds it with `gcc --coverage -O0`, runs it, and leaves gcov's files in the output directory.
    pub coverage: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
pub(crate) fn is_zero(n: &usize) -> bool {
    *n == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(b: &bool) -> bool {
    !b
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero_u64(n: &u64) -> bool {
    *n == 0
}

/// One emitted test. The test program expects the known results. A result that differed between two runs of the
/// campaign's process is not known.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Test {
    /// The kept input from which it was simplified: a file in `queue/` (or `pending/`), relative to the output
    /// directory.
    pub file: String,
    /// Of a function that takes structures, arrays or text: the simplified input in hexadecimal digits, without the
    /// zeros at its end. The arguments show only what the call reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
    /// The arguments, simplified while they cover the branches that no other test covers.
    pub args: Vec<Arg>,
    /// The branches it covers, as indices `[site, branch]` into `sites`.
    pub covers: Vec<BranchIndex>,
    /// How the test ends the process; `None` if the function returns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends: Option<End>,
    /// The type of the C++ exception that leaves the function, as `std::type_info::name` returns it; empty for an
    /// exception of another language. `None` if none is thrown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throws: Option<String>,
    /// The return value, if it is a scalar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Arg>,
    /// For a sequence: the return value of each call, makers first; `None` where it is not known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub results: Vec<Option<Arg>>,
    /// For a sequence: `errno` after each call that set it, makers first; empty if no call did. Each call begins with
    /// `errno` 0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errnos: Vec<Option<i32>>,
    /// The values that its pointers point to after the call, by the names of the parameters. A structure is listed as
    /// 64-bit numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<Arg>,
    /// `errno` after the call, if the call set it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub errno: Option<i32>,
    /// Whether what the function does depends on uninitialized memory. The values that do are not expected.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub depends_on_uninitialized: bool,
    /// The names of the values that do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub indefinite: Vec<String>,
}

/// A normal end of a test that ends the process instead of returning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// By `exit`, `_exit`, `_Exit` or `quick_exit`, with the exit status that the parent process sees.
    Exit(u8),
}

/// An input that takes long, but returns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LongInput {
    /// The kept input: a file in `queue/`, relative to the output directory.
    pub file: String,
    /// The arguments.
    pub args: Vec<Arg>,
    /// Wall time of a run without search, in milliseconds, rounded down.
    pub milliseconds: u64,
}
