//! What solvers state about a branch that no input takes.

use serde::{Deserialize, Serialize};

/// Where a site is in the compiled code: what the pass numbered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Code {
    /// The name of its function for the linker.
    pub symbol: String,
    /// Its number among the sites of the function.
    pub number: usize,
    /// The numbers of the branches that the report lists, among those of the site.
    pub branches: Vec<usize>,
}

/// What is stated about one branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Two solvers found that no execution takes it.
    Proved,
    /// Every input was evaluated, and none takes it.
    ProvedByExhaustion,
    /// One solver found that, and no other had an answer.
    ProvedByOne,
    /// A solver has a model, and nothing in the query is unknown: an input may take it.
    Satisfiable,
    /// A solver has a model, in which values that the query does not describe are chosen freely.
    SatisfiableIfFree,
    /// No solver had an answer in time.
    Undecided,
    /// Solvers contradict each other: none is believed.
    Contradiction,
    /// There is no query for it.
    NotTranslated,
}

/// What one solver answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// Its name.
    pub solver: String,
    /// Its version, as it prints it.
    pub version: String,
    /// `sat`, `unsat`, `unknown`, `timeout`, or how it failed.
    pub answer: String,
    /// Seconds that it took.
    pub seconds: f64,
}

/// The examination of one branch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Proof {
    /// What is stated.
    pub verdict: Verdict,
    /// What each solver answered, in the order in which they were called.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<Answer>,
    /// Why values in the query are free, each reason once: `loop at line 12`, `call of sin at line 40`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub free: Vec<String>,
    /// The assumptions of the query.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assumptions: Vec<String>,
    /// The loop invariants of the query, each with the file of its proof.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub invariants: Vec<String>,
    /// The arguments of a model, as bits: a name, and hexadecimal digits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub model: Vec<(String, String)>,
    /// The query, relative to the output directory.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub file: String,
}

impl Proof {
    /// Of a branch without a query.
    #[must_use]
    pub fn missing(why: &str) -> Self {
        Self {
            verdict: Verdict::NotTranslated,
            answers: Vec::new(),
            free: vec![why.to_owned()],
            assumptions: Vec::new(),
            invariants: Vec::new(),
            model: Vec::new(),
            file: String::new(),
        }
    }

    /// The solvers that found no model: `z3 4.8.12 (0.31 s), cvc5 1.0.3 (0.02 s)`.
    #[must_use]
    pub fn agreeing(&self) -> String {
        let found = self.answers.iter().filter(|a| a.answer == "unsat");
        found.map(|a| format!("{} {} ({:.2} s)", a.solver, a.version, a.seconds)).collect::<Vec<_>>().join(", ")
    }

    /// Is the branch proved unreachable, by two solvers or by all inputs?
    #[must_use]
    pub fn is_proved(&self) -> bool {
        matches!(self.verdict, Verdict::Proved | Verdict::ProvedByExhaustion)
    }
}
