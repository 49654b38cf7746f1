//! The search for inputs that kill mutants which the tests leave alive.
//!
//! An input kills a mutant if it reaches the mutated location, if the mutant computes another value there (it is
//! infected), and if that changes a result (it propagates). A campaign whose goals are infected mutants finds inputs
//! for the first two. Here these are varied, and each variant is tried with the live mutants that it infects: one run
//! of the original reports all of them. In addition, for a mutant that is infected and alive, the propagation distance
//! is minimized ([`propagation`]), if [`Distances`] includes it.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use libafl_bolts::rands::{Rand, StdRand};
use penfuzz_abi::{Traced, action, metric};
use penfuzz_directory::{
    rendering::results::{self, RunResult},
    replay::session::{ReplaySession, silence},
};
use penfuzz_executor::Evaluator;
use penfuzz_mutators::{
    dictionary::Dictionary,
    line, structured,
    view::{Layout, Slot},
};
use penfuzz_system::process::child::{self, Ending, Limit};
use penfuzz_target::program::program_constants;
use serde::{Deserialize, Serialize};

use super::{
    Distances, oracle, propagation,
    score::{Tests, allowance, expect, try_one},
};

/// Number of variants of one round. A round is for one mutant; other mutants that the variants infect are tried, too.
const ROUND: usize = 64;
/// Number of runs after which a mutant is given up.
const LONGEST: u64 = 6000;
/// Cost, in runs, of a round none of whose variants infects the mutant.
const NOT_INFECTED: u64 = 400;
/// Maximum number of mutants that are tried with one variant.
const AT_ONCE: usize = 24;
/// Maximum number of infecting inputs that are kept for a mutant.
const BASES: usize = 16;
/// Number of child processes that mutants may end before the search ends.
const DEATHS: u64 = 24;

/// Every `CLIMBS`-th round of a mutant minimizes the propagation distance.
const CLIMBS: u64 = 2;
/// Maximum number of values of a run that are compared.
const VALUES: usize = 4096;

/// Bounds of the search.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Seed of the pseudo-random generator.
    pub seed: u64,
    /// Deadline.
    pub until: Instant,
    /// Approximate limit of runs.
    pub evals: Option<u64>,
    /// The distances that guide the search.
    pub distances: Distances,
    /// Tolerance of floating-point results, in floats.
    pub ulp: u64,
}

/// An input that kills a mutant, given by the number of its branch.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Found {
    input: Vec<u8>,
    mutant: usize,
    /// Runs so far.
    evals: u64,
}

/// Returns inputs that kill some of the live `mutants`. The search starts from `tests`.
pub fn search(session: &mut ReplaySession, mutants: &[usize], tests: &Tests, bounds: Bounds) -> Vec<Vec<u8>> {
    let mut live: Vec<usize> = mutants.to_vec();
    let mut found = Vec::new();
    let mut left = bounds.evals;
    for attempt in 0..DEATHS {
        if live.is_empty() || Instant::now() >= bounds.until || left == Some(0) {
            break;
        }
        let (timeout, patience) = (session.timeout(), session.patience());
        let seed = bounds.seed.wrapping_add(attempt);
        let work = |send: &mut dyn FnMut(&Found)| {
            silence();
            if session.evaluator.detach_from_supervisor(timeout).is_ok() {
                let bounds = Bounds { seed, evals: left, ..bounds };
                Walk::new(&mut session.evaluator, &live, tests, bounds).run(&mut session.evaluator, send);
            }
        };
        let (mut killed, mut made) = (Vec::new(), 0);
        let receive = |Found { input, mutant, evals }| {
            killed.push(mutant);
            found.push(input);
            made = evals;
        };
        let ending = child::run(work, receive, Limit::At(bounds.until + patience + Duration::from_secs(1)));
        live.retain(|m| !killed.contains(m));
        left = left.map(|left| left.saturating_sub(made));
        if ending == Ending::Done && !session.evaluator.needs_restart() {
            break;
        }
    }
    found
}

/// A live mutant.
#[derive(Debug)]
struct Goal {
    branch: usize,
    spent: u64,
    /// Inputs that infect it; inputs that reach it, if only that distance guides the search.
    bases: Vec<Vec<u8>>,
    /// The smallest propagation distance, and its input.
    nearest: Option<(u64, Vec<u8>)>,
    climbs: u64,
}

