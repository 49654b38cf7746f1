//! The secret that the machines of a farm share, and the encrypted connections that are based on it.
//!
//! A link is encrypted and authenticated by the Noise protocol (revision 34), as implemented by the crate `snow`, with
//! the pattern `NNpsk0`: each link has a fresh key, and only a machine that knows the secret can derive it or read its
//! first message. Without a secret (`--insecure`), the pattern is the same with a publicly known key: then nothing is
//! authenticated.

use std::{
    io::{self, ErrorKind, Read, Write},
    net::TcpStream,
    os::unix::fs::MetadataExt,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use blake2::{Blake2s256, Digest};
use penfuzz_error::{Error, at, failed};
use penfuzz_system::files::foreign;
use snow::{Builder, HandshakeState, StatelessTransportState};

use super::sockets::LONGEST;

/// The handshake: pattern, key exchange, cipher and hash.
const PATTERN: &str = "Noise_NNpsk0_25519_ChaChaPoly_BLAKE2s";

/// Data that both sides must agree on besides the secret: the version of the message format.
const PROLOGUE: &[u8] = b"penfuzz broker 2";

/// Minimum length of the secret and maximum length of its file, in bytes. The secret must be as hard to guess as the
/// key derived from it: a participant in a handshake can test guesses as fast as it can compute hashes.
const LENGTH: (u64, u64) = (32, 4096);

/// Number of bytes that the cipher adds to a message.
const TAG: usize = 16;

/// Maximum length of a handshake message, in bytes; the two messages have 48 each.
const HANDSHAKE: usize = 128;

/// The key derived from the secret.
#[derive(Clone)]
pub struct Secret([u8; 32]);

impl core::fmt::Debug for Secret {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Secret(..)")
    }
}

impl Secret {
    /// The publicly known key that is used without a secret.
    #[must_use]
    pub const fn none() -> Self {
        Self([0; 32])
    }

    /// Reads the secret from the file at `path`: at least 32 bytes without trailing white space, which an editor may
    /// add, and at most 4096 with it. The file must be a regular file that other users cannot access.
    ///
    /// # Errors
    /// When the file does not meet these conditions.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let cannot = |e| failed(path, "cannot be read as the secret of the farm", e);
        let file = foreign::open(path).map_err(cannot)?;
        if file.metadata().map_err(cannot)?.mode() & 0o077 != 0 {
            return Err(at(path, "can be read or written by other users, so it is not secret; run chmod 600 on it"));
        }
        let bytes = foreign::read_all(&file, LENGTH.1).map_err(cannot)?;
        let bytes = bytes.trim_ascii_end();
        if (bytes.len() as u64) < LENGTH.0 {
            return Err(at(
                path,
                format!(
                    "has {} bytes; the secret of the farm has at least {}: openssl rand -hex 32 > FILE, the same file \
                     on every machine",
                    bytes.len(),
                    LENGTH.0
                ),
            ));
        }
        Ok(Self(Blake2s256::digest(bytes).into()))
    }
}

/// One side of an encrypted connection, after the handshake. It can send and receive at the same time.
#[derive(Clone)]
pub struct SecureConnection {
    stream: Arc<TcpStream>,
    keys: Arc<StatelessTransportState>,
}

/// The side of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The side that has connected; it sends first.
    Connects,
    /// The side that has accepted the connection.
    Accepts,
}

impl SecureConnection {
    /// Performs the handshake on a connection, within `patience`. On success, the connecting side knows that the other
    /// one has the secret. The accepting side knows that only after the first message: the handshake message that it
    /// received could be a replay.
    ///
    /// # Errors
    /// When the connection breaks or takes too long; [`ErrorKind::PermissionDenied`] when the other side has another
    /// secret.
    pub fn new(stream: TcpStream, side: Side, secret: &Secret, patience: Duration) -> io::Result<Self> {
        let deadline = Instant::now() + patience;
        stream.set_write_timeout(Some(patience))?;
        let state = || -> Result<HandshakeState, snow::Error> {
            let builder = Builder::new(PATTERN.parse()?).prologue(PROLOGUE)?.psk(0, &secret.0)?;
            if side == Side::Connects { builder.build_initiator() } else { builder.build_responder() }
        };
        let mut state = state().map_err(io::Error::other)?;
        if side == Side::Connects {
            send_handshake(&mut state, &stream)?;
            receive_handshake(&mut state, &stream, deadline)?;
        } else {
            receive_handshake(&mut state, &stream, deadline)?;
            send_handshake(&mut state, &stream)?;
        }
        let keys = state.into_stateless_transport_mode().map_err(io::Error::other)?;
        Ok(Self { stream: Arc::new(stream), keys: Arc::new(keys) })
    }

