//! Evaluates all inputs of a function that has few. A branch that none of them takes is proved unreachable,
//! independently of solvers.
//!
//! The proof is about the compiled code that ran, in the rounding mode to nearest. It requires that the arguments are
//! numbers of at most 32 bits together, and that nothing else that the function reads keeps a value from one call to
//! the next.

use std::{fmt::Write, path::Path, time::Duration};

use penfuzz_directory::{
    output::trust::Trusted,
    replay::{
        exhaust::{self, Space, Tried},
        session::ReplaySession,
    },
};
use penfuzz_error::Error;
use penfuzz_executor::Evaluator;
use penfuzz_report::{
    BranchIndex, Report,
    literal::kind_named,
    proof::{Answer, Proof, Verdict},
};
use penfuzz_system::process::interrupts;

use super::{
    PROOFS, file_name_part, note, open_branches,
    stated::{Place, StoredProofs},
    write,
};

/// The name of this method in lists of solvers.
const METHOD: &str = "exhaustion";

/// Evaluates all inputs if there are few and branches are open, and adds the proofs to `report`. An input that takes an
/// open branch becomes its model. Returns whether there is such an input.
///
/// # Errors
/// When the target cannot be loaded, or files cannot be written.
pub fn complete(dir: &Path, campaign: &Trusted, report: &mut Report, time: Duration) -> Result<bool, Error> {
    let Some(widths) = widths(report).filter(|_| !interrupts::requested()) else { return Ok(false) };
    let open: Vec<_> = open_branches(report).into_iter().filter(|at| !is_proved(report, *at)).collect();
    if open.is_empty() || !report.goals.are_branches() || !has_only_plain_arguments(campaign, report) {
        return Ok(false);
    }
    let mut session = ReplaySession::of(campaign)?;
    let evaluator = &mut session.evaluator;
    let slots = evaluator.function().layout().slots().len();
    if slots != widths.len() || evaluator.blocks().is_some() || !evaluator.shared().is_empty() {
        return Ok(false);
    }
    let number_of = |at: &BranchIndex| Place::of(&report.sites[at.site], at.branch)?.number(evaluator.target());
    let numbers: Vec<_> = open.iter().map(number_of).collect();
    let mut wanted = vec![false; evaluator.target().n_branches];
    numbers.iter().flatten().for_each(|branch| wanted[*branch] = true);
    let begun = std::time::Instant::now();
    let mut found = Vec::new();
    let tried = exhaust::all(
        evaluator,
        &Space { widths: &widths, time, only_if_complete: true },
        |evaluator| evaluator.arm_records(&wanted),
        Evaluator::has_hits,
        |input| found.push(input),
    );
    let seconds = begun.elapsed().as_secs_f64();
    let Some(proof) = outcome(&tried, found.into_iter().next(), &widths, seconds) else { return Ok(false) };
    if proof.verdict == Verdict::ProvedByExhaustion {
        write(&dir.join(file_of(report)), &evidence(report, &session.fingerprint, &open, &tried, seconds))?;
    }
    state(report, &open, &numbers, &proof);
    StoredProofs::keep(dir, campaign.manifest(), report)?;
    Ok(proof.verdict == Verdict::Satisfiable)
}

/// The width of each argument in bits; `None` if one is not a number, or if they have too many bits together.
fn widths(report: &Report) -> Option<Vec<u32>> {
    let kinds = report.signature.parameters.iter().map(|p| kind_named(&p.kind).filter(|_| !p.pointer));
    let widths: Vec<u32> = kinds.map(|kind| Some(kind?.mask().count_ones())).collect::<Option<_>>()?;
    (!widths.is_empty() && widths.iter().sum::<u32>() <= exhaust::MAX_BITS).then_some(widths)
}

/// Returns true if the arguments are the only inputs and have no constraints.
fn has_only_plain_arguments(campaign: &Trusted, report: &Report) -> bool {
    let s = &report.signature;
    report.rounding.is_nearest()
        && campaign.manifest().settings.args.is_empty()
        && s.decoding.is_none()
        && s.makers.is_empty()
        && s.globals.is_empty()
        && s.calls == 0
}

fn is_proved(report: &Report, at: BranchIndex) -> bool {
    report.branch(at).proof.as_ref().is_some_and(Proof::is_proved)
}

