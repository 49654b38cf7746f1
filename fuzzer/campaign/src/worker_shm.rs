//! Memory that supervisor and worker share: counters for the display, the stop flag, and the input under evaluation, so
//! that the input is known even after the worker has died.
//!
//! Who writes and when:
//!
//! - The supervisor writes [`WorkerShm::stop`] at any time. While no worker lives, it may also append a fatal input.
//! - The worker writes everything else. At most one worker of a client lives: its successor is forked after the
//!   supervisor has waited for it, and fork and wait order all accesses. A process that the worker forks writes in its
//!   place, while the worker waits for it.
//! - The supervisor reads counters and texts at any time. They are for display only: a text read while it is replaced
//!   may mix old and new.
//!
//! All fields are atomics, so there is never a `&mut` to shared memory. The evaluator writes the input, the evaluation
//! count and the journal through raw pointers, because its hot loop must not wait for atomics. There, a count is one
//! aligned store of eight bytes; the input and the journal are read only by the worker itself, or after it has died.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use penfuzz_error::Error;
use penfuzz_executor::evaluator::Journal;

use penfuzz_system::process::shared_memory::{self, Shareable, SharedBuffer};

/// Capacity for the input under evaluation, in bytes.
pub const INPUT_ROOM: usize = 4096;
const TEXT_ROOM: usize = 4096;
/// Capacity for finds that are not on disk yet, in bytes. It is large because a disk can be full for a long time; only
/// the pages in use cost memory. Finds that do not fit must be found again if the worker dies.
const FINDS_ROOM: usize = 4 << 20;
/// Capacity for inputs that killed workers and are not on disk yet, in bytes.
const FATAL_INPUTS_ROOM: usize = 1 << 20;
/// Maximum duration of a campaign in seconds: 100 years. Values read from shared memory are clipped to it.
const LONGEST: f64 = 100.0 * 366.0 * 86400.0;
/// Number of messages that can wait to be printed; older ones are overwritten.
const MESSAGES: usize = 8;

/// Why a campaign ends. [`WorkerShm::stop`] holds it as a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum StopReason {
    /// The campaign is running.
    None = 0,
    /// The time limit is reached.
    MaxTime = 1,
    /// SIGINT (Ctrl-C), SIGTERM or SIGHUP.
    Interrupted = 2,
    /// The limit on evaluations is reached.
    MaxEvals = 3,
    /// Every branch is saturated or given up.
    Saturated = 4,
    /// The target kills one worker after another, and nothing new is found.
    WorkersDie = 5,
    /// The campaign was merged from other campaigns and has not run.
    Merged = 6,
    /// Nothing new is found: solvers run, and then the search continues.
    Stuck = 7,
}

impl StopReason {
    /// Whether the campaign has ended.
    #[must_use]
    pub fn is_end(self) -> bool {
        !matches!(self, Self::None | Self::Stuck)
    }

    /// The name in `report.json`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::None | Self::Stuck => "running",
            Self::MaxTime => "max-time",
            Self::Interrupted => "interrupted",
            Self::MaxEvals => "max-evals",
            Self::Saturated => "saturated",
            Self::WorkersDie => "workers-die",
            Self::Merged => "merged",
        }
    }

    /// The reason with this number; [`Self::None`] for an unknown number.
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

/// A text that one process writes and another one reads.
#[repr(C)]
#[derive(Debug)]
pub struct Text {
    length: AtomicU64,
    bytes: SharedBuffer<TEXT_ROOM>,
}

impl Text {
    /// Replaces the text; a text that is too long is truncated.
    pub fn set(&self, text: &str) {
        let length = text.floor_char_boundary(TEXT_ROOM);
        let fits = self.bytes.write(0, &text.as_bytes()[..length]);
        debug_assert!(fits, "cut to the room");
        self.length.store(length as u64, Ordering::Release);
    }

    /// The text. `None` if it is empty, or if its bytes were not written by [`Text::set`].
    #[must_use]
    pub fn get(&self) -> Option<String> {
        self.read().filter(|text| text.chars().all(|c| c == '\n' || !c.is_control()))
    }

