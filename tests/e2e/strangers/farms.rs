//! Forged messages in a farm, from the same machine and from others.

use std::{
    collections::BTreeSet,
    fs,
    io::{Read, Write},
    net::TcpStream,
    thread::sleep,
    time::{Duration, Instant},
};

use penfuzz_campaign::cluster::{
    message::{Body, Message},
    secret::{Receiver, Secret, SecureConnection, Sender, Side},
};
use serde_json::Value;

use crate::support::{Dir, Penfuzz, Run, Running, children, fixture};

const PATIENCE: Duration = Duration::from_secs(20);

/// A campaign on `secrets.c` that finds nothing by itself and does not end before its time limit.
fn farm<'a>(dir: &'a Dir, out: &str, more: &str) -> Penfuzz<'a> {
    dir.penfuzz(&format!("--search random --max-time 60s -o {out} {more}")).arg(fixture("secrets.c"))
}

/// Returns the `status.json` of a campaign; null if it does not exist yet.
fn status(dir: &Dir, out: &str) -> Value {
    let text = fs::read_to_string(dir.path(out).join("status.json")).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or(Value::Null)
}

fn is_running(dir: &Dir, out: &str) -> bool {
    status(dir, out)["branches"]["covered"].as_u64().unwrap_or(0) > 0
}

fn is_linked(dir: &Dir, out: &str) -> bool {
    status(dir, out)["broker"]["peers"][0]["connected"].as_bool().unwrap_or(false)
}

fn end(running: Running<'_>) -> Run<'_> {
    running.signal(libc::SIGINT);
    running.wait()
}

/// Returns the inodes of the sockets that a process has open.
fn sockets_of(pid: u32) -> BTreeSet<String> {
    let files = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let inode = |link: std::path::PathBuf| Some(link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned());
    files.filter_map(|file| inode(fs::read_link(file.path()).ok()?)).collect()
}

/// Returns the inodes of the sockets in a table of the kernel to which others can connect: listening TCP sockets, and
/// Unix sockets with a name.
fn reachable(table: &str) -> BTreeSet<String> {
    let text = fs::read_to_string(format!("/proc/net/{table}")).unwrap_or_default();
    let inode = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        if table == "unix" {
            (fields.len() > 7).then(|| fields[6].to_owned())
        } else {
            (fields.get(3) == Some(&"0A")).then(|| fields[9].to_owned())
        }
    };
    text.lines().skip(1).filter_map(inode).collect()
}

#[test]
fn a_farm_of_one_machine_can_be_reached_by_nobody() {
    let dir = Dir::new();
    let mut running = farm(&dir, "out", "--cores 0-1").start();
    running.until("a status", || is_running(&dir, "out"));
    let open: BTreeSet<String> =
        children(running.pid()).iter().map(|(pid, _)| *pid).chain([running.pid()]).flat_map(sockets_of).collect();
    assert!(!open.is_empty(), "broker and clients are connected");
    for table in ["tcp", "tcp6", "udp", "unix"] {
        let reached: Vec<_> = reachable(table).intersection(&open).cloned().collect();
        assert!(reached.is_empty(), "{table} sockets {reached:?} can be connected to");
    }
    end(running).expect(true, "an end");
}

#[test]
fn a_client_has_the_socket_of_no_other_client() {
    let dir = Dir::new();
    let mut running = farm(&dir, "out", "--cores 0-1").start();
    let supervisor = running.pid();
    let sockets = |name: &str| {
        let all = children(supervisor);
        all.iter().find(|(_, n)| n == name).map(|(pid, _)| sockets_of(*pid)).unwrap_or_default()
    };
    running.until("one socket each", || {
        let (first, second) = (sockets("penfuzz c0"), sockets("penfuzz c1"));
        first.len() == 1 && second.len() == 1 && first != second
    });
    end(running).expect(true, "an end");
}

#[test]
fn other_machines_need_a_secret_or_an_explicit_option() {
    let dir = Dir::new();
    dir.file("readable", [b'k'; 32]);
    dir.secret("short", b"hunter2");
    for options in ["--broker-port 17781", "--remote-broker localhost:17781", "--broker-address 0.0.0.0"] {
        farm(&dir, "out", options).exits(1).says("--broker-secret FILE");
        farm(&dir, "out", &format!("{options} --broker-secret readable")).exits(1).says("chmod 600");
        farm(&dir, "out", &format!("{options} --broker-secret short")).exits(1).says("7 bytes");
        farm(&dir, "out", &format!("{options} --broker-secret none")).exits(1).says("cannot be read");
        farm(&dir, "out", &format!("{options} --broker-secret short --insecure")).exits(2);
    }
    farm(&dir, "out", "--broker-port 17781 --insecure --max-evals 1000").exits(0);
}

