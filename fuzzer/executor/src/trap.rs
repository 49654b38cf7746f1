//! Finds the floating-point exceptions of one call by means of the hardware, without the hooks. The Rust interface of
//! `trap.c`.

use penfuzz_target::program::function::{Call, Entry, Harness};

use super::{Evaluator, evaluator::RunStatus};

const PLACES: usize = 256;
const NONE: u32 = 255;

/// Whether the instructions that raise an exception can be found, or only whether it was raised.
pub const KNOWS_PLACES: bool = cfg!(target_arch = "x86_64");

/// Mirrors `struct trap_record`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Record {
    raised: u32,
    n_places: u32,
    traps: u32,
    cut_short: u32,
    places: [u64; PLACES],
}

unsafe extern "C" {
    static trap_record: Record;
    fn trap_call(call: Call, input: *const u8, output: *mut u8, mode: u8, exception: u32, base: u64) -> i32;
    fn trap_call_harness(harness: Harness, input: *const u8, size: usize, exception: u32, base: u64) -> i32;
}

/// The exceptions of one call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trapped {
    /// Bit per [`exception`](penfuzz_abi::exception): its flag was raised when the function returned. 0 if it did
    /// not return.
    pub raised: u32,
    /// Offsets in the target of the instructions that raised the exception, or of the calls of library functions that
    /// did.
    pub places: Vec<u64>,
    /// Whether there were too many traps or places to store all.
    pub is_cut_short: bool,
}

impl Evaluator {
    /// Calls the function at `x` with all sites disarmed. With an `exception` (one of
    /// [`exception`](penfuzz_abi::exception)), stores the places that raise it, if the hardware reports them
    /// ([`KNOWS_PLACES`]); each place takes microseconds.
    ///
    /// For a child process only ([`Evaluator::detach_from_supervisor`]): handlers of signals are replaced during the
    /// call.
    pub fn run_trapped(&mut self, x: &[u8], exception: Option<usize>) -> (RunStatus, Trapped) {
        self.arm(|_| 0);
        let base = self.target().base();
        let wanted = exception.map_or(NONE, |e| e as u32);
        let entry = self.prepare(x);
        let (input, output) = self.buffers();
        // SAFETY: as in `Evaluator::run`: the buffers are as large as in the function table, and the guard is
        // installed.
        let ended = unsafe {
            match entry {
                Entry::Thunk(call) | Entry::Unflagged(call) => trap_call(call, input, output, 0, wanted, base),
                Entry::Frame(call) => {
                    let mode = if self.function().has_rounding { input.add(self.input_size() - 1).read() } else { 0 };
                    match self.compose() {
                        Some((frame, result)) => trap_call(call, frame, result, mode, wanted, base),
                        None => 1,
                    }
                }
                Entry::Rounded(call) => {
                    let mode = input.add(self.input_size() - 1).read();
                    trap_call(call, input, output, mode, wanted, base)
                }
                Entry::Harness(harness) => {
                    trap_call_harness(harness, input, x.len().min(self.input_size()), wanted, base)
                }
            }
        };
        // SAFETY: only this thread writes it, and not now.
        let record = unsafe { (&raw const trap_record).read() };
        let ran = if ended == 0 { RunStatus::Returned } else { RunStatus::Faulted };
        let places = &record.places[..record.n_places as usize];
        let trapped = Trapped {
            raised: if ran == RunStatus::Returned { record.raised } else { 0 },
            places: places.iter().map(|p| p.wrapping_sub(base)).collect(),
            is_cut_short: record.cut_short != 0,
        };
        (ran, trapped)
    }
}