    fn read(&self) -> Option<String> {
        let n = self.length.load(Ordering::Acquire);
        let bytes = (1..=TEXT_ROOM as u64).contains(&n).then(|| self.bytes.read(n as usize))?;
        String::from_utf8(bytes).ok()
    }
}

/// Size of a page in bytes. On a machine with larger pages, a sealed text is an ordinary one: sealing fails.
const PAGE: usize = 4096;

/// A text that only one process writes, once, before the target can have run in that process.
///
/// It occupies pages of its own. The supervisor opens the directory that is named here, so a target that overwrites all
/// writable memory must not be able to change it.
#[repr(C, align(4096))]
#[derive(Debug)]
pub struct SealedText(Text);

impl SealedText {
    /// Writes the text, and makes its pages read-only for this process.
    pub fn set(&self, text: &str) {
        if self.get().as_deref() == Some(text) {
            self.seal();
            return;
        }
        self.0.set(text);
        self.seal();
    }

    fn seal(&self) {
        let first = core::ptr::from_ref(self).cast_mut().cast();
        // SAFETY: these are whole pages that hold nothing else. This process only reads them from now on; page
        // protections of other processes are separate. On an error the pages stay as they are.
        unsafe { libc::mprotect(first, size_of::<Self>(), libc::PROT_READ) };
    }

    /// The text, with any control characters: a path may have them. `None` if it is empty.
    #[must_use]
    pub fn get(&self) -> Option<String> {
        self.0.read()
    }
}

const _: () = assert!(size_of::<SealedText>().is_multiple_of(PAGE) && align_of::<SealedText>() == PAGE);

/// How a worker ended. [`WorkerShm::end`] holds it as a number. The exit status cannot serve for this: the target may
/// exit with any status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum WorkerEnd {
    /// The target ended the worker: a worker that ends by itself writes one of the other values.
    None = 0,
    /// The report is written.
    Finished = 1,
    /// The process needs a restart.
    NeedsRestart = 2,
    /// [`WorkerShm::error`] holds the reason.
    Failed = 3,
    /// The report is written, and another worker can continue.
    Stuck = 4,
    /// The worker panicked; [`WorkerShm::error`] holds the message.
    Panicked = 5,
}

/// The memory that the supervisor shares with the worker of one client. Mapped once and never unmapped; initially all
/// zero.
#[repr(C)]
#[derive(Debug)]
pub struct WorkerShm {
    /// Set by the supervisor; a [`StopReason`].
    pub stop: AtomicU32,
    /// 1 once the target is loaded and the search has begun.
    pub searching: AtomicU32,
    /// 1 while the worker writes files or checks inputs for hanging, which may take long without an evaluation:
    /// [`WorkerShm::without_evaluations`].
    pub reporting: AtomicU32,
    /// 1 while the worker evaluates the inputs of its predecessors; stays 1 if it dies or needs a restart meanwhile.
    pub restoring: AtomicU32,
    /// Number of workers that ended while they evaluated the inputs of their predecessors. From the first one on, these
    /// inputs are evaluated in fresh processes.
    pub failed_restores: AtomicU32,
    /// Calls of the representing function over the whole campaign. Written by the evaluator without atomics.
    pub evaluations: AtomicU64,
    /// Number of goals.
    pub total: AtomicU64,
    /// Number of goals covered.
    pub covered: AtomicU64,
    /// Number of goals covered only by inputs that crash or hang.
    pub covered_by_crash: AtomicU64,
    /// Number of goals saturated.
    pub saturated: AtomicU64,
    /// Number of goals given up.
    pub given_up: AtomicU64,
    /// Number of inputs in `queue/`.
    pub kept: AtomicU64,
    /// Number of inputs in `crashes/`.
    pub crashes: AtomicU64,
    /// Number of inputs in `hangs/`.
    pub hangs: AtomicU64,
    /// Size of the input in bytes.
    pub input_size: AtomicU64,
    /// The input under evaluation.
    pub input: SharedBuffer<INPUT_ROOM>,
    /// How the worker ended; a [`WorkerEnd`].
    pub end: AtomicU32,
    /// Number of seeds tried in this run. Each is counted before it is evaluated.
    pub seeds_tried: AtomicU64,
    /// Number of finds whose files could not be written yet, because the disk is full or fails.
    pub unwritten: AtomicU64,
    /// Number of bytes of `finds` in use.
    finds_used: AtomicU64,
    /// Found inputs that are not on disk yet, each preceded by its length.
    finds: SharedBuffer<FINDS_ROOM>,
    /// Number of bytes of `fatal_inputs` in use.
    fatal_inputs_used: AtomicU64,
    /// Inputs that killed workers and are not on disk yet, each preceded by its length and by
    /// [`penfuzz_directory::replay::fatal_input::Death::to_number`].
    fatal_inputs: SharedBuffer<FATAL_INPUTS_ROOM>,
    /// Number of messages sent so far.
    sent: AtomicU64,
    messages: [Text; MESSAGES],
    /// Nanoseconds from the start of the program to the start of the search, plus 1.
    search_began: AtomicU64,
    /// Seconds of search before this run, as the bits of an `f64`.
    seconds_before: AtomicU64,
    /// The output directory; set once the worker holds its lock.
    pub directory: SealedText,
    /// 1 once the supervisor has read `directory`. Only then does the target run, which could overwrite it.
    pub directory_is_read: AtomicU32,
    /// Why the worker failed.
    pub error: Text,
    /// 1 if the command line must change: the cause of the error is [`penfuzz_system::files::destination::Unusable`].
    pub is_unusable: AtomicU32,
}