#[test]
fn strangers_at_the_port_neither_take_part_nor_keep_others_away() {
    let dir = Dir::new();
    dir.secret("ours", &[b'k'; 32]);
    dir.secret("theirs", &[b'x'; 32]);
    let mut first = farm(&dir, "a", "--broker-port 17782 --broker-secret ours").start();
    first.until("a status", || is_running(&dir, "a"));
    let connect = || TcpStream::connect("127.0.0.1:17782").expect("the port is open");
    // First silent connections, more than the server accepts, then invalid data: HTTP, lengths without content, a hello
    // of LLMP.
    let silent: Vec<TcpStream> = (0..100).map(|_| connect()).collect();
    for nonsense in
        [&b"GET / HTTP/1.0\r\n\r\n"[..], &[0xff; 64], &[0, 0, 0, 1, 77], &[0xff; 2], b"", b"\0\0\0\x07\x03\x05local"]
    {
        connect().write_all(nonsense).expect("bytes can be sent");
    }
    let mut other = farm(&dir, "x", "--remote-broker localhost:17782 --broker-secret theirs").start();
    other.until_said("check that its --broker-secret is the same");
    first.until_said("it has another --broker-secret");
    let mut second = farm(&dir, "b", "--remote-broker localhost:17782 --broker-secret ours").start();
    second.until("a link", || is_linked(&dir, "b"));
    assert!(!is_linked(&dir, "x"));
    let before = status(&dir, "a")["evaluations"].as_u64();
    first.until("the search to go on", || status(&dir, "a")["evaluations"].as_u64() > before);
    assert_eq!(status(&dir, "a")["broker"]["restarts"], 0, "the broker lives");
    drop(silent);
    for running in [first, second, other] {
        end(running).expect(true, "an end");
    }
}

/// A client that knows the secret and sends false messages.
struct Forger {
    sender: Sender,
    receiver: Receiver,
}

impl Forger {
    fn connect(dir: &Dir, port: u16, secret: &str) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", port)).expect("the port is open");
        let secret = Secret::read(&dir.path(secret)).expect("the secret is one");
        let sealed = SecureConnection::new(stream, Side::Connects, &secret, PATIENCE).expect("the secret is the same");
        let mut forger = Self { sender: sealed.sender(), receiver: sealed.receiver() };
        forger.sender.send(&[]).expect("the link stands");
        forger
    }

    /// Returns the hashes of function and sites of the next message that can be decoded.
    fn hashes(&mut self) -> (u64, u64) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let bytes = self.receiver.receive(Some(deadline)).expect("messages arrive");
            if let Some(message) = Message::decode(bytes) {
                return (message.function, message.sites);
            }
        }
    }

    fn send(&mut self, (function, sites): (u64, u64), body: Body) {
        self.sender.send(&Message { function, sites, body }.encode()).expect("the link stands");
    }
}

#[test]
fn one_that_has_the_secret_and_lies_changes_no_result() {
    let dir = Dir::new();
    dir.secret("ours", &[b'k'; 32]);
    dir.file("seeds/one", 1111_u64.to_le_bytes());
    let mut running = farm(&dir, "out", "--broker-port 17783 --broker-secret ours -i seeds").start();
    running.until("the secret of the seed", || status(&dir, "out")["branches"]["covered"] == 5);
    let mut forger = Forger::connect(&dir, 17783, "ours");
    let hashes = forger.hashes();
    for branch in 0..1000 {
        forger.send(hashes, Body::GivenUp(branch));
    }
    let spent = (0..1000).map(|branch| (branch, u64::MAX)).collect();
    forger.send(hashes, Body::Spent { client: 1, branches: spent });
    for is_costly in [false, true] {
        // These inputs fail nowhere.
        forger.send(hashes, Body::Failing { bytes: vec![1; 8], is_costly });
        forger.send(hashes, Body::Failing { bytes: vec![2; 50_000], is_costly });
    }
    forger.sender.send(&[0xff; 100]).expect("the link stands");
    // A correct input is accepted.
    forger.send(hashes, Body::Input(2222_u64.to_le_bytes().to_vec()));
    running.until("the true message after all false ones", || status(&dir, "out")["branches"]["covered"] == 6);
    sleep(Duration::from_millis(500));
    let run = end(running);
    let report = dir.report("out");
    run.expect(report.branches.covered == 6 && report.branches.given_up == 0, "nothing forged in the report");
    run.expect(report.crashes.is_empty() && report.hangs.is_empty(), "no failure in the report");
    run.expect(report.stop_reason == "interrupted", "the farm went on");
}