/// A variant, and the behaviour of the original for it.
struct Variant {
    x: Vec<u8>,
    infected: Vec<u32>,
    did: RunResult,
    fuel: u64,
}

struct Walk {
    goals: Vec<Goal>,
    /// Inputs of the tests.
    pool: Vec<Vec<u8>>,
    layout: Layout,
    dictionary: Dictionary,
    rng: StdRand,
    bounds: Bounds,
    /// Number of runs before this search.
    first: u64,
    /// Values that the original and the mutant compute.
    traces: [Vec<Traced>; 2],
}

impl Walk {
    fn new(evaluator: &mut Evaluator, live: &[usize], tests: &Tests, bounds: Bounds) -> Self {
        let size = evaluator.input_size();
        let is_harness = evaluator.function().is_harness();
        let whole = |x: &Vec<u8>| {
            let mut x = x.clone();
            if !is_harness {
                x.resize(size, 0);
            }
            x
        };
        let reached = (bounds.distances == Distances::Reach).then(|| reached(evaluator, live, &tests.inputs));
        let hits = reached.as_ref().unwrap_or(&tests.infected);
        let goal = |branch: &usize| {
            let hits = |t: &usize| hits[*t].binary_search(&(*branch as u32)).is_ok();
            let bases = (0..tests.inputs.len()).filter(hits).take(BASES).map(|t| whole(&tests.inputs[t]));
            Goal { branch: *branch, spent: 0, bases: bases.collect(), nearest: None, climbs: 0 }
        };
        Self {
            goals: live.iter().map(goal).collect(),
            pool: tests.inputs.iter().map(whole).collect(),
            layout: evaluator.function().layout(),
            dictionary: program_constants::dictionary(evaluator.target(), evaluator.function_index()),
            rng: StdRand::with_seed(bounds.seed),
            bounds,
            first: evaluator.evaluations(),
            traces: [(); 2].map(|()| Vec::with_capacity(VALUES)),
        }
    }

    fn run(&mut self, evaluator: &mut Evaluator, send: &mut dyn FnMut(&Found)) {
        let most = self.bounds.evals.unwrap_or(u64::MAX);
        while Instant::now() < self.bounds.until && !evaluator.needs_restart() && self.made(evaluator) < most {
            // The mutant with the least effort so far; the first of several.
            let open = (0..self.goals.len()).filter(|g| self.goals[*g].spent < LONGEST);
            let Some(goal) = open.min_by_key(|g| self.goals[*g].spent) else { return };
            if self.climbs(goal) {
                self.climb(evaluator, goal, send);
            } else {
                self.round(evaluator, goal, send);
            }
        }
    }

    fn made(&self, evaluator: &Evaluator) -> u64 {
        evaluator.evaluations() - self.first
    }

    fn send(&self, evaluator: &Evaluator, goal: usize, x: &[u8], send: &mut dyn FnMut(&Found)) {
        send(&Found { input: x.to_vec(), mutant: self.goals[goal].branch, evals: self.made(evaluator) });
    }

    /// Returns whether this round minimizes the propagation distance of the mutant.
    fn climbs(&mut self, goal: usize) -> bool {
        let goal = &mut self.goals[goal];
        if self.bounds.distances != Distances::Propagation || goal.bases.is_empty() {
            return false;
        }
        goal.climbs += 1;
        goal.climbs.is_multiple_of(CLIMBS)
    }

    /// Minimizes the propagation distance of an infected mutant.
    fn climb(&mut self, evaluator: &mut Evaluator, goal: usize, send: &mut dyn FnMut(&Found)) {
        let branch = self.goals[goal].branch;
        evaluator.set_mutant(None);
        evaluator.arm_values();
        let [mut original, mut mutated] = core::mem::take(&mut self.traces);
        for i in 0..ROUND / 2 {
            self.goals[goal].spent += 2;
            let x = self.nearer(goal, i == 0);
            let fuel = evaluator.fuel();
            let (did, is_whole) = results::run_by(evaluator, &x, |e| e.trace_values(None, &x, &mut original));
            evaluator.set_fuel(allowance(evaluator.fuel_used()));
            let (does, is_too) = results::run_by(evaluator, &x, |e| e.trace_values(Some(branch), &x, &mut mutated));
            evaluator.set_fuel(fuel);
            if does != did {
                let expected = expect(evaluator, &x);
                if expected.is_some_and(|e| try_one(evaluator, branch, &x, &e, self.bounds.ulp).is_some()) {
                    self.send(evaluator, goal, &x, send);
                    self.goals.remove(goal);
                    break;
                }
                evaluator.arm_values();
            } else if is_whole && is_too {
                let distance = propagation::distance(&original, &mutated);
                // Equal distances are accepted, too: a difference that is absorbed by chance may propagate for a
                // neighbour.
                if self.goals[goal].nearest.as_ref().is_none_or(|(nearest, _)| distance <= *nearest) {
                    self.goals[goal].nearest = Some((distance, x));
                }
            }
        }
        self.traces = [original, mutated];
    }

