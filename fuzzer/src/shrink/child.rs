//! A process of its own for work that may die, and the words it says on the way.

use std::{
    fs::File,
    io::{Read, Write},
    os::fd::{AsRawFd, FromRawFd},
    time::{Duration, Instant},
};

use super::Word;

/// Runs `work` in a child process, which hands each word over as soon as it is said; `hear` gets them. Returns whether the
/// child came to its end; it is killed at `until`.
pub fn run(work: impl FnOnce(&mut dyn FnMut(&Word)), mut hear: impl FnMut(Word), until: Instant) -> bool {
    let mut ends = [0; 2];
    // SAFETY: `ends` has room for two descriptors.
    if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
        return false;
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
        return false;
    }
    let ended = listen(from, &mut hear, until);
    // SAFETY: our own child. It has said its last word, or is late.
    unsafe {
        libc::kill(child, libc::SIGKILL);
        libc::waitpid(child, core::ptr::null_mut(), 0);
    }
    ended
}

fn be_child(work: impl FnOnce(&mut dyn FnMut(&Word)), mut to: File) -> ! {
    // A child that fails must not speak for the worker.
    std::panic::set_hook(Box::new(|_| {
        // SAFETY: ends the process.
        unsafe { libc::_exit(1) }
    }));
    // SAFETY: a plain system call.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
    let mut say = |word: &Word| {
        let mut line = serde_json::to_vec(word).unwrap_or_default();
        line.push(b'\n');
        if to.write_all(&line).is_err() {
            // SAFETY: ends the process; nobody listens.
            unsafe { libc::_exit(1) }
        }
    };
    work(&mut say);
    say(&Word::End);
    // SAFETY: ends the process without the destructors of a target that may be in any state.
    unsafe { libc::_exit(0) }
}

/// Reads words until the end of the pipe, the last word, or the deadline.
fn listen(mut from: File, hear: &mut impl FnMut(Word), until: Instant) -> bool {
    let mut text = Vec::new();
    let mut part = [0; 8192];
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left == Duration::ZERO {
            return false;
        }
        let mut poll = libc::pollfd { fd: from.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one descriptor, our own. The timer of the worker may interrupt it.
        if unsafe { libc::poll(&raw mut poll, 1, left.as_millis() as i32 + 1) } <= 0 {
            continue;
        }
        match from.read(&mut part) {
            Ok(0) => return false,
            Ok(n) => text.extend_from_slice(&part[..n]),
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(_) => return false,
        }
        while let Some(end) = text.iter().position(|b| *b == b'\n') {
            let line: Vec<u8> = text.drain(..=end).collect();
            match serde_json::from_slice(&line) {
                Ok(Word::End) => return true,
                Ok(word) => hear(word),
                Err(_) => return false,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drop_word(file: &str) -> Word {
        Word::Drop { file: file.to_owned() }
    }

    fn heard(work: impl FnOnce(&mut dyn FnMut(&Word)), time: Duration) -> (Vec<String>, bool) {
        let mut files = Vec::new();
        let hear = |word| {
            if let Word::Drop { file } = word {
                files.push(file);
            }
        };
        let ended = run(work, hear, Instant::now() + time);
        (files, ended)
    }

    #[test]
    fn words_arrive_in_order() {
        let work = |say: &mut dyn FnMut(&Word)| (0..3000).for_each(|i| say(&drop_word(&i.to_string())));
        let (files, ended) = heard(work, Duration::from_secs(20));
        assert!(ended && files.iter().enumerate().all(|(i, f)| *f == i.to_string()) && files.len() == 3000);
    }

    #[test]
    fn a_death_loses_nothing_said_before() {
        let work = |say: &mut dyn FnMut(&Word)| {
            say(&drop_word("a"));
            // SAFETY: kills the child itself.
            unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
        };
        assert_eq!(heard(work, Duration::from_secs(20)), (vec!["a".to_owned()], false));
    }

    #[test]
    fn an_endless_child_is_killed_at_the_deadline() {
        let work = |say: &mut dyn FnMut(&Word)| {
            say(&drop_word("a"));
            std::thread::sleep(Duration::from_mins(10));
        };
        let begun = Instant::now();
        assert_eq!(heard(work, Duration::from_millis(300)), (vec!["a".to_owned()], false));
        assert!(begun.elapsed() < Duration::from_mins(1), "did not wait for it");
    }
}
