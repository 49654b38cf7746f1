//! Evaluation of one function of a loaded target, millions of times per second.
//!
//! The evaluator owns all memory that the runtime of the target writes to. It arms the sites of the target, and stores
//! for every uncovered branch the input that came closest. It does not depend on LibAFL; [`super::PenExecutor`] wraps
//! it.

mod arming;
mod compared;
mod composed;
mod ending;
mod memory;
mod mutants;
mod near;
mod path;
mod placement;
mod processes;
mod record;
mod series;
mod trace;
mod watch;

use std::{
    cell::OnceCell,
    collections::{BTreeSet, HashSet},
    rc::Rc,
};

use penfuzz_abi::{self as abi, action};
use penfuzz_error::Error;
use penfuzz_mutators::view::Layout;
use penfuzz_target::program::{
    Function, Target,
    function::{Call, Entry},
    state::SharedState,
    units,
};
use penfuzz_target::recorded::Precondition;

use self::{arming::Armed, near::Near};
use super::{
    blocks::{AdjacentAccess, Blocks},
    cells::Cells,
    fault::FaultReader,
    guard::{self, End},
    sandbox::Allow,
};

pub use super::limits::{DEFAULT_FUEL, DEFAULT_MEMORY, EvaluationLimits};

pub use self::{
    arming::{Changes, metric_of},
    path::Passes,
    watch::ObservedOperands,
};

/// Memory shared with the supervisor in which finds are stored immediately, so that they survive if the process dies
/// before it has saved them.
#[derive(Debug, Clone, Copy)]
pub struct Journal {
    /// Number of bytes used.
    pub used: *mut u64,
    /// Inputs, each preceded by its length.
    pub bytes: *mut u8,
    /// Capacity of `bytes`.
    pub room: usize,
}

/// Evaluates the representing function of one function of a target that is loaded into this process.
///
/// It owns the memory that the target's runtime writes to, so only one evaluator per target may exist at a time.
/// Defaults: every branch is recorded, no goal, no fuel cap, [`EvaluationLimits`] as given.
#[derive(Debug)]
pub struct Evaluator {
    target: Rc<Target>,
    /// The state of the target; cached here because every evaluation needs it.
    state: *mut abi::State,
    function: usize,
    entry: Entry,
    fuel: i64,
    /// Fuel after which an evaluation is cut short, at most `fuel`.
    fuel_cap: i64,
    memory: u64,
    allowed: Vec<Allow>,
    input_size: usize,
    /// Size in bytes of an input that needs no conversion before a run; `usize::MAX` if some numbers have domains.
    plain_size: usize,
    /// The layout, if some numbers have domains.
    restricted: Option<Layout>,
    /// The input of the current evaluation; a supervisor may read it.
    input: *mut u8,
    own_input: Vec<u8>,
    /// Result of the call and the memory behind its pointers.
    output: Cells,
    /// Structures, arrays and strings; `None` if the function takes none.
    blocks: Option<Blocks>,
    /// Number of runs that accessed memory next to a block whose size is only inferred.
    n_adjacent_accesses: u64,
    last_adjacent_access: Option<AdjacentAccess>,
    /// Variables and heap of the target that are restored before each run.
    shared: SharedState,
    /// 0 or one more than the number of the fill of uninitialized memory (modulo their number), see `processes`.
    search_fill: usize,
    needed_units: OnceCell<Option<BTreeSet<String>>>,
    outcomes: Vec<u8>,
    /// The branches whose byte in `outcomes` is set.
    taken: Vec<u32>,
    best: Vec<u64>,
    lead: Vec<u64>,
    /// Steps of a path, and the failure function of each step ([`abi::State::back`]); empty if no path is wanted.
    path: Vec<u32>,
    back: Vec<u32>,
    /// Per branch: the number of evaluations at its first hit; 0 if it was never taken.
    taken_at: Vec<u64>,
    /// Numbers of branches and cases (added to the number of branches) whose distance the last run reduced.
    improved: Vec<u32>,
    is_improved: Vec<u8>,
    /// Operands of switches, per case.
    near: Near,
    /// One input per branch and case.
    closest: Vec<u8>,
    r0: u64,
    faults: FaultReader,
    known_faults: HashSet<u64>,
    /// Likely preconditions of the function.
    preconditions: Vec<Precondition>,
    /// How the last run ended if it did not return.
    last_end: Option<End>,
    /// The number of the last evaluation in which an assumption did not hold; 0 if there was none.
    rejected_at: u64,
    /// The counter of evaluations; a supervisor may read it.
    count: *mut u64,
    /// Allocated by [`Box`] and freed in `drop`. It is a raw pointer, because moving a box invalidates pointers taken
    /// from it before.
    own_count: *mut u64,
    journal: Option<Journal>,
    armed: Armed,
    /// Ring buffer for the operands of comparisons, used while they are measured.
    compared: Box<[abi::Compared]>,
    /// The sites that can be armed: a large library has thousands of sites that are never goals.
    sites: Vec<usize>,
    /// Whether `SanCov` counts edges in a map.
    counts_edges: bool,
}

