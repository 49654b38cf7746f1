//! The work of the child process.
//!
//! Budgets are in units: one per evaluation, one per 64 loop iterations and calls, and [`FAULT`] for an evaluation that
//! fails.

use std::{collections::HashSet, time::Duration};

use penfuzz_abi::{action, metric};
use penfuzz_engine::stages::budgeted;
use penfuzz_executor::{Changes, Evaluator, evaluator::RunStatus};
use penfuzz_mutators::{
    simplify::{Simplifier, Verdict},
    view::Layout,
};

use super::{
    cover::{Counts, Kept},
    finds::{ChildMessage, Closest, Failing, Finds, Item, Shrunk},
    objects,
    telling::telling,
    violated,
};
use crate::rendering::memory::allocated;

/// Units for one report.
const ALL: u64 = 1_000_000;
/// Units for one test, fault or closest input.
const EACH: u64 = 8_000;
/// Units for an attempt with other numbers, whose results are compared: many times an evaluation.
const ATTEMPT: u64 = 32;
/// Units for a failing evaluation, which takes microseconds. A hang also pays for its fuel, at a lower price.
const FAULT: u64 = 32;
const FUEL_PER_UNIT_OF_FAULT: u64 = 1024;
/// Units for a fault: about 60 hangs.
const EACH_FAULT: u64 = 64_000;
/// Number of passes over all tests: if one test loses a branch, another may have to keep it.
const ROUNDS: usize = 3;
/// Time limit of an evaluation. It ends candidates that take long without using fuel.
const PATIENCE: Duration = Duration::from_millis(100);

struct Work<'a> {
    evaluator: &'a mut Evaluator,
    finds: &'a Finds,
    layout: Layout,
    is_harness: bool,
    skip: &'a HashSet<Item>,
    send: &'a mut dyn FnMut(&ChildMessage),
    simplifier: Simplifier,
    units: u64,
}

/// Simplifies the numbers of `x` while `holds` is true. The input of a harness is also shortened. Returns whether `x`
/// has changed.
pub fn simpler(
    simplifier: &mut Simplifier,
    x: &mut Vec<u8>,
    layout: &Layout,
    is_harness: bool,
    mut holds: impl FnMut(&[u8]) -> Verdict,
) -> bool {
    let mut changed = false;
    if is_harness {
        let shorter = [1, 8, 16, 24, 32, 40, 48, 56].into_iter().filter(|n| *n < x.len());
        if let Some(n) = shorter.into_iter().find(|n| holds(&x[..*n]) == Verdict::Holds) {
            x.truncate(n);
            changed = true;
        }
    }
    simplifier.simplify(x, layout, holds) | changed
}

/// Shrinks the inputs in `now`, except the items in `skip`, and sends the results.
pub fn work(
    evaluator: &mut Evaluator,
    finds: &Finds,
    mut now: Shrunk,
    skip: &HashSet<Item>,
    send: &mut dyn FnMut(&ChildMessage),
) {
    if evaluator.detach_from_supervisor(PATIENCE).is_err() {
        return;
    }
    let layout = evaluator.function().layout();
    let is_harness = evaluator.function().is_harness();
    let mut work = Work { evaluator, finds, layout, is_harness, skip, send, simplifier: Simplifier::new(), units: ALL };
    // First, because a verdict must not depend on the time that shrinking takes.
    for failing in now.faults.values_mut().filter(|failing| failing.reason.starts_with("SIG")) {
        work.violated(failing);
    }
    for _ in 0..ROUNDS {
        if !work.tests(&mut now) {
            break;
        }
    }
    work.telling(&mut now);
    for failing in now.faults.values().cloned().collect::<Vec<_>>() {
        work.fault(failing);
    }
    work.track(&mut now);
    // In the order of their distances, because reports show the closest ones.
    let mut order: Vec<_> = now.closest.into_iter().collect();
    order.sort_by_key(|(branch, c)| (c.distance, *branch));
    for (branch, closest) in order {
        work.closest(branch, closest);
    }
}

