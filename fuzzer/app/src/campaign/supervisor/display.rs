//! Shows a campaign: to its watchers, and in `status.json`.

use core::sync::atomic::Ordering;
use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use penfuzz_engine::{error::Error, executor::fault::signal_name};

use super::{
    client::Client,
    snapshots::{Book, Figures},
};
use crate::{
    campaign::Options,
    output::manifest,
    replay::fatal_input::Death,
    report::Report,
    watch::{self, Broker, Watcher},
};

/// Time between two looks at the shms.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Time between two writings of `status.json`.
const WRITE_EVERY: Duration = Duration::from_secs(1);

/// See the module.
pub struct Display {
    book: Book,
    watchers: Vec<Box<dyn Watcher>>,
    function: Option<String>,
    search: &'static str,
    dir: Option<PathBuf>,
    looked: Option<Instant>,
    written: Option<Instant>,
}

impl Display {
    /// Of a campaign that begins now.
    ///
    /// # Errors
    /// Those of [`watch::watchers`].
    pub fn new(options: &Options) -> Result<Self, Error> {
        Ok(Self {
            book: Book::new(options.target.display().to_string(), options.goals, Instant::now()),
            watchers: watch::watchers(&options.monitors, options.quiet)?,
            function: options.function.clone(),
            search: options.search.name(),
            dir: None,
            looked: None,
            written: None,
        })
    }

    /// A client was killed and is started again.
    pub fn restarted(&mut self, client: &Client, how: Death) {
        let name = client.place.farm.as_ref().map_or_else(|| "the client".to_owned(), |_| client.place.name());
        let why = if how.signal == 0 { "by the target".to_owned() } else { signal_name(how.signal) };
        self.book.say(&format!("{name} was killed ({why}) and is started again"));
    }

    /// Something went wrong and is being worked around.
    pub fn say(&mut self, message: &str) {
        self.book.say(message);
    }

    /// Where the campaign lies, once that is known.
    #[must_use]
    pub fn dir(&self) -> Option<&Path> {
        self.dir.as_deref()
    }

    /// Looks at the shms of all clients, not more often than is of use. The campaign lies in `root` if that is known before
    /// the clients are.
    pub fn tick(&mut self, clients: &[Client], root: Option<&Path>, broker: Option<Broker>, begun: Instant) {
        let now = Instant::now();
        if self.looked.is_some_and(|last| now - last < LOOK_EVERY) || !self.has_begun(clients, root) {
            return;
        }
        self.looked = Some(now);
        self.look(clients, broker, begun, now);
        if self.written.is_none_or(|last| now - last >= WRITE_EVERY) {
            self.written = Some(now);
            self.write();
        }
        for watcher in &mut self.watchers {
            watcher.tick(self.book.last());
        }
    }

    fn look(&mut self, clients: &[Client], broker: Option<Broker>, begun: Instant, now: Instant) {
        let figures = clients.iter().map(|c| Figures::of(c, self.search, begun)).collect();
        let unwritten = clients.iter().map(|c| c.shm().unwritten.load(Ordering::Relaxed)).sum();
        self.book.snapshot(now, figures, broker, unwritten);
    }

    /// Is the target loaded, so that directory and function are known?
    fn has_begun(&mut self, clients: &[Client], root: Option<&Path>) -> bool {
        let first = clients.iter().map(Client::shm).find(|b| b.searching.load(Ordering::Acquire) != 0);
        if self.dir.is_none()
            && let Some(shm) = first
        {
            let dir = root.map_or_else(|| PathBuf::from(shm.directory.get().unwrap_or_default()), Path::to_path_buf);
            let named = manifest::read(&dir).ok().map(|m| m.function).or_else(|| self.function.clone());
            self.book.name(&named.unwrap_or_else(|| "a function".to_owned()), &dir.to_string_lossy());
            self.dir = Some(dir);
        }
        self.dir.is_some()
    }

    /// The campaign has ended.
    pub fn end(
        &mut self,
        clients: &[Client],
        root: Option<&Path>,
        broker: Option<Broker>,
        begun: Instant,
        result: Result<&Report, &Error>,
    ) {
        if self.has_begun(clients, root) {
            self.look(clients, broker, begun, Instant::now());
            match result {
                Ok(report) => self.book.ended(report),
                Err(e) => self.book.failed(e),
            }
            self.write();
            for watcher in &mut self.watchers {
                watcher.tick(self.book.last());
            }
        }
        self.leave();
    }

    /// Leaves the terminal as it was.
    pub fn leave(&mut self) {
        for watcher in &mut self.watchers {
            watcher.end();
        }
    }

    /// A status that cannot be written is not worth a word: what matters is written by others, who complain.
    fn write(&self) {
        if let Some(dir) = &self.dir {
            let _ = watch::write(dir, self.book.last());
        }
    }
}
