//! Runs work in a child process, because it may die, and receives the messages that the child sends.

use core::sync::atomic::{AtomicU32, Ordering};
use std::{
    fs::File,
    io::{PipeReader, Read, Write, pipe},
    os::{
        fd::{AsRawFd, OwnedFd},
        unix::process::ExitStatusExt,
    },
    time::{Duration, Instant},
};

use serde::{Serialize, de::DeserializeOwned};

use crate::process::{fork, interrupts, wait};

/// The time limit of a child.
#[derive(Debug, Clone, Copy)]
pub enum Limit {
    /// Until this instant.
    At(Instant),
    /// Until this instant, or until 500 ms after the user interrupts ([`interrupts`]). The child gets a SIGINT then.
    Interruptible(Instant),
    /// As long as each pause between its messages is shorter than this time.
    Silence(Duration),
    /// Until this instant, or until another process sets the flag.
    Unless(Instant, &'static AtomicU32),
}

impl Limit {
    fn next(self) -> Instant {
        match self {
            Self::At(instant) | Self::Interruptible(instant) | Self::Unless(instant, _) => instant,
            Self::Silence(time) => Instant::now() + time,
        }
    }
}

/// How a child ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// Its work is done.
    Done,
    /// It was killed at its limit, or the system could not create a process.
    Late,
    /// It ended before its work was done, by this signal; 0 if it exited.
    Died(i32),
}

/// Time within which a child that has closed its end of the pipe must end.
const EXIT_TIME: Duration = Duration::from_millis(200);
/// Time within which a child must send its last messages when the user interrupts.
const INTERRUPTED_TIME: Duration = Duration::from_millis(500);
/// Maximum wait for a message before the interrupt flag is polled again: a signal may arrive between poll and wait.
const POLL_EVERY: Duration = Duration::from_millis(100);

/// Runs `work` in a child process. The child sends each message at once, and `receive` gets them in order. The child is
/// killed at its limit. If the system cannot create a process or a pipe, the result is [`Ending::Late`].
///
/// A message is one line of JSON, so that a message truncated by the death of the child is recognised. The line `null`
/// means that the work is done.
pub fn run<M: Serialize + DeserializeOwned>(
    work: impl FnOnce(&mut dyn FnMut(&M)),
    mut receive: impl FnMut(M),
    limit: Limit,
) -> Ending {
    let Ok((from, to)) = pipe() else { return Ending::Late };
    // `pipe` closes both ends on exec, but not on fork.
    let mut to = Some(File::from(OwnedFd::from(to)));
    let Ok(child) = fork::fork(|| to.take().map_or(1, |to| send_all(work, to))) else { return Ending::Late };
    drop(to);
    let last = receive_all(from, &mut receive, limit, child);
    let time = if last == ReceiveEnd::Closed { EXIT_TIME } else { Duration::ZERO };
    let ended = wait::wait_until(child, Instant::now() + time);
    match last {
        ReceiveEnd::Done => Ending::Done,
        ReceiveEnd::Closed if !ended.is_late => Ending::Died(ended.status.signal().unwrap_or(0)),
        ReceiveEnd::Closed | ReceiveEnd::Late => Ending::Late,
    }
}

/// The system has no process or no descriptor to spare, not even after several attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoProcess;

/// Number of attempts to create a process, and the pause before the second one, which doubles each time: three seconds
/// in all.
const ATTEMPTS: u32 = 8;
const FIRST_PAUSE: Duration = Duration::from_millis(25);

/// Runs `work` in a child process and returns its bytes. Returns no bytes if the child dies before, or if it is killed
/// at `deadline` or because `cancel` becomes readable. Costs less than [`run`], which polls a dying child.
///
/// # Errors
/// [`NoProcess`]: `work` has not run.
pub fn answer(mut work: impl FnMut() -> Vec<u8>, deadline: Instant, cancel: &PipeReader) -> Result<Vec<u8>, NoProcess> {
    let mut pause = FIRST_PAUSE;
    for attempt in 1.. {
        let started = pipe().and_then(|(from, to)| {
            let mut to = Some(File::from(OwnedFd::from(to)));
            let child = fork::fork(|| {
                exit_on_panic();
                let text = work();
                to.take().map_or(1, |mut to| i32::from(to.write_all(&text).is_err()))
            })?;
            Ok((from, child))
        });
        match started {
            Ok((from, child)) => return Ok(receive_answer(from, child, deadline, cancel)),
            Err(_) if attempt < ATTEMPTS && !is_readable(cancel, pause) => pause *= 2,
            Err(_) => break,
        }
    }
    Err(NoProcess)
}

