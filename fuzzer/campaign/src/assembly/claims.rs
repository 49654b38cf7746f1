//! Confirms the branches of the emitted tests in fresh processes, so that the report claims only these.
//!
//! Tests are chosen and simplified in processes that have evaluated other inputs before. Therefore each test is
//! evaluated once more in a fresh process ([`Zygote`]). If a test takes other branches there, the tests are chosen
//! again from the kept inputs instead of the simplified ones, each with the branches that it takes in a fresh process.
//! At the end of a campaign, crashes are replayed as well: a crash that does not occur in a fresh process depends on
//! earlier calls.

use std::collections::{HashMap, HashSet};

use penfuzz_directory::{
    rendering::results::RunObservation,
    replay::fresh::{Tested, Zygote},
    shrink::{
        Finds, Shrunk,
        cover::{self, Kept},
    },
};
use penfuzz_executor::FaultKind;
use penfuzz_system::process::child::NoProcess;

use crate::assembly::{Order, ReportInputs};

/// What the fresh processes showed about the emitted tests, apart from the branches that they take.
#[derive(Debug, Default)]
pub struct Claims {
    /// The observed behaviour of each test in a fresh process, by the file of its input.
    seen: HashMap<String, RunObservation>,
    /// The same after the tests before it, in one process. Empty if one of the tests ends its process.
    seen_together: HashMap<String, RunObservation>,
    /// Whether the tests behave differently when they run one after another in one process.
    pub are_apart: bool,
    /// Branches that count as covered in the search, but that no test takes.
    pub lost: HashSet<u32>,
    /// Branches that some test takes with some contents of uninitialized memory, but not with all.
    pub uninitialized: HashSet<u32>,
    /// Tests that depend on uninitialized memory, by the files of their inputs, with the names of results and effects
    /// that do.
    pub indefinite: HashMap<String, Vec<String>>,
    /// Whether each crash occurs in a fresh process, by the file of its input.
    pub crashes: HashMap<String, bool>,
    /// Number of tests that no fresh process could evaluate, because the system had none to spare. Their branches
    /// count.
    pub unconfirmed: usize,
}

impl Claims {
    /// The behaviour of the test of this input in a fresh process; `None` if it is not known.
    #[must_use]
    pub fn seen(&self, file: &str) -> Option<RunObservation> {
        self.seen.get(file).cloned()
    }

    /// The behaviour of the test of this input after the tests before it; `None` if it is not known.
    #[must_use]
    pub fn seen_together(&self, file: &str) -> Option<RunObservation> {
        self.seen_together.get(file).cloned()
    }
}

/// Evaluates the tests in fresh processes, and replaces all of them if one takes other branches there. Without a
/// zygote, returns empty claims and changes nothing. Long-running inputs are skipped: they were already evaluated in a
/// fresh process.
pub(super) fn confirm(from: &ReportInputs, finds: &Finds, shrunk: &mut Shrunk, order: &Order) -> Claims {
    let Some(fresh) = from.fresh else { return Claims::default() };
    let is_long = |kept: &Kept| from.saved.long.contains_key(&kept.file);
    let mut tested: HashMap<String, Tested> = HashMap::new();
    let mut hold = true;
    let mut uninitialized = HashSet::new();
    let mut alone = |test: &Kept| {
        let mut tested = Ok(None);
        // Twice if it takes other branches, because a process can be disturbed: by a full disk, or by heavy load.
        for _ in 0..2 {
            tested = fresh.test(&test.bytes);
            if let Ok(Some(tested)) = &mut tested {
                uninitialized.extend(tested.uninitialized.iter().copied());
                tested.covers.retain(|b| finds.goals[*b as usize]);
                if tested.covers == test.covers {
                    break;
                }
            }
        }
        tested
    };
    let mut unknown: HashSet<String> = HashSet::new();
    for test in shrunk.tests.iter().filter(|t| !is_long(t)) {
        match alone(test) {
            Ok(Some(known)) if known.covers == test.covers => drop(tested.insert(test.file.clone(), known)),
            Ok(_) => hold = false,
            Err(NoProcess) => drop(unknown.insert(test.file.clone())),
        }
    }
    if !hold {
        (tested, unknown) = (HashMap::new(), HashSet::new());
        for kept in finds.kept.iter().filter(|k| !is_long(k)) {
            match alone(kept) {
                Ok(known) => tested.extend(known.map(|known| (kept.file.clone(), known))),
                Err(NoProcess) => drop(unknown.insert(kept.file.clone())),
            }
        }
        let is_kept = |k: &Kept| is_long(k) || unknown.contains(&k.file);
        shrunk.tests = cover::choose(finds.kept.iter().filter_map(|k| held(k, &tested, is_kept(k))).collect());
        order.sort(&mut shrunk.tests);
    }
    let taken: HashSet<u32> = shrunk.tests.iter().flat_map(|t| t.covers.iter().copied()).collect();
    let counts = |b: &u32| {
        let (branch, set) = (*b as usize, from.saturation);
        finds.goals[branch]
            && from.scope.requested[branch]
            && set.is_covered(branch)
            && !set.is_covered_by_crash(branch)
            && !taken.contains(b)
    };
    let lost = (0..from.saturation.len() as u32).filter(counts).collect();
    let (depend, seen_together) = depend_on_each_other(fresh, finds, &shrunk.tests, &tested);
    let are_apart = from.saturation.has_unconfirmed() || depend;
    let crashes = if from.stop.is_end() { repeated(from, fresh, shrunk) } else { HashMap::new() };
    let unconfirmed = shrunk.tests.iter().filter(|t| unknown.contains(&t.file)).count();
    let indefinite =
        tested.iter().filter(|(_, t)| t.is_indefinite).map(|(file, t)| (file.clone(), t.indefinite.clone()));
    let indefinite = indefinite.collect();
    let seen = tested.into_iter().map(|(file, t)| (file, t.seen)).collect();
    Claims { seen, seen_together, are_apart, lost, uninitialized, indefinite, crashes, unconfirmed }
}

