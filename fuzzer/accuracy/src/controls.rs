//! Baseline searches. The default search is worth its cost only if it finds larger errors than these with the same
//! number of evaluations.

use libafl_bolts::rands::Rand;
use penfuzz_mutators::{
    dictionary::Dictionary,
    evaluate::Stop,
    extremes::{NoisyObjective, Peak, between},
    line, structured,
    view::Layout,
};

use super::search::box_of;

/// A search without a model of where errors are large.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Control {
    /// Random moves from the best point so far: each changes one argument by a power of two of positions.
    Moves,
    /// Special values, small integers and related arguments.
    Structured,
    /// Positions drawn uniformly from the box.
    Uniform,
}

impl Control {
    /// The name of the search on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Moves => "moves",
            Self::Structured => "structured",
            Self::Uniform => "uniform",
        }
    }
}

/// After this number of evaluations [`Control::Moves`] returns to the best point; half-way between it jumps to a random
/// one.
const RESTART: usize = 4096;

/// Searches until a limit is reached. Returns the largest value and its point.
pub(super) fn run<F: NoisyObjective, R: Rand>(
    control: Control,
    f: &mut F,
    layout: &Layout,
    rng: &mut R,
    starts: &[Vec<u64>],
) -> Peak {
    let ends = box_of(layout);
    let mut peak = Peak { at: ends.iter().map(|(least, _)| *least).collect(), ends, value: 0.0 };
    let Err(_) = search(control, f, layout, rng, starts, &mut peak);
    peak
}

fn search<F: NoisyObjective, R: Rand>(
    control: Control,
    f: &mut F,
    layout: &Layout,
    rng: &mut R,
    starts: &[Vec<u64>],
    peak: &mut Peak,
) -> Result<core::convert::Infallible, Stop> {
    for start in starts {
        note(peak, f.value_at(start)?, start);
    }
    let (mut x, mut from, mut value) = (peak.at.clone(), peak.at.clone(), peak.value);
    for n in 0_usize.. {
        let is_new = control == Control::Uniform || control == Control::Moves && n % RESTART == RESTART / 2;
        if control == Control::Moves {
            x.clone_from(&from);
            move_one(rng, &peak.ends, &mut x);
        }
        for (d, (least, greatest)) in peak.ends.iter().enumerate() {
            if is_new {
                x[d] = between(rng, *least, *greatest);
            } else if control == Control::Structured {
                let kind = layout.slots()[d].kind;
                let drawn = structured::value(rng, kind, &Dictionary::default());
                x[d] = line::position(kind, drawn).clamp(*least, *greatest);
            }
        }
        let new = f.value_at(&x)?;
        note(peak, new, &x);
        if new >= value || is_new {
            (value, from) = (new, x.clone());
        }
        if n % RESTART == 0 {
            (value, from) = (peak.value, peak.at.clone());
        }
    }
    Err(Stop::End)
}

fn note(peak: &mut Peak, value: f64, at: &[u64]) {
    if value > peak.value {
        peak.value = value;
        peak.at.copy_from_slice(at);
    }
}

/// Moves one argument up or down by `2^k` positions, with `k` drawn uniformly.
fn move_one<R: Rand>(rng: &mut R, ends: &[(u64, u64)], x: &mut [u64]) {
    let d = rng.below_or_zero(x.len());
    let (least, greatest) = ends[d];
    let bits = u64::BITS - (greatest - least).leading_zeros();
    let step = 1u64 << rng.below_or_zero(bits.max(1) as usize).min(63);
    x[d] = if rng.below_or_zero(2) == 0 {
        x[d].saturating_add(step).min(greatest)
    } else {
        x[d].saturating_sub(step).max(least)
    };
}
