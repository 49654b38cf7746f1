//! Runs the installed solvers on the same file, for formulas that the search does not decide.
//!
//! Two solvers must agree on `unsat`. A solver's model is checked like a model of the search.

use std::{
    fmt::Write,
    fs,
    path::Path,
    sync::{
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

use penfuzz_error::{Error, failed};
use penfuzz_prove::solver::{self, Answer as Verdict, Solver};
use penfuzz_report::proof;
use penfuzz_system::files::foreign;

use super::{
    Answer, Method, Solved, eval, exact,
    sexp::Exprs,
    term::{Terms, Value},
};

/// The time limit of the solvers.
#[derive(Debug, Clone, Copy)]
pub enum Limit {
    /// Of each solver.
    Each(Duration),
    /// Of all together: they run at once.
    All(Duration),
}

/// Runs the solvers until one has a model or two answer `unsat`: all at once if the limit is one of all together, else
/// one after another.
///
/// # Errors
/// When the files for the solvers cannot be written.
pub fn ask(solved: &mut Solved, file: &Path, limit: Limit) -> Result<(), Error> {
    solved.method = Method::Solvers;
    let begun = Instant::now();
    let all = solver::find();
    if all.is_empty() {
        solved.notes.push("no solver was found: install z3, cvc5 or bitwuzla, or run ./setup".to_owned());
        return Ok(());
    }
    let directory = tempfile::tempdir().map_err(|e| Error::because("no temporary directory", e))?;
    let question = directory.path().join("question.smt2");
    let with_values = directory.path().join("values.smt2");
    let text = question_of(file)?;
    let values = format!("(set-option :produce-models true)\n{text}(get-value ({}))\n", names(&solved.script.terms));
    for (path, text) in [(&question, &text), (&with_values, &values)] {
        fs::write(path, text).map_err(|e| failed(path, "cannot be written", e))?;
    }
    let mut refuting = Vec::new();
    let mut decides = |solved: &mut Solved, solver: &Solver, (verdict, answer): (Verdict, proof::Answer), time| {
        solved.solvers.push(answer);
        match verdict {
            Verdict::Sat => {
                let text = solver.values(&with_values, time).unwrap_or_default();
                if let Some(answer) = checked_model(solved, &text) {
                    solved.answer = answer;
                    return true;
                }
                solved.notes.push(format!("{} answers sat, but its model does not satisfy the formula", solver.name));
                false
            }
            Verdict::Unsat => {
                refuting.push(solver.name);
                refuting.len() > 1
            }
            _ => false,
        }
    };
    match limit {
        Limit::Each(time) => {
            let _ = all.iter().any(|solver| decides(solved, solver, solver.ask(&question, time), time * 2));
        }
        Limit::All(time) => {
            for (number, answer) in ask_at_once(&all, &question, time) {
                let left = time.saturating_sub(begun.elapsed());
                if decides(solved, &all[number], answer, left) {
                    break;
                }
            }
        }
    }
    match (refuting.as_slice(), &solved.answer) {
        ([_, _, ..], Answer::Unknown) if !solved.solvers.iter().any(|a| a.answer == "sat") => {
            solved.answer = Answer::Unsat;
        }
        ([], _) => {}
        (names, Answer::Sat(_) | Answer::ExactSat(_)) => {
            solved.notes.push(format!("{} answers unsat, but the model satisfies the formula", names.join(", ")));
        }
        (names, _) => {
            solved.notes.push(format!("only {} answers unsat, and no second solver agrees", names.join(", ")));
        }
    }
    Ok(())
}

/// Runs all solvers at once, until one answers `sat` or two `unsat`. Returns their answers in the order in which they
/// came, each with the number of its solver.
fn ask_at_once(all: &[Solver], question: &Path, time: Duration) -> Vec<(usize, (Verdict, proof::Answer))> {
    let stop = AtomicBool::new(false);
    let (send, receive) = mpsc::channel();
    thread::scope(|scope| {
        for (number, solver) in all.iter().enumerate() {
            let (send, stop) = (send.clone(), &stop);
            scope.spawn(move || send.send((number, solver.ask_unless(question, time, stop))));
        }
        drop(send);
        let mut answers: Vec<(usize, (Verdict, proof::Answer))> = Vec::new();
        for answer in receive {
            answers.push(answer);
            let count = |verdict: Verdict| answers.iter().filter(|a| a.1.0 == verdict).count();
            if count(Verdict::Sat) > 0 || count(Verdict::Unsat) > 1 {
                stop.store(true, Ordering::Relaxed);
                break;
            }
        }
        answers
    })
}

/// The commands of the file that make up its formula, without those that print.
fn question_of(file: &Path) -> Result<String, Error> {
    let text = foreign::read_text(file).map_err(|e| failed(file, "cannot be read", e))?;
    let mut question = String::new();
    for command in commands(&text) {
        let begins = |names: &[&str]| names.iter().any(|n| command[1..].trim_start().starts_with(n));
        if begins(&["declare-", "define-", "assert", "set-logic"]) {
            let _ = writeln!(question, "{command}");
        }
        if begins(&["exit"]) {
            break;
        }
    }
    question.push_str("(check-sat)\n");
    Ok(question)
}

/// The texts of the commands in a file that [`super::read`] accepts.
fn commands(text: &str) -> Vec<&str> {
    let (mut all, mut depth, mut begun) = (Vec::new(), 0, 0);
    let mut bytes = text.bytes().enumerate();
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b';' => {
                bytes.find(|b| b.1 == b'\n');
            }
            b'|' | b'"' => {
                bytes.find(|b| b.1 == byte);
            }
            b'(' => {
                begun = if depth == 0 { at } else { begun };
                depth += 1;
            }
            b')' => {
                depth -= 1;
                if depth == 0 {
                    all.push(&text[begun..=at]);
                }
            }
            _ => {}
        }
    }
    all
}

fn names(terms: &Terms) -> String {
    terms.variables.iter().map(|v| v.name.as_str()).collect::<Vec<_>>().join(" ")
}

/// The model that a solver prints, if it satisfies the formula.
fn checked_model(solved: &Solved, text: &str) -> Option<Answer> {
    let terms = &solved.script.terms;
    if !terms.are_exact {
        let model = model(terms, text)?;
        return eval::holds(terms, &solved.script.asserted, &model).then_some(Answer::Sat(model));
    }
    let exprs = Exprs::read(text).ok()?;
    let pairs = exprs.list(*exprs.top.first()?)?;
    (pairs.len() == terms.variables.len()).then_some(())?;
    let value = |v: usize| super::reals::value(&exprs, *exprs.list(pairs[v])?.get(1)?);
    exact::model(terms, &solved.script.asserted, &[], value).map(Answer::ExactSat)
}

/// Parses the values that a solver prints, in the order of the variables: `((x #b01) …)`.
fn model(terms: &Terms, text: &str) -> Option<Vec<Value>> {
    let exprs = Exprs::read(text).ok()?;
    let pairs = exprs.list(*exprs.top.first()?)?;
    (pairs.len() == terms.variables.len()).then_some(())?;
    terms
        .variables
        .iter()
        .zip(pairs)
        .map(|(v, pair)| super::script::value(&exprs, *exprs.list(*pair)?.get(1)?, v.sort))
        .collect()
}
