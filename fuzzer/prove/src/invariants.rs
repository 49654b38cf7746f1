//! Loop invariants: finds which of the candidates that the pass proposes (`pass/smt/invariants.cc`) hold.
//!
//! All candidates are assumed wherever control has passed the headers of the loops. Solvers look for an execution in
//! which a candidate does not hold when control enters its loop (*base*), or in which an iteration loses it (*step*).
//! Such candidates are dropped, until none of the rest can be violated (Flanagan and Leino, *Houdini, an annotation
//! assistant for ESC/Java*, 2001). The rest then holds at each visit of a header, by induction over the visits of all
//! headers. As for a branch, two solvers must agree.
//!
//! Each query is about the base or the step of one loop. Its lines contain no value of a header that control passes
//! later, and in a base query no value of the header of the loop itself. So nothing is assumed about these values.
//! Otherwise candidates that contradict each other would make the query unsatisfiable and hide that they do not hold.

use std::{collections::BTreeSet, fmt::Write, path::Path, time::Duration};

use penfuzz_error::Error;
use penfuzz_target::program::Rounding;

use super::{
    budget::Budget,
    evidence::Query,
    slice::{Invariant, Translation},
    solver::{Answer, Solver},
    write,
};

/// Number of solvers that must find that no candidate is violated, if as many are installed.
const MIN_AGREEING_SOLVERS: usize = 2;
/// A query about a single candidate may take the time of one query divided by this.
const SINGLE_CANDIDATE_DIVISOR: u32 = 4;
/// After solvers have used the time of this many queries of maximal length, a set without an answer is dropped as a
/// whole: its candidates are no longer examined one by one.
const QUERIES_BEFORE_DROPPING: u32 = 4;

/// The results for the candidates of one function.
#[derive(Debug, Default)]
pub struct ExaminedCandidates {
    /// The names of the candidates that were examined.
    pub examined: Vec<String>,
    /// The candidates that hold.
    pub held: Vec<Invariant>,
    /// Number of calls of [`Examiner::examine`] with results in here.
    pub examinations: usize,
}

impl ExaminedCandidates {
    /// Adds the results for another branch. Invariants of two sets also hold together.
    pub fn add(&mut self, other: Self) {
        self.examined.extend(other.examined);
        let is_new = |new: &Invariant| self.held.iter().all(|known| known.name != new.name);
        let new: Vec<_> = other.held.into_iter().filter(is_new).collect();
        self.held.extend(new);
        self.examinations += 1;
    }
}

/// Examines the candidates of a function.
#[derive(Debug)]
pub struct Examiner<'a> {
    /// The solvers, in the order in which they are run.
    pub solvers: &'a [Solver],
    /// Their time budget.
    pub budget: &'a Budget,
    /// Rounding modes in which the function is called.
    pub rounding: Rounding,
    /// The file of the current query, and at the end of the evidence.
    pub file: &'a Path,
}

/// What one solver finds out about a set of candidates.
enum Round<'a> {
    /// If all hold, no iteration and no entry violates any.
    Inductive,
    /// The candidates that are left. The others can be violated, or the solver has no answer about them.
    Smaller(Vec<&'a Invariant>),
    /// No time is left.
    TimedOut,
}

