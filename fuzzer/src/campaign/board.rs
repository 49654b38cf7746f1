//! A few pages of memory that supervisor and worker share: counters for the display, the stop flag, and the input that is
//! being evaluated, so that it is known even when the worker is gone.

use core::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::time::Instant;

use crate::{error::Error, executor::evaluator::Journal};

/// Room for the input under evaluation, in bytes.
pub const INPUT_ROOM: usize = 4096;
const TEXT_ROOM: usize = 4096;
/// Room for the finds of one turn, in bytes; what does not fit is found again if the worker dies.
const FINDS_ROOM: usize = 64 * 1024;

/// Why a campaign ends, as a number in [`Board::stop`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum StopReason {
    /// Not at all.
    None = 0,
    /// The time is over.
    MaxTime = 1,
    /// Ctrl-C or SIGTERM.
    Interrupted = 2,
    /// The evaluations are spent.
    MaxEvals = 3,
    /// Every branch is saturated or given up.
    Saturated = 4,
    /// The target kills one worker after the other, and nothing new comes of it.
    WorkersDie = 5,
}

impl StopReason {
    /// As in `report.json`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "running",
            Self::MaxTime => "max-time",
            Self::Interrupted => "interrupted",
            Self::MaxEvals => "max-evals",
            Self::Saturated => "saturated",
            Self::WorkersDie => "workers-die",
        }
    }

    /// The reason of a number.
    #[must_use]
    pub fn of(number: u32) -> Self {
        match number {
            1 => Self::MaxTime,
            2 => Self::Interrupted,
            3 => Self::MaxEvals,
            4 => Self::Saturated,
            5 => Self::WorkersDie,
            _ => Self::None,
        }
    }
}

/// A text that one process leaves for the other.
#[repr(C)]
#[derive(Debug)]
pub struct Text {
    length: AtomicU64,
    bytes: [AtomicU8; TEXT_ROOM],
}

impl Text {
    /// Replaces the text; what is too long is cut.
    pub fn set(&self, text: &str) {
        for (cell, byte) in self.bytes.iter().zip(text.bytes()) {
            cell.store(byte, Ordering::Relaxed);
        }
        self.length.store(text.len().min(TEXT_ROOM) as u64, Ordering::Release);
    }

    /// The text, unless it is empty.
    #[must_use]
    pub fn get(&self) -> Option<String> {
        let n = self.length.load(Ordering::Acquire) as usize;
        let bytes: Vec<u8> = self.bytes.iter().take(n).map(|b| b.load(Ordering::Relaxed)).collect();
        (n > 0).then(|| String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// How a worker ended, as a number in [`Board::end`]. Its exit status does not tell: the target may end the process with any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum WorkerEnd {
    /// It did not say, so the target ended it.
    None = 0,
    /// The report is written.
    Finished = 1,
    /// It wants to be replaced.
    WornOut = 2,
    /// The board says why.
    Failed = 3,
}

/// See the module. All zero at first.
#[repr(C)]
#[derive(Debug)]
pub struct Board {
    /// Raised by the supervisor; a [`StopReason`].
    pub stop: AtomicU32,
    /// 1 once the target is loaded and the search has begun.
    pub searching: AtomicU32,
    /// Calls of the representing function over the whole campaign. Written by the worker without atomics.
    pub evaluations: AtomicU64,
    /// Goals.
    pub total: AtomicU64,
    /// Goals covered.
    pub covered: AtomicU64,
    /// Goals saturated.
    pub saturated: AtomicU64,
    /// Goals given up.
    pub given_up: AtomicU64,
    /// Inputs in `queue/`.
    pub kept: AtomicU64,
    /// Inputs in `crashes/`.
    pub crashes: AtomicU64,
    /// Inputs in `hangs/`.
    pub hangs: AtomicU64,
    /// Size of the input in bytes.
    pub input_size: AtomicU64,
    /// The input under evaluation.
    pub input: [u8; INPUT_ROOM],
    /// The number that LLMP gave to the client; 0 for none.
    pub llmp_id: AtomicU32,
    /// How the worker ended; a [`WorkerEnd`].
    pub end: AtomicU32,
    /// How the last worker was killed, see [`super::killer::Death::to_number`]; 0 when it was not. Its input is `input`.
    pub death: AtomicU32,
    /// Seeds tried in this run, counted before each is.
    pub seeds_tried: AtomicU64,
    /// Bytes used of `finds`.
    finds_used: AtomicU64,
    /// Inputs found in this turn that are not on disk yet.
    finds: [u8; FINDS_ROOM],
    /// Nanoseconds from the start of the program to the start of the search, plus 1.
    search_began: AtomicU64,
    /// Seconds of search before this run, as bits.
    seconds_before: AtomicU64,
    /// The output directory, once the worker holds it.
    pub directory: Text,
    /// Why the worker failed.
    pub error: Text,
}

impl Board {
    /// Maps a board that children inherit. It is never unmapped.
    ///
    /// # Errors
    /// When the system has no memory to share.
    pub fn map() -> Result<&'static mut Self, Error> {
        // SAFETY: a fresh anonymous mapping of the right size; zero is valid for every field.
        unsafe {
            let p = libc::mmap(
                core::ptr::null_mut(),
                size_of::<Self>(),
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_ANONYMOUS,
                -1,
                0,
            );
            if p == libc::MAP_FAILED {
                return Err(Error::new("cannot share memory between supervisor and worker"));
            }
            Ok(&mut *p.cast::<Self>())
        }
    }

    /// The search begins, after `before` seconds in earlier runs; only the first worker of a run is heard. The program
    /// began at `begun`.
    pub fn start_clock(&self, begun: Instant, before: f64) {
        if self.search_began.load(Ordering::Relaxed) == 0 {
            self.seconds_before.store(before.to_bits(), Ordering::Relaxed);
            self.search_began.store(begun.elapsed().as_nanos() as u64 + 1, Ordering::Release);
        }
    }

    /// Seconds of search over all runs.
    #[must_use]
    pub fn seconds(&self, begun: Instant) -> f64 {
        match self.search_began.load(Ordering::Acquire) {
            0 => 0.0,
            n => {
                f64::from_bits(self.seconds_before.load(Ordering::Relaxed)) + begun.elapsed().as_secs_f64()
                    - (n - 1) as f64 * 1e-9
            }
        }
    }

    /// Where finds are noted until they are on disk.
    pub fn journal(&mut self) -> Journal {
        Journal { used: self.finds_used.as_ptr(), bytes: self.finds.as_mut_ptr(), room: FINDS_ROOM }
    }

    /// The finds that are not on disk, each of `size` bytes.
    #[must_use]
    pub fn finds(&self, size: usize) -> Vec<Vec<u8>> {
        let used = (self.finds_used.load(Ordering::Relaxed) as usize).min(FINDS_ROOM);
        self.finds[..used].chunks_exact(size.max(1)).map(<[u8]>::to_vec).collect()
    }

    /// The finds are on disk.
    pub fn forget_finds(&self) {
        self.finds_used.store(0, Ordering::Relaxed);
    }

    /// Why the campaign is to end.
    #[must_use]
    pub fn stop_reason(&self) -> StopReason {
        StopReason::of(self.stop.load(Ordering::Relaxed))
    }
}
