//! Limits for the number of evaluations that the default search needs for conditions of mathematical libraries.
//!
//! Each condition is a function that computes the value of the representing function for one wanted branch: the exact
//! distance at its site, and `u64::MAX` where the site is not reached. Starts are random, and the constants of the
//! program are unknown unless stated otherwise. So the figures are worse than those of a campaign, which starts from
//! the closest known input.

mod conditions;

use std::sync::Arc;

use conditions::{CONDITIONS, Condition};
use libafl_bolts::rands::StdRand;
use penfuzz_mutators::{
    basinhopping::Basinhopping,
    dictionary::Dictionary,
    evaluate::{Metric, RepresentingFunction, Stop},
    minimizer::{LocalMinimizer, create},
    start::StartPoints,
    view::Layout,
};

/// Number of evaluations after which a run is a failure.
const BUDGET: u64 = 50_000;
/// Number of runs per condition.
const SEEDS: u64 = 20;

struct Measured {
    condition: fn(&[u8]) -> u64,
    evaluations: u64,
}

impl RepresentingFunction for Measured {
    fn evaluate(&mut self, x: &[u8]) -> Result<u64, Stop> {
        if self.evaluations == BUDGET {
            return Err(Stop::Budget);
        }
        self.evaluations += 1;
        Ok((self.condition)(x))
    }

    fn metric(&self) -> Metric {
        Metric::Ulp
    }
}

/// Number of evaluations until the zero, or [`BUDGET`].
fn evaluations(condition: &Condition, seed: u64) -> u64 {
    let layout = Layout::packed(condition.kinds);
    let dictionary = Arc::new(Dictionary::new(&[], condition.constants));
    let minimizer = create("avm", dictionary.clone()).expect("the default minimizer");
    let mut search = Basinhopping::new(minimizer, dictionary.clone()).with_n_iter(u32::MAX);
    let (mut rng, mut starts) = (StdRand::with_seed(seed), StartPoints::new());
    let mut x = vec![0; layout.size()];
    // The fixed start points are skipped, because some of them satisfy a condition at once.
    for _ in 0..20 {
        starts.next(&mut rng, &layout, &dictionary, &mut x);
    }
    let mut f = Measured { condition: condition.distance, evaluations: 0 };
    let result = search.minimize(&mut f, &mut x, &layout, &mut rng);
    assert!(matches!(result, Ok(0) | Err(Stop::Budget)), "{}: {result:?}", condition.name);
    f.evaluations
}

#[test]
fn typical_conditions_take_few_evaluations() {
    println!("{:<44} {:>7} {:>7} {:>7}  (limit)", "condition", "median", "p90", "max");
    let mut too_many = Vec::new();
    for condition in CONDITIONS {
        let mut counts: Vec<u64> = (1..=SEEDS).map(|seed| evaluations(condition, seed)).collect();
        counts.sort_unstable();
        let (median, p90, max) = (counts[10], counts[17], counts[19]);
        println!("{:<44} {median:>7} {p90:>7} {max:>7}  ({})", condition.name, condition.limit);
        if median > condition.limit || max == BUDGET {
            too_many.push(condition.name);
        }
    }
    assert!(too_many.is_empty(), "more evaluations than the limit allows: {too_many:?}");
}
