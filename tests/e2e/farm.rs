//! Several clients share their finds, and a killed process is replaced.

use std::{
    fs,
    time::{Duration, Instant},
};

use crate::support::{Dir, Running, children, fixture, shared_memory_of};

/// Options with which no client finds anything by itself, or ends.
const DEAF: &str = "--search random --max-time 50s";

/// Returns the bytes of an argument of `secrets.c`.
fn secret(n: u64) -> [u8; 8] {
    n.to_le_bytes()
}

/// Returns the number of branches that a client has covered, from its `fuzzer_stats`.
fn covered_by(dir: &Dir, client: &str) -> Option<u32> {
    let text = fs::read_to_string(dir.path(format!("out/{client}/fuzzer_stats"))).ok()?;
    let line = text.lines().find(|l| l.starts_with("edges_found"))?;
    line.split(": ").nth(1)?.trim().parse().ok()
}

fn pid_of(running: &Running, name: &str) -> Option<u32> {
    children(running.pid()).into_iter().find(|(_, n)| n == name).map(|(pid, _)| pid)
}

fn kill(pid: u32, signal: i32) {
    // SAFETY: a plain system call on a process that our own child started.
    unsafe { libc::kill(pid.cast_signed(), signal) };
}

/// Starts a farm of two clients on `secrets.c`, and waits until it runs.
fn farm<'a>(dir: &'a Dir, more: &str) -> Running<'a> {
    let mut running = dir.fuzz(fixture("secrets.c"), &format!("--cores 0-1 {DEAF} {more}")).start();
    let supervisor = running.pid();
    for name in ["penfuzz c0", "penfuzz c1", "penfuzz broker"] {
        running.until(name, || children(supervisor).iter().any(|(_, n)| n == name));
    }
    running.until("searching clients", || ["c0", "c1"].iter().all(|c| covered_by(dir, c).is_some()));
    running
}

#[test]
fn two_clients_end_with_one_report() {
    let dir = Dir::new();
    let run = dir.fuzz(fixture("floats.c"), "--cores 0-1").exits(0);
    let report = dir.report("out");
    run.expect(report.branches.covered == report.branches.total, "all branches covered");
    run.expect(report.stop_reason == "saturated", "stopped because all is saturated");
    run.expect(report.tests.iter().all(|t| dir.path("out").join(&t.file).is_file()), "files of tests below the output");
    run.expect(dir.path("out/campaign.json").is_file(), "the campaign's own description");
    run.expect(dir.path("out/c0/queue").is_dir() && dir.path("out/c1/queue").is_dir(), "a directory for each client");
}

#[test]
fn clients_share_the_inputs_of_their_directories() {
    let dir = Dir::new();
    let target = fixture("secrets.c");
    // A single client finds a secret; the next run learns it only from its directory.
    dir.file("seeds/one", secret(1111));
    dir.fuzz(&target, "--search random --max-evals 1000 -i seeds").exits(0);
    let mut running = farm(&dir, "");
    running.until("the first secret at both", || ["c0", "c1"].iter().all(|c| covered_by(&dir, c) == Some(5)));
    running.signal(libc::SIGINT);
    let run = running.wait();
    run.expect(dir.report("out").branches.covered == 5, "five branches covered");
}

#[test]
fn a_killed_client_is_replaced_and_its_input_is_no_crash() {
    let dir = Dir::new();
    let mut running = farm(&dir, "");
    for name in ["penfuzz c0", "penfuzz c1"] {
        let pid = pid_of(&running, name).expect("a client runs");
        kill(pid, libc::SIGKILL);
        let supervisor = running.pid();
        let another = || children(supervisor).iter().any(|(p, n)| n == name && *p != pid);
        running.until("another client in its place", another);
    }
    std::thread::sleep(Duration::from_millis(500));
    running.signal(libc::SIGINT);
    let run = running.wait();
    run.expect(run.status.code() == Some(0), "exit status 0: nobody crashed by himself");
    run.expect(dir.report("out").crashes.is_empty(), "no crash in the report");
}

