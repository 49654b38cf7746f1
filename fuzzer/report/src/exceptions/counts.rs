//! Counts the finds of a campaign.

use serde::{Deserialize, Serialize};

use super::{Confirmed, Exception, Exceptions, Find, sort};

/// Counts of one exception.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Count {
    /// The exception.
    pub exception: Exception,
    /// Sites in scope that can raise it, as far as the compiler knows.
    pub sites: usize,
    /// Sites with an input that raises it (input-site pairs).
    pub pairs: usize,
    /// Pairs whose site is in the function under test itself.
    pub own: usize,
    /// Pairs that the function's result does not show.
    pub silent: usize,
    /// Pairs that a replay without hooks confirmed, to any degree.
    pub confirmed: usize,
    /// Sites at which two solvers have proved that no input raises it.
    #[serde(default)]
    pub proved: usize,
    /// For overflow, underflow and subnormal sums, if any of them was recomputed in high precision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judged: Option<AvoidabilityCounts>,
}

/// Number of pairs per verdict of the high-precision computation (Barr et al., POPL 2013).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AvoidabilityCounts {
    /// The function's high-precision results are in range.
    pub avoidable: usize,
    /// They are out of range.
    pub not_avoidable: usize,
    /// There is no verdict: the run is too long or does not return, or the results come from no operation.
    pub not_judged: usize,
}

impl AvoidabilityCounts {
    /// Adds both; `None` only if both are.
    #[must_use]
    pub fn sum(one: Option<Self>, other: Option<Self>) -> Option<Self> {
        let (Some(a), Some(b)) = (one, other) else { return one.or(other) };
        Some(Self {
            avoidable: a.avoidable + b.avoidable,
            not_avoidable: a.not_avoidable + b.not_avoidable,
            not_judged: a.not_judged + b.not_judged,
        })
    }

    /// Counts the verdicts of these finds; `None` if nothing was recomputed.
    fn of(finds: &[&Find]) -> Option<Self> {
        finds.iter().find(|f| f.precise.is_some())?;
        let count = |as_said| finds.iter().filter(|f| f.avoidable == as_said).count();
        Some(Self { avoidable: count(Some(true)), not_avoidable: count(Some(false)), not_judged: count(None) })
    }
}

impl Exceptions {
    /// Sorts and counts these finds. `possible` has, per exception, the number of sites in scope that can raise it.
    /// `of` is the function under test.
    #[must_use]
    pub fn new(
        operations: usize,
        possible: &[(Exception, usize)],
        mut finds: Vec<Find>,
        raising: usize,
        of: &str,
    ) -> Self {
        sort(&mut finds);
        let count = |(exception, sites): &(Exception, usize)| {
            let all = || finds.iter().filter(|f| f.exception == *exception);
            Count {
                exception: *exception,
                sites: *sites,
                pairs: all().count(),
                own: all().filter(|f| f.function == of).count(),
                silent: all().filter(|f| f.is_silent()).count(),
                confirmed: all().filter(|f| f.confirmed.by != Confirmed::No).count(),
                proved: 0,
                judged: AvoidabilityCounts::of(&all().collect::<Vec<_>>()),
            }
        };
        let counts = possible.iter().filter(|(_, sites)| *sites > 0).map(count).collect();
        Self { operations, raising, counts, finds }
    }

    /// Adds the number of sites that are proved not to raise an exception.
    pub fn note_proved(&mut self, number: impl Fn(Exception) -> usize) {
        for count in &mut self.counts {
            count.proved = number(count.exception);
        }
    }

    /// Number of all pairs.
    #[must_use]
    pub fn pairs(&self) -> usize {
        self.counts.iter().map(|c| c.pairs).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exceptions::{
        Precise, ResultEvidence,
        example::{find, shown},
    };

    #[test]
    fn counts_are_of_pairs_own_silent_and_confirmed() {
        let mut other = find(Exception::Overflow, 3, "*", &[1e300, 1e300], f64::INFINITY, ResultEvidence::Nowhere);
        other.function = "helper".to_owned();
        other.confirmed.by = Confirmed::No;
        let own = find(Exception::Overflow, 7, "exp", &[1000.0], f64::INFINITY, shown());
        let possible = [(Exception::Invalid, 0), (Exception::Overflow, 5), (Exception::Underflow, 4)];
        let all = Exceptions::new(9, &possible, vec![other, own], 2, "f");
        let none = Count {
            exception: Exception::Underflow,
            sites: 4,
            pairs: 0,
            own: 0,
            silent: 0,
            confirmed: 0,
            proved: 0,
            judged: None,
        };
        let overflow =
            Count { exception: Exception::Overflow, sites: 5, pairs: 2, own: 1, silent: 1, confirmed: 1, ..none };
        assert_eq!(all.counts, [overflow, none], "what no operation can raise is left out");
    }

    #[test]
    fn counts_include_what_was_computed_again() {
        let of = |avoidable: Option<bool>, is_computed: bool| {
            let mut find = find(Exception::Overflow, 7, "*", &[1e300, 1e300], f64::INFINITY, shown());
            find.avoidable = avoidable;
            find.precise = is_computed.then(|| Precise { operation: "1.00000e600".to_owned(), results: Vec::new() });
            find
        };
        let judged = |finds: &[Find]| AvoidabilityCounts::of(&finds.iter().collect::<Vec<_>>());
        let all = [of(Some(true), true), of(Some(false), true), of(None, true), of(None, false)];
        assert_eq!(judged(&all), Some(AvoidabilityCounts { avoidable: 1, not_avoidable: 1, not_judged: 2 }));
        assert_eq!(judged(&[of(None, false)]), None, "nothing was computed");
    }
}
