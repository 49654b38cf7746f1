//! Minimization as a LibAFL stage: aims at one uncovered branch at a time and walks towards it.
//!
//! Each turn takes the open branch on which least was spent, arms the target so that `r` is that branch's distance, and
//! minimizes `r` by basinhopping from the input that came closest so far (or, in turn, from other starts). Every input that
//! takes a new branch on the way is handed to LibAFL's feedbacks.

use std::sync::Arc;

use libafl::{
    Error, Evaluator as LibaflEvaluator, HasMetadata,
    inputs::BytesInput,
    stages::{Restartable, Stage},
    state::{HasCorpus, HasRand},
};
use libafl_bolts::rands::{Rand, StdRand};
use penfuzz_executor::{HasEvaluator, PenEvaluator};
use penfuzz_mutators::{
    basinhopping::Basinhopping,
    dictionary::Dictionary,
    evaluate::RepresentingFunction,
    minimizer::{self, LocalMinimizer, avm::Avm, chain::ChainSearch},
    start::StartPoints,
    view::Layout,
};

use super::{
    Clock,
    budget::{GIVE_UP_AFTER, Spent},
    budgeted::BudgetedFunction,
    finds::{give_up, known_input, submit},
    observed::Chain,
    queue::Queue,
    share::Shares,
    start::Start,
};
use crate::{
    goals::{Aim, Approach, Goal},
    saturation::Saturation,
};

/// Budget of one way over a parent: many solutions of the parent are worth more than a long walk from one.
const WAY_VIA_PARENT: u64 = 2048;

/// Steps of one basinhopping along the approach level: as many as the budget allows.
const HOPS: u32 = u32::MAX;

/// The fuel of an evaluation in the first attempt at a branch is the whole divided by two to this power; it doubles with every
/// further attempt. Functions that loop `n` times leave no time for anything else where `n` is large.
const FIRST_FUEL_CAP: u32 = 8;

/// Evaluations of one turn while no site is reached yet.
const EXPLORING_TURN: u64 = 64;

/// Minimizes the distance of one uncovered branch after the other by basinhopping over a local minimizer.
///
/// Each turn is one attempt at the open branch on which least was spent: from the closest input, along the approach level, over a
/// branch before it, or from another start, in turn. The budget of a branch rises with its attempts, until it is given up.
pub struct BasinhoppingStage<R = StdRand> {
    layout: Arc<Layout>,
    dictionary: Arc<Dictionary>,
    search: Basinhopping<R>,
    /// Many short minimizations around one point.
    hops: Basinhopping<R>,
    /// Steps and repairs along the conditions before a branch; with the default minimizer, and few numbers, only.
    chain: ChainSearch,
    has_chain: bool,
    starts: StartPoints,
    clock: Clock,
    again: bool,
    share: (usize, usize),
    queue: Queue,
    x: Vec<u8>,
}

