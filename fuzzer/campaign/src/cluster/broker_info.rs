//! Memory that supervisor, broker and clients share: the generation of the broker, and the state of its links.
//!
//! The supervisor writes the public port before the first fork; only the broker writes the rest. At most one broker
//! lives at a time.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use penfuzz_error::Error;
use penfuzz_system::process::shared_memory::{self, Shareable};

use crate::worker_shm::Text;

/// Maximum number of links that are displayed. Further links work as well.
pub const PEERS: usize = 16;

/// The displayed state of a link to another machine.
#[repr(C)]
#[derive(Debug)]
pub struct PeerCell {
    /// 0 for a free cell, 1 for a link that waits for a connection, 2 for a connected link.
    pub state: AtomicU32,
    /// Number of finds received.
    pub received: AtomicU64,
    /// The address of the other machine.
    pub address: Text,
}

/// The shared memory of a farm. Mapped once and never unmapped; initially all zero.
#[repr(C)]
#[derive(Debug)]
pub struct BrokerInfo {
    /// Incremented by every broker once it reads messages; 0 before the first.
    generation: AtomicU32,
    /// Heartbeat: counts the broker's polls of the clients.
    pub beat: AtomicU64,
    /// The port on which brokers of other machines may connect; 0 for none.
    pub public_port: AtomicU32,
    /// The links.
    pub peers: [PeerCell; PEERS],
}

// SAFETY: all fields are atomics, or arrays and structures of atomics, for which zero is a valid value.
unsafe impl Shareable for BrokerInfo {}

impl BrokerInfo {
    /// Maps the memory, which child processes inherit. It is never unmapped.
    ///
    /// # Errors
    /// When the system cannot provide shared memory.
    pub fn map() -> Result<&'static Self, Error> {
        shared_memory::map().ok_or_else(|| Error::new("cannot share memory between the clients"))
    }

    /// Announces that a new broker reads messages.
    pub fn announce(&self) {
        self.generation.fetch_add(1, Ordering::Release);
    }

    /// The generation of the broker; 0 before the first one.
    #[must_use]
    pub fn generation(&self) -> u32 {
        self.generation.load(Ordering::Acquire)
    }

    /// The cell of a peer, by its address: its previous cell, or a free one. `None` if all cells are in use.
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
