//! Which likely preconditions a crashing input violates.
//!
//! A function that is tested without its callers gets arguments that no caller passes: a null pointer where there is
//! always an object, an index outside of its array. Experiments find out whether that is why it crashes: one place of
//! the input is changed, and if the crash disappears, the place is responsible (as in Hopper, Chen et al., CCS 2023,
//! "constraint inference").

use std::rc::Rc;

use penfuzz_executor::{Evaluator, blocks::AdjacentAccess, evaluator::RunStatus};
use penfuzz_mutators::view::Slot;
use penfuzz_target::inputs::{Block, Model, Origin, Target, types::Form};

use super::enumerations::{self, Enumeration};

/// Maximum number of runs for one crash.
const RUNS: u64 = 200;
/// Maximum number of preconditions that are named for one crash.
const MOST: usize = 3;
/// Maximum number of enumerators that are tried.
const MOST_ENUMERATORS: usize = 8;
/// Addresses up to this far from 0 are null pointers with the offset of a member or an element.
const NULL_END: u64 = 1 << 16;

/// What kind of values an input must have violated, by the end of its run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Suspicion {
    /// An access near address 0: some pointer is null.
    Null,
    /// An access relative to our memory at this address, or to no address at all (0): some number is too large, or an
    /// object is too small.
    Bounds(u64),
    /// The function frees memory at this address, which the C library has not allocated.
    NotAllocated(u64),
    /// A failing assertion: some pointer may be null.
    Assertion,
}

/// The likely preconditions that the crashing input `x` violates, nearly C expressions, and the number of runs that
/// this took. Empty if the experiments show none. `key` identifies the crash.
pub fn preconditions(evaluator: &mut Evaluator, x: &[u8], key: u64) -> (Vec<String>, u64) {
    let mut experiments = Experiments { evaluator, key, runs: 0 };
    let found = experiments.violated(x).unwrap_or_default();
    (found, experiments.runs)
}

struct Experiments<'a> {
    evaluator: &'a mut Evaluator,
    key: u64,
    runs: u64,
}

