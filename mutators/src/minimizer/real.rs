//! Representing functions as argmin problems over the reals.
//!
//! The minimizers of argmin see each number of the point as a double and the value as a double. That is how CoverMe
//! searches, and what makes it slow on conditions over the bits of numbers; see [`avm`](super::avm) for the other way.

use core::cell::RefCell;

use argmin::core::{CostFunction, Error};

use crate::{
    evaluate::{RepresentingFunction, Stop},
    view::Layout,
};

/// A representing function over vectors of doubles, one per slot.
///
/// Integers see their double rounded and saturated ([`Kind::from_real`](crate::view::Kind::from_real)). The cost is never
/// NaN, because argmin's Nelder-Mead fails on one: NaN and "not reached" are infinity. When an evaluation is refused or
/// gives 0, that cost and every later one is an error, so that the solver ends; [`minimize`] recovers the reason.
pub struct RealProblem<'a> {
    inner: RefCell<Inner<'a>>,
}

struct Inner<'a> {
    f: &'a mut dyn RepresentingFunction,
    layout: &'a Layout,
    /// The best point evaluated.
    best: &'a mut [u8],
    r: u64,
    trial: Vec<u8>,
    ended: Option<Result<u64, Stop>>,
    /// Number of costs to come that must not be errors.
    lenient: usize,
}

/// Evaluates the start, runs a solver on the rest, and keeps what [`LocalMinimizer`](super::LocalMinimizer) promises.
///
/// The solver gets the start with finite coordinates only: NaN becomes 0 and infinities the largest finite values.
/// What it returns does not matter, every evaluation is seen here.
///
/// # Errors
/// What an evaluation returned.
pub fn minimize(
    f: &mut dyn RepresentingFunction,
    x: &mut [u8],
    layout: &Layout,
    solve: impl FnOnce(&RealProblem, Vec<f64>),
) -> Result<u64, Stop> {
    let r = f.evaluate(x)?;
    if r == 0 || layout.is_empty() {
        return Ok(r);
    }
    let start = layout.reals(x).into_iter().map(finite).collect();
    let trial = x.to_vec();
    let problem = RealProblem { inner: RefCell::new(Inner { f, layout, best: x, r, trial, ended: None, lenient: 0 }) };
    solve(&problem, start);
    let inner = problem.inner.into_inner();
    inner.ended.unwrap_or(Ok(inner.r))
}

fn finite(v: f64) -> f64 {
    if v.is_nan() { 0.0 } else { v.clamp(-f64::MAX, f64::MAX) }
}

impl RealProblem<'_> {
    /// The best value so far, as a real number.
    #[must_use]
    pub fn best_cost(&self) -> f64 {
        let inner = self.inner.borrow();
        inner.f.metric().to_real(inner.r)
    }

    /// Whether an evaluation was refused or gave 0.
    #[must_use]
    pub fn is_ended(&self) -> bool {
        self.inner.borrow().ended.is_some()
    }

    /// Answers the next `costs` with infinity if the search ends: Nelder-Mead of argmin unwraps its first costs.
    pub(super) fn be_lenient(&self, costs: usize) {
        self.inner.borrow_mut().lenient = costs;
    }
}

impl Inner<'_> {
    fn cost(&mut self, reals: &[f64]) -> Result<f64, Error> {
        let lenient = self.lenient > 0;
        self.lenient = self.lenient.saturating_sub(1);
        let evaluated = if self.ended.is_none() { self.evaluate(reals) } else { None };
        match evaluated {
            Some(cost) => Ok(cost),
            None if lenient => Ok(f64::INFINITY),
            None => Err(Error::msg("the search has ended")),
        }
    }

    /// `None` when the search ends here, by a stop or by a zero.
    fn evaluate(&mut self, reals: &[f64]) -> Option<f64> {
        self.layout.set_reals(&mut self.trial, reals);
        match self.f.evaluate(&self.trial) {
            Ok(r) => {
                if r < self.r {
                    self.keep(r);
                }
                if r == 0 {
                    self.ended = Some(Ok(0));
                    return None;
                }
                let cost = self.f.metric().to_real(r);
                Some(if cost.is_nan() { f64::INFINITY } else { cost })
            }
            Err(stop) => {
                if stop == Stop::Found {
                    self.keep(0);
                }
                self.ended = Some(Err(stop));
                None
            }
        }
    }

    fn keep(&mut self, r: u64) {
        self.best.copy_from_slice(&self.trial);
        self.r = r;
    }
}

impl CostFunction for &RealProblem<'_> {
    type Param = Vec<f64>;
    type Output = f64;

    fn cost(&self, param: &Self::Param) -> Result<Self::Output, Error> {
        self.inner.borrow_mut().cost(param)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Counted, exact};

    #[test]
    fn unreached_and_nan_cost_infinity() {
        let mut f = Counted::new(9, exact(|x: &[f64]| if x[0] == 1.0 { u64::MAX } else { f64::NAN.to_bits() }));
        f.set_squared();
        let mut costs = Vec::new();
        let _ = minimize(&mut f, &mut 1.0f64.to_le_bytes(), &Layout::doubles(8), |problem, start| {
            costs = [problem.cost(&start), problem.cost(&vec![2.0])].map(|c| c.unwrap()).to_vec();
        });
        assert_eq!(costs, [f64::INFINITY; 2]);
    }

    #[test]
    fn solvers_start_from_finite_numbers() {
        let mut f = Counted::new(9, exact(|_: &[f64]| 1));
        let mut x = [0; 16];
        let layout = Layout::doubles(16);
        layout.set_reals(&mut x, &[f64::NAN, f64::NEG_INFINITY]);
        let mut seen = Vec::new();
        let _ = minimize(&mut f, &mut x, &layout, |_, start| seen = start);
        assert_eq!(seen, [0.0, f64::MIN]);
    }

    #[test]
    fn a_stop_is_an_error_to_the_solver_and_is_recovered() {
        let mut f = Counted::new(1, exact(|_: &[f64]| 1));
        let result = minimize(&mut f, &mut [0; 8], &Layout::doubles(8), |problem, start| {
            assert!(problem.cost(&start).is_err());
        });
        assert_eq!(result, Err(Stop::Budget));
    }
}