    /// Returns a variant of the input with the smallest propagation distance; or an input that infects the mutant.
    fn nearer(&mut self, goal: usize, is_first: bool) -> Vec<u8> {
        let Goal { bases, nearest, .. } = &self.goals[goal];
        let (Some((_, x)), false) = (nearest, is_first) else {
            return bases[self.rng.below_or_zero(bases.len())].clone();
        };
        let mut x = x.clone();
        let slots = self.layout.fitting(x.len()).to_vec();
        if !slots.is_empty() {
            for _ in 0..=self.rng.below_or_zero(slots.len().min(2)) {
                let slot = slots[self.rng.below_or_zero(slots.len())];
                self.change(slot, &mut x);
            }
        }
        x
    }

    fn round(&mut self, evaluator: &mut Evaluator, goal: usize, send: &mut dyn FnMut(&Found)) {
        let variants = self.observe(evaluator, goal);
        let tried = self.choose(&variants);
        if tried.iter().all(|(g, _)| *g != goal) {
            self.goals[goal].spent += NOT_INFECTED;
        }
        let mut killed = Vec::new();
        for (g, which) in tried {
            if let Some(variant) = self.try_goal(evaluator, g, which.iter().map(|i| &variants[*i])) {
                self.send(evaluator, g, &variant.x, send);
                killed.push(g);
            }
        }
        killed.sort_unstable();
        for g in killed.into_iter().rev() {
            self.goals.remove(g);
        }
    }

    /// Runs the original on variants of an input that infects the mutant, if one is known.
    fn observe(&mut self, evaluator: &mut Evaluator, goal: usize) -> Vec<Variant> {
        let variants: Vec<Vec<u8>> = (0..ROUND).map(|_| self.variant(goal)).collect();
        evaluator.set_mutant(None);
        evaluator.set_metric(metric::ULP, u64::MAX);
        let mut is_live = vec![false; evaluator.target().n_branches];
        self.goals.iter().for_each(|g| is_live[g.branch] = true);
        evaluator.arm(|b| if is_live[b] { action::RECORD } else { 0 });
        let mut all = Vec::new();
        for x in variants {
            let (infected, did) = results::call_in_bits(evaluator, &x);
            let fuel = evaluator.fuel_used();
            if did.as_ref().map_or_else(|seen| seen.is_normal(), |_| true) {
                all.push(Variant { x, infected, did, fuel });
            }
        }
        all
    }

    /// Returns the mutants to run, each with the variants to run it on. Keeps variants that infect a mutant.
    fn choose(&mut self, variants: &[Variant]) -> Vec<(usize, Vec<usize>)> {
        let mut chosen: Vec<Vec<usize>> = vec![Vec::new(); self.goals.len()];
        let goal_of: HashMap<u32, usize> =
            self.goals.iter().enumerate().map(|(g, goal)| (goal.branch as u32, g)).collect();
        for (i, variant) in variants.iter().enumerate() {
            let mut infected: Vec<usize> = variant.infected.iter().filter_map(|b| goal_of.get(b).copied()).collect();
            infected.sort_unstable();
            infected.sort_by_key(|g| self.goals[*g].spent + chosen[*g].len() as u64);
            for g in infected.into_iter().take(AT_ONCE) {
                chosen[g].push(i);
                if self.bounds.distances == Distances::Reach {
                    continue;
                }
                let bases = &mut self.goals[g].bases;
                if bases.len() < BASES {
                    bases.push(variant.x.clone());
                } else if self.rng.below_or_zero(8) == 0 {
                    let place = self.rng.below_or_zero(BASES);
                    bases[place].clone_from(&variant.x);
                }
            }
        }
        chosen.into_iter().enumerate().filter(|(_, which)| !which.is_empty()).collect()
    }

