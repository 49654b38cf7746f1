//! One function of a loaded target, ready to be called millions of times a second.
//!
//! The evaluator owns everything the runtime of the target writes to, arms its sites, and keeps for every uncovered branch
//! the input that came closest. It does not depend on LibAFL; [`super::PenExecutor`] wraps it.

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

use self::{arming::Armed, near::Near};
use super::{
    blocks::{Beside, Blocks},
    cells::Cells,
    fault::FaultReader,
    guard::{self, End},
    sandbox::Allow,
};

pub use super::limits::{DEFAULT_FUEL, DEFAULT_MEMORY, Limits};

pub use self::{
    arming::{Changes, metric_of},
    path::Passes,
    watch::Seen,
};

/// Where finds are noted at once, so that they are known even when the process dies before it has saved them.
#[derive(Debug, Clone, Copy)]
pub struct Journal {
    /// Bytes used.
    pub used: *mut u64,
    /// Inputs, each behind its length.
    pub bytes: *mut u8,
    /// Bytes that fit.
    pub room: usize,
}

/// Evaluates the representing function of one function of a target that is loaded into this process.
///
/// It owns the memory that the target's runtime writes to, so there may be one per target at a time. Defaults: every branch is
/// recorded, no goal, no fuel cap, [`Limits`] as given.
#[derive(Debug)]
pub struct Evaluator {
    target: Rc<Target>,
    /// The target's, loaded once instead of at every evaluation.
    state: *mut abi::State,
    function: usize,
    entry: Entry,
    fuel: i64,
    /// Fuel of an evaluation that may be cut short, at most `fuel`.
    fuel_cap: i64,
    memory: u64,
    allowed: Vec<Allow>,
    input_size: usize,
    /// Bytes of an input that is run as it is: that many, or none when numbers have domains.
    plain_size: usize,
    /// Numbers with domains.
    restricted: Option<Layout>,
    /// Where the point under evaluation lies; a supervisor may watch it.
    input: *mut u8,
    own_input: Vec<u8>,
    /// Result and pointees of the call.
    output: Cells,
    /// Structures, arrays and strings; `None` when the function takes none.
    blocks: Option<Blocks>,
    /// Runs that ended beside memory whose size is only inferred.
    n_beside: u64,
    last_beside: Option<Beside>,
    /// What a run could leave for the next one.
    shared: SharedState,
    needed_units: OnceCell<Option<BTreeSet<String>>>,
    outcomes: Vec<u8>,
    /// The branches whose byte in `outcomes` is set.
    taken: Vec<u32>,
    best: Vec<u64>,
    lead: Vec<u64>,
    /// Steps of a path and what to fall back to; empty where none is wanted.
    path: Vec<u32>,
    back: Vec<u32>,
    /// Per branch: the count of evaluations when it was first seen taken; 0 for never.
    taken_at: Vec<u64>,
    /// Branches, and then cases, that the last run came closer to.
    improved: Vec<u32>,
    is_improved: Vec<u8>,
    /// Operands of switches, by case.
    near: Near,
    /// One input for each branch and case.
    closest: Vec<u8>,
    r0: u64,
    faults: FaultReader,
    known_faults: HashSet<u64>,
    /// How the last run ended when it did not return.
    last_end: Option<End>,
    /// The number of the last evaluation in which an assumption did not hold; 0 for none.
    rejected_at: u64,
    /// Where evaluations are counted; a supervisor may watch it.
    count: *mut u64,
    /// Allocated by [`Box`], freed in `drop`: a box that moves may not be written through a pointer taken before.
    own_count: *mut u64,
    journal: Option<Journal>,
    armed: Armed,
    /// Where runs note what they compare, while they are measured.
    compared: Box<[abi::Compared]>,
    /// The sites that objectives arm: a large library has thousands that are never goals.
    sites: Vec<usize>,
    /// Does `SanCov` count edges somewhere?
    counts_edges: bool,
}

/// How one evaluation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunStatus {
    /// The function returned, ended the process by `exit` ([`Evaluator::exit_status`]), or threw a C++ exception
    /// ([`Evaluator::thrown`]): these are normal ends too.
    Returned,
    /// It did not; [`Evaluator::fault`] has the details.
    Faulted,
}

