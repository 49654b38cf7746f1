//! Kicks: perturbations by which a search leaves a local minimum, or samples the surroundings of a point.

use libafl_bolts::rands::Rand;

use crate::{
    array,
    dictionary::Dictionary,
    line,
    moves::{At, random_candidate, write_random},
    structured,
    view::{Layout, Slot, run_length},
};

/// Replaces a random number of `x`, and with probability 1/3 each time a further one.
///
/// The new value is with probability 1/4 a [structured] value, with 1/4 a random step on the ULP line, and else a
/// random candidate of the [moves](crate::moves). The value may be NaN or infinite, and may equal the old one.
///
/// Three other perturbations end the kick:
///
/// * in a run of bytes, with probability 1/3, a token of the dictionary is written;
/// * if there are arrays, with probability 1/4, one is [rearranged](crate::array);
/// * in a sequence of calls, with probability 1/6, whole calls are rearranged.
///
/// Does nothing for an empty layout. Does not allocate.
///
/// # Panics
/// If `x` is shorter than the layout.
pub fn kick<R: Rand>(rng: &mut R, layout: &Layout, dictionary: &Dictionary, x: &mut [u8]) {
    if layout.is_empty() {
        return;
    }
    if let Some(steps) = layout.steps()
        && rng.below_or_zero(6) == 0
    {
        steps.rearrange(rng, layout.slots(), x);
        return;
    }
    loop {
        if !layout.groups().is_empty() && rng.below_or_zero(4) == 0 {
            array::rearrange(rng, layout, x);
            return;
        }
        let index = active_slot(rng, layout, x);
        let slot = layout.slots()[index];
        if write_token(rng, layout, dictionary, index, x) {
            return;
        }
        let raw = match rng.below_or_zero(4) {
            0 => structured::value(rng, slot.kind, dictionary),
            1 => random_step(rng, slot, x),
            _ => random_candidate(rng, &At::new(x, layout, index, dictionary)),
        };
        slot.set(x, raw);
        if rng.below_or_zero(3) != 0 {
            return;
        }
    }
}

/// A random slot, which is rarely an inactive one.
fn active_slot<R: Rand>(rng: &mut R, layout: &Layout, x: &[u8]) -> usize {
    const TRIES: usize = 8;
    let mut index = rng.below_or_zero(layout.len());
    for _ in 0..TRIES {
        if layout.is_active(index, x) {
            break;
        }
        index = rng.below_or_zero(layout.len());
    }
    index
}

/// In a run of bytes, writes a random token with probability 1/3; returns whether it did.
fn write_token<R: Rand>(rng: &mut R, layout: &Layout, dictionary: &Dictionary, index: usize, x: &mut [u8]) -> bool {
    // Without a run or a token, no random number is drawn, so that searches without tokens stay reproducible.
    if dictionary.tokens().is_empty() || run_length(layout.slots(), index, 2) < 2 || rng.below_or_zero(3) != 0 {
        return false;
    }
    write_random(rng, layout.slots(), index, dictionary, x)
}

/// Raw bits of the value a random number of steps above or below the present one. Every binary magnitude of that number
/// is equally likely.
fn random_step<R: Rand>(rng: &mut R, slot: Slot, x: &[u8]) -> u64 {
    let steps = rng.next() >> (64 - slot.kind.bits()) >> rng.below_or_zero(slot.kind.bits() as usize);
    let rising = rng.coinflip(0.5);
    line::raw(slot.kind, line::step(slot.kind, slot.position(x), rising, steps.max(1)))
}

#[cfg(test)]
mod tests {
    use libafl_bolts::rands::StdRand;

    use super::*;

    #[test]
    fn kicks_change_something_most_of_the_time() {
        let (layout, dictionary) = (Layout::doubles(16), Dictionary::general());
        let mut rng = StdRand::with_seed(1);
        let changed = (0..1000)
            .filter(|_| {
                let mut x = [0; 16];
                layout.set_reals(&mut x, &[1.25, -7.0]);
                let before = x;
                kick(&mut rng, &layout, &dictionary, &mut x);
                x != before
            })
            .count();
        assert!(changed > 900, "{changed}");
    }
}
