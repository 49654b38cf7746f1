//! Determines which tests kill which mutants.
//!
//! A test can kill a mutant only if it infects it: if the mutant computes another value at its location than the
//! original. So the original runs once per test and reports the mutants that the test infects. Then each mutant runs
//! with the tests that infect it, until one kills it. Everything runs in child processes, because mutants crash and
//! write to arbitrary memory.

use std::{
    collections::BTreeSet,
    mem,
    time::{Duration, Instant},
};

use penfuzz_directory::{
    rendering::results::{self, RunBits},
    replay::session::{ReplaySession, silence},
};
use penfuzz_error::Error;
use penfuzz_executor::{Evaluator, evaluator::RunStatus};
use penfuzz_report::Test;
use penfuzz_system::process::child::{self, Limit};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::oracle;

/// Number of mutants of a batch, and the time after which no further mutant of a batch starts.
const BATCH: usize = 32;
const BATCH_TIME: Duration = Duration::from_millis(500);
/// A mutant may use this multiple of the original's fuel, plus [`MORE_FUEL`], before it counts as not terminating.
const FUEL_FACTOR: u64 = 16;
const MORE_FUEL: u64 = 4096;

/// Tests and their expectations.
#[derive(Debug, Default)]
pub struct Tests {
    /// Their inputs.
    pub inputs: Vec<Vec<u8>>,
    /// The behaviour of the original; `None` for an input that is no test, because the original does not end normally.
    pub expected: Vec<Option<Expected>>,
    /// For each test the mutants that it infects, by the numbers of their branches, ascending.
    pub infected: Vec<Vec<u32>>,
}

/// The behaviour of the original for an input.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Expected {
    /// The values that a test checks.
    pub test: Test,
    /// The values after the call, if only these count.
    left: Option<RunBits>,
    /// The fuel that it uses.
    fuel: u64,
}

/// Returns the fuel limit of a mutant, from the fuel that the original uses.
#[must_use]
pub fn allowance(fuel: u64) -> i64 {
    i64::try_from(fuel.saturating_mul(FUEL_FACTOR).saturating_add(MORE_FUEL)).unwrap_or(i64::MAX)
}

/// The verdict on a mutant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// The test that kills it, and how.
    pub killed: Option<(usize, Kill)>,
    /// Number of runs.
    pub runs: u64,
}

/// How a mutant is killed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kill {
    /// Whether it does not terminate.
    pub hangs: bool,
    /// Description.
    pub how: String,
}

/// Runs the original on the inputs, and records which mutants they infect and how it behaves.
///
/// # Errors
/// When the system cannot start another process.
pub fn observe(session: &mut ReplaySession, inputs: Vec<Vec<u8>>) -> Result<Tests, Error> {
    // Done in the parent, so that the child processes after it need not change many bytes.
    session.evaluator.set_mutant(None);
    let requested = session.scope.requested.clone();
    let work = |evaluator: &mut Evaluator, i: usize, _| {
        let (ran, infected) = evaluator.record(&requested, &inputs[i]);
        Some((infected, (ran != RunStatus::Faulted).then(|| expect(evaluator, &inputs[i])).flatten()))
    };
    let all: Vec<Option<(Vec<u32>, Option<Expected>)>> = each(session, inputs.len(), work);
    let (mut infected, mut expected) = (Vec::new(), Vec::new());
    for (answer, input) in all.into_iter().zip(&inputs) {
        let (by, what) = match answer {
            Some(answer) => answer,
            // The input ended its process, or there was none.
            None => (session.evaluate(&[input])?.remove(0).covers, None),
        };
        infected.push(by);
        expected.push(what);
    }
    results::expect_changed(expected.iter_mut().flatten().map(|expected| &mut expected.test));
    Ok(Tests { inputs, expected, infected })
}

/// Runs the original, which stays enabled, on an input, and returns its behaviour; `None` if it does not end normally.
pub fn expect(evaluator: &mut Evaluator, bytes: &[u8]) -> Option<Expected> {
    evaluator.set_mutant(None);
    let test = results::of(evaluator, bytes, None);
    let (_, seen) = results::call(evaluator, bytes);
    let fuel = evaluator.fuel_used();
    let left = results::left(evaluator, &seen);
    (seen.is_normal() && oracle::difference(&test, &seen, 0).is_none()).then_some(Expected { test, left, fuel })
}

