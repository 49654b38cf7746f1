//! The outcome of a campaign in one type. Every report (JSON, lcov, unit tests, the page, the text on the terminal) is derived
//! from [`Report`], and `report.json` is its serialization (schema 1).

use std::collections::BTreeMap;

use penfuzz_engine::saturation::Goals;
use penfuzz_target::program::Rounding;
use serde::{Deserialize, Serialize};

pub use super::signature::{Maker, OUTPUT_KIND, Parameter, Signature};
use super::{
    arg::{Arg, Operand},
    criterion_goals::CriterionGoal,
    decisions::{Criterion, Decision, UncoveredLine},
    exceptions::Exceptions,
    mutation::Mutation,
    proof::{Code, Proof},
    requirements::Requirement,
};
use crate::test_format::TestFormat;

/// The version of the `report.json` schema.
pub const SCHEMA: u32 = 1;

/// The outcome of a campaign on one function.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The target as on the command line.
    pub target: String,
    /// The sources that penfuzz compiled and the function needs; empty for a linked file.
    #[serde(default)]
    pub sources: Vec<String>,
    /// The sources of a file that pen-cc linked, as it has noted them; those that the function needs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub compilations: Vec<Compilation>,
    /// Compiler flags the sources need (`--cflag`).
    #[serde(default)]
    pub flags: Vec<String>,
    /// Libraries to link (`--lib`), for example `-lm`.
    #[serde(default)]
    pub libs: Vec<String>,
    /// The function under test, by its source name.
    pub function: String,
    /// Its signature in C.
    pub signature: Signature,
    /// Seed of the pseudo-random generator.
    pub seed: u64,
    /// Name of the search (`targeted`, `paper`, …).
    pub search: String,
    /// Rounding modes in which the function was called; with `all`, the mode is the last of the arguments everywhere.
    #[serde(default, skip_serializing_if = "Rounding::is_nearest")]
    pub rounding: Rounding,
    /// The kind of goals.
    #[serde(default, skip_serializing_if = "Goals::are_branches")]
    pub goals: Goals,
    /// How far a float may be from the one that a test expects, in floats between them (`--ulp`).
    #[serde(default, skip_serializing_if = "is_zero_u64")]
    pub ulp: u64,
    /// The reference whose values the tests expect, if it is not the function itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expects: Option<String>,
    /// The format of the test program (`--test-format`).
    #[serde(default, skip_serializing_if = "TestFormat::is_plain")]
    pub test_format: TestFormat,
    /// The project's header that declares the function; `None` when there is none that can be included as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<Header>,
    /// The source of the function is not there: a test cannot include it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub without_source: bool,
    /// Branch counts.
    pub branches: Branches,
    /// Calls of the representing function.
    pub evaluations: u64,
    /// Wall time of the search in seconds, over all resumed parts.
    pub seconds: f64,
    /// Evaluations per second of wall time.
    pub evaluations_per_second: f64,
    /// Why the campaign ended: `saturated`, `max-time`, `max-evals`, `interrupted`, or `workers-die` when the target ended one
    /// worker process after the other without a new find; `running` until it ends; `merged` for a campaign that was merged
    /// from others and has not run.
    pub stop_reason: String,
    /// Every site in scope, in source order.
    pub sites: Vec<Site>,
    /// How to build and run the emitted tests; `None` in a report that an older penfuzz has written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test_program: Option<TestProgram>,
    /// The emitted tests: together they cover every covered branch that a returning input covers, and none can be dropped.
    pub tests: Vec<Test>,
    /// One entry per distinct place.
    pub crashes: Vec<Finding>,
    /// One entry per distinct place.
    pub hangs: Vec<Finding>,
    /// Inputs that use up their fuel (loop iterations and calls) and return with more, within the time limit of an evaluation:
    /// they are no hangs, and the tests may contain them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub long: Vec<LongInput>,
    /// Shared libraries that the target calls into and whose branches are not in scope though calls are followed
    /// (`--scope calls`): their file names, without libraries of the compiler and the C library.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_followed: Vec<String>,
    /// Symbols that the function can reach and nothing defines: an evaluation ends where it needs one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undefined: Vec<String>,
    /// The place of the function's first assumption (`FILE:LINE`) when nothing is covered: it is likely that no input meets them all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unmet_assumption: Option<String>,
    /// Functions that code of the target takes from its environment, as `__VERIFIER_nondet_int`: a program with this code must define
    /// them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub provided: Vec<String>,
    /// The hash of each source file of the sites, as it was when this report was made, in 16 hexadecimal digits:
    /// [`hash::of_bytes`](penfuzz_target::hash::of_bytes). Pages and texts show lines of these files only, and only as
    /// long as they have this content.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub source_hashes: BTreeMap<String, String>,
    /// Floating-point exceptions in detail; only in campaigns that search for them, at their end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exceptions: Option<Exceptions>,
    /// The figures of each criterion of `--criterion`, by its name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub criteria: BTreeMap<String, Criterion>,
    /// Lines with code that no test executes; only with `--criterion line`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uncovered_lines: Vec<UncoveredLine>,
    /// The tags of `--requirements`, in the order of that file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requirements: Vec<Requirement>,
    /// The decisions of several conditions in scope, in source order; only in campaigns for MC/DC.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<Decision>,
    /// Boundary values, exceptions, paths and loops; only in campaigns for such a criterion.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub criterion_goals: Vec<CriterionGoal>,
    /// Each prefix of a path was searched for; with `--criterion path` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paths: Option<Paths>,
    /// Which mutants the tests kill; of `penfuzz mutate` only.
    #[serde(flatten, default, skip_serializing_if = "Option::is_none")]
    pub mutation: Option<Mutation>,
    /// Variables with static storage duration that the function can reach. Each evaluation begins with the values that they had when
    /// the target was loaded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shared_state: Vec<SharedVariable>,
    /// The function has state besides `shared_state`: a test may do something else behind others than in a process of its own.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub tests_apart: bool,
    /// The function may read the floating-point exception flags, or change the environment of later computations: each call begins
    /// without a raised flag.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub reads_environment: bool,
}

