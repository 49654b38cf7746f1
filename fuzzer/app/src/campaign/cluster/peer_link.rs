//! Links between the brokers of several machines.
//!
//! What goes over the wire is LLMP's broker-to-broker protocol. Its own end of it is not used: it forgets a link that breaks,
//! loses its place in the stream when a message arrives slowly, and would offer other machines the shared memory of this one.
//! This end is a client of the broker; it notices a dead link within half a minute and connects again. Nothing is lost by that:
//! the broker tells a new client everything, and the other one drops what it knows.

use core::sync::atomic::Ordering;
use std::{
    collections::HashSet,
    io::{self, Read, Write},
    net::{Shutdown, TcpListener, TcpStream, ToSocketAddrs},
    os::fd::AsRawFd,
    sync::mpsc::{Receiver, TryRecvError, channel},
    thread,
    time::Duration,
};

use libafl_bolts::{
    ClientId,
    llmp::{BrokerId, Flags, LlmpClient, Tag, TcpRequest, TcpResponse},
    shmem::{ShMemDescription, ShMemProvider},
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{
    BrokerInfo,
    broker_info::PeerCell,
    message::{TAG, hash},
    shmem::{VanishingShMem, VanishingShMemProvider},
};

/// First and longest pause before a further attempt to connect.
const RETRY: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(10));

/// Time for connecting, and for an answer during the greeting.
const PATIENCE: Duration = Duration::from_secs(10);

/// Seconds of silence after which the other side is asked whether it lives, between two such questions, and their number.
const ALIVE: (i32, i32, i32) = (10, 5, 3);

/// Milliseconds that what was sent may stay unconfirmed.
const UNCONFIRMED: i32 = 25_000;

/// Longest message taken from the wire, in bytes.
const LONGEST: u32 = 1 << 24;

/// Pause between two looks at broker and wire.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Machines that may be connected at once.
const MOST_PEERS: usize = 64;

/// LLMP's `TcpRemoteNewMessage`, whose members are private.
#[derive(Serialize, Deserialize)]
struct Message {
    client_id: ClientId,
    tag: Tag,
    flags: Flags,
    payload: Vec<u8>,
}

/// Keeps up a link to the broker at `address`, for ever; `port` is that of the own broker on the loopback device.
pub fn connect(address: &str, port: u16, shm: &'static BrokerInfo) {
    let cell = shm.peer(address);
    let mut pause = RETRY.0;
    loop {
        let connected = dial(address).and_then(|mut stream| greet(&mut stream).map(|()| stream));
        if let Ok(stream) = connected {
            pause = RETRY.0;
            let _ = pump(&stream, port, cell);
        }
        thread::sleep(pause);
        pause = (pause * 2).min(RETRY.1);
    }
}

/// Takes links from other machines, for ever.
pub fn accept(listener: &TcpListener, port: u16, shm: &'static BrokerInfo) {
    static LINKS: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    loop {
        let Ok((mut stream, from)) = listener.accept() else {
            thread::sleep(RETRY.0);
            continue;
        };
        if LINKS.load(Ordering::Relaxed) >= MOST_PEERS {
            continue;
        }
        LINKS.fetch_add(1, Ordering::Relaxed);
        thread::spawn(move || {
            if welcome(&mut stream).is_ok() {
                let _ = pump(&stream, port, shm.peer(&from.ip().to_string()));
            }
            LINKS.fetch_sub(1, Ordering::Relaxed);
        });
    }
}

fn dial(address: &str) -> io::Result<TcpStream> {
    let mut last = io::Error::other("the name has no address");
    for candidate in address.to_socket_addrs()? {
        match TcpStream::connect_timeout(&candidate, PATIENCE) {
            Ok(stream) => return Ok(stream),
            Err(e) => last = e,
        }
    }
    Err(last)
}

/// The greeting of the side that connected.
fn greet(stream: &mut TcpStream) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    let TcpResponse::BrokerConnectHello { .. } = receive(stream)? else {
        return Err(io::Error::other("no broker"));
    };
    send(stream, &TcpRequest::RemoteBrokerHello { hostname: hostname() })?;
    let TcpResponse::RemoteBrokerAccepted { .. } = receive(stream)? else {
        return Err(io::Error::other("refused"));
    };
    Ok(())
}