/// Receives the bytes of `child` until it closes its end of the pipe.
fn receive_answer(mut from: PipeReader, child: i32, deadline: Instant, cancel: &PipeReader) -> Vec<u8> {
    let (mut text, mut part) = (Vec::new(), [0; 8192]);
    loop {
        let [is_readable, is_cancelled] = are_readable([&from, cancel], deadline);
        if is_cancelled || !is_readable {
            text.clear();
            wait::kill(child);
            break;
        }
        match from.read(&mut part) {
            Ok(n) if n > 0 => text.extend_from_slice(&part[..n]),
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            _ => break,
        }
    }
    if wait::join(child).success() { text } else { Vec::new() }
}

/// Makes a panic end the child without a message on standard error, where it would look like a panic of the worker.
fn exit_on_panic() {
    std::panic::set_hook(Box::new(|_| {
        // SAFETY: ends the process.
        unsafe { libc::_exit(1) }
    }));
}

/// Runs in the child: does the work and sends its messages. Returns the exit status.
fn send_all<M: Serialize>(work: impl FnOnce(&mut dyn FnMut(&M)), mut to: File) -> i32 {
    exit_on_panic();
    let mut send = |message: Option<&M>| {
        let mut line = serde_json::to_vec(&message).unwrap_or_default();
        line.push(b'\n');
        if to.write_all(&line).is_err() {
            // SAFETY: ends the process. The parent has closed its end of the pipe, so it receives nothing any more.
            unsafe { libc::_exit(1) }
        }
    };
    work(&mut |message| send(Some(message)));
    send(None);
    0
}

/// Why no further messages of a child are received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReceiveEnd {
    /// Its work is done.
    Done,
    /// Its end of the pipe is closed, or the received bytes are not a message.
    Closed,
    /// Its limit is reached.
    Late,
}

/// Receives messages of `child` until it is done, its end of the pipe is closed, or its limit is reached.
fn receive_all<M: DeserializeOwned>(
    mut from: PipeReader,
    receive: &mut impl FnMut(M),
    limit: Limit,
    child: i32,
) -> ReceiveEnd {
    let mut text = Vec::new();
    let mut part = [0; 8192];
    let mut until = limit.next();
    let mut may_interrupt = matches!(limit, Limit::Interruptible(_));
    loop {
        if may_interrupt && interrupts::requested() {
            may_interrupt = false;
            until = until.min(Instant::now() + INTERRUPTED_TIME);
            wait::signal(child, libc::SIGINT);
        }
        let left = until.saturating_duration_since(Instant::now());
        let is_stopped = matches!(limit, Limit::Unless(_, flag) if flag.load(Ordering::Relaxed) != 0);
        if left == Duration::ZERO || is_stopped {
            return ReceiveEnd::Late;
        }
        if !is_readable(&from, left.min(POLL_EVERY)) {
            continue;
        }
        match from.read(&mut part) {
            Ok(0) => return ReceiveEnd::Closed,
            Ok(n) => text.extend_from_slice(&part[..n]),
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(_) => return ReceiveEnd::Closed,
        }
        while let Some(end) = text.iter().position(|b| *b == b'\n') {
            let line: Vec<u8> = text.drain(..=end).collect();
            match serde_json::from_slice::<Option<M>>(&line) {
                Ok(None) => return ReceiveEnd::Done,
                Ok(Some(message)) => receive(message),
                Err(_) => return ReceiveEnd::Closed,
            }
            if matches!(limit, Limit::Silence(_)) {
                until = limit.next();
            }
        }
    }
}

