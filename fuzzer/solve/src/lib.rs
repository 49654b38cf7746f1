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
//! | text to terms | `sexp.rs`, `script.rs`, `reader.rs`, `reals.rs`, `vectors.rs`, `literals.rs`, `term.rs` |
//! | definitions replaced, conjuncts ordered | `problem.rs` |
//! | terms to C | `emit/` |
//! | search | `search.rs`, and [`penfuzz_path_search`] |
//! | models checked | `eval.rs`, `float.rs`; of `Real` and `Int` by `exact.rs` |

pub mod emit;
pub mod eval;
pub mod exact;
pub mod float;
mod literals;
pub mod problem;
mod reader;
mod reals;
pub mod script;
mod search;
pub mod sexp;
pub mod solvers;
pub mod term;
mod vectors;

#[cfg(test)]
mod tests;

use std::{
    path::Path,
    time::{Duration, Instant},
};

use penfuzz_error::{Error, failed};
use penfuzz_system::files::foreign;

use self::{
    exact::Exact,
    problem::Problem,
    script::Script,
    search::Search,
    term::{Op, Term, Value},
};

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
    /// Which solvers are asked, and how long.
    pub proofs: Proofs,
}

/// The use of solvers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proofs {
    /// None is asked.
    Off,
    /// All together get half of the time limit, after the first quarter of the search.
    Within,
    /// Each gets this time, after the search.
    Each(Duration),
}

/// The answer for a formula.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// These values of all variables satisfy the formula.
    Sat(Vec<Value>),
    /// These rational values of all variables satisfy the formula, which is one of `Real` and `Int`.
    ExactSat(Vec<Exact>),
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
            Self::Sat(_) | Self::ExactSat(_) => "sat",
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

    /// The values of the model in the order of the variables: name, sort and value in SMT-LIB. `None` without a model.
    #[must_use]
    pub fn constants(&self) -> Option<Vec<(&str, String, String)>> {
        let terms = &self.script.terms;
        let texts: Vec<String> = match &self.answer {
            Answer::Sat(values) => values.iter().map(|value| value.text()).collect(),
            Answer::ExactSat(values) => {
                terms.variables.iter().zip(values).map(|(variable, value)| value.text(variable.sort)).collect()
            }
            _ => return None,
        };
        let variables = terms.variables.iter().map(|v| (v.name.as_str(), terms.sort_text(v)));
        Some(variables.zip(texts).map(|((name, sort), text)| (name, sort, text)).collect())
    }

    /// The model in SMT-LIB; empty if there is none.
    #[must_use]
    pub fn model(&self) -> String {
        let Some(constants) = self.constants() else { return String::new() };
        let lines = constants.iter().map(|(name, sort, value)| format!("  (define-fun {name} () {sort} {value})\n"));
        format!("(model\n{})\n", lines.collect::<String>())
    }

    /// How the answer is to be understood, if the formula is one of `Real` and `Int`.
    #[must_use]
    pub fn remark(&self) -> Option<&'static str> {
        match &self.answer {
            _ if !self.script.terms.are_exact => None,
            Answer::ExactSat(_) if self.method == Method::Simplification => {
                Some("checked with exact rational arithmetic")
            }
            Answer::ExactSat(_) if self.method == Method::Search => {
                Some("searched in 64-bit floats and integers; the model was checked with exact rational arithmetic")
            }
            Answer::ExactSat(_) => Some("a solver's model, checked with exact rational arithmetic"),
            Answer::Unknown => {
                Some("searched in 64-bit floats and integers, which are few of the values of Real and Int")
            }
            _ => None,
        }
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
    let constrained = constrained(&mut script);
    let problem = Problem::new(&mut script.terms, &constrained);
    let mut solved = Solved {
        script,
        answer: Answer::Unknown,
        method: Method::Simplification,
        evaluations: 0,
        rejected: 0,
        solvers: Vec::new(),
        notes: Vec::new(),
    };
    if problem.is_refuted && !solved.script.terms.are_exact {
        solved.answer = Answer::Unsat;
    } else if problem.is_refuted || problem.conjuncts.is_empty() || problem.free.is_empty() {
        // If rounding has refuted a formula of reals, that is no proof.
        accept(&mut solved, &problem, &[]);
        ask_at_end(&mut solved, file, options)?;
    } else {
        search_and_ask(&mut solved, &problem, file, options)?;
    }
    Ok(solved)
}

