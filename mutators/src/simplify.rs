//! Makes the numbers of an input simpler, as long as a property of it holds.
//!
//! Three moves, each of which leaves something strictly simpler by the order of [`simplicity`], so the end comes by itself:
//! 1. few numbers: tuples of the smallest integers in all slots at once (a right triangle is 3, 4, 5);
//! 2. slots of equal size: the same new value in all of them (an equality between arguments stays one);
//! 3. each slot: fixed simple values, then roundings of its own value and the values of the other slots, simplest first.
//!
//! 2 and 3 go round until nothing changes. It is deterministic: no random numbers.

use std::collections::HashMap;

use crate::{
    simplicity::{self, Decimal, Simplicity, quiet_nan},
    view::{Kind, Layout, Slot},
};

/// What to do with a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The property holds: go on from it.
    Holds,
    /// It does not.
    Fails,
    /// The budget is spent: end.
    Stop,
}

/// Rounds over all slots; a few are enough, since later ones only profit from what the others changed.
const ROUNDS: usize = 8;

/// Mantissas and powers of ten of the fixed values, both signs each.
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

/// See the module. Keeps the fixed values of each kind.
#[derive(Debug, Default)]
pub struct Simplifier {
    fixed: HashMap<Kind, Vec<(Simplicity, u64)>>,
}

impl Simplifier {
    /// A new one.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Simplifies the numbers of `layout` in `x`, as far as `x` reaches. `holds` answers for each candidate; it must hold
    /// for `x` itself. Returns whether `x` changed.
    pub fn simplify(&mut self, x: &mut [u8], layout: &Layout, mut holds: impl FnMut(&[u8]) -> Verdict) -> bool {
        let slots = layout.fitting(x.len()).to_vec();
        let before = x.to_vec();
        let mut trial = Trial { x, slots: &slots, holds: &mut holds, is_over: false };
        trial.small_tuples();
        for _ in 0..ROUNDS {
            let mut changed = false;
            for i in 0..slots.len() {
                changed |= self.simplify_group(&mut trial, i);
            }
            for i in 0..slots.len() {
                changed |= self.simplify_slot(&mut trial, i);
            }
            if !changed || trial.is_over {
                break;
            }
        }
        before != x
    }

    /// The slots from `i` on that have the size of slot `i`.
    fn simplify_group(&mut self, trial: &mut Trial, i: usize) -> bool {
        let (kind, raw) = (trial.slots[i].kind, trial.slots[i].get(trial.x));
        let size = magnitude(kind, raw);
        let is_equal = |s: &Slot, x: &[u8]| s.kind == kind && magnitude(kind, s.get(x)) == size;
        let group: Vec<usize> = (0..trial.slots.len()).filter(|j| is_equal(&trial.slots[*j], trial.x)).collect();
        if group.len() < 2 || group[0] != i {
            return false;
        }
        let now = trial.weight(trial.x);
        self.candidates(kind, size, &[]).into_iter().any(|c| {
            let mut y = trial.x.to_vec();
            for j in &group {
                // The signs stay as they are to each other.
                let sign = trial.slots[*j].get(trial.x) ^ size;
                trial.slots[*j].set(&mut y, c ^ sign);
            }
            trial.weight(&y) < now && trial.try_it(&y)
        })
    }

    fn simplify_slot(&mut self, trial: &mut Trial, i: usize) -> bool {
        let slot = trial.slots[i];
        let others: Vec<u64> = trial.slots.iter().filter(|s| s.kind == slot.kind).map(|s| s.get(trial.x)).collect();
        let candidates = self.candidates(slot.kind, slot.get(trial.x), &others);
        let mut y = trial.x.to_vec();
        candidates.into_iter().any(|c| {
            slot.set(&mut y, c);
            trial.try_it(&y)
        })
    }

    /// Values simpler than `raw`, simplest first.
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

/// An input under simplification.
struct Trial<'a> {
    x: &'a mut [u8],
    slots: &'a [Slot],
    holds: &'a mut dyn FnMut(&[u8]) -> Verdict,
    is_over: bool,
}

