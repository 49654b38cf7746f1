//! Results of solvers for a branch that no input takes.

use serde::{Deserialize, Serialize};

/// Identifies a site in the compiled code by the numbers of the pass.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Code {
    /// The linker name of its function.
    pub symbol: String,
    /// Its index among the sites of the function.
    pub number: usize,
    /// The numbers, within the site, of the branches that the report lists.
    pub branches: Vec<usize>,
}

/// The result for one branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Two solvers proved that no execution takes it.
    Proved,
    /// Every input was evaluated, and none takes it.
    ProvedByExhaustion,
    /// One solver proved that no execution takes it, and no other solver had an answer.
    ProvedByOne,
    /// A solver has a model, and no value in the query is free: an input may take the branch.
    Satisfiable,
    /// A solver has a model, in which it chose values that the query leaves free.
    SatisfiableIfFree,
    /// No solver had an answer within the time limit.
    Undecided,
    /// Solvers contradict each other, so no answer is used.
    Contradiction,
    /// There is no query for the branch.
    NotTranslated,
}

/// The answer of one solver.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// Name of the solver.
    pub solver: String,
    /// Version of the solver, as it prints it.
    pub version: String,
    /// `sat`, `unsat`, `unknown`, `timeout`, or an error.
    pub answer: String,
    /// Time in seconds.
    pub seconds: f64,
}

/// The solvers' result for one branch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Proof {
    /// The result.
    pub verdict: Verdict,
    /// The answers, in the order in which the solvers were called.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<Answer>,
    /// Reasons why values in the query are free, without duplicates: `loop at line 12`, `call of sin at line 40`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub free: Vec<String>,
    /// The assumptions of the query.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assumptions: Vec<String>,
    /// The loop invariants of the query, each with its proof file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub invariants: Vec<String>,
    /// The arguments of a model: name, and bits as hexadecimal digits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub model: Vec<(String, String)>,
    /// The function under test, if the operation is in a function that it calls, and the query is about these calls
    /// only: the model has the arguments of the function under test.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub within: String,
    /// The query file, relative to the output directory.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub file: String,
}

impl Proof {
    /// Makes the entry of a branch without a query; `why` is the reason.
    #[must_use]
    pub fn missing(why: &str) -> Self {
        Self {
            verdict: Verdict::NotTranslated,
            answers: Vec::new(),
            free: vec![why.to_owned()],
            assumptions: Vec::new(),
            invariants: Vec::new(),
            model: Vec::new(),
            within: String::new(),
            file: String::new(),
        }
    }

    /// The solvers that found no model: `z3 4.8.12 (0.31 s), cvc5 1.0.3 (0.02 s)`.
    #[must_use]
    pub fn agreeing(&self) -> String {
        let found = self.answers.iter().filter(|a| a.answer == "unsat");
        found.map(|a| format!("{} {} ({:.2} s)", a.solver, a.version, a.seconds)).collect::<Vec<_>>().join(", ")
    }

    /// Returns whether the branch is proved unreachable, by two solvers or by evaluation of all inputs.
    #[must_use]
    pub fn is_proved(&self) -> bool {
        matches!(self.verdict, Verdict::Proved | Verdict::ProvedByExhaustion)
    }
}
