//! Search for a point that kills a mutant by interval constraints, as in Algorithm 1 of Magneto: find a point of the
//! box at which specification and mutant differ by more than Δ, where Δ decreases until there is one.
//!
//! 1. Intervals bound how far specification and mutant can differ in a part of the box, beyond what is allowed
//!    ([`excess`]). A part that cannot differ is dropped.
//! 2. The part with the greatest bound is taken. This bound is the Δ of the step: no other part can exceed it.
//! 3. A random point of this part is tested. If it does not kill the mutant, the part is halved. (In the middle of a
//!    box variables are often equal, so that exchanging them changes nothing.)
//!
//! When no part is left, no point kills the mutant.

use std::{cmp::Ordering, collections::BinaryHeap};

use super::{
    Specification,
    equivalence::{Excess, excess, tested},
    operators::Mutant,
};
use crate::enclosure::{Domains, halved};

/// A part of the box, ordered by its bound. Of equal bounds (often infinity), the part that is found first is first.
#[derive(Debug)]
struct Part {
    bound: f64,
    number: usize,
    domains: Domains,
}

impl Ord for Part {
    fn cmp(&self, other: &Self) -> Ordering {
        self.bound.total_cmp(&other.bound).then(other.number.cmp(&self.number))
    }
}

impl PartialOrd for Part {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Part {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Part {}

/// The parts of the box that may have points that kill one mutant.
#[derive(Debug)]
pub struct Frontier {
    whole: Domains,
    parts: BinaryHeap<Part>,
    found: usize,
    /// The number of parts whose bound was computed.
    pub bounded: u64,
}

impl Frontier {
    /// The whole box of the points that can kill the mutant.
    pub fn of(specification: &Specification, mutant: &Mutant) -> Self {
        let whole = tested(specification, mutant);
        let mut frontier = Self { whole: whole.clone(), parts: BinaryHeap::new(), found: 0, bounded: 0 };
        if whole.iter().all(|(low, high)| low <= high) {
            frontier.add(specification, mutant, whole);
        }
        frontier
    }

    /// Returns the part with the greatest bound, which is halved; `None` if no part is left.
    pub fn next(&mut self, specification: &Specification, mutant: &Mutant) -> Option<Domains> {
        let Part { domains, .. } = self.parts.pop()?;
        for half in halved(&domains, &self.whole).into_iter().flatten() {
            self.add(specification, mutant, half);
        }
        Some(domains)
    }

    fn add(&mut self, specification: &Specification, mutant: &Mutant, domains: Domains) {
        self.bounded += 1;
        self.found += 1;
        let bound = match excess(specification, mutant, &domains) {
            Excess::Of(most) if most <= 0.0 => return,
            Excess::Of(most) => most,
            Excess::Everywhere => f64::INFINITY,
        };
        self.parts.push(Part { bound, number: self.found, domains });
    }
}
