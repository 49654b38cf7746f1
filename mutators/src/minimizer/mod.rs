//! Local minimizers ("LM" in CoverMe, Algorithm 1), selectable by name, so that searches can be compared.
//!
//! The default, [`avm`], searches the raw bits of numbers. Those on argmin ([`powell`], [`nelder_mead`], [`brent`],
//! [`pso`]) search the reals; CoverMe uses Powell's method. [`random_moves`] is the control, without minimization.
//!
//! A new minimizer is a new file and one line in [`minimizers`].
//!
//! # Example
//! ```
//! use libafl_bolts::rands::StdRand;
//! use penfuzz_mutators::minimizer::{LocalMinimizer, create};
//!
//! let minimizer = create::<StdRand>("powell", Default::default()).expect("a minimizer of that name");
//! assert_eq!(minimizer.name(), "powell");
//! assert!(create::<StdRand>("newton", Default::default()).is_none());
//! ```

pub mod avm;
pub mod brent;
pub mod chain;
mod edge;
pub mod line_real;
mod line_ulp;
pub mod nelder_mead;
pub mod powell;
mod probe;
pub mod pso;
pub mod random_moves;
pub mod real;

use std::sync::Arc;

use libafl_bolts::rands::{Rand, StdRand};

pub use self::probe::{Probe, Verdict};
use crate::{
    dictionary::Dictionary,
    evaluate::{RepresentingFunction, Stop},
    view::Layout,
};

/// Minimizes a representing function from one start, with random numbers from a generator of type `R`.
///
/// Minimizers are chosen by name at run time, and a [`Rand`] cannot be a trait object, so the generator is a parameter
/// of the trait and not of [`minimize`](Self::minimize). It is [`StdRand`] unless stated otherwise. (An indirect call
/// per random number made the default minimizer 9 % slower: 36.8 instead of 33.7 ns per evaluation of a function that
/// costs nothing.)
pub trait LocalMinimizer<R = StdRand> {
    /// The name under which [`create`] finds it.
    fn name(&self) -> &'static str;

    /// Minimizes `f` from the point in `x`, stores the best point in `x`, and returns its value.
    ///
    /// The start is evaluated first. The minimizer returns as soon as an evaluation gives 0. On return, `x` is the best
    /// evaluated point, or one of several: on [`Stop::Found`] the point that was found; on [`Stop::Budget`] and
    /// [`Stop::End`] the best one of the evaluations before, and the start if there was none. Only bytes of the slots
    /// of `layout` change. The result is a function of the arguments and of the state of `rng`.
    ///
    /// # Errors
    /// The [`Stop`] that `f` returned.
    ///
    /// # Panics
    /// If `x` is shorter than the layout.
    fn minimize(
        &mut self,
        f: &mut dyn RepresentingFunction,
        x: &mut [u8],
        layout: &Layout,
        rng: &mut R,
    ) -> Result<u64, Stop>;
}

/// Makes a minimizer, which may try the values of the dictionary.
pub type Constructor<R = StdRand> = fn(Arc<Dictionary>) -> Box<dyn LocalMinimizer<R> + Send>;

/// All minimizers by name, for the generator [`StdRand`]. The first is the default.
pub const MINIMIZERS: [(&str, Constructor); 6] = minimizers();

