//! Evaluations in a small window: a polynomial replaces the reference, and calls are made in series.

use penfuzz_executor::{Evaluator, evaluator::RunStatus};
use penfuzz_mutators::{line, view::Kind};

use super::{
    super::{comparator, local::Sum, pair::sum_by_mpfr, value::CallValues},
    Objective,
};

/// One series of this number is checked against single calls.
const CHECKED: u64 = 256;

/// Buffers for a series of calls.
#[derive(Default)]
pub(super) struct Series {
    /// Raw bits of the arguments.
    inputs: Vec<u64>,
    results: Vec<u64>,
    /// Number of series so far.
    done: u64,
}

impl Series {
    /// Returns whether the first `returned` calls have the same results one by one. They differ if a call depends on
    /// state that earlier calls left.
    fn is_confirmed(&self, evaluator: &mut Evaluator, returned: usize) -> bool {
        let mut results = self.inputs.iter().zip(&self.results).take(returned);
        results.all(|(x, y)| evaluator.run(&x.to_le_bytes()) == RunStatus::Returned && evaluator.result() == *y)
    }
}

impl Objective<'_> {
    /// Returns the reference at a value of the only argument that varies.
    pub(super) fn reference(&mut self, x: f64) -> Option<Sum> {
        self.place(&[line::position(Kind::F64, x.to_bits())]);
        if self.pair.comparator.is_none() {
            return sum_by_mpfr(self.pair.reference(), &self.pair.reals(&self.x));
        }
        let mut above = |y: f64| {
            self.call_comparator(CallValues { result: y.to_bits(), ..CallValues::zero() }, comparator::DIFFERENCE)
        };
        let high = above(0.0)?;
        Some((high, above(high)?)).filter(|sum| sum.0.is_finite())
    }

    /// Returns the error at a position by the polynomial of its window. `None` if there is no polynomial, the error may
    /// be the largest one, or it has no size.
    #[inline]
    pub(super) fn ulps_in_window(&mut self, position: u64) -> Option<f64> {
        let local = self.local.as_ref()?;
        let (least, greatest) = local.ends();
        if !(least..=greatest).contains(&position) || self.pair.session.evaluator.run(&self.x) == RunStatus::Faulted {
            return None;
        }
        let result = self.pair.value.read(&self.pair.session.evaluator)?.result;
        let x = f64::from_bits(line::raw(Kind::F64, position));
        local.ulps(x, f64::from_bits(result)).map(f64::abs).filter(|ulps| !self.may_be_largest(*ulps))
    }

    /// Computes the signed errors at points of the window by its polynomial; NaN where only the reference itself can
    /// decide. Returns false if calls have to be made one by one; `values` are then not valid.
    pub(super) fn ulps_of_series(&mut self, at: &[u64], values: &mut [f64]) -> bool {
        let (Some(local), Some(series)) = (&self.local, &mut self.series) else { return false };
        let (least, greatest) = local.ends();
        let n = at.len() as u64;
        let is_outside = |p: &u64| !(least..=greatest).contains(p);
        if n > self.tick || n > self.max_evals - self.counts.evaluations || at.iter().any(is_outside) {
            return false;
        }
        self.tick -= n;
        self.counts.evaluations += n;
        series.inputs.clear();
        series.inputs.extend(at.iter().map(|p| line::raw(Kind::F64, *p)));
        series.results.resize(at.len(), 0);
        let evaluator = &mut self.pair.session.evaluator;
        let returned = evaluator.run_series(&series.inputs, &mut series.results);
        for (i, value) in values.iter_mut().enumerate() {
            let (x, y) = (f64::from_bits(series.inputs[i]), f64::from_bits(series.results[i]));
            *value = local.ulps(x, y).filter(|_| i < returned).unwrap_or(f64::NAN);
            self.counts.compared += u64::from(!value.is_nan());
        }
        series.done += 1;
        if series.done % CHECKED == 1 && !series.is_confirmed(evaluator, returned) {
            self.series = None;
            return false;
        }
        true
    }
}
