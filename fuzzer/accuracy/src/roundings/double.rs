//! Double-double numbers, for sums in which nearly all of the terms cancels.

/// The unevaluated sum of a double and its rounding error.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Double {
    high: f64,
    low: f64,
}

impl From<f64> for Double {
    fn from(high: f64) -> Self {
        Self { high, low: 0.0 }
    }
}

impl Double {
    /// Adds the product of `times` and `other`.
    pub fn add(&mut self, times: f64, other: Self) {
        let product = times * other.high;
        let low = times.mul_add(other.low, times.mul_add(other.high, -product));
        let sum = self.high + product;
        self.low += low + two_sum(self.high, product, sum);
        self.high = sum + self.low;
        self.low -= self.high - sum;
    }

    pub fn value(self) -> f64 {
        self.high
    }
}

/// Returns the exact sum of `a` and `b` minus the rounded one, `sum`.
pub(super) fn two_sum(a: f64, b: f64, sum: f64) -> f64 {
    let of_b = sum - a;
    (a - (sum - of_b)) + (b - of_b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn double_double_sum_survives_cancellation() {
        let mut sum = Double::default();
        sum.add(3.0, Double::from(1e16));
        sum.add(0.1, Double::from(1.0));
        sum.add(-1e16, Double::from(3.0));
        assert!((sum.value() - 0.1).abs() < 1e-16, "{}", sum.value());
        let mut twice = Double::from(1.0);
        twice.add(1.0, Double::from(1e-20));
        sum.add(1e20, twice);
        sum.add(-1e20, Double::from(1.0));
        assert!((sum.value() - 1.1).abs() < 1e-11, "{}", sum.value());
    }
}
