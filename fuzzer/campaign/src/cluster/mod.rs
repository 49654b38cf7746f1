//! A farm: several clients of one campaign, on one machine or on several.
//!
//! The supervisor starts one worker per core, each with its own shared memory and its own output directory (`DIR/c0`,
//! `DIR/c1`, …) in AFL++'s layout. It also starts a [`broker`], through which clients send each other their finds
//! ([`message`]). Each client evaluates what it receives. Broker and clients are connected by [`sockets`] that they
//! inherit from the supervisor. The broker also maintains the links to brokers of other machines ([`peer_link`]), which
//! are encrypted with a common [`secret`]. A [`reporter`] writes one report over all directories.
//!
//! LibAFL's `Launcher` is not used: it forks, binds and waits, which the supervisor has to do anyway, and it cannot
//! replace a client that was killed (its respawner panics, and the launcher never ends). LibAFL's LLMP is not used
//! either: clients attach to its broker over a TCP port of the loopback device, to which every user of the machine can
//! connect.

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

/// The name of the client with this number, which is also the name of its directory.
#[must_use]
pub fn client_name(number: usize) -> String {
    format!("c{number}")
}

/// The directories of the clients of all runs so far, sorted by name. `dir` itself comes first if a single client has
/// used it.
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

/// Whether the directory belongs to a campaign with several clients.
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
