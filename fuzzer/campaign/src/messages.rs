//! Prints the messages of workers, whose standard error is not connected to the terminal.

use penfuzz_system::console;

use super::worker_shm::WorkerShm;

/// Counts the messages of one client that were printed.
#[derive(Debug, Default)]
pub struct Messages {
    known: u64,
}

impl Messages {
    /// Prints the new messages in the worker's shared memory, above the status line if there is one. Returns them.
    pub fn print(&mut self, shm: &WorkerShm) -> Vec<String> {
        let (new, known) = shm.messages(self.known);
        self.known = known;
        for message in &new {
            console::err_over_status_line(&format!("penfuzz: {message}"));
        }
        new
    }
}
