//! Displays a campaign through its watchers, and writes `status.json`.

use core::sync::atomic::Ordering;
use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use penfuzz_directory::{output::manifest, replay::fatal_input::Death};
use penfuzz_error::Error;
use penfuzz_report::Report;

use super::{
    client::Client,
    snapshots::{Figures, History},
};
use crate::{
    options::Options,
    watch::{self, Broker, Phase, Watcher},
};

/// Time between two polls of the workers' shared memory.
const POLL_EVERY: Duration = Duration::from_millis(50);

/// Time between two writings of `status.json`.
const WRITE_EVERY: Duration = Duration::from_secs(1);

/// The watchers of a campaign, and the last snapshot that they and `status.json` show.
pub struct Display {
    history: History,
    watchers: Vec<Box<dyn Watcher>>,
    function: Option<String>,
    search: &'static str,
    dir: Option<PathBuf>,
    polled: Option<Instant>,
    written: Option<Instant>,
}

impl Display {
    /// Creates the display of a campaign that begins now.
    ///
    /// # Errors
    /// Those of [`watch::watchers`].
    pub fn new(options: &Options) -> Result<Self, Error> {
        Ok(Self {
            history: History::new(
                options.settings.target.display().to_string(),
                options.settings.goals,
                Instant::now(),
            ),
            watchers: watch::watchers(&options.run.monitors, options.run.quiet)?,
            function: options.function.clone(),
            search: options.run.search.name(),
            dir: None,
            polled: None,
            written: None,
        })
    }

    /// Shows a warning that a client was killed and is started again.
    pub fn warn_of_restart(&mut self, client: &Client, how: Death) {
        let name = client.place.farm.as_ref().map_or_else(|| "the client".to_owned(), |_| client.place.name());
        self.history.warn(&format!("{name} was killed ({}) and is started again", how.cause()));
    }

    /// Shows a warning about a problem that does not end the campaign.
    pub fn warn(&mut self, message: &str) {
        self.history.warn(message);
    }

    /// Shows what the campaign does from now on.
    pub fn enter(&mut self, phase: Phase) {
        self.history.enter(phase);
        for watcher in &mut self.watchers {
            watcher.tick(self.history.last());
        }
    }

    /// The output directory, once it is known.
    #[must_use]
    pub fn dir(&self) -> Option<&Path> {
        self.dir.as_deref()
    }

    /// Polls the shared memory of all workers, at most once per [`POLL_EVERY`]. `root` is the output directory, if it
    /// is known before the clients start.
    pub fn tick(&mut self, clients: &[Client], root: Option<&Path>, broker: Option<Broker>, begun: Instant) {
        let now = Instant::now();
        if self.polled.is_some_and(|last| now - last < POLL_EVERY) || !self.has_begun(clients, root) {
            return;
        }
        self.polled = Some(now);
        self.poll(clients, broker, begun, now);
        if self.written.is_none_or(|last| now - last >= WRITE_EVERY) {
            self.written = Some(now);
            self.write();
        }
        for watcher in &mut self.watchers {
            watcher.tick(self.history.last());
        }
    }

    fn poll(&mut self, clients: &[Client], broker: Option<Broker>, begun: Instant, now: Instant) {
        let figures = clients.iter().map(|c| Figures::of(c, self.search, begun)).collect();
        let unwritten = clients.iter().map(|c| c.shm().unwritten.load(Ordering::Relaxed)).sum();
        self.history.snapshot(now, figures, broker, unwritten);
    }

    /// Whether the target is loaded, so that directory and function are known.
    fn has_begun(&mut self, clients: &[Client], root: Option<&Path>) -> bool {
        let first = clients.iter().find(|c| c.shm().searching.load(Ordering::Acquire) != 0);
        if self.dir.is_none()
            && let Some(dir) = first.and_then(|client| root.or(client.dir())).map(Path::to_path_buf)
        {
            let named = manifest::read(&dir).ok().map(|m| m.function).or_else(|| self.function.clone());
            self.history.name(&named.unwrap_or_else(|| "a function".to_owned()), &dir.to_string_lossy());
            self.dir = Some(dir);
        }
        self.dir.is_some()
    }

    /// Shows the result of the campaign that has ended.
    pub fn end(
        &mut self,
        clients: &[Client],
        root: Option<&Path>,
        broker: Option<Broker>,
        begun: Instant,
        result: Result<&Report, &Error>,
    ) {
        if self.has_begun(clients, root) {
            self.poll(clients, broker, begun, Instant::now());
            match result {
                Ok(report) => self.history.ended(report),
                Err(e) => self.history.failed(e),
            }
            self.write();
            for watcher in &mut self.watchers {
                watcher.tick(self.history.last());
            }
        }
        self.leave();
    }

    /// Restores the terminal.
    pub fn leave(&mut self) {
        for watcher in &mut self.watchers {
            watcher.end();
        }
    }

    /// Writes `status.json`. Errors are ignored: the workers report a full disk, because their files matter.
    fn write(&self) {
        if let Some(dir) = &self.dir {
            let _ = watch::write(dir, self.history.last());
        }
    }
}
