//! The sockets between the broker and its clients.
//!
//! The supervisor creates a pair of connected sockets per client before it forks, and broker and clients inherit their
//! ends. The sockets have no name and no port, so no other process can connect, not even one of the same user. The
//! supervisor holds both ends as long as the campaign runs: a broker or a client that replaces a dead one continues
//! with the same socket.
//!
//! The sockets are of type `SOCK_SEQPACKET`, which preserves message boundaries, and never block.

use std::{
    cell::RefCell,
    io::{self, ErrorKind},
    os::{
        fd::{AsRawFd, FromRawFd, OwnedFd},
        unix::net::UnixDatagram,
    },
};

use penfuzz_error::{Error, plain};

/// Maximum length of a message in bytes. It fits into one packet of a link to another machine, whose limit is the
/// smaller one.
pub const LONGEST: usize = 60_000;

/// The first byte of a packet: its type and origin.
pub mod kind {
    /// Sent by a client that has just attached, without content: the broker sends it all messages.
    pub const HELLO: u8 = 0;
    /// A message of a client on this machine.
    pub const LOCAL: u8 = 1;
    /// A message from another machine.
    pub const REMOTE: u8 = 2;
}

/// The two ends of each client's connection; empty in a process that has closed them.
#[derive(Debug)]
pub struct Sockets(RefCell<Vec<Pair>>);

/// The client's end, and the broker's end.
type Pair = (UnixDatagram, UnixDatagram);

impl Sockets {
    /// Creates the connections for `n` clients.
    ///
    /// # Errors
    /// When the system cannot create them.
    pub fn new(n: usize) -> Result<Self, Error> {
        let pairs = (0..n).map(|_| pair()).collect::<io::Result<_>>().map_err(|e| {
            Error::new(format!(
                "cannot connect {n} clients with each other: {}; allow more open files (ulimit -n)",
                plain(&e)
            ))
            .with_source(e)
        })?;
        Ok(Self(RefCell::new(pairs)))
    }

    /// Takes the broker's ends, in the process of the broker. All other ends are closed there.
    #[must_use]
    pub fn take_broker_ends(&self) -> Vec<UnixDatagram> {
        core::mem::take(&mut *self.0.borrow_mut()).into_iter().map(|pair| pair.1).collect()
    }

    /// Takes the end of the client with this number, in its process. All other ends are closed there. `None` if it was
    /// taken before.
    #[must_use]
    pub fn take_client_end(&self, number: usize) -> Option<UnixDatagram> {
        core::mem::take(&mut *self.0.borrow_mut()).into_iter().nth(number).map(|pair| pair.0)
    }

    /// Closes all ends in this process.
    pub fn close(&self) {
        self.0.borrow_mut().clear();
    }
}

/// Creates two connected sockets.
pub(super) fn pair() -> io::Result<Pair> {
    let mut ends = [0; 2];
    let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: a system call that writes two descriptors to a local array.
    if unsafe { libc::socketpair(libc::AF_UNIX, kind, 0, ends.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: both descriptors are open and have no other owner.
    let [client, broker] = ends.map(|fd| UnixDatagram::from(unsafe { OwnedFd::from_raw_fd(fd) }));
    Ok((client, broker))
}

/// Sends a packet. Returns false if there is no room for it at the moment.
///
/// # Errors
/// When the socket cannot be used.
pub fn send(socket: &UnixDatagram, packet: &[u8]) -> io::Result<bool> {
    match socket.send(packet) {
        Ok(_) => Ok(true),
        Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(false),
        Err(e) => Err(e),
    }
}

/// Receives the next packet; `None` if none is available.
///
/// # Errors
/// When the socket cannot be used, or its other end is closed in all processes.
pub fn receive<'a>(socket: &UnixDatagram, into: &'a mut Vec<u8>) -> io::Result<Option<&'a [u8]>> {
    into.resize(LONGEST + 1, 0);
    match socket.recv(into) {
        Ok(0) => Err(ErrorKind::UnexpectedEof.into()),
        Ok(n) => Ok(Some(&into[..n])),
        Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(None),
        Err(e) => Err(e),
    }
}

/// Waits until a packet arrives at one of the sockets, or a packet can be sent to one with `is_blocked`; at most
/// `milliseconds`.
pub fn wait<'a>(sockets: impl Iterator<Item = (&'a UnixDatagram, bool)>, milliseconds: i32) {
    let events = |is_blocked| if is_blocked { libc::POLLIN | libc::POLLOUT } else { libc::POLLIN };
    let mut all: Vec<libc::pollfd> = sockets
        .map(|(socket, is_blocked)| libc::pollfd { fd: socket.as_raw_fd(), events: events(is_blocked), revents: 0 })
        .collect();
    // SAFETY: the array has the length passed. An interrupted or failed wait ends early, which is harmless.
    unsafe { libc::poll(all.as_mut_ptr(), all.len() as libc::nfds_t, milliseconds) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_keep_their_boundaries_and_nothing_blocks() {
        let (client, broker) = pair().unwrap();
        let mut buffer = Vec::new();
        assert_eq!(receive(&broker, &mut buffer).unwrap(), None);
        assert!(send(&client, b"one").unwrap() && send(&client, &vec![7; LONGEST]).unwrap());
        assert_eq!(receive(&broker, &mut buffer).unwrap(), Some(&b"one"[..]));
        assert_eq!(receive(&broker, &mut buffer).unwrap().map(<[u8]>::len), Some(LONGEST));
        let mut sent = 0;
        while send(&client, &vec![7; LONGEST]).unwrap() {
            sent += 1;
        }
        assert!(sent > 0, "there is room for some packets");
        drop(client);
        (0..sent).for_each(|_| assert!(receive(&broker, &mut buffer).unwrap().is_some()));
        assert!(receive(&broker, &mut buffer).is_err(), "nobody can send any more");
    }

    #[test]
    fn a_process_keeps_its_own_end_only() {
        let sockets = Sockets::new(3).unwrap();
        assert!(sockets.take_client_end(1).is_some());
        assert!(sockets.take_client_end(1).is_none() && sockets.take_broker_ends().is_empty());
    }
}