    /// Runs a mutant on variants; returns the first one that kills it.
    fn try_goal<'v>(
        &mut self,
        evaluator: &mut Evaluator,
        goal: usize,
        variants: impl Iterator<Item = &'v Variant>,
    ) -> Option<&'v Variant> {
        let branch = self.goals[goal].branch;
        evaluator.set_mutant(Some(branch));
        for variant in variants {
            self.goals[goal].spent += 1;
            let fuel = evaluator.set_fuel(allowance(variant.fuel));
            let seen = results::call_unless(evaluator, &variant.x, variant.did.as_ref().ok());
            evaluator.set_fuel(fuel);
            let Some(seen) = seen else { continue };
            if let Err(original) = &variant.did
                && oracle::difference(&oracle::test_of(original), &seen, self.bounds.ulp).is_none()
            {
                continue;
            }
            let expected = expect(evaluator, &variant.x);
            let kill = expected.and_then(|e| try_one(evaluator, branch, &variant.x, &e, self.bounds.ulp));
            if kill.is_some() {
                return Some(variant);
            }
            evaluator.set_mutant(Some(branch));
        }
        None
    }

    /// Returns a variant of an input that infects the mutant, if one is known; otherwise of any input.
    fn variant(&mut self, goal: usize) -> Vec<u8> {
        let bases = &self.goals[goal].bases;
        let from = if bases.is_empty() || self.rng.below_or_zero(16) == 0 { &self.pool } else { bases };
        let pick = self.rng.below_or_zero(from.len().max(1));
        let mut x = from.get(pick).cloned().unwrap_or_else(|| vec![0; self.layout.size()]);
        let slots = self.layout.fitting(x.len()).to_vec();
        if slots.is_empty() {
            return x;
        }
        if slots.len() == self.layout.len() && self.rng.below_or_zero(6) == 0 {
            structured::fill(&mut self.rng, &self.layout, &self.dictionary, &mut x);
            return x;
        }
        for _ in 0..=self.rng.below_or_zero(slots.len().min(3)) {
            let slot = slots[self.rng.below_or_zero(slots.len())];
            self.change(slot, &mut x);
        }
        x
    }

    /// Changes one number: by a step of a power of two or by a few steps on its ULP line, to a structured value, to
    /// that of another input, or in random low bits.
    fn change(&mut self, slot: Slot, x: &mut [u8]) {
        let rng = &mut self.rng;
        let (kind, rising) = (slot.kind, rng.coinflip(0.5));
        match rng.below_or_zero(6) {
            0 => slot.set(x, structured::value(rng, kind, &self.dictionary)),
            1 => {
                let other = self.pool.get(rng.below_or_zero(self.pool.len()));
                if let Some(other) = other.filter(|o| slot.offset + kind.size() <= o.len()) {
                    slot.set(x, slot.get(other));
                }
            }
            2 => {
                let step = line::step(kind, slot.position(x), rising, 1 + rng.below_or_zero(4) as u64);
                slot.set_position(x, step);
            }
            3 => {
                let bits = rng.below_or_zero(kind.bits() as usize);
                let mask = (1_u64 << bits).wrapping_sub(1);
                slot.set(x, slot.get(x) & !mask | rng.next() & mask);
            }
            _ => {
                let steps = 1_u64 << rng.below_or_zero(kind.bits() as usize);
                slot.set_position(x, line::step(kind, slot.position(x), rising, steps));
            }
        }
    }
}

/// Returns for each input the mutants of `live` whose location it reaches, ascending.
fn reached(evaluator: &mut Evaluator, live: &[usize], inputs: &[Vec<u8>]) -> Vec<Vec<u32>> {
    let mut is_live = vec![false; evaluator.target().n_branches];
    for b in live {
        is_live[*b] = true;
    }
    evaluator.set_mutant(None);
    evaluator.set_reach_infects(true);
    let reached = inputs.iter().map(|x| {
        let mut reached = evaluator.record(&is_live, x).1;
        reached.sort_unstable();
        reached
    });
    let all = reached.collect();
    evaluator.set_reach_infects(false);
    all
}
