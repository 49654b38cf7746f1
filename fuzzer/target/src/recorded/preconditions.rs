//! Likely preconditions: conditions that hold for all recorded calls of a function, as in Daikon (Ernst et al., Science
//! of Computer Programming 69, 2007).
//!
//! | condition | stated if |
//! | --- | --- |
//! | `p != NULL` | the program compares the pointer with null, and no call passes null |
//! | `a <= b` | of two integers of one structure, or of two parameters, and their ranges overlap |
//! | `n > 0`, `n >= 0` | of an integer, the second if its type is signed |
//! | `isfinite(x)` | of a floating-point number |
//!
//! Each needs [`LEAST_CALLS`] different calls. Upper limits are not stated: they are those of the tests, not of the
//! function.

use std::{
    collections::{BTreeSet, HashMap},
    fmt,
    str::FromStr,
};

use penfuzz_mutators::view::{Kind, Slot};
use serde::{Deserialize, Serialize};

use super::{
    calls::RecordedCall,
    encode::{Encoded, encoded, of_numbers},
};
use crate::{
    inputs::{Alternative, Model, Target as Leads, Within},
    program::{Function, Parameter},
};

/// Number of different calls that a condition must hold for.
const LEAST_CALLS: usize = 10;
/// Number of different values, or pairs of values, among them.
const LEAST_VALUES: usize = 3;
/// Maximum number of conditions of a function.
const MOST: usize = 8;
/// Maximum number of pointers on the path to what a condition is about. At a greater depth are other objects, with
/// conditions of their own.
const DEEPEST: usize = 2;

/// A condition over the pointers and numbers of an input, as a C expression.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Precondition {
    /// `p != NULL`
    NotNull(String),
    /// `a <= b`, or `a < b` if the last is true.
    Ordered(String, String, bool),
    /// `n >= limit`
    AtLeast(String, i64),
    /// `isfinite(x)`
    Finite(String),
}

impl fmt::Display for Precondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotNull(p) => write!(f, "{p} != NULL"),
            Self::Ordered(a, b, is_strict) => write!(f, "{a} {} {b}", if *is_strict { "<" } else { "<=" }),
            Self::AtLeast(n, 1) => write!(f, "{n} > 0"),
            Self::AtLeast(n, limit) => write!(f, "{n} >= {limit}"),
            Self::Finite(x) => write!(f, "isfinite({x})"),
        }
    }
}

/// The text has none of the forms of a [`Precondition`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownForm;

impl fmt::Display for UnknownForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the forms are: p != NULL, a <= b, a < b, n > 0, n >= 3, isfinite(x)")
    }
}

impl FromStr for Precondition {
    type Err = UnknownForm;

    fn from_str(text: &str) -> Result<Self, UnknownForm> {
        let text = text.trim();
        if let Some(x) = text.strip_prefix("isfinite(").and_then(|rest| rest.strip_suffix(')')) {
            return Ok(Self::Finite(path(x)?));
        }
        if let Some((p, "NULL")) = text.split_once(" != ") {
            return Ok(Self::NotNull(path(p)?));
        }
        if let Some((n, limit)) = text.split_once(" >= ") {
            return Ok(Self::AtLeast(path(n)?, limit.parse().map_err(|_| UnknownForm)?));
        }
        if let Some((n, limit)) = text.split_once(" > ") {
            let limit: i64 = limit.parse().map_err(|_| UnknownForm)?;
            return Ok(Self::AtLeast(path(n)?, limit.checked_add(1).ok_or(UnknownForm)?));
        }
        if let Some((a, b)) = text.split_once(" <= ") {
            return Ok(Self::Ordered(path(a)?, path(b)?, false));
        }
        let (a, b) = text.split_once(" < ").ok_or(UnknownForm)?;
        Ok(Self::Ordered(path(a)?, path(b)?, true))
    }
}

/// A path in C notation, such as `s->next[2].n`.
fn path(text: &str) -> Result<String, UnknownForm> {
    let is_part = |c: char| c.is_alphanumeric() || "_->.[]*:".contains(c);
    let is_path = !text.is_empty() && text.chars().all(is_part) && !text.starts_with(|c: char| c.is_ascii_digit());
    if is_path { Ok(text.to_owned()) } else { Err(UnknownForm) }
}

impl TryFrom<String> for Precondition {
    type Error = UnknownForm;

    fn try_from(text: String) -> Result<Self, UnknownForm> {
        text.parse()
    }
}

impl From<Precondition> for String {
    fn from(precondition: Precondition) -> Self {
        precondition.to_string()
    }
}

