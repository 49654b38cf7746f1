//! Records SIGINT (Ctrl-C), SIGTERM and SIGHUP (a closed terminal) in a flag while a [`SignalGuard`] lives.
//!
//! The crate signal-hook installs one handler per signal, which saves and restores errno. The handler cannot be
//! removed, so outside of a [`SignalGuard`] it performs the default action of the signal: it ends the process. A child
//! that calls exec starts with the default actions again. A child that is only forked inherits handler and flag, and
//! sets its own copy of the flag.

use std::sync::{
    Once,
    atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering},
};

use signal_hook::low_level;

/// The watched signals. By default, each ends the process.
pub const SIGNALS: [libc::c_int; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

static REQUESTED: AtomicBool = AtomicBool::new(false);
/// The last signal that arrived while a [`SignalGuard`] lived; 0 before the first.
static LAST: AtomicI32 = AtomicI32::new(0);
static CTRL_C: AtomicUsize = AtomicUsize::new(0);
/// Number of living watches.
static WATCHES: AtomicUsize = AtomicUsize::new(0);
static INSTALLED: Once = Once::new();

/// Whether the user, or the system, has asked this program to end while a [`SignalGuard`] lived.
#[must_use]
pub fn requested() -> bool {
    REQUESTED.load(Ordering::Relaxed)
}

/// If [`requested`], ends this process by the last signal, as if it had not been watched. For work that has nothing to
/// save.
pub fn end_if_requested() {
    let signal = LAST.load(Ordering::Relaxed);
    if requested() && signal != 0 {
        let _ = low_level::emulate_default_handler(signal);
    }
}

/// Number of SIGINT signals while a [`SignalGuard`] lived. The other signals are not counted: a terminal that closes
/// sends SIGHUP more than once, and so do service managers with SIGTERM.
#[must_use]
pub fn ctrl_c_count() -> usize {
    CTRL_C.load(Ordering::Relaxed)
}

/// Detects a SIGINT that arrives after the first interrupt was noticed: the user does not wait for the normal end any
/// more. Signals that arrive before the first poll after an interrupt count as one: wrappers forward a Ctrl-C that the
/// terminal has already sent.
#[derive(Debug, Default)]
pub struct SecondCtrlC {
    /// The count when the first interrupt was noticed.
    at_first: Option<usize>,
}

impl SecondCtrlC {
    /// Whether a second SIGINT has arrived.
    #[must_use]
    pub fn poll(&mut self) -> bool {
        requested() && ctrl_c_count() > *self.at_first.get_or_insert_with(ctrl_c_count)
    }
}

/// A guard: while one lives, the signals set the flag instead of ending the process. Watches may be nested.
#[derive(Debug)]
pub struct SignalGuard(());

impl SignalGuard {
    /// Begins to watch. An ignored SIGHUP stays ignored, which is the purpose of `nohup`. The other two signals are
    /// caught in any case: a shell ignores SIGINT for background commands of a script, but a SIGINT sent to this very
    /// process is meant for it.
    #[must_use = "the watch ends when it is dropped"]
    pub fn begin() -> Self {
        WATCHES.fetch_add(1, Ordering::Relaxed);
        INSTALLED.call_once(install);
        Self(())
    }
}

impl Drop for SignalGuard {
    fn drop(&mut self) {
        WATCHES.fetch_sub(1, Ordering::Relaxed);
    }
}

fn install() {
    for signal in SIGNALS.into_iter().filter(|s| *s != libc::SIGHUP || !is_ignored(*s)) {
        // SAFETY: `on_signal` is async-signal-safe: it uses atomics, and signal-hook's emulation of the default action.
        // Registration fails only for signals that cannot be caught.
        let _ = unsafe { low_level::register(signal, move || on_signal(signal)) };
    }
}

fn on_signal(signal: libc::c_int) {
    if WATCHES.load(Ordering::Relaxed) == 0 {
        let _ = low_level::emulate_default_handler(signal);
        return;
    }
    LAST.store(signal, Ordering::Relaxed);
    REQUESTED.store(true, Ordering::Relaxed);
    if signal == libc::SIGINT {
        CTRL_C.fetch_add(1, Ordering::Relaxed);
    }
}

fn is_ignored(signal: libc::c_int) -> bool {
    // SAFETY: an all-zero sigaction is valid, and the call only writes to it.
    unsafe {
        let mut action: libc::sigaction = core::mem::zeroed();
        libc::sigaction(signal, core::ptr::null(), &raw mut action) == 0 && action.sa_sigaction == libc::SIG_IGN
    }
}

#[cfg(test)]
mod tests {
    use std::{
        os::unix::process::ExitStatusExt,
        process::ExitStatus,
        time::{Duration, Instant},
    };

    use super::*;
    use crate::process::{fork, wait};

    /// Runs `work` in a child process and returns its exit status, because there is one flag per process. Watches of
    /// other tests, which run in other threads, do not count in the child.
    fn status_of(work: impl FnOnce() -> i32) -> ExitStatus {
        let child = fork::fork(|| {
            // The tests may run under nohup, or in the background of a script: then another test has installed no
            // handler for the ignored signal.
            for signal in SIGNALS.into_iter().filter(|s| is_ignored(*s)) {
                // SAFETY: as in `install`.
                let _ = unsafe { low_level::register(signal, move || on_signal(signal)) };
            }
            WATCHES.store(0, Ordering::Relaxed);
            REQUESTED.store(false, Ordering::Relaxed);
            CTRL_C.store(0, Ordering::Relaxed);
            work()
        });
        wait::wait_until(child.unwrap(), Instant::now() + Duration::from_secs(20)).status
    }

    fn raise(signal: i32) {
        // SAFETY: a system call without pointers.
        unsafe { libc::raise(signal) };
    }

    #[test]
    fn each_signal_sets_the_flag_while_a_watch_lives() {
        for signal in SIGNALS {
            let status = status_of(|| {
                let outer = SignalGuard::begin();
                drop(SignalGuard::begin());
                let before = requested();
                raise(signal);
                drop(outer);
                i32::from(!before && requested() && ctrl_c_count() == usize::from(signal == libc::SIGINT))
            });
            assert_eq!(status.code(), Some(1), "signal {signal}: {status}");
        }
    }

    #[test]
    fn a_second_ctrl_c_is_one_after_the_first_was_noticed() {
        let status = status_of(|| {
            let _watch = SignalGuard::begin();
            let mut second = SecondCtrlC::default();
            let mut polls = vec![second.poll()];
            for signals in [&[libc::SIGINT, libc::SIGINT][..], &[libc::SIGHUP, libc::SIGTERM], &[libc::SIGINT]] {
                for signal in signals {
                    raise(*signal);
                }
                polls.push(second.poll());
            }
            i32::from(polls == [false, false, false, true])
        });
        assert_eq!(status.code(), Some(1), "{status}");
    }

    #[test]
    fn each_signal_ends_the_process_after_the_watch() {
        for signal in SIGNALS {
            let status = status_of(|| {
                drop(SignalGuard::begin());
                raise(signal);
                0
            });
            assert_eq!(status.signal(), Some(signal), "{status}");
        }
    }

    /// Runs in a separate process, because handlers are installed once per process, and other tests that compile
    /// install them.
    #[test]
    fn an_ignored_hangup_stays_ignored_and_the_others_do_not() {
        let module = module_path!().split_once("::").unwrap().1;
        let status = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", &format!("{module}::signals_that_were_ignored")])
            .status()
            .unwrap();
        assert!(status.success(), "{status}");
    }

    #[test]
    #[ignore = "run by another test"]
    fn signals_that_were_ignored() {
        let status = status_of(|| {
            for signal in SIGNALS {
                // SAFETY: installs no handler.
                unsafe { libc::signal(signal, libc::SIG_IGN) };
            }
            let _watch = SignalGuard::begin();
            raise(libc::SIGHUP);
            let hangup = requested();
            raise(libc::SIGTERM);
            i32::from(!hangup && requested())
        });
        assert_eq!(status.code(), Some(1), "{status}");
    }

    #[test]
    fn a_signal_leaves_errno_alone() {
        let status = status_of(|| {
            let _watch = SignalGuard::begin();
            // SAFETY: the address of a variable of this thread; a write of no bytes to no descriptor fails with EBADF.
            unsafe {
                libc::write(-1, core::ptr::null(), 0);
                raise(libc::SIGTERM);
                i32::from(*libc::__errno_location() == libc::EBADF)
            }
        });
        assert_eq!(status.code(), Some(1), "{status}");
    }
}