impl<R: Rand + 'static> BasinhoppingStage<R> {
    /// Minimizes with the local minimizer `minimizer` (one of [`penfuzz_mutators::minimizer::MINIMIZERS`]) over the numbers of
    /// `layout`.
    ///
    /// # Errors
    /// When there is no such minimizer.
    pub fn new(layout: Arc<Layout>, dictionary: Arc<Dictionary>, minimizer: &str, clock: Clock) -> Result<Self, Error> {
        let create = || {
            minimizer::create(minimizer, Arc::clone(&dictionary))
                .ok_or_else(|| Error::illegal_argument(format!("there is no minimizer `{minimizer}`")))
        };
        let avm = || Avm::new(Arc::clone(&dictionary));
        let is_default = avm().name() == minimizer;
        let has_chain = is_default && ChainSearch::suits(&layout);
        let short = if is_default { Box::new(avm().lines_only()) } else { create()? };
        let x = vec![0; layout.size()];
        Ok(Self {
            search: Basinhopping::new(create()?, Arc::clone(&dictionary)),
            hops: Basinhopping::new(short, Arc::clone(&dictionary)).with_n_iter(HOPS),
            chain: ChainSearch::new(Arc::clone(&dictionary)),
            has_chain,
            starts: StartPoints::new(),
            layout,
            dictionary,
            clock,
            again: false,
            share: (0, 1),
            queue: Queue::default(),
            x,
        })
    }

    /// Goes on with the branches that were given up when no other is left, as long as the clock lets it.
    #[must_use]
    pub fn again(self, again: bool) -> Self {
        Self { again, ..self }
    }

    /// For the client `number` of `clients`: each begins with other branches, as long as none has a higher priority.
    #[must_use]
    pub fn beginning_at(self, number: usize, clients: usize) -> Self {
        Self { share: (number, clients), ..self }
    }

    /// Chooses where the attempt starts.
    fn choose_start<E, S>(&mut self, start: Start, target: usize, executor: &E, state: &mut S) -> Result<(), Error>
    where
        E: HasEvaluator,
        S: HasMetadata + HasRand<Rand = R> + HasCorpus<BytesInput>,
    {
        match start {
            Start::Closest | Start::Approach | Start::Chain => {
                if let Some((_, bytes)) = executor.evaluator().closest(target) {
                    self.x.copy_from_slice(bytes);
                    return Ok(());
                }
            }
            Start::Known => {
                let pick = state.rand_mut().next();
                if let Some(bytes) = known_input(state, pick)? {
                    self.x.fill(0);
                    let n = bytes.len().min(self.x.len());
                    self.x[..n].copy_from_slice(&bytes[..n]);
                    return Ok(());
                }
            }
            Start::ViaParent | Start::Fresh => {}
        }
        self.starts.next(state.rand_mut(), &self.layout, &self.dictionary, &mut self.x);
        Ok(())
    }

    /// Moves the start to a point that takes a branch leading to the target's site: where that is an equality, every solution
    /// is another place to look from, and the closest input is only one of them.
    fn solve_parent<E, S>(
        &mut self,
        target: usize,
        budget: u64,
        executor: &mut E,
        state: &mut S,
    ) -> Result<(Vec<Vec<u8>>, u64), Error>
    where
        E: HasEvaluator,
        S: HasMetadata + HasRand<Rand = R> + HasCorpus<BytesInput>,
    {
        let parents = state.metadata::<Saturation>()?.parents(target);
        if parents.is_empty() {
            return Ok((Vec::new(), 0));
        }
        let n_parents = parents.len();
        let pick = state.rand_mut().below_or_zero(n_parents);
        let parent = state.metadata::<Saturation>()?.parents(target)[pick] as usize;
        Aim(Some(parent)).arm(executor.evaluator_mut(), state.metadata::<Saturation>()?);
        let mut function = BudgetedFunction::new(executor.evaluator_mut(), &self.clock, budget, None);
        // Solved or not, the best point is in `x`.
        let _ = self.search.minimize(&mut function, &mut self.x, &self.layout, state.rand_mut());
        Ok((core::mem::take(&mut function.finds), budget - function.budget))
    }
}

impl<E, EM, R, S, Z> Stage<E, EM, S, Z> for BasinhoppingStage<R>
where
    R: Rand + 'static,
    E: HasEvaluator,
    S: HasMetadata + HasRand<Rand = R> + HasCorpus<BytesInput>,
    Z: LibaflEvaluator<E, EM, BytesInput, S>,
{
    fn perform(&mut self, fuzzer: &mut Z, executor: &mut E, state: &mut S, manager: &mut EM) -> Result<(), Error> {
        let n = executor.evaluator().n_branches();
        let spent = state.metadata_or_insert_with(Spent::default);
        spent.ensure(n);
        if !spent.has_limits() {
            let passed = state.metadata::<Saturation>()?.passed().to_vec();
            state.metadata_mut::<Spent>()?.set_limits(&passed);
        }
        let saturation = state.metadata::<Saturation>()?;
        let from = saturation.first_of_share(self.share.0, self.share.1);
        let target = self.queue.next(state.metadata::<Spent>()?, saturation, self.again, from);
        match target {
            Some(target) => self.attempt(target, fuzzer, executor, state, manager),
            None if saturation.is_finished() && !self.again => Ok(()),
            None => self.explore(fuzzer, executor, state, manager),
        }
    }
}

