//! The minimization stage: aims at one uncovered branch at a time, and minimizes its distance.
//!
//! Each round takes the open branch on which least was spent, arms the target so that `r` is the distance of that
//! branch, and minimizes `r` by basinhopping from the closest input so far (or, in rotation, from other starts). Every
//! input that takes a new branch on the way is passed to LibAFL's feedbacks.

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

/// Budget of one attempt over a parent branch: many solutions of the parent are worth more than a long search from one.
const BUDGET_VIA_PARENT: u64 = 2048;

/// Number of steps of one basinhopping along the approach level: as many as the budget allows.
const HOPS: u32 = u32::MAX;

/// In the first attempt at a branch, the fuel of an evaluation is the whole fuel divided by two to this power. It
/// doubles with every further attempt. Otherwise functions that loop `n` times would leave no time for anything else if
/// `n` is large.
const FIRST_FUEL_CAP: u32 = 8;

/// Number of evaluations of one round while no site is reached yet.
const EXPLORING_ROUND: u64 = 64;

/// Minimizes the distance of one uncovered branch after the other, by basinhopping over a local minimizer.
///
/// Each round is one attempt at the open branch on which least was spent: from the closest input, along the approach
/// level, over a parent branch, or from another start, in rotation. The budget of a branch rises with its attempts,
/// until the branch is given up.
pub struct BasinhoppingStage<R = StdRand> {
    layout: Arc<Layout>,
    dictionary: Arc<Dictionary>,
    search: Basinhopping<R>,
    /// Many short minimizations around one point.
    hops: Basinhopping<R>,
    /// Search along the conditions before a branch. It is used only with the default minimizer, and for few numbers.
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
    /// Creates a stage that minimizes with the local minimizer `minimizer` (one of
    /// [`penfuzz_mutators::minimizer::MINIMIZERS`]) over the numbers of `layout`.
    ///
    /// # Errors
    /// If there is no such minimizer.
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

    /// With `again`, the stage continues with branches that were given up when no other branch is left, until the clock
    /// ends.
    #[must_use]
    pub fn again(self, again: bool) -> Self {
        Self { again, ..self }
    }

    /// Sets the start of the order of branches for client `number` of `clients`: each client begins with other
    /// branches, as long as no branch has a higher priority.
    #[must_use]
    pub fn beginning_at(self, number: usize, clients: usize) -> Self {
        Self { share: (number, clients), ..self }
    }

    /// Sets `x` to the start point of an attempt.
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

    /// Moves the start to a point that takes a parent branch, that is, a branch that leads to the target's site. If the
    /// parent is an equality, every solution is another start, and the closest input is only one of them. Returns the
    /// finds and the budget that was used.
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
        // Whether the parent was solved or not, the best point is in `x`.
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
    /// Makes one attempt at one branch: from one start, or by several short searches over the parent branches.
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
        // If an input of this attempt takes the branch first, but crashes, the branch is continued in a later round.
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
        if let Some((distance, _)) = executor.evaluator().closest(target) {
            state.metadata_mut::<Spent>()?.note_closest(target, distance, budget - left);
        }
        let is_spent = state.metadata_mut::<Spent>()?.note(target, budget - left, evaluations);
        if state.metadata::<Saturation>()?.is_covered_by_crash(target) {
            if is_spent || state.metadata::<Spent>()?.is_crash_only_budget_spent(target) {
                state.metadata_mut::<Saturation>()?.end_crash_only_search(target);
            }
        } else if is_spent {
            give_up(&[target], fuzzer, executor, state, manager)?;
        }
        Ok(())
    }

    /// Searches from a start towards the target with at most `budget`. Returns the finds and the budget that was used.
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
            budget = budget.min(BUDGET_VIA_PARENT);
            (finds, used) = self.solve_parent(target, budget / 2, executor, state)?;
        }
        Aim(Some(target)).arm(executor.evaluator_mut(), state.metadata::<Saturation>()?);
        let allowed = budget - used;
        let by_crash = state.metadata::<Saturation>()?.is_covered_by_crash(target);
        let mut function = BudgetedFunction::new(executor.evaluator_mut(), &self.clock, allowed, Some(target))
            .passing_crashes(by_crash);
        // Basinhopping ends by itself after n_iter steps. If there is budget left, it starts again.
        while function.budget > 0
            && self.search.minimize(&mut function, &mut self.x, &self.layout, state.rand_mut()).is_ok_and(|r| r > 0)
        {
            self.starts.next(state.rand_mut(), &self.layout, &self.dictionary, &mut self.x);
        }
        finds.append(&mut function.finds);
        Ok((finds, used + allowed - function.budget))
    }

    /// Searches from the start along the approach level by hops. With `by_chain`, it follows the operands of the
    /// conditions before the branch, and hops if these give no step.
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

    /// Explores while there is no branch to aim at. After that, gives up the branches that lie only after branches that
    /// were given up.
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
        spent.exploring += EXPLORING_ROUND;
        if spent.exploring > GIVE_UP_AFTER / 10 && !state.metadata::<Saturation>()?.is_done() {
            let behind: Vec<usize> = state.metadata::<Saturation>()?.uncovered().collect();
            return give_up(&behind, fuzzer, executor, state, manager);
        }
        Aim(None).arm(executor.evaluator_mut(), state.metadata::<Saturation>()?);
        let evaluator = executor.evaluator_mut();
        evaluator.set_fuel_cap(evaluator.fuel() >> (FIRST_FUEL_CAP / 2));
        let mut function = BudgetedFunction::new(executor.evaluator_mut(), &self.clock, EXPLORING_ROUND, None);
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
