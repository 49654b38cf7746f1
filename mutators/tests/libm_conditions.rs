//! How many evaluations the default search needs for conditions as they stand in mathematical libraries.
//!
//! Each function here computes what the pen reports for one wanted branch: the exact distance at its site, and
//! `u64::MAX` when another branch leads past it. Starts are random, and the target's constants are unknown unless said
//! otherwise, so these are worse than what a campaign meets: there a target is started from the closest input known.

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

/// Evaluations before a run counts as failed.
const BUDGET: u64 = 50_000;
const SEEDS: u64 = 20;

struct Measured {
    condition: fn(&[u8]) -> u64,
    made: u64,
}

impl RepresentingFunction for Measured {
    fn evaluate(&mut self, x: &[u8]) -> Result<u64, Stop> {
        if self.made == BUDGET {
            return Err(Stop::Budget);
        }
        self.made += 1;
        Ok((self.condition)(x))
    }

    fn metric(&self) -> Metric {
        Metric::Ulp
    }
}

/// Evaluations until the zero, or [`BUDGET`].
fn evaluations(condition: &Condition, seed: u64) -> u64 {
    let layout = Layout::packed(condition.kinds);
    let dictionary = Arc::new(Dictionary::new(&[], condition.constants));
    let minimizer = create("avm", dictionary.clone()).expect("the default minimizer");
    let mut search = Basinhopping::new(minimizer, dictionary.clone()).with_n_iter(u32::MAX);
    let (mut rng, mut starts) = (StdRand::with_seed(seed), StartPoints::new());
    let mut x = vec![0; layout.size()];
    // Beyond the fixed points, which solve some conditions by themselves.
    for _ in 0..20 {
        starts.next(&mut rng, &layout, &dictionary, &mut x);
    }
    let mut f = Measured { condition: condition.distance, made: 0 };
    let result = search.minimize(&mut f, &mut x, &layout, &mut rng);
    assert!(matches!(result, Ok(0) | Err(Stop::Budget)), "{}: {result:?}", condition.name);
    f.made
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