impl Experiments<'_> {
    /// The preconditions; `None` if the crash does not repeat, or is of another kind than those of wrong arguments.
    fn violated(&mut self, x: &[u8]) -> Option<Vec<String>> {
        let enumerators = self.enumerators(x);
        if !self.crashes(x) {
            return None;
        }
        if !enumerators.is_empty() {
            return Some(enumerators);
        }
        let model = Rc::clone(self.evaluator.blocks()?.model());
        let is_access = matches!(self.evaluator.fault_signal()?.0, libc::SIGSEGV | libc::SIGBUS);
        let mut found = match self.suspicion() {
            None if is_access => Vec::new(),
            None => return None,
            Some(Suspicion::Null) => {
                let nulls = self.nulls(&model, x);
                if nulls.is_empty() { self.limit_of_model(&model, x).into_iter().collect() } else { nulls }
            }
            Some(Suspicion::Bounds(address)) => {
                let object = self.larger_object(&model, address);
                let numbers = self.bounds(&model, x);
                if numbers.is_empty() { object.into_iter().collect() } else { numbers }
            }
            Some(Suspicion::Assertion) => self.nulls(&model, x),
            Some(Suspicion::NotAllocated(freed)) => self.allocations(&model, freed),
        };
        if found.is_empty() && is_access {
            found = self.members_in_use(&model, x);
        }
        found.truncate(MOST);
        Some(found)
    }

    /// Whether the input crashes at the place in question, or reads next to an array whose size is only inferred, which
    /// is no crash. Without runs to spare, it counts as crashing.
    fn crashes(&mut self, x: &[u8]) -> bool {
        self.runs += 1;
        if self.runs > RUNS {
            return true;
        }
        let adjacent = self.evaluator.n_adjacent_accesses();
        let ran = self.evaluator.run(x);
        self.evaluator.take_hits(&mut Vec::new());
        if self.evaluator.n_adjacent_accesses() > adjacent {
            return true;
        }
        ran == RunStatus::Faulted && self.evaluator.failed_at(self.key)
    }

    /// Whether the input crashes at any place, or reads next to an array.
    fn fails(&mut self, x: &[u8]) -> bool {
        self.crashes(x) || self.evaluator.fault_key().is_some()
    }

    /// What the last run suggests.
    fn suspicion(&self) -> Option<Suspicion> {
        let (signal, address) = self.evaluator.fault_signal()?;
        match signal {
            libc::SIGSEGV if address.wrapping_add(NULL_END) < 2 * NULL_END => Some(Suspicion::Null),
            libc::SIGSEGV if self.evaluator.blocks()?.is_near(address) => Some(Suspicion::Bounds(address)),
            // The processor does not report an address that cannot exist.
            libc::SIGBUS if address == 0 => Some(Suspicion::Bounds(0)),
            libc::SIGABRT => match self.evaluator.freed_unallocated() {
                Some(freed) => Some(Suspicion::NotAllocated(freed)),
                None => self.is_assertion().then_some(Suspicion::Assertion),
            },
            _ => None,
        }
    }

    /// Whether the last run ended in the function that `assert` calls.
    fn is_assertion(&self) -> bool {
        let is_helper = |frame: &String| frame.starts_with("__assert_fail");
        self.evaluator.fault().is_some_and(|fault| fault.stack.iter().any(is_helper))
    }

    /// Enumerations without an enumerator: with any of them, the crash disappears.
    fn enumerators(&mut self, x: &[u8]) -> Vec<String> {
        let mut found = Vec::new();
        for Enumeration { path, slot, value, valid } in enumerations::invalid(self.evaluator, x) {
            let is_cause = valid.iter().take(MOST_ENUMERATORS).all(|v| !self.crashes(&with_integer(x, slot, *v)));
            // Otherwise the function checks the number itself, so its check is wrong.
            if is_cause && self.fails(&with_integer(x, slot, extreme(slot, value > 0))) {
                found.push(format!("{path} is an enumerator"));
            }
        }
        found.truncate(MOST);
        found
    }

    /// Null pointers without which the crash disappears.
    fn nulls(&mut self, model: &Model, x: &[u8]) -> Vec<String> {
        let is_null = |slot: Slot| slot.get(x) != 0;
        let pointers = model
            .blocks
            .iter()
            .enumerate()
            .flat_map(|(b, block)| block.pointers.iter().enumerate().map(move |(i, p)| (p, (b, i))));
        let nulls = pointers.filter_map(|(p, (block, i))| {
            let slot = p.null.filter(|slot| is_null(*slot))?;
            Some((slot, path(model, p.target).or_else(|| model.pointer_path(block, i))?))
        });
        let changed = |slot: Slot| with(x, slot, 0);
        nulls.filter(|(slot, _)| !self.crashes(&changed(*slot))).map(|(_, path)| format!("{path} != NULL")).collect()
    }

    /// Members of unions with which the crash disappears: the input has another member, whose bytes the function uses
    /// as a pointer.
    fn members_in_use(&mut self, model: &Model, x: &[u8]) -> Vec<String> {
        let mut found: Vec<(Slot, String)> = Vec::new();
        for (b, block) in model.blocks.iter().enumerate() {
            for (i, p) in block.pointers.iter().enumerate() {
                let Some(other) = p.alternative.filter(|alternative| !alternative.is_chosen(x)) else { continue };
                let Some(path) = path(model, p.target).or_else(|| model.pointer_path(b, i)) else { continue };
                let is_known = found.iter().any(|(choice, _)| *choice == other.choice);
                if !is_known && !self.crashes(&with(x, other.choice, other.number.into())) {
                    found.push((other.choice, format!("{path} is the member in use")));
                }
            }
        }
        found.into_iter().map(|(_, text)| text).collect()
    }

    /// The pointer whose null is the cause, if it is null because the model has no room for the memory that it leads
    /// to, or because a callback returns it: with another address there, the same place faults at that address.
    fn limit_of_model(&mut self, model: &Model, x: &[u8]) -> Option<String> {
        self.evaluator.mark_limits(true);
        let crashes = self.crashes(x);
        self.evaluator.mark_limits(false);
        let (_, address) = self.evaluator.fault_signal().filter(|_| crashes)?;
        let (block, pointer) = self.evaluator.blocks()?.marked(address)?;
        let is_callback = matches!(model.blocks[block].pointers[pointer].target, Target::Stub(_));
        let path = model.pointer_path(block, pointer)?;
        Some(if is_callback { format!("{path}() != NULL") } else { format!("{path} != NULL") })
    }

    /// The pointer to our memory that the last run has freed.
    fn allocations(&self, model: &Model, freed: u64) -> Vec<String> {
        let block = self.evaluator.blocks().and_then(|blocks| blocks.adjacent_access(freed)).map(|found| found.block);
        let path = block.and_then(|block| path(model, Target::Block(block)));
        vec![format!("{} is allocated by malloc", path.as_deref().unwrap_or("what it frees"))]
    }

    /// The structure after whose end the access is, if the function uses the pointer to it without an index: it casts
    /// the pointer to that of a structure that begins with this one.
    fn larger_object(&self, model: &Model, address: u64) -> Option<String> {
        let AdjacentAccess { block, at } = self.evaluator.blocks()?.adjacent_access(address)?;
        let object = &model.blocks[block];
        let is_structure = matches!(model.types[object.element].form, Form::Struct(_));
        let is_after = usize::try_from(at).is_ok_and(|at| at >= object.bytes());
        let is_one = object.capacity == 1 && object.origin == Origin::Single;
        (is_structure && is_after && is_one).then(|| format!("*{} is the start of a larger object", object.path))
    }

    /// Integers that are too large or too small: with another value, the crash disappears. The limit is found by
    /// bisection, and is compared with the lengths of arrays.
    fn bounds(&mut self, model: &Model, x: &[u8]) -> Vec<String> {
        let mut found = Vec::new();
        for (name, slot) in &model.numbers {
            let slot = model.layout.slots()[*slot];
            let Some(value) = slot.kind.to_integer(slot.get(x)).filter(|value| *value != 0) else { continue };
            let good = [0, 1].into_iter().find(|good| *good != value && !self.crashes(&with_integer(x, slot, *good)));
            let Some(good) = good else { continue };
            if !self.fails(&with_integer(x, slot, extreme(slot, value > good))) {
                // The function checks the number itself, so its check is wrong.
                continue;
            }
            let limit = self.limit(x, slot, (good, value));
            found.push(stated(model, x, name, limit, value > good));
            if found.len() == MOST {
                break;
            }
        }
        found
    }

    /// The value between `good` and `bad` closest to `bad` without the crash, if the crash begins at one value.
    fn limit(&mut self, x: &[u8], slot: Slot, (mut good, mut bad): (i64, i64)) -> i64 {
        while good.abs_diff(bad) > 1 {
            let middle = i64::midpoint(good, bad);
            if self.crashes(&with_integer(x, slot, middle)) {
                bad = middle;
            } else {
                good = middle;
            }
        }
        good
    }
}

