//! The Rust interface of the guard around the target (`guard.c`, `guard_call.c`).

use core::ffi::c_void;
use std::time::Duration;

use penfuzz_error::Error;
use penfuzz_target::program::function::{Call, Harness};

/// Maximum number of return addresses in an [`End`].
pub const MAX_FRAMES: usize = 48;

/// How an evaluation ended that did not return. Mirrors `struct guard_end`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct End {
    /// The signal, or 0.
    pub signal: i32,
    /// One of `penfuzz_abi::stop`, or 0.
    pub stop: u32,
    /// The address that faulted.
    pub address: u64,
    /// Program counter of the fault, or the return address of the hook that stopped the run.
    pub place: u64,
    /// Stack pointer.
    pub stack: u64,
    /// Return address of a call through a wild pointer: the word that the stack pointer points to.
    pub caller: u64,
    n_frames: u32,
    unused: u32,
    frames: [*mut c_void; MAX_FRAMES],
}

/// [`End::stop`] of a run that takes other branches when the data behind its pointer arguments is placed elsewhere.
pub const STOP_PLACEMENT: u32 = 102;

impl End {
    /// Could the run have been interrupted at any instruction, including one of the C library?
    #[must_use]
    pub const fn is_asynchronous(&self) -> bool {
        self.signal != 0 || matches!(self.stop, STOP_MEMORY | STOP_REFUSED)
    }

    /// Returns the end of a run that returned and is then rejected for `stop`, in the function at `place`.
    #[must_use]
    pub const fn after_return(stop: u32, place: u64) -> Self {
        let frames = [core::ptr::null_mut(); MAX_FRAMES];
        Self { signal: 0, stop, address: 0, place, stack: 0, caller: 0, n_frames: 0, unused: 0, frames }
    }

    /// Returns the same end, placed in the caller.
    #[must_use]
    pub const fn in_caller(self) -> Self {
        Self { place: self.caller.wrapping_sub(1), n_frames: 0, ..self }
    }

    /// Returns the return addresses, innermost first. The handler's own frames come before those of the target.
    pub fn frames(&self) -> impl Iterator<Item = u64> + '_ {
        self.frames[..self.n_frames as usize].iter().map(|f| *f as u64)
    }
}

unsafe extern "C" {
    static guard_end: End;
    static guard_needs_restart: u32;
    static guard_high_memory: u32;
    fn guard_look_at_memory();
    static mut guard_traces_fuel: u32;
    static mut guard_poison: u8;
    static guard_left_alignment_check: u8;
    fn guard_call(call: Call, input: *const u8, output: *mut u8) -> i32;
    fn guard_with_poisoned_stack(call: Call) -> Call;
    fn guard_call_rounded(call: Call, input: *const u8, output: *mut u8, mode: u8) -> i32;
    fn guard_call_harness(harness: Harness, input: *const u8, size: usize, result: *mut i32) -> i32;
    fn guard_call_series(call: Call, inputs: *const u64, results: *mut u64, n: usize, cell: *mut u8) -> usize;
    fn guard_forget();
    fn guard_install(timeout_ns: u64, tick_ns: u64, memory: u64) -> i32;
}

unsafe extern "C-unwind" {
    /// The function that the runtime of the target calls to end an evaluation.
    pub fn guard_stop(reason: u32, place: *mut c_void);
}

/// Interval at which the timer checks whether an evaluation is overdue.
const TICK: Duration = Duration::from_millis(20);

/// [`End::stop`] when the memory limit was exceeded.
pub const STOP_MEMORY: u32 = 100;

/// [`End::stop`] when a system call was refused; [`super::sandbox::describe_refusal`] describes it from
/// [`End::address`].
pub const STOP_REFUSED: u32 = 101;

/// [`End::stop`] when the function has written above its stack frame; [`End::address`] is the number of bytes from
/// there to the last such write.
pub const STOP_STACK: u32 = 103;

/// Installs signal handlers, their stack and the timer, for the calling thread. One evaluation may take `timeout` (and
/// at most two ticks more). The resident memory of the process may grow by `memory` bytes.
///
/// # Errors
/// If a system call for one of them fails.
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

