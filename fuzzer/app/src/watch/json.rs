//! `--monitor json`: the campaign as one JSON object per line on standard error, for programs that watch it.

use std::time::{Duration, Instant};

use super::{Snapshot, Watcher};

/// Time between two lines.
const LINE_EVERY: Duration = Duration::from_secs(5);

/// See the module.
pub struct Json {
    last_line: Instant,
    last: Option<Snapshot>,
}

impl Json {
    /// The first line comes after [`LINE_EVERY`], or at the end.
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
        // The end of a campaign comes without warning; the last state is said then.
        self.last = Some(now.clone());
        if self.last_line.elapsed() >= LINE_EVERY {
            self.end();
        }
    }

    fn end(&mut self) {
        if let Some(last) = self.last.take() {
            self.last_line = Instant::now();
            eprintln!("{}", line(&last));
        }
    }
}

/// The object, without a line break in it.
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