/// Whether data is available to read, or arrives within `time`. Also returns false if a signal interrupts the wait,
/// such as the worker's timer.
#[must_use]
pub fn is_readable(from: &PipeReader, time: Duration) -> bool {
    let mut poll = libc::pollfd { fd: from.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: the descriptor is open and owned by this process.
    unsafe { libc::poll(&raw mut poll, 1, time.as_millis() as i32 + 1) > 0 }
}

/// Waits until data is available from one of two pipes, or its other end is closed, or until `deadline`. Returns which
/// pipes can be read.
fn are_readable(pipes: [&PipeReader; 2], deadline: Instant) -> [bool; 2] {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let mut polls = pipes.map(|p| libc::pollfd { fd: p.as_raw_fd(), events: libc::POLLIN, revents: 0 });
        // SAFETY: both descriptors are open and owned by this process.
        let ready = unsafe { libc::poll(polls.as_mut_ptr(), 2, left.as_millis() as i32 + 1) };
        if ready > 0 || left == Duration::ZERO {
            return polls.map(|p| p.revents != 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn received(work: impl FnOnce(&mut dyn FnMut(&String)), limit: Limit) -> (Vec<String>, Ending) {
        let mut messages = Vec::new();
        let ending = run(work, |message| messages.push(message), limit);
        (messages, ending)
    }

    fn within(time: Duration) -> Limit {
        Limit::At(Instant::now() + time)
    }

    #[test]
    fn messages_arrive_in_order() {
        let work = |send: &mut dyn FnMut(&String)| (0..3000).for_each(|i| send(&i.to_string()));
        let (messages, ending) = received(work, within(Duration::from_secs(20)));
        assert_eq!(ending, Ending::Done);
        assert!(messages.iter().enumerate().all(|(i, m)| *m == i.to_string()) && messages.len() == 3000);
    }

    #[test]
    fn a_death_loses_nothing_sent_before() {
        let work = |send: &mut dyn FnMut(&String)| {
            send(&"a".to_owned());
            // SAFETY: the child kills itself.
            unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
        };
        let expected = (vec!["a".to_owned()], Ending::Died(libc::SIGKILL));
        assert_eq!(received(work, within(Duration::from_secs(20))), expected);
    }

    #[test]
    fn an_exit_or_a_panic_is_a_death_without_a_signal() {
        // SAFETY: ends the child.
        let exit = |_: &mut dyn FnMut(&String)| unsafe { libc::_exit(0) };
        assert_eq!(received(exit, within(Duration::from_secs(20))), (vec![], Ending::Died(0)));
        let panic = |_: &mut dyn FnMut(&String)| panic!("on purpose");
        assert_eq!(received(panic, within(Duration::from_secs(20))), (vec![], Ending::Died(0)));
    }

    #[test]
    fn an_answer_is_whole_or_empty() {
        let (quiet, mut other_end) = pipe().unwrap();
        let soon = || Instant::now() + Duration::from_secs(20);
        assert_eq!(answer(|| vec![7; 100_000], soon(), &quiet), Ok(vec![7; 100_000]));
        // SAFETY: ends the child.
        assert_eq!(answer(|| unsafe { libc::_exit(0) }, soon(), &quiet), Ok(Vec::new()));
        assert_eq!(answer(|| panic!("on purpose"), soon(), &quiet), Ok(Vec::new()));
        let begun = Instant::now();
        let late = || {
            std::thread::sleep(Duration::from_mins(10));
            vec![1]
        };
        assert_eq!(answer(late, begun + Duration::from_millis(300), &quiet), Ok(Vec::new()));
        other_end.write_all(&[1]).unwrap();
        assert_eq!(answer(late, begun + Duration::from_mins(10), &quiet), Ok(Vec::new()));
        assert!(begun.elapsed() < Duration::from_mins(1), "killed, not waited for");
    }

    #[test]
    fn a_silent_child_is_killed_at_its_limit() {
        let work = |send: &mut dyn FnMut(&String)| {
            send(&"a".to_owned());
            std::thread::sleep(Duration::from_mins(10));
        };
        let begun = Instant::now();
        let limit = Limit::Silence(Duration::from_millis(300));
        assert_eq!(received(work, limit), (vec!["a".to_owned()], Ending::Late));
        assert!(begun.elapsed() < Duration::from_mins(1), "killed, not waited for");
    }
}