/// How one evaluation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunStatus {
    /// The function returned, ended the process by `exit` ([`Evaluator::exit_status`]), or threw a C++ exception
    /// ([`Evaluator::thrown`]). The last two are normal ends as well.
    Returned,
    /// The run did not end normally; [`Evaluator::fault`] has the details.
    Faulted,
}

impl Evaluator {
    /// Prepares `function` of `target` and installs the guard for this thread.
    ///
    /// # Errors
    /// If the function cannot be called, or the guard cannot be installed.
    pub fn new(target: Rc<Target>, function: usize, limits: EvaluationLimits) -> Result<Self, Error> {
        let f = &target.functions[function];
        let entry = f
            .entry()
            .ok_or_else(|| Error::new(format!("`{}` has a parameter of an unsupported type", f.signature())))?;
        guard::install(limits.timeout, limits.memory)?;
        if f.has_rounding && f.is_harness() {
            return Err(Error::new(format!(
                "`{}` \
                 takes bytes and cannot be run in other rounding modes; remove --rounding or select another --function",
                f.name
            )));
        }
        let (n, n_remembered) = (target.n_branches, target.n_branches + target.to_default.len());
        let layout = f.layout();
        let input_size = layout.size();
        let mut me = Self {
            state: target.state(),
            function,
            entry,
            fuel: limits.fuel,
            fuel_cap: limits.fuel,
            memory: limits.memory,
            allowed: Vec::new(),
            input_size,
            plain_size: if layout.has_domains() { usize::MAX } else { input_size },
            restricted: Some(layout).filter(Layout::has_domains),
            input: core::ptr::null_mut(),
            own_input: vec![0; input_size.max(1)],
            output: Cells::new(f)?,
            blocks: f.model.as_ref().map(Blocks::new).transpose()?,
            n_adjacent_accesses: 0,
            last_adjacent_access: None,
            shared: SharedState::of(&target, f),
            search_fill: 0,
            needed_units: OnceCell::new(),
            outcomes: vec![0; n],
            taken: vec![0; n],
            best: vec![u64::MAX; n],
            lead: vec![u64::MAX; n],
            path: Vec::new(),
            back: Vec::new(),
            taken_at: vec![0; n],
            improved: vec![0; n_remembered],
            is_improved: vec![0; n_remembered],
            near: Near::new(&target),
            closest: vec![0; n_remembered * input_size],
            r0: u64::MAX,
            faults: FaultReader::new(&target.path, target.base(), limits),
            known_faults: HashSet::new(),
            preconditions: Vec::new(),
            last_end: None,
            rejected_at: 0,
            count: core::ptr::null_mut(),
            own_count: Box::into_raw(Box::new(0)),
            journal: None,
            armed: Armed::new(&target),
            compared: compared::ring(),
            sites: (0..target.sites.len()).collect(),
            counts_edges: false,
            target,
        };
        me.input = me.own_input.as_mut_ptr();
        me.count = me.own_count;
        me.connect();
        me.set_fuel_cap(limits.fuel);
        let delete = me.target.operator_delete();
        if let Some(blocks) = &mut me.blocks {
            blocks.release_with(delete);
        }
        // Until a goal is armed, every branch is recorded.
        me.arm(|_| action::RECORD);
        Ok(me)
    }

