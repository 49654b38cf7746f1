//! The statistics of an experiment: medians and quartiles, effect size, significance test, and its correction for many
//! functions. All of them compare ranks, because coverage is bounded, discrete and far from normal. They are those that
//! Arcuri and Briand (A Hitchhiker's guide to statistical tests for assessing randomized algorithms in software
//! engineering, 2014) and Klees et al. (Evaluating fuzz testing, 2018) recommend.

#![expect(clippy::float_cmp, reason = "what is tied is equal bit for bit")]

use serde::{Deserialize, Serialize};
use statrs::stats_tests::{
    Alternative,
    mannwhitneyu::{MannWhitneyUMethod, mannwhitneyu},
};

/// Level of significance: differences with a smaller (corrected) p-value are significant.
pub const ALPHA: f64 = 0.05;

/// Maximum number of observations in both samples together for the exact test. Beyond it the normal approximation is
/// good (`SciPy` uses it from 9 in each sample on), and the exact distribution takes long.
const EXACT: usize = 20;

/// Quartiles and extremes of a sample.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// Size of the sample, at least 1.
    pub n: usize,
    /// The least value.
    pub min: f64,
    /// First quartile.
    pub q1: f64,
    /// Median.
    pub median: f64,
    /// Third quartile.
    pub q3: f64,
    /// The greatest value.
    pub max: f64,
}

impl Spread {
    /// Computes them for a sample in any order, without NaN; `None` if it is empty. Quartiles are Hyndman and Fan's
    /// type 7 (the default of R and `NumPy`): linear between the values at ranks 1 + (n - 1) q.
    #[must_use]
    pub fn of(sample: &[f64]) -> Option<Self> {
        let mut x = sample.to_vec();
        x.sort_by(f64::total_cmp);
        let (min, max) = (*x.first()?, *x.last()?);
        let at = |q: f64| quantile(&x, q);
        Some(Self { n: x.len(), min, q1: at(0.25), median: at(0.5), q3: at(0.75), max })
    }
}

/// Returns the quantile `q`, from 0 to 1, of ascending values, of which there is at least one.
fn quantile(sorted: &[f64], q: f64) -> f64 {
    let h = (sorted.len() - 1) as f64 * q;
    let low = h as usize;
    let high = (low + 1).min(sorted.len() - 1);
    sorted[low] + (h - low as f64) * (sorted[high] - sorted[low])
}

/// Returns the median of a sample in any order; `None` if it is empty.
#[must_use]
pub fn median(sample: &[f64]) -> Option<f64> {
    Spread::of(sample).map(|s| s.median)
}

/// Returns the arithmetic mean; `None` of an empty sample.
#[must_use]
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Computes Vargha and Delaney's A12 (A critique and improvement of the CL common language effect size statistics,
/// 2000): the probability that a value of `x` is greater than one of `y`, ties counted half. From 0 to 1, 0.5 if
/// neither tends to be greater; `None` if a sample is empty.
#[must_use]
pub fn a12(x: &[f64], y: &[f64]) -> Option<f64> {
    if x.is_empty() || y.is_empty() {
        return None;
    }
    let wins = |a: f64| y.iter().map(|&b| f64::from(u8::from(a > b)) + 0.5 * f64::from(u8::from(a == b))).sum::<f64>();
    Some(x.iter().map(|&a| wins(a)).sum::<f64>() / (x.len() * y.len()) as f64)
}

/// Vargha and Delaney's magnitudes of an A12: small from 0.56, medium from 0.64, large from 0.71, and symmetrically
/// below 0.5.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Magnitude {
    /// Less than 0.06 away from 0.5.
    Negligible,
    /// From 0.06 on.
    Small,
    /// From 0.14 on.
    Medium,
    /// From 0.21 on.
    Large,
}

impl Magnitude {
    /// Returns the magnitude of an A12.
    #[must_use]
    pub fn of(a12: f64) -> Self {
        // 0.56 - 0.5 is a little more than 0.06, 0.64 - 0.5 a little less or more than 0.14: the limits belong to the
        // larger effect.
        let distance = (a12 - 0.5).abs() + 1e-9;
        match distance {
            d if d < 0.06 => Self::Negligible,
            d if d < 0.14 => Self::Small,
            d if d < 0.21 => Self::Medium,
            _ => Self::Large,
        }
    }

