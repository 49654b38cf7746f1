//! Shared memory that is freed also when all its processes are killed.
//!
//! LibAFL's provider removes a System V segment when its creator drops it, which SIGKILL prevents. Linux lets processes attach
//! to a segment that is already marked for removal, as long as another one is attached (shmctl(2)), and removes it with the
//! last of them: so these are marked as soon as they exist.

use core::ops::{Deref, DerefMut};

use libafl_bolts::{
    Error,
    shmem::{ShMem, ShMemId, ShMemProvider, UnixShMem, UnixShMemProvider},
};

/// LibAFL's provider, with segments that are marked for removal as soon as they exist.
#[derive(Debug, Clone, Default)]
pub struct VanishingShMemProvider(UnixShMemProvider);

/// A segment that the kernel removes with the last process attached to it.
#[derive(Debug)]
pub struct VanishingShMem(UnixShMem);

impl ShMemProvider for VanishingShMemProvider {
    type ShMem = VanishingShMem;

    fn new() -> Result<Self, Error> {
        UnixShMemProvider::new().map(Self)
    }

    fn new_shmem(&mut self, map_size: usize) -> Result<VanishingShMem, Error> {
        let segment = self.0.new_shmem(map_size)?;
        let id: i32 = segment.id().into();
        // SAFETY: a system call on a segment that this process has just made.
        if unsafe { libc::shmctl(id, libc::IPC_RMID, core::ptr::null_mut()) } != 0 {
            return Err(Error::last_os_error("cannot mark shared memory for removal"));
        }
        Ok(VanishingShMem(segment))
    }

    fn shmem_from_id_and_size(&mut self, id: ShMemId, size: usize) -> Result<VanishingShMem, Error> {
        self.0.shmem_from_id_and_size(id, size).map(VanishingShMem)
    }
}

// SAFETY: the segment inside fulfils the contract.
unsafe impl ShMem for VanishingShMem {
    fn id(&self) -> ShMemId {
        self.0.id()
    }
}

impl Deref for VanishingShMem {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl DerefMut for VanishingShMem {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attached(id: ShMemId) -> bool {
        let listing = std::fs::read_to_string("/proc/sysvipc/shm").unwrap();
        listing.lines().any(|l| l.split_whitespace().nth(1) == Some(id.as_str()))
    }

    #[test]
    fn a_segment_can_be_shared_and_then_vanishes() {
        let mut provider = VanishingShMemProvider::new().unwrap();
        let mut first = provider.new_shmem(4096).unwrap();
        let mut second = provider.shmem_from_id_and_size(first.id(), 4096).unwrap();
        first[7] = 42;
        assert_eq!(second[7], 42, "both see the same memory");
        let id = first.id();
        drop(first);
        second[8] = 1;
        assert!(attached(id), "it lives as long as one is attached");
        drop(second);
        assert!(!attached(id), "nothing is left");
    }
}