    /// Passes the evaluator's buffers to the runtime of the target. The vectors never grow, so the pointers stay valid.
    fn connect(&mut self) {
        // SAFETY: the state lives as long as the target; this thread alone runs the target.
        unsafe {
            let state = &mut *self.state;
            state.outcomes = self.outcomes.as_mut_ptr();
            state.best = self.best.as_mut_ptr();
            state.improved = self.improved.as_mut_ptr();
            state.is_improved = self.is_improved.as_mut_ptr();
            state.near = self.near.as_mut_ptr();
            state.taken = self.taken.as_mut_ptr();
            // A dropped evaluator may have left entries in its own lists.
            state.hits = 0;
            state.n_improved = 0;
            state.coverage = core::ptr::null_mut();
            state.compared = core::ptr::null_mut();
            state.lead = self.lead.as_ptr();
            state.stop = Some(guard::guard_stop);
        }
    }

    /// The target.
    #[must_use]
    pub fn target(&self) -> &Rc<Target> {
        &self.target
    }

    /// The function under test.
    #[must_use]
    pub fn function(&self) -> &Function {
        &self.target.functions[self.function]
    }

    /// The index of the function under test among those of the target.
    #[must_use]
    pub fn function_index(&self) -> usize {
        self.function
    }

    /// The translation units that must be linked into a program with the function ([`units::needed`]). The first call
    /// reads the symbols of the target file.
    #[must_use]
    pub fn needed_units(&self) -> Option<&BTreeSet<String>> {
        self.needed_units.get_or_init(|| units::needed(&self.target, self.function())).as_ref()
    }

    /// The state of the target that is restored before each run to what it was after loading.
    #[must_use]
    pub fn shared(&self) -> &SharedState {
        &self.shared
    }

    /// Size of an input in bytes.
    #[must_use]
    pub fn input_size(&self) -> usize {
        self.input_size
    }

    /// Number of calls of the representing function so far.
    #[must_use]
    pub fn evaluations(&self) -> u64 {
        // SAFETY: `count` is valid as long as the evaluator. The target may have overwritten the counter; the limit
        // keeps the sum of two counts from overflowing.
        unsafe { self.count.read() }.min(u64::MAX / 2)
    }

    /// Calls the function at `x`. A shorter input is padded with zeros, a longer one is truncated.
    #[inline]
    pub fn run(&mut self, x: &[u8]) -> RunStatus {
        if let Entry::Thunk(call) = self.entry
            && x.len() == self.plain_size
        {
            // SAFETY: `input` has room for `input_size` bytes.
            unsafe { copy(x, self.input) };
            return self.run_thunk(call);
        }
        self.run_any(x)
    }

    /// Calls the function at the point in `input`. Only what every evaluation needs is inlined here.
    #[inline]
    fn run_thunk(&mut self, call: Call) -> RunStatus {
        self.begin(1);
        // SAFETY: `output` has a block per parameter and a cell for the result.
        let returned = unsafe { guard::call(call, self.input, self.output.as_mut_ptr().cast()) };
        self.last_end = None;
        if !returned || self.n_improved() > 0 {
            return self.look_at_end(returned);
        }
        RunStatus::Returned
    }

    /// Prepares `calls` consecutive calls: restores the shared state and resets counters, `r` and fuel.
    #[inline]
    fn begin(&mut self, calls: u64) {
        self.shared.restore();
        // SAFETY: the state is the target's own and nothing else borrows it.
        unsafe {
            *self.count = (*self.count).wrapping_add(calls);
            (*self.state).r = self.r0;
            (*self.state).fuel = self.fuel_cap.saturating_mul(calls as i64);
            (*self.state).path_at = 0;
        }
    }

    /// Restricts the fuel of each run to `fuel`, clamped to 1..=all fuel, unless the run takes a new branch. Long
    /// evaluations reduce the number of evaluations of a search.
    pub fn set_fuel_cap(&mut self, fuel: i64) {
        self.fuel_cap = fuel.clamp(1, self.fuel);
        guard::trace_fuel(self.fuel_cap == self.fuel);
    }

    /// Sets the fuel of each evaluation and returns the previous value.
    pub fn set_fuel(&mut self, fuel: i64) -> i64 {
        let before = core::mem::replace(&mut self.fuel, fuel);
        self.set_fuel_cap(fuel);
        before
    }

