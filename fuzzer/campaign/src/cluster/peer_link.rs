//! Links between the brokers of several machines.
//!
//! LLMP's links between brokers are not used: they have no authentication, do not reconnect, and lose their position in
//! the stream when a message arrives slowly. A link here is an encrypted connection ([`SecureConnection`]), served by
//! its own thread. It detects within half a minute that the other side is gone, and reconnects. No message is lost: a
//! broker sends all messages over a new link, and the other broker drops duplicates.

use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::{
    collections::{HashSet, VecDeque},
    io::{self, ErrorKind},
    net::{IpAddr, Shutdown, TcpListener, TcpStream, ToSocketAddrs},
    os::fd::AsRawFd,
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{self, RecvTimeoutError, channel},
    },
    thread,
    time::{Duration, Instant},
};

use super::{
    BrokerInfo,
    broker_info::PeerCell,
    secret::{Secret, SecureConnection, Side},
};
use crate::worker_shm::WorkerShm;

/// First and longest pause before the next attempt to connect.
const RETRY: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(10));

/// Time for connecting, for the handshake, and for the first message.
const PATIENCE: Duration = Duration::from_secs(10);

/// TCP keep-alive: seconds of silence before the first probe, seconds between probes, and number of probes.
const KEEP_ALIVE: (i32, i32, i32) = (10, 5, 3);

/// Maximum time in milliseconds for which sent bytes may stay unacknowledged.
const UNCONFIRMED: i32 = 25_000;

/// Time between two checks that the other side is still connected.
const POLL_EVERY: Duration = Duration::from_millis(200);

/// Maximum number of machines that may be connected at once.
const MOST_PEERS: usize = 64;

/// Maximum number of handshakes in progress. A further handshake ends the oldest, which must be that of a stranger:
/// between machines with the same secret, a handshake takes milliseconds.
const HANDSHAKES: usize = 64;

/// An event that a link sends to the broker.
#[derive(Debug)]
pub enum LinkEvent {
    /// A new link is connected, and must receive all messages.
    Joined {
        /// The number of the link.
        id: u64,
        /// The channel for messages to the link.
        to: mpsc::Sender<Arc<[u8]>>,
    },
    /// A message has arrived.
    Message {
        /// The number of the link.
        id: u64,
        /// The message.
        message: Vec<u8>,
    },
    /// The link is broken.
    Left {
        /// The number of the link.
        id: u64,
    },
}

/// The state that all links of a broker share.
pub struct Links {
    info: &'static BrokerInfo,
    to_broker: mpsc::Sender<LinkEvent>,
    secret: Secret,
    next_id: AtomicU64,
    accepted: AtomicUsize,
    /// Numbers and connections of the handshakes in progress, the oldest first.
    handshakes: Mutex<VecDeque<(u64, TcpStream)>>,
    warnings: Mutex<Warnings>,
}

/// Sends warnings to the user, each only once.
struct Warnings {
    shm: &'static WorkerShm,
    sent: HashSet<String>,
}

/// Maximum number of warnings sent: connections of strangers must not fill the memory.
const WARNINGS: usize = 64;

impl Links {
    /// Creates the shared state. The links send incoming messages `to_broker`, and warnings to the user to `shm`.
    #[must_use]
    pub fn new(
        info: &'static BrokerInfo,
        to_broker: mpsc::Sender<LinkEvent>,
        secret: Secret,
        shm: &'static WorkerShm,
    ) -> Self {
        Self {
            info,
            to_broker,
            secret,
            next_id: AtomicU64::new(0),
            accepted: AtomicUsize::new(0),
            handshakes: Mutex::default(),
            warnings: Mutex::new(Warnings { shm, sent: HashSet::new() }),
        }
    }

    fn warn(&self, message: &str) {
        let mut warnings = self.warnings.lock().unwrap_or_else(PoisonError::into_inner);
        if warnings.sent.len() < WARNINGS && warnings.sent.insert(message.to_owned()) {
            warnings.shm.warn(message);
        }
    }

    /// Registers a handshake; returns its number.
    fn begin_handshake(&self, stream: &TcpStream) -> io::Result<u64> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let mut all = self.handshakes.lock().unwrap_or_else(PoisonError::into_inner);
        all.push_back((id, stream.try_clone()?));
        if all.len() > HANDSHAKES
            && let Some((_, oldest)) = all.pop_front()
        {
            // The thread of that handshake then fails.
            let _ = oldest.shutdown(Shutdown::Both);
        }
        Ok(id)
    }

    fn end_handshake(&self, id: u64) {
        self.handshakes.lock().unwrap_or_else(PoisonError::into_inner).retain(|(other, _)| *other != id);
    }
}

