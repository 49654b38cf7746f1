//! The guard around the target: `guard.c` and `guard_call.c` seen from Rust.

use core::ffi::c_void;
use std::time::Duration;

use penfuzz_error::Error;
use penfuzz_target::program::function::{Call, Harness};

/// Return addresses that a fault can carry.
pub const MAX_FRAMES: usize = 48;

/// How an evaluation ended that did not return; the mirror of `struct guard_end`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct End {
    /// The signal, or 0.
    pub signal: i32,
    /// One of `penfuzz_abi::stop`, or 0.
    pub stop: u32,
    /// The address that faulted.
    pub address: u64,
    /// Program counter of the fault, or the caller of what stopped.
    pub place: u64,
    /// Stack pointer.
    pub stack: u64,
    /// Where a call through a wild pointer would have returned to: the word that the stack pointer points to.
    pub caller: u64,
    n_frames: u32,
    unused: u32,
    frames: [*mut c_void; MAX_FRAMES],
}

/// [`End::stop`] of a run that takes other branches when what its arguments point to lies elsewhere.
pub const STOP_PLACEMENT: u32 = 102;

impl End {
    /// Can the target have been anywhere, also within the C library, when it was interrupted?
    #[must_use]
    pub const fn is_anywhere(&self) -> bool {
        self.signal != 0 || matches!(self.stop, STOP_MEMORY | STOP_REFUSED)
    }

    /// A run that is stopped for `stop` after it has returned, in the function at `place`.
    #[must_use]
    pub const fn afterwards(stop: u32, place: u64) -> Self {
        let frames = [core::ptr::null_mut(); MAX_FRAMES];
        Self { signal: 0, stop, address: 0, place, stack: 0, caller: 0, n_frames: 0, unused: 0, frames }
    }

    /// The same end in the caller of the place.
    #[must_use]
    pub const fn in_caller(self) -> Self {
        Self { place: self.caller.wrapping_sub(1), n_frames: 0, ..self }
    }

    /// Return addresses, innermost first; the handler's own frames come before those of the target.
    pub fn frames(&self) -> impl Iterator<Item = u64> + '_ {
        self.frames[..self.n_frames as usize].iter().map(|f| *f as u64)
    }
}

unsafe extern "C" {
    static guard_end: End;
    static guard_worn_out: u32;
    static guard_had_much: u32;
    fn guard_look_at_memory();
    static mut guard_traces_fuel: u32;
    fn guard_call(call: Call, input: *const u8, output: *mut u8) -> i32;
    fn guard_behind_soil(call: Call) -> Call;
    fn guard_call_rounded(call: Call, input: *const u8, output: *mut u8, mode: u8) -> i32;
    fn guard_call_harness(harness: Harness, input: *const u8, size: usize, result: *mut i32) -> i32;
    fn guard_call_series(call: Call, inputs: *const u64, results: *mut u64, n: usize, cell: *mut u8) -> usize;
    fn guard_forget();
    fn guard_install(timeout_ns: u64, tick_ns: u64, memory: u64) -> i32;
}

unsafe extern "C-unwind" {
    /// What the runtime of the target calls when it must not go on.
    pub fn guard_stop(reason: u32, place: *mut c_void);
}

/// The timer looks this often whether an evaluation is overdue.
const TICK: Duration = Duration::from_millis(20);

/// [`End::stop`] when the memory limit was passed.
pub const STOP_MEMORY: u32 = 100;

/// [`End::stop`] when a system call was refused; [`super::sandbox::refusal`] describes it from [`End::address`].
pub const STOP_REFUSED: u32 = 101;

/// Installs signal handlers, their stack and the timer, for the calling thread. One evaluation may take `timeout`
/// (and at most two ticks more); the process may grow by `memory` bytes of resident memory.
///
/// # Errors
/// When the system refuses one of them.
pub fn install(timeout: Duration, memory: u64) -> Result<(), Error> {
    let tick = TICK.min(timeout / 4).max(Duration::from_millis(1));
    // SAFETY: the arguments are plain numbers; handlers touch nothing outside an evaluation.
    match unsafe { guard_install(timeout.as_nanos() as u64, tick.as_nanos() as u64, memory) } {
        0 => Ok(()),
        e => {
            let e = std::io::Error::from_raw_os_error(e);
            let reason = penfuzz_error::plain(&e);
            Err(Error::new(format!("cannot install the guard around the target: {reason}")).with_source(e))
        }
    }
}