impl Evaluator {
    /// Prepares `function` of `target` and installs the guard for this thread.
    ///
    /// # Errors
    /// When the function cannot be called, or the guard not be installed.
    pub fn new(target: Rc<Target>, function: usize, limits: Limits) -> Result<Self, Error> {
        let f = &target.functions[function];
        let entry = f
            .entry()
            .ok_or_else(|| Error::new(format!("`{}` has a parameter that is not supported", f.signature())))?;
        guard::install(limits.timeout, limits.memory)?;
        if f.has_rounding && f.is_harness() {
            return Err(Error::new(format!(
                "`{}` takes bytes, to which no rounding mode can be added; leave --rounding out or name another --function",
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
            n_beside: 0,
            last_beside: None,
            shared: SharedState::of(&target, f),
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

    /// Hands our buffers to the runtime of the target. Vectors never grow, so the pointers stay good.
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
            // An evaluator that is gone may have left entries in lists of its own.
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

    /// The number of the function under test among those of the target.
    #[must_use]
    pub fn function_index(&self) -> usize {
        self.function
    }

    /// The translation units that a program with the function must be linked from ([`units::needed`]). The first call reads the
    /// symbols of the target file.
    #[must_use]
    pub fn needed_units(&self) -> Option<&BTreeSet<String>> {
        self.needed_units.get_or_init(|| units::needed(&self.target, self.function())).as_ref()
    }

    /// What the runs share, and each finds as it was after loading.
    #[must_use]
    pub fn shared(&self) -> &SharedState {
        &self.shared
    }

    /// Bytes of an input.
    #[must_use]
    pub fn input_size(&self) -> usize {
        self.input_size
    }

    /// Calls of the representing function so far.
    #[must_use]
    pub fn evaluations(&self) -> u64 {
        // The target may have written any number there; two counts can be added.
        // SAFETY: `count` is our own or was promised to be good.
        unsafe { self.count.read() }.min(u64::MAX / 2)
    }

    /// Calls the function at `x`. Shorter inputs are continued with zeros, longer ones cut.
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

    /// The function at the point that `input` holds. Only what every evaluation needs is inline here.
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

    /// What so many calls in one go need before them.
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

    /// Lets each run have only this much fuel, at least 1 and at most all, unless it takes a new branch. Long evaluations keep
    /// a search from making many.
    pub fn set_fuel_cap(&mut self, fuel: i64) {
        self.fuel_cap = fuel.clamp(1, self.fuel);
        guard::trace_fuel(self.fuel_cap == self.fuel);
    }

    /// Gives evaluations this much fuel from now on, and returns what they had.
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
    /// `input` holds a whole input.
    unsafe fn mode(&self) -> u8 {
        match self.function().mode_bits() {
            0 => 0,
            // SAFETY: the mode is the last byte of the input, which has one.
            bits => unsafe { self.input.add(self.input_size - 1).read() & bits },
        }
    }

    /// Inputs of another size, functions that need an environment of their own, and harnesses.
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

    /// Maps the numbers of `input` that have a domain into it.
    fn normalise(&mut self) {
        if let Some(layout) = &self.restricted {
            // SAFETY: `input` has room for `input_size` bytes.
            layout.normalise(unsafe { core::slice::from_raw_parts_mut(self.input, self.input_size) });
        }
    }

    /// `r` of the last run, in the metric's representation; the initial value when no armed site was reached.
    #[inline]
    #[must_use]
    pub fn r(&self) -> u64 {
        // SAFETY: as in `run`.
        unsafe { (*self.state).r }
    }

    /// Loop iterations and calls of the last run.
    #[inline]
    #[must_use]
    pub fn fuel_used(&self) -> u64 {
        // SAFETY: as in `run`.
        let left = unsafe { (*self.state).fuel };
        // Spent fuel is filled up, so that nothing stops the way out.
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
        // SAFETY: allocated in `new`, and `count` is used no more.
        drop(unsafe { Box::from_raw(self.own_count) });
    }
}

/// Copies `x`; 8 to 16 bytes without calling memcpy, which costs as much as a small function.
///
/// # Safety
/// `to` has room.
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
