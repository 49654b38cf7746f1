//! The supervisor: starts workers, watches them, and stands for what they cannot do once they are dead.

use core::sync::atomic::{AtomicU32, Ordering};
use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use super::{
    Options,
    board::{Board, StopReason},
    progress::Progress,
    store::{self, Store},
    worker,
};
use crate::{
    error::Error,
    executor::{
        Fault, FaultKind,
        fault::signal_name,
    },
    report::{Report, json},
};

/// What a finished campaign leaves.
#[derive(Debug)]
pub struct Finished {
    /// Its report.
    pub report: Report,
    /// Its directory.
    pub dir: PathBuf,
}

/// Exit status of a worker that wants to be replaced.
const WORN_OUT: i32 = 75;
/// Exit status of a worker that left an error on the board.
const FAILED: i32 = 76;

/// Deaths of workers in a row without a new evaluation before the campaign is hopeless.
const HOPELESS: u32 = 3;

/// Longest pause between two looks at the worker.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Runs a campaign to its end.
///
/// # Errors
/// What the user must know.
pub fn run(options: &Options) -> Result<Finished, Error> {
    let board: *mut Board = Board::map()?;
    // SAFETY: mapped for ever; this process only reads it or uses its atomics while a worker runs.
    let seen: &'static Board = unsafe { &*board };
    catch_interrupts(seen);
    let mut progress = Progress::new(options.quiet);
    let begun = Instant::now();
    let mut deaths = 0;
    let result = loop {
        let before = seen.evaluations.load(Ordering::Relaxed);
        // SAFETY: no thread of ours runs, so the child may do anything.
        let pid = unsafe { libc::fork() };
        if pid < 0 {
            break Err(Error::new("cannot start a worker process: the system has no room for one"));
        }
        if pid == 0 {
            // SAFETY: the child is the only one to write to the board.
            work(options, unsafe { &mut *board });
        }
        let death = watch(pid, seen, options, begun, &mut progress);
        match death {
            Death::Finished => break finished(seen),
            Death::WornOut => {}
            Death::Failed => {
                break Err(Error::new(seen.error.get().unwrap_or_else(|| "the worker failed without a word".to_owned())));
            }
            Death::Killed(signal, stuck) => {
                if seen.searching.load(Ordering::Acquire) == 0 {
                    break Err(died_loading(options, signal));
                }
                deaths = if seen.evaluations.load(Ordering::Relaxed) > before { 0 } else { deaths + 1 };
                if deaths >= HOPELESS {
                    break Err(Error::new(format!("workers keep dying ({}); giving up", signal_name(signal))));
                }
                if let Err(e) = record(seen, signal, stuck, begun) {
                    break Err(e);
                }
            }
        }
    };
    progress.clear();
    result
}

/// The child's whole life.
fn work(options: &Options, board: &'static mut Board) -> ! {
    let address = &raw mut *board as usize;
    // SAFETY: plain system calls. Ctrl-C is the supervisor's to handle; a worker must not outlive it.
    unsafe {
        libc::signal(libc::SIGINT, libc::SIG_IGN);
        libc::signal(libc::SIGTERM, libc::SIG_DFL);
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
    }
    std::panic::set_hook(Box::new(move |info| {
        // SAFETY: a panicking worker does nothing else with the board.
        unsafe { (*(address as *mut Board)).error.set(&format!("penfuzz failed in a way it should not ({info}); please report it")) };
        // SAFETY: ends the process.
        unsafe { libc::_exit(FAILED) }
    }));
    // The directory is settled by the first worker; the later ones must not choose anew or set it aside again.
    let dir = board.directory.get().map(PathBuf::from).or_else(|| options.out.clone());
    let board: *mut Board = board;
    // SAFETY: the worker's own use of the board has ended when it has failed.
    let status = match worker::run(options, dir.as_deref(), unsafe { &mut *board }) {
        Ok(worker::End::Finished) => 0,
        Ok(worker::End::WornOut) => WORN_OUT,
        Err(e) => {
            // SAFETY: as above.
            unsafe { (*board).error.set(&e.to_string()) };
            FAILED
        }
    };
    // SAFETY: leaves without running the destructors of a target that may be in any state.
    unsafe { libc::_exit(status) }
}

enum Death {
    Finished,
    WornOut,
    Failed,
    /// By this signal; true when we killed it because it was stuck.
    Killed(i32, bool),
}

