//! Memory that a process shares with the processes that it forks.
//!
//! Rust's rules for references apply here as well. Another process may write at any time, so there is never a `&mut` to
//! such memory, and never a `&` to anything in it but atomics. Code that writes without atomics (the target, and the
//! evaluator's hot loop) gets raw pointers. Between processes, a fork and a wait for the end of a process order all
//! accesses before and after them.

use core::{
    ptr::NonNull,
    sync::atomic::{AtomicU8, Ordering},
};

/// A type that may lie in memory that several processes use at the same time.
///
/// # Safety
/// Zero bytes must be a value of the type, and all its fields must be atomics or arrays and structures of them.
pub unsafe trait Shareable: Sync {}

/// Maps a `T` of zero bytes that is shared with every process forked from now on. It is never unmapped. `None` if the
/// system has no memory.
#[must_use]
pub fn map<T: Shareable>() -> Option<&'static T> {
    // SAFETY: the mapping is as large as a `T`, aligned to a page, and never unmapped; zero is a valid value of `T`.
    // All fields are atomics, so that other references and other processes may exist.
    bytes(size_of::<T>()).map(|first| unsafe { first.cast().as_ref() })
}

/// Maps `n` zero bytes that are shared with every process forked from now on. `None` if the system has no memory.
#[must_use]
pub fn bytes(n: usize) -> Option<NonNull<u8>> {
    // SAFETY: a new anonymous mapping.
    let p = unsafe {
        libc::mmap(
            core::ptr::null_mut(),
            n,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    if p == libc::MAP_FAILED { None } else { NonNull::new(p.cast()) }
}

/// Bytes shared with children, unmapped when dropped.
#[derive(Debug)]
pub struct SharedBytes {
    first: NonNull<u8>,
    n: usize,
}

impl SharedBytes {
    /// Maps `n` zero bytes, at least 1; `None` if the system has no memory.
    #[must_use]
    pub fn map(n: usize) -> Option<Self> {
        bytes(n).map(|first| Self { first, n })
    }

    /// Pointer to the first byte, for code that writes without atomics.
    #[must_use]
    pub fn as_mut_ptr(&self) -> *mut u8 {
        self.first.as_ptr()
    }

    /// The bytes.
    #[must_use]
    pub fn cells(&self) -> &[AtomicU8] {
        // SAFETY: `n` bytes are mapped as long as `self` lives, and an `AtomicU8` has the layout of a byte.
        unsafe { core::slice::from_raw_parts(self.first.as_ptr().cast(), self.n) }
    }
}

impl Drop for SharedBytes {
    fn drop(&mut self) {
        // SAFETY: mapped by `map`; no reference outlives `self`.
        unsafe { libc::munmap(self.first.as_ptr().cast(), self.n) };
    }
}

/// A buffer of `N` bytes within a [`Shareable`] type.
#[repr(transparent)]
#[derive(Debug)]
pub struct SharedBuffer<const N: usize>([AtomicU8; N]);

// SAFETY: atomics only, and zero is a valid value of each.
unsafe impl<const N: usize> Shareable for SharedBuffer<N> {}

impl<const N: usize> SharedBuffer<N> {
    /// Pointer to the first byte, for code that writes without atomics.
    #[must_use]
    pub const fn as_mut_ptr(&self) -> *mut u8 {
        // Atomics may be written through a shared reference, so writing through the pointer is allowed as well.
        self.0.as_ptr().cast_mut().cast()
    }

    /// Writes `bytes` at `offset`. Writes nothing and returns false if they do not fit.
    #[must_use]
    pub fn write(&self, offset: usize, bytes: &[u8]) -> bool {
        let Some(cells) = offset.checked_add(bytes.len()).and_then(|end| self.0.get(offset..end)) else { return false };
        for (cell, byte) in cells.iter().zip(bytes) {
            cell.store(*byte, Ordering::Relaxed);
        }
        true
    }

    /// Reads the first `n` bytes, at most `N`.
    #[must_use]
    pub fn read(&self, n: usize) -> Vec<u8> {
        self.0.iter().take(n).map(|cell| cell.load(Ordering::Relaxed)).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::process::{fork, wait};

    #[test]
    fn a_child_writes_what_the_parent_reads() {
        let room: &SharedBuffer<8> = map().unwrap();
        let bytes = SharedBytes::map(3).unwrap();
        let pid = fork::fork(|| {
            // SAFETY: the write is within the room, and no other process writes.
            unsafe { room.as_mut_ptr().add(1).write(7) };
            bytes.cells()[2].store(9, Ordering::Relaxed);
            i32::from(!room.write(2, &[8]))
        })
        .unwrap();
        assert!(wait::wait_until(pid, Instant::now() + Duration::from_secs(20)).status.success());
        assert_eq!(room.read(4), [0, 7, 8, 0]);
        assert_eq!(bytes.cells()[2].load(Ordering::Relaxed), 9);
    }

    #[test]
    fn oversized_write_is_rejected() {
        let room: &SharedBuffer<4> = map().unwrap();
        assert!(!room.write(2, &[1, 2, 3]) && !room.write(usize::MAX, &[1]) && room.write(4, &[]));
        assert_eq!(room.read(100), [0; 4]);
    }
}
