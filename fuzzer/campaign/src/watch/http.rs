//! A server of one page over HTTP/1.1. Any process that can reach the port is a client, so clients may be hostile.
//!
//! Requests are parsed by httparse, the parser of hyper. hyper itself would not set further limits: it leaves the
//! number of connections and the total time of each to its user. It also needs an asynchronous runtime.
//!
//! | what a client does | what bounds it |
//! | --- | --- |
//! | a head that does not end, many headers | [`REQUEST`] bytes, [`HEADERS`] headers, then the status 431 |
//! | a body of any length | is not read: the answer is sent when the head is complete |
//! | several requests at once (pipelining) | one answer per connection, then it is closed |
//! | silence, one byte at a time, an answer that is not read | [`PATIENCE`] for the whole connection |
//! | many connections | [`CONNECTIONS`]; each more closes the oldest one |
//!
//! With too many connections, the oldest one is closed instead of refusing the newest. A well-behaved client sends its
//! request at once and has its answer before its connection is the oldest. Silent connections could otherwise occupy
//! all places until their time limit.
//!
//! One thread polls all connections, so this module starts no threads, and memory is bounded by the product of the
//! limits.

use std::{
    collections::VecDeque,
    io::{ErrorKind, Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    os::fd::AsRawFd,
    thread::sleep,
    time::{Duration, Instant, SystemTime},
};

use penfuzz_error::Error;

/// Maximum number of simultaneous connections.
const CONNECTIONS: usize = 64;

/// Maximum size of the head of a request, in bytes.
const REQUEST: usize = 8 * 1024;

/// Maximum number of headers of a request.
const HEADERS: usize = 64;

/// Time limit of a connection. By default, Prometheus waits 10 s for an answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// Maximum number of bytes that are read and dropped after the answer. Closing a connection with unread bytes would
/// reset it, and the client could lose the answer.
const DRAINED: usize = 64 * 1024;

/// Pause after a system error of `accept` (such as no file descriptors), which may last.
const REST: Duration = Duration::from_millis(100);

/// An answer to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// The HTTP status; one of those that [`reason`] has a text for.
    pub status: u16,
    /// Content type of the body.
    pub kind: &'static str,
    /// The body.
    pub body: String,
}

impl Response {
    /// Creates an answer that is a sentence of plain text.
    #[must_use]
    pub fn sentence(status: u16, text: &str) -> Self {
        Self { status, kind: "text/plain; charset=utf-8", body: format!("{text}\n") }
    }
}

/// Answers requests with `page`, whose argument is the path of the request. Never returns without an error. Methods
/// other than GET and HEAD are refused before.
///
/// # Errors
/// When the listener cannot be polled.
pub fn serve(listener: &TcpListener, mut page: impl FnMut(&str) -> Response) -> Result<(), Error> {
    listener.set_nonblocking(true).map_err(|e| Error::because("cannot wait for connections", e))?;
    let mut connections = VecDeque::new();
    loop {
        wait(listener, &connections);
        accept(listener, &mut connections);
        connections.retain_mut(|c: &mut Connection| c.advance(&mut page));
    }
}

/// Waits until there is a new connection, a connection is ready, or its time limit is reached.
fn wait(listener: &TcpListener, connections: &VecDeque<Connection>) {
    let polled = |fd, events| libc::pollfd { fd, events, revents: 0 };
    let mut all = vec![polled(listener.as_raw_fd(), libc::POLLIN)];
    all.extend(connections.iter().map(|c| polled(c.stream.as_raw_fd(), c.state.events())));
    let first = connections.iter().map(|c| c.deadline).min();
    let left = first.map_or(-1, |at| at.saturating_duration_since(Instant::now()).as_millis() as i32 + 1);
    // SAFETY: the array has the length passed. Errors do not matter: every connection is tried, and none blocks.
    unsafe { libc::poll(all.as_mut_ptr(), all.len() as libc::nfds_t, left) };
}

/// Accepts waiting connections, at most as many as are allowed: the accepted ones are served before further ones are
/// accepted.
fn accept(listener: &TcpListener, connections: &mut VecDeque<Connection>) {
    for _ in 0..CONNECTIONS {
        match listener.accept() {
            Ok((stream, _)) => {
                if connections.len() >= CONNECTIONS {
                    connections.pop_front();
                }
                connections.extend(Connection::new(stream));
            }
            Err(e) if e.kind() == ErrorKind::WouldBlock => return,
            Err(e) if matches!(e.kind(), ErrorKind::ConnectionAborted | ErrorKind::Interrupted) => {}
            Err(_) => {
                connections.pop_front();
                sleep(REST);
                return;
            }
        }
    }
}

struct Connection {
    stream: TcpStream,
    deadline: Instant,
    state: State,
}

enum State {
    /// The bytes of the request so far.
    Reading(Vec<u8>),
    /// The answer, and the number of its bytes sent so far.
    Writing(Vec<u8>, usize),
    /// The answer is sent. Up to this number of further bytes is read and dropped.
    Draining(usize),
}