fn watch(pid: i32, board: &Board, options: &Options, begun: Instant, progress: &mut Progress) -> Death {
    let patience = options.timeout * 4 + Duration::from_secs(5);
    let started = Instant::now();
    let (mut last_count, mut last_change) = (u64::MAX, Instant::now());
    let mut stuck = false;
    loop {
        if let Some(status) = exited(pid) {
            return death(status, stuck);
        }
        if options.max_time.is_some_and(|t| begun.elapsed() >= t) {
            let _ = board.stop.compare_exchange(0, StopReason::MaxTime as u32, Ordering::Relaxed, Ordering::Relaxed);
        }
        let count = board.evaluations.load(Ordering::Relaxed);
        if count != last_count {
            (last_count, last_change) = (count, Instant::now());
        } else if last_change.elapsed() > patience && board.searching.load(Ordering::Acquire) != 0 {
            stuck = true;
            // SAFETY: our own child.
            unsafe { libc::kill(pid, libc::SIGKILL) };
        }
        progress.tick(board);
        std::thread::sleep((started.elapsed() / 8).clamp(Duration::from_micros(500), LOOK_EVERY));
    }
}

fn exited(pid: i32) -> Option<i32> {
    let mut status = 0;
    // SAFETY: our own child.
    match unsafe { libc::waitpid(pid, &raw mut status, libc::WNOHANG) } {
        0 => None,
        n if n == pid => Some(status),
        // Someone reaped it for us: treat it as killed.
        _ => Some(libc::SIGKILL),
    }
}

fn death(status: i32, stuck: bool) -> Death {
    if libc::WIFEXITED(status) {
        return match libc::WEXITSTATUS(status) {
            0 => Death::Finished,
            WORN_OUT => Death::WornOut,
            FAILED => Death::Failed,
            // The target ended the process by a way that nothing intercepts.
            _ => Death::Killed(0, false),
        };
    }
    Death::Killed(libc::WTERMSIG(status), stuck)
}

fn died_loading(options: &Options, signal: i32) -> Error {
    Error::new(format!(
        "{} ends the process while it is being loaded ({}), before any function is called: look at its constructors",
        options.target.display(),
        if signal == 0 { "exit".to_owned() } else { signal_name(signal) }
    ))
}

/// Keeps the input that killed a worker.
fn record(board: &Board, signal: i32, stuck: bool, begun: Instant) -> Result<(), Error> {
    let Some(dir) = board.directory.get() else { return Ok(()) };
    let dir = Path::new(&dir);
    let mut store = Store::open(dir, store::lock(dir)?, "")?;
    store.remembered.evaluations = board.evaluations.load(Ordering::Relaxed);
    let size = board.input_size.load(Ordering::Relaxed) as usize;
    let (kind, reason) = match (stuck, signal) {
        (true, _) => (FaultKind::Hang, "no end, even after the alarm".to_owned()),
        (_, 0) => (FaultKind::Crash, "ends the process".to_owned()),
        (_, s) => (FaultKind::Crash, format!("kills the process: {}", signal_name(s))),
    };
    let fault = Fault { kind, key: u64::from(signal.unsigned_abs()) << 1 | u64::from(stuck), reason, place: "outside the guard".to_owned() };
    store.keep_fault(&board.input[..size], &fault, begun.elapsed().as_millis() as u64)?;
    store.save()
}

fn finished(board: &Board) -> Result<Finished, Error> {
    let dir = PathBuf::from(board.directory.get().unwrap_or_default());
    let report = json::read(&dir.join(json::FILE)).map_err(|e| Error::new(e.to_string()))?;
    Ok(Finished { report, dir })
}

/// The flag that the signal handler raises.
static STOP: core::sync::atomic::AtomicPtr<AtomicU32> = core::sync::atomic::AtomicPtr::new(core::ptr::null_mut());

extern "C" fn on_interrupt(_signal: i32) {
    let stop = STOP.load(Ordering::Relaxed);
    if !stop.is_null() {
        // SAFETY: points into the board, which is never unmapped.
        unsafe { (*stop).store(StopReason::Interrupted as u32, Ordering::Relaxed) };
    }
}

/// Ctrl-C and SIGTERM end the campaign; its report is still written.
fn catch_interrupts(board: &'static Board) {
    STOP.store((&raw const board.stop).cast_mut(), Ordering::Relaxed);
    for signal in [libc::SIGINT, libc::SIGTERM] {
        // SAFETY: the handler only stores to an atomic.
        unsafe { libc::signal(signal, on_interrupt as *const () as libc::sighandler_t) };
    }
}
