//! The search for inputs that kill mutants which the tests let live.
//!
//! An input kills a mutant if it reaches the mutated place, if the mutant computes another value there (it is infected), and if that
//! changes a result (it propagates). A campaign whose goals are infected mutants finds inputs for the first two; here they are varied, and
//! each variant is tried with the live mutants that it infects: one run of the original reports all of them.

use std::time::{Duration, Instant};

use libafl_bolts::rands::{Rand, StdRand};
use penfuzz_cc::abi::{action, metric};
use penfuzz_engine::{executor::Evaluator, program::harvest};
use penfuzz_mutators::{
    dictionary::Dictionary,
    line, structured,
    view::{Layout, Slot},
};
use serde::{Deserialize, Serialize};

use super::{
    oracle,
    score::{Tests, allowance, expect, try_one},
};
use crate::{
    campaign::results::{self, Seen},
    process::child::{self, Ending, Limit},
    replay::session::{ReplaySession, silence},
};

/// Variants of one round, which is for one mutant; others that they infect are tried besides.
const ROUND: usize = 64;
/// Runs of a mutant after which it is given up.
const LONGEST: u64 = 6000;
/// What a round costs a mutant that none of its variants infects.
const NOT_INFECTED: u64 = 400;
/// Mutants that are tried with one variant.
const AT_ONCE: usize = 24;
/// Infecting inputs that are kept for a mutant.
const BASES: usize = 16;
/// Child processes that mutants may end before the search ends.
const DEATHS: u64 = 24;

/// Bounds of a search.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Seed of the pseudo-random generator.
    pub seed: u64,
    /// It ends at this time.
    pub until: Instant,
    /// Floating-point results may be so many floats away.
    pub ulp: u64,
}

/// An input that kills a mutant, by the number of its branch.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Found {
    input: Vec<u8>,
    mutant: usize,
}

/// Inputs that kill some of the live `mutants`; `tests` are where the search begins.
pub fn search(session: &mut ReplaySession, mutants: &[usize], tests: &Tests, bounds: Bounds) -> Vec<Vec<u8>> {
    let mut live: Vec<usize> = mutants.to_vec();
    let mut found = Vec::new();
    for attempt in 0..DEATHS {
        if live.is_empty() || Instant::now() >= bounds.until {
            break;
        }
        let (timeout, patience) = (session.timeout(), session.patience());
        let seed = bounds.seed.wrapping_add(attempt);
        let work = |send: &mut dyn FnMut(&Found)| {
            silence();
            if session.evaluator.on_its_own(timeout).is_ok() {
                Walk::new(&session.evaluator, &live, tests, Bounds { seed, ..bounds })
                    .run(&mut session.evaluator, send);
            }
        };
        let mut killed = Vec::new();
        let receive = |Found { input, mutant }| {
            killed.push(mutant);
            found.push(input);
        };
        let ending = child::run(work, receive, Limit::At(bounds.until + patience + Duration::from_secs(1)));
        live.retain(|m| !killed.contains(m));
        if ending == Ending::Done && !session.evaluator.is_worn_out() {
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
    /// Inputs that infect it.
    bases: Vec<Vec<u8>>,
}

/// One variant, and what the original does for it.
struct Variant {
    x: Vec<u8>,
    infected: Vec<u32>,
    seen: Seen,
    fuel: u64,
}

struct Walk {
    goals: Vec<Goal>,
    /// Inputs of tests.
    pool: Vec<Vec<u8>>,
    layout: Layout,
    dictionary: Dictionary,
    rng: StdRand,
    bounds: Bounds,
}

impl Walk {
    fn new(evaluator: &Evaluator, live: &[usize], tests: &Tests, bounds: Bounds) -> Self {
        let size = evaluator.input_size();
        let is_harness = evaluator.function().is_harness();
        let whole = |x: &Vec<u8>| {
            let mut x = x.clone();
            if !is_harness {
                x.resize(size, 0);
            }
            x
        };
        let goal = |branch: &usize| {
            let infects = |t: &usize| tests.infected[*t].binary_search(&(*branch as u32)).is_ok();
            let bases = (0..tests.inputs.len()).filter(infects).take(BASES).map(|t| whole(&tests.inputs[t]));
            Goal { branch: *branch, spent: 0, bases: bases.collect() }
        };
        Self {
            goals: live.iter().map(goal).collect(),
            pool: tests.inputs.iter().map(whole).collect(),
            layout: evaluator.function().layout(),
            dictionary: harvest::dictionary(evaluator.target(), evaluator.function_index()),
            rng: StdRand::with_seed(bounds.seed),
            bounds,
        }
    }

    fn run(&mut self, evaluator: &mut Evaluator, send: &mut dyn FnMut(&Found)) {
        while Instant::now() < self.bounds.until && !evaluator.is_worn_out() {
            // The mutant on which least was spent, and the first of several.
            let open = (0..self.goals.len()).filter(|g| self.goals[*g].spent < LONGEST);
            let Some(goal) = open.min_by_key(|g| self.goals[*g].spent) else { return };
            self.round(evaluator, goal, send);
        }
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
                send(&Found { input: variant.x.clone(), mutant: self.goals[g].branch });
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
            let (infected, seen) = results::call(evaluator, &x);
            let fuel = evaluator.fuel_used();
            if seen.is_normal() {
                all.push(Variant { x, infected, seen, fuel });
            }
        }
        all
    }

    /// The mutants to run, each with the variants for which it runs. Variants that infect a mutant are kept.
    fn choose(&mut self, variants: &[Variant]) -> Vec<(usize, Vec<usize>)> {
        let mut chosen: Vec<Vec<usize>> = vec![Vec::new(); self.goals.len()];
        for (i, variant) in variants.iter().enumerate() {
            let is_infected = |g: &usize| variant.infected.contains(&(self.goals[*g].branch as u32));
            let mut infected: Vec<usize> = (0..self.goals.len()).filter(is_infected).collect();
            infected.sort_by_key(|g| self.goals[*g].spent + chosen[*g].len() as u64);
            for g in infected.into_iter().take(AT_ONCE) {
                chosen[g].push(i);
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
            let (_, seen) = results::call(evaluator, &variant.x);
            evaluator.set_fuel(fuel);
            if oracle::difference(&oracle::test_of(&variant.seen), &seen, self.bounds.ulp).is_none() {
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

    /// Changes one number: a step of a power of two or a few steps on its line, a value of its own, that of another input, or random low
    /// bits.
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
