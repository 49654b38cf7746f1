//! The client that a worker runs for.

use std::{path::PathBuf, rc::Rc};

use crate::cluster::{self, BrokerInfo, Role, sockets::Sockets};

/// Identifies a client.
#[derive(Debug, Clone)]
pub struct ClientConfig {
    /// Its number, from 0.
    pub number: usize,
    /// The number of clients on this machine.
    pub clients: usize,
    /// Its output directory; `None` for the default one.
    pub dir: Option<PathBuf>,
    /// Its membership in a farm of several clients; `None` for a single client.
    pub farm: Option<FarmMember>,
}

impl ClientConfig {
    /// Its name, which is also the name of its directory if there are several clients.
    #[must_use]
    pub fn name(&self) -> String {
        cluster::client_name(self.number)
    }
}

/// The membership of a client in a farm.
#[derive(Debug, Clone)]
pub struct FarmMember {
    /// The directory that contains the directories of all clients.
    pub root: PathBuf,
    /// Its role, which selects its stages in the targeted search.
    pub role: Role,
    /// Information about the running broker.
    pub broker_info: &'static BrokerInfo,
    /// The sockets to the broker.
    pub sockets: Rc<Sockets>,
}
