//! Tests with well-behaved and hostile clients.

use super::*;

/// Starts a server of `page` for every path but `/none`; returns its address.
fn start() -> std::net::SocketAddr {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let page = |path: &str| match path {
        "/none" => Response::sentence(404, "none"),
        path => Response::sentence(200, &format!("page {path}")),
    };
    std::thread::spawn(move || serve(&listener, page));
    address
}

fn connect(address: std::net::SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream
}

/// The complete answer of the server, until it closes the connection.
fn answer_to(address: std::net::SocketAddr, request: &[u8]) -> String {
    let mut stream = connect(address);
    stream.write_all(request).unwrap();
    rest(stream)
}

fn rest(mut stream: TcpStream) -> String {
    let mut all = Vec::new();
    // A reset connection also ends the answer.
    let _ = stream.read_to_end(&mut all);
    String::from_utf8(all).unwrap()
}

const GET: &[u8] = b"GET /page?x=1 HTTP/1.1\r\nHost: localhost\r\n\r\n";

#[track_caller]
fn expect_service(address: std::net::SocketAddr) {
    let begun = Instant::now();
    let answer = answer_to(address, GET);
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\r\n\r\npage /page\n"), "{answer}");
    assert!(begun.elapsed() < PATIENCE / 2, "{:?}", begun.elapsed());
}

#[test]
fn a_page_is_served_and_the_connection_closed() {
    let address = start();
    expect_service(address);
    let answer = answer_to(address, b"GET /page HTTP/1.0\r\n\r\n");
    assert!(answer.contains("\r\nConnection: close\r\n") && answer.contains("\r\nDate: "), "{answer}");
}

#[test]
fn a_head_has_no_body_but_its_length() {
    let answer = answer_to(start(), b"HEAD /page HTTP/1.1\r\n\r\n");
    assert!(answer.contains("Content-Length: 11\r\n") && answer.ends_with("\r\n\r\n"), "{answer}");
}

#[test]
fn other_methods_and_other_bytes_are_refused() {
    let address = start();
    for (request, status) in [
        (&b"POST /page HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc"[..], 405),
        (b"GET /none HTTP/1.1\r\n\r\n", 404),
        (b"\x16\x03\x01\x02\x00\x01\x00", 400),
        (b"GET /\x01 HTTP/1.1\r\n\r\n", 400),
    ] {
        let answer = answer_to(address, request);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
    }
}

#[test]
fn a_request_may_come_in_pieces() {
    let mut stream = connect(start());
    for piece in GET.chunks(5) {
        stream.write_all(piece).unwrap();
        sleep(Duration::from_millis(5));
    }
    assert!(rest(stream).ends_with("page /page\n"));
}

#[test]
fn the_length_of_a_body_reserves_nothing() {
    let answer = answer_to(start(), b"GET /page HTTP/1.1\r\nContent-Length: 99999999999999\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
}

#[test]
fn a_head_without_end_is_refused() {
    let address = start();
    let long = [b"GET / HTTP/1.1\r\nA: ".to_vec(), vec![b'a'; REQUEST]].concat();
    let many = [b"GET / HTTP/1.1\r\n".to_vec(), b"A: b\r\n".repeat(HEADERS + 1), b"\r\n".to_vec()].concat();
    for request in [long, many] {
        let answer = answer_to(address, &request);
        assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
    }
}

/// Sends bytes until the server closes the connection. Returns the number of bytes sent.
fn flood(address: std::net::SocketAddr, begin: &[u8], again: &[u8]) -> usize {
    let mut stream = connect(address);
    stream.set_write_timeout(Some(2 * PATIENCE)).unwrap();
    let mut sent = 0;
    let mut next = begin;
    while stream.write_all(next).is_ok() {
        sent += next.len();
        next = again;
        assert!(sent < 64 << 20, "the server reads without end");
    }
    sent
}

#[test]
fn endless_requests_are_cut() {
    let address = start();
    let header = b"X-Header: 0123456789\r\n".repeat(1000);
    flood(address, b"GET / HTTP/1.1\r\n", &header);
    flood(address, b"", &GET.repeat(1000));
    flood(address, b"POST / HTTP/1.1\r\nContent-Length: 99999999999999\r\n\r\n", &b"x".repeat(50_000));
    expect_service(address);
}

#[test]
fn pipelined_requests_have_one_answer() {
    let answer = answer_to(start(), &GET.repeat(20));
    assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "{answer}");
}

/// A client that sends slowly, and one that is silent, are closed at their time limit.
#[test]
fn slow_clients_are_closed() {
    let address = start();
    let silent = connect(address);
    let (mut dripping, begun) = (connect(address), Instant::now());
    while dripping.write_all(b"G").is_ok() {
        assert!(begun.elapsed() < 3 * PATIENCE, "it still drips");
        sleep(Duration::from_millis(200));
    }
    assert_eq!(rest(silent), "");
    assert!(begun.elapsed() < 3 * PATIENCE, "{:?}", begun.elapsed());
}

#[test]
fn a_client_is_served_among_many_hostile_ones() {
    let address = start();
    let silent: Vec<_> = (0..200).map(|_| connect(address)).collect();
    expect_service(address);
    for mut stream in &silent {
        // Most connections are closed by now.
        let _ = stream.write_all(b"GET / HTTP/1.1\r\nA");
    }
    let more: Vec<_> = (0..200).map(|_| connect(address)).collect();
    expect_service(address);
    drop((silent, more));
}

#[test]
fn a_foreign_host_name_is_refused_on_a_local_address() {
    let address = start();
    for host in ["attacker.example", "attacker.example:9100", "127.0.0.1.attacker.example", "localhost.attacker"] {
        let answer = answer_to(address, format!("GET /page HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes());
        assert!(answer.starts_with("HTTP/1.1 421 "), "{host}: {answer}");
    }
    for host in ["localhost:9100", "LOCALHOST", "127.0.0.1:9100", "[::1]:9100"] {
        let answer = answer_to(address, format!("GET /page HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes());
        assert!(answer.starts_with("HTTP/1.1 200 "), "{host}: {answer}");
    }
}
