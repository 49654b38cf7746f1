//! Float-aware mutation and minimization for fuzzing numeric code.
//!
//! A byte input is seen as numbers ([`view`]), numbers as points on a line of integers ([`line`](mod@line)), and a wanted
//! branch as the zero of a *representing function* ([`evaluate`]; Fu and Su, *Achieving High Coverage for Floating-point
//! Code via Unconstrained Programming*, PLDI 2017, "CoverMe"). The crate knows neither how a target is loaded nor where a
//! representing function comes from, so it serves any LibAFL fuzzer.
//!
//! | to | see |
//! | --- | --- |
//! | read and write the numbers in an input | [`view::Layout`] |
//! | step from one value to the next | [`line`](mod@line) |
//! | measure how far a comparison is from holding | [`distance`] |
//! | use the constants of a program | [`dictionary::Dictionary`] |
//! | make points | [`random`], [`structured`], [`start::StartPoints`] |
//! | replace one number | [`moves`] |
//! | minimize from a point | [`minimizer`] (by name) and [`basinhopping::Basinhopping`] around it |
//! | make a found input readable | [`simplify::Simplifier`], by the order of [`simplicity`] |
//! | mutate in a LibAFL fuzzer | [`havoc::numeric_mutations`] |
//!
//! Everything is deterministic given the random number generator.
//!
//! # Example
//! Finding an `x` that takes the true side of `if (x * x == 2.25 && x < 0)`.
//! ```
//! use std::sync::Arc;
//!
//! use libafl_bolts::rands::StdRand;
//! use penfuzz_mutators::{
//!     dictionary::Dictionary,
//!     distance::{Relation, exact_float},
//!     evaluate::{Metric, RepresentingFunction, Stop},
//!     minimizer::{LocalMinimizer, avm::Avm},
//!     view::Layout,
//! };
//!
//! struct Toy(Layout);
//!
//! impl RepresentingFunction for Toy {
//!     fn evaluate(&mut self, x: &[u8]) -> Result<u64, Stop> {
//!         let x = self.0.reals(x)[0];
//!         Ok(exact_float(Relation::Eq, x * x, 2.25).saturating_add(exact_float(Relation::Lt, x, 0.0) >> 10))
//!     }
//!
//!     fn metric(&self) -> Metric {
//!         Metric::Ulp
//!     }
//! }
//!
//! let layout = Layout::doubles(8);
//! let mut x = 100.0f64.to_le_bytes();
//! let mut avm = Avm::new(Arc::new(Dictionary::general()));
//! let r = avm.minimize(&mut Toy(layout.clone()), &mut x, &layout, &mut StdRand::with_seed(1))?;
//! assert_eq!((r, f64::from_le_bytes(x)), (0, -1.5));
//! # Ok::<(), Stop>(())
//! ```

#![forbid(unsafe_code)]
#![allow(clippy::float_cmp, reason = "signed zeros apart, equality of floats is what this crate is about")]

pub mod basinhopping;
pub mod dictionary;
pub mod distance;
pub mod evaluate;
pub mod havoc;
mod kind;
pub mod line;
pub mod minimizer;
pub mod moves;
pub mod random;
pub mod simplicity;
pub mod simplify;
pub mod start;
pub mod structured;
#[cfg(test)]
mod testing;
pub mod view;