/// Runs each of these mutants with the tests that infect it, those that use the least fuel first: a mutant that does
/// not terminate uses a multiple of it.
pub fn score(session: &mut ReplaySession, mutants: &[usize], tests: &Tests, ulp: u64) -> Vec<Verdict> {
    let infects = |test: usize, mutant: usize| tests.infected[test].binary_search(&(mutant as u32)).is_ok();
    let fuel = |t: usize| Some((tests.expected[t].as_ref()?.fuel, t));
    let mut order: Vec<(u64, usize)> = (0..tests.inputs.len()).filter_map(fuel).collect();
    order.sort_unstable();
    let jobs: Vec<Vec<usize>> =
        mutants.iter().map(|m| order.iter().map(|(_, t)| *t).filter(|t| infects(*t, *m)).collect()).collect();
    let work = Work { mutants, jobs, tests, ulp };
    let mut verdicts = work.in_batches(session);
    let left: Vec<usize> = (0..mutants.len()).filter(|i| verdicts[*i].is_none()).collect();
    for (i, verdict) in left.iter().zip(work.one_by_one(session, &left)) {
        verdicts[*i] = Some(verdict);
    }
    verdicts.into_iter().flatten().collect()
}

/// Returns the seconds that one run of the tests takes without mutants, in a process of its own as mutants have.
pub fn plain(session: &mut ReplaySession, tests: &Tests) -> f64 {
    let mut watch = Watch::start();
    each(session, 1, |evaluator, _, _| {
        evaluator.set_mutant(None);
        let all = tests.inputs.iter().zip(&tests.expected);
        Some(all.filter(|(x, e)| e.as_ref().is_some_and(|e| is_intact(evaluator, x, e))).count())
    });
    watch.lap()
}

/// Returns for each test the mutants that it kills, and how. Each mutant runs with every test that infects it.
pub fn kills(session: &mut ReplaySession, mutants: &[usize], tests: &Tests, ulp: u64) -> Vec<Vec<(usize, Kill)>> {
    let work = |evaluator: &mut Evaluator, t: usize, _: bool| {
        let mut all: Vec<(usize, Kill)> = Vec::new();
        let Some(expected) = &tests.expected[t] else { return Some(all) };
        for m in mutants.iter().filter(|m| tests.infected[t].binary_search(&(**m as u32)).is_ok()) {
            if let Some(kill) = try_one(evaluator, *m, &tests.inputs[t], expected, ulp)
                && is_intact(evaluator, &tests.inputs[t], expected)
            {
                all.push((*m, kill));
            }
        }
        Some(all)
    };
    each(session, tests.inputs.len(), work).into_iter().map(Option::unwrap_or_default).collect()
}

/// Mutants, each with the tests that it runs with.
struct Work<'a> {
    mutants: &'a [usize],
    jobs: Vec<Vec<usize>>,
    tests: &'a Tests,
    ulp: u64,
}

