//! Asks solvers about mutants that no input kills. Inputs from their models are tried.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use penfuzz_directory::{
    output::trust::Trusted,
    replay::session::{ReplaySession, mutants_flag},
};
use penfuzz_engine::saturation::ScopeKind;
use penfuzz_error::Error;
use penfuzz_prove::{
    Limits,
    mutants::{self, Survivor},
};
use penfuzz_report::{Report, mutation::Status, proof::Verdict};
use penfuzz_system::errln;

use super::{How, Known, choose, is_proved, live, note, score, search};

/// The search that starts from models takes at most this fraction (one by it) of the time of the first search.
const AFTER_MODELS: u32 = 4;

/// Asks solvers about the live mutants. Returns the inputs of models.
pub(super) fn query_solvers(
    dir: &Path,
    campaign: &Trusted,
    report: &Report,
    all: &mut [Known],
    scope: ScopeKind,
    limits: Limits,
) -> Result<Vec<Vec<u8>>, Error> {
    let flag = mutants_flag(campaign.manifest(), scope);
    // Mutants that no input infects are the easier questions.
    let mut open: Vec<usize> = (0..all.len()).filter(|i| all[*i].is_live()).collect();
    open.sort_by_key(|i| all[*i].mutant.status == Status::Survived);
    let survivor = |i: &usize| {
        let Known { symbol, number, mutant, .. } = &all[*i];
        Survivor { symbol, number: *number, is_infected: mutant.status == Status::Survived, mutant }
    };
    let survivors: Vec<Survivor> = open.iter().map(survivor).collect();
    let answers = mutants::examine(dir, campaign.manifest(), report, flag, &survivors, limits)?;
    if answers.without_solver {
        errln!(
            "penfuzz: no solver (z3, cvc5, bitwuzla) was found, so no mutant is proved equivalent; ./setup installs \
             them"
        );
    }
    for (i, proof) in open.into_iter().zip(answers.proofs) {
        let (Some(proof), mutant) = (proof, &mut all[i].mutant) else { continue };
        let of_reason = match proof.verdict {
            Verdict::Proved => {
                mutant.status = Status::Equivalent;
                format!("proved by {}", proof.agreeing())
            }
            Verdict::ProvedByOne => format!("{}; proved by one: {}", mutant.reason, proof.agreeing()),
            Verdict::Contradiction => format!("{}; solvers contradict each other", mutant.reason),
            _ => continue,
        };
        mutant.is_proved_by_one = proof.verdict == Verdict::ProvedByOne;
        (mutant.reason, mutant.proof) = (of_reason, proof.file);
    }
    Ok(answers.inputs)
}

/// Runs the live mutants with the inputs of models, and continues the search from inputs that infect one. Returns a few
/// inputs that kill mutants. `first` is the number of the first of these tests among all that are added.
pub(super) fn try_models(
    session: &mut ReplaySession,
    all: &mut [Known],
    mut inputs: Vec<Vec<u8>>,
    how: &How,
    time: Duration,
    first: usize,
) -> Result<Vec<Vec<u8>>, Error> {
    inputs.sort_unstable();
    inputs.dedup();
    let is_new = |known: &Known| known.mutant.status == Status::NotInfected;
    let not_infected: Vec<usize> = all.iter().filter(|k| is_new(k)).map(|k| k.branch).collect();
    let tests = score::observe(session, inputs)?;
    let proved: Vec<usize> = all.iter().filter(|k| is_proved(k)).map(|k| k.branch).collect();
    let mut open = live(all);
    open.extend(proved.iter().filter(|b| !open.contains(b)).collect::<Vec<_>>());
    let verdicts = score::score(session, &open, &tests, how.ulp);
    note(all, &open, &verdicts, &tests, first);
    refuse_killed(all, &proved);
    let killed = verdicts.iter().filter_map(|v| v.killed.as_ref());
    let mut candidates: Vec<Vec<u8>> = killed.map(|(t, _)| tests.inputs[*t].clone()).collect();
    let infected: Vec<usize> = all
        .iter()
        .filter(|k| k.mutant.status == Status::Survived && not_infected.contains(&k.branch))
        .map(|k| k.branch)
        .collect();
    if !infected.is_empty() {
        let until = Instant::now() + time / AFTER_MODELS;
        candidates.extend(search::search(session, &infected, &tests, how.bounds(until)));
    }
    choose(session, all, &mut open, candidates, first, how.ulp)
}

/// Reports a mutant that is proved equivalent but killed: this is a bug of penfuzz. The run is authoritative.
fn refuse_killed(all: &mut [Known], proved: &[usize]) {
    for known in all.iter_mut().filter(|k| proved.contains(&k.branch)) {
        let mutant = &mut known.mutant;
        if mutant.status.is_killed() {
            errln!(
                "penfuzz: {}:{}:{} {} is stated to be equivalent in {}, and an input kills it: please report this",
                mutant.file,
                mutant.line,
                mutant.column,
                mutant.change,
                mutant.proof
            );
            mutant.proof.clear();
        }
    }
}