#[test]
fn a_crash_of_another_machine_is_kept_with_its_input() {
    let dir = Dir::new();
    dir.secret("ours", &[b'k'; 32]);
    let input = 1111_u64.to_le_bytes();
    dir.file("seeds/one", input);
    let start = |options: &str| {
        let all = "--cores 0-1 --search random --max-time 60s --broker-secret ours";
        dir.penfuzz(&format!("{all} {options}")).arg(fixture("secret_crash.c")).start()
    };
    let mut a = start("-o a -i seeds --broker-port 17784");
    a.until("the crash of the seed", || status(&dir, "a")["crashes"].as_u64() > Some(0));
    let mut b = start("-o b --remote-broker localhost:17784");
    b.until("the crash of the other machine", || {
        dir.path("b/c0/crashes").is_dir() && !dir.files("b/c0/crashes").is_empty()
    });
    b.until("both to cover the rest", || ["a", "b"].iter().all(|out| status(&dir, out)["branches"]["covered"] == 2));
    for (running, out) in [(a, "a"), (b, "b")] {
        let run = end(running);
        run.expect(run.status.code() == Some(3), "exit status 3: a crash was found");
        let report = dir.report(out);
        let b = &report.branches;
        run.expect((b.covered, b.covered_by_crash_only) == (2, 1), "a branch that only the crash covers");
        run.expect(report.crashes.len() == 1, "one crash");
    }
    assert!(dir.files("b/c0/crashes").values().any(|bytes| *bytes == input), "the input is there");
    assert!(dir.files("b/c1/crashes").is_empty(), "one client keeps it");
}

#[test]
fn a_silent_connection_is_closed() {
    let dir = Dir::new();
    let mut running = farm(&dir, "out", "--broker-port 17785 --insecure").start();
    running.until("a status", || is_running(&dir, "out"));
    let mut stream = TcpStream::connect("127.0.0.1:17785").expect("the port is open");
    stream.set_read_timeout(Some(PATIENCE)).expect("a time limit can be set");
    let closed = stream.read_to_end(&mut Vec::new());
    assert_eq!(closed.expect("no time limit of ours passes"), 0, "closed without a word");
    end(running).expect(true, "an end");
}

#[test]
fn a_second_ctrl_c_ends_a_farm_within_a_second_whatever_its_clients_do() {
    let dir = Dir::new();
    let mut running = farm(&dir, "out", "--cores 0-1").start();
    running.until("a status", || is_running(&dir, "out"));
    for (pid, name) in children(running.pid()) {
        if name.starts_with("penfuzz c") {
            // SAFETY: a plain system call on a process that our own child started.
            unsafe { libc::kill(pid.cast_signed(), libc::SIGSTOP) };
        }
    }
    running.signal(libc::SIGINT);
    sleep(Duration::from_millis(300));
    let begun = Instant::now();
    running.signal(libc::SIGINT);
    let run = running.wait();
    run.says("interrupted twice");
    run.expect(begun.elapsed() < Duration::from_secs(1), "an end within a second");
}

#[test]
fn a_report_whose_process_is_killed_is_tried_again() {
    let dir = Dir::new();
    let mut running = farm(&dir, "out", "--cores 0").start();
    running.until("a status", || is_running(&dir, "out"));
    running.signal(libc::SIGINT);
    let supervisor = running.pid();
    let mut killed = None;
    running.until("a process that writes the report", || {
        killed = children(supervisor).into_iter().find(|(_, name)| name.starts_with("penfuzz rep")).map(|(pid, _)| pid);
        killed.is_some()
    });
    // SAFETY: a plain system call on a process that our own child started.
    unsafe { libc::kill(killed.map_or(0, u32::cast_signed), libc::SIGKILL) };
    running.wait().expect(dir.report("out").stop_reason == "interrupted", "the last report");
}