impl<R: Rand + 'static> BasinhoppingStage<R> {
    /// One attempt at one branch: from one start, or by several short ways over the branches before it.
    fn attempt<E, EM, S, Z>(
        &mut self,
        target: usize,
        fuzzer: &mut Z,
        executor: &mut E,
        state: &mut S,
        manager: &mut EM,
    ) -> Result<(), Error>
    where
        E: HasEvaluator,
        S: HasMetadata + HasRand<Rand = R> + HasCorpus<BytesInput>,
        Z: LibaflEvaluator<E, EM, BytesInput, S>,
    {
        let spent = state.metadata::<Spent>()?;
        let behind_crash = state.metadata::<Saturation>()?.is_covered_by_crash(target);
        let (budget, attempt) = (spent.allowance(target, behind_crash), spent.attempts[target]);
        let start = Start::of_attempt(attempt, self.has_chain);
        let (mut left, mut n_finds) = (budget, 0);
        let before = executor.evaluator().evaluations();
        let fuel_cap = executor.evaluator().fuel() >> FIRST_FUEL_CAP.saturating_sub(attempt);
        let is_over = |set: &Saturation| set.is_settled(target);
        // One that an input of this attempt takes first by a crash has its turn later.
        let was_covered = state.metadata::<Saturation>()?.is_covered(target);
        let is_new = |set: &Saturation| !was_covered && set.is_covered(target);
        while left > 0 && !is_over(state.metadata::<Saturation>()?) && !is_new(state.metadata::<Saturation>()?) {
            executor.evaluator_mut().set_fuel_cap(fuel_cap);
            let (finds, used) = self.go(start, target, left, executor, state)?;
            n_finds += finds.len();
            submit(finds, fuzzer, executor, state, manager)?;
            if used == 0 {
                break; // the campaign ends
            }
            left = left.saturating_sub(used);
        }
        state.metadata_or_insert_with(Shares::default).note_minimization(budget - left, n_finds);
        let evaluations = executor.evaluator().evaluations().saturating_sub(before);
        let is_spent = state.metadata_mut::<Spent>()?.note(target, budget - left, evaluations);
        if state.metadata::<Saturation>()?.is_covered_by_crash(target) {
            if is_spent || state.metadata::<Spent>()?.is_enough_behind_crash(target) {
                state.metadata_mut::<Saturation>()?.end_behind_crash(target);
            }
        } else if is_spent {
            give_up(&[target], fuzzer, executor, state, manager)?;
        }
        Ok(())
    }

    /// Walks from a start towards the target with at most `budget`; returns what was found and what it cost.
    fn go<E, S>(
        &mut self,
        start: Start,
        target: usize,
        budget: u64,
        executor: &mut E,
        state: &mut S,
    ) -> Result<(Vec<Vec<u8>>, u64), Error>
    where
        E: HasEvaluator,
        S: HasMetadata + HasRand<Rand = R> + HasCorpus<BytesInput>,
    {
        self.choose_start(start, target, executor, state)?;
        let (mut finds, mut used, mut budget) = (Vec::new(), 0, budget);
        if matches!(start, Start::Approach | Start::Chain) {
            return self.approach(target, budget, start == Start::Chain, executor, state);
        }
        if start == Start::ViaParent {
            budget = budget.min(WAY_VIA_PARENT);
            (finds, used) = self.solve_parent(target, budget / 2, executor, state)?;
        }
        Aim(Some(target)).arm(executor.evaluator_mut(), state.metadata::<Saturation>()?);
        let allowed = budget - used;
        let by_crash = state.metadata::<Saturation>()?.is_covered_by_crash(target);
        let mut function = BudgetedFunction::new(executor.evaluator_mut(), &self.clock, allowed, Some(target))
            .passing_crashes(by_crash);
        // Basinhopping ends by itself after n_iter steps; what is left of the budget starts it again.
        while function.budget > 0
            && self.search.minimize(&mut function, &mut self.x, &self.layout, state.rand_mut()).is_ok_and(|r| r > 0)
        {
            self.starts.next(state.rand_mut(), &self.layout, &self.dictionary, &mut self.x);
        }
        finds.append(&mut function.finds);
        Ok((finds, used + allowed - function.budget))
    }

    /// Goes from the start along the approach level: by hops; with `by_chain`, by the operands of the conditions before the branch, and by
    /// hops where these give no step.
    fn approach<E, S>(
        &mut self,
        target: usize,
        budget: u64,
        by_chain: bool,
        executor: &mut E,
        state: &mut S,
    ) -> Result<(Vec<Vec<u8>>, u64), Error>
    where
        E: HasEvaluator,
        S: HasMetadata + HasRand<Rand = R> + HasCorpus<BytesInput>,
    {
        let saturation = state.metadata::<Saturation>()?;
        Approach::new(target, saturation).arm(executor.evaluator_mut(), saturation);
        let by_crash = saturation.is_covered_by_crash(target);
        let mut function = BudgetedFunction::new(executor.evaluator_mut(), &self.clock, budget, Some(target))
            .passing_crashes(by_crash)
            .observing(by_chain.then(|| Chain::new(target, saturation)));
        let (x, layout, rng) = (&mut self.x, &self.layout, state.rand_mut());
        if !by_chain || self.chain.minimize(&mut function, x, layout, rng).is_ok_and(|r| r > 0) {
            let _ = self.hops.minimize(&mut function, x, layout, rng);
        }
        Ok((core::mem::take(&mut function.finds), budget - function.budget))
    }

    /// Looks around while there is nothing to aim at; gives up what is behind branches that were given up.
    fn explore<E, EM, S, Z>(
        &mut self,
        fuzzer: &mut Z,
        executor: &mut E,
        state: &mut S,
        manager: &mut EM,
    ) -> Result<(), Error>
    where
        E: HasEvaluator,
        S: HasMetadata + HasRand<Rand = R> + HasCorpus<BytesInput>,
        Z: LibaflEvaluator<E, EM, BytesInput, S>,
    {
        let spent = state.metadata_mut::<Spent>()?;
        spent.exploring += EXPLORING_TURN;
        if spent.exploring > GIVE_UP_AFTER / 10 && !state.metadata::<Saturation>()?.is_done() {
            let behind: Vec<usize> = state.metadata::<Saturation>()?.uncovered().collect();
            return give_up(&behind, fuzzer, executor, state, manager);
        }
        Aim(None).arm(executor.evaluator_mut(), state.metadata::<Saturation>()?);
        let evaluator = executor.evaluator_mut();
        evaluator.set_fuel_cap(evaluator.fuel() >> (FIRST_FUEL_CAP / 2));
        let mut function = BudgetedFunction::new(executor.evaluator_mut(), &self.clock, EXPLORING_TURN, None);
        loop {
            self.starts.next(state.rand_mut(), &self.layout, &self.dictionary, &mut self.x);
            if function.evaluate(&self.x).is_err() || !function.finds.is_empty() {
                break;
            }
        }
        let finds = core::mem::take(&mut function.finds);
        submit(finds, fuzzer, executor, state, manager)
    }
}

impl<R, S> Restartable<S> for BasinhoppingStage<R> {
    fn should_restart(&mut self, _state: &mut S) -> Result<bool, Error> {
        Ok(true)
    }

    fn clear_progress(&mut self, _state: &mut S) -> Result<(), Error> {
        Ok(())
    }
}
