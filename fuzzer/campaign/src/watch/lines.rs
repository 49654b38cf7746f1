//! `--monitor lines`: one line that is redrawn on a terminal; otherwise one line every five seconds.

use std::{
    fmt::Write,
    io::IsTerminal,
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use penfuzz_report::words::Words;

use super::{Phase, Snapshot, Watcher};

/// Time between two lines if they cannot be redrawn.
pub const LINE_EVERY: Duration = Duration::from_secs(5);

/// Shows a campaign on standard error.
pub struct Lines {
    on_terminal: bool,
    /// The line on a terminal; `None` before the first and after the last.
    bar: Option<ProgressBar>,
    begun: Instant,
    last_line: Instant,
}

impl Lines {
    /// Creates a watcher that shows its first line when the search begins.
    #[must_use]
    pub fn new() -> Self {
        let now = Instant::now();
        Self { on_terminal: std::io::stderr().is_terminal(), bar: None, begun: now, last_line: now }
    }
}

impl Default for Lines {
    fn default() -> Self {
        Self::new()
    }
}

impl Watcher for Lines {
    fn tick(&mut self, now: &Snapshot) {
        if now.function.is_empty() {
            return;
        }
        if self.on_terminal {
            let begun = self.begun;
            let bar = self.bar.get_or_insert_with(|| bar(begun));
            bar.set_message(line(now));
            bar.tick();
        } else if self.last_line.elapsed() >= LINE_EVERY {
            self.last_line = Instant::now();
            penfuzz_system::errln!("{:>5} s  {}", self.begun.elapsed().as_secs(), line(now));
        }
    }

    fn end(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

fn bar(begun: Instant) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(8)).with_elapsed(begun.elapsed());
    if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed_precise}  {wide_msg}") {
        bar.set_style(style);
    }
    bar
}

/// The figures on one line.
#[must_use]
pub fn line(now: &Snapshot) -> String {
    let (b, words) = (&now.branches, Words::of(now.goals));
    let mut line = format!(
        "{}/{} {} {}, {} saturated, {} given up | {} evaluations, {}/s | {} kept, {} crashes, {} hangs | last new {} \
         {} s ago",
        b.covered,
        b.total,
        words.goals,
        words.done,
        b.saturated,
        b.given_up,
        short(now.evaluations as f64),
        short(now.evaluations_per_second),
        now.kept,
        now.crashes,
        now.hangs,
        words.goal,
        now.since_last_find as u64
    );
    if now.clients.len() > 1 || now.broker.is_some() {
        let alive = now.clients.iter().filter(|c| c.is_alive()).count();
        let _ = match now.clients.len() {
            1 => write!(line, " | 1 client"),
            n if n == alive => write!(line, " | {n} clients"),
            n => write!(line, " | {alive} of {n} clients"),
        };
    }
    line += match now.phase {
        Phase::Search => "",
        Phase::Proofs => " | solvers run",
        Phase::Report => " | the report is written",
        Phase::Tests => " | the tests are compiled and run",
    };
    if now.unwritten > 0 {
        let _ = write!(line, " | {} not on disk", now.unwritten);
    }
    line
}

/// Formats a count in at most five characters: `950`, `12.3k`, `4.56M`.
#[must_use]
pub fn short(n: f64) -> String {
    let (scaled, unit) = match n {
        n if n < 1e3 => return format!("{n:.0}"),
        n if n < 1e6 => (n / 1e3, "k"),
        n if n < 1e9 => (n / 1e6, "M"),
        n => (n / 1e9, "G"),
    };
    let digits = if scaled < 10.0 { 2 } else { usize::from(scaled < 100.0) };
    format!("{scaled:.digits$}{unit}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::example;

    #[test]
    fn one_client_is_not_counted() {
        let mut now = example::farm();
        now.clients.truncate(1);
        (now.broker, now.unwritten) = (None, 0);
        insta::assert_snapshot!(
            line(&now),
            @"17/20 branches covered, 12 saturated, 1 given up | 123M evaluations, 654k/s | 15 kept, \
              2 crashes, 1 hangs | last new branch 12 s ago"
        );
    }

    #[test]
    fn the_line_of_a_farm_has_the_number_of_clients() {
        let mut now = example::farm();
        assert!(line(&now).ends_with(" | 2 of 3 clients | 2 not on disk"), "{}", line(&now));
        (now.clients[2].state, now.unwritten) = ("searching".to_owned(), 0);
        assert!(line(&now).ends_with(" | 3 clients"), "{}", line(&now));
    }

    #[test]
    fn counts_are_short() {
        assert_eq!([950.0, 12_345.0, 4_560_000.0, 2e9].map(short), ["950", "12.3k", "4.56M", "2.00G"]);
    }
}
