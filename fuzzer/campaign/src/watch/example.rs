//! A snapshot of a farm, for tests of the displays.

use penfuzz_report::Branches;

use super::{Broker, Client, Find, Peer, SCHEMA, Snapshot};

fn client(name: &str, role: &str, core: usize, state: &str, evaluations: u64) -> Client {
    Client {
        name: name.to_owned(),
        role: role.to_owned(),
        core: Some(core),
        pid: if state == "starting" { 0 } else { 4000 + core as u32 },
        state: state.to_owned(),
        restarts: u32::from(state == "starting"),
        evaluations,
        evaluations_per_second: evaluations as f64 / 100.0,
        covered: 16 + core as u64 % 2,
        saturated: 11,
        kept: 5,
        crashes: 1,
        hangs: 0,
    }
}

/// Three clients, one of which is being restarted.
pub fn farm() -> Snapshot {
    let find = |seconds, client: &str, what: &str| Find { seconds, client: client.to_owned(), what: what.to_owned() };
    Snapshot {
        schema: SCHEMA,
        target: "clamp.c".to_owned(),
        function: "clamp".to_owned(),
        directory: "out".to_owned(),
        pid: 4321,
        updated: 1_800_000_000,
        seconds: 185.5,
        seconds_of_run: 65.5,
        stop_reason: "running".to_owned(),
        phase: super::Phase::Search,
        goals: penfuzz_engine::saturation::Goals::Branches,
        branches: Branches { total: 20, covered: 17, saturated: 12, given_up: 1, ..Branches::default() },
        evaluations: 123_456_789,
        evaluations_per_second: 654_321.0,
        kept: 15,
        crashes: 2,
        hangs: 1,
        unwritten: 2,
        since_last_find: 12.7,
        clients: vec![
            client("c0", "mixed", 0, "searching", 60_000_000),
            client("c1", "minimization", 1, "searching", 40_000_000),
            client("c2", "havoc", 2, "starting", 23_456_789),
        ],
        broker: Some(Broker {
            port: 7777,
            restarts: 1,
            peers: vec![Peer { address: "farm2:7777".to_owned(), connected: true, received: 12 }],
        }),
        finds: vec![
            find(0.2, "c0", "14 branches, 14 of 20 covered"),
            find(3.0, "c1", "crash"),
            find(172.8, "c0", "3 branches, 17 of 20 covered"),
        ],
        messages: vec!["c2 was killed (SIGKILL) and is started again".to_owned()],
    }
}