/// Replays each crash in a fresh process. A simplified input that does not crash there is replaced by the original
/// input, if that one does. Returns whether each crash repeats, by file.
fn repeated(from: &ReportInputs, fresh: &Zygote, shrunk: &mut Shrunk) -> HashMap<String, bool> {
    let mut known = HashMap::new();
    for (file, fault) in from.saved.faults.iter().filter(|(_, f)| f.kind == FaultKind::Crash) {
        let Some(found) = from.fault_inputs.get(file) else { continue };
        let simple = shrunk.faults.get(file).map(|f| f.bytes.as_slice()).filter(|bytes| bytes != found);
        let mut repeats = simple.and_then(|bytes| fresh.repeats(bytes, fault));
        if repeats != Some(true) {
            repeats = fresh.repeats(found, fault).or(repeats);
            if let Some(failing) = shrunk.faults.get_mut(file).filter(|_| repeats == Some(true)) {
                failing.bytes.clone_from(found);
                failing.reason.clone_from(&fault.reason);
            }
        }
        known.extend(repeats.map(|repeats| (file.clone(), repeats)));
    }
    known
}

/// The input with the branches that it takes in a fresh process. One that is not tested there is returned unchanged if
/// `is_kept`.
fn held(kept: &Kept, tested: &HashMap<String, Tested>, is_kept: bool) -> Option<Kept> {
    if is_kept {
        return Some(kept.clone());
    }
    tested.get(&kept.file).map(|t| Kept { covers: t.covers.clone(), ..kept.clone() })
}

/// Whether some test behaves differently after the other tests than alone, and what each does after the others. Tests
/// that end the process are left out: each runs in a process of its own anyway.
fn depend_on_each_other(
    fresh: &Zygote,
    finds: &Finds,
    tests: &[Kept],
    tested: &HashMap<String, Tested>,
) -> (bool, HashMap<String, RunObservation>) {
    let known = |t: &&Kept| tested.get(&t.file).is_some_and(|t| !t.seen.is_exit());
    let tests: Vec<&Kept> = tests.iter().filter(known).collect();
    if tests.len() < 2 {
        return (false, HashMap::new());
    }
    let inputs: Vec<&[u8]> = tests.iter().map(|t| t.bytes.as_slice()).collect();
    match fresh.tests(&inputs) {
        Ok(Some(mut together)) => {
            for after in &mut together {
                after.covers.retain(|b| finds.goals[*b as usize]);
            }
            (
                tests.iter().zip(&together).any(|(test, after)| tested.get(&test.file) != Some(after)),
                tests.iter().zip(together).map(|(test, after)| (test.file.clone(), after.seen)).collect(),
            )
        }
        Ok(None) => (true, HashMap::new()),
        Err(NoProcess) => (false, HashMap::new()),
    }
}
