//! A client's connection to the broker: sends what it found, receives what others found.
//!
//! A broker may die and be replaced, or be missing for a while: the search never waits for it. A new broker has no messages, so
//! it is sent everything; it drops repeated messages itself.

use core::sync::atomic::{AtomicU64, Ordering};
use std::{
    collections::{BTreeMap, HashSet},
    io::Read,
    net::{Ipv4Addr, SocketAddr, TcpStream},
    time::{Duration, Instant},
};

use libafl_bolts::{
    ClientId,
    llmp::{LlmpClient, TcpRequest, send_tcp_msg},
    shmem::ShMemProvider,
};

use penfuzz_engine::hash::{StableHash, of_bytes};

use super::{
    BrokerInfo,
    message::{Body, Message, TAG},
    shmem::{VanishingShMem, VanishingShMemProvider},
};

/// Time between two exchanges with the broker.
const POLL_EVERY: Duration = Duration::from_millis(50);

/// Time for an answer of the broker; it may be stopped.
const PATIENCE: Duration = Duration::from_millis(300);

/// Time between two attempts to attach.
const RETRY: Duration = Duration::from_secs(1);

/// Evaluations on a branch after which they are sent again.
const SPENT_STEP: u64 = penfuzz_engine::stages::budget::GIVE_UP_AFTER / 16;

struct Attached {
    generation: u32,
    client: LlmpClient<VanishingShMem, VanishingShMemProvider>,
}

/// The connection of one client, and what it has sent over it.
pub struct BrokerClient {
    info: &'static BrokerInfo,
    /// Hashes of function and sites, see [`Message`].
    function: u64,
    sites: u64,
    /// Identifies this client on all machines.
    me: u64,
    attached: Option<Attached>,
    /// Hashes of the messages that were sent or received.
    sent: HashSet<u64>,
    sent_spent: BTreeMap<u32, u64>,
    next_exchange: Instant,
    next_attempt: Instant,
    is_strange: bool,
}

impl BrokerClient {
    /// For a client called `name` on a function and sites with these hashes.
    #[must_use]
    pub fn new(info: &'static BrokerInfo, function: u64, sites: u64, name: &str) -> Self {
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let now = Instant::now();
        Self {
            info,
            function,
            sites,
            me: StableHash::new().text(&host).text(&boot).u32(std::process::id()).text(name).finish(),
            attached: None,
            sent: HashSet::new(),
            sent_spent: BTreeMap::new(),
            next_exchange: now,
            next_attempt: now,
            is_strange: false,
        }
    }

    /// Is it time for the next exchange?
    #[must_use]
    pub fn is_due(&self) -> bool {
        Instant::now() >= self.next_exchange
    }

    /// Attaches to the broker, if there is a new one. `llmp_id` ([`crate::campaign::worker_shm::WorkerShm::llmp_id`]) holds the
    /// number of the client that this one replaces, and then the number of this one.
    pub fn attach(&mut self, llmp_id: &AtomicU64) {
        self.next_exchange = Instant::now() + POLL_EVERY;
        let Some((generation, port)) = self.info.broker() else { return };
        if self.attached.as_ref().is_some_and(|a| a.generation == generation) || Instant::now() < self.next_attempt {
            return;
        }
        self.next_attempt = Instant::now() + RETRY;
        let gone = llmp_id.load(Ordering::Relaxed);
        // A number of another broker belongs to another client now.
        let gone = (self.attached.is_none() && (gone >> 32) as u32 == generation).then_some(ClientId(gone as u32));
        if !answers(port, gone) {
            return;
        }
        let Ok(provider) = VanishingShMemProvider::new() else { return };
        let Ok(client) = LlmpClient::create_attach_to_tcp(provider, port) else { return };
        llmp_id.store(u64::from(generation) << 32 | u64::from(client.sender().id().0), Ordering::Relaxed);
        self.attached = Some(Attached { generation, client });
        self.sent.clear();
        self.sent_spent.clear();
    }

    /// Has nothing been sent to this broker yet, so that everything must be?
    #[must_use]
    pub fn must_send_all(&self) -> bool {
        self.sent.is_empty()
    }

    /// The messages of the other clients since the last call.
    pub fn receive(&mut self) -> Vec<Body> {
        let mut received = Vec::new();
        let Some(attached) = &mut self.attached else { return received };
        let me = attached.client.sender().id();
        loop {
            match attached.client.recv_buf() {
                Ok(Some((from, TAG, bytes))) if from != me => {
                    let Some(message) = Message::decode(bytes) else { continue };
                    // It is not sent back.
                    self.sent.insert(of_bytes(bytes));
                    let is_ours = message.function == self.function;
                    self.is_strange |= !is_ours;
                    if is_ours && (message.sites == self.sites || matches!(message.body, Body::Input(_))) {
                        received.push(message.body);
                    }
                }
                Ok(Some(_)) => {}
                Ok(None) => return received,
                Err(_) => {
                    // The pages cannot be read: the next exchange attaches again.
                    self.attached = None;
                    return received;
                }
            }
        }
    }

    /// Has a client sent messages about another function?
    #[must_use]
    pub fn is_strange(&self) -> bool {
        self.is_strange
    }

    /// Sends a message to the other clients, unless it was sent or received before.
    pub fn send(&mut self, body: Body) {
        let bytes = Message { function: self.function, sites: self.sites, body }.encode();
        let Some(attached) = &mut self.attached else { return };
        if self.sent.insert(of_bytes(&bytes)) && attached.client.send_buf(TAG, &bytes).is_err() {
            self.attached = None;
        }
    }

    /// Sends the evaluations spent on each branch, where they have grown by [`SPENT_STEP`].
    pub fn send_spent(&mut self, spent: &[u64]) {
        if self.attached.is_none() {
            return;
        }
        let has_grown = |(b, n): &(u32, u64)| *n >= self.sent_spent.get(b).copied().unwrap_or(0) + SPENT_STEP;
        let branches: Vec<(u32, u64)> = (0..).zip(spent.iter().copied()).filter(has_grown).collect();
        if !branches.is_empty() {
            self.sent_spent.extend(branches.iter().copied());
            self.send(Body::Spent { client: self.me, branches });
        }
    }
}

/// Does the broker answer? `create_attach_to_tcp` would wait for ever. Also sends it the number of a client that is `gone`, whose
/// pages it may unmap.
fn answers(port: u16, gone: Option<ClientId>) -> bool {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let Ok(mut stream) = TcpStream::connect_timeout(&address, PATIENCE) else { return false };
    let in_time = stream.set_read_timeout(Some(PATIENCE)).is_ok() && stream.set_write_timeout(Some(PATIENCE)).is_ok();
    let mut length = [0; 4];
    let greeted = in_time && stream.read_exact(&mut length).is_ok();
    if greeted && let Some(client_id) = gone {
        return send_tcp_msg(&mut stream, &TcpRequest::ClientQuit { client_id }).is_ok();
    }
    greeted
}
