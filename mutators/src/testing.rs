//! Representing functions for unit tests.

use crate::{
    evaluate::{Metric, RepresentingFunction, Stop},
    view::Layout,
};

/// A representing function with an evaluation budget, which records the number of evaluations and the least value.
pub(crate) struct Counted<F> {
    f: F,
    metric: Metric,
    budget: u64,
    pub(crate) evaluations: u64,
    pub(crate) best: u64,
    /// Whether a zero is reported as [`Stop::Found`], which a representing function may do.
    pub(crate) found_at_zero: bool,
}

impl<F: FnMut(&[u8]) -> u64> Counted<F> {
    pub(crate) fn new(budget: u64, f: F) -> Self {
        Self { f, metric: Metric::Ulp, budget, evaluations: 0, best: u64::MAX, found_at_zero: false }
    }

    /// Declares the values to be the bits of doubles.
    pub(crate) fn set_squared(&mut self) {
        self.metric = Metric::Squared;
    }

    /// The value at `x`, without counting an evaluation.
    pub(crate) fn value(&mut self, x: &[u8]) -> u64 {
        (self.f)(x)
    }
}

impl<F: FnMut(&[u8]) -> u64> RepresentingFunction for Counted<F> {
    fn evaluate(&mut self, x: &[u8]) -> Result<u64, Stop> {
        if self.evaluations == self.budget {
            return Err(Stop::Budget);
        }
        self.evaluations += 1;
        let r = (self.f)(x);
        self.best = self.best.min(r);
        if r == 0 && self.found_at_zero { Err(Stop::Found) } else { Ok(r) }
    }

    fn metric(&self) -> Metric {
        self.metric
    }
}

/// A function of doubles as a function of bytes.
pub(crate) fn exact(mut f: impl FnMut(&[f64]) -> u64) -> impl FnMut(&[u8]) -> u64 {
    move |x| f(&Layout::doubles(x.len()).reals(x))
}

/// A representing function in the squared metric, from a real-valued function of doubles.
pub(crate) fn squared(budget: u64, mut f: impl FnMut(&[f64]) -> f64) -> Counted<impl FnMut(&[u8]) -> u64> {
    let mut counted = Counted::new(budget, exact(move |x| f(x).to_bits()));
    counted.set_squared();
    counted
}