impl Report {
    /// Is a whole program under test?
    #[must_use]
    pub fn is_program(&self) -> bool {
        self.signature.symbol == "main" && !self.signature.is_static
    }

    /// The branches that are proved unreachable, in the order of the sites.
    pub fn proved(&self) -> impl Iterator<Item = (&Site, &Branch, &Proof)> {
        let all = self.sites.iter().flat_map(|s| s.branches.iter().map(move |b| (s, b)));
        all.filter_map(|(s, b)| Some((s, b, b.proof.as_ref().filter(|p| p.is_proved())?)))
    }
}

/// How far the paths of a function are enumerated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Paths {
    /// Rounds of each loop, at most.
    pub rounds: u32,
    /// Each prefix was searched for.
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
    /// Bytes.
    pub size: u64,
}

/// A source file, and the options without which it is another program.
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
    /// What is included, as the source of the function writes it, with its quotes or brackets: the header, and before it those
    /// that it needs.
    pub includes: Vec<String>,
    /// Options of the compiler that it needs, with absolute paths.
    pub flags: Vec<String>,
    /// In a C++ program it must stand in `extern "C"`.
    #[serde(default, skip_serializing_if = "is_false")]
    pub extern_c: bool,
}

/// The emitted tests as a program. The commands are for a shell in the output directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestProgram {
    /// Its text, relative to the output directory.
    pub file: String,
    /// Its format.
    #[serde(default)]
    pub format: TestFormat,
    /// Compiles and links it.
    pub build: String,
    /// Runs it after that; the exit status is 0 if every check holds, else another (of a plain program 1).
    pub run: String,
    /// Builds it with `gcc --coverage -O0`, runs it, and leaves gcov's files in the output directory.
    pub coverage: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
