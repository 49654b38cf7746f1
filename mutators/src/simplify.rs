//! Shrinks an input to simpler numbers for which a property still holds, so that people can read the arguments of a
//! test.
//!
//! # Algorithm
//! 0. In a sequence of calls: try to end it earlier, and to remove single calls; set the numbers of calls that are not
//!    made to 0.
//! 1. In inputs of two to four numbers: try tuples of small integers in all slots at once (a right triangle becomes 3,
//!    4, 5).
//! 2. For each group of slots of one kind and equal magnitude: try the same new magnitude in all of them, and keep
//!    their relative signs (an equality between arguments stays one).
//! 3. For each slot: try fixed simple values, roundings of its value, and the values of the other slots of its kind,
//!    simplest first.
//! 4. Repeat 2 and 3 until nothing changes, at most 8 times.
//!
//! A candidate is tried only if it is strictly simpler by the order of [`simplicity`] than what it replaces, so the
//! algorithm ends. It is deterministic and uses no random numbers.

use std::collections::HashMap;

use crate::{
    simplicity::{self, Decimal, Simplicity, quiet_nan},
    view::{Kind, Layout, Slot},
};

/// The result of checking the property for a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The property holds for the candidate, which becomes the input to simplify further.
    Holds,
    /// The property does not hold; the input stays.
    Fails,
    /// The property was not checked, because the budget is spent. The input stays, and no further candidate is checked.
    Stop,
}

/// Maximum number of rounds over all slots. A few are enough: a later round finds only what the changes of earlier ones
/// made possible.
const ROUNDS: usize = 8;

/// Significant digits and exponents of ten of the fixed values, which are tried with both signs.
const FIXED: [(&[u64], &[i32]); 4] = [
    (&[1, 2, 3, 4, 5, 6, 7, 8, 9], &[0]),
    (&[1, 2, 3, 5], &[1, 2, -1]),
    (&[12, 15, 25, 75], &[-1, -2, 0]),
    (
        &[1],
        &[
            3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 16, 18, 20, 30, 50, 100, 150, 200, 300, 308, -2, -3, -4, -5, -6, -8, -9,
            -10, -15, -16, -20, -30, -50, -100, -150, -200, -300, -308, -310,
        ],
    ),
];

/// Replaces the numbers of inputs by simpler ones: all at once, in groups of equal numbers, and one by one; the
/// [module](self) has the steps.
///
/// It caches the fixed values of each kind, so reuse one simplifier for many inputs.
///
/// # Example
/// ```
/// use penfuzz_mutators::{
///     simplify::{Simplifier, Verdict},
///     view::Layout,
/// };
///
/// let layout = Layout::doubles(8);
/// let mut x = 1.756_580_577_729_901e156f64.to_le_bytes();
/// let holds = |y: &[u8]| if layout.reals(y)[0] > 1370.0 { Verdict::Holds } else { Verdict::Fails };
/// Simplifier::new().simplify(&mut x, &layout, holds);
/// assert_eq!(f64::from_le_bytes(x), 2000.0);
/// ```
#[derive(Debug, Default)]
pub struct Simplifier {
    fixed: HashMap<Kind, Vec<(Simplicity, u64)>>,
}

impl Simplifier {
    /// A simplifier with an empty cache.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Simplifies the numbers of `layout` that lie entirely within `x`, and returns whether `x` changed.
    ///
    /// `holds` checks the property for a candidate, which is as long as `x` and differs from it in the numbers only.
    /// Each candidate is in the domains of the layout. The property must hold for `x` itself, which is not checked;
    /// then it also holds for the result.
    pub fn simplify(&mut self, x: &mut [u8], layout: &Layout, mut holds: impl FnMut(&[u8]) -> Verdict) -> bool {
        let slots = layout.fitting(x.len()).to_vec();
        let before = x.to_vec();
        let mut shrinking = Shrinking { x, slots: &slots, layout, holds: &mut holds, is_stopped: false };
        shrinking.drop_calls();
        shrinking.try_small_tuples();
        for _ in 0..ROUNDS {
            let mut changed = false;
            for i in 0..slots.len() {
                changed |= self.simplify_group(&mut shrinking, i);
            }
            for i in 0..slots.len() {
                changed |= self.simplify_slot(&mut shrinking, i);
            }
            if !changed || shrinking.is_stopped {
                break;
            }
        }
        before != x
    }

