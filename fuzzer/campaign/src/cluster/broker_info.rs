//! Memory that supervisor, broker and clients share: which broker it is, and the state of its links.
//!
//! The supervisor writes the public port before the first fork; only the broker writes the rest. At most one broker lives.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use penfuzz_error::Error;
use penfuzz_system::process::shared_memory::{self, Shareable};

use crate::worker_shm::Text;

/// Links that are shown. Further ones work as well.
pub const PEERS: usize = 16;

/// A link to another machine.
#[repr(C)]
#[derive(Debug)]
pub struct PeerCell {
    /// 0 for a free cell, 1 for one that waits for a connection, 2 for a connected one.
    pub state: AtomicU32,
    /// Finds received.
    pub received: AtomicU64,
    /// Its address.
    pub address: Text,
}

/// The shared memory of a farm, mapped once and for ever. All zero at first.
#[repr(C)]
#[derive(Debug)]
pub struct BrokerInfo {
    /// Incremented by every broker once it reads messages; 0 before the first.
    generation: AtomicU32,
    /// Counts the broker's polls of the clients, as a sign of life.
    pub beat: AtomicU64,
    /// The port where brokers of other machines may connect; 0 for none.
    pub public_port: AtomicU32,
    /// The links.
    pub peers: [PeerCell; PEERS],
}

// SAFETY: atomics and arrays and structures of them, for which zero is a value.
unsafe impl Shareable for BrokerInfo {}

impl BrokerInfo {
    /// Maps one that children inherit. It is never unmapped.
    ///
    /// # Errors
    /// When the system has no memory to share.
    pub fn map() -> Result<&'static Self, Error> {
        shared_memory::map().ok_or_else(|| Error::new("cannot share memory between the clients"))
    }

    /// Publishes that a new broker reads messages.
    pub fn announce(&self) {
        self.generation.fetch_add(1, Ordering::Release);
    }

    /// The generation of the broker; 0 before the first.
    #[must_use]
    pub fn generation(&self) -> u32 {
        self.generation.load(Ordering::Acquire)
    }

    /// The cell of a peer, by its address: the one it had before, or a free one. `None` when all are used.
    #[must_use]
    pub fn peer(&self, address: &str) -> Option<&PeerCell> {
        let known = self.peers.iter().find(|p| p.address.get().as_deref() == Some(address));
        known.or_else(|| {
            let free = |p: &&PeerCell| p.state.compare_exchange(0, 1, Ordering::AcqRel, Ordering::Relaxed).is_ok();
            let cell = self.peers.iter().find(free)?;
            cell.address.set(address);
            Some(cell)
        })
    }
}