/// The same in a process that was forked off one with a guard: it inherits the handlers, but no timer.
///
/// # Errors
/// As [`install`].
pub fn install_in_child(timeout: Duration, memory: u64) -> Result<(), Error> {
    // SAFETY: a single word of this thread.
    unsafe { guard_forget() };
    install(timeout, memory)
}

/// Should another process take over, because the target has left much memory behind, or was interrupted by the alarm, possibly inside the
/// C library? What the last evaluation has allocated must be freed before.
#[inline]
pub(super) fn is_worn_out() -> bool {
    if had_much_memory() {
        // SAFETY: no evaluation is under way.
        unsafe { guard_look_at_memory() };
    }
    may_hold_locks()
}

/// May the C library be locked, because the target was interrupted anywhere? Also after the target has left much memory behind.
#[inline]
#[must_use]
pub fn may_hold_locks() -> bool {
    // SAFETY: written by the signal handler of this thread, a single word.
    unsafe { (&raw const guard_worn_out).read_volatile() != 0 }
}

/// Was half of the memory in use at some moment since the last [`is_worn_out`]?
#[inline]
pub(super) fn had_much_memory() -> bool {
    // SAFETY: as above.
    unsafe { (&raw const guard_had_much).read_volatile() != 0 }
}

/// Whether spent fuel is reported with its stack, which takes microseconds.
pub fn trace_fuel(on: bool) {
    // SAFETY: a word that only this thread uses, outside an evaluation.
    unsafe { (&raw mut guard_traces_fuel).write_volatile(u32::from(on)) };
}

/// How the last evaluation ended, of those that did not return.
#[must_use]
pub fn last_end() -> End {
    // SAFETY: C writes it only during an evaluation of this thread, and none is under way; every bit pattern is valid.
    unsafe { (&raw const guard_end).read() }
}

/// Calls a thunk; true when it returned, else [`last_end`] returns how it ended.
///
/// # Safety
/// `input` and `output` must be as large as in the function table, and the guard installed on this thread.
#[inline]
pub unsafe fn call(call: Call, input: *const u8, output: *mut u8) -> bool {
    // SAFETY: by the contract of this function; a jump out of the target skips frames of C only.
    unsafe { guard_call(call, input, output) == 0 }
}

/// A thunk that calls `call`, after it has written a pattern over the stack: what the target does with local variables that it has not
/// initialized depends on it. There is one in a process.
#[must_use]
pub fn behind_soil(call: Call) -> Call {
    // SAFETY: it only keeps the pointer, for this thread.
    unsafe { guard_behind_soil(call) }
}

/// [`call`] in a rounding mode of the floating-point environment, a [`Kind::Rounding`](penfuzz_mutators::view::Kind) of
/// which the lowest three bits count. However the target ends, the environment is the default one afterwards.
///
/// # Safety
/// As [`call`].
#[inline]
pub unsafe fn call_rounded(call: Call, input: *const u8, output: *mut u8, mode: u8) -> bool {
    // SAFETY: as above; between the change of the mode and its return there is no code but the target's.
    unsafe { guard_call_rounded(call, input, output, mode) == 0 }
}

/// Calls a libFuzzer harness; true when it returned.
///
/// # Safety
/// `input` must hold `size` bytes, and the guard be installed on this thread.
#[inline]
pub unsafe fn call_harness(harness: Harness, input: *const u8, size: usize, result: &mut i32) -> bool {
    // SAFETY: as above.
    unsafe { guard_call_harness(harness, input, size, result) == 0 }
}

/// Calls a thunk whose input is one word, for each of `inputs`, and writes the first word of its output into `results`. Returns how many calls
/// returned before one did not. The calls share a floating-point environment, which is the default one before and after them.
///
/// # Safety
/// As [`call`]; `output` is the output area.
#[inline]
pub unsafe fn call_series(call: Call, inputs: &[u64], results: &mut [u64], output: *mut u8) -> usize {
    let n = inputs.len().min(results.len());
    // SAFETY: as above, and both hold `n` words.
    unsafe { guard_call_series(call, inputs.as_ptr(), results.as_mut_ptr(), n, output) }
}