/// [`MINIMIZERS`] for any generator.
#[must_use]
pub const fn minimizers<R: Rand>() -> [(&'static str, Constructor<R>); 6] {
    [
        ("avm", |dictionary| Box::new(avm::Avm::new(dictionary))),
        ("powell", |_| Box::new(powell::PowellMinimizer::default())),
        ("nelder-mead", |_| Box::new(nelder_mead::NelderMeadMinimizer::default())),
        ("brent", |_| Box::new(brent::BrentMinimizer::default())),
        ("pso", |_| Box::new(pso::SwarmMinimizer::default())),
        ("random", |dictionary| Box::new(random_moves::RandomMoves::new(dictionary))),
    ]
}

/// Makes the minimizer of a name in [`MINIMIZERS`]; `None` if there is none of that name.
#[must_use]
pub fn create<R: Rand>(name: &str, dictionary: Arc<Dictionary>) -> Option<Box<dyn LocalMinimizer<R> + Send>> {
    let (_, constructor) = minimizers().into_iter().find(|entry| entry.0 == name)?;
    Some(constructor(dictionary))
}

#[cfg(test)]
mod tests {
    use libafl_bolts::rands::XorShift64Rand;

    use super::*;
    use crate::testing::{Counted, exact, squared};

    fn all() -> impl Iterator<Item = Box<dyn LocalMinimizer + Send>> {
        MINIMIZERS.iter().map(|(name, _)| create(name, Arc::default()).expect("a name of the table"))
    }

    #[test]
    fn names_are_those_of_the_table() {
        for (minimizer, (name, _)) in all().zip(MINIMIZERS) {
            assert_eq!(minimizer.name(), name);
        }
    }

    #[test]
    fn all_minimize_a_parabola() {
        let layout = Layout::doubles(8);
        for mut minimizer in all() {
            let mut f = squared(10_000, |x: &[f64]| (x[0] - 3.0) * (x[0] - 3.0) + 1.0);
            let mut x = 0.5f64.to_le_bytes();
            let r = minimizer.minimize(&mut f, &mut x, &layout, &mut StdRand::with_seed(1));
            let at = layout.reals(&x)[0];
            assert!((at - 3.0).abs() < 1e-2, "{} ended at {at} with {r:?}", minimizer.name());
        }
    }

    #[test]
    fn x_is_the_best_point_whenever_the_budget_ends() {
        let layout = Layout::doubles(16);
        for mut minimizer in all() {
            for budget in 1..60 {
                let mut f = Counted::new(budget, exact(|x: &[f64]| (x[0] - 7.0).abs().to_bits() / 3));
                let mut x = [0; 16];
                layout.set_reals(&mut x, &[100.0, 1.0]);
                let result = minimizer.minimize(&mut f, &mut x, &layout, &mut StdRand::with_seed(budget));
                let best = f.best;
                assert_eq!(f.value(&x), best, "{} budget {budget} {result:?}", minimizer.name());
            }
        }
    }

    #[test]
    fn x_is_the_start_without_budget() {
        let layout = Layout::doubles(8);
        for mut minimizer in all() {
            let mut f = Counted::new(0, exact(|_: &[f64]| 1));
            let mut x = 5.0f64.to_le_bytes();
            let result = minimizer.minimize(&mut f, &mut x, &layout, &mut StdRand::with_seed(1));
            assert_eq!((result, x), (Err(Stop::Budget), 5.0f64.to_le_bytes()), "{}", minimizer.name());
        }
    }

    #[test]
    fn x_is_the_found_point() {
        let layout = Layout::doubles(8);
        for mut minimizer in all() {
            let mut f = Counted::new(5000, exact(|x: &[f64]| x[0].abs().to_bits() >> 45));
            f.found_at_zero = true;
            let mut x = 5.0f64.to_le_bytes();
            let result = minimizer.minimize(&mut f, &mut x, &layout, &mut StdRand::with_seed(1));
            if result == Err(Stop::Found) {
                assert_eq!(f.value(&x), 0, "{}", minimizer.name());
            }
        }
    }

    #[test]
    fn a_site_out_of_reach_ends_the_search_from_every_start() {
        let layout = Layout::doubles(16);
        for mut minimizer in all() {
            for start in [f64::NAN, f64::INFINITY, -f64::MAX, 0.0] {
                let mut f = Counted::new(3000, exact(|_: &[f64]| u64::MAX));
                let mut x = [0; 16];
                layout.set_reals(&mut x, &[start, start]);
                let result = minimizer.minimize(&mut f, &mut x, &layout, &mut StdRand::with_seed(1));
                assert!(matches!(result, Ok(u64::MAX) | Err(Stop::Budget)), "{} {result:?}", minimizer.name());
            }
        }
    }

    #[test]
    fn a_layout_without_numbers_costs_one_evaluation() {
        for mut minimizer in all() {
            let mut f = Counted::new(100, exact(|_: &[f64]| 4));
            let result = minimizer.minimize(&mut f, &mut [], &Layout::default(), &mut StdRand::with_seed(1));
            assert_eq!((result, f.evaluations), (Ok(4), 1), "{}", minimizer.name());
        }
    }

    /// Searches with every minimizer twice from the same state of the generator.
    fn assert_one_seed_gives_one_search<R: Rand + Clone>(seeded: &R) {
        let layout = Layout::doubles(16);
        for (name, constructor) in minimizers::<R>() {
            let mut minimizer = constructor(Arc::default());
            let mut run = || {
                let mut f = Counted::new(500, exact(|x: &[f64]| (x[0] * x[1] - 77.0).abs().to_bits()));
                let mut x = [0; 16];
                let mut rng = seeded.clone();
                let _ = minimizer.minimize(&mut f, &mut x, &layout, &mut rng);
                (x, f.evaluations, rng.next())
            };
            assert_eq!(run(), run(), "{name}");
        }
    }

    #[test]
    fn one_seed_gives_one_search_with_any_generator() {
        assert_one_seed_gives_one_search(&StdRand::with_seed(4));
        assert_one_seed_gives_one_search(&XorShift64Rand::with_seed(4));
    }
}
