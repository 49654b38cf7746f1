//! Runs one query on several solvers, one after another, and combines their answers into a verdict.

use std::path::Path;

use penfuzz_error::Error;
use penfuzz_report::proof::{Proof, Verdict};

use super::{
    budget::Budget,
    evidence::{self, Query},
    solver::{Answer, Solver},
    write,
};

/// The solvers and their shared time budget.
#[derive(Debug, Clone, Copy)]
pub(super) struct Panel<'a> {
    pub(super) solvers: &'a [Solver],
    pub(super) budget: &'a Budget,
    /// Whether to end at the first solver without an answer: further solvers can hardly prove what it cannot.
    pub(super) is_brief: bool,
}

impl Panel<'_> {
    /// Runs one solver after another until two find the query unsatisfiable, one finds a model, or the time is over.
    /// Writes the query to `file`, and the answers, the verdict and the model to `proof`.
    pub(super) fn ask(&self, file: &Path, query: &Query, proof: &mut Proof) -> Result<(), Error> {
        write(file, &query.text())?;
        let (mut sat, mut unsat) = (None, 0);
        for solver in self.solvers {
            let Some((answer, shown)) = self.budget.ask(solver, file, 1) else { break };
            proof.answers.push(shown);
            match answer {
                Answer::Sat => sat = sat.or(Some(solver)),
                Answer::Unsat => unsat += 1,
                Answer::Unknown | Answer::TimedOut if self.is_brief => break,
                Answer::Unknown | Answer::TimedOut | Answer::Failed(_) => {}
            }
            // Once a model is known, a further answer cannot turn the verdict into a proof.
            if unsat == 2 || sat.is_some() {
                break;
            }
        }
        proof.verdict = verdict(sat.is_some(), unsat, proof.free.is_empty());
        if let Some(solver) = sat.filter(|_| unsat == 0 && !query.slice.arguments.is_empty()) {
            write(file, &query.with_values())?;
            let values = proof.answers.last().and_then(|answer| self.budget.values(solver, file, answer));
            proof.model = values.map(|v| evidence::values_of(&v)).unwrap_or_default();
        }
        Ok(())
    }
}

fn verdict(is_sat: bool, unsat: usize, is_exact: bool) -> Verdict {
    match (is_sat, unsat) {
        (true, 0) if is_exact => Verdict::Satisfiable,
        (true, 0) => Verdict::SatisfiableIfFree,
        (true, _) => Verdict::Contradiction,
        (false, 0) => Verdict::Undecided,
        (false, 1) => Verdict::ProvedByOne,
        (false, _) => Verdict::Proved,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_solvers_prove_and_a_model_is_never_a_proof() {
        assert_eq!(verdict(false, 2, true), Verdict::Proved);
        assert_eq!(verdict(false, 2, false), Verdict::Proved);
        assert_eq!(verdict(false, 1, true), Verdict::ProvedByOne);
        assert_eq!(verdict(false, 0, true), Verdict::Undecided);
        assert_eq!(verdict(true, 1, true), Verdict::Contradiction);
        assert_eq!(verdict(true, 0, true), Verdict::Satisfiable);
        assert_eq!(verdict(true, 0, false), Verdict::SatisfiableIfFree);
    }
}
