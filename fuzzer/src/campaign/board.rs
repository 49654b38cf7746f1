//! A few pages of memory that supervisor and worker share: counters for the display, the stop flag, and the input that is
//! being evaluated, so that it is known even when the worker is gone.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::error::Error;

/// Room for the input under evaluation, in bytes.
pub const INPUT_ROOM: usize = 4096;
const TEXT_ROOM: usize = 4096;

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
}

impl StopReason {
    /// As in `report.json`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::MaxTime => "max-time",
            Self::Interrupted => "interrupted",
            Self::MaxEvals => "max-evals",
            Self::Saturated => "saturated",
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
            _ => Self::None,
        }
    }
}

/// A text that one process leaves for the other.
#[repr(C)]
#[derive(Debug)]
pub struct Text {
    length: AtomicU64,
    bytes: [u8; TEXT_ROOM],
}

impl Text {
    /// Replaces the text; what is too long is cut.
    pub fn set(&mut self, text: &str) {
        let n = text.len().min(TEXT_ROOM);
        self.bytes[..n].copy_from_slice(&text.as_bytes()[..n]);
        self.length.store(n as u64, Ordering::Release);
    }

    /// The text, unless it is empty.
    #[must_use]
    pub fn get(&self) -> Option<String> {
        let n = self.length.load(Ordering::Acquire) as usize;
        (n > 0).then(|| String::from_utf8_lossy(&self.bytes[..n.min(TEXT_ROOM)]).into_owned())
    }
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

    /// Why the campaign is to end.
    #[must_use]
    pub fn stop_reason(&self) -> StopReason {
        StopReason::of(self.stop.load(Ordering::Relaxed))
    }
}
