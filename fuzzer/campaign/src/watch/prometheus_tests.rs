//! Tests of the answers to Prometheus.

use std::{
    io::{Read, Write},
    net::TcpStream,
};

use super::*;
use crate::watch::{example, write};

/// The complete answer to a request of the status in `dir`.
fn ask(dir: &Path, request: &str) -> String {
    let listener = bind(([127, 0, 0, 1], 0).into()).unwrap();
    let address = listener.local_addr().unwrap();
    let dir = dir.to_owned();
    std::thread::spawn(move || serve(&listener, &dir));
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "{request} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn metrics_of_a_farm() {
    let mut now = example::farm();
    now.target = "a \"quoted\"\nname".to_owned();
    insta::assert_snapshot!(metrics(now).unwrap());
}

#[test]
fn metrics_come_from_the_newest_status() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), &example::farm()).unwrap();
    let answer = ask(dir.path(), "GET /metrics");
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.contains(CONTENT_TYPE), "{answer}");
    assert!(
        answer.contains("penfuzz_client_evaluations_total{client=\"c1\",role=\"minimization\"} 40000000"),
        "{answer}"
    );
}

#[test]
fn without_a_status_the_answer_is_a_sentence() {
    let answer = ask(tempfile::tempdir().unwrap().path(), "GET /metrics");
    assert!(answer.starts_with("HTTP/1.1 503 ") && answer.contains("no status yet"), "{answer}");
}

#[test]
fn other_paths_and_methods_are_errors() {
    let dir = tempfile::tempdir().unwrap();
    for (request, status) in [("GET /", 404), ("GET /metrics/x", 404), ("POST /metrics", 405)] {
        let answer = ask(dir.path(), request);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{request}: {answer}");
    }
}

#[test]
fn a_port_in_use_is_an_error() {
    let taken = bind(([127, 0, 0, 1], 0).into()).unwrap();
    let address = taken.local_addr().unwrap();
    let error = bind(address).unwrap_err().to_string();
    assert!(error.contains(&address.to_string()) && error.contains("another"), "{error}");
}