/// The assertions, and for a formula of reals that each variable is finite in the search.
fn constrained(script: &mut Script) -> Vec<Term> {
    let mut all = script.asserted.clone();
    if script.terms.are_exact {
        for (number, sort) in script.terms.variables.iter().map(|v| v.sort).enumerate().collect::<Vec<_>>() {
            if sort == reals::REAL {
                let variable = script.terms.make(Op::Var(number as u32), sort, &[]);
                all.push(reals::is_finite(&mut script.terms, variable));
            }
        }
    }
    all
}

/// Asks the solvers about a formula that is not decided, with the whole time limit.
fn ask_at_end(solved: &mut Solved, file: &Path, options: &Options) -> Result<(), Error> {
    match (&solved.answer, options.proofs) {
        (Answer::Unknown, Proofs::Within) => solvers::ask(solved, file, solvers::Limit::All(options.max_time)),
        (Answer::Unknown, Proofs::Each(time)) => solvers::ask(solved, file, solvers::Limit::Each(time)),
        _ => Ok(()),
    }
}

/// All inputs are evaluated before solvers are asked if they have at most this number of bits, which takes a second.
const FEW_BITS: u32 = 24;
/// The search before solvers are asked, at least.
const FIRST_SEARCH: Duration = Duration::from_secs(1);

/// Searches, asks solvers, and evaluates all inputs if they are few, until one of these decides the formula.
fn search_and_ask(solved: &mut Solved, problem: &Problem, file: &Path, options: &Options) -> Result<(), Error> {
    let mut search = Search::new(solved, problem)?;
    let bits = problem.input_bits(&solved.script.terms);
    let can_exhaust = search::can_exhaust(bits, options) && !solved.script.terms.are_exact;
    let time = if can_exhaust { options.max_time.min(search::SEARCH_FIRST) } else { options.max_time };
    let first = match options.proofs {
        Proofs::Within => time.min((options.max_time / 4).max(FIRST_SEARCH)),
        Proofs::Off | Proofs::Each(_) => time,
    };
    search.run(solved, problem, options, first)?;
    let are_few = can_exhaust && bits <= FEW_BITS && options.proofs == Proofs::Within;
    if are_few && solved.answer == Answer::Unknown {
        search.exhaust(solved, problem, options)?;
    }
    match (&solved.answer, options.proofs) {
        (Answer::Unknown, Proofs::Within) => {
            let begun = Instant::now();
            solvers::ask(solved, file, solvers::Limit::All(options.max_time / 2))?;
            let used = first + begun.elapsed();
            search.run(solved, problem, options, time.saturating_sub(used))?;
        }
        _ => ask_at_end(solved, file, options)?,
    }
    if can_exhaust && !are_few && solved.answer == Answer::Unknown {
        search.exhaust(solved, problem, options)?;
    }
    Ok(())
}

/// Accepts these values of the free variables as a model if the evaluator agrees, and counts them as rejected
/// otherwise.
fn accept(solved: &mut Solved, problem: &Problem, free: &[Value]) -> bool {
    if solved.script.terms.are_exact {
        let value = |v: usize| {
            let place = problem.free.iter().position(|f| *f == v)?;
            free.get(place).copied().and_then(Exact::of)
        };
        // A variable that no conjunct depends on may have any value.
        let zero = |v: usize| Exact::of(Value::of_bits(solved.script.terms.variables[v].sort, 0));
        let of = |v: usize| if problem.free.contains(&v) { value(v) } else { zero(v) };
        let found = exact::model(&solved.script.terms, &solved.script.asserted, &problem.definitions, of);
        let holds = found.is_some();
        solved.rejected += u64::from(!holds);
        solved.answer = found.map_or(Answer::Unknown, Answer::ExactSat);
        return holds;
    }
    let values = problem.complete(&solved.script.terms, free);
    let holds = eval::holds(&solved.script.terms, &solved.script.asserted, &values);
    if holds {
        solved.answer = Answer::Sat(values);
    } else {
        solved.rejected += 1;
    }
    holds
}
