use std::{
    io::{Read, pipe},
    os::fd::AsRawFd,
};

use super::*;
use crate::process::wait;

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(20)
}

#[test]
fn the_status_is_what_the_work_returns() {
    let pid = fork(|| 7).unwrap();
    assert_eq!(wait::wait_until(pid, soon()).status.code(), Some(7));
}

#[test]
fn a_panic_ends_the_child_and_does_not_return_to_the_parent() {
    let pid = fork(|| {
        std::panic::set_hook(Box::new(|_| ()));
        panic!("on purpose")
    })
    .unwrap();
    assert_eq!(wait::wait_until(pid, soon()).status.code(), Some(PANICKED));
}

#[test]
fn a_child_ends_with_its_parent() {
    let (mut reader, writer) = pipe().unwrap();
    let parent = fork(|| {
        let child = fork(|| {
            thread::sleep(Duration::from_mins(10));
            0
        });
        // The grandchild holds a copy of the writing end until it ends.
        i32::from(child.is_err())
    })
    .unwrap();
    drop(writer);
    assert!(wait::wait_until(parent, soon()).status.success());
    let mut text = Vec::new();
    let begun = Instant::now();
    reader.read_to_end(&mut text).unwrap();
    assert!(begun.elapsed() < Duration::from_mins(1), "the grandchild was killed");
}

/// Covers the race in which the parent ends after the fork and before the child requests the signal.
#[test]
fn a_child_whose_parent_has_ended_already_ends_at_once() {
    let (mut reader, writer) = pipe().unwrap();
    let parent = fork(|| {
        let middle = std::process::id();
        // SAFETY: as in `fork`; the grandchild makes system calls only.
        if unsafe { libc::fork() } == 0 {
            // SAFETY: system calls; the byte outlives the call.
            unsafe {
                while libc::getppid() == middle.cast_signed() {
                    libc::usleep(100);
                }
                end_with_parent(middle);
                libc::write(writer.as_raw_fd(), b"x".as_ptr().cast(), 1);
                libc::_exit(0);
            }
        }
        0
    })
    .unwrap();
    drop(writer);
    assert!(wait::wait_until(parent, soon()).status.success());
    let mut text = Vec::new();
    reader.read_to_end(&mut text).unwrap();
    assert_eq!(text, b"", "nothing ran after the call");
}

#[test]
fn threads_are_counted() {
    let before = threads();
    assert!(before >= 1);
    thread::scope(|scope| {
        let (end, ended) = std::sync::mpsc::channel::<()>();
        scope.spawn(move || ended.recv());
        // Other tests also start and end threads, so only a lower bound is checked.
        assert!(threads() > 1);
        drop(end);
    });
}
