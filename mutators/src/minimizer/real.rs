//! Representing functions as argmin problems over the reals.
//!
//! The minimizers of argmin take each number of the point, and the value, as a double. CoverMe searches this way; it is
//! slow on conditions over the bits of numbers, which [`avm`](super::avm) searches directly.

use core::cell::RefCell;

use argmin::core::{CostFunction, Error};

use crate::{
    evaluate::{RepresentingFunction, Stop},
    view::Layout,
};

/// A representing function of a vector of doubles, one per slot.
///
/// The doubles are converted to the kinds of the slots by [`Kind::from_real`](crate::view::Kind::from_real). The cost
/// is at least 0 and never NaN, because argmin's Nelder-Mead fails on NaN: a NaN and "not reached" become infinity. If
/// an evaluation returns a [`Stop`] or 0, this cost and every later one is an error, so that the solver ends.
/// [`minimize`] returns the reason.
pub struct RealProblem<'a> {
    inner: RefCell<Inner<'a>>,
}

struct Inner<'a> {
    f: &'a mut dyn RepresentingFunction,
    layout: &'a Layout,
    /// The best evaluated point.
    best: &'a mut [u8],
    /// The value at the best point.
    r: u64,
    /// The point to evaluate.
    trial: Vec<u8>,
    /// The result of the minimization once an evaluation has returned a [`Stop`] or 0.
    ended: Option<Result<u64, Stop>>,
    /// Number of further costs that must not be errors.
    infallible: usize,
}

/// Minimizes by an argmin solver, with the contract of [`LocalMinimizer::minimize`](super::LocalMinimizer::minimize).
///
/// Evaluates the start itself. Unless that gives 0 or there is no slot, `solve` runs the solver from the coordinates of
/// the start, of which NaN becomes 0 and an infinity the largest finite value of its sign. The result of the solver is
/// not needed, because every evaluation is recorded here.
///
/// # Errors
/// The [`Stop`] of an evaluation.
///
/// # Panics
/// If `x` is shorter than the layout.
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
    let problem =
        RealProblem { inner: RefCell::new(Inner { f, layout, best: x, r, trial, ended: None, infallible: 0 }) };
    solve(&problem, start);
    let inner = problem.inner.into_inner();
    inner.ended.unwrap_or(Ok(inner.r))
}

/// The coordinate from which a solver starts.
fn finite(v: f64) -> f64 {
    if v.is_nan() { 0.0 } else { v.clamp(-f64::MAX, f64::MAX) }
}

impl RealProblem<'_> {
    /// The best value so far as a real number; infinity if no site was reached.
    #[must_use]
    pub fn best_cost(&self) -> f64 {
        let inner = self.inner.borrow();
        inner.f.metric().to_real(inner.r)
    }

    /// Whether an evaluation has returned a [`Stop`] or 0.
    #[must_use]
    pub fn is_ended(&self) -> bool {
        self.inner.borrow().ended.is_some()
    }

    /// Tells the function that an iteration of the solver has ended.
    pub(super) fn end_iteration(&self) {
        self.inner.borrow_mut().f.end_iteration();
    }

    /// Makes the next `costs` infinity instead of an error if the search ends, because argmin's Nelder-Mead unwraps the
    /// costs of its start simplex.
    pub(super) fn defer_errors(&self, costs: usize) {
        self.inner.borrow_mut().infallible = costs;
    }
}

impl Inner<'_> {
    /// The cost for argmin.
    fn cost(&mut self, reals: &[f64]) -> Result<f64, Error> {
        let is_infallible = self.infallible > 0;
        self.infallible = self.infallible.saturating_sub(1);
        let evaluated = if self.ended.is_none() { self.evaluate(reals) } else { None };
        match evaluated {
            Some(cost) => Ok(cost),
            None if is_infallible => Ok(f64::INFINITY),
            None => Err(Error::msg("the search has ended")),
        }
    }

    /// The cost of a point that is evaluated; `None` if the evaluation returns a [`Stop`] or 0.
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

    /// Records the trial as the best point.
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
    fn not_reached_and_nan_cost_infinity() {
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
    fn a_stop_is_an_error_for_the_solver_and_the_result() {
        let mut f = Counted::new(1, exact(|_: &[f64]| 1));
        let result = minimize(&mut f, &mut [0; 8], &Layout::doubles(8), |problem, start| {
            assert!(problem.cost(&start).is_err());
        });
        assert_eq!(result, Err(Stop::Budget));
    }
}