impl Precondition {
    /// Whether an input of the function violates the condition. False if a path does not exist in the input.
    #[must_use]
    pub fn is_violated(&self, f: &Function, x: &[u8]) -> bool {
        let names = Names::of(f);
        let present = names.present(x);
        let number = |path: &str| names.numbers.iter().find(|n| n.path == path && present(n.block)).map(|n| n.slot);
        let integer = |path: &str| number(path).and_then(|slot| integer_of(slot, x));
        match self {
            Self::NotNull(p) => {
                names.pointers.iter().any(|n| n.path == *p && present(n.block) && n.is_null(x) == Some(true))
            }
            Self::Ordered(a, b, is_strict) => {
                integer(a).zip(integer(b)).is_some_and(|(a, b)| if *is_strict { a >= b } else { a > b })
            }
            Self::AtLeast(n, limit) => integer(n).is_some_and(|n| n < i128::from(*limit)),
            Self::Finite(n) => number(n).is_some_and(|slot| !slot.kind.to_real(slot.get(x)).is_finite()),
        }
    }
}

/// The integer in a slot; `None` for a floating-point number.
fn integer_of(slot: Slot, x: &[u8]) -> Option<i128> {
    let value = slot.kind.to_integer(slot.get(x))?;
    Some(if slot.kind.is_signed() { value.into() } else { value.cast_unsigned().into() })
}

/// A number of an input.
struct Number<'a> {
    path: &'a str,
    slot: Slot,
    /// The block that it belongs to; 0 for a parameter.
    block: usize,
}

/// A pointer that an input can make null.
struct NullablePointer<'a> {
    path: &'a str,
    null: Slot,
    /// The block that contains it.
    block: usize,
    /// The member of a union that it belongs to.
    alternative: Option<Alternative>,
}

impl NullablePointer<'_> {
    /// Whether the pointer is null, or not; `None` if its union has another member.
    fn is_null(&self, x: &[u8]) -> Option<bool> {
        self.alternative.is_none_or(|member| member.is_chosen(x)).then(|| self.null.get(x) != 0)
    }
}

/// Whether a condition may be about this path. The elements of an array have no conditions of their own.
fn is_near(path: &str) -> bool {
    !path.contains('[') && path.matches("->").count() <= DEEPEST
}

/// The names of the parts of an input.
struct Names<'a> {
    model: Option<&'a Model>,
    numbers: Vec<Number<'a>>,
    pointers: Vec<NullablePointer<'a>>,
}

impl<'a> Names<'a> {
    fn of(f: &'a Function) -> Self {
        if let Some(model) = &f.model {
            return Self::of_model(model);
        }
        let number = |p: &'a Parameter| {
            let slot = Slot { kind: p.kind?, offset: p.offset };
            Some(Number { path: &p.name, slot, block: 0 })
        };
        let numbers = f.inputs().filter(|p| !p.pointer).filter_map(number).collect();
        Self { model: None, numbers, pointers: Vec::new() }
    }

    fn of_model(model: &'a Model) -> Self {
        let slots = model.layout.slots();
        let block_of = |slot: Slot| {
            model.blocks.iter().position(|b| {
                b.copies.iter().any(|c| (c.from..c.from + c.size).contains(&slot.offset))
                    || b.converted.iter().any(|c| c.from == slot.offset)
            })
        };
        let named = model.numbers.iter().filter(|(path, _)| is_near(path));
        let number = |(path, slot): &'a (String, usize)| {
            Some(Number { path, slot: slots[*slot], block: block_of(slots[*slot])? })
        };
        let pointers = model.blocks.iter().enumerate().flat_map(|(block, b)| {
            b.pointers.iter().filter_map(move |p| {
                let Leads::Block(to) = p.target else { return None };
                Some(NullablePointer { path: &model.blocks[to].path, null: p.null?, block, alternative: p.alternative })
            })
        });
        Self {
            model: Some(model),
            numbers: named.filter_map(number).collect(),
            pointers: pointers.filter(|p| is_near(p.path)).collect(),
        }
    }

    /// Tells whether a block exists in an input: all pointers on the way to it are not null.
    fn present(&self, x: &[u8]) -> impl Fn(usize) -> bool + use<> {
        let mut present = vec![true];
        if let Some(model) = self.model {
            present = (0..model.blocks.len()).map(|i| i == 0 || model.global_of(i).is_some()).collect();
            let mut next: Vec<usize> = (0..present.len()).filter(|i| present[*i]).collect();
            while let Some(block) = next.pop() {
                for p in model.blocks[block].pointers.iter().filter(|p| !model.is_null(p, x)) {
                    if let Leads::Block(to) | Leads::Within(Within { block: to, .. }) = p.target
                        && !core::mem::replace(&mut present[to], true)
                    {
                        next.push(to);
                    }
                }
            }
        }
        move |block| present.get(block).copied().unwrap_or(false)
    }
}