    /// Step 2 for the group whose first slot is number `i`; returns whether a candidate was accepted.
    fn simplify_group(&mut self, shrinking: &mut Shrinking, i: usize) -> bool {
        let (kind, raw) = (shrinking.slots[i].kind, shrinking.slots[i].get(shrinking.x));
        let old = magnitude(kind, raw);
        let is_equal = |s: &Slot, x: &[u8]| s.kind == kind && magnitude(kind, s.get(x)) == old;
        let all = 0..shrinking.slots.len();
        let group: Vec<usize> = all.filter(|j| is_equal(&shrinking.slots[*j], shrinking.x)).collect();
        if group.len() < 2 || group[0] != i {
            return false;
        }
        let now = shrinking.sorted_keys(shrinking.x);
        self.candidates(kind, old, &[]).into_iter().any(|new| {
            let mut y = shrinking.x.to_vec();
            for j in &group {
                let sign = shrinking.slots[*j].get(shrinking.x) ^ old;
                shrinking.slots[*j].set(&mut y, new ^ sign);
            }
            shrinking.sorted_keys(&y) < now && shrinking.accepts(&y)
        })
    }

    /// Step 3 for slot number `i`; returns whether a candidate was accepted.
    fn simplify_slot(&mut self, shrinking: &mut Shrinking, i: usize) -> bool {
        let (slot, x) = (shrinking.slots[i], &*shrinking.x);
        let others: Vec<u64> = shrinking.slots.iter().filter(|s| s.kind == slot.kind).map(|s| s.get(x)).collect();
        let candidates = self.candidates(slot.kind, slot.get(x), &others);
        let mut y = x.to_vec();
        candidates.into_iter().any(|new| {
            slot.set(&mut y, new);
            shrinking.accepts(&y)
        })
    }

    /// The candidates for `raw`: values strictly simpler than it, simplest first, without repetition.
    fn candidates(&mut self, kind: Kind, raw: u64, others: &[u64]) -> Vec<u64> {
        let now = simplicity::of(kind, raw);
        let fixed = self.fixed.entry(kind).or_insert_with(|| keyed(kind, fixed_values(kind)));
        let mut all = keyed(kind, near_values(kind, raw));
        all.extend(keyed(kind, others.to_vec()));
        all.extend_from_slice(fixed);
        all.retain(|(key, _)| *key < now);
        all.sort_unstable();
        all.dedup();
        all.into_iter().map(|(_, raw)| raw).collect()
    }
}

/// An input while it is simplified.
struct Shrinking<'a> {
    /// The simplest input so far for which the property holds.
    x: &'a mut [u8],
    slots: &'a [Slot],
    layout: &'a Layout,
    holds: &'a mut dyn FnMut(&[u8]) -> Verdict,
    /// Whether a check returned [`Verdict::Stop`].
    is_stopped: bool,
}

impl Shrinking<'_> {
    /// Replaces the input by `y` if the property holds for `y`, and returns whether it does.
    fn accepts(&mut self, y: &[u8]) -> bool {
        if self.is_stopped || !self.layout.is_normal(y) {
            return false;
        }
        let verdict = (self.holds)(y);
        self.is_stopped = verdict == Verdict::Stop;
        if verdict == Verdict::Holds {
            self.x.copy_from_slice(y);
        }
        verdict == Verdict::Holds
    }

    /// The sort keys of all slots, the least simple first. Of two inputs, the one with the smaller list is simpler: the
    /// least simple numbers decide.
    fn sorted_keys(&self, x: &[u8]) -> Vec<Simplicity> {
        let mut keys: Vec<_> = self.slots.iter().map(|s| simplicity::of(s.kind, s.get(x))).collect();
        keys.sort_unstable_by(|a, b| b.cmp(a));
        keys
    }

    /// Step 0.
    fn drop_calls(&mut self) {
        let Some(steps) = self.layout.steps().filter(|steps| steps.end() <= self.slots.len()) else { return };
        let made = steps.made(self.x, self.slots);
        for n in 1..made {
            let mut y = self.x.to_vec();
            steps.set_made(&mut y, self.slots, n);
            if self.accepts(&y) {
                break;
            }
        }
        let mut i = 0;
        while i < steps.made(self.x, self.slots) && steps.made(self.x, self.slots) > 1 {
            let mut y = self.x.to_vec();
            steps.remove(&mut y, self.slots, i);
            if !self.accepts(&y) {
                i += 1;
            }
        }
        let mut y = self.x.to_vec();
        steps.clear_others(&mut y, self.slots);
        if y != self.x {
            self.accepts(&y);
        }
    }

    /// Step 1.
    fn try_small_tuples(&mut self) {
        let n = self.slots.len();
        let values: &[f64] = match n {
            2 => &[0.0, 1.0, -1.0, 2.0, -2.0, 3.0, 4.0, 5.0, 10.0],
            3 => &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, -1.0],
            4 => &[0.0, 1.0, 2.0, -1.0],
            _ => return,
        };
        let now = self.sorted_keys(self.x);
        let mut tuples = Vec::new();
        for number in 0..values.len().pow(n as u32) {
            let mut y = self.x.to_vec();
            let mut rest = number;
            for slot in self.slots {
                slot.set_real(&mut y, values[rest % values.len()]);
                rest /= values.len();
            }
            tuples.push((self.sorted_keys(&y), y));
        }
        tuples.retain(|(keys, _)| *keys < now);
        tuples.sort();
        tuples.dedup();
        for (_, y) in tuples {
            if self.accepts(&y) {
                return;
            }
        }
    }
}

