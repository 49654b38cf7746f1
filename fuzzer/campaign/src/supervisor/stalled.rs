//! Distinguishes a worker that makes no progress because a signal has stopped it (SIGSTOP, a debugger, a full terminal)
//! from one whose target hangs.

use std::time::{Duration, Instant};

use penfuzz_system::process::wait;

/// Time within which a worker must make progress after a SIGCONT.
const GRACE: Duration = Duration::from_secs(2);

/// Records the attempts to continue one worker.
#[derive(Debug, Default)]
pub struct Stopped {
    /// When the worker was sent a SIGCONT.
    continued: Option<Instant>,
}

/// Why a worker makes no progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standstill {
    /// It was stopped and was sent a SIGCONT: wait for it.
    Continued,
    /// It was stopped again or does not continue: replace it. Its input is not the cause.
    Stopped,
    /// It runs, so its target hangs.
    Hangs,
}

impl Stopped {
    /// Determines why the worker `pid`, a child of this process, has made no progress for too long. Sends it a SIGCONT
    /// once.
    pub fn check(&mut self, pid: i32) -> Standstill {
        match self.continued {
            Some(at) if at.elapsed() < GRACE => Standstill::Continued,
            Some(_) if is_stopped(pid) => Standstill::Stopped,
            None if is_stopped(pid) => {
                wait::signal(pid, libc::SIGCONT);
                self.continued = Some(Instant::now());
                Standstill::Continued
            }
            _ => Standstill::Hangs,
        }
    }

    /// Notes that the worker has made progress.
    pub fn has_progressed(&mut self) {
        self.continued = None;
    }
}

/// Whether the process is stopped. Its state is then `T` or `t`: the field after the name, which is in parentheses and
/// may itself contain parentheses.
#[must_use]
pub fn is_stopped(pid: i32) -> bool {
    let Ok(stat) = std::fs::read(format!("/proc/{pid}/stat")) else { return false };
    let state = stat.iter().rposition(|b| *b == b')').and_then(|i| stat.get(i + 2));
    matches!(state, Some(b'T' | b't'))
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};

    use super::*;

    fn sleeper() -> Child {
        Command::new("sleep").arg("60").spawn().unwrap()
    }

    fn stop(child: &Child) {
        let pid = child.id().cast_signed();
        wait::signal(pid, libc::SIGSTOP);
        while !is_stopped(pid) {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn a_stopped_process_is_continued_once() {
        let mut child = sleeper();
        let pid = child.id().cast_signed();
        let mut stopped = Stopped::default();
        stop(&child);
        assert_eq!(stopped.check(pid), Standstill::Continued, "got a SIGCONT");
        let deadline = Instant::now() + Duration::from_secs(10);
        while is_stopped(pid) && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(!is_stopped(pid), "it continues");
        stop(&child);
        stopped.continued = Some(Instant::now().checked_sub(GRACE).unwrap());
        assert_eq!(stopped.check(pid), Standstill::Stopped, "stopped again");
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn a_process_that_runs_is_not_stopped() {
        let mut child = sleeper();
        let answer = Stopped::default().check(child.id().cast_signed());
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(answer, Standstill::Hangs);
    }
}