// SAFETY: all fields are atomics, or arrays and structures of atomics, for which zero is a valid value.
unsafe impl Shareable for WorkerShm {}

/// A guard: while it lives, the supervisor does not expect evaluations of the worker.
#[derive(Debug)]
pub struct WithoutEvaluations {
    flag: &'static AtomicU32,
    before: u32,
}

impl Drop for WithoutEvaluations {
    fn drop(&mut self) {
        self.flag.store(self.before, Ordering::Relaxed);
    }
}

impl WorkerShm {
    /// Begins work that may take long without an evaluation: on a busy disk, flushing a file takes seconds.
    #[must_use]
    pub fn without_evaluations(&'static self) -> WithoutEvaluations {
        WithoutEvaluations { flag: &self.reporting, before: self.reporting.swap(1, Ordering::Relaxed) }
    }

    /// Maps the memory, which child processes inherit. It is never unmapped.
    ///
    /// # Errors
    /// When the system cannot provide shared memory.
    pub fn map() -> Result<&'static Self, Error> {
        shared_memory::map().ok_or_else(|| Error::new("cannot share memory between supervisor and worker"))
    }

    /// Starts the clock when the search begins, after `before` seconds in earlier runs. Only the first worker of a run
    /// starts it. `begun` is the start of the program.
    pub fn start_clock(&self, begun: Instant, before: f64) {
        if self.search_began.load(Ordering::Relaxed) == 0 {
            self.seconds_before.store(before.to_bits(), Ordering::Relaxed);
            self.search_began.store(begun.elapsed().as_nanos() as u64 + 1, Ordering::Release);
        }
    }

    /// Excludes the duration `pause`, in which no worker searched, from [`WorkerShm::seconds`].
    pub fn exclude_pause(&self, pause: Duration) {
        if self.search_began.load(Ordering::Relaxed) != 0 {
            self.search_began.fetch_add(pause.as_nanos() as u64, Ordering::Release);
        }
    }

    /// Seconds of search over all runs.
    #[must_use]
    pub fn seconds(&self, begun: Instant) -> f64 {
        match self.search_began.load(Ordering::Acquire) {
            0 => 0.0,
            n => {
                let before = f64::from_bits(self.seconds_before.load(Ordering::Relaxed));
                let seconds = before + begun.elapsed().as_secs_f64() - (n - 1) as f64 * 1e-9;
                // The target may have written any bits. If the result is not finite, the time of this run is used.
                if seconds.is_finite() { seconds.clamp(0.0, LONGEST) } else { begun.elapsed().as_secs_f64() }
            }
        }
    }

    /// The journal in which the evaluator notes finds until they are on disk.
    #[must_use]
    pub const fn journal(&self) -> Journal {
        Journal { used: self.finds_used.as_ptr(), bytes: self.finds.as_mut_ptr(), room: FINDS_ROOM }
    }

    /// The finds that are not on disk yet.
    #[must_use]
    pub fn finds(&self) -> Vec<Vec<u8>> {
        entries(&self.finds, &self.finds_used)
    }

    /// Whether the journal is more than half full, so that finds should be written to disk now.
    #[must_use]
    pub fn is_nearly_full(&self) -> bool {
        self.finds_used.load(Ordering::Relaxed) as usize > FINDS_ROOM / 2
    }

    /// Empties the journal after its finds were written to disk.
    pub fn forget_finds(&self) {
        self.finds_used.store(0, Ordering::Relaxed);
    }

    /// Appends the input that the dead worker was evaluating, with the number of its death, so that the next worker
    /// runs it again. Returns false if there is no room. Call it only while no worker lives.
    pub fn note_fatal_input(&self, death: u32) -> bool {
        let input = self.input.read(self.input_size.load(Ordering::Relaxed) as usize);
        self.append_fatal_input(death, &input)
    }

    fn append_fatal_input(&self, death: u32, input: &[u8]) -> bool {
        let used = self.fatal_inputs_used.load(Ordering::Relaxed) as usize;
        let entry = [&((input.len() + 4) as u32).to_ne_bytes()[..], &death.to_ne_bytes(), input].concat();
        let fits = self.fatal_inputs.write(used, &entry);
        if fits {
            self.fatal_inputs_used.store((used + entry.len()) as u64, Ordering::Release);
        }
        fits
    }

    /// The inputs that killed workers and are not on disk yet, each with the number of its death.
    #[must_use]
    pub fn fatal_inputs(&self) -> Vec<(u32, Vec<u8>)> {
        let split = |entry: Vec<u8>| {
            let (death, input) = entry.split_first_chunk::<4>()?;
            Some((u32::from_ne_bytes(*death), input.to_vec()))
        };
        entries(&self.fatal_inputs, &self.fatal_inputs_used).into_iter().filter_map(split).collect()
    }

    /// Removes the fatal inputs after they were written to disk.
    pub fn forget_fatal_inputs(&self) {
        self.fatal_inputs_used.store(0, Ordering::Relaxed);
    }

    /// Queues a message for the user. The supervisor prints it, because the worker has no standard error.
    pub fn warn(&self, message: &str) {
        let n = self.sent.load(Ordering::Relaxed);
        self.messages[n as usize % MESSAGES].set(message);
        self.sent.store(n.wrapping_add(1), Ordering::Release);
    }

    /// The messages after the first `known`, without those already overwritten, and the total number of messages sent.
    #[must_use]
    pub fn messages(&self, known: u64) -> (Vec<String>, u64) {
        let sent = self.sent.load(Ordering::Acquire);
        let first = known.max(sent.saturating_sub(MESSAGES as u64));
        ((first..sent).filter_map(|i| self.messages[i as usize % MESSAGES].get()).collect(), sent)
    }

    /// Why the campaign is to end.
    #[must_use]
    pub fn stop_reason(&self) -> StopReason {
        StopReason::of(self.stop.load(Ordering::Relaxed))
    }
}