/// The raw bits of a float without its sign; those of other kinds as they are.
fn magnitude(kind: Kind, raw: u64) -> u64 {
    if kind.is_float() { raw & (kind.mask() >> 1) } else { raw }
}

/// The values with their sort keys.
fn keyed(kind: Kind, values: Vec<u64>) -> Vec<(Simplicity, u64)> {
    values.into_iter().map(|raw| (simplicity::of(kind, raw), raw)).collect()
}

/// The candidates that do not depend on the present value.
fn fixed_values(kind: Kind) -> Vec<u64> {
    let mut values = vec![0];
    for (digits, scales) in FIXED {
        for (digits, scale) in digits.iter().flat_map(|d| scales.iter().map(|s| (*d, *s))) {
            for is_negative in [false, true] {
                values.extend(Decimal { is_negative, digits, scale }.to_raw(kind));
            }
        }
    }
    if kind.is_float() {
        let sign = 1 << (kind.bits() - 1);
        let infinity = quiet_nan(kind) & !(1 << (kind.fraction_bits() - 1));
        let specials = [infinity, quiet_nan(kind), 1, 0, 1 << kind.fraction_bits(), infinity - 1];
        values.extend(specials.iter().flat_map(|s| [*s, s | sign]));
    } else {
        values.extend([kind.mask(), kind.mask() >> 1, (kind.mask() >> 1) + 1]);
    }
    values
}

/// The candidates near `raw`: its magnitude, its roundings to fewer digits, smaller powers of ten, and the powers of
/// two around it. Of a NaN or an infinity: its magnitude.
fn near_values(kind: Kind, raw: u64) -> Vec<u64> {
    let Some(decimal) = Decimal::of(kind, raw) else { return vec![raw & (kind.mask() >> 1)] };
    let count = decimal.count();
    let mut near = Vec::new();
    for kept in 1..count {
        let cut = 10u64.pow(count - kept);
        let (below, scale) = (decimal.digits / cut, decimal.scale + (count - kept) as i32);
        near.extend([below, below + 1].map(|digits| Decimal { digits, scale, ..decimal }));
    }
    // Exponents of ten between 0 and that of the value: fractions of it, and one or two less.
    let exponent = decimal.scale + count as i32 - 1;
    for scale in [exponent / 2, exponent * 3 / 4, exponent * 7 / 8, exponent - 2, exponent - 1, exponent, exponent + 1]
    {
        near.push(Decimal { digits: 1, scale, ..decimal });
    }
    near.extend([2, 5].map(|digits| Decimal { digits, scale: exponent - 1, ..decimal }));
    near.push(decimal);
    let both = near.iter().flat_map(|d| [*d, Decimal { is_negative: false, ..*d }]);
    let mut values: Vec<u64> = both.filter_map(|d| d.to_raw(kind)).collect();
    values.extend(binary_values(kind, raw));
    values
}

