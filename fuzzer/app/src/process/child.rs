//! A process of its own for work that may die, and the words it says on the way.

use std::{
    fs::File,
    io::{Read, Write},
    os::fd::{AsRawFd, FromRawFd},
    time::{Duration, Instant},
};

use serde::{Serialize, de::DeserializeOwned};

use crate::process::interrupts;

/// How long a child may live.
#[derive(Debug, Clone, Copy)]
pub enum Limit {
    /// Until then.
    At(Instant),
    /// Until then, or soon after the user interrupts ([`interrupt`]): the child gets the signal, too.
    Interruptible(Instant),
    /// As long as it says a word in each such time.
    Silence(Duration),
}

impl Limit {
    fn next(self) -> Instant {
        match self {
            Self::At(instant) | Self::Interruptible(instant) => instant,
            Self::Silence(time) => Instant::now() + time,
        }
    }
}

/// How a child ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// Its work is done.
    Done,
    /// It was killed because it took too long.
    Late,
    /// It died on the way, of this signal; 0 when it ended by itself.
    Died(i32),
}

/// Time for a child that has closed its end of the pipe to end.
const PARTING: Duration = Duration::from_millis(200);
/// Time for a child to say what it has when the user interrupts.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// Time between two looks at whether the user interrupts, where the signal came between look and wait.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Runs `work` in a child process, which hands each word over as soon as it is said; `hear` gets them. Kills the child at its
/// limit. A system without room for another process is told as [`Ending::Late`].
pub fn run<W: Serialize + DeserializeOwned>(
    work: impl FnOnce(&mut dyn FnMut(&W)),
    mut hear: impl FnMut(W),
    limit: Limit,
) -> Ending {
    let mut ends = [0; 2];
    // SAFETY: `ends` has room for two descriptors.
    if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
        return Ending::Late;
    }
    // SAFETY: two fresh descriptors that nobody else owns.
    let (from, to) = unsafe { (File::from_raw_fd(ends[0]), File::from_raw_fd(ends[1])) };
    // SAFETY: no other thread runs, so the child may do anything.
    let child = unsafe { libc::fork() };
    if child == 0 {
        be_child(work, to);
    }
    drop(to);
    if child < 0 {
        return Ending::Late;
    }
    let heard = listen(from, &mut hear, limit, child);
    let patience = if heard == Heard::Nothing { PARTING } else { Duration::ZERO };
    let signal = bury(child, patience);
    match (heard, signal) {
        (Heard::End, _) => Ending::Done,
        (Heard::Nothing, Some(signal)) => Ending::Died(signal),
        _ => Ending::Late,
    }
}

/// Waits for a child, and kills it when its time is over; the signal that it died of by itself.
fn bury(child: i32, patience: Duration) -> Option<i32> {
    let deadline = Instant::now() + patience;
    let mut status = 0;
    // SAFETY: our own child.
    while unsafe { libc::waitpid(child, &raw mut status, libc::WNOHANG) } == 0 {
        if Instant::now() >= deadline {
            // SAFETY: as above.
            unsafe {
                libc::kill(child, libc::SIGKILL);
                libc::waitpid(child, core::ptr::null_mut(), 0);
            }
            return None;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Some(if libc::WIFSIGNALED(status) { libc::WTERMSIG(status) } else { 0 })
}

fn be_child<W: Serialize>(work: impl FnOnce(&mut dyn FnMut(&W)), mut to: File) -> ! {
    // A child that fails must not speak for the worker.
    std::panic::set_hook(Box::new(|_| {
        // SAFETY: ends the process.
        unsafe { libc::_exit(1) }
    }));
    // SAFETY: a plain system call.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
    let mut tell = |word: Option<&W>| {
        let mut line = serde_json::to_vec(&word).unwrap_or_default();
        line.push(b'\n');
        if to.write_all(&line).is_err() {
            // SAFETY: ends the process; nobody listens.
            unsafe { libc::_exit(1) }
        }
    };
    work(&mut |word| tell(Some(word)));
    tell(None);
    // SAFETY: ends the process without the destructors of a target that may be in any state.
    unsafe { libc::_exit(0) }
}

/// What came last from a child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Heard {
    /// That its work is done.
    End,
    /// Nothing: its end of the pipe is closed.
    Nothing,
    /// Not enough until its limit.
    Late,
}

/// Reads words of `child` until the end of the pipe, the last word, or the limit.
fn listen<W: DeserializeOwned>(mut from: File, hear: &mut impl FnMut(W), limit: Limit, child: i32) -> Heard {
    let mut text = Vec::new();
    let mut part = [0; 8192];
    let mut until = limit.next();
    let mut is_told = !matches!(limit, Limit::Interruptible(_));
    loop {
        if !is_told && interrupts::requested() {
            is_told = true;
            until = until.min(Instant::now() + LAST_WORDS);
            // SAFETY: our own child, which was not waited for yet.
            unsafe { libc::kill(child, libc::SIGINT) };
        }
        let left = until.saturating_duration_since(Instant::now());
        if left == Duration::ZERO {
            return Heard::Late;
        }
        let mut poll = libc::pollfd { fd: from.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one descriptor, our own. The timer of the worker may interrupt it.
        if unsafe { libc::poll(&raw mut poll, 1, left.min(LOOK_EVERY).as_millis() as i32 + 1) } <= 0 {
            continue;
        }
        match from.read(&mut part) {
            Ok(0) => return Heard::Nothing,
            Ok(n) => text.extend_from_slice(&part[..n]),
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(_) => return Heard::Nothing,
        }
        while let Some(end) = text.iter().position(|b| *b == b'\n') {
            let line: Vec<u8> = text.drain(..=end).collect();
            match serde_json::from_slice::<Option<W>>(&line) {
                Ok(None) => return Heard::End,
                Ok(Some(word)) => hear(word),
                Err(_) => return Heard::Nothing,
            }
            if matches!(limit, Limit::Silence(_)) {
                until = limit.next();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(work: impl FnOnce(&mut dyn FnMut(&String)), limit: Limit) -> (Vec<String>, Ending) {
        let mut words = Vec::new();
        let ending = run(work, |word| words.push(word), limit);
        (words, ending)
    }

    fn within(time: Duration) -> Limit {
        Limit::At(Instant::now() + time)
    }

    #[test]
    fn words_arrive_in_order() {
        let work = |say: &mut dyn FnMut(&String)| (0..3000).for_each(|i| say(&i.to_string()));
        let (words, ending) = heard(work, within(Duration::from_secs(20)));
        assert_eq!(ending, Ending::Done);
        assert!(words.iter().enumerate().all(|(i, w)| *w == i.to_string()) && words.len() == 3000);
    }

    #[test]
    fn a_death_loses_nothing_said_before() {
        let work = |say: &mut dyn FnMut(&String)| {
            say(&"a".to_owned());
            // SAFETY: kills the child itself.
            unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
        };
        assert_eq!(heard(work, within(Duration::from_secs(20))), (vec!["a".to_owned()], Ending::Died(libc::SIGKILL)));
    }

    #[test]
    fn an_endless_child_is_killed_at_the_deadline() {
        let work = |say: &mut dyn FnMut(&String)| {
            say(&"a".to_owned());
            std::thread::sleep(Duration::from_mins(10));
        };
        let begun = Instant::now();
        let limit = Limit::Silence(Duration::from_millis(300));
        assert_eq!(heard(work, limit), (vec!["a".to_owned()], Ending::Late));
        assert!(begun.elapsed() < Duration::from_mins(1), "did not wait for it");
    }
}
