//! `--monitor json`: writes the campaign as one JSON object per line to standard error, for other programs.

use std::time::{Duration, Instant};

use penfuzz_system::console;

use super::{Snapshot, Watcher};

/// Time between two lines.
const LINE_EVERY: Duration = Duration::from_secs(5);

/// The watcher. It holds the last snapshot that was not written yet.
pub struct Json {
    last_line: Instant,
    last: Option<Snapshot>,
}

impl Json {
    /// A watcher that writes its first line after [`LINE_EVERY`], or at the end.
    #[must_use]
    pub fn new() -> Self {
        Self { last_line: Instant::now(), last: None }
    }
}

impl Default for Json {
    fn default() -> Self {
        Self::new()
    }
}

impl Watcher for Json {
    fn tick(&mut self, now: &Snapshot) {
        if now.function.is_empty() {
            return;
        }
        // Kept for `end`, which may be called at any time and gets no snapshot.
        self.last = Some(now.clone());
        if self.last_line.elapsed() >= LINE_EVERY {
            self.end();
        }
    }

    fn end(&mut self) {
        if let Some(last) = self.last.take() {
            self.last_line = Instant::now();
            console::err_json(&line(&last));
        }
    }
}

/// The snapshot as a JSON object on one line.
#[must_use]
pub fn line(now: &Snapshot) -> String {
    serde_json::to_string(now).unwrap_or_else(|e| format!("{{\"error\": \"{e}\"}}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::example;

    #[test]
    fn a_line_reads_back_as_the_snapshot() {
        let mut now = example::farm();
        now.messages.push("two\nlines".to_owned());
        let line = line(&now);
        assert_eq!((line.lines().count(), serde_json::from_str::<Snapshot>(&line).unwrap()), (1, now));
    }
}