    /// The fuel of an evaluation that is not cut short.
    #[must_use]
    pub const fn fuel(&self) -> i64 {
        self.fuel
    }

    /// The [`Kind::Rounding`](penfuzz_mutators::view::Kind) of the input, 0 if it has none.
    ///
    /// # Safety
    /// `input` must hold a complete input.
    unsafe fn mode(&self) -> u8 {
        match self.function().mode_bits() {
            0 => 0,
            // SAFETY: the mode is the last byte of the input, which has one.
            bits => unsafe { self.input.add(self.input_size - 1).read() & bits },
        }
    }

    /// Runs inputs of another size, functions that need a floating-point environment of their own, and harnesses.
    #[inline(never)]
    fn run_any(&mut self, x: &[u8]) -> RunStatus {
        let n = x.len().min(self.input_size);
        let returned;
        // SAFETY: `input` has room for `input_size` bytes; the state is the target's own and nothing else borrows it.
        unsafe {
            core::ptr::copy_nonoverlapping(x.as_ptr(), self.input, n);
            self.input.add(n).write_bytes(0, self.input_size - n);
            self.normalise();
            match self.entry {
                Entry::Thunk(call) => return self.run_thunk(call),
                Entry::Rounded(call) | Entry::Unflagged(call) => {
                    self.begin(1);
                    let mode = self.mode();
                    returned = guard::call_rounded(call, self.input, self.output.as_mut_ptr().cast(), mode);
                }
                Entry::Frame(call) => returned = self.run_frame(call),
                Entry::Harness(harness) => {
                    self.begin(1);
                    let mut result = 0;
                    returned = guard::call_harness(harness, self.input, n, &mut result);
                    self.output.as_mut_ptr().write(u128::from(result as u32));
                }
            }
        }
        self.look_at_end(returned)
    }

    /// Maps each number of `input` that has a domain into that domain.
    fn normalise(&mut self) {
        if let Some(layout) = &self.restricted {
            // SAFETY: `input` has room for `input_size` bytes.
            layout.normalise(unsafe { core::slice::from_raw_parts_mut(self.input, self.input_size) });
        }
    }

    /// `r` of the last run, in the metric's representation; the initial value if no armed site was reached.
    #[inline]
    #[must_use]
    pub fn r(&self) -> u64 {
        // SAFETY: as in `run`.
        unsafe { (*self.state).r }
    }

    /// Number of loop iterations and calls of the last run.
    #[inline]
    #[must_use]
    pub fn fuel_used(&self) -> u64 {
        // SAFETY: as in `run`.
        let left = unsafe { (*self.state).fuel };
        // When the fuel is spent, the runtime sets it to a large value, so that the code that leaves the target is not
        // stopped again.
        if left > self.fuel_cap { self.fuel_cap as u64 } else { (self.fuel_cap - left) as u64 }
    }

    /// The branch that last changed `r`.
    #[must_use]
    pub fn last_branch(&self) -> usize {
        // SAFETY: as in `run`.
        unsafe { (*self.state).last_branch as usize }
    }
}

impl Drop for Evaluator {
    fn drop(&mut self) {
        // SAFETY: allocated in `new`; `count` is no longer used.
        drop(unsafe { Box::from_raw(self.own_count) });
    }
}

/// Copies `x`. For 8 to 16 bytes it does not call memcpy, which costs as much as a small function.
///
/// # Safety
/// `to` must have room for the bytes of `x`.
#[inline]
unsafe fn copy(x: &[u8], to: *mut u8) {
    const WORD: usize = size_of::<u64>();
    let (from, n) = (x.as_ptr(), x.len());
    // SAFETY: both words lie within the `n` bytes; they overlap when there are fewer than 16.
    unsafe {
        if (WORD..=2 * WORD).contains(&n) {
            let (first, last) =
                (from.cast::<u64>().read_unaligned(), from.add(n - WORD).cast::<u64>().read_unaligned());
            if n > WORD {
                to.add(n - WORD).cast::<u64>().write_unaligned(last);
            }
            to.cast::<u64>().write_unaligned(first);
        } else {
            core::ptr::copy_nonoverlapping(from, to, n);
        }
    }
}
