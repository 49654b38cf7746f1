//! `penfuzz solve`: decides whether a formula of floats and bit vectors is satisfiable.
//!
//! The answer comes from search, not from proof: the formula becomes a C function with one conditional per conjunct
//! ([`emit`]), and an input that passes all of them is a model (Fu and Su, *Mathematical Execution*, 2016, Sect. 4.4.3;
//! `XSat`, CAV 2016). An evaluator of the terms, which shares nothing with the C code, checks each model ([`eval`]).
//! `unsat` needs more: either all inputs are evaluated because there are few ([`penfuzz_directory::replay::exhaust`]),
//! or two solvers agree ([`solvers`]).
//!
//! | step | file |
//! | --- | --- |
//! | text to terms | `sexp.rs`, `script.rs`, `reader.rs`, `vectors.rs`, `literals.rs`, `term.rs` |
//! | definitions replaced, conjuncts ordered | `problem.rs` |
//! | terms to C | `emit/` |
//! | search | `search.rs`, and [`penfuzz_path_search`] |
//! | models checked | `eval.rs`, `float.rs` |

pub mod emit;
pub mod eval;
pub mod float;
mod literals;
pub mod problem;
mod reader;
pub mod script;
mod search;
pub mod sexp;
pub mod solvers;
pub mod term;
mod vectors;

#[cfg(test)]
mod tests;

use std::{path::Path, time::Duration};

use penfuzz_error::{Error, failed};
use penfuzz_system::files::foreign;

use self::{problem::Problem, script::Script, term::Value};

/// Options of the search and of the solvers.
#[derive(Debug, Clone)]
pub struct Options {
    /// Seed of the pseudo-random generator.
    pub seed: u64,
    /// Time limit of the search.
    pub max_time: Duration,
    /// Maximum number of evaluations of the search.
    pub max_evals: u64,
    /// Name of the local minimizer.
    pub minimizer: String,
    /// Time limit for evaluating all inputs if there are few; zero to never do so.
    pub exhaust_time: Duration,
    /// Time limit of each solver; `None` to use no solvers.
    pub solver_time: Option<Duration>,
}

/// The answer for a formula.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// These values of all variables satisfy the formula.
    Sat(Vec<Value>),
    /// No values satisfy it.
    Unsat,
    /// Undecided.
    Unknown,
}

impl Answer {
    /// Its name in SMT-LIB.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Sat(_) => "sat",
            Self::Unsat => "unsat",
            Self::Unknown => "unknown",
        }
    }
}

/// The method that gave the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Definitions and constants alone decide the formula.
    Simplification,
    /// The search for a model.
    Search,
    /// The evaluation of all inputs.
    Exhaustion,
    /// Installed solvers.
    Solvers,
}

impl Method {
    /// Its name in `--json`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Simplification => "simplification",
            Self::Search => "search",
            Self::Exhaustion => "exhaustion",
            Self::Solvers => "solvers",
        }
    }
}

/// An answer, and how it was found.
#[derive(Debug)]
pub struct Solved {
    /// The formula.
    pub script: Script,
    /// The answer.
    pub answer: Answer,
    /// The last method that was tried.
    pub method: Method,
    /// Number of evaluations of the C function.
    pub evaluations: u64,
    /// Number of inputs that the C function accepts, but the evaluator of the terms does not.
    pub rejected: u64,
    /// The answers of the solvers.
    pub solvers: Vec<penfuzz_report::proof::Answer>,
    /// Further messages for the user.
    pub notes: Vec<String>,
}

impl Solved {
    /// Returns true if the answer contradicts the `:status` of the file.
    #[must_use]
    pub fn contradicts_status(&self) -> bool {
        let found = self.answer.name();
        self.script.status.as_deref().is_some_and(|s| matches!(s, "sat" | "unsat") && found != "unknown" && s != found)
    }

    /// The model in SMT-LIB; empty if there is none.
    #[must_use]
    pub fn model(&self) -> String {
        let Answer::Sat(values) = &self.answer else { return String::new() };
        let lines = self.script.terms.variables.iter().zip(values).map(|(variable, value)| {
            format!("  (define-fun {} () {} {})\n", variable.name, variable.sort.text(), value.text())
        });
        format!("(model\n{})\n", lines.collect::<String>())
    }
}

/// Maximum size of a file in bytes.
const LONGEST: u64 = 256 << 20;
/// Stack size in bytes of the thread that parses a file, since lists may be nested deeply.
const STACK: usize = 1 << 30;

/// Reads and parses a file.
///
/// # Errors
/// When the file cannot be read, or its formula is not supported.
pub fn read(file: &Path) -> Result<Script, Error> {
    let bytes = foreign::read(file, LONGEST).map_err(|e| failed(file, "cannot be read", e))?;
    let text = String::from_utf8(bytes).map_err(|_| Error::new(format!("{} is not a text file", file.display())))?;
    let read = || script::read(&text);
    let result = std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, read);
        thread.map_err(|e| failed(file, "cannot be read", e)).map(std::thread::ScopedJoinHandle::join)
    })?;
    let read = result.map_err(|_| Error::new(format!("{} cannot be read", file.display())))?;
    read.map_err(|e| Error::new(format!("{}: {e}", file.display())))
}

/// Solves the formula of a file.
///
/// # Errors
/// Those of [`read`], and when the C function cannot be compiled or run.
pub fn solve(file: &Path, options: &Options) -> Result<Solved, Error> {
    let mut script = read(file)?;
    let problem = Problem::new(&mut script.terms, &script.asserted);
    let mut solved = Solved {
        script,
        answer: Answer::Unknown,
        method: Method::Simplification,
        evaluations: 0,
        rejected: 0,
        solvers: Vec::new(),
        notes: Vec::new(),
    };
    let mut few_inputs = None;
    if problem.is_refuted {
        solved.answer = Answer::Unsat;
    } else if problem.conjuncts.is_empty() || problem.free.is_empty() {
        accept(&mut solved, &problem, &[]);
    } else {
        few_inputs = search::run(&mut solved, &problem, options)?;
    }
    if let (Answer::Unknown, Some(time)) = (&solved.answer, options.solver_time) {
        solvers::ask(&mut solved, file, time)?;
    }
    if let (Answer::Unknown, Some(mut form)) = (&solved.answer, few_inputs) {
        search::exhaust(&mut solved, &problem, options, &mut form)?;
    }
    Ok(solved)
}

/// Accepts these values of the free variables as a model if the evaluator agrees, and counts them as rejected
/// otherwise.
fn accept(solved: &mut Solved, problem: &Problem, free: &[Value]) -> bool {
    let values = problem.complete(&solved.script.terms, free);
    let holds = eval::holds(&solved.script.terms, &solved.script.asserted, &values);
    if holds {
        solved.answer = Answer::Sat(values);
    } else {
        solved.rejected += 1;
    }
    holds
}