impl Examiner<'_> {
    /// Examines the candidates that the condition `goal` depends on.
    ///
    /// # Errors
    /// When a query cannot be written.
    pub fn examine(&self, translation: &Translation, goal: &str) -> Result<ExaminedCandidates, Error> {
        let mut left = translation.candidates(goal);
        let examined = left.iter().map(|candidate| candidate.name.clone()).collect();
        let mut agreeing: Vec<&Solver> = Vec::new();
        let wanted = MIN_AGREEING_SOLVERS.min(self.solvers.len());
        let patient_until = self.budget.after(QUERIES_BEFORE_DROPPING);
        while agreeing.len() < wanted && !left.is_empty() {
            let Some(solver) = self.solvers.get(agreeing.len()) else { break };
            match self.round(solver, translation, &left, patient_until)? {
                Round::Inductive => agreeing.push(solver),
                Round::Smaller(fewer) => {
                    left = fewer;
                    agreeing.clear();
                }
                Round::TimedOut => left.clear(),
            }
        }
        if !left.is_empty() {
            write(self.file, &self.evidence(translation, &left, &agreeing))?;
        }
        Ok(ExaminedCandidates { examined, held: left.into_iter().cloned().collect(), ..ExaminedCandidates::default() })
    }

    /// Runs the solver on each set of candidates. If it has no answer about a set, and while more time than
    /// `patient_until` is left, runs it on each candidate of the set alone.
    fn round<'a>(
        &self,
        solver: &Solver,
        translation: &Translation,
        all: &[&'a Invariant],
        patient_until: Duration,
    ) -> Result<Round<'a>, Error> {
        let mut dropped = BTreeSet::new();
        for group in groups(all) {
            match self.ask(solver, translation, &group, all, 1)? {
                None => return Ok(Round::TimedOut),
                Some((Answer::Unsat, _)) => continue,
                Some((Answer::Sat, violated)) if !violated.is_empty() => {
                    dropped.extend(violated);
                    continue;
                }
                Some(_) => {}
            }
            for violated in group {
                if self.budget.is_down_to(patient_until) {
                    dropped.insert(violated);
                    continue;
                }
                match self.ask(solver, translation, std::slice::from_ref(&violated), all, SINGLE_CANDIDATE_DIVISOR)? {
                    None => return Ok(Round::TimedOut),
                    Some((Answer::Unsat, _)) => {}
                    Some(_) => drop(dropped.insert(violated)),
                }
            }
        }
        let is_left = |c: &&Invariant| !dropped.contains(&c.base()) && !dropped.contains(&c.step());
        let left: Vec<_> = all.iter().copied().filter(is_left).collect();
        Ok(if left.len() == all.len() { Round::Inductive } else { Round::Smaller(left) })
    }

    /// Finds out whether one of the conditions `violated` can be true, and if so, which ones are true in a model.
    /// Returns `None` if no time is left.
    fn ask(
        &self,
        solver: &Solver,
        translation: &Translation,
        violated: &[String],
        held: &[&Invariant],
        part: u32,
    ) -> Result<Option<(Answer, Vec<String>)>, Error> {
        let Some(slice) = translation.lines_for(any_of(violated), held) else { return Ok(None) };
        let query = Query { slice: &slice, rounding: self.rounding };
        write(self.file, &query.text())?;
        let Some((answer, shown)) = self.budget.ask(solver, self.file, part) else { return Ok(None) };
        if answer != Answer::Sat {
            return Ok(Some((answer, Vec::new())));
        }
        write(self.file, &query.with_values_of(&violated.join(" ")))?;
        let values = self.budget.values(solver, self.file, &shown).unwrap_or_default();
        Ok(Some((answer, true_in(&values))))
    }

    /// The text of a file for which a solver prints `unsat` twice for each invariant.
    fn evidence(&self, translation: &Translation, held: &[&Invariant], agreeing: &[&Solver]) -> String {
        let all: Vec<_> = groups(held).into_iter().flatten().collect();
        let Some(mut slice) = translation.lines_for(any_of(&all), held) else { return String::new() };
        let is_assumed = |line: &String| line.starts_with("(assert inv");
        slice.lines.retain(|line| !is_assumed(line));
        let query = Query { slice: &slice, rounding: self.rounding };
        let mut out = String::new();
        let _ = writeln!(out, "; Loop invariants of {}, each assumed at the header of its loop.", translation.symbol);
        out += "; unsat for each: it holds when control enters the loop, and no iteration loses it.\n";
        let _ = writeln!(out, "; MD5 of the code in LLVM's representation: {}", translation.hash);
        for assumption in &translation.assumptions {
            let _ = writeln!(out, "; Assumption: {assumption}");
        }
        for solver in agreeing {
            let _ = writeln!(out, "; {} {}: unsat", solver.name, solver.version);
        }
        out += &query.definitions();
        for invariant in held {
            for (what, violated) in [("at first", invariant.base()), ("after an iteration", invariant.step())] {
                let own = translation.lines_for(violated.clone(), held).map_or_else(Vec::new, |own| own.lines);
                let assumed: Vec<_> = own.into_iter().filter(is_assumed).collect();
                let _ = writeln!(out, "; {}, {what}\n(push 1)", invariant.text);
                for line in assumed {
                    let _ = writeln!(out, "{line}");
                }
                let _ = writeln!(out, "(assert {violated})\n(check-sat)\n(pop 1)");
            }
        }
        out
    }
}

/// The conditions of each query: for each loop those of its base, and those of its step.
fn groups(all: &[&Invariant]) -> Vec<Vec<String>> {
    let loops: BTreeSet<usize> = all.iter().map(|c| c.r#loop).collect();
    let of = |number: usize| all.iter().filter(move |c| c.r#loop == number);
    loops.into_iter().flat_map(|n| [of(n).map(|c| c.base()).collect(), of(n).map(|c| c.step()).collect()]).collect()
}

fn any_of(conditions: &[String]) -> String {
    if let [one] = conditions { one.clone() } else { format!("(or {})", conditions.join(" ")) }
}

/// The names that are true in the values of a model, such as `((inv1_base true) (inv1_step false))`.
fn true_in(values: &str) -> Vec<String> {
    let spaced = values.replace(['(', ')'], " ");
    let words: Vec<_> = spaced.split_whitespace().collect();
    words.chunks_exact(2).filter(|pair| pair[1] == "true").map(|pair| pair[0].to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn true_conditions_of_a_model_are_parsed() {
        assert_eq!(true_in("((inv1_base true)\n (inv1_step false) (inv12_step true))\n"), ["inv1_base", "inv12_step"]);
        assert!(true_in("(error \"no model\")").is_empty());
    }
}
