//! Links between the brokers of several machines.
//!
//! The protocol is LLMP's between brokers. LLMP's own implementation is not used: it does not reconnect a broken link, loses its
//! position in the stream when a message arrives slowly, and would offer other machines the shared memory of this one. This
//! implementation is a client of the broker. It notices a dead link within half a minute and connects again. Nothing is lost
//! then: the broker sends a new client all messages, and the other broker drops those that it has.

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
use penfuzz_engine::hash::of_bytes;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{
    BrokerInfo,
    broker_info::PeerCell,
    message::TAG,
    shmem::{VanishingShMem, VanishingShMemProvider},
};

/// First and longest pause before the next attempt to connect.
const RETRY: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(10));

/// Time for connecting, and for each answer of the handshake.
const PATIENCE: Duration = Duration::from_secs(10);

/// TCP keep-alive: seconds of silence before the first probe, seconds between probes, and number of probes.
const KEEP_ALIVE: (i32, i32, i32) = (10, 5, 3);

/// Milliseconds for which sent bytes may stay unconfirmed.
const UNCONFIRMED: i32 = 25_000;

/// Longest message that is received, in bytes.
const LONGEST: u32 = 1 << 24;

/// Pause between two polls of broker and link.
const POLL_EVERY: Duration = Duration::from_millis(10);

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

/// Keeps a link to the broker at `address`, for ever; `port` is the one of this machine's broker on the loopback device.
pub fn connect(address: &str, port: u16, info: &'static BrokerInfo) {
    let cell = info.peer(address);
    let mut pause = RETRY.0;
    loop {
        let connected = open(address).and_then(|mut stream| greet(&mut stream).map(|()| stream));
        if let Ok(stream) = connected {
            pause = RETRY.0;
            let _ = exchange(&stream, port, cell);
        }
        thread::sleep(pause);
        pause = (pause * 2).min(RETRY.1);
    }
}

/// Accepts links from other machines, for ever.
pub fn accept(listener: &TcpListener, port: u16, info: &'static BrokerInfo) {
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
            if answer(&mut stream).is_ok() {
                let _ = exchange(&stream, port, info.peer(&from.ip().to_string()));
            }
            LINKS.fetch_sub(1, Ordering::Relaxed);
        });
    }
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

/// The handshake of the side that connects.
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

/// The handshake of the side that accepts. Only brokers are accepted: a client would use the shared memory of this machine.
fn answer(stream: &mut TcpStream) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    let broker_shmem_description = ShMemDescription::from_string_and_size("", 0);
    send(stream, &TcpResponse::BrokerConnectHello { broker_shmem_description, hostname: hostname() })?;
    if let TcpRequest::RemoteBrokerHello { .. } = receive(stream)? {
        return send(stream, &TcpResponse::RemoteBrokerAccepted { broker_id: BrokerId(1) });
    }
    send(stream, &TcpResponse::Error { description: "only brokers may connect here".to_owned() })?;
    Err(io::Error::other("no broker"))
}

/// Sends messages both ways until the link breaks.
fn exchange(stream: &TcpStream, port: u16, cell: Option<&PeerCell>) -> io::Result<()> {
    detect_death(stream)?;
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
    let end = forward(&mut broker, stream, &incoming, cell);
    if let Some(cell) = cell {
        cell.state.store(1, Ordering::Relaxed);
    }
    let _ = stream.shutdown(Shutdown::Both);
    let _ = reader.join();
    // The broker removes this client, and unmaps its page.
    let _ = broker.sender_mut().send_exiting();
    end
}

fn forward(
    broker: &mut LlmpClient<VanishingShMem, VanishingShMemProvider>,
    mut stream: &TcpStream,
    incoming: &Receiver<Vec<u8>>,
    cell: Option<&PeerCell>,
) -> io::Result<()> {
    // What came from the other side is not sent back.
    let mut theirs = HashSet::new();
    loop {
        loop {
            match incoming.try_recv() {
                Ok(payload) => {
                    theirs.insert(of_bytes(&payload));
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
            if client_id != me && tag == TAG && !theirs.contains(&of_bytes(payload)) {
                send(&mut stream, &Message { client_id, tag, flags, payload: payload.to_vec() })?;
            }
        }
        thread::sleep(POLL_EVERY);
    }
}

/// Makes the kernel close the link when the other side is gone without closing it.
fn detect_death(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(None)?;
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

/// Sends a message: its length in four bytes, most significant first, then postcard.
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
        return Err(io::Error::other("the length of a message is too large"));
    }
    let mut body = vec![0; length as usize];
    stream.read_exact(&mut body)?;
    postcard::from_bytes(&body).map_err(io::Error::other)
}

fn hostname() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname").map_or_else(|_| "unknown".to_owned(), |n| n.trim().to_owned())
}
