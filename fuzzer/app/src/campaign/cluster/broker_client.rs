//! A client's end of the broker_client: tells what it found, hears what others found.
//!
//! A broker may die and another take its place, or none be there for a while: the search never waits for it. What a new broker
//! must be told is everything, because it knows nothing; the broker itself drops what was said before.

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

use super::{
    BrokerInfo,
    message::{Body, Message, TAG, hash},
    shmem::{VanishingShMem, VanishingShMemProvider},
};

/// Time between two looks at what others say.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Time for an answer of the broker; it may be stopped.
const PATIENCE: Duration = Duration::from_millis(300);

/// Time between two attempts to reach it.
const RETRY: Duration = Duration::from_secs(1);

/// Evaluations on a branch that are worth telling.
const WORTH_TELLING: u64 = penfuzz_engine::stages::budget::GIVE_UP_AFTER / 16;

struct Attached {
    generation: u32,
    client: LlmpClient<VanishingShMem, VanishingShMemProvider>,
}

/// See the module.
pub struct BrokerClient {
    shm: &'static BrokerInfo,
    /// Hashes of function and sites, see [`Message`].
    function: u64,
    sites: u64,
    /// Tells clients apart, on all machines.
    me: u64,
    attached: Option<Attached>,
    told: HashSet<u64>,
    told_spent: BTreeMap<u32, u64>,
    next_look: Instant,
    next_attempt: Instant,
    is_strange: bool,
}

impl BrokerClient {
    /// For a client called `name` on a function and sites with these hashes.
    #[must_use]
    pub fn new(shm: &'static BrokerInfo, function: u64, sites: u64, name: &str) -> Self {
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let now = Instant::now();
        Self {
            shm,
            function,
            sites,
            me: hash(&(host, boot, std::process::id(), name)),
            attached: None,
            told: HashSet::new(),
            told_spent: BTreeMap::new(),
            next_look: now,
            next_attempt: now,
            is_strange: false,
        }
    }

    /// Is it time to look again?
    #[must_use]
    pub fn is_due(&self) -> bool {
        Instant::now() >= self.next_look
    }

    /// Sees to it that there is a broker to talk to, if there is one. `previous` tells how the client whose place this one
    /// takes was known to the broker, and then how this one is: [`crate::campaign::worker_shm::WorkerShm::llmp_id`].
    pub fn attach(&mut self, previous: &AtomicU64) {
        self.next_look = Instant::now() + LOOK_EVERY;
        let Some((generation, port)) = self.shm.broker() else { return };
        if self.attached.as_ref().is_some_and(|a| a.generation == generation) || Instant::now() < self.next_attempt {
            return;
        }
        self.next_attempt = Instant::now() + RETRY;
        let gone = previous.load(Ordering::Relaxed);
        // Another broker has given the number to somebody else.
        let gone = (self.attached.is_none() && (gone >> 32) as u32 == generation).then_some(ClientId(gone as u32));
        if !answers(port, gone) {
            return;
        }
        let Ok(provider) = VanishingShMemProvider::new() else { return };
        let Ok(client) = LlmpClient::create_attach_to_tcp(provider, port) else { return };
        previous.store(u64::from(generation) << 32 | u64::from(client.sender().id().0), Ordering::Relaxed);
        self.attached = Some(Attached { generation, client });
        self.told.clear();
        self.told_spent.clear();
    }

    /// Must everything be told, because nobody was?
    #[must_use]
    pub fn knows_nobody(&self) -> bool {
        self.told.is_empty()
    }

    /// What the others said since the last look.
    pub fn hear(&mut self) -> Vec<Body> {
        let mut heard = Vec::new();
        let Some(attached) = &mut self.attached else { return heard };
        let me = attached.client.sender().id();
        loop {
            match attached.client.recv_buf() {
                Ok(Some((from, TAG, bytes))) if from != me => {
                    let Some(message) = Message::decode(bytes) else { continue };
                    // It need not be told to anybody again.
                    self.told.insert(hash(bytes));
                    let is_ours = message.function == self.function;
                    self.is_strange |= !is_ours;
                    if is_ours && (message.sites == self.sites || matches!(message.body, Body::Input(_))) {
                        heard.push(message.body);
                    }
                }
                Ok(Some(_)) => {}
                Ok(None) => return heard,
                Err(_) => {
                    // Pages that make no sense: the next attempt begins anew.
                    self.attached = None;
                    return heard;
                }
            }
        }
    }

    /// Did somebody speak of another function?
    #[must_use]
    pub fn is_strange(&self) -> bool {
        self.is_strange
    }

    /// Tells the others, unless they know.
    pub fn tell(&mut self, body: Body) {
        let bytes = Message { function: self.function, sites: self.sites, body }.encode();
        let Some(attached) = &mut self.attached else { return };
        if self.told.insert(hash(&bytes[..])) && attached.client.send_buf(TAG, &bytes).is_err() {
            self.attached = None;
        }
    }

    /// Tells what was spent on branches, where it is worth telling.
    pub fn tell_spent(&mut self, spent: &[u64]) {
        if self.attached.is_none() {
            return;
        }
        let worth = |(b, n): &(u32, u64)| *n >= self.told_spent.get(b).copied().unwrap_or(0) + WORTH_TELLING;
        let branches: Vec<(u32, u64)> = (0..).zip(spent.iter().copied()).filter(worth).collect();
        if !branches.is_empty() {
            self.told_spent.extend(branches.iter().copied());
            self.tell(Body::Spent { client: self.me, branches });
        }
    }
}

/// Does the broker answer? `create_attach_to_tcp` would wait for ever. On the way, tells it of a client that is `gone`, whose
/// pages it may forget.
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
