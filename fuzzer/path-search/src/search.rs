//! Searches for an input that takes a path: minimizes the [`Path`] goal from many start points.

use core::ptr::NonNull;
use std::{collections::HashSet, sync::Arc, time::Instant};

use libafl_bolts::rands::{Rand, StdRand};
use penfuzz_engine::{
    goals::{Goal, Path},
    saturation::Saturation,
    stages::{SearchKind, budgeted, observed::Chain},
};
use penfuzz_executor::Evaluator;
use penfuzz_mutators::{
    basinhopping::Basinhopping,
    dictionary::Dictionary,
    evaluate::{Metric, RepresentingFunction, Stop},
    minimizer::{self, LocalMinimizer, avm::Avm, chain::ChainSearch},
    observe::Observation,
    random,
    start::StartPoints,
    structured,
    view::Layout,
};
use penfuzz_system::process::interrupts;

/// Units of the first attempts; later attempts double them.
const FIRST_BUDGET: u64 = 2_000;
/// Units of the longest attempt.
const LONGEST_BUDGET: u64 = 400_000;
/// Maximum number of stored inputs that got about as far as the best one.
const MAX_NEAR_BEST: usize = 24;
/// An input got about as far as the best one if it misses at most one more step per this many steps that the best one
/// takes.
const NEAR_BEST_DIVISOR: usize = 10;
/// Units of a round of chain search.
const CHAIN: u64 = 4_000;
/// Units of a round that combines such inputs.
const COMBINING: u64 = 4_000;
/// The fuel of the first attempts is the whole fuel divided by two to this power, or what the path needs if that is
/// more.
const FIRST_FUEL_CAP: u32 = 8;
/// Units between two checks of the clock.
const TICK: u64 = 16;

/// An input that is closer than all before it; sent during the search.
#[derive(Debug, Clone)]
pub struct Progress<'a> {
    /// The index of the goal.
    pub goal: usize,
    /// The value of `r`; 0 if the input takes the path.
    pub r: u64,
    /// The input.
    pub bytes: &'a [u8],
    /// Number of evaluations so far.
    pub evaluations: u64,
}

/// Inputs that have ended the process of an earlier part of the search, and shared memory in which the process that
/// outlives this one finds the input under evaluation.
#[derive(Debug, Clone)]
pub struct FatalInputs {
    /// Inputs that are not evaluated again.
    pub known: HashSet<Vec<u8>>,
    /// Shared memory with room for an input.
    pub shown: NonNull<u8>,
}

/// Limits of a search.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// The time at which the search ends.
    pub until: Instant,
    /// The number of evaluations after which the search ends.
    pub evaluations: u64,
}

/// Parameters of a search.
#[derive(Debug, Clone)]
pub struct SearchParameters<'a> {
    /// The name of the local minimizer. The default one is combined with [`ChainSearch`].
    pub minimizer: &'a str,
    /// Seed of the pseudo-random generator.
    pub seed: u64,
    /// Limits of the search.
    pub bounds: Bounds,
    /// Inputs that must not be evaluated.
    pub fatal_inputs: FatalInputs,
    /// [`crate::Query::parts`].
    pub parts: &'a [Layout],
}

/// One goal, and the inputs that got farthest on its path.
#[derive(Debug, Clone)]
struct PathGoal {
    path: Path,
    r: u64,
    best: Vec<u8>,
    /// Inputs that got about as far as `best`, each with the number of steps that it misses.
    near_best: Vec<(usize, Vec<u8>)>,
    missing: usize,
    /// The branches of the steps if they are all different, otherwise empty. If they differ, the operands of a step's
    /// condition belong to a single pass.
    steps: Vec<usize>,
}

