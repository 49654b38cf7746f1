//! The broker: a process that forwards the finds of each client to all others.
//!
//! It keeps all messages without duplicates, and sends all of them to a client that attaches. Therefore a client may
//! send all its finds again whenever the client or the broker is new, or a link to another machine was interrupted. The
//! broker does not interpret messages: it only marks those that come from other machines.

use core::{convert::Infallible, sync::atomic::Ordering};
use std::{
    collections::{BTreeMap, HashSet},
    io,
    net::TcpListener,
    os::unix::net::UnixDatagram,
    sync::{
        Arc,
        mpsc::{Receiver, Sender, channel},
    },
    thread,
};

use penfuzz_error::Error;
use penfuzz_target::hash::StableHash;

use super::{
    BrokerInfo,
    peer_link::{self, LinkEvent, Links},
    secret::Secret,
    sockets::{self, LONGEST, kind},
};
use crate::worker_shm::WorkerShm;

/// Maximum wait for packets of clients, in milliseconds. It bounds the interval between two heartbeats, and between two
/// reads of the links.
const WAIT: i32 = 10;

/// The origin of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    Client(usize),
    Link(u64),
}

/// The broker's connection to a client, which may not have attached yet.
#[derive(Debug)]
struct ClientSlot {
    socket: UnixDatagram,
    /// Index of the next message to send to the client; `None` until it sends a hello.
    next: Option<usize>,
    /// The client's own messages from this index on are not sent to it. Earlier ones are those of a client that it
    /// replaces.
    own_from: usize,
    /// The socket has no room for further packets.
    is_blocked: bool,
}

/// All messages so far, and the position of each client among them.
#[derive(Debug)]
struct Broker {
    seats: Vec<ClientSlot>,
    links: BTreeMap<u64, Sender<Arc<[u8]>>>,
    log: Vec<(Source, Arc<[u8]>)>,
    known: HashSet<u64>,
    buffer: Vec<u8>,
}

impl Broker {
    fn new(ends: Vec<UnixDatagram>) -> Self {
        let seat = |socket| ClientSlot { socket, next: None, own_from: 0, is_blocked: false };
        Self {
            seats: ends.into_iter().map(seat).collect(),
            links: BTreeMap::new(),
            log: Vec::new(),
            known: HashSet::new(),
            buffer: Vec::new(),
        }
    }

    fn note(&mut self, source: Source, message: &[u8]) {
        if message.is_empty() || message.len() > LONGEST - 1 {
            return;
        }
        // The same message from another machine and from a client counts as two: clients trust only the second one.
        let is_remote = matches!(source, Source::Link(_));
        if !self.known.insert(StableHash::new().flag(is_remote).bytes(message).finish()) {
            return;
        }
        let message: Arc<[u8]> = message.into();
        for (_, link) in self.links.iter().filter(|(id, _)| Source::Link(**id) != source) {
            // Fails if the link has just broken; its successor receives all messages.
            let _ = link.send(Arc::clone(&message));
        }
        self.log.push((source, message));
    }

    fn receive_from_clients(&mut self) -> io::Result<()> {
        let mut buffer = core::mem::take(&mut self.buffer);
        for i in 0..self.seats.len() {
            while let Some(packet) = sockets::receive(&self.seats[i].socket, &mut buffer)? {
                match packet {
                    [kind::HELLO] => (self.seats[i].next, self.seats[i].own_from) = (Some(0), self.log.len()),
                    [kind::LOCAL, message @ ..] => self.note(Source::Client(i), message),
                    _ => {}
                }
            }
        }
        self.buffer = buffer;
        Ok(())
    }

    fn receive_from_links(&mut self, incoming: &Receiver<LinkEvent>) {
        while let Ok(event) = incoming.try_recv() {
            match event {
                LinkEvent::Joined { id, to } => {
                    for (_, message) in &self.log {
                        let _ = to.send(Arc::clone(message));
                    }
                    self.links.insert(id, to);
                }
                LinkEvent::Message { id, message } => self.note(Source::Link(id), &message),
                LinkEvent::Left { id } => {
                    self.links.remove(&id);
                }
            }
        }
    }

    fn send_to_clients(&mut self) -> io::Result<()> {
        for (i, seat) in self.seats.iter_mut().enumerate() {
            seat.is_blocked = false;
            while let Some((next, (source, message))) = seat.next.and_then(|next| Some((next, self.log.get(next)?))) {
                let is_own = *source == Source::Client(i) && next >= seat.own_from;
                if !is_own {
                    let origin = if matches!(source, Source::Link(_)) { kind::REMOTE } else { kind::LOCAL };
                    self.buffer.clear();
                    self.buffer.push(origin);
                    self.buffer.extend_from_slice(message);
                    if !sockets::send(&seat.socket, &self.buffer)? {
                        seat.is_blocked = true;
                        break;
                    }
                }
                seat.next = Some(next + 1);
            }
        }
        Ok(())
    }
}

/// The parameters of the broker that come from the supervisor.
pub struct BrokerConfig<'a> {
    /// The port for brokers of other machines.
    pub public: Option<TcpListener>,
    /// Addresses of the brokers that this one connects to.
    pub remote: &'a [String],
    /// The secret that all machines share.
    pub secret: Secret,
    /// Memory for messages to the user.
    pub shm: &'static WorkerShm,
}

/// Runs the broker of the clients connected to `ends` in this process. It returns only on an error.
///
/// # Errors
/// When a socket cannot be used: another broker should replace this one.
pub fn run(info: &'static BrokerInfo, ends: Vec<UnixDatagram>, outside: BrokerConfig) -> Result<Infallible, Error> {
    let failed = |e: io::Error| Error::because("the broker fails", e);
    let (to_broker, incoming) = channel();
    let links = Arc::new(Links::new(info, to_broker, outside.secret, outside.shm));
    if let Some(public) = outside.public {
        let links = Arc::clone(&links);
        thread::spawn(move || peer_link::accept(&public, &links));
    }
    for address in outside.remote {
        let (address, links) = (address.clone(), Arc::clone(&links));
        thread::spawn(move || peer_link::connect(&address, &links));
    }
    let mut broker = Broker::new(ends);
    info.announce();
    loop {
        sockets::wait(broker.seats.iter().map(|seat| (&seat.socket, seat.is_blocked)), WAIT);
        broker.receive_from_clients().map_err(failed)?;
        broker.receive_from_links(&incoming);
        broker.send_to_clients().map_err(failed)?;
        info.beat.fetch_add(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
#[path = "broker_tests.rs"]
mod tests;