/// The conditions that hold for all of the calls, each with the number of different calls that show it. The function
/// must have the model of a campaign.
#[must_use]
pub fn likely(f: &Function, calls: &[RecordedCall]) -> Vec<(Precondition, usize)> {
    let names = Names::of(f);
    let mut known = BTreeSet::new();
    let input = |call: &RecordedCall| match &f.model {
        Some(model) => encoded(f, model, call),
        None => of_numbers(f, call).map(|x| Encoded { x, addresses: vec![Some(0)] }),
    };
    let all: Vec<Encoded> = calls.iter().filter_map(input).filter(|e| known.insert(e.x.clone())).collect();
    let is_present =
        |call: &Encoded, block: usize| block == 0 || call.addresses.get(block).is_some_and(Option::is_some);
    let mut found = Vec::new();
    for p in &names.pointers {
        let nulls: Vec<bool> = all.iter().filter(|c| is_present(c, p.block)).filter_map(|c| p.is_null(&c.x)).collect();
        if nulls.len() >= LEAST_CALLS && !nulls.contains(&true) {
            found.push((Precondition::NotNull(p.path.to_owned()), nulls.len()));
        }
    }
    let values: Vec<Values> = names.numbers.iter().map(|n| Values::of(n, &all, &is_present)).collect();
    found.extend(ordered(&values));
    found.extend(values.iter().filter_map(Values::bound));
    found.truncate(MOST);
    found
}

/// The values of a number in the calls.
struct Values<'a> {
    number: &'a Number<'a>,
    /// By the index of the call.
    integers: HashMap<usize, i128>,
    floats: Vec<f64>,
}

impl<'a> Values<'a> {
    fn of(number: &'a Number, all: &[Encoded], is_present: &dyn Fn(&Encoded, usize) -> bool) -> Self {
        let slot = number.slot;
        let present = || all.iter().enumerate().filter(|(_, call)| is_present(call, number.block));
        let is_integer = !slot.kind.is_float() && !matches!(slot.kind, Kind::Bool | Kind::Rounding);
        let integer = |(i, call): (usize, &Encoded)| Some((i, integer_of(slot, &call.x)?));
        let float = |(_, call): (usize, &Encoded)| slot.kind.to_real(slot.get(&call.x));
        Self {
            number,
            integers: if is_integer { present().filter_map(integer).collect() } else { HashMap::new() },
            floats: if slot.kind.is_float() { present().map(float).collect() } else { Vec::new() },
        }
    }

    /// The lower limit of an integer, or that a number is finite.
    fn bound(&self) -> Option<(Precondition, usize)> {
        let path = || self.number.path.to_owned();
        let (n, n_floats) = (self.integers.len(), self.floats.len());
        if n >= LEAST_CALLS && distinct(self.integers.values()) >= LEAST_VALUES {
            let least = *self.integers.values().min()?;
            let is_signed = self.number.slot.kind.is_signed();
            let limit = (least >= 1).then_some(1).or((least == 0 && is_signed).then_some(0))?;
            return Some((Precondition::AtLeast(path(), limit), n));
        }
        let bits: Vec<u64> = self.floats.iter().map(|x| x.to_bits()).collect();
        let is_finite = self.floats.iter().all(|x| x.is_finite());
        let is_shown = n_floats >= LEAST_CALLS && distinct(bits.iter()) >= LEAST_VALUES;
        (is_shown && is_finite).then(|| (Precondition::Finite(path()), n_floats))
    }
}

fn distinct<T: Ord>(values: impl Iterator<Item = T>) -> usize {
    values.collect::<BTreeSet<_>>().len()
}

