//! Loop invariants: which of the candidates that the pass proposes (`pass/smt/invariants.cc`) hold.
//!
//! All candidates are assumed where control has passed the headers of the loops, and solvers look for an execution in which one does not
//! hold when control enters its loop (*base*), or is lost by an iteration (*step*). Such candidates are dropped, until none is left that
//! can be violated (Flanagan and Leino, *Houdini, an annotation assistant for ESC/Java*, 2001). The rest then holds at each visit of a header,
//! by induction over the visits of all headers. As for a branch, two solvers must find it.
//!
//! A query is about base or step of one loop. Its lines have no value of a header that control passes later, and in a base none of the loop
//! itself, so nothing is assumed of these: candidates that contradict each other would hide that they do not hold.

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

/// Solvers that must find that no candidate is violated, if there are so many.
const AGREEING: usize = 2;
/// One candidate alone has this part of the time of a query.
const ALONE: u32 = 4;
/// After the time of so many whole queries, a set without an answer is dropped: no candidate of it is examined alone.
const PATIENCE: u32 = 4;

/// What was found out about the candidates of one function.
#[derive(Debug, Default)]
pub struct Found {
    /// Those that were examined, by their names.
    pub examined: Vec<String>,
    /// Those that hold.
    pub held: Vec<Invariant>,
    /// How often candidates were examined.
    pub examinations: usize,
}

impl Found {
    /// Adds what was found out for another branch: what holds in two sets together holds.
    pub fn add(&mut self, other: Self) {
        self.examined.extend(other.examined);
        let is_new = |new: &Invariant| self.held.iter().all(|known| known.name != new.name);
        let new: Vec<_> = other.held.into_iter().filter(is_new).collect();
        self.held.extend(new);
        self.examinations += 1;
    }
}

/// How candidates are examined.
#[derive(Debug)]
pub struct Examiner<'a> {
    /// In the order in which they are asked.
    pub solvers: &'a [Solver],
    /// Their time.
    pub budget: &'a Budget,
    /// Rounding modes in which the function is called.
    pub rounding: Rounding,
    /// Queries are written here, and at last the evidence.
    pub file: &'a Path,
}

/// What one solver finds of a set of candidates.
enum Round<'a> {
    /// None can be violated if all hold.
    Inductive,
    /// These may hold; the others do not, or it has no answer about them.
    Smaller(Vec<&'a Invariant>),
    /// The time is over.
    Late,
}

impl Examiner<'_> {
    /// Examines the candidates that a condition depends on.
    ///
    /// # Errors
    /// When a query cannot be written.
    pub fn examine(&self, translation: &Translation, goal: &str) -> Result<Found, Error> {
        let mut left = translation.candidates(goal);
        let examined = left.iter().map(|candidate| candidate.name.clone()).collect();
        let mut agreeing: Vec<&Solver> = Vec::new();
        let wanted = AGREEING.min(self.solvers.len());
        let patient_until = self.budget.after(PATIENCE);
        while agreeing.len() < wanted && !left.is_empty() {
            let Some(solver) = self.solvers.get(agreeing.len()) else { break };
            match self.round(solver, translation, &left, patient_until)? {
                Round::Inductive => agreeing.push(solver),
                Round::Smaller(fewer) => {
                    left = fewer;
                    agreeing.clear();
                }
                Round::Late => left.clear(),
            }
        }
        if !left.is_empty() {
            write(self.file, &self.evidence(translation, &left, &agreeing))?;
        }
        Ok(Found { examined, held: left.into_iter().cloned().collect(), ..Found::default() })
    }

    /// Asks about each set, and about each candidate alone of a set without an answer, while more time than `patient_until` is left.
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
                None => return Ok(Round::Late),
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
                match self.ask(solver, translation, std::slice::from_ref(&violated), all, ALONE)? {
                    None => return Ok(Round::Late),
                    Some((Answer::Unsat, _)) => {}
                    Some(_) => drop(dropped.insert(violated)),
                }
            }
        }
        let is_left = |c: &&Invariant| !dropped.contains(&c.base()) && !dropped.contains(&c.step());
        let left: Vec<_> = all.iter().copied().filter(is_left).collect();
        Ok(if left.len() == all.len() { Round::Inductive } else { Round::Smaller(left) })
    }

    /// Asks whether one of these conditions can be true, and if so, which are in a model. `None` when the time is over.
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
        let Some((answer, _)) = self.budget.ask(solver, self.file, part) else { return Ok(None) };
        if answer != Answer::Sat {
            return Ok(Some((answer, Vec::new())));
        }
        write(self.file, &query.with_values_of(&violated.join(" ")))?;
        let values = self.budget.values(solver, self.file).unwrap_or_default();
        Ok(Some((answer, true_in(&values))))
    }

    /// A file that prints `unsat` twice for each invariant.
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

/// The conditions of one query each: base, and step, of each loop.
fn groups(all: &[&Invariant]) -> Vec<Vec<String>> {
    let loops: BTreeSet<usize> = all.iter().map(|c| c.r#loop).collect();
    let of = |number: usize| all.iter().filter(move |c| c.r#loop == number);
    loops.into_iter().flat_map(|n| [of(n).map(|c| c.base()).collect(), of(n).map(|c| c.step()).collect()]).collect()
}

fn any_of(conditions: &[String]) -> String {
    if let [one] = conditions { one.clone() } else { format!("(or {})", conditions.join(" ")) }
}

/// The names that are true in the values of a model: `((inv1_base true) (inv1_step false))`.
fn true_in(values: &str) -> Vec<String> {
    let spaced = values.replace(['(', ')'], " ");
    let words: Vec<_> = spaced.split_whitespace().collect();
    words.chunks_exact(2).filter(|pair| pair[1] == "true").map(|pair| pair[0].to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_true_in_a_model_is_read() {
        assert_eq!(true_in("((inv1_base true)\n (inv1_step false) (inv12_step true))\n"), ["inv1_base", "inv12_step"]);
        assert!(true_in("(error \"no model\")").is_empty());
    }
}
