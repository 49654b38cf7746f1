//! A few pages of memory that supervisor and worker share: counters for the display, the stop flag, and the input that is
//! being evaluated, so that it is known even when the worker is gone.

use core::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::time::Instant;

use penfuzz_engine::{error::Error, executor::evaluator::Journal};

use crate::process::shared_memory;

/// Room for the input under evaluation, in bytes.
pub const INPUT_ROOM: usize = 4096;
const TEXT_ROOM: usize = 4096;
/// Room for the finds that are not on disk, in bytes: much, since a disk can be full for long, but only pages that are used
/// cost memory. What does not fit is found again if the worker dies.
const FINDS_ROOM: usize = 4 << 20;
/// Room for inputs that killed workers and are not on disk yet, in bytes.
const FATAL_INPUTS_ROOM: usize = 1 << 20;
/// Messages that wait to be printed; older ones are overwritten.
const MESSAGES: usize = 8;

/// Why a campaign ends, as a number in [`WorkerShm::stop`].
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
    /// It was put together from others and has not been run.
    Merged = 6,
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
            Self::Merged => "merged",
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
            6 => Self::Merged,
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

/// How a worker ended, as a number in [`WorkerShm::end`]. Its exit status does not tell: the target may end the process with any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum WorkerEnd {
    /// It did not say, so the target ended it.
    None = 0,
    /// The report is written.
    Finished = 1,
    /// It wants to be replaced.
    WornOut = 2,
    /// The shm says why.
    Failed = 3,
}

/// See the module. All zero at first.
#[repr(C)]
#[derive(Debug)]
pub struct WorkerShm {
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
    /// The generation of the broker, and in the lower half the number that it gave to the client; 0 for none.
    pub llmp_id: AtomicU64,
    /// How the worker ended; a [`WorkerEnd`].
    pub end: AtomicU32,
    /// Seeds tried in this run, counted before each is.
    pub seeds_tried: AtomicU64,
    /// Finds of which the files could not be written yet, because the disk is full or fails.
    pub unwritten: AtomicU64,
    /// Bytes used of `finds`.
    finds_used: AtomicU64,
    /// Inputs found that are not on disk yet, each behind its length.
    finds: [u8; FINDS_ROOM],
    /// Bytes used of `fatal_inputs`.
    fatal_inputs_used: AtomicU64,
    /// Inputs that killed workers and are not on disk yet, each behind its length, with
    /// [`crate::replay::fatal_input::Death::to_number`] first.
    fatal_inputs: [u8; FATAL_INPUTS_ROOM],
    /// Messages so far.
    said: AtomicU64,
    messages: [Text; MESSAGES],
    /// Nanoseconds from the start of the program to the start of the search, plus 1.
    search_began: AtomicU64,
    /// Seconds of search before this run, as bits.
    seconds_before: AtomicU64,
    /// The output directory, once the worker holds it.
    pub directory: Text,
    /// Why the worker failed.
    pub error: Text,
}

impl WorkerShm {
    /// Maps a shm that children inherit. It is never unmapped.
    ///
    /// # Errors
    /// When the system has no memory to share.
    pub fn map() -> Result<&'static mut Self, Error> {
        let page = shared_memory::zeroed::<Self>()
            .ok_or_else(|| Error::new("cannot share memory between supervisor and worker"))?;
        // SAFETY: a fresh mapping of the right size; zero is valid for every field.
        Ok(unsafe { &mut *page.as_ptr() })
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

    /// The finds that are not on disk.
    #[must_use]
    pub fn finds(&self) -> Vec<Vec<u8>> {
        entries(&self.finds, &self.finds_used)
    }

    /// Is the journal so full that finds should go to the disk now?
    #[must_use]
    pub fn is_nearly_full(&self) -> bool {
        self.finds_used.load(Ordering::Relaxed) as usize > FINDS_ROOM / 2
    }