impl PathGoal {
    fn new(path: &Path, size: usize) -> Self {
        let steps: Option<Vec<usize>> = path.branches().collect();
        let are_distinct = |s: &Vec<usize>| s.iter().collect::<HashSet<_>>().len() == s.len();
        Self {
            path: path.clone(),
            r: u64::MAX,
            best: vec![0; size],
            near_best: Vec::new(),
            missing: path.len(),
            steps: steps.filter(are_distinct).unwrap_or_default(),
        }
    }

    /// The conditions up to the first step that is missing.
    fn chain(&self) -> Option<Chain> {
        let end = self.steps.len().checked_sub(self.missing)? + 1;
        self.steps.get(..end).map(Chain::of_steps)
    }

    /// Number of steps that an input may miss to count as having got about as far.
    fn most_missing(&self) -> usize {
        self.missing + (self.path.len() - self.missing) / NEAR_BEST_DIVISOR
    }
}

/// Minimizes the [`Path`] goals of several paths, one after another. It starts from new points, from the input that got
/// farthest, from others that got about as far, and from combinations of these. The budgets grow with each round.
pub struct Search<'a> {
    evaluator: &'a mut Evaluator,
    saturation: &'a Saturation,
    layout: Layout,
    parts: &'a [Layout],
    dictionary: Arc<Dictionary>,
    full: Basinhopping,
    hops: Basinhopping,
    chain: Option<ChainSearch>,
    starts: StartPoints,
    rng: StdRand,
    bounds: Bounds,
    fatal_inputs: FatalInputs,
    goals: Vec<PathGoal>,
    x: Vec<u8>,
}

impl<'a> Search<'a> {
    /// A search for any of `goals`. `saturation` has the graph of the branches in scope. An unknown name of a minimizer
    /// selects the default.
    #[must_use]
    pub fn new(
        evaluator: &'a mut Evaluator,
        saturation: &'a Saturation,
        goals: &[Path],
        dictionary: Dictionary,
        how: SearchParameters<'a>,
    ) -> Self {
        let layout = evaluator.function().layout();
        let dictionary = Arc::new(dictionary);
        let avm = || Avm::new(Arc::clone(&dictionary));
        let other = || minimizer::create(how.minimizer, Arc::clone(&dictionary)).filter(|m| m.name() != avm().name());
        let has_chain = other().is_none();
        let full = other().unwrap_or_else(|| Box::new(avm()));
        let short = other().unwrap_or_else(|| Box::new(avm().lines_only()));
        Self {
            full: Basinhopping::new(full, Arc::clone(&dictionary)),
            hops: Basinhopping::new(short, Arc::clone(&dictionary)).with_n_iter(u32::MAX),
            chain: has_chain.then(|| ChainSearch::new(Arc::clone(&dictionary))),
            starts: StartPoints::new(),
            rng: StdRand::with_seed(how.seed),
            goals: goals.iter().map(|path| PathGoal::new(path, layout.size())).collect(),
            x: vec![0; layout.size()],
            evaluator,
            saturation,
            layout,
            parts: how.parts,
            dictionary,
            bounds: how.bounds,
            fatal_inputs: how.fatal_inputs,
        }
    }

    /// Searches until an input is found or a limit is reached. Evaluates `seeds` first. Returns the index of the goal
    /// of the found input.
    pub fn run(&mut self, kind: SearchKind, seeds: &[Vec<u8>], send: &mut dyn FnMut(Progress)) -> Option<usize> {
        let end = match kind {
            SearchKind::Targeted => self.targeted(seeds, send),
            _ => self.sample(kind, send),
        };
        matches!(end, Err(Stop::Found)).then(|| self.goals.iter().position(|g| g.r == 0)).flatten()
    }

