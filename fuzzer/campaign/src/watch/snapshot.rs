//! The state of a campaign at one moment.

use std::{
    path::Path,
    time::{SystemTime, UNIX_EPOCH},
};

use penfuzz_engine::saturation::Goals;
use serde::{Deserialize, Serialize};

use penfuzz_report::Branches;
use penfuzz_system::files::{atomic, foreign};

/// The file in the output directory.
pub const FILE: &str = "status.json";

/// Version of the file.
pub const SCHEMA: u32 = 1;

/// A campaign at one moment; the content of `status.json`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The target as the user named it.
    pub target: String,
    /// The function under test; empty as long as the target is being loaded.
    pub function: String,
    /// The output directory as the user named it; empty as long as it is not known.
    pub directory: String,
    /// Process id of the supervisor.
    pub pid: u32,
    /// When this was taken, in seconds since 1970.
    pub updated: u64,
    /// Seconds of search, over all resumed parts.
    pub seconds: f64,
    /// Seconds of search in this run.
    pub seconds_of_run: f64,
    /// `running`, or why it ended, as in `report.json`.
    pub stop_reason: String,
    /// What is searched for.
    #[serde(default, skip_serializing_if = "Goals::are_branches")]
    pub goals: Goals,
    /// Counts of the client that has covered most: clients send each other what they find.
    pub branches: Branches,
    /// Calls of the representing function, of all clients and resumed parts.
    pub evaluations: u64,
    /// Evaluations per second over the last few seconds, of all clients.
    pub evaluations_per_second: f64,
    /// Inputs in `queue/` of all clients.
    pub kept: u64,
    /// Crashes at distinct places.
    pub crashes: u64,
    /// Hangs at distinct places.
    pub hangs: u64,
    /// Finds that could not be written yet, because the disk is full or fails.
    pub unwritten: u64,
    /// Seconds since a branch was covered for the first time; since the start of this run when none was.
    pub since_last_find: f64,
    /// One per client, by name.
    pub clients: Vec<Client>,
    /// Present when there are several clients or machines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broker: Option<Broker>,
    /// The last finds, newest last.
    pub finds: Vec<Find>,
    /// What went wrong while the campaign goes on, newest last: full disk, clients that died, links that broke.
    pub messages: Vec<String>,
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
    /// Process id; 0 while it is being started again.
    pub pid: u32,
    /// `starting`, `searching`, `stopped` (by SIGSTOP or a debugger) or `ended`.
    pub state: String,
    /// Times it was started again after it had been killed.
    pub restarts: u32,
    /// Calls of the representing function, over all resumed parts.
    pub evaluations: u64,
    /// Evaluations per second over the last few seconds.
    pub evaluations_per_second: f64,
    /// Branches covered, by its own count.
    pub covered: u64,
    /// Branches saturated, by its own count.
    pub saturated: u64,
    /// Inputs in its `queue/`.
    pub kept: u64,
    /// Inputs in its `crashes/`.
    pub crashes: u64,
    /// Inputs in its `hangs/`.
    pub hangs: u64,
}

impl Client {
    /// Does its process exist?
    #[must_use]
    pub fn is_alive(&self) -> bool {
        matches!(self.state.as_str(), "searching" | "stopped")
    }
}

/// The broker that carries finds between clients and machines.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Broker {
    /// The port that other machines may connect to; 0 when there is none.
    pub port: u16,
    /// Times it was started again.
    pub restarts: u32,
    /// The other machines.
    pub peers: Vec<Peer>,
}

/// Another machine.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Peer {
    /// Host and port as given by the user, or the address from which it connected.
    pub address: String,
    /// Is there a connection?
    pub connected: bool,
    /// Finds received from it.
    pub received: u64,
}

/// One find.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Find {
    /// Seconds of search.
    pub seconds: f64,
    /// Name of the client.
    pub client: String,
    /// `2 branches, 17 of 20 covered`, `crash`, `hang`.
    pub what: String,
}

/// Seconds since 1970; 0 before.
#[must_use]
pub fn seconds_since_1970() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs())
}

/// Writes the status into `dir`, every second. It is not flushed: after a crash of the machine it is of no use.
///
/// # Errors
/// Those of the file system.
pub fn write(dir: &Path, snapshot: &Snapshot) -> std::io::Result<()> {
    let text = serde_json::to_vec_pretty(snapshot).map_err(std::io::Error::other)?;
    atomic::replace(&dir.join(FILE), &text)
}

/// Reads the status of a campaign.
///
/// # Errors
/// Those of the file system, and when the file has another version.
pub fn read(dir: &Path) -> std::io::Result<Snapshot> {
    let bytes = foreign::read_own(&dir.join(FILE), foreign::LONGEST_TEXT)?;
    let snapshot: Snapshot = serde_json::from_slice(&bytes).map_err(std::io::Error::other)?;
    if snapshot.schema == SCHEMA {
        Ok(snapshot)
    } else {
        Err(std::io::Error::other(format!("schema {} instead of {SCHEMA}", snapshot.schema)))
    }
}