/// Maintains a link to the broker at `address`. Never returns.
pub fn connect(address: &str, links: &Links) {
    let cell = links.info.peer(address);
    let mut pause = RETRY.0;
    loop {
        match open(address).and_then(|stream| connect_securely(stream, Side::Connects, links)) {
            Ok(link) => {
                pause = RETRY.0;
                exchange(link, links, cell);
            }
            Err(e) if matches!(e.kind(), ErrorKind::PermissionDenied | ErrorKind::UnexpectedEof) => {
                links.warn(&format!(
                    "the broker at {address} refuses the connection; check that its --broker-secret is the same; \
                     trying again"
                ));
            }
            Err(_) => {}
        }
        thread::sleep(pause);
        pause = (pause * 2).min(RETRY.1);
    }
}

/// Accepts links from other machines. Never returns.
pub fn accept(listener: &TcpListener, links: &Arc<Links>) {
    loop {
        let Ok((stream, from)) = listener.accept() else {
            // For example, no file descriptor is free.
            thread::sleep(RETRY.0);
            continue;
        };
        let Ok(handshake) = links.begin_handshake(&stream) else { continue };
        let links = Arc::clone(links);
        thread::spawn(move || {
            let link = connect_securely(stream, Side::Accepts, &links);
            links.end_handshake(handshake);
            match link {
                Ok(link) => serve(link, from.ip(), &links),
                Err(e) if e.kind() == ErrorKind::PermissionDenied => links.warn(&format!(
                    "a connection from {} is refused: it has another --broker-secret, or is not penfuzz",
                    from.ip()
                )),
                Err(_) => {}
            }
        });
    }
}

fn serve(link: Link, from: IpAddr, links: &Links) {
    if links.accepted.fetch_add(1, Ordering::Relaxed) < MOST_PEERS {
        exchange(link, links, links.info.peer(&from.to_string()));
    }
    links.accepted.fetch_sub(1, Ordering::Relaxed);
}

fn open(address: &str) -> io::Result<TcpStream> {
    let mut last = io::Error::other("the name has no address");
    for candidate in address.to_socket_addrs()? {
        match TcpStream::connect_timeout(&candidate, PATIENCE) {
            Ok(stream) => return Ok(stream),
            Err(e) => last = e,
        }
    }
    Err(last)
}

/// A connection on which the other side has proved that it knows the secret.
struct Link {
    sealed: SecureConnection,
    sender: super::secret::Sender,
    receiver: super::secret::Receiver,
}

/// Performs the handshake, and exchanges an empty message in both directions.
fn connect_securely(stream: TcpStream, side: Side, links: &Links) -> io::Result<Link> {
    enable_keep_alive(&stream)?;
    let sealed = SecureConnection::new(stream, side, &links.secret, PATIENCE)?;
    let (mut sender, mut receiver) = (sealed.sender(), sealed.receiver());
    sender.send(&[])?;
    receiver.receive(Some(Instant::now() + PATIENCE))?;
    Ok(Link { sealed, sender, receiver })
}

/// Exchanges messages until the link breaks.
fn exchange(link: Link, links: &Links, cell: Option<&PeerCell>) {
    let set = |state| {
        if let Some(cell) = cell {
            cell.state.store(state, Ordering::Relaxed);
        }
    };
    let Link { sealed, mut sender, mut receiver } = link;
    let (to, outgoing) = channel();
    let id = links.next_id.fetch_add(1, Ordering::Relaxed);
    if links.to_broker.send(LinkEvent::Joined { id, to }).is_err() {
        return;
    }
    set(2);
    thread::scope(|scope| {
        let reader = scope.spawn(|| {
            while let Ok(message) = receiver.receive(None) {
                if links.to_broker.send(LinkEvent::Message { id, message: message.to_vec() }).is_err() {
                    return;
                }
                if let Some(cell) = cell {
                    cell.received.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
        while !reader.is_finished() {
            match outgoing.recv_timeout(POLL_EVERY) {
                Ok(message) if sender.send(&message).is_err() => break,
                Ok(_) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        let _ = sealed.stream().shutdown(Shutdown::Both);
    });
    set(1);
    let _ = links.to_broker.send(LinkEvent::Left { id });
}

/// Makes the kernel close the connection if the other side disappears without closing it.
fn enable_keep_alive(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let set = |level, name, value: i32| {
        // SAFETY: a system call on an open socket, with the address and size of a local variable.
        let done = unsafe {
            libc::setsockopt(stream.as_raw_fd(), level, name, (&raw const value).cast(), size_of::<i32>() as u32)
        };
        if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    };
    set(libc::SOL_SOCKET, libc::SO_KEEPALIVE, 1)?;
    set(libc::IPPROTO_TCP, libc::TCP_KEEPIDLE, KEEP_ALIVE.0)?;
    set(libc::IPPROTO_TCP, libc::TCP_KEEPINTVL, KEEP_ALIVE.1)?;
    set(libc::IPPROTO_TCP, libc::TCP_KEEPCNT, KEEP_ALIVE.2)?;
    set(libc::IPPROTO_TCP, libc::TCP_USER_TIMEOUT, UNCONFIRMED)
}