#[test]
fn finds_are_shared_by_a_new_broker() {
    let dir = Dir::new();
    fs::create_dir_all(dir.path("late")).expect("a directory can be made");
    let mut running = farm(&dir, "--sync late");
    let supervisor = running.pid();
    for (n, covered) in [(1111, 5), (2222, 6)] {
        let pid = pid_of(&running, "penfuzz broker").expect("a broker runs");
        kill(pid, libc::SIGKILL);
        running
            .until("another broker", || children(supervisor).iter().any(|(p, n)| n == "penfuzz broker" && *p != pid));
        dir.file(&format!("late/{n}"), secret(n));
        running.until("the secret at both", || ["c0", "c1"].iter().all(|c| covered_by(&dir, c) == Some(covered)));
    }
    running.signal(libc::SIGINT);
    running.wait().expect(dir.report("out").branches.covered == 6, "six branches covered");
}

#[test]
fn a_killed_supervisor_leaves_nothing_and_is_resumed() {
    let dir = Dir::new();
    dir.file("seeds/one", secret(3333));
    let mut running = farm(&dir, "-i seeds");
    running.until("the secret", || covered_by(&dir, "c1") == Some(5));
    let family: Vec<u32> = children(running.pid()).into_iter().map(|(pid, _)| pid).collect();
    running.signal(libc::SIGKILL);
    let _ = running.wait();
    dir.until_unlocked("out");
    let is_gone = |pid: &u32| !fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|n| n.starts_with("penfuzz"));
    // Ending them may take the system a moment.
    let deadline = Instant::now() + Duration::from_secs(5);
    while !(family.iter().all(is_gone) && shared_memory_of(&family) == 0) {
        assert!(Instant::now() < deadline, "neither a process nor shared memory outlives the supervisor");
        std::thread::sleep(Duration::from_millis(10));
    }
    dir.fuzz(fixture("secrets.c"), "--cores 0-1 --search random --max-time 1s").exits(0);
    assert_eq!(dir.report("out").branches.covered, 5, "what was found is still known");
}

#[test]
fn evaluations_of_all_clients_count() {
    let dir = Dir::new();
    let run = dir.fuzz(fixture("secrets.c"), "--cores 0-1 --search random --max-evals 300000").exits(0);
    let report = dir.report("out");
    run.expect(report.stop_reason == "max-evals" && report.evaluations >= 300_000, "the limit ended it");
    let of_both = ["c0", "c1"].map(|c| dir.files(&format!("out/{c}"))["state.json"].len());
    run.expect(of_both.iter().all(|n| *n > 2), "both have a state");
}

#[test]
fn one_client_does_not_go_on_in_the_directory_of_several() {
    let dir = Dir::new();
    dir.fuzz(fixture("floats.c"), "--cores 0").exits(0);
    dir.fuzz(fixture("floats.c"), "").exits(1).says("holds a campaign of several clients; give --cores");
}

#[test]
fn another_function_is_refused_and_changes_nothing() {
    let dir = Dir::new();
    dir.fuzz(fixture("floats.c"), "--cores 0").exits(0);
    let before = dir.files("out");
    dir.fuzz(fixture("secrets.c"), "--cores 0 --max-evals 9").exits(1).says("out holds a campaign on another function");
    assert_eq!(dir.files("out")["campaign.json"], before["campaign.json"], "the old campaign is as it was");
}

#[test]
fn two_farms_do_not_share_a_directory() {
    let dir = Dir::new();
    let running = farm(&dir, "");
    let owner = format!("(process {})", running.pid());
    dir.fuzz(fixture("secrets.c"), "--cores 0").exits(1).says("in use by another campaign").says(&owner);
    running.signal(libc::SIGINT);
    running.wait();
}

#[test]
fn several_clients_resume_the_campaign_of_one() {
    let dir = Dir::new();
    dir.fuzz(fixture("floats.c"), "").exits(0);
    let before = dir.report("out");
    let run = dir.fuzz(fixture("floats.c"), "--cores 0-1").exits(0);
    run.expect(dir.report("out").branches.covered == before.branches.covered, "as many branches as before");
}

#[test]
fn a_port_that_is_taken_is_told_at_once() {
    let dir = Dir::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("some port is free");
    let port = taken.local_addr().expect("it has an address").port();
    let run = dir.fuzz(fixture("floats.c"), &format!("--insecure --broker-port {port}")).exits(1);
    run.says(&format!("cannot listen on 127.0.0.1 port {port}")).says("give another --broker-port");
}

#[test]
fn a_core_that_does_not_exist_is_told_at_once() {
    let dir = Dir::new();
    dir.fuzz(fixture("floats.c"), "--cores 900").exits(1).says("there is no core 900").says("give --cores");
    assert!(!dir.path("out").exists(), "nothing is begun");
}
