//! Finds the integers that the size of a block depends on, from the numbers of elements that calls access.

use super::sizes::Rule;

/// One observation: calls with these integers, in the order of the names, accessed this many elements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sample {
    /// The integers.
    pub integers: Vec<i64>,
    /// The number of elements that the call touched.
    pub elements: usize,
}

/// Factors and (`SUMMANDS`) summands to try.
const FACTORS: [i64; 5] = [1, 2, 3, 4, 6];
const SUMMANDS: [i64; 6] = [0, 1, -1, 2, -2, 3];

/// The simplest rule that yields the number of accessed elements at each sample; a negative value of the rule counts as
/// 0. `None` if no rule fits, or if the number of elements is always the same.
#[must_use]
pub fn fit(names: &[String], samples: &[Sample]) -> Option<Rule> {
    let first = samples.first()?.elements;
    if samples.iter().all(|s| s.elements == first) {
        return None;
    }
    let holds = |of: &dyn Fn(&[i64]) -> i64| {
        samples.iter().all(|s| usize::try_from(of(&s.integers).max(0)).is_ok_and(|n| n == s.elements))
    };
    let linear = FACTORS
        .iter()
        .flat_map(|times| SUMMANDS.iter().flat_map(move |plus| (0..names.len()).map(move |i| (i, *times, *plus))));
    for (i, times, plus) in linear {
        if holds(&|n| times * n[i] + plus) {
            return Some(Rule::Linear(names[i].clone(), times, plus));
        }
    }
    for i in 0..names.len() {
        for j in i..names.len() {
            for plus in SUMMANDS {
                if holds(&|n| n[i] * n[j] + plus) {
                    return Some(Rule::Product(names[i].clone(), names[j].clone(), plus));
                }
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fitted(of: impl Fn(i64, i64) -> i64) -> Option<String> {
        let names = ["n".to_owned(), "m".to_owned()];
        let pairs = [(1, 1), (2, 1), (3, 1), (5, 1), (1, 2), (1, 3), (1, 5), (3, 3)];
        let sample = |(n, m)| Sample { integers: vec![n, m], elements: of(n, m).max(0) as usize };
        fit(&names, &pairs.map(sample)).map(|rule| rule.to_string())
    }

    #[test]
    fn sizes_follow_integers() {
        assert_eq!(fitted(|n, _| n).as_deref(), Some("n"));
        assert_eq!(fitted(|_, m| m + 1).as_deref(), Some("m + 1"));
        assert_eq!(fitted(|n, _| 2 * n - 1).as_deref(), Some("2*n - 1"));
        assert_eq!(fitted(|n, _| n * n).as_deref(), Some("n*n"));
        assert_eq!(fitted(|n, m| n * m).as_deref(), Some("n*m"));
        assert_eq!(fitted(|_, _| 10), None, "constant");
        assert_eq!(fitted(|n, m| n + m), None, "not among the rules that are tried");
    }
}
