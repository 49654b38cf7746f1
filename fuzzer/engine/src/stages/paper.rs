//! `CoverMe` (Fu and Su, PLDI 2017): the references that other searches are compared with.
//!
//! Each round is one of the `n_start` starts of Algorithm 1: a start point, then basinhopping with `n_iter` Monte Carlo
//! steps around the local minimizer, over a single representing function. There are two sets of rules.
//!
//! * [`Rules::AsWritten`], the paper's text: the start point is uniform over the bit patterns, and the pens follow
//!   Definition 4.2. A zero is kept and ends the round. A minimum that is not zero makes the branch of the last
//!   conditional infeasible (Sect. 5).
//! * [`Rules::AsRun`], the authors' public program: the first start point is 0, the others are drawn as the Python
//!   library Hypothesis does it, the same number for each argument. `explored.rs` has its representing function. A zero
//!   does not end a round.

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
    explored::{Explored, ExploringFunction},
    finds::{give_up, submit},
};
use crate::{
    goals::{Goal, Pens},
    saturation::Saturation,
};

/// The local minimizer of the paper's experiments.
pub const MINIMIZER: &str = "powell";

/// What the paper describes, or what its authors' program does; the [module](self) compares them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rules {
    /// The paper's text.
    AsWritten,
    /// The authors' public program.
    AsRun,
}

/// The constants of Algorithm 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parameters {
    /// Which rules hold.
    pub rules: Rules,
    /// Number of start points; at least 1.
    pub n_start: u32,
    /// Number of Monte Carlo steps per start point.
    pub n_iter: u32,
    /// Half the width of the uniform distribution that a Monte Carlo step adds to each number; finite and at least 0.
    pub step: f64,
    /// The temperature of the Metropolis rule, in units of the representing function; finite and at least 0.
    pub temperature: f64,
    /// The distance of a strict comparison whose operands are equal (Def. 4.1); of any comparison with the rules of the
    /// public program. Finite and at least 0.
    pub epsilon: f64,
}

impl Parameters {
    /// The values of the paper's experiments: 500 starts of 5 steps (Sect. 6.1). The paper does not state step,
    /// temperature and epsilon.
    pub const AS_WRITTEN: Self =
        Self { rules: Rules::AsWritten, n_start: 500, n_iter: 5, step: 1.0, temperature: 1.0, epsilon: 1e-6 };

    /// The defaults of the public program. Its acceptance test always agrees, but `SciPy` applies it in addition to the
    /// Metropolis rule at temperature 1.
    pub const AS_RUN: Self = Self { rules: Rules::AsRun, step: 300.0, epsilon: 0.0, ..Self::AS_WRITTEN };
}

/// Number of starts so far; metadata of the LibAFL state.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct Starts(pub u32);

impl_serdeany!(Starts);

/// Algorithm 1 of `CoverMe`, one start per round.
pub struct PaperStage<R = StdRand> {
    layout: Arc<Layout>,
    search: Basinhopping<R>,
    parameters: Parameters,
    /// The state of the representing function of [`Rules::AsRun`].
    explored: Explored,
    clock: Clock,
    x: Vec<u8>,
}

impl<R: Rand + 'static> PaperStage<R> {
    /// Creates the stage for Algorithm 1 with the given constants. The minimizer of the paper is [`MINIMIZER`].
    ///
    /// # Errors
    /// If there is no such minimizer.
    pub fn new(layout: Arc<Layout>, minimizer: &str, parameters: Parameters, clock: Clock) -> Result<Self, Error> {
        let dictionary = Arc::new(Dictionary::general());
        let lm = minimizer::create(minimizer, Arc::clone(&dictionary))
            .ok_or_else(|| Error::illegal_argument(format!("there is no minimizer `{minimizer}`")))?;
        let search = Basinhopping::new(lm, dictionary)
            .with_n_iter(parameters.n_iter)
            .with_step(Step::Real { size: parameters.step })
            .with_temperature(parameters.temperature);
        let x = vec![0; layout.size()];
        Ok(Self { layout, search, parameters, explored: Explored::new(parameters.epsilon), clock, x })
    }

    /// A start by the rules of the paper's text. Returns the finds, and the branch that is infeasible by its rule.
    fn start_as_written<E, S>(&mut self, executor: &mut E, state: &mut S) -> Result<Started, Error>
    where
        E: HasEvaluator,
        S: HasMetadata + HasRand<Rand = R>,
    {
        random::fill(state.rand_mut(), &self.layout, &mut self.x);
        executor.evaluator_mut().set_epsilon(self.parameters.epsilon);
        Pens.arm(executor.evaluator_mut(), state.metadata::<Saturation>()?);
        let mut function = BudgetedFunction::new(executor.evaluator_mut(), &self.clock, u64::MAX, None);
        let result = self.search.minimize(&mut StopAtZero(&mut function), &mut self.x, &self.layout, state.rand_mut());
        // The minimum point is evaluated again to read the last conditional that it passes.
        let infeasible = match result {
            Ok(_) if function.evaluate(&self.x).is_ok_and(|r| r != 0) => Some(function.evaluator().last_branch()),
            _ => None,
        };
        Ok(Started { finds: core::mem::take(&mut function.finds), infeasible })
    }

    /// The same by the rules of the public program; `is_first` for the first start of a campaign.
    fn start_as_run<E, S>(&mut self, is_first: bool, executor: &mut E, state: &mut S) -> Result<Started, Error>
    where
        E: HasEvaluator,
        S: HasMetadata + HasRand<Rand = R>,
    {
        let start = if is_first { 0.0 } else { random::hypothesis_float(state.rand_mut()) };
        for slot in self.layout.slots() {
            slot.set_real(&mut self.x, start);
        }
        self.explored.start(state.metadata::<Saturation>()?, executor.evaluator_mut());
        let mut function = BudgetedFunction::new(executor.evaluator_mut(), &self.clock, u64::MAX, None);
        let mut exploring = ExploringFunction { function: &mut function, explored: &mut self.explored };
        let result = self.search.minimize(&mut exploring, &mut self.x, &self.layout, state.rand_mut());
        let finds = core::mem::take(&mut function.finds);
        executor.evaluator_mut().set_measuring(false);
        let infeasible = match result {
            Ok(_) => self.explored.count_steps(self.parameters.n_iter),
            Err(_) => None,
        };
        Ok(Started { finds, infeasible })
    }
}

/// The result of a start.
struct Started {
    finds: Vec<Vec<u8>>,
    infeasible: Option<usize>,
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
        let number = starts.0;
        if number > self.parameters.n_start {
            let open: Vec<usize> = state.metadata::<Saturation>()?.uncovered().collect();
            return give_up(&open, fuzzer, executor, state, manager);
        }
        let Started { finds, infeasible } = match self.parameters.rules {
            Rules::AsWritten => self.start_as_written(executor, state)?,
            Rules::AsRun => self.start_as_run(number == 1, executor, state)?,
        };
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