impl Work<'_> {
    /// Sends that work on an item begins. Returns false if the item must be skipped.
    fn begin(&mut self, item: Item) -> bool {
        if self.units == 0 || self.skip.contains(&item) {
            return false;
        }
        (self.send)(&ChildMessage::Begin(item));
        true
    }

    /// Simplifies `x` as long as `property` holds after an evaluation. `property` gets the branches that the evaluation
    /// takes.
    fn simplify(
        &mut self,
        x: &mut Vec<u8>,
        units: u64,
        mut property: impl FnMut(&mut Evaluator, RunStatus, &[u32]) -> bool,
    ) -> bool {
        let mut units = units.min(self.units);
        let granted = units;
        let mut hits = Vec::new();
        let evaluator = &mut *self.evaluator;
        let mut holds = |y: &[u8]| {
            if units == 0 {
                return Verdict::Stop;
            }
            let ran = evaluator.run(y);
            evaluator.take_hits(&mut hits);
            let fuel = evaluator.fuel_used();
            let cost = if ran == RunStatus::Faulted {
                FAULT + fuel / FUEL_PER_UNIT_OF_FAULT
            } else {
                fuel / budgeted::FUEL_PER_UNIT
            };
            units = units.saturating_sub(1 + cost);
            if property(evaluator, ran, &hits) { Verdict::Holds } else { Verdict::Fails }
        };
        let changed = simpler(&mut self.simplifier, x, &self.layout, self.is_harness, &mut holds);
        self.units -= granted - units;
        changed
    }

    /// Pads the input of a function with zeros. A harness gets its bytes as they are.
    fn pad(&self, bytes: &mut Vec<u8>) {
        if !self.is_harness {
            bytes.resize(self.layout.size(), 0);
        }
    }

    fn arm(&mut self, action_of: impl Fn(usize) -> u8) {
        self.evaluator.set_metric(metric::ULP, u64::MAX);
        self.evaluator.arm(action_of);
    }

    /// One pass over the tests, from the last to the first. Returns true if one has changed.
    fn tests(&mut self, now: &mut Shrunk) -> bool {
        let goals = &self.finds.goals;
        self.arm(|b| if goals[b] { action::RECORD } else { 0 });
        let mut counts = Counts::new(now.tests.iter());
        let known = self.known();
        let mut any = false;
        for i in (0..now.tests.len()).rev() {
            let needed: Vec<u32> = counts.needs(&now.tests[i]).collect();
            if needed.is_empty() {
                let test = now.tests.remove(i);
                counts.remove(&test);
                (self.send)(&ChildMessage::Drop { file: test.file });
                continue;
            }
            if !self.begin(Item::Test(now.tests[i].file.clone())) {
                continue;
            }
            let (mut bytes, mut covers) = (now.tests[i].bytes.clone(), Vec::new());
            self.pad(&mut bytes);
            let changed = self.simplify(&mut bytes, EACH, |_, ran, hits| {
                let holds = ran == RunStatus::Returned
                    && needed.iter().all(|b| hits.binary_search(b).is_ok())
                    && hits.iter().all(|b| known.contains(b));
                if holds {
                    covers = hits.to_vec();
                }
                holds
            });
            any |= changed && self.replace(&mut now.tests[i], &mut counts, bytes, |hits| hits == covers);
        }
        any
    }

    /// Replaces the input of a test if the function returns with it in all placements and `holds` for its branches. A
    /// changed input may read outside of its arguments, which only runs with other placements show.
    fn replace(
        &mut self,
        test: &mut Kept,
        counts: &mut Counts,
        bytes: Vec<u8>,
        holds: impl FnOnce(&[u32]) -> bool,
    ) -> bool {
        let (ran, covers) = self.evaluator.run_in_all_placements(&bytes);
        if ran != RunStatus::Returned || !holds(&covers) {
            return false;
        }
        counts.remove(test);
        (test.bytes, test.covers) = (bytes.clone(), covers.clone());
        counts.add(test);
        (self.send)(&ChildMessage::Test { file: test.file.clone(), bytes, covers });
        true
    }

    /// Gives the numbers of tests ordinary values.
    fn telling(&mut self, now: &mut Shrunk) {
        if self.is_harness {
            return;
        }
        let goals = &self.finds.goals;
        self.arm(|b| if goals[b] { action::RECORD } else { 0 });
        let mut counts = Counts::new(now.tests.iter());
        let known = self.known();
        for test in &mut now.tests {
            if !self.begin(Item::Telling(test.file.clone())) {
                continue;
            }
            let needed: Vec<u32> = counts.needs(test).collect();
            let mut bytes = test.bytes.clone();
            self.pad(&mut bytes);
            let granted = EACH.min(self.units);
            let mut units = granted;
            let changed = telling(self.evaluator, &mut bytes, &needed, &known, |evaluator| {
                units = units.saturating_sub(ATTEMPT + evaluator.fuel_used() / budgeted::FUEL_PER_UNIT);
                units > 0
            });
            self.units -= granted - units;
            if changed {
                self.replace(test, &mut counts, bytes, |hits| {
                    needed.iter().all(|b| hits.contains(b)) && hits.iter().all(|b| known.contains(b))
                });
            }
        }
    }

    /// The branches that kept inputs cover.
    fn known(&self) -> HashSet<u32> {
        self.finds.kept.iter().flat_map(|k| k.covers.iter().copied()).collect()
    }

    fn fault(&mut self, failing: Failing) {
        if !self.begin(Item::Fault(failing.file.clone())) {
            return;
        }
        let Finds { goals, uncovered, .. } = self.finds;
        self.arm(|b| if goals[b] { action::RECORD } else { 0 });
        let Failing { mut bytes, key, mut reason, .. } = failing.clone();
        self.pad(&mut bytes);
        let mut taken = Vec::new();
        let ran = self.evaluator.run(&bytes);
        self.evaluator.take_hits(&mut taken);
        if ran == RunStatus::Returned || self.evaluator.fault_key() != Some(key) {
            return;
        }
        let only_here: Vec<u32> =
            taken.into_iter().filter(|b| !self.finds.kept.iter().any(|k| k.covers.contains(b))).collect();
        let changed = self.simplify(&mut bytes, EACH_FAULT, |evaluator, ran, hits| {
            ran == RunStatus::Faulted
                && only_here.iter().all(|b| hits.binary_search(b).is_ok())
                && !hits.iter().any(|b| uncovered.contains(b))
                && evaluator.fault_key() == Some(key)
        });
        if changed {
            // The address in the reason of the fault may have changed.
            let _ = self.evaluator.run(&bytes);
            if let Some(fault) = self.evaluator.fault() {
                reason = fault.reason;
            }
            let from_malloc = self.needs_malloc();
            (self.send)(&ChildMessage::Fault(Failing { bytes, reason, from_malloc, ..failing }));
        }
    }

    /// Finds the preconditions that a crash violates. An experiment may end this process, so it is an item of its own.
    fn violated(&mut self, failing: &mut Failing) {
        if !self.begin(Item::Preconditions(failing.file.clone())) {
            return;
        }
        self.arm(|_| 0);
        let mut bytes = failing.bytes.clone();
        self.pad(&mut bytes);
        let _ = self.evaluator.run(&bytes);
        failing.from_malloc = self.needs_malloc();
        let (violates, runs) = violated::preconditions(self.evaluator, &bytes, failing.key);
        self.units = self.units.saturating_sub(runs * FAULT);
        if violates.is_empty() {
            let finds = self.finds;
            let others: Vec<&[u8]> = finds.kept.iter().map(|kept| kept.bytes.as_slice()).collect();
            let (depends_on, runs) = objects::filled_in(self.evaluator, &bytes, failing.key, &others);
            self.units = self.units.saturating_sub(runs * FAULT);
            failing.depends_on = depends_on;
        } else {
            failing.violates = violates;
        }
        failing.is_examined = true;
        (self.send)(&ChildMessage::Fault(failing.clone()));
    }

    /// The variables that the last run has freed or reallocated, or tried to.
    fn needs_malloc(&self) -> Vec<String> {
        let blocks = self.evaluator.blocks();
        blocks.map_or_else(Vec::new, |blocks| allocated::from_malloc(self.evaluator.function(), blocks))
    }

    /// Measures the distances of kept inputs to the uncovered branches, since not every search does.
    fn track(&mut self, now: &mut Shrunk) {
        if self.finds.uncovered.is_empty() || !self.begin(Item::Tracking) {
            return;
        }
        let uncovered: HashSet<usize> = self.finds.uncovered.iter().map(|b| *b as usize).collect();
        self.arm(|b| if uncovered.contains(&b) { action::TRACK } else { 0 });
        for kept in &self.finds.kept {
            let _ = self.evaluator.run(&kept.bytes);
        }
        for branch in &self.finds.uncovered {
            let Some((distance, bytes)) = self.evaluator.closest(*branch as usize) else { continue };
            if now.closest.get(branch).is_none_or(|c| c.distance > distance) {
                let closest = Closest { distance, bytes: bytes.to_vec() };
                now.closest.insert(*branch, closest.clone());
                (self.send)(&ChildMessage::Closest { branch: *branch, closest });
            }
        }
    }

    fn closest(&mut self, branch: u32, closest: Closest) {
        if !self.begin(Item::Closest(branch)) {
            return;
        }
        let Closest { distance, mut bytes } = closest;
        // One branch at a time, so that the cost does not depend on the number of branches.
        self.evaluator.set_metric(metric::ULP, u64::MAX);
        let nothing_is_open = Changes { identity: u64::MAX, branches: &[] };
        self.evaluator.arm_changed(nothing_is_open, |_| 0, &[(branch as usize, action::WANT | action::MIN)], true);
        let changed = self
            .simplify(&mut bytes, EACH, |evaluator, ran, _| ran == RunStatus::Returned && evaluator.r() == distance);
        if changed {
            (self.send)(&ChildMessage::Closest { branch, closest: Closest { distance, bytes } });
        }
    }
}
