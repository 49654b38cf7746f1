//! A worker that makes no progress because somebody has stopped it (SIGSTOP, a debugger, a full terminal), not because its
//! target hangs.

use std::time::{Duration, Instant};

/// How long a worker that was told to go on may take to move.
const GRACE: Duration = Duration::from_secs(2);

/// What a supervisor has tried with one worker.
#[derive(Debug, Default)]
pub struct Stopped {
    told: Option<Instant>,
}

/// Why a worker makes no progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standstill {
    /// It was stopped, and has just been told to go on: wait for it.
    Continued,
    /// It was stopped again, or does not go on: replace it; its input is not to blame.
    Stopped,
    /// It runs: its target hangs.
    Hangs,
}

impl Stopped {
    /// To be asked when the worker `pid`, a child of this process, has made no progress for too long. It is told to go on
    /// once.
    pub fn look(&mut self, pid: i32) -> Standstill {
        match self.told {
            Some(told) if told.elapsed() < GRACE => Standstill::Continued,
            Some(_) if is_stopped(pid) => Standstill::Stopped,
            None if is_stopped(pid) => {
                // SAFETY: our own child.
                unsafe { libc::kill(pid, libc::SIGCONT) };
                self.told = Some(Instant::now());
                Standstill::Continued
            }
            _ => Standstill::Hangs,
        }
    }

    /// The worker has made progress.
    pub fn moves(&mut self) {
        self.told = None;
    }
}

/// Is the process stopped? `T` or `t` behind the name, which stands in parentheses and may hold anything.
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
        // SAFETY: our own child, not yet waited for.
        unsafe { libc::kill(pid, libc::SIGSTOP) };
        while !is_stopped(pid) {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn a_stopped_process_is_told_to_go_on_once() {
        let mut child = sleeper();
        let pid = child.id().cast_signed();
        let mut stopped = Stopped::default();
        stop(&child);
        assert_eq!(stopped.look(pid), Standstill::Continued, "told to go on");
        let deadline = Instant::now() + Duration::from_secs(10);
        while is_stopped(pid) && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(!is_stopped(pid), "it goes on");
        stop(&child);
        stopped.told = Some(Instant::now().checked_sub(GRACE).unwrap());
        assert_eq!(stopped.look(pid), Standstill::Stopped, "stopped again");
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn a_process_that_runs_is_not_stopped() {
        let mut child = sleeper();
        let answer = Stopped::default().look(child.id().cast_signed());
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(answer, Standstill::Hangs);
    }
}
