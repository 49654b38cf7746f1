//! Hostile clients of the metrics server.

use std::{
    fs,
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    time::{Duration, Instant},
};

use crate::support::{Dir, Running, children, fixture};

/// Returns an unused address of this machine.
fn free_address() -> SocketAddr {
    let taken = TcpListener::bind(("127.0.0.1", 0)).expect("this machine has a free port");
    taken.local_addr().expect("a listener has an address")
}

/// Starts a campaign that does not end by itself and serves metrics at the returned address.
fn exporting(dir: &Dir) -> (Running<'_>, SocketAddr) {
    let address = free_address();
    let target = fixture("unreachable_in_loop.c");
    let arguments = format!("--search random --max-time 50s --monitor prometheus={address}");
    let mut running = dir.fuzz(target, &arguments).start();
    running.until("metrics", || scrape(address).contains("penfuzz_running"));
    (running, address)
}

/// Returns the answer to a request in Prometheus's form; empty if there is none.
fn scrape(address: SocketAddr) -> String {
    let mut answer = String::new();
    if let Ok(mut stream) = TcpStream::connect(address) {
        let _ = stream.set_read_timeout(Some(Duration::from_secs(10)));
        let _ = stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nUser-Agent: Prometheus/3\r\n\r\n");
        let _ = stream.read_to_string(&mut answer);
    }
    answer
}

/// Returns the process id of a campaign's exporter, and its peak memory in KiB.
fn exporter(running: &Running) -> (u32, u64) {
    let all = children(running.pid());
    let (pid, _) =
        all.iter().find(|(_, name)| name.contains("metric")).unwrap_or_else(|| panic!("no exporter: {all:?}"));
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("the exporter lives");
    let peak = status.lines().find_map(|l| l.strip_prefix("VmHWM:")).expect("a process has a peak of memory");
    (*pid, peak.trim().trim_end_matches(" kB").parse().expect("a number of KiB"))
}

/// Sends until the server accepts no more, for at most three seconds.
fn flood(address: SocketAddr, first: &[u8], again: &[u8]) {
    let Ok(mut stream) = TcpStream::connect(address) else { return };
    let _ = stream.set_write_timeout(Some(Duration::from_secs(1)));
    let begun = Instant::now();
    let mut next = first;
    while stream.write_all(next).is_ok() && begun.elapsed() < Duration::from_secs(3) {
        next = again;
    }
}

/// Limit for the exporter's memory: at most 64 connections of 8 KiB each, and the pages that it shares with the
/// supervisor, from which it is forked.
const MOST_MEMORY_KIB: u64 = 128 << 10;

#[test]
fn hostile_requests_neither_end_the_exporter_nor_fill_its_memory() {
    let dir = Dir::new();
    let (running, address) = exporting(&dir);
    let (before, _) = exporter(&running);
    flood(address, b"POST /metrics HTTP/1.1\r\nContent-Length: 99999999999999\r\n\r\n", &b"x".repeat(100_000));
    flood(address, b"GET /metrics HTTP/1.1\r\n", &b"X-Header: 0123456789\r\n".repeat(5000));
    flood(address, b"", &b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(3000));
    flood(address, b"GET /", &b"a".repeat(100_000));
    let (answer, (after, peak)) = (scrape(address), exporter(&running));
    running.signal(libc::SIGINT);
    running.wait();
    assert_eq!(before, after, "the exporter was started again");
    assert!(peak < MOST_MEMORY_KIB, "{peak} KiB");
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.contains("penfuzz_running"), "{answer}");
}

#[test]
fn a_scrape_is_answered_among_two_hundred_hostile_connections() {
    let dir = Dir::new();
    let (running, address) = exporting(&dir);
    let mut hostile: Vec<TcpStream> = (0..200).flat_map(|_| TcpStream::connect(address)).collect();
    for stream in hostile.iter_mut().skip(100) {
        let _ = stream.write_all(b"GET /metrics HTTP/1.1\r\nX: ");
    }
    let begun = Instant::now();
    let (answer, (_, peak)) = (scrape(address), exporter(&running));
    let took = begun.elapsed();
    running.signal(libc::SIGINT);
    running.wait();
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.contains("penfuzz_running"), "{answer}");
    assert!(took < Duration::from_secs(3) && peak < MOST_MEMORY_KIB, "{took:?}, {peak} KiB");
}
