//! A page of memory that supervisor, broker and clients share: where the broker is, and what its links do.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use penfuzz_engine::error::Error;

use crate::{campaign::worker_shm::Text, process::shared_memory};

/// Links that are shown; more work, but are not shown.
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

/// See the module. All zero at first.
#[repr(C)]
#[derive(Debug)]
pub struct BrokerInfo {
    /// Raised by every broker once it can be reached; 0 before the first.
    generation: AtomicU32,
    /// The port on the loopback device where clients attach.
    port: AtomicU32,
    /// Counts the broker's looks at the clients, so that it is known to live.
    pub beat: AtomicU64,
    /// The port where brokers of other machines may connect; 0 for none.
    pub public_port: AtomicU32,
    /// The links.
    pub peers: [PeerCell; PEERS],
}

impl BrokerInfo {
    /// Maps one that children inherit. It is never unmapped.
    ///
    /// # Errors
    /// When the system has no memory to share.
    pub fn map() -> Result<&'static Self, Error> {
        let page =
            shared_memory::zeroed::<Self>().ok_or_else(|| Error::new("cannot share memory between the clients"))?;
        // SAFETY: a fresh mapping of the right size; zero is valid for every field.
        Ok(unsafe { &*page.as_ptr() })
    }

    /// The broker can be reached at `port`.
    pub fn announce(&self, port: u16) {
        self.port.store(u32::from(port), Ordering::Relaxed);
        self.generation.fetch_add(1, Ordering::Release);
    }

    /// Which broker there is, and its port; `None` before the first.
    #[must_use]
    pub fn broker(&self) -> Option<(u32, u16)> {
        let generation = self.generation.load(Ordering::Acquire);
        (generation > 0).then(|| (generation, self.port.load(Ordering::Relaxed) as u16))
    }

    /// The cell of a peer, by its address: the one it had, or a free one.
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