impl Trial<'_> {
    /// Takes `y` over if the property holds for it.
    fn try_it(&mut self, y: &[u8]) -> bool {
        if self.is_over {
            return false;
        }
        let verdict = (self.holds)(y);
        self.is_over = verdict == Verdict::Stop;
        if verdict == Verdict::Holds {
            self.x.copy_from_slice(y);
        }
        verdict == Verdict::Holds
    }

    /// The keys of all slots, the least simple first: what makes fewer ugly numbers is simpler.
    fn weight(&self, x: &[u8]) -> Vec<Simplicity> {
        let mut keys: Vec<_> = self.slots.iter().map(|s| simplicity::of(s.kind, s.get(x))).collect();
        keys.sort_unstable_by(|a, b| b.cmp(a));
        keys
    }

    fn small_tuples(&mut self) {
        let n = self.slots.len();
        let values: &[f64] = match n {
            2 => &[0.0, 1.0, -1.0, 2.0, -2.0, 3.0, 4.0, 5.0, 10.0],
            3 => &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, -1.0],
            4 => &[0.0, 1.0, 2.0, -1.0],
            _ => return,
        };
        let now = self.weight(self.x);
        let mut tuples = Vec::new();
        for number in 0..values.len().pow(n as u32) {
            let mut y = self.x.to_vec();
            let mut rest = number;
            for slot in self.slots {
                slot.set_real(&mut y, values[rest % values.len()]);
                rest /= values.len();
            }
            tuples.push((self.weight(&y), y));
        }
        tuples.retain(|(weight, _)| *weight < now);
        tuples.sort();
        tuples.dedup();
        for (_, y) in tuples {
            if self.try_it(&y) {
                return;
            }
        }
    }
}

/// A float without its sign; other values as they are.
fn magnitude(kind: Kind, raw: u64) -> u64 {
    if kind.is_float() { raw & (kind.mask() >> 1) } else { raw }
}

fn keyed(kind: Kind, values: Vec<u64>) -> Vec<(Simplicity, u64)> {
    values.into_iter().map(|raw| (simplicity::of(kind, raw), raw)).collect()
}

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

/// Values that can stand for `raw`: its size without sign, fewer digits, fewer powers of ten, the powers of two around it.
fn near_values(kind: Kind, raw: u64) -> Vec<u64> {
    let Some(decimal) = Decimal::of(kind, raw) else { return vec![raw & (kind.mask() >> 1)] };
    let count = decimal.count();
    let mut near = Vec::new();
    for kept in 1..count {
        let cut = 10u64.pow(count - kept);
        let (below, scale) = (decimal.digits / cut, decimal.scale + (count - kept) as i32);
        near.extend([below, below + 1].map(|digits| Decimal { digits, scale, ..decimal }));
    }
    // Towards 1, in halves and in single steps.
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
        assert!(property(&layout.reals(&x)), "the property holds at the start");
        let holds = |y: &[u8]| if property(&layout.reals(y)) { Verdict::Holds } else { Verdict::Fails };
        Simplifier::new().simplify(&mut x, &layout, holds);
        layout.reals(&x)
    }

    fn one(value: f64, property: impl Fn(f64) -> bool) -> f64 {
        simplified(&[Kind::F64], &[value], |v| property(v[0]))[0]
    }

    #[test]
    fn what_nobody_needs_becomes_zero() {
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
    fn equal_arguments_move_together() {
        let x = simplified(&[Kind::F64; 5], &[37.123_456, -37.123_456, 37.123_456, 8.0, 9.0], |v| {
            v[0] == -v[1] && v[0] == v[2] && v[0] > 20.0
        });
        assert_eq!(x, [30.0, -30.0, 30.0, 0.0, 0.0]);
    }

    #[test]
    fn a_right_triangle_is_3_4_5() {
        let x = simplified(&[Kind::F64; 3], &[0.6e7, 0.8e7, 1e7], |v| {
            v[0] > 0.0 && v[1] > v[0] && v[0] * v[0] + v[1] * v[1] == v[2] * v[2]
        });
        assert_eq!(x, [3.0, 4.0, 5.0]);
    }

    #[test]
    fn every_candidate_is_simpler_and_comes_in_order() {
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
    fn it_stops_when_told() {
        let layout = Layout::doubles(16);
        let mut asked = 0;
        let mut x = [0xa5; 16];
        Simplifier::new().simplify(&mut x, &layout, |_| {
            asked += 1;
            if asked == 5 { Verdict::Stop } else { Verdict::Fails }
        });
        assert_eq!((asked, x), (5, [0xa5; 16]), "no question after the stop");
    }
}