impl State {
    fn events(&self) -> i16 {
        match self {
            Self::Reading(_) | Self::Draining(_) => libc::POLLIN,
            Self::Writing(..) => libc::POLLOUT,
        }
    }
}

impl Connection {
    fn new(stream: TcpStream) -> Option<Self> {
        stream.set_nonblocking(true).ok()?;
        Some(Self { stream, deadline: Instant::now() + PATIENCE, state: State::Reading(Vec::new()) })
    }

    /// Reads and writes what is possible without blocking. Returns whether the connection stays open.
    fn advance(&mut self, page: &mut impl FnMut(&str) -> Response) -> bool {
        while Instant::now() < self.deadline {
            match self.step(page) {
                Ok(true) => {}
                Ok(false) => return false,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return e.kind() == ErrorKind::WouldBlock,
            }
        }
        false
    }

    /// Performs one read or write. Returns false at the end of the connection.
    fn step(&mut self, page: &mut impl FnMut(&str) -> Response) -> std::io::Result<bool> {
        let mut chunk = [0; 1024];
        match &mut self.state {
            State::Reading(request) => {
                let room = chunk.len().min(REQUEST - request.len());
                let n = self.stream.read(&mut chunk[..room])?;
                request.extend_from_slice(&chunk[..n]);
                let is_local = self.stream.local_addr().is_ok_and(|address| address.ip().is_loopback());
                if let Some(answer) = answer(request, is_local, page) {
                    self.state = State::Writing(answer, 0);
                }
                Ok(n > 0)
            }
            State::Writing(answer, sent) => {
                *sent += self.stream.write(&answer[*sent..])?;
                if *sent == answer.len() {
                    self.stream.shutdown(Shutdown::Write)?;
                    self.state = State::Draining(DRAINED);
                }
                Ok(true)
            }
            State::Draining(left) => {
                let n = self.stream.read(&mut chunk)?;
                *left = left.saturating_sub(n);
                Ok(n > 0 && *left > 0)
            }
        }
    }
}

/// The answer to a request, with its head; `None` as long as the request is incomplete. A connection on this machine
/// (`is_local`) must name this machine as its host: otherwise a page of a foreign name that resolves to 127.0.0.1 could
/// read the answer in the user's browser (DNS rebinding).
fn answer(request: &[u8], is_local: bool, page: &mut impl FnMut(&str) -> Response) -> Option<Vec<u8>> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS];
    let mut parsed = httparse::Request::new(&mut headers);
    let too_long = || Response::sentence(431, "the head of the request is too long");
    let answer = match parsed.parse(request) {
        Ok(httparse::Status::Partial) if request.len() < REQUEST => return None,
        Ok(httparse::Status::Partial) | Err(httparse::Error::TooManyHeaders) => too_long(),
        Err(_) => Response::sentence(400, "this is not an HTTP request"),
        Ok(httparse::Status::Complete(_)) => match parsed.method {
            Some("GET" | "HEAD") if is_local && !names_this_machine(parsed.headers) => {
                Response::sentence(421, "this address is for programs on this machine; use localhost as host name")
            }
            Some("GET" | "HEAD") => page(parsed.path.unwrap_or_default().split('?').next().unwrap_or_default()),
            _ => Response::sentence(405, "only GET and HEAD are supported"),
        },
    };
    Some(encode(&answer, parsed.method != Some("HEAD")))
}

/// Whether the `Host` header, if there is one, is `localhost` or an IP address, with or without a port.
fn names_this_machine(headers: &[httparse::Header]) -> bool {
    let Some(host) = headers.iter().find(|h| h.name.eq_ignore_ascii_case("host")) else { return true };
    let Ok(host) = core::str::from_utf8(host.value) else { return false };
    let is_port = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    let name = host.rsplit_once(':').filter(|(_, port)| is_port(port)).map_or(host, |(name, _)| name);
    let address = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(name);
    name.eq_ignore_ascii_case("localhost") || address.parse::<core::net::IpAddr>().is_ok()
}

fn encode(answer: &Response, with_body: bool) -> Vec<u8> {
    let allow = if answer.status == 405 { "Allow: GET, HEAD\r\n" } else { "" };
    let mut all = format!(
        "HTTP/1.1 {} {}\r\nDate: {}\r\nContent-Type: {}\r\nContent-Length: {}\r\n{allow}Connection: close\r\n\r\n",
        answer.status,
        reason(answer.status),
        httpdate::fmt_http_date(SystemTime::now()),
        answer.kind,
        answer.body.len(),
    );
    if with_body {
        all.push_str(&answer.body);
    }
    all.into_bytes()
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        404 => "Not Found",
        405 => "Method Not Allowed",
        421 => "Misdirected Request",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        503 => "Service Unavailable",
        _ => "",
    }
}

#[cfg(test)]
#[path = "http_tests.rs"]
mod tests;
