//! The floating-point exceptions of one call as the hardware sees them, without the hooks: `trap.c` seen from Rust.

use penfuzz_target::program::function::{Call, Entry, Harness};

use super::{Evaluator, evaluator::RunStatus};

const PLACES: usize = 256;
const NONE: u32 = 255;

/// Are the instructions known that raise an exception, or only that one has?
pub const KNOWS_PLACES: bool = cfg!(target_arch = "x86_64");

/// The mirror of `struct trap_record`.
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

/// What was seen of one call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trapped {
    /// Bit per [`exception`](penfuzz_abi::exception): its flag was up when the function returned. Nothing when it did not.
    pub raised: u32,
    /// Offsets into the target of the instructions that raised the exception, or of the calls of the library functions that did.
    pub places: Vec<u64>,
    /// There were too many to note all.
    pub is_cut_short: bool,
}

impl Evaluator {
    /// Calls the function at `x` with all sites at rest. With an `exception` (one of [`exception`](penfuzz_abi::exception)) the places are
    /// noted that raise it, where the hardware reports them ([`KNOWS_PLACES`]); that takes microseconds each.
    ///
    /// For a child process ([`Evaluator::on_its_own`]): handlers of signals are replaced for the time of the call.
    pub fn run_trapped(&mut self, x: &[u8], exception: Option<usize>) -> (RunStatus, Trapped) {
        self.arm(|_| 0);
        let base = self.target().base();
        let wanted = exception.map_or(NONE, |e| e as u32);
        let entry = self.prepare(x);
        let (input, output) = self.buffers();
        // SAFETY: as in `Evaluator::run`: the buffers are as large as the function table says, and the guard is installed.
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
        // SAFETY: written by this thread alone, and not now.
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