/// The result for each of the branches; `None` if no input was found and not all inputs were evaluated without a fault.
fn outcome(tried: &Tried, found: Option<Vec<u8>>, widths: &[u32], seconds: f64) -> Option<Proof> {
    let mut proof = Proof::missing("");
    proof.free.clear();
    if let Some(mut input) = found {
        proof.verdict = Verdict::Satisfiable;
        for (number, width) in widths.iter().enumerate() {
            let bytes = width.div_ceil(8) as usize;
            let rest = input.split_off(bytes.min(input.len()));
            let value = input.iter().rev().fold(0u64, |value, byte| value << 8 | u64::from(*byte));
            proof.model.push((format!("arg{number}"), format!("{value:x}")));
            input = rest;
        }
        return Some(proof);
    }
    if !tried.is_complete || tried.faults > 0 {
        return None;
    }
    proof.verdict = Verdict::ProvedByExhaustion;
    proof.answers.push(Answer {
        solver: METHOD.to_owned(),
        version: format!("of all {} inputs", tried.evaluations),
        answer: "unsat".to_owned(),
        seconds: (seconds * 1e3).round() / 1e3,
    });
    Some(proof)
}

/// Writes the result into the report. A model takes one of the branches, not all of them: the campaign finds out which
/// when it evaluates the model.
fn state(report: &mut Report, open: &[BranchIndex], numbers: &[Option<usize>], proof: &Proof) {
    let file = file_of(report);
    let mut all = Vec::new();
    for at in open_branches(report) {
        let old = report.branch(at).proof.clone();
        let is_tried = open.iter().zip(numbers).any(|(place, number)| *place == at && number.is_some());
        let new = match (is_tried, proof.verdict) {
            (false, _) => old,
            (true, Verdict::ProvedByExhaustion) => {
                let answers = old.iter().flat_map(|o| o.answers.clone()).chain(proof.answers.clone()).collect();
                Some(Proof { answers, file: file.clone(), ..proof.clone() })
            }
            (true, _) => {
                Some(Proof { model: proof.model.clone(), verdict: proof.verdict, ..old.unwrap_or(proof.clone()) })
            }
        };
        all.extend(new.map(|new| (at, new)));
    }
    let (goals, proofs): (Vec<_>, Vec<_>) = all.into_iter().unzip();
    note(report, &goals, proofs);
}

fn file_of(report: &Report) -> String {
    format!("{PROOFS}/{}.exhaustion.txt", file_name_part(&report.function))
}

fn evidence(report: &Report, fingerprint: &str, open: &[BranchIndex], tried: &Tried, seconds: f64) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "All {} inputs of {} were evaluated, in {seconds:.1} s.", tried.evaluations, report.function);
    let _ = writeln!(out, "Target: {}\nFingerprint of its code: {fingerprint}", report.target);
    out += "Rounding mode: to nearest, ties to even\nNone of them takes:\n";
    for at in open {
        let site = &report.sites[at.site];
        let _ = writeln!(out, "{}:{}:{} {}", site.file, site.line, site.column, site.branches[at.branch].outcome);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tried(evaluations: u64, is_complete: bool, faults: u64) -> Tried {
        Tried { evaluations, is_complete, faults }
    }

    #[test]
    fn only_all_inputs_without_a_fault_are_a_proof() {
        let proof = outcome(&tried(1 << 32, true, 0), None, &[32], 20.0).unwrap();
        assert_eq!(proof.verdict, Verdict::ProvedByExhaustion);
        assert_eq!(proof.answers[0].version, "of all 4294967296 inputs");
        assert!(outcome(&tried(1 << 31, false, 0), None, &[32], 20.0).is_none());
        assert!(outcome(&tried(1 << 32, true, 1), None, &[32], 20.0).is_none());
    }

    #[test]
    fn an_input_that_takes_a_branch_is_a_model() {
        let input = vec![0x34, 0x12, 0xff, 0x80];
        let proof = outcome(&tried(9, false, 0), Some(input), &[16, 8, 8], 1.0).unwrap();
        assert_eq!(proof.verdict, Verdict::Satisfiable);
        let expected = [("arg0", "1234"), ("arg1", "ff"), ("arg2", "80")];
        assert_eq!(proof.model, expected.map(|(n, v)| (n.to_owned(), v.to_owned())));
    }
}