/// The entries of a buffer in which each entry is preceded by its length.
fn entries<const N: usize>(room: &SharedBuffer<N>, used: &AtomicU64) -> Vec<Vec<u8>> {
    let bytes = room.read(used.load(Ordering::Acquire) as usize);
    let mut rest = &bytes[..];
    let next = || {
        let (length, after) = rest.split_first_chunk::<4>()?;
        let (entry, after) = after.split_at_checked(u32::from_ne_bytes(*length) as usize)?;
        rest = after;
        Some(entry.to_vec())
    };
    core::iter::from_fn(next).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory() -> &'static WorkerShm {
        WorkerShm::map().unwrap()
    }

    #[test]
    fn fatal_inputs_are_kept_until_they_are_forgotten() {
        let shm = memory();
        assert!(shm.append_fatal_input(5, b"abc") && shm.append_fatal_input(9, b""));
        assert_eq!(shm.fatal_inputs(), [(5, b"abc".to_vec()), (9, Vec::new())]);
        shm.forget_fatal_inputs();
        assert!(shm.fatal_inputs().is_empty());
        assert!(!shm.append_fatal_input(5, &vec![0; FATAL_INPUTS_ROOM]), "no room");
    }

    #[test]
    fn the_fatal_input_is_the_one_under_evaluation() {
        let shm = memory();
        // SAFETY: the write is within the room, and no other code uses this memory.
        unsafe { core::ptr::copy_nonoverlapping(b"wxyz".as_ptr(), shm.input.as_mut_ptr(), 4) };
        shm.input_size.store(3, Ordering::Relaxed);
        assert!(shm.note_fatal_input(1));
        assert_eq!(shm.fatal_inputs(), [(1, b"wxy".to_vec())]);
    }

    #[test]
    fn finds_in_the_journal_are_read_back() {
        let shm = memory();
        let journal = shm.journal();
        let written =
            [3u32.to_ne_bytes().as_slice(), b"abc", &1u32.to_ne_bytes(), b"d", &9u32.to_ne_bytes(), b"cut"].concat();
        // SAFETY: the writes are within the room, and no other code uses this memory.
        unsafe {
            core::ptr::copy_nonoverlapping(written.as_ptr(), journal.bytes, written.len());
            journal.used.write(written.len() as u64);
        }
        assert_eq!(shm.finds(), [b"abc".to_vec(), b"d".to_vec()]);
        shm.forget_finds();
        assert!(shm.finds().is_empty());
    }

    #[test]
    fn pauses_are_left_out_of_the_clock() {
        let shm = memory();
        let (begun, hour) = (Instant::now(), Duration::from_hours(1));
        shm.exclude_pause(hour);
        assert!(shm.seconds(begun) <= 0.0, "the clock is not started");
        shm.start_clock(begun, 7200.0);
        shm.exclude_pause(hour);
        let seconds = shm.seconds(begun);
        assert!((3600.0..3660.0).contains(&seconds), "{seconds}");
    }

    #[test]
    fn values_overwritten_by_target_are_rejected() {
        let shm = memory();
        shm.warn("one");
        shm.directory.set("out");
        let first: *mut u8 = core::ptr::from_ref(shm).cast_mut().cast();
        let sealed = core::ptr::from_ref(&shm.directory) as usize - first as usize;
        for i in (0..size_of::<WorkerShm>()).filter(|i| !(sealed..sealed + size_of::<SealedText>()).contains(i)) {
            // SAFETY: the write is within the mapping, of which only the sealed pages are read-only.
            unsafe { first.add(i).write_volatile(0xff) };
        }
        assert_eq!(shm.directory.get().as_deref(), Some("out"), "the pages are read-only");
        assert_eq!((shm.error.get(), shm.messages(0).0, shm.stop_reason()), (None, Vec::new(), StopReason::None));
        let seconds = shm.seconds(Instant::now());
        assert!((0.0..=LONGEST).contains(&seconds), "{seconds}");
        assert!(shm.finds().is_empty() && shm.fatal_inputs().is_empty() && !shm.note_fatal_input(1));
        shm.warn("two");
    }

    #[test]
    fn a_text_that_is_too_long_is_cut_between_characters() {
        let shm = memory();
        shm.error.set(&"ä".repeat(TEXT_ROOM));
        assert_eq!(shm.error.get().map(|t| t.len()), Some(TEXT_ROOM));
        shm.error.set(&format!("x{}", "ä".repeat(TEXT_ROOM)));
        assert_eq!(shm.error.get().map(|t| t.len()), Some(TEXT_ROOM - 1));
    }

    #[test]
    fn each_message_is_read_once() {
        let shm = memory();
        shm.warn("one");
        shm.warn("two");
        assert_eq!(shm.messages(0), (vec!["one".to_owned(), "two".to_owned()], 2));
        assert_eq!(shm.messages(2), (Vec::new(), 2));
        (0..20).for_each(|i| shm.warn(&i.to_string()));
        assert_eq!(shm.messages(2).0.len(), MESSAGES, "the last ones");
    }
}
