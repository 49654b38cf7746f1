#![doc = include_str!("../README.md")]
//! # Modules
//!
//! | to | see |
//! | --- | --- |
//! | read and write the numbers in an input | [`view::Layout`] |
//! | step from one value to the next | [`line`](mod@line) |
//! | measure how far operands are from satisfying a comparison | [`distance`] |
//! | use the constants of a program | [`dictionary::Dictionary`] |
//! | restrict a number to a range | [`domain::Domain`] |
//! | make points | [`random`], [`structured`], [`start::StartPoints`] |
//! | replace one number | [`moves`] |
//! | define a function whose zeros are the wanted inputs | [`evaluate::RepresentingFunction`] |
//! | learn more from an evaluation than one value | [`observe::Observation`] |
//! | minimize it from a point | [`minimizer`] (by name) and [`basinhopping::Basinhopping`] around it |
//! | find where a noisy function is largest | [`extremes::Extremes`] |
//! | make a found input readable | [`simplify::Simplifier`], by the order of [`simplicity`] |
//! | mutate in a LibAFL fuzzer | [`havoc::numeric_mutations`] |

#![forbid(unsafe_code)]
#![allow(clippy::float_cmp, reason = "the comparisons of the program under test, in which -0 equals +0")]

pub mod array;
pub mod basinhopping;
pub mod dictionary;
pub mod distance;
pub mod domain;
pub mod evaluate;
pub mod extremes;
pub mod group;
pub mod havoc;
pub mod kick;
mod kind;
pub mod line;
pub mod minimizer;
pub mod moves;
pub mod observe;
pub mod random;
pub mod sequence;
pub mod simplicity;
pub mod simplify;
pub mod start;
pub mod structured;
#[cfg(test)]
mod testing;
pub mod view;
