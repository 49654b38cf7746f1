//! The default minimizer and the generators of points do not allocate, because an evaluation of a small function takes
//! only nanoseconds.

use std::{
    alloc::{GlobalAlloc, Layout as Memory, System},
    cell::Cell,
    sync::Arc,
};

use libafl_bolts::rands::StdRand;
use penfuzz_mutators::{
    basinhopping::Basinhopping,
    dictionary::Dictionary,
    distance::Relation,
    evaluate::{Metric, RepresentingFunction, Stop},
    minimizer::{LocalMinimizer, avm::Avm, chain::ChainSearch},
    observe::{Observation, Operands},
    random,
    start::StartPoints,
    structured,
    view::{Kind, Layout},
};

thread_local! {
    /// Number of allocations of this thread, because other tests run at the same time.
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

/// The system allocator with a counter.
struct Counting;

// SAFETY: every request goes to the system's allocator unchanged, and counting neither allocates nor unwinds: the
// counter is a constant-initialized thread-local without a destructor, so it can be accessed at any time.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, memory: Memory) -> *mut u8 {
        COUNT.with(|count| count.set(count.get() + 1));
        // SAFETY: this function and `System.alloc` require the same of their callers: a `memory` of non-zero size.
        unsafe { System.alloc(memory) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, memory: Memory) {
        // SAFETY: by the contract of this function `pointer` came from `alloc` above, and so from `System`, with the
        // same `memory`.
        unsafe { System.dealloc(pointer, memory) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Number of allocations while `run` runs.
fn allocations(run: impl FnOnce()) -> u64 {
    let before = COUNT.with(Cell::get);
    run();
    COUNT.with(Cell::get) - before
}

/// A function without zeros and with many local minima, so that every part of a search runs. The field is the budget.
struct Rough(u64);

impl RepresentingFunction for Rough {
    fn evaluate(&mut self, x: &[u8]) -> Result<u64, Stop> {
        self.0 = self.0.checked_sub(1).ok_or(Stop::Budget)?;
        Ok(x.iter().fold(1, |sum, &byte| sum * 3 + u64::from(byte & 0x77)))
    }

    fn metric(&self) -> Metric {
        Metric::Ulp
    }
}

/// Two conditions without a common solution that a search finds. The field is the budget.
struct TwoConditions(u64);

impl RepresentingFunction for TwoConditions {
    fn evaluate(&mut self, x: &[u8]) -> Result<u64, Stop> {
        self.observe(x, &mut Vec::with_capacity(2))
    }

    fn observe(&mut self, x: &[u8], seen: &mut Vec<Observation>) -> Result<u64, Stop> {
        seen.clear();
        self.0 = self.0.checked_sub(1).ok_or(Stop::Budget)?;
        let number = |i: usize| i64::from(i32::from_le_bytes(x[4 * i..4 * i + 4].try_into().expect("4 bytes")));
        let x = [number(0), number(1)];
        let conditions = [(x[0] % 97, 5), (x[1] * x[1] % 1_000_003, -1)];
        for (i, (a, b)) in conditions.into_iter().enumerate() {
            let operands = Operands::Integers(a.into(), b.into());
            let level = 1 - i as u32;
            seen.push(Observation { condition: i as u32, level, relation: Relation::Eq, operands, holds: a == b });
            if a != b {
                return Ok(u64::from(level) << 63 | a.abs_diff(b));
            }
        }
        Ok(0)
    }

    fn metric(&self) -> Metric {
        Metric::Ulp
    }
}

fn setting() -> (Layout, Arc<Dictionary>, Vec<u8>, StdRand) {
    let layout = Layout::packed(&[Kind::F64, Kind::F32, Kind::I32, Kind::Bool]);
    let x = vec![1; layout.size()];
    (layout, Arc::new(Dictionary::new(&[3.5f64.to_bits()], &[17, 0x3ff0_0000])), x, StdRand::with_seed(1))
}

#[test]
fn one_box_is_one_allocation() {
    assert_eq!(allocations(|| drop(std::hint::black_box(Box::new(1)))), 1);
}

#[test]
fn avm_does_not_allocate() {
    let (layout, dictionary, mut x, mut rng) = setting();
    let mut avm = Avm::new(dictionary);
    let n = allocations(|| {
        let _ = avm.minimize(&mut Rough(100_000), &mut x, &layout, &mut rng);
    });
    assert_eq!(n, 0);
}

#[test]
fn avm_allocates_one_buffer_for_runs_of_bytes() {
    let layout = Layout::packed(&[Kind::U8; 12]);
    let dictionary = Dictionary::general().with_tokens([b"GET".to_vec(), b"POST".to_vec()]);
    let mut avm = Avm::new(Arc::new(dictionary));
    let mut x = [1; 12];
    let n = allocations(|| {
        let _ = avm.minimize(&mut Rough(100_000), &mut x, &layout, &mut StdRand::with_seed(1));
    });
    assert_eq!(n, 1);
}

#[test]
fn basinhopping_allocates_its_two_points_only() {
    let (layout, dictionary, mut x, mut rng) = setting();
    let avm = Box::new(Avm::new(dictionary.clone()));
    let mut search = Basinhopping::new(avm, dictionary).with_n_iter(100);
    let n = allocations(|| {
        let _ = search.minimize(&mut Rough(100_000), &mut x, &layout, &mut rng);
    });
    assert!(n <= 2, "{n}");
}

#[test]
fn making_points_does_not_allocate() {
    let (layout, dictionary, mut x, mut rng) = setting();
    let mut starts = StartPoints::new();
    let n = allocations(|| {
        for _ in 0..1000 {
            random::fill(&mut rng, &layout, &mut x);
            structured::fill(&mut rng, &layout, &dictionary, &mut x);
            starts.next(&mut rng, &layout, &dictionary, &mut x);
        }
    });
    assert_eq!(n, 0);
}

#[test]
fn chain_search_allocates_at_its_start_only() {
    let layout = Layout::packed(&[Kind::I32, Kind::I32]);
    let count = |budget| {
        let mut search = ChainSearch::new(Arc::default());
        let mut x = [0; 8];
        x[0] = 5;
        allocations(|| {
            let _ = search.minimize(&mut TwoConditions(budget), &mut x, &layout, &mut StdRand::with_seed(1));
        })
    };
    assert_eq!(count(20_000), count(1_000), "an evaluation of the search does not allocate");
}