    /// Samples inputs without feedback, for the first goal only.
    fn sample(&mut self, kind: SearchKind, send: &mut dyn FnMut(Progress)) -> Result<(), Stop> {
        self.arm(0, None);
        let general = Dictionary::general();
        let mut walk =
            Walk::new(self.evaluator, 0, &mut self.goals[0], &self.fatal_inputs, self.bounds, u64::MAX, send);
        loop {
            match kind {
                SearchKind::Random => random::fill(&mut self.rng, &self.layout, &mut self.x),
                SearchKind::Uniform => random::fill_uniform(&mut self.rng, &self.layout, &mut self.x),
                _ => structured::fill(&mut self.rng, &self.layout, &general, &mut self.x),
            }
            walk.evaluate(&self.x)?;
        }
    }

    fn targeted(&mut self, seeds: &[Vec<u8>], send: &mut dyn FnMut(Progress)) -> Result<(), Stop> {
        for attempt in 0.. {
            let budget = (FIRST_BUDGET << (attempt / 4).min(20)).min(LONGEST_BUDGET);
            for goal in 0..self.goals.len() {
                let fuel_cap = self.evaluator.fuel() >> FIRST_FUEL_CAP.saturating_sub(attempt as u32 / 2);
                let steps = self.goals[goal].path.len() as i64;
                self.evaluator.set_fuel_cap(fuel_cap.max(steps.saturating_mul(2) + 1024));
                if attempt == 0 {
                    self.evaluate_seeds(goal, seeds, send)?;
                }
                match self.attempt(goal, attempt, budget, send) {
                    Err(Stop::Budget) | Ok(()) => {}
                    Err(end) => return Err(end),
                }
            }
        }
        Ok(())
    }

    fn evaluate_seeds(&mut self, goal: usize, seeds: &[Vec<u8>], send: &mut dyn FnMut(Progress)) -> Result<(), Stop> {
        self.arm(goal, None);
        let size = self.layout.size();
        for seed in seeds {
            let mut x = seed.clone();
            x.resize(size, 0);
            Walk::new(self.evaluator, goal, &mut self.goals[goal], &self.fatal_inputs, self.bounds, u64::MAX, send)
                .evaluate(&x)?;
        }
        Ok(())
    }

    /// One attempt at one goal. Its rounds start from the input that got farthest, from one that got about as far, or
    /// from a new one.
    fn attempt(
        &mut self,
        goal: usize,
        attempt: usize,
        budget: u64,
        send: &mut dyn FnMut(Progress),
    ) -> Result<(), Stop> {
        let g = &self.goals[goal];
        let leads = (attempt % 2 == 1 && !g.path.is_site_reached(g.r)).then_some(g.missing);
        self.arm(goal, leads);
        let (mut left, mut turn) = (budget, attempt);
        while left > 0 {
            let layout = self.layout(goal);
            let has_chain = self.chain.is_some() && ChainSearch::suits(&layout);
            let turn_of = Round::of(turn, &self.goals[goal], has_chain);
            let allowed = match turn_of {
                Round::Hops | Round::Near => left,
                Round::Chain => left.min(CHAIN),
                Round::Combine => left.min(COMBINING),
                Round::Best | Round::Fresh => left.min(budget / 2 + 1),
            };
            self.choose_start(goal, turn_of, &layout);
            let chain = self.goals[goal].chain().filter(|_| turn_of == Round::Chain);
            let mut walk =
                Walk::new(self.evaluator, goal, &mut self.goals[goal], &self.fatal_inputs, self.bounds, allowed, send);
            walk.chain = chain;
            let end = match (turn_of, &mut self.chain) {
                (Round::Chain, Some(chain)) => chain.minimize(&mut walk, &mut self.x, &layout, &mut self.rng),
                (Round::Combine, _) => combine(&mut walk, &mut self.x, &layout, &mut self.rng),
                (Round::Hops | Round::Near | Round::Chain, _) => {
                    self.hops.minimize(&mut walk, &mut self.x, &layout, &mut self.rng)
                }
                (Round::Best | Round::Fresh, _) => self.full.minimize(&mut walk, &mut self.x, &layout, &mut self.rng),
            };
            left = left.saturating_sub((allowed - walk.budget).max(1));
            turn += 1;
            match end {
                Ok(_) | Err(Stop::Budget) => {}
                Err(end) => return Err(end),
            }
        }
        Ok(())
    }