    /// The finds are on disk.
    pub fn forget_finds(&self) {
        self.finds_used.store(0, Ordering::Relaxed);
    }

    /// Notes an input that killed a worker, for the next one to look into; false when there is no room.
    pub fn note_fatal_input(&mut self, death: u32, input: &[u8]) -> bool {
        let used = self.fatal_inputs_used.load(Ordering::Relaxed) as usize;
        let entry = [&((input.len() + 4) as u32).to_ne_bytes()[..], &death.to_ne_bytes(), input].concat();
        let Some(room) = self.fatal_inputs.get_mut(used..used + entry.len()) else { return false };
        room.copy_from_slice(&entry);
        self.fatal_inputs_used.store((used + entry.len()) as u64, Ordering::Release);
        true
    }

    /// Numbers of deaths and inputs that killed workers and are not on disk.
    #[must_use]
    pub fn fatal_inputs(&self) -> Vec<(u32, Vec<u8>)> {
        let split = |entry: Vec<u8>| {
            let (death, input) = entry.split_first_chunk::<4>()?;
            Some((u32::from_ne_bytes(*death), input.to_vec()))
        };
        entries(&self.fatal_inputs, &self.fatal_inputs_used).into_iter().filter_map(split).collect()
    }

    /// They are on disk.
    pub fn forget_fatal_inputs(&self) {
        self.fatal_inputs_used.store(0, Ordering::Relaxed);
    }

    /// Leaves a message for the user: the worker has no standard error.
    pub fn say(&self, message: &str) {
        let n = self.said.load(Ordering::Relaxed);
        self.messages[n as usize % MESSAGES].set(message);
        self.said.store(n + 1, Ordering::Release);
    }

    /// The messages behind the first `known`, as far as they are still there, and how many there were in all.
    #[must_use]
    pub fn messages(&self, known: u64) -> (Vec<String>, u64) {
        let said = self.said.load(Ordering::Acquire);
        let first = known.max(said.saturating_sub(MESSAGES as u64));
        ((first..said).filter_map(|i| self.messages[i as usize % MESSAGES].get()).collect(), said)
    }

    /// Why the campaign is to end.
    #[must_use]
    pub fn stop_reason(&self) -> StopReason {
        StopReason::of(self.stop.load(Ordering::Relaxed))
    }
}

/// Entries of which each is behind its length.
fn entries(bytes: &[u8], used: &AtomicU64) -> Vec<Vec<u8>> {
    let used = (used.load(Ordering::Acquire) as usize).min(bytes.len());
    let mut rest = &bytes[..used];
    let mut all = Vec::new();
    while let Some((length, behind)) = rest.split_first_chunk::<4>() {
        let Some((entry, behind)) = behind.split_at_checked(u32::from_ne_bytes(*length) as usize) else { break };
        all.push(entry.to_vec());
        rest = behind;
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn killers_are_given_back_until_they_are_forgotten() {
        let shm = WorkerShm::map().unwrap();
        assert!(shm.note_fatal_input(5, b"abc") && shm.note_fatal_input(9, b""));
        assert_eq!(shm.fatal_inputs(), [(5, b"abc".to_vec()), (9, Vec::new())]);
        shm.forget_fatal_inputs();
        assert!(shm.fatal_inputs().is_empty());
        assert!(!shm.note_fatal_input(5, &vec![0; FATAL_INPUTS_ROOM]), "no room");
    }

    #[test]
    fn each_message_is_read_once() {
        let shm = WorkerShm::map().unwrap();
        shm.say("one");
        shm.say("two");
        assert_eq!(shm.messages(0), (vec!["one".to_owned(), "two".to_owned()], 2));
        assert_eq!(shm.messages(2), (Vec::new(), 2));
        (0..20).for_each(|i| shm.say(&i.to_string()));
        assert_eq!(shm.messages(2).0.len(), MESSAGES, "the last ones");
    }
}
