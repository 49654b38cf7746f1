//! `CoverMe` as written (Fu and Su, PLDI 2017, Algorithm 1): the reference that other searches are compared with.
//!
//! Each round is one of the `n_start` starts: a random point (uniform over the bit patterns), then basinhopping with
//! `n_iter` Monte Carlo steps around the local minimizer, over the single representing function whose pens follow
//! Definition 4.2. A zero is kept. A minimum that is not zero makes the branch of the last conditional infeasible
//! (Sect. 5).

use std::sync::Arc;

use libafl::{
    Error, Evaluator as LibaflEvaluator, HasMetadata,
    inputs::BytesInput,
    stages::{Restartable, Stage},
    state::{HasCorpus, HasRand},
};
use libafl_bolts::{
    impl_serdeany,
    rands::{Rand, StdRand},
};
use penfuzz_executor::{HasEvaluator, PenEvaluator};
use penfuzz_mutators::{
    basinhopping::{Basinhopping, Step},
    dictionary::Dictionary,
    evaluate::{RepresentingFunction, Stop},
    minimizer::{self, LocalMinimizer},
    random,
    view::Layout,
};
use serde::{Deserialize, Serialize};

use super::{
    Clock,
    budgeted::BudgetedFunction,
    finds::{give_up, submit},
};
use crate::{
    goals::{Goal, Pens},
    saturation::Saturation,
};

/// `n_start` of the paper's experiments.
pub const N_START: u32 = 500;
/// `n_iter` of the paper's experiments.
pub const N_ITER: u32 = 5;
/// The local minimizer of the paper's experiments.
pub const MINIMIZER: &str = "powell";

/// Number of starts so far; metadata of the LibAFL state.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct Starts(pub u32);

impl_serdeany!(Starts);

/// Algorithm 1 of `CoverMe`, one start per round: defaults [`N_START`], [`N_ITER`], [`MINIMIZER`].
pub struct PaperStage<R = StdRand> {
    layout: Arc<Layout>,
    search: Basinhopping<R>,
    n_start: u32,
    clock: Clock,
    x: Vec<u8>,
}

impl<R: Rand + 'static> PaperStage<R> {
    /// Creates the stage for Algorithm 1 with the given constants.
    ///
    /// # Errors
    /// If there is no such minimizer.
    pub fn new(layout: Arc<Layout>, minimizer: &str, n_start: u32, n_iter: u32, clock: Clock) -> Result<Self, Error> {
        let dictionary = Arc::new(Dictionary::general());
        let lm = minimizer::create(minimizer, Arc::clone(&dictionary))
            .ok_or_else(|| Error::illegal_argument(format!("there is no minimizer `{minimizer}`")))?;
        let search = Basinhopping::new(lm, dictionary)
            .with_n_iter(n_iter)
            .with_step(Step::Real { size: 1.0 })
            .with_temperature(1.0);
        let x = vec![0; layout.size()];
        Ok(Self { layout, search, n_start, clock, x })
    }
}

/// The function of this search: a zero of `r` ends the minimization, whether or not a branch was newly covered.
struct StopAtZero<'a, 'b, V>(&'a mut BudgetedFunction<'b, V>);

impl<V: PenEvaluator> RepresentingFunction for StopAtZero<'_, '_, V> {
    fn evaluate(&mut self, x: &[u8]) -> Result<u64, Stop> {
        match self.0.evaluate(x)? {
            0 => Err(Stop::Found),
            r => Ok(r),
        }
    }

    fn metric(&self) -> penfuzz_mutators::evaluate::Metric {
        self.0.metric()
    }
}

impl<E, EM, R, S, Z> Stage<E, EM, S, Z> for PaperStage<R>
where
    R: Rand + 'static,
    E: HasEvaluator,
    S: HasMetadata + HasRand<Rand = R> + HasCorpus<BytesInput>,
    Z: LibaflEvaluator<E, EM, BytesInput, S>,
{
    fn perform(&mut self, fuzzer: &mut Z, executor: &mut E, state: &mut S, manager: &mut EM) -> Result<(), Error> {
        let starts = state.metadata_or_insert_with(Starts::default);
        starts.0 += 1;
        if starts.0 > self.n_start {
            let open: Vec<usize> = state.metadata::<Saturation>()?.uncovered().collect();
            return give_up(&open, fuzzer, executor, state, manager);
        }
        random::fill(state.rand_mut(), &self.layout, &mut self.x);
        Pens.arm(executor.evaluator_mut(), state.metadata::<Saturation>()?);
        let mut function = BudgetedFunction::new(executor.evaluator_mut(), &self.clock, u64::MAX, None);
        let result = self.search.minimize(&mut StopAtZero(&mut function), &mut self.x, &self.layout, state.rand_mut());
        // The minimum point is evaluated again to read the last conditional that it passes.
        let infeasible = match result {
            Ok(_) if function.evaluate(&self.x).is_ok_and(|r| r != 0) => Some(function.evaluator().last_branch()),
            _ => None,
        };
        let finds = core::mem::take(&mut function.finds);
        submit(finds, fuzzer, executor, state, manager)?;
        if let Some(branch) = infeasible {
            give_up(&[branch], fuzzer, executor, state, manager)?;
        }
        Ok(())
    }
}

impl<R, S> Restartable<S> for PaperStage<R> {
    fn should_restart(&mut self, _state: &mut S) -> Result<bool, Error> {
        Ok(true)
    }

    fn clear_progress(&mut self, _state: &mut S) -> Result<(), Error> {
        Ok(())
    }
}
