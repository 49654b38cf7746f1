//! A client's connection to the broker: it sends the client's finds and receives those of others.
//!
//! A broker may die and be replaced, or be missing for a while: the search never waits for it. A new broker has no
//! messages, so the client sends it everything again; the broker drops duplicates.

use std::{
    collections::{BTreeMap, HashSet, VecDeque},
    os::unix::net::UnixDatagram,
    time::{Duration, Instant},
};

use penfuzz_target::hash::{StableHash, of_bytes};

use super::{
    BrokerInfo,
    message::{BRANCHES, Body, Message, Origin},
    sockets::{self, LONGEST, kind},
};

/// Time between two exchanges with the broker.
const POLL_EVERY: Duration = Duration::from_millis(50);

/// Increase in the evaluations spent on a branch after which the number is sent again.
const SPENT_STEP: u64 = penfuzz_engine::stages::budget::GIVE_UP_AFTER / 16;

/// The connection of one client, with the record of what it has sent.
pub struct BrokerClient {
    info: &'static BrokerInfo,
    socket: UnixDatagram,
    /// Hashes of the function and of its sites, see [`Message`].
    function: u64,
    sites: u64,
    /// A number that identifies this client on all machines.
    me: u64,
    /// The generation of the broker to which the client is attached; 0 for none.
    generation: u32,
    /// Hashes of the messages that were sent or received.
    sent: HashSet<u64>,
    sent_spent: BTreeMap<u32, u64>,
    /// Packets that the socket has no room for yet.
    unsent: VecDeque<Vec<u8>>,
    next_exchange: Instant,
    buffer: Vec<u8>,
}

impl BrokerClient {
    /// Creates the connection of the client `name` at this end of a socket pair. `function` and `sites` are the hashes
    /// of its function and sites.
    #[must_use]
    pub fn new(info: &'static BrokerInfo, socket: UnixDatagram, function: u64, sites: u64, name: &str) -> Self {
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        Self {
            info,
            socket,
            function,
            sites,
            me: StableHash::new().text(&host).text(&boot).u32(std::process::id()).text(name).finish(),
            generation: 0,
            sent: HashSet::new(),
            sent_spent: BTreeMap::new(),
            unsent: VecDeque::new(),
            next_exchange: Instant::now(),
            buffer: Vec::new(),
        }
    }

    /// Whether it is time for the next exchange.
    #[must_use]
    pub fn is_due(&self) -> bool {
        Instant::now() >= self.next_exchange
    }

    /// Attaches to the broker if it is a new one. Nothing counts as sent to it yet.
    pub fn attach(&mut self) {
        self.next_exchange = Instant::now() + POLL_EVERY;
        let generation = self.info.generation();
        if generation == self.generation {
            return;
        }
        self.generation = generation;
        self.sent.clear();
        self.sent_spent.clear();
        self.unsent.clear();
        self.unsent.push_back(vec![kind::HELLO]);
    }

    /// Whether nothing has been sent to this broker yet, so that all finds must be sent.
    #[must_use]
    pub fn must_send_all(&self) -> bool {
        self.sent.is_empty()
    }

    /// The messages of the other clients since the last call, each with its origin.
    pub fn receive(&mut self) -> Vec<(Origin, Body)> {
        let mut received = Vec::new();
        let mut buffer = core::mem::take(&mut self.buffer);
        // An error is permanent: the socket is closed. The client then continues alone.
        while let Ok(Some(packet)) = sockets::receive(&self.socket, &mut buffer) {
            let (origin, bytes) = match packet {
                [kind::LOCAL, bytes @ ..] => (Origin::Local, bytes),
                [kind::REMOTE, bytes @ ..] => (Origin::Remote, bytes),
                _ => continue,
            };
            let Some(message) = Message::decode(bytes) else { continue };
            // Marked as sent, so that it is not sent back.
            self.sent.insert(of_bytes(bytes));
            if message.function == self.function && (message.sites == self.sites || message.body.is_input()) {
                received.push((origin, message.body));
            }
        }
        self.buffer = buffer;
        received
    }

    /// Sends a message to the other clients, unless it was sent or received before, or is too long for a packet.
    pub fn send(&mut self, body: Body) {
        let bytes = Message { function: self.function, sites: self.sites, body }.encode();
        if self.generation == 0 || bytes.len() >= LONGEST || !self.sent.insert(of_bytes(&bytes)) {
            return;
        }
        self.unsent.push_back([&[kind::LOCAL][..], &bytes].concat());
        self.flush();
    }

    /// Sends waiting packets as long as the socket has room.
    pub fn flush(&mut self) {
        while let Some(packet) = self.unsent.front() {
            match sockets::send(&self.socket, packet) {
                Ok(true) => self.unsent.pop_front(),
                Ok(false) | Err(_) => return,
            };
        }
    }

    /// Sends the evaluations spent on each branch, for branches where they have grown by [`SPENT_STEP`].
    pub fn send_spent(&mut self, spent: &[u64]) {
        if self.generation == 0 {
            return;
        }
        let has_grown = |(b, n): &(u32, u64)| *n >= self.sent_spent.get(b).copied().unwrap_or(0) + SPENT_STEP;
        let branches: Vec<(u32, u64)> = (0..).zip(spent.iter().copied()).filter(has_grown).collect();
        self.sent_spent.extend(branches.iter().copied());
        for part in branches.chunks(BRANCHES) {
            self.send(Body::Spent { client: self.me, branches: part.to_vec() });
        }
    }
}