    /// The connection.
    #[must_use]
    pub fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Returns the sender. Only one per side may exist, because messages are numbered.
    #[must_use]
    pub fn sender(&self) -> Sender {
        Sender { sealed: self.clone(), number: 0, buffer: Vec::new() }
    }

    /// Returns the receiver. Only one per side may exist.
    #[must_use]
    pub fn receiver(&self) -> Receiver {
        Receiver { sealed: self.clone(), number: 0, sealed_bytes: Vec::new(), bytes: vec![0; LONGEST + TAG] }
    }
}

fn send_handshake(state: &mut HandshakeState, stream: &TcpStream) -> io::Result<()> {
    let mut message = [0; HANDSHAKE];
    let n = state.write_message(&[], &mut message).map_err(io::Error::other)?;
    write_packet(stream, &message[..n])
}

fn receive_handshake(state: &mut HandshakeState, stream: &TcpStream, deadline: Instant) -> io::Result<()> {
    let mut message = Vec::new();
    read_packet(stream, &mut message, HANDSHAKE, Some(deadline))?;
    state.read_message(&message, &mut [0; HANDSHAKE]).map_err(|e| io::Error::new(ErrorKind::PermissionDenied, e))?;
    Ok(())
}

/// Encrypts and sends messages.
pub struct Sender {
    sealed: SecureConnection,
    number: u64,
    buffer: Vec<u8>,
}

impl Sender {
    /// Sends a message of at most [`LONGEST`] bytes.
    ///
    /// # Errors
    /// When the connection is broken.
    pub fn send(&mut self, message: &[u8]) -> io::Result<()> {
        self.buffer.resize(message.len() + TAG, 0);
        let n = self.sealed.keys.write_message(self.number, message, &mut self.buffer).map_err(io::Error::other)?;
        self.number += 1;
        write_packet(&self.sealed.stream, &self.buffer[..n])
    }
}

/// Receives and decrypts messages.
pub struct Receiver {
    sealed: SecureConnection,
    number: u64,
    sealed_bytes: Vec<u8>,
    bytes: Vec<u8>,
}

impl Receiver {
    /// Waits for the next message until `deadline`, or without a limit if there is none.
    ///
    /// # Errors
    /// When the connection is broken, or when a message was changed, repeated or left out on the way.
    pub fn receive(&mut self, deadline: Option<Instant>) -> io::Result<&[u8]> {
        read_packet(&self.sealed.stream, &mut self.sealed_bytes, LONGEST + TAG, deadline)?;
        let n = self
            .sealed
            .keys
            .read_message(self.number, &self.sealed_bytes, &mut self.bytes)
            .map_err(|e| io::Error::new(ErrorKind::PermissionDenied, e))?;
        self.number += 1;
        Ok(&self.bytes[..n])
    }
}

/// Sends a packet: its length as two bytes, most significant first, then its bytes.
fn write_packet(mut stream: &TcpStream, packet: &[u8]) -> io::Result<()> {
    let n = u16::try_from(packet.len()).map_err(|_| io::Error::other("the packet is too long"))?;
    stream.write_all(&[&n.to_be_bytes()[..], packet].concat())
}

fn read_packet(stream: &TcpStream, into: &mut Vec<u8>, longest: usize, deadline: Option<Instant>) -> io::Result<()> {
    let mut n = [0; 2];
    fill(stream, &mut n, deadline)?;
    let n = usize::from(u16::from_be_bytes(n));
    if n > longest {
        return Err(io::Error::other("the packet is too long"));
    }
    into.resize(n, 0);
    fill(stream, into, deadline)
}

/// Like `read_exact`, with one deadline for all bytes: a peer that sends single bytes slowly gains no time.
fn fill(mut stream: &TcpStream, mut into: &mut [u8], deadline: Option<Instant>) -> io::Result<()> {
    while !into.is_empty() {
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        if left == Some(Duration::ZERO) {
            return Err(ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(left)?;
        match stream.read(into) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(n) => into = &mut into[n..],
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "secret_tests.rs"]
mod tests;