/// [`install`] in a process that was forked from one with a guard: it inherits the handlers, but no timer.
///
/// # Errors
/// As [`install`].
pub fn install_in_child(timeout: Duration, memory: u64) -> Result<(), Error> {
    // SAFETY: a single word of this thread.
    unsafe { guard_forget() };
    install(timeout, memory)
}

/// Must the process be replaced? True if the target holds much memory, or if the alarm interrupted it, possibly inside
/// the C library. The caller must free the allocations of the last evaluation before.
#[inline]
pub(super) fn needs_restart() -> bool {
    if had_high_memory() {
        // SAFETY: no evaluation is under way.
        unsafe { guard_look_at_memory() };
    }
    may_hold_locks()
}

/// May the C library hold locks, because the target was interrupted at any instruction? Also true if the target was
/// found to hold much memory.
#[inline]
#[must_use]
pub fn may_hold_locks() -> bool {
    // SAFETY: written by the signal handler of this thread, a single word.
    unsafe { (&raw const guard_needs_restart).read_volatile() != 0 }
}

/// Was half of the memory limit in use at some tick since the last [`needs_restart`]?
#[inline]
pub(super) fn had_high_memory() -> bool {
    // SAFETY: as above.
    unsafe { (&raw const guard_high_memory).read_volatile() != 0 }
}

/// Sets whether spent fuel is reported with its stack, which takes microseconds.
pub fn trace_fuel(on: bool) {
    // SAFETY: a word that only this thread uses, outside an evaluation.
    unsafe { (&raw mut guard_traces_fuel).write_volatile(u32::from(on)) };
}

/// Returns how the last evaluation ended that did not return.
#[must_use]
pub fn last_end() -> End {
    // SAFETY: C writes it only during an evaluation of this thread, and none is under way; every bit pattern is valid.
    unsafe { (&raw const guard_end).read() }
}

/// Calls a thunk. Returns true if it returned; otherwise [`last_end`] returns how it ended.
///
/// # Safety
/// `input` and `output` must be as large as in the function table, and the guard installed on this thread.
#[inline]
pub unsafe fn call(call: Call, input: *const u8, output: *mut u8) -> bool {
    // SAFETY: by the contract of this function; a jump out of the target skips frames of C only.
    unsafe { guard_call(call, input, output) == 0 }
}

/// Sets the byte that [`with_poisoned_stack`] fills the stack with.
pub fn set_poison(byte: u8) {
    // SAFETY: a byte that only this thread uses, outside an evaluation.
    unsafe { (&raw mut guard_poison).write_volatile(byte) };
}

/// Returns true if the last call through [`with_poisoned_stack`] that returned left the processor's alignment check
/// flag set: then unaligned accesses fail, in code that depends on the compiler.
#[must_use]
pub fn left_alignment_check() -> bool {
    // SAFETY: a byte that only this thread uses, outside an evaluation.
    unsafe { (&raw const guard_left_alignment_check).read_volatile() != 0 }
}

/// Returns a thunk that fills the stack with a pattern and then calls `call`, to expose reads of uninitialized local
/// variables and writes above the frame of the function. There is one such thunk per process.
#[must_use]
pub fn with_poisoned_stack(call: Call) -> Call {
    // SAFETY: it only keeps the pointer, for this thread.
    unsafe { guard_with_poisoned_stack(call) }
}

/// Runs [`call`] in a rounding mode of the floating-point environment. `mode` is a
/// [`Kind::Rounding`](penfuzz_mutators::view::Kind), of which only the lowest three bits are used. However the target
/// ends, the rounding mode and the exception masks are the defaults afterwards.
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

/// Calls a thunk whose input is one word for each of `inputs`, and writes the first word of its output to `results`.
/// Returns the number of calls that returned before one did not. The calls share a floating-point environment, which is
/// the default one before and after them.
///
/// # Safety
/// As [`call`]; `output` is the output area.
#[inline]
pub unsafe fn call_series(call: Call, inputs: &[u64], results: &mut [u64], output: *mut u8) -> usize {
    let n = inputs.len().min(results.len());
    // SAFETY: as above, and both hold `n` words.
    unsafe { guard_call_series(call, inputs.as_ptr(), results.as_mut_ptr(), n, output) }
}