/// The powers of two on both sides of `raw`, and for floats the integers on both sides.
fn binary_values(kind: Kind, raw: u64) -> Vec<u64> {
    if kind.is_float() {
        let fraction = (1u64 << kind.fraction_bits()) - 1;
        let value = kind.to_real(raw);
        let whole = [value.floor(), value.ceil()].map(|v| kind.from_real(v));
        return [raw & !fraction, (raw & !fraction) + fraction + 1].into_iter().chain(whole).collect();
    }
    let power = 1u64 << raw.max(1).ilog2();
    vec![power, power - 1, power << 1, (power << 1).wrapping_sub(1)].into_iter().map(|v| v & kind.mask()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn simplified(kinds: &[Kind], values: &[f64], property: impl Fn(&[f64]) -> bool) -> Vec<f64> {
        let layout = Layout::packed(kinds);
        let mut x = vec![0; layout.size()];
        layout.set_reals(&mut x, values);
        assert!(property(&layout.reals(&x)), "the property must hold for the start");
        let holds = |y: &[u8]| if property(&layout.reals(y)) { Verdict::Holds } else { Verdict::Fails };
        Simplifier::new().simplify(&mut x, &layout, holds);
        layout.reals(&x)
    }

    fn one(value: f64, property: impl Fn(f64) -> bool) -> f64 {
        simplified(&[Kind::F64], &[value], |v| property(v[0]))[0]
    }

    #[test]
    fn irrelevant_numbers_become_zero() {
        assert_eq!(simplified(&[Kind::F64, Kind::I32, Kind::F32], &[3.7, 99.0, -1e9], |_| true), [0.0, 0.0, 0.0]);
    }

    #[test]
    fn thresholds_give_short_numbers() {
        assert_eq!(one(1.756_580_577_729_901e156, |v| v > 1370.0), 2000.0);
        assert_eq!(one(-3.129_951_052_409_935_7e104, |v| v < -200.5), -300.0);
        assert_eq!(one(23.437_211_9, |v| v > 23.4 && v < 23.5), 23.43);
        assert_eq!(one(4.2e-311, |v| v > 0.0 && v < f64::MIN_POSITIVE), 1e-308);
    }

    #[test]
    fn an_exact_value_stays() {
        assert_eq!(one(700.0, |v| v == 700.0), 700.0);
        assert_eq!(one(0.1 + 0.2, |v| v == 0.1 + 0.2), 0.1 + 0.2);
    }

    #[test]
    fn specials_lose_sign_and_payload() {
        let x = one(f64::from_bits(0xfff4_0000_0000_0007), f64::is_nan);
        assert_eq!(x.to_bits(), f64::NAN.to_bits());
        assert_eq!(one(-0.0, |v| v == 0.0).to_bits(), 0);
        assert_eq!(one(f64::NEG_INFINITY, f64::is_infinite), f64::INFINITY);
    }

    #[test]
    fn equal_arguments_stay_equal() {
        let x = simplified(&[Kind::F64; 5], &[37.123_456, -37.123_456, 37.123_456, 8.0, 9.0], |v| {
            v[0] == -v[1] && v[0] == v[2] && v[0] > 20.0
        });
        assert_eq!(x, [30.0, -30.0, 30.0, 0.0, 0.0]);
    }

    #[test]
    fn a_right_triangle_becomes_3_4_5() {
        let x = simplified(&[Kind::F64; 3], &[0.6e7, 0.8e7, 1e7], |v| {
            v[0] > 0.0 && v[1] > v[0] && v[0] * v[0] + v[1] * v[1] == v[2] * v[2]
        });
        assert_eq!(x, [3.0, 4.0, 5.0]);
    }

    #[test]
    fn every_candidate_is_simpler_and_the_simplest_comes_first() {
        let mut simplifier = Simplifier::new();
        for kind in Kind::ALL {
            for raw in [0, 1, 0x1234_5678_9abc_def0, u64::MAX, 0x7ff0_0000_0000_0001, 0xc08f_4000_0000_0123] {
                let keys: Vec<_> = simplifier
                    .candidates(kind, raw & kind.mask(), &[])
                    .into_iter()
                    .map(|c| simplicity::of(kind, c))
                    .chain([simplicity::of(kind, raw)])
                    .collect();
                assert!(keys.is_sorted_by(|a, b| a < b), "{kind:?} {raw:#x}");
            }
        }
    }

    #[test]
    fn nothing_is_checked_after_a_stop() {
        let layout = Layout::doubles(16);
        let mut checks = 0;
        let mut x = [0xa5; 16];
        Simplifier::new().simplify(&mut x, &layout, |_| {
            checks += 1;
            if checks == 5 { Verdict::Stop } else { Verdict::Fails }
        });
        assert_eq!((checks, x), (5, [0xa5; 16]));
    }
}