    /// Writes the start point of a round to `x`.
    fn choose_start(&mut self, goal: usize, turn: Round, layout: &Layout) {
        let goal = &self.goals[goal];
        match turn {
            Round::Best | Round::Hops | Round::Combine | Round::Chain => self.x.clone_from(&goal.best),
            Round::Near => {
                let pick = self.rng.below_or_zero(goal.near_best.len().max(1));
                self.x.clone_from(goal.near_best.get(pick).map_or(&goal.best, |e| &e.1));
            }
            Round::Fresh => {
                self.x.clone_from(&goal.best);
                self.starts.next(&mut self.rng, layout, &self.dictionary, &mut self.x);
            }
        }
    }

    /// The numbers that matter to the first step that is missing.
    fn layout(&self, goal: usize) -> Layout {
        let goal = &self.goals[goal];
        let step = goal.path.len() - goal.missing;
        let part = self.parts.get(step).filter(|_| goal.r != u64::MAX);
        part.unwrap_or(&self.layout).clone()
    }

    fn arm(&mut self, goal: usize, leads: Option<usize>) {
        let path = &mut self.goals[goal].path;
        path.lead(leads.unwrap_or(0), self.saturation);
        path.arm(self.evaluator, self.saturation);
    }
}

/// The start point and method of a round of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Round {
    /// From a new point.
    Fresh,
    /// From the input that got farthest.
    Best,
    /// From one that got about as far, with short hops around it.
    Near,
    /// From the input that got farthest, with short hops around it.
    Hops,
    /// Moves the input that got farthest by differences of other inputs.
    Combine,
    /// From the input that got farthest, with moves and repairs by the operands of the conditions on the path.
    Chain,
}

impl Round {
    fn of(number: usize, goal: &PathGoal, has_chain: bool) -> Self {
        const ALL: [Round; 6] = [Round::Fresh, Round::Chain, Round::Best, Round::Near, Round::Hops, Round::Combine];
        match ALL[number % ALL.len()] {
            _ if goal.r == u64::MAX => Self::Fresh,
            Self::Chain if !has_chain || goal.steps.is_empty() => Self::Best,
            Self::Combine if goal.near_best.len() < 3 => Self::Near,
            turn => turn,
        }
    }
}

/// Moves the input that got farthest by the difference of two others that got about as far, number by number in the
/// order of their values. A direction that keeps the steps that these inputs share is often one in which several
/// numbers change together. (Storn and Price, *Differential Evolution*, Journal of Global Optimization 11, 1997, here
/// with integer factors.)
fn combine(walk: &mut Walk, x: &mut [u8], layout: &Layout, rng: &mut StdRand) -> Result<u64, Stop> {
    loop {
        let near_best = &walk.goal.near_best;
        let (a, b) = (rng.below_or_zero(near_best.len()), rng.below_or_zero(near_best.len()));
        let from = if rng.below_or_zero(3) == 0 { rng.below_or_zero(near_best.len()) } else { usize::MAX };
        let (a, b) = (&near_best[a].1, &near_best[b].1);
        let base = near_best.get(from).map_or(&walk.goal.best, |e| &e.1);
        let factor = 1u64 << rng.below_or_zero(4);
        for slot in layout.slots() {
            let difference = slot.position(a).wrapping_sub(slot.position(b)).wrapping_mul(factor);
            slot.set_position(x, slot.position(base).wrapping_add(difference));
        }
        walk.evaluate(x)?;
    }
}