pub(super) fn is_zero(n: &usize) -> bool {
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

/// Counts of branches in scope.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Branches {
    /// All branches of all sites in scope, or the other goals of the campaign ([`Report::goals`]).
    pub total: usize,
    /// Taken by an input that ends normally: the function returns or calls `exit`. The emitted tests take all of them.
    pub covered: usize,
    /// Taken only by inputs that crash or hang; not among `covered`.
    #[serde(default)]
    pub covered_by_crash_only: usize,
    /// Taken only by evaluations behind others, and not by the same input in a fresh process; not among `covered`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub depends_on_earlier_calls: usize,
    /// Covered, and every descendant too (or given up): `CoverMe`, Def. 3.2.
    pub saturated: usize,
    /// Not covered after their search budget was spent, without those that depend on earlier calls.
    pub given_up: usize,
    /// Proved unreachable by two solvers; not among `given_up`.
    pub proved_unreachable: usize,
}

impl Branches {
    /// The branches that some input may take, as far as is known.
    #[must_use]
    pub fn reachable(&self) -> usize {
        self.total.saturating_sub(self.proved_unreachable)
    }
}

/// One conditional.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Site {
    /// Function that holds it.
    pub function: String,
    /// Source file.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1; 0 when unknown.
    pub column: u32,
    /// `branch`, `switch` or `select`; `comparison` in a search for boundary values, `operation` in one for exceptions.
    pub kind: String,
    /// Of an operation, as C writes it: `*`, `log`, `(int)`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub operation: String,
    /// The comparison behind it, for example `<=`; empty when there is not just one.
    pub predicate: String,
    /// What its distances count: `floats` or `integers` between the operands; empty when there is not just one comparison.
    #[serde(default)]
    pub distance_unit: String,
    /// When no input executes it: the branch, as indices `[site, branch]` into `sites`, of a condition that some input executes, from
    /// which it is the fewest conditionals away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits_for: Option<(usize, usize)>,
    /// Its number in the compiled code; `None` in a report that an older penfuzz has written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<Code>,
    /// Its branches: true then false, or one per destination of a switch (default first).
    pub branches: Vec<Branch>,
}

impl Site {
    /// Has some input executed the condition? A comparison that ran has a distance, also when only a crashing input ran it.
    #[must_use]
    pub fn is_executed(&self) -> bool {
        self.branches.iter().any(|b| !b.status.is_untaken() || b.best_distance.is_some())
    }
}

/// One side of a site.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Branch {
    /// `true`, `false`, `default`, or the case values of a switch destination (`case 1, 2`); `below`, `equal` or `above` of a
    /// comparison; `overflow`, `underflow`, `divide-by-zero`, `invalid` or `inexact` of an operation.
    pub outcome: String,
    /// Its state.
    pub status: Status,
    /// Evaluations that the targeted search made for this branch, covered or not. Each is made for one branch at most, so the sum over
    /// the branches is at most that of the campaign. 0 for the other searches, and for branches covered during the search for another one.
    pub evaluations: u64,
    /// The count of evaluations when it was first taken; `None` when it is not covered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub covered_at: Option<u64>,
    /// The smallest branch distance seen (ULPs or integer difference); `None` when its site was never reached
    /// or the condition has no distance. 0 for a covered branch.
    pub best_distance: Option<u64>,
    /// The input that covers it or came closest, as arguments; `None` when there is none.
    pub input: Option<Vec<Arg>>,
    /// Of an uncovered branch, the input that got to `best_distance`, simplified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub best_input: Option<Vec<Arg>>,
    /// Of an open branch, the number of kept inputs that execute its condition, when all are equally far from the branch
    /// and there are at least four: its operands may not depend on the arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unchanged_over: Option<usize>,
    /// The operands, when `input` meets this boundary value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub met: Option<Met>,
    /// What solvers state about it, when no input takes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<Proof>,
}

