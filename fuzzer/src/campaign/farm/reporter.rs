//! One report of all clients: a process of its own that loads the target, runs everything that the clients have on disk once
//! more, and writes what it sees. It needs nothing but the directories, so it does not matter which clients live.

use std::path::{Path, PathBuf};

use super::client_directories;
use crate::{
    campaign::{
        Options,
        board::StopReason,
        outcome,
        prepare::Prepared,
        resume,
        store::{self, Remembered},
    },
    error::Error,
    executor::{
        Evaluator,
        evaluator::{Limits, Ran},
    },
    report::{self, Report},
    saturation::{BranchGraph, Saturation},
    shrink::Shrinker,
    stage::budget::Spent,
};

/// What the supervisor knows, and the directories do not.
#[derive(Debug, Clone, Copy)]
pub struct Totals {
    /// Evaluations of all clients.
    pub evaluations: u64,
    /// Seconds of search.
    pub seconds: f64,
    /// Why it ended, or that it runs.
    pub stop: StopReason,
}

/// Everything in the directories of the clients, as one.
struct Merged {
    remembered: Remembered,
    inputs: Vec<(String, Vec<u8>)>,
}

/// Writes the reports of the campaign in `dir`.
///
/// # Errors
/// When the target cannot be loaded, or files cannot be read or written.
pub fn write(options: &Options, dir: &Path, totals: Totals) -> Result<Report, Error> {
    let prepared = Prepared::load(options)?;
    let merged = merge(dir, &prepared.fingerprint, totals)?;
    let limits = Limits { timeout: options.timeout, fuel: options.fuel, memory: options.memory_limit };
    let Prepared { target, function, scope, .. } = prepared;
    let mut saturation = Saturation::new(BranchGraph::new(&target, &scope));
    let mut evaluator = Evaluator::new(target, function, limits)?;
    evaluator.set_scope(&scope.sites);
    for (_, bytes) in &merged.inputs {
        let (ran, hits) = evaluator.record(&scope.branches, bytes);
        if ran == Ran::Returned {
            saturation.cover(&hits, false);
        }
    }
    let n = saturation.len();
    let within = |branches: &[u32]| -> Vec<u32> { branches.iter().copied().filter(|b| (*b as usize) < n).collect() };
    saturation.cover(&within(&merged.remembered.by_crash), true);
    for branch in within(&merged.remembered.given_up) {
        if saturation.is_goal(branch as usize) {
            saturation.give_up(branch as usize);
        }
    }
    resume::restore_progress(&mut evaluator, &merged.remembered);
    let mut spent = Spent::known(merged.remembered.spent.clone(), merged.remembered.attempts.clone());
    spent.ensure(n);
    let sources = outcome::Sources {
        options,
        dir,
        inputs: &merged.inputs,
        remembered: &merged.remembered,
        saturation: &saturation,
        spent: Some(&spent),
        scope: &scope,
        stop: totals.stop,
    };
    let report = outcome::report(&mut evaluator, &sources, &mut Shrinker::default());
    report::write_all(dir, &report).map_err(|e| Error::new(e.to_string()))?;
    Ok(report)
}

fn merge(dir: &Path, fingerprint: &str, totals: Totals) -> Result<Merged, Error> {
    let mut all = Remembered { evaluations: totals.evaluations, seconds: totals.seconds, ..Remembered::default() };
    let mut inputs = Vec::new();
    for client in client_directories(dir) {
        let one = store::read_state(&client)?;
        if one.fingerprint != fingerprint {
            continue;
        }
        let prefix = client.strip_prefix(dir).map(PathBuf::from).unwrap_or_default();
        let below = |file: &str| prefix.join(file).to_string_lossy().into_owned();
        for folder in ["queue", "pending"] {
            for (name, bytes) in store::read_inputs(&client.join(folder))? {
                inputs.push((below(&format!("{folder}/{name}")), bytes));
            }
        }
        all.add(one, below);
    }
    // The same input came to all that had not found it themselves: the one that was found first stands for them.
    inputs.sort_by_cached_key(|(file, bytes)| (bytes.clone(), found_at(file), file.clone()));
    inputs.dedup_by(|a, b| a.1 == b.1);
    inputs.sort_by_cached_key(|(file, _)| (found_at(file), file.clone()));
    Ok(Merged { remembered: all, inputs })
}

/// Milliseconds in the name of an input.
fn found_at(file: &str) -> u64 {
    let time = file.split(',').find_map(|part| part.strip_prefix("time:"));
    time.and_then(|t| t.parse().ok()).unwrap_or(u64::MAX)
}

impl Remembered {
    /// Takes over what another client remembers; `below` turns its file names into those of the whole.
    fn add(&mut self, other: Self, below: impl Fn(&str) -> String) {
        self.fingerprint = other.fingerprint;
        self.given_up.extend(other.given_up);
        self.by_crash.extend(other.by_crash);
        add_up(&mut self.spent, &other.spent);
        self.attempts.resize(self.attempts.len().max(other.attempts.len()), 0);
        for (sum, n) in self.attempts.iter_mut().zip(&other.attempts) {
            *sum = sum.saturating_add(*n);
        }
        for (file, fault) in other.faults {
            if self.faults.values().all(|f| f.key != fault.key) {
                self.faults.insert(below(&file), fault);
            }
        }
        for (branch, closest) in other.closest {
            let known = self.closest.entry(branch).or_insert_with(|| closest.clone());
            if closest.distance < known.distance {
                *known = closest;
            }
        }
        self.taken_at.resize(self.taken_at.len().max(other.taken_at.len()), 0);
        for (first, at) in self.taken_at.iter_mut().zip(&other.taken_at) {
            if *at > 0 && (*first == 0 || at < first) {
                *first = *at;
            }
        }
    }
}

fn add_up(sums: &mut Vec<u64>, terms: &[u64]) {
    sums.resize(sums.len().max(terms.len()), 0);
    for (sum, term) in sums.iter_mut().zip(terms) {
        *sum = sum.saturating_add(*term);
    }
}
