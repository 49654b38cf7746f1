//! Representing functions for unit tests.

use crate::{
    evaluate::{Metric, RepresentingFunction, Stop},
    view::Layout,
};

/// A function of bytes with a budget, that remembers its smallest value.
pub(crate) struct Counted<F> {
    f: F,
    metric: Metric,
    budget: u64,
    pub(crate) made: u64,
    pub(crate) best: u64,
    /// Report a zero as `Err(Found)`, as objectives may do.
    pub(crate) found_at_zero: bool,
}

impl<F: FnMut(&[u8]) -> u64> Counted<F> {
    pub(crate) fn new(budget: u64, f: F) -> Self {
        Self { f, metric: Metric::Ulp, budget, made: 0, best: u64::MAX, found_at_zero: false }
    }

    /// Values are the bits of doubles from now on.
    pub(crate) fn set_squared(&mut self) {
        self.metric = Metric::Squared;
    }

    /// Outside the budget.
    pub(crate) fn value(&mut self, x: &[u8]) -> u64 {
        (self.f)(x)
    }
}

impl<F: FnMut(&[u8]) -> u64> RepresentingFunction for Counted<F> {
    fn evaluate(&mut self, x: &[u8]) -> Result<u64, Stop> {
        if self.made == self.budget {
            return Err(Stop::Budget);
        }
        self.made += 1;
        let r = (self.f)(x);
        self.best = self.best.min(r);
        if r == 0 && self.found_at_zero { Err(Stop::Found) } else { Ok(r) }
    }

    fn metric(&self) -> Metric {
        self.metric
    }
}

/// An integer-valued function of doubles.
pub(crate) fn exact(mut f: impl FnMut(&[f64]) -> u64) -> impl FnMut(&[u8]) -> u64 {
    move |x| f(&Layout::doubles(x.len()).reals(x))
}

/// A real-valued function of doubles, in the squared metric.
pub(crate) fn squared(budget: u64, mut f: impl FnMut(&[f64]) -> f64) -> Counted<impl FnMut(&[u8]) -> u64> {
    let mut counted = Counted::new(budget, exact(move |x| f(x).to_bits()));
    counted.set_squared();
    counted
}
