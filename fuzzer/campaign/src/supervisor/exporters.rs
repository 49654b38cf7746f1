//! Manages the processes that serve a campaign's status to Prometheus, one per address.

use std::{net::TcpListener, path::Path};

use penfuzz_error::Error;
use penfuzz_system::process::{service, wait};

use crate::{
    options::Options,
    watch::{Monitor, prometheus},
};

/// One process per address of `--monitor prometheus`. A process that has ended is restarted.
pub struct Exporters(Vec<Exporter>);

struct Exporter {
    listener: TcpListener,
    pid: i32,
}

impl Exporters {
    /// Listens on all addresses before the campaign begins, so that an address in use is reported at once.
    ///
    /// # Errors
    /// When an address is in use or does not belong to this machine.
    pub fn new(options: &Options) -> Result<Self, Error> {
        let mut all = Vec::new();
        for monitor in &options.run.monitors {
            if let Monitor::Prometheus(address) = monitor {
                all.push(Exporter { listener: prometheus::bind(*address)?, pid: 0 });
            }
        }
        Ok(Self(all))
    }

    /// Starts the processes that do not run, for the campaign in `dir`.
    ///
    /// # Errors
    /// When the system cannot create a process.
    pub fn poll(&mut self, dir: &Path) -> Result<(), Error> {
        for exporter in &mut self.0 {
            if exporter.pid > 0 && wait::poll(exporter.pid).is_none() {
                continue;
            }
            let Ok(listener) = exporter.listener.try_clone() else { continue };
            let dir = dir.to_path_buf();
            exporter.pid = service::start("metrics", move || prometheus::serve(&listener, &dir))?;
        }
        Ok(())
    }

    /// Ends the processes.
    pub fn end(&mut self) {
        for exporter in &self.0 {
            wait::kill(exporter.pid);
        }
    }
}