    /// Returns the name.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Negligible => "negligible",
            Self::Small => "small",
            Self::Medium => "medium",
            Self::Large => "large",
        }
    }
}

/// Returns the p-value of the two-sided Mann-Whitney U test (Wilcoxon's rank-sum test); `None` if a sample is empty.
///
/// With up to 20 observations in all it is exact: the permutation distribution of the rank sum given the ties, twice
/// the lesser tail. (The usual approximation calls three trials against three others significant if each side's are
/// equal: p = 0.047, although it is 0.1.) With more, it is the normal approximation with corrections for ties and
/// continuity.
///
/// # Panics
/// If a value is NaN.
#[must_use]
pub fn mann_whitney(x: &[f64], y: &[f64]) -> Option<f64> {
    if x.is_empty() || y.is_empty() {
        return None;
    }
    // Then the variance of the ranks is 0.
    if x.iter().chain(y).all(|v| *v == x[0]) {
        return Some(1.0);
    }
    if x.len() + y.len() <= EXACT {
        return Some(exact(x, y));
    }
    let method = MannWhitneyUMethod::AsymptoticInclContinuityCorrection;
    let (_, p) = mannwhitneyu(x, y, method, Alternative::TwoSided).expect("samples are not empty and have no NaN");
    Some(p)
}

/// Computes the exact p-value: counts the ways to draw every rank sum. (statrs' exact method rejects ties, and returns
/// the other tail if the first sample is not the larger one.)
fn exact(x: &[f64], y: &[f64]) -> f64 {
    let ranks = doubled_ranks(x, y);
    let (n, most) = (x.len(), ranks.iter().sum::<usize>());
    let observed: usize = ranks[..n].iter().sum();
    // ways[k][s]: number of sets of k observations with rank sum s.
    let mut ways = vec![vec![0.0; most + 1]; n + 1];
    ways[0][0] = 1.0;
    for &rank in &ranks {
        for k in (1..=n).rev() {
            for s in (rank..=most).rev() {
                ways[k][s] += ways[k - 1][s - rank];
            }
        }
    }
    let all: f64 = ways[n].iter().sum();
    let below: f64 = ways[n][..=observed].iter().sum();
    let above: f64 = ways[n][observed..].iter().sum();
    (2.0 * below.min(above) / all).min(1.0)
}

/// Returns twice the rank of each observation, first those of `x`. Ties share the mean of their ranks, which may be a
/// half-integer.
fn doubled_ranks(x: &[f64], y: &[f64]) -> Vec<usize> {
    let all: Vec<f64> = x.iter().chain(y).copied().collect();
    let rank = |v: f64| {
        let (less, equal) = (all.iter().filter(|w| **w < v).count(), all.iter().filter(|w| **w == v).count());
        2 * less + equal + 1
    };
    all.iter().map(|&v| rank(v)).collect()
}

/// Returns the smallest p-value that the two-sided test can give with samples of these sizes: 2 divided by the number
/// of ways to draw one of them. 1 if one is empty.
#[must_use]
pub fn smallest_p(n: usize, m: usize) -> f64 {
    let draws: f64 = (1..=n.min(m)).map(|i| (n.max(m) + i) as f64 / i as f64).product();
    (2.0 / draws).min(1.0)
}

/// Applies Holm's step-down correction (A simple sequentially rejective multiple test procedure, 1979) to p-values.
/// Returns them in the same order: the i-th smallest of m is multiplied by m + 1 - i, and none is less than that of a
/// smaller one.
#[must_use]
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&a, &b| p[a].total_cmp(&p[b]));
    let (mut corrected, mut least) = (vec![0.0; p.len()], 0.0_f64);
    for (i, &at) in order.iter().enumerate() {
        least = least.max((p[at] * (p.len() - i) as f64).min(1.0));
        corrected[at] = least;
    }
    corrected
}

#[cfg(test)]
#[path = "statistics_tests.rs"]
mod tests;
