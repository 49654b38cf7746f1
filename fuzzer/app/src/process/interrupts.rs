//! Ctrl-C and termination as a flag, while a suite runs.

use std::sync::atomic::{AtomicBool, Ordering};

static REQUESTED: AtomicBool = AtomicBool::new(false);
const SIGNALS: [libc::c_int; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

extern "C" fn note(_signal: libc::c_int) {
    REQUESTED.store(true, Ordering::Relaxed);
}

/// The user, or the system, wants the suite to end.
pub fn requested() -> bool {
    REQUESTED.load(Ordering::Relaxed)
}

/// As long as this lives, the signals set the flag instead of ending the process. Children start with the default
/// actions again: `exec` resets handlers.
pub struct Watch {
    before: Vec<(libc::c_int, libc::sigaction)>,
}

impl Watch {
    /// Begins to watch. A signal that is ignored (`nohup`) stays ignored.
    pub fn begin() -> Self {
        let before = SIGNALS.into_iter().filter_map(watch).collect();
        Self { before }
    }
}

fn watch(signal: libc::c_int) -> Option<(libc::c_int, libc::sigaction)> {
    // SAFETY: an all-zero sigaction is valid (default action, empty mask), and so are both pointers; the handler
    // only stores to an atomic, which is allowed in a signal handler.
    unsafe {
        let mut before: libc::sigaction = std::mem::zeroed();
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = note as extern "C" fn(libc::c_int) as usize;
        action.sa_flags = libc::SA_RESTART;
        if libc::sigaction(signal, std::ptr::null(), &raw mut before) != 0 || before.sa_sigaction == libc::SIG_IGN {
            return None;
        }
        (libc::sigaction(signal, &raw const action, std::ptr::null_mut()) == 0).then_some((signal, before))
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        for (signal, action) in &self.before {
            // SAFETY: the action is what sigaction gave for this signal.
            unsafe { libc::sigaction(*signal, &raw const *action, std::ptr::null_mut()) };
        }
    }
}
