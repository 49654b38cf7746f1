//! Targets that attack the process that runs them, by accident or not, and code with more branches than people write by
//! hand.

use std::{fmt::Write, net::TcpListener, path::PathBuf};

use crate::support::{Dir, children, open_branches};

/// Writes the target as a C file in the directory.
fn source(dir: &Dir, text: &str) -> PathBuf {
    dir.file("target.c", text)
}

const OPENS_A_SOCKET: &str = r"
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
int reaches(int x) {
  int s = socket(AF_INET, SOCK_DGRAM, 0);
  if (s < 0) return errno == EPERM;
  close(s);
  return x;
}
";

#[test]
fn a_target_opens_no_socket_unless_it_is_allowed_to() {
    let dir = Dir::new();
    let target = source(&dir, OPENS_A_SOCKET);
    let run = dir.fuzz(&target, "--max-evals 3000").exits(0);
    let open = open_branches(&dir.report("out"));
    run.expect(open == ["8 false"], &format!("no socket was opened, open are {open:?}"));
    let run = dir.penfuzz("-o allowed --max-evals 3000 --allow network").arg(&target).exits(0);
    let open = open_branches(&dir.report("allowed"));
    run.expect(open == ["8 true"], &format!("each call opened one, open are {open:?}"));
}

#[test]
fn manifest_has_the_allowed_operations() {
    let dir = Dir::new();
    let target = source(&dir, OPENS_A_SOCKET);
    dir.fuzz(&target, "--max-evals 100 --allow network").exits(0);
    let manifest = String::from_utf8_lossy(&dir.files("out")["campaign.json"]).into_owned();
    assert!(manifest.contains("\"allow\"") && manifest.contains("\"network\""), "{manifest}");
}

#[test]
fn a_target_makes_no_ring_of_system_calls() {
    let dir = Dir::new();
    let text = r"
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>
int rings(int x) {
  if (syscall(SYS_io_uring_setup, 1, (void *)0) < 0 && errno == EPERM) return x;
  return -1;
}
";
    let run = dir.fuzz(source(&dir, text), "--max-evals 1000").exits(0);
    let open = open_branches(&dir.report("out"));
    run.expect(open == ["6 false", "6 false"], &format!("EPERM at every call, open are {open:?}"));
}

#[test]
fn a_target_cannot_ignore_or_block_a_hangup_of_its_worker() {
    let dir = Dir::new();
    let text = r"
#include <signal.h>
int hides(int x) {
  sigset_t now, hup;
  sigemptyset(&hup);
  sigaddset(&hup, SIGHUP);
  sigprocmask(SIG_BLOCK, &hup, 0);
  sigprocmask(SIG_BLOCK, 0, &now);
  return sigismember(&now, SIGHUP) ? x : -x;
}
";
    let run = dir.fuzz(source(&dir, text), "--max-evals 1000").exits(0);
    let open = open_branches(&dir.report("out"));
    run.expect(open == ["9 true"], &format!("SIGHUP is never blocked, open are {open:?}"));
}

/// Writes 0xff to every writable shared mapping.
const SCRIBBLES: &str = r#"
#include <stdio.h>
#include <string.h>
int scribbles(int x) {
  static int done;
  if (x != 12345 || done) return x > 7;
  done = 1;
  FILE *maps = fopen("/proc/self/maps", "r");
  char line[512], shared[64][32];
  unsigned long from[64], to[64];
  int n = 0;
  while (maps && n < 64 && fgets(line, sizeof line, maps))
    if (sscanf(line, "%lx-%lx %31s", &from[n], &to[n], shared[n]) == 3 && !strcmp(shared[n], "rw-s")) n++;
  for (int i = 0; i < n; i++) memset((void *)from[i], 0xff, to[i] - from[i]);
  return n;
}
"#;

#[test]
fn a_target_that_overwrites_the_shared_memory_does_not_choose_the_directory() {
    let dir = Dir::new();
    let run = dir.fuzz(source(&dir, SCRIBBLES), "--seed 1 --max-time 5s --timeout 300ms").run();
    run.expect(run.status.code().is_some_and(|c| c == 0 || c == 3), "the campaign ends in order");
    run.expect(!run.stderr.contains('\u{fffd}'), "no garbage is printed");
    let report = dir.report("out");
    let taken = report.sites.iter().find(|s| s.line == 6).is_some_and(|s| s.branches[0].input.is_some());
    run.expect(taken, "the shared memory was overwritten");
    let beside: Vec<String> = std::fs::read_dir(dir.path(""))
        .expect("the directory can be read")
        .map(|e| e.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    run.expect(beside.iter().all(|name| name == "out" || name == "target.c"), &format!("only these: {beside:?}"));
}

#[test]
fn workers_do_not_have_the_socket_of_the_metrics() {
    let dir = Dir::new();
    let text = "int waits(int x) { return x == 77 && x == 78; }\n";
    let port = {
        let listener = TcpListener::bind("127.0.0.1:0").expect("there is a port");
        listener.local_addr().expect("it has an address").port()
    };
    let arguments = format!("--max-time 60s --quiet --monitor prometheus=127.0.0.1:{port}");
    let mut running = dir.fuzz(source(&dir, text), &arguments).start();
    let supervisor = running.pid();
    let worker = || children(supervisor).into_iter().find(|(_, name)| name.contains("c0") || !name.contains("metrics"));
    running.until("a worker and the metrics", || children(supervisor).len() == 2 && dir.path("out/queue").is_dir());
    let (pid, name) = worker().expect("a worker runs");
    let links = std::fs::read_dir(format!("/proc/{pid}/fd")).expect("its descriptors can be listed");
    let sockets: Vec<String> = links
        .flatten()
        .filter_map(|e| Some(std::fs::read_link(e.path()).ok()?.to_string_lossy().into_owned()))
        .filter(|link| link.starts_with("socket:"))
        .collect();
    running.signal(libc::SIGINT);
    let run = running.wait();
    run.expect(sockets.is_empty(), &format!("`{name}` has no socket, has {sockets:?}"));
}

/// Returns a switch with this number of cases. No input takes any of them, so all stay open.
fn switch(cases: usize) -> String {
    let mut text =
        "int subject(int x) { __asm__(\"\" : \"+r\"(x)); x |= 1; __asm__(\"\" : \"+r\"(x));\n  switch (x) {\n"
            .to_owned();
    for i in 0..cases {
        writeln!(text, "    case {}: return {};", 2 * i, i * 7919 % 10007).expect("a String takes it");
    }
    text + "    default: return -1;\n  }\n}\n"
}

#[test]
fn an_evaluation_costs_the_same_with_thousands_of_open_branches() {
    let dir = Dir::new();
    // The time of each campaign is measured from its first evaluation.
    let seconds = |name: &str, cases: usize| {
        let target = dir.file(&format!("{name}.c"), switch(cases));
        let run = dir.penfuzz("--max-evals 200000 --max-time 50s").arg("-o").arg(dir.path(name)).arg(&target).exits(0);
        let report = dir.report(name);
        run.expect(report.evaluations >= 200_000, "all evaluations are made in time");
        report.seconds
    };
    let (few, many) = (seconds("few", 10), seconds("many", 2000));
    // In an earlier version, 2000 open cases cost several thousand times as much as 10.
    assert!(many < 20.0 * few + 5.0, "{few} s with 10 open branches, {many} s with 2000");
}