fn with(x: &[u8], slot: Slot, bits: u64) -> Vec<u8> {
    let mut changed = x.to_vec();
    slot.set(&mut changed, bits);
    changed
}

fn with_integer(x: &[u8], slot: Slot, value: i64) -> Vec<u8> {
    with(x, slot, value.cast_unsigned())
}

/// The largest or the smallest integer of a slot.
fn extreme(slot: Slot, is_largest: bool) -> i64 {
    let bits = if slot.kind.is_signed() { slot.kind.bits() - 1 } else { slot.kind.bits() };
    let largest = if bits > 62 { i64::MAX } else { (1 << bits) - 1 };
    match is_largest {
        true => largest,
        false if slot.kind.is_signed() => -largest - 1,
        false => 0,
    }
}

/// The pointer to a block in C notation.
fn path(model: &Model, target: Target) -> Option<String> {
    match target {
        Target::Block(block) => Some(model.blocks[block].path.clone()).filter(|path| !path.is_empty()),
        _ => None,
    }
}

/// The precondition that a number does not exceed `limit`, with the array whose length explains the limit.
fn stated(model: &Model, x: &[u8], name: &str, limit: i64, is_upper: bool) -> String {
    if !is_upper {
        return format!("{name} >= {limit}");
    }
    let length_is = |n: Option<i64>| {
        let is_array = |b: &&Block| !b.path.is_empty() && b.capacity > 1;
        model.blocks.iter().filter(is_array).find(|b| i64::try_from(b.len(x)).ok() == n && n > Some(1))
    };
    if let Some(block) = length_is(Some(limit)) {
        return format!("{name} <= length of {}", block.path);
    }
    match length_is(limit.checked_add(1)) {
        Some(block) => format!("{name} < length of {}", block.path),
        None => format!("{name} <= {limit}"),
    }
}