impl Branch {
    /// Has no input taken it yet, in a process of its own?
    #[must_use]
    pub fn is_open(&self) -> bool {
        matches!(self.status, Status::GivenUp | Status::Uncovered | Status::DependsOnEarlierCalls)
    }
}

/// The comparison where a boundary value was first met.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Met {
    /// The operand before the operator.
    pub left: Operand,
    /// The operand behind the operator.
    pub right: Operand,
    /// `true` or `false`: whether the condition holds there.
    pub outcome: String,
}

/// State of a branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Covered with all its descendants.
    Saturated,
    /// Covered; some descendant is still open.
    Covered,
    /// Only an input that crashed or hung took it.
    CoveredByCrash,
    /// Not covered, budget spent.
    GivenUp,
    /// Not covered, budget left.
    Uncovered,
    /// Taken only by evaluations behind others: the same input does not take it in a fresh process.
    DependsOnEarlierCalls,
    /// Two solvers found that no execution takes it.
    ProvedUnreachable,
}

impl Status {
    /// Has no evaluation taken it?
    #[must_use]
    pub fn is_untaken(self) -> bool {
        matches!(self, Self::GivenUp | Self::Uncovered | Self::ProvedUnreachable)
    }
}

/// One emitted test. The test program expects the results that are known; one that differs between two runs of the campaign's
/// process is not.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Test {
    /// The kept input it was simplified from: a file in `queue/` (or `pending/`), relative to the output directory.
    pub file: String,
    /// The arguments, as simple as the branches allow that no other test covers.
    pub args: Vec<Arg>,
    /// The branches it covers, as indices `[site, branch]` into `sites`.
    pub covers: Vec<(usize, usize)>,
    /// How it ends the process; `None` when the function returns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends: Option<End>,
    /// The type of the C++ exception that leaves the function, as `std::type_info::name` gives it; empty for an exception of another
    /// language. `None` when it throws none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throws: Option<String>,
    /// What the function returned: a scalar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Arg>,
    /// Of a sequence: what each call returned, makers first, as far as it is known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub results: Vec<Option<Arg>>,
    /// Of a sequence: `errno` behind each call, makers first, where a call set it; empty if none did. Each call begins with 0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errnos: Vec<Option<i32>>,
    /// What it left behind its pointers, by the names of the parameters. A structure is one number of 64 bits after the other.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<Arg>,
    /// `errno` behind the call, where the call set it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub errno: Option<i32>,
}

/// A normal end of a test other than a return, which ends the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// By `exit`, `_exit`, `_Exit` or `quick_exit`; with the exit status that the parent process sees.
    Exit(u8),
}

/// An input that takes long, and returns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LongInput {
    /// The kept input: a file in `queue/`, relative to the output directory.
    pub file: String,
    /// The arguments.
    pub args: Vec<Arg>,
    /// Wall time of a run that searches for nothing, in milliseconds, rounded down.
    pub milliseconds: u64,
}

/// A crash or a hang.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// The input that found it: a file in `crashes/` or `hangs/`, relative to the output directory.
    pub file: String,
    /// The fault: `SIGSEGV at 0x0`, `SIGABRT`, `out of fuel`, `no answer after 1 s`.
    pub reason: String,
    /// Where: `function (file:line)`, or `module+0xoffset`.
    pub place: String,
    /// The frames of the target and of libraries, innermost first, each as `place`; empty if unknown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stack: Vec<String>,
    /// The arguments, simplified where they still fail at the same place.
    pub args: Vec<Arg>,
    /// Of a crash: does it occur in a fresh process, too? If not, no test expects it. `None` when it was not replayed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_fresh_process: Option<bool>,
}

impl Finding {
    /// For people: that it did not occur in a fresh process; `None` when it did, or when that is not known.
    #[must_use]
    pub fn dependence(&self) -> Option<&'static str> {
        (self.in_fresh_process == Some(false))
            .then_some("depends on earlier calls: it does not occur in a fresh process")
    }
}
