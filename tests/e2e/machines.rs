//! Two machines, simulated by two network namespaces that are connected.

use std::{fs, process::Command};

use serde_json::Value;

use crate::support::{Dir, Penfuzz, children, fixture, skip};

/// Two namespaces, `a` at 10.77.0.1 and `b` at 10.77.0.2; removed when dropped.
struct Machines {
    a: String,
    b: String,
}

impl Machines {
    /// `None` if this user may not create namespaces; see [`skip`].
    fn new() -> Option<Self> {
        let id = std::process::id();
        let machines = Self { a: format!("penfuzz-a{id}"), b: format!("penfuzz-b{id}") };
        let (a, b) = (&machines.a, &machines.b);
        for command in [
            format!("netns add {a}"),
            format!("netns add {b}"),
            format!("-n {a} link add cable type veth peer name cable netns {b}"),
            format!("-n {a} addr add 10.77.0.1/24 dev cable"),
            format!("-n {b} addr add 10.77.0.2/24 dev cable"),
            format!("-n {a} link set lo up"),
            format!("-n {b} link set lo up"),
            format!("-n {a} link set cable up"),
            format!("-n {b} link set cable up"),
        ] {
            if let Err(e) = ip(&command).map_err(|e| format!("ip {command}: {e}")) {
                skip("the program ip (package iproute2) or the privilege for network namespaces (CAP_NET_ADMIN)", &e);
                return None;
            }
        }
        Some(machines)
    }

    fn cable(&self, state: &str) {
        ip(&format!("-n {} link set cable {state}", self.a)).expect("the cable can be pulled and plugged in");
    }
}

impl Drop for Machines {
    fn drop(&mut self) {
        for name in [&self.a, &self.b] {
            let _ = ip(&format!("netns del {name}"));
        }
    }
}

fn ip(arguments: &str) -> Result<(), String> {
    let output = Command::new("ip").args(arguments.split(' ')).output().map_err(|e| e.to_string())?;
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()) }
}

/// Returns the `status.json` of a campaign; null if it does not exist yet.
fn status(dir: &Dir, out: &str) -> Value {
    let text = fs::read_to_string(dir.path(out).join("status.json")).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or(Value::Null)
}

fn covered(dir: &Dir, out: &str) -> u64 {
    status(dir, out)["branches"]["covered"].as_u64().unwrap_or(0)
}

fn is_linked(dir: &Dir, out: &str) -> bool {
    status(dir, out)["broker"]["peers"][0]["connected"].as_bool().unwrap_or(false)
}

fn campaign<'a>(dir: &'a Dir, more: &str) -> Penfuzz<'a> {
    let line = format!("--cores 0 --search random --max-time 300s {more}");
    dir.secret("secret", &[b'k'; 32]);
    dir.penfuzz(&line).args("--broker-secret secret").arg(fixture("secrets.c"))
}

#[test]
fn finds_reach_the_other_machine_also_after_the_link_was_cut() {
    let Some(machines) = Machines::new() else { return };
    let dir = Dir::new();
    let secret = |n: u64| dir.file(&format!("late/{n}"), n.to_le_bytes());
    fs::create_dir_all(dir.path("late")).expect("a directory can be made");
    let mut a =
        campaign(&dir, "--broker-address 10.77.0.1 --broker-port 7771 --sync late -o a").within(&machines.a).start();
    let mut b = campaign(&dir, "--remote-broker 10.77.0.1:7771 -o b").within(&machines.b).start();
    b.until("a link", || is_linked(&dir, "a") && is_linked(&dir, "b"));
    secret(1111);
    b.until("the first secret on the other machine", || covered(&dir, "b") == 5);

    machines.cable("down");
    secret(2222);
    a.until("the second secret on the first machine", || covered(&dir, "a") == 6);
    b.until("the dead link to be noticed", || !is_linked(&dir, "b"));
    assert_eq!(covered(&dir, "b"), 5, "nothing goes through a cable that is pulled");
    machines.cable("up");
    b.until("the second secret once the cable is back", || covered(&dir, "b") == 6);

    let broker = |pid| children(pid).into_iter().find(|(_, name)| name == "penfuzz broker").map(|(pid, _)| pid);
    let pid = broker(a.pid()).expect("a broker runs");
    // SAFETY: a plain system call on a process that our own child started.
    unsafe { libc::kill(pid.cast_signed(), libc::SIGKILL) };
    secret(3333);
    b.until("the third secret through a new broker", || covered(&dir, "b") == 7);
    for (machine, out) in [(a, "a"), (b, "b")] {
        machine.signal(libc::SIGINT);
        machine.wait().expect(dir.report(out).branches.covered == 7, "seven branches covered");
    }
}
