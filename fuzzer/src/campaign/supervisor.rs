//! The supervisor: starts workers, watches them, and stands for what they cannot do once they are dead.

use core::sync::atomic::{AtomicU32, Ordering};
use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use super::{
    Options,
    board::{Board, StopReason, WorkerEnd},
    directory,
    killer::Death as Killed,
    progress::Progress,
    store::Store,
    worker,
};
use crate::{
    error::Error,
    executor::fault::signal_name,
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

/// Deaths of workers in a row without a new evaluation before the campaign is hopeless.
const HOPELESS: u32 = 3;

/// Deaths of workers in a row without a new find before the campaign ends with what it has.
const FRUITLESS: u32 = 200;

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
    let (mut best, mut fruitless) = (0, 0);
    let result = loop {
        let before = seen.evaluations.load(Ordering::Relaxed);
        // SAFETY: no thread of ours runs, so the child may do anything.
        let pid = unsafe { libc::fork() };
        if pid < 0 {
            break Err(Error::new("cannot start a worker process: the system has no room for one"));
        }
        if pid == 0 {
            // SAFETY: the child is the only one to write to the board.
            work(options, begun, unsafe { &mut *board });
        }
        let death = watch(pid, seen, options, begun, &mut progress);
        match death {
            Death::Finished => break finished(seen),
            Death::WornOut => {}
            Death::Failed => {
                break Err(Error::new(
                    seen.error.get().unwrap_or_else(|| "the worker failed without a word".to_owned()),
                ));
            }
            Death::Killed(killed) => {
                if seen.searching.load(Ordering::Acquire) == 0 {
                    break Err(died_loading(options, killed.signal));
                }
                deaths = if seen.evaluations.load(Ordering::Relaxed) > before { 0 } else { deaths + 1 };
                if deaths >= HOPELESS {
                    break Err(Error::new(format!("workers keep dying ({}); giving up", signal_name(killed.signal))));
                }
                if let Err(e) = record(seen, killed, begun) {
                    break Err(e);
                }
                let found = [&seen.covered, &seen.crashes, &seen.hangs].iter().map(|c| c.load(Ordering::Relaxed)).sum();
                fruitless = if found > best { 0 } else { fruitless + 1 };
                best = best.max(found);
                if fruitless >= FRUITLESS {
                    stop(seen, StopReason::WorkersDie);
                }
            }
        }
    };
    progress.clear();
    result
}

/// The child's whole life.
fn work(options: &Options, begun: Instant, board: &'static mut Board) -> ! {
    let address = &raw mut *board as usize;
    // SAFETY: plain system calls. Ctrl-C and SIGTERM, which both may go to the whole group, are the supervisor's to handle; a
    // worker must not outlive it.
    unsafe {
        libc::signal(libc::SIGINT, libc::SIG_IGN);
        libc::signal(libc::SIGTERM, libc::SIG_IGN);
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
    }
    std::panic::set_hook(Box::new(move |info| {
        // SAFETY: a panicking worker does nothing else with the board.
        let board = unsafe { &mut *(address as *mut Board) };
        board.error.set(&format!("penfuzz failed in a way it should not ({info}); please report it"));
        leave(board, WorkerEnd::Failed)
    }));
    // The directory is settled by the first worker; the later ones must not choose anew or set it aside again.
    let dir = board.directory.get().map(PathBuf::from).or_else(|| options.out.clone());
    let board: *mut Board = board;
    // SAFETY: the worker's own use of the board has ended when it has failed.
    let result = worker::run(options, dir.as_deref(), begun, unsafe { &mut *board });
    // SAFETY: as above.
    let board = unsafe { &mut *board };
    let end = match result {
        Ok(worker::End::Finished) => WorkerEnd::Finished,
        Ok(worker::End::WornOut) => WorkerEnd::WornOut,
        Err(e) => {
            board.error.set(&e.to_string());
            WorkerEnd::Failed
        }
    };
    leave(board, end)
}

/// Ends the worker without running the destructors of a target that may be in any state.
fn leave(board: &Board, end: WorkerEnd) -> ! {
    board.end.store(end as u32, Ordering::Release);
    // SAFETY: ends the process.
    unsafe { libc::_exit(0) }
}

enum Death {
    Finished,
    WornOut,
    Failed,
    Killed(Killed),
}

fn watch(pid: i32, board: &Board, options: &Options, begun: Instant, progress: &mut Progress) -> Death {
    let patience = options.timeout * 4 + Duration::from_secs(5);
    let started = Instant::now();
    let (mut last_count, mut last_change) = (u64::MAX, Instant::now());
    let mut stuck = false;
    loop {
        if let Some(status) = exited(pid) {
            return death(board, status, stuck);
        }
        if options.max_time.is_some_and(|t| begun.elapsed() >= t) {
            stop(board, StopReason::MaxTime);
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

/// Tells the worker to end, unless it was told so already.
fn stop(board: &Board, reason: StopReason) {
    let _ = board.stop.compare_exchange(0, reason as u32, Ordering::Relaxed, Ordering::Relaxed);
}

fn death(board: &Board, status: i32, stuck: bool) -> Death {
    let end = board.end.swap(WorkerEnd::None as u32, Ordering::Acquire);
    match end {
        e if e == WorkerEnd::Finished as u32 => Death::Finished,
        e if e == WorkerEnd::WornOut as u32 => Death::WornOut,
        e if e == WorkerEnd::Failed as u32 => Death::Failed,
        // The target ended the process by a way that nothing intercepts.
        _ if libc::WIFEXITED(status) => Death::Killed(Killed { signal: 0, stuck: false }),
        _ => Death::Killed(Killed { signal: libc::WTERMSIG(status), stuck }),
    }
}

fn died_loading(options: &Options, signal: i32) -> Error {
    Error::new(format!(
        "{} ends the process while it is being loaded ({}), before any function is called: look at its constructors",
        options.target.display(),
        if signal == 0 { "exit".to_owned() } else { signal_name(signal) }
    ))
}

/// Keeps the input that killed a worker.
fn record(board: &Board, killed: Killed, begun: Instant) -> Result<(), Error> {
    let Some(dir) = board.directory.get() else { return Ok(()) };
    let dir = Path::new(&dir);
    let mut store = Store::open(dir, directory::lock(dir, std::process::id())?, "")?;
    store.remembered.evaluations = board.evaluations.load(Ordering::Relaxed);
    store.remembered.seconds = board.seconds(begun);
    let size = board.input_size.load(Ordering::Relaxed) as usize;
    let fault = killed.fault(&[], "code that is not known".to_owned());
    store.keep_fault(&board.input[..size], &fault, (board.seconds(begun) * 1e3) as u64)?;
    board.death.store(killed.to_number(), Ordering::Relaxed);
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
