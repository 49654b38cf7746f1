//! The processes that serve a campaign's status to Prometheus, one per address.

use std::{net::TcpListener, path::Path};

use penfuzz_engine::error::Error;

use crate::{
    campaign::Options,
    process::service,
    watch::{Monitor, prometheus},
};

/// See the module.
pub struct Exporters(Vec<Exporter>);

struct Exporter {
    listener: TcpListener,
    pid: i32,
}

impl Exporters {
    /// Listens, so that an address that is taken is told at once.
    ///
    /// # Errors
    /// When it is.
    pub fn new(options: &Options) -> Result<Self, Error> {
        let mut all = Vec::new();
        for monitor in &options.monitors {
            if let Monitor::Prometheus(address) = monitor {
                all.push(Exporter { listener: prometheus::bind(*address)?, pid: 0 });
            }
        }
        Ok(Self(all))
    }

    /// Starts those that do not run, for the campaign in `dir`.
    ///
    /// # Errors
    /// When the system has no room for a process.
    pub fn look(&mut self, dir: &Path) -> Result<(), Error> {
        for exporter in &mut self.0 {
            if exporter.pid > 0 && service::ended(exporter.pid).is_none() {
                continue;
            }
            let Ok(listener) = exporter.listener.try_clone() else { continue };
            let dir = dir.to_path_buf();
            exporter.pid = service::fork("metrics", move || prometheus::serve(listener, &dir))?;
        }
        Ok(())
    }

    /// Ends them.
    pub fn end(&mut self) {
        for exporter in &self.0 {
            service::kill(exporter.pid);
        }
    }
}