impl Work<'_> {
    /// Runs the mutants of a batch one after the other in one process, and checks only afterwards whether the original
    /// still meets the expectations of the tests. `None` for the mutants of a batch in which one has changed its
    /// behaviour or ended its process, or that takes too long.
    fn in_batches(&self, session: &mut ReplaySession) -> Vec<Option<Verdict>> {
        let n = self.mutants.len();
        let of_batch = |batch: usize| batch * BATCH..n.min((batch + 1) * BATCH);
        let mut is_changed = false;
        let work = |evaluator: &mut Evaluator, batch, _| {
            if is_changed {
                return None; // A new process goes on.
            }
            let start = Instant::now();
            let in_time = of_batch(batch).take_while(|_| start.elapsed() < BATCH_TIME);
            let verdicts: Vec<Verdict> = in_time.map(|i| self.run(evaluator, i)).collect();
            let killers: BTreeSet<usize> = verdicts.iter().filter_map(|v| Some(v.killed.as_ref()?.0)).collect();
            is_changed = !killers.iter().all(|t| self.is_intact(evaluator, *t));
            Some(if is_changed { Vec::new() } else { verdicts })
        };
        let mut all = vec![None; n];
        for (batch, verdicts) in each(session, n.div_ceil(BATCH), work).into_iter().enumerate() {
            let verdicts = verdicts.unwrap_or_default().into_iter().map(Some);
            all[of_batch(batch)].iter_mut().zip(verdicts).for_each(|(at, verdict)| *at = verdict);
        }
        all
    }

    /// Runs these mutants, and checks after each kill whether the original still meets the expectations of that test.
    /// If not, the mutant is run again in a new process.
    fn one_by_one(&self, session: &mut ReplaySession, these: &[usize]) -> Vec<Verdict> {
        let work = |evaluator: &mut Evaluator, i: usize, is_fresh| {
            let verdict = self.run(evaluator, these[i]);
            let is_intact = verdict.killed.as_ref().is_none_or(|(t, _)| self.is_intact(evaluator, *t));
            (is_intact || is_fresh).then_some(verdict)
        };
        let died = |i: usize| {
            let kill = Kill { hangs: false, how: "it ends its process".to_owned() };
            Verdict { killed: self.jobs[i].first().map(|t| (*t, kill)), runs: 1 }
        };
        let verdicts = each(session, these.len(), work);
        verdicts.into_iter().zip(these).map(|(verdict, i)| verdict.unwrap_or_else(|| died(*i))).collect()
    }

    /// Runs a mutant with its tests until one kills it.
    fn run(&self, evaluator: &mut Evaluator, i: usize) -> Verdict {
        let mut runs = 0;
        for t in &self.jobs[i] {
            let Some(expected) = &self.tests.expected[*t] else { continue };
            runs += 1;
            if let Some(kill) = try_one(evaluator, self.mutants[i], &self.tests.inputs[*t], expected, self.ulp) {
                return Verdict { killed: Some((*t, kill)), runs };
            }
        }
        Verdict { killed: None, runs }
    }

    /// Returns whether the original still meets the expectations of a test.
    fn is_intact(&self, evaluator: &mut Evaluator, test: usize) -> bool {
        let expected = self.tests.expected[test].as_ref();
        expected.is_none_or(|expected| is_intact(evaluator, &self.tests.inputs[test], expected))
    }
}

/// Returns whether the original, which is enabled, still meets the expectations of the test.
fn is_intact(evaluator: &mut Evaluator, bytes: &[u8], expected: &Expected) -> bool {
    let again = results::call_unless(evaluator, bytes, expected.left.as_ref());
    again.is_none_or(|again| oracle::difference(&expected.test, &again, 0).is_none())
}

/// Runs a mutant once, and enables the original again afterwards.
pub fn try_one(evaluator: &mut Evaluator, mutant: usize, bytes: &[u8], expected: &Expected, ulp: u64) -> Option<Kill> {
    evaluator.set_mutant(Some(mutant));
    let fuel = evaluator.set_fuel(allowance(expected.fuel));
    let seen = results::call_unless(evaluator, bytes, expected.left.as_ref());
    let hangs = seen.as_ref().is_some_and(|seen| !seen.is_normal()) && evaluator.is_out_of_fuel();
    evaluator.set_fuel(fuel);
    evaluator.set_mutant(None);
    let how = oracle::difference(&expected.test, &seen?, ulp)?;
    Some(Kill { hangs, how: if hangs { "it does not end".to_owned() } else { how } })
}

/// Does the work on items `0..n` in child processes. The last argument of `work` is whether the item is the first one
/// of its process. If `work` returns `None`, a new process repeats the item. The result is `None` for an item that ends
/// its process.
pub fn each<M: Serialize + DeserializeOwned>(
    session: &mut ReplaySession,
    n: usize,
    mut work: impl FnMut(&mut Evaluator, usize, bool) -> Option<M>,
) -> Vec<Option<M>> {
    let mut all: Vec<Option<M>> = Vec::with_capacity(n);
    let (timeout, patience) = (session.timeout(), session.patience() * 4 + Duration::from_secs(5));
    while all.len() < n {
        let first = all.len();
        let in_child = |send: &mut dyn FnMut(&M)| {
            silence();
            if session.evaluator.detach_from_supervisor(timeout).is_err() {
                return;
            }
            for i in first..n {
                let Some(message) = work(&mut session.evaluator, i, i == first) else { return };
                send(&message);
                if session.evaluator.needs_restart() {
                    return;
                }
            }
        };
        let _ = child::run(in_child, |message| all.push(Some(message)), Limit::Silence(patience));
        if all.len() == first {
            all.push(None);
        }
    }
    all
}

/// A stopwatch.
#[derive(Debug)]
pub struct Watch(Instant);

impl Watch {
    /// Starts a stopwatch.
    #[must_use]
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// Returns the seconds since the start or the last call.
    pub fn lap(&mut self) -> f64 {
        mem::replace(&mut self.0, Instant::now()).elapsed().as_secs_f64()
    }
}