/// The armed target as a representing function. It stores the inputs that got farthest.
struct Walk<'a> {
    evaluator: &'a mut Evaluator,
    number: usize,
    goal: &'a mut PathGoal,
    fatal_inputs: &'a FatalInputs,
    bounds: Bounds,
    budget: u64,
    tick: u64,
    send: &'a mut dyn FnMut(Progress),
    /// The conditions whose operands [`RepresentingFunction::observe`] returns. If set, the round ends when a further
    /// step is taken.
    chain: Option<Chain>,
}

impl<'a> Walk<'a> {
    fn new(
        evaluator: &'a mut Evaluator,
        number: usize,
        goal: &'a mut PathGoal,
        fatal_inputs: &'a FatalInputs,
        bounds: Bounds,
        budget: u64,
        send: &'a mut dyn FnMut(Progress),
    ) -> Self {
        Self { evaluator, number, goal, fatal_inputs, bounds, budget, tick: 0, send, chain: None }
    }

    fn is_over(&mut self) -> bool {
        if self.evaluator.evaluations() >= self.bounds.evaluations {
            return true;
        }
        if self.tick > 0 {
            return false;
        }
        self.tick = TICK;
        self.evaluator.needs_restart() || interrupts::requested() || Instant::now() >= self.bounds.until
    }

    #[cold]
    fn improve(&mut self, x: &[u8], r: u64) {
        let missing = self.goal.path.missing(r);
        if missing < self.goal.missing {
            self.goal.missing = missing;
            let most = self.goal.most_missing();
            self.goal.near_best.retain(|e| e.0 <= most);
        }
        if r < self.goal.r {
            self.goal.r = r;
            self.goal.best.copy_from_slice(x);
            (self.send)(Progress { goal: self.number, r, bytes: x, evaluations: self.evaluator.evaluations() });
        }
        let near_best = &mut self.goal.near_best;
        if near_best.len() < MAX_NEAR_BEST {
            near_best.push((missing, x.to_vec()));
        } else if let Some(place) =
            (0..MAX_NEAR_BEST).max_by_key(|i| (near_best[*i].0, *i as u64 ^ (self.evaluator.evaluations() % 32)))
        {
            near_best[place].0 = missing;
            near_best[place].1.copy_from_slice(x);
        }
    }
}

impl RepresentingFunction for Walk<'_> {
    #[inline]
    fn evaluate(&mut self, x: &[u8]) -> Result<u64, Stop> {
        if self.budget == 0 {
            return Err(Stop::Budget);
        }
        if self.is_over() {
            return Err(Stop::End);
        }
        if !self.fatal_inputs.known.is_empty() && self.fatal_inputs.known.contains(x) {
            self.budget -= 1;
            return Ok(u64::MAX);
        }
        // SAFETY: there is room for an input, and no other process reads it while this one is alive.
        unsafe { core::ptr::copy_nonoverlapping(x.as_ptr(), self.fatal_inputs.shown.as_ptr(), x.len()) };
        let _ = self.evaluator.run(x);
        let cost = 1 + self.evaluator.fuel_used() / budgeted::FUEL_PER_UNIT;
        self.budget = self.budget.saturating_sub(cost);
        self.tick = self.tick.saturating_sub(cost);
        let r = self.evaluator.r();
        let is_equal = self.tick == 0 && r != u64::MAX && self.goal.path.missing(r) <= self.goal.most_missing();
        if r < self.goal.r || is_equal {
            self.improve(x, r);
        }
        if r == 0 { Err(Stop::Found) } else { Ok(r) }
    }

    fn observe(&mut self, x: &[u8], seen: &mut Vec<Observation>) -> Result<u64, Stop> {
        seen.clear();
        let Some(chain) = self.chain.take() else { return self.evaluate(x) };
        let missing = self.goal.missing;
        self.evaluator.set_measuring(true);
        let result = self.evaluate(x);
        chain.take(self.evaluator, seen);
        self.chain = Some(chain);
        if self.goal.missing < missing && result.is_ok() { Err(Stop::Budget) } else { result }
    }

    fn metric(&self) -> Metric {
        Metric::Ulp
    }
}
