//! Finds all paths of a function up to a number of iterations of each loop. Search and solvers alternate: a solver
//! proves that a prefix that no input takes is infeasible, or it finds a model that may take the prefix, and the search
//! continues from there.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    path::Path,
    time::{Duration, Instant},
};

use penfuzz_directory::output::manifest::Manifest;
use penfuzz_error::Error;
use penfuzz_executor::Evaluator;
use penfuzz_path_search::{Options, Query, record_all};
use penfuzz_prove::{
    Limits, models,
    together::{self, Kind, Question},
};
use penfuzz_report::{Report, proof::Proof};
use penfuzz_system::{errln, process::interrupts};
use penfuzz_target::program::Target;

use super::join;
use crate::reach::enumerate::{Bounds, Enumeration, enumerate, hash};

/// Maximum number of rounds of search and solvers.
const TURNS: usize = 8;

/// The paths that were found, and the prefixes that were not.
#[derive(Debug, Default)]
pub struct Explored {
    /// Complete paths within the bound, each with an input that takes it.
    pub found: BTreeMap<Vec<u32>, Vec<u8>>,
    /// Prefixes that no input takes, each with the file of the proof that it is infeasible, if there is one.
    pub missing: BTreeMap<Vec<u32>, Option<String>>,
    /// Number of evaluations of all searches.
    pub evaluations: u64,
    /// Time that the solvers took.
    pub solver_time: Duration,
    /// True if each prefix was searched for with all its evaluations, or is proved infeasible.
    pub is_complete: bool,
}

/// What the solvers need for queries about prefixes.
#[derive(Debug, Clone, Copy)]
pub struct SolverContext<'a> {
    /// The output directory of the campaign.
    pub dir: &'a Path,
    /// The manifest, which describes the target.
    pub manifest: &'a Manifest,
    /// The report, which has the sites.
    pub report: &'a Report,
    /// Time limits for all queries.
    pub limits: Limits,
}

/// Searches for the paths with at most `rounds` iterations of each loop, starting from the paths of `options.seeds`.
///
/// # Errors
/// Those of [`enumerate`], and when proofs cannot be written.
pub fn explore(
    evaluator: &mut Evaluator,
    query: &Query,
    options: &Options,
    rounds: u32,
    bounds: &Bounds,
    asked: Option<SolverContext>,
) -> Result<Explored, Error> {
    let target = std::rc::Rc::clone(evaluator.target());
    let mut all = Explored::default();
    let mut options = options.clone();
    let mut prefixes = Prefixes::default();
    for turn in 0..TURNS {
        let evaluations = bounds.evaluations.saturating_sub(all.evaluations);
        let left = Bounds { evaluations, until: bounds.until.map(|end| end + all.solver_time) };
        let now = enumerate(evaluator, query, &options, rounds, prefixes.settled.iter().copied(), &left)?;
        all.evaluations += now.evaluations;
        all.is_complete = now.is_complete;
        let new = prefixes.note(&now);
        all.found.extend(now.found);
        all.drop_wrong_proofs(&now.taken);
        let Some(asked) = asked.filter(|_| !new.is_empty() && !interrupts::requested()) else { break };
        let begun = Instant::now();
        let limits = Limits { all: asked.limits.all.saturating_sub(all.solver_time), ..asked.limits };
        let proofs = ask(&target, &SolverContext { limits, ..asked }, turn, &new)?;
        all.solver_time += begun.elapsed();
        let models = models::inputs_of(&asked.report.signature, proofs.iter().map(|(_, proof)| proof));
        for (prefix, proof) in proofs.into_iter().filter(|(_, proof)| proof.is_proved()) {
            prefixes.open.remove(&prefix);
            prefixes.untried.remove(&prefix);
            all.missing.insert(prefix, Some(proof.file));
        }
        let taken = |passes: &[u32]| prefixes.open.iter().any(|prefix| passes.starts_with(prefix));
        let runs = record_all(evaluator, &query.counts, &models, penfuzz_path_search::MAX_PASSES, options.timeout);
        let new: Vec<Vec<u8>> = runs.into_iter().filter(|(_, passes)| taken(passes)).map(|(x, _)| x).collect();
        if new.is_empty() {
            break;
        }
        options.seeds.extend(all.found.values().cloned().chain(new));
    }
    let Prefixes { open, untried, .. } = prefixes;
    all.is_complete = open.is_empty() || all.is_complete && untried.is_empty();
    // Prefixes that neither the search nor the solvers examined are not reported.
    let is_known = |prefix: &Vec<u32>| asked.is_some() || !untried.contains(prefix);
    all.missing.extend(open.into_iter().filter(is_known).map(|prefix| (prefix, None)));
    Ok(all)
}

/// The prefixes that no input takes.
#[derive(Debug, Default)]
struct Prefixes {
    /// Prefixes that are not proved infeasible.
    open: BTreeSet<Vec<u32>>,
    /// Those of `open` that were not searched for.
    untried: BTreeSet<Vec<u32>>,
    /// Hashes of all prefixes that some enumeration has returned.
    settled: HashSet<u64>,
}

impl Prefixes {
    /// Adds the prefixes that an enumeration did not find. Returns the new ones.
    fn note(&mut self, now: &Enumeration) -> Vec<Vec<u32>> {
        let new: Vec<Vec<u32>> = now.missing.iter().chain(&now.untried).cloned().collect();
        self.settled.extend(new.iter().map(|prefix| hash(prefix)));
        self.untried.extend(now.untried.iter().cloned());
        self.open.extend(new.iter().cloned());
        for known in [&mut self.open, &mut self.untried] {
            known.retain(|prefix| !now.taken.contains(&hash(prefix)));
        }
        new
    }
}

impl Explored {
    /// Removes proofs of prefixes that an input takes, and reports them: each is a fault of penfuzz.
    fn drop_wrong_proofs(&mut self, taken: &HashSet<u64>) {
        for (prefix, file) in self.missing.extract_if(.., |prefix, _| taken.contains(&hash(prefix))) {
            let (file, n) = (file.unwrap_or_default(), prefix.len());
            errln!("penfuzz: an input takes the {n} branches of {file}, whose proof is wrong: please report this");
        }
    }
}

/// Runs the solvers on prefixes, short ones first.
fn ask(
    target: &Target,
    asked: &SolverContext,
    turn: usize,
    prefixes: &[Vec<u32>],
) -> Result<Vec<(Vec<u32>, Proof)>, Error> {
    let mut prefixes: Vec<&Vec<u32>> = prefixes.iter().collect();
    prefixes.sort_by_key(|prefix| prefix.len());
    let question = |(number, prefix): (usize, &&Vec<u32>)| Question {
        branches: (*prefix).clone(),
        name: format!("path-{turn}-{number}"),
    };
    let questions: Vec<Question> = prefixes.iter().enumerate().map(question).collect();
    let places = join::places(target, asked.report);
    let proofs =
        together::examine(asked.dir, asked.manifest, asked.report, &places, Kind::Path, &questions, asked.limits)?;
    let pairs = questions.into_iter().map(|question| question.branches).zip(proofs);
    Ok(pairs.filter_map(|(branches, proof)| Some((branches, proof?))).collect())
}
