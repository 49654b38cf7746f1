//! The state of a campaign at one moment, which all displays show.

use std::{
    path::Path,
    time::{SystemTime, UNIX_EPOCH},
};

use penfuzz_engine::saturation::Goals;
use serde::{Deserialize, Serialize};

use penfuzz_report::Branches;
use penfuzz_system::files::{atomic, foreign};

/// The name of the file in the output directory.
pub const FILE: &str = "status.json";

/// Version of the file format.
pub const SCHEMA: u32 = 1;

/// A campaign at one moment; the content of `status.json`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The target as given on the command line.
    pub target: String,
    /// The function under test; empty while the target is being loaded.
    pub function: String,
    /// The path of the output directory; empty until it is known.
    pub directory: String,
    /// Process id of the supervisor.
    pub pid: u32,
    /// When the snapshot was taken, in seconds since 1970.
    pub updated: u64,
    /// Seconds of search, over all resumed parts.
    pub seconds: f64,
    /// Seconds of search in this run.
    pub seconds_of_run: f64,
    /// `running`, or why the campaign ended, as in `report.json`.
    pub stop_reason: String,
    /// What the campaign does at present.
    #[serde(default, skip_serializing_if = "Phase::is_search")]
    pub phase: Phase,
    /// The goals of the search.
    #[serde(default, skip_serializing_if = "Goals::are_branches")]
    pub goals: Goals,
    /// The counts of the client that has covered most; clients send each other their finds.
    pub branches: Branches,
    /// Number of evaluations of all clients and resumed parts.
    pub evaluations: u64,
    /// Evaluations per second over the last few seconds, of all clients.
    pub evaluations_per_second: f64,
    /// Number of inputs in `queue/` of all clients.
    pub kept: u64,
    /// Number of crashes at distinct places.
    pub crashes: u64,
    /// Number of hangs at distinct places.
    pub hangs: u64,
    /// Number of finds that could not be written yet, because the disk is full or fails.
    pub unwritten: u64,
    /// Seconds since a branch was last covered for the first time; since the start of this run if none was.
    pub since_last_find: f64,
    /// The clients, sorted by name.
    pub clients: Vec<Client>,
    /// Present if there are several clients or machines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broker: Option<Broker>,
    /// The last finds, newest last.
    pub finds: Vec<Find>,
    /// Problems that did not end the campaign, newest last: a full disk, clients that died, links that broke.
    pub messages: Vec<String>,
}

/// What a campaign does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// It searches.
    #[default]
    Search,
    /// Solvers run, and the search waits or is over.
    Proofs,
    /// The search is over, and the tests are confirmed and written.
    Report,
    /// The emitted tests are compiled and run.
    Tests,
}

impl Phase {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_search(&self) -> bool {
        *self == Self::Search
    }
}

/// One client: a process that searches.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Client {
    /// Name of the client and of its directory.
    pub name: String,
    /// Its role: `mixed`, `minimization`, `havoc`, or the name of the search.
    pub role: String,
    /// The core it is bound to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core: Option<usize>,
    /// Process id; 0 while it is being restarted.
    pub pid: u32,
    /// `starting`, `searching`, `stopped` (by SIGSTOP or a debugger) or `ended`.
    pub state: String,
    /// Number of restarts after it was killed.
    pub restarts: u32,
    /// Number of evaluations, over all resumed parts.
    pub evaluations: u64,
    /// Evaluations per second over the last few seconds.
    pub evaluations_per_second: f64,
    /// Number of branches covered, by its own count.
    pub covered: u64,
    /// Number of branches saturated, by its own count.
    pub saturated: u64,
    /// Number of inputs in its `queue/`.
    pub kept: u64,
    /// Number of inputs in its `crashes/`.
    pub crashes: u64,
    /// Number of inputs in its `hangs/`.
    pub hangs: u64,
}

impl Client {
    /// Whether its process exists, by its state.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        matches!(self.state.as_str(), "searching" | "stopped")
    }
}

/// The broker, which forwards finds between clients and machines.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Broker {
    /// The port that other machines may connect to; 0 if there is none.
    pub port: u16,
    /// Number of restarts.
    pub restarts: u32,
    /// The other machines.
    pub peers: Vec<Peer>,
}

/// Another machine.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Peer {
    /// Host and port as given on the command line, or the address from which it connected.
    pub address: String,
    /// Whether it is connected.
    pub connected: bool,
    /// Number of finds received from it.
    pub received: u64,
}

/// One find.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Find {
    /// Seconds of search at the find.
    pub seconds: f64,
    /// Name of the client.
    pub client: String,
    /// A description: `2 branches, 17 of 20 covered`, `crash`, `hang`.
    pub what: String,
}

/// The current time in seconds since 1970; 0 before 1970.
#[must_use]
pub fn seconds_since_1970() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs())
}

/// Writes the status into `dir`; called every second. It is not flushed, because it is of no use after a crash of the
/// machine.
///
/// # Errors
/// File system errors.
pub fn write(dir: &Path, snapshot: &Snapshot) -> std::io::Result<()> {
    let text = serde_json::to_vec_pretty(snapshot).map_err(std::io::Error::other)?;
    atomic::replace(&dir.join(FILE), &text)
}

/// Reads the status of the campaign in `dir`.
///
/// # Errors
/// File system errors, and when the file has another version.
pub fn read(dir: &Path) -> std::io::Result<Snapshot> {
    let bytes = foreign::read_own(&dir.join(FILE), foreign::LONGEST_TEXT)?;
    let snapshot: Snapshot = serde_json::from_slice(&bytes).map_err(std::io::Error::other)?;
    if snapshot.schema == SCHEMA {
        Ok(snapshot)
    } else {
        Err(std::io::Error::other(format!("schema {} instead of {SCHEMA}", snapshot.schema)))
    }
}