/// The greeting of the side that was called. Only brokers are let in: a client would share its memory with us.
fn welcome(stream: &mut TcpStream) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    let broker_shmem_description = ShMemDescription::from_string_and_size("", 0);
    send(stream, &TcpResponse::BrokerConnectHello { broker_shmem_description, hostname: hostname() })?;
    if let TcpRequest::RemoteBrokerHello { .. } = receive(stream)? {
        return send(stream, &TcpResponse::RemoteBrokerAccepted { broker_id: BrokerId(1) });
    }
    send(stream, &TcpResponse::Error { description: "only brokers may connect here".to_owned() })?;
    Err(io::Error::other("no broker"))
}

/// Carries messages both ways until the link breaks.
fn pump(stream: &TcpStream, port: u16, cell: Option<&PeerCell>) -> io::Result<()> {
    watch_over(stream)?;
    let provider = VanishingShMemProvider::new().map_err(io::Error::other)?;
    let mut broker: LlmpClient<VanishingShMem, _> =
        LlmpClient::create_attach_to_tcp(provider, port).map_err(io::Error::other)?;
    if let Some(cell) = cell {
        cell.state.store(2, Ordering::Relaxed);
    }
    let (arrived, incoming) = channel();
    let mut reading = stream.try_clone()?;
    let reader = thread::spawn(move || {
        while let Ok(message) = receive::<Message>(&mut reading) {
            if message.tag == TAG && arrived.send(message.payload).is_err() {
                break;
            }
        }
    });
    let end = carry(&mut broker, stream, &incoming, cell);
    if let Some(cell) = cell {
        cell.state.store(1, Ordering::Relaxed);
    }
    let _ = stream.shutdown(Shutdown::Both);
    let _ = reader.join();
    // The broker forgets this client, and unmaps its page.
    let _ = broker.sender_mut().send_exiting();
    end
}

fn carry(
    broker: &mut LlmpClient<VanishingShMem, VanishingShMemProvider>,
    mut stream: &TcpStream,
    incoming: &Receiver<Vec<u8>>,
    cell: Option<&PeerCell>,
) -> io::Result<()> {
    // What came from there need not go back.
    let mut theirs = HashSet::new();
    loop {
        loop {
            match incoming.try_recv() {
                Ok(payload) => {
                    theirs.insert(hash(&payload[..]));
                    broker.send_buf(TAG, &payload).map_err(io::Error::other)?;
                    if let Some(cell) = cell {
                        cell.received.fetch_add(1, Ordering::Relaxed);
                    }
                }
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => return Err(io::Error::other("the link is broken")),
            }
        }
        let me = broker.sender().id();
        while let Some((client_id, tag, flags, payload)) =
            broker.receiver_mut().recv_buf_with_flags().map_err(io::Error::other)?
        {
            if client_id != me && tag == TAG && !theirs.contains(&hash(payload)) {
                send(&mut stream, &Message { client_id, tag, flags, payload: payload.to_vec() })?;
            }
        }
        thread::sleep(LOOK_EVERY);
    }
}

/// Lets the kernel notice when the other side is gone without a word.
fn watch_over(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(None)?;
    let set = |level, name, value: i32| {
        // SAFETY: a system call on our own socket, with a value of the size it is told.
        let done = unsafe {
            libc::setsockopt(stream.as_raw_fd(), level, name, (&raw const value).cast(), size_of::<i32>() as u32)
        };
        if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    };
    set(libc::SOL_SOCKET, libc::SO_KEEPALIVE, 1)?;
    set(libc::IPPROTO_TCP, libc::TCP_KEEPIDLE, ALIVE.0)?;
    set(libc::IPPROTO_TCP, libc::TCP_KEEPINTVL, ALIVE.1)?;
    set(libc::IPPROTO_TCP, libc::TCP_KEEPCNT, ALIVE.2)?;
    set(libc::IPPROTO_TCP, libc::TCP_USER_TIMEOUT, UNCONFIRMED)
}

/// A message on the wire: its length in four bytes, most significant first, then postcard.
fn send<T: Serialize>(stream: &mut impl Write, message: &T) -> io::Result<()> {
    let body = postcard::to_allocvec(message).map_err(io::Error::other)?;
    let mut bytes = (body.len() as u32).to_be_bytes().to_vec();
    bytes.extend(body);
    stream.write_all(&bytes)
}

fn receive<T: DeserializeOwned>(stream: &mut impl Read) -> io::Result<T> {
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let length = u32::from_be_bytes(length);
    if length > LONGEST {
        return Err(io::Error::other("a message too long to be one"));
    }
    let mut body = vec![0; length as usize];
    stream.read_exact(&mut body)?;
    postcard::from_bytes(&body).map_err(io::Error::other)
}

fn hostname() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname").map_or_else(|_| "unknown".to_owned(), |n| n.trim().to_owned())
}
