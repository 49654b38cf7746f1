//! What workers have to say: they have no standard error of their own, so the supervisor prints it.

use std::io::IsTerminal;

use super::worker_shm::WorkerShm;

/// Remembers what was printed.
#[derive(Debug, Default)]
pub struct Messages {
    known: u64,
}

impl Messages {
    /// Prints the messages that are new on the shm, over whatever status line is there; returns them.
    pub fn print(&mut self, shm: &WorkerShm) -> Vec<String> {
        let (new, known) = shm.messages(self.known);
        self.known = known;
        let clear = if std::io::stderr().is_terminal() && !new.is_empty() { "\r\x1b[K" } else { "" };
        for message in &new {
            eprintln!("{clear}penfuzz: {message}");
        }
        new
    }
}
