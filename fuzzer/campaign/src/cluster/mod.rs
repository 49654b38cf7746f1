//! Several clients, and several machines.
//!
//! The supervisor starts one worker per core, each with shared memory and an output directory of its own (`DIR/c0`, `DIR/c1`, …)
//! in AFL++'s layout, and a [`broker`], over which clients send each other what they find ([`message`]). Each client evaluates
//! what it receives. Broker and clients are connected by [`sockets`] that they inherit from the supervisor. The broker also has
//! the links to brokers of other machines ([`peer_link`]), which are encrypted with a common [`secret`]. A [`reporter`] makes one
//! report of all directories.
//!
//! LibAFL's `Launcher` is not used: it forks, binds and waits, which the supervisor has to do anyway, and it cannot replace a
//! client that was killed (its respawner panics, and the launcher never ends). Its LLMP is not used either: clients attach to
//! its broker over a TCP port of the loopback device, to which every user of the machine can connect.

pub mod broker;
pub mod broker_client;
pub mod broker_info;
pub mod message;
#[cfg(test)]
mod message_props;
pub mod peer_link;
pub mod reporter;
pub mod role;
pub mod secret;
pub mod sockets;

use std::path::{Path, PathBuf};

pub use broker_info::BrokerInfo;
pub use role::Role;

use penfuzz_directory::output::store;
use penfuzz_system::files::foreign;

/// Name of the client with this number, and of its directory.
#[must_use]
pub fn client_name(number: usize) -> String {
    format!("c{number}")
}

/// The directories of the clients of all runs so far, by name. `dir` itself is one of them if a single client used it before.
#[must_use]
pub fn client_directories(dir: &Path) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = foreign::names(dir)
        .unwrap_or_default()
        .into_iter()
        .map(|name| dir.join(name))
        .filter(|path| is_client_name(path) && path.join("queue").is_dir())
        .collect();
    all.sort();
    if dir.join(store::STATE).exists() {
        all.insert(0, dir.to_path_buf());
    }
    all
}

/// Is the directory that of a campaign with several clients?
#[must_use]
pub fn is_farm(dir: &Path) -> bool {
    client_directories(dir).iter().any(|path| path != dir)
}

fn is_client_name(path: &Path) -> bool {
    path.file_name()
        .and_then(|n| n.to_str())
        .and_then(|n| n.strip_prefix('c'))
        .is_some_and(|n| n.parse::<u32>().is_ok())
}