/// The orders between integers of one block.
fn ordered(values: &[Values]) -> Vec<(Precondition, usize)> {
    let mut found = Vec::new();
    for a in values {
        for b in values {
            let is_pair = a.number.path != b.number.path && a.number.block == b.number.block;
            if !is_pair || a.number.slot.kind != b.number.slot.kind {
                continue;
            }
            let pairs: Vec<(i128, i128)> =
                a.integers.iter().filter_map(|(call, x)| Some((*x, *b.integers.get(call)?))).collect();
            let (Some(most), Some(least)) = (pairs.iter().map(|p| p.0).max(), pairs.iter().map(|p| p.1).min()) else {
                continue;
            };
            let is_shown = pairs.len() >= LEAST_CALLS && distinct(pairs.iter()) >= LEAST_VALUES;
            // Numbers of different magnitude are ordered by chance.
            let overlap = most > least;
            if is_shown && overlap && pairs.iter().all(|(x, y)| x <= y) {
                let is_strict = pairs.iter().all(|(x, y)| x < y);
                let condition = Precondition::Ordered(a.number.path.to_owned(), b.number.path.to_owned(), is_strict);
                found.push((condition, pairs.len()));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        program::Edges,
        recorded::{Bytes, RecordedMemory},
    };

    /// A function of two numbers.
    fn function(kinds: [Kind; 2]) -> Function {
        let parameter = |(name, kind, offset): (&str, Kind, usize)| Parameter {
            name: name.to_owned(),
            type_name: String::new(),
            kind: Some(kind),
            pointer: false,
            offset,
            cell: 0,
            place: 0,
            output_size: 0,
        };
        let parameters = [("a", kinds[0], 0), ("b", kinds[1], 8)].map(parameter).to_vec();
        Function::without_code(None, parameters, Edges::default())
    }

    fn call(a: u64, b: u64) -> RecordedCall {
        let arguments = [a, b].map(|n| Bytes(n.to_le_bytes().to_vec())).to_vec();
        RecordedCall { arguments, memory: RecordedMemory::default() }
    }

    /// The texts of the conditions of such calls.
    fn texts(kinds: [Kind; 2], calls: impl Iterator<Item = (u64, u64)>) -> Vec<String> {
        let calls: Vec<RecordedCall> = calls.map(|(a, b)| call(a, b)).collect();
        likely(&function(kinds), &calls).into_iter().map(|(condition, _)| condition.to_string()).collect()
    }

    #[test]
    fn conditions_hold_for_all_calls_and_are_few() {
        let signed = [Kind::I64; 2];
        assert_eq!(texts(signed, (0..12).map(|i| (i, i + i % 3))), ["a <= b", "a >= 0", "b >= 0"]);
        assert_eq!(texts(signed, (0..9).map(|i| (i, i + 1))), [""; 0], "too few calls");
        assert_eq!(texts(signed, (0..12).map(|i| (i % 2, 0))), [""; 0], "too few values");
        // Ordered, but never of the same magnitude; the first has negative values.
        assert_eq!(texts(signed, (0..12).map(|i: u64| (i.wrapping_sub(3), 1000 + i))), ["b > 0"]);
        let float = |i: i32| f64::from(i).to_bits();
        let floats = (0..12).map(|i| (float(i), if i == 3 { f64::NAN.to_bits() } else { float(i) }));
        assert_eq!(texts([Kind::F64; 2], floats), ["isfinite(a)"]);
        let large = (0..12).map(|i: u64| (1 << 63 | i, u64::MAX));
        assert_eq!(texts([Kind::U64; 2], large), ["a > 0"], "all values of b are equal");
    }

    #[test]
    fn inputs_violate_conditions() {
        let violates = |text: &str, kinds: [Kind; 2], a: u64, b: u64| {
            let condition: Precondition = text.parse().expect("a condition");
            let x: Vec<u8> = [a, b].iter().flat_map(|n| n.to_le_bytes()).collect();
            condition.is_violated(&function(kinds), &x)
        };
        let (signed, unsigned) = ([Kind::I64; 2], [Kind::U64; 2]);
        assert!(violates("a <= b", signed, 3, 2) && !violates("a <= b", signed, 3, 3));
        assert!(violates("a < b", signed, 3, 3) && !violates("a < b", signed, u64::MAX, 3), "-1 < 3");
        assert!(!violates("a > 0", unsigned, 1 << 63, 0) && violates("a > 0", signed, 1 << 63, 0));
        assert!(violates("a < b", unsigned, 1 << 63, 3));
        assert!(violates("isfinite(b)", [Kind::F64; 2], 0, f64::INFINITY.to_bits()));
        assert!(!violates("c > 0", signed, 0, 0), "no such number");
    }

    #[test]
    fn conditions_are_written_as_they_are_read() {
        for text in ["p != NULL", "s->used <= s->room", "a < b", "n > 0", "n >= 0", "n >= -3", "isfinite(x)"] {
            assert_eq!(text.parse::<Precondition>().map(|p| p.to_string()).as_deref(), Ok(text));
        }
        for text in ["", "p", "p == NULL", "f(x) > 0", "n >= x", "3 <= n", "n > 9223372036854775807", "isfinite()"] {
            assert_eq!(text.parse::<Precondition>(), Err(UnknownForm), "{text}");
        }
    }
}
