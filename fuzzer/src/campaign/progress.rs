//! The live status: one line that is redrawn on a terminal, a line every few seconds elsewhere.

use core::sync::atomic::Ordering;
use std::{
    io::IsTerminal,
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::board::Board;

/// Time between two lines when nobody can redraw them.
const LINE_EVERY: Duration = Duration::from_secs(5);

/// Shows a board on standard error.
pub struct Progress {
    bar: Option<ProgressBar>,
    quiet: bool,
    begun: Instant,
    last_line: Instant,
    evaluations_before: Option<u64>,
    covered: u64,
    last_find: Instant,
}

impl Progress {
    /// `quiet` shows nothing.
    #[must_use]
    pub fn new(quiet: bool) -> Self {
        let now = Instant::now();
        let bar = (!quiet && std::io::stderr().is_terminal()).then(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(8));
            if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed_precise}  {wide_msg}") {
                bar.set_style(style);
            }
            bar
        });
        Self { bar, quiet, begun: now, last_line: now, evaluations_before: None, covered: 0, last_find: now }
    }

    /// Looks at the board.
    pub fn tick(&mut self, board: &Board) {
        if self.quiet || board.searching.load(Ordering::Acquire) == 0 {
            return;
        }
        let covered = board.covered.load(Ordering::Relaxed);
        // A worker that takes over counts from 0.
        if covered > self.covered {
            self.covered = covered;
            self.last_find = Instant::now();
        }
        let text = self.line(board);
        match &self.bar {
            Some(bar) => {
                bar.set_message(text);
                bar.tick();
            }
            None if self.last_line.elapsed() >= LINE_EVERY => {
                self.last_line = Instant::now();
                eprintln!("{:>5} s  {text}", self.begun.elapsed().as_secs());
            }
            None => {}
        }
    }

    fn line(&mut self, board: &Board) -> String {
        let get = |cell: &core::sync::atomic::AtomicU64| cell.load(Ordering::Relaxed);
        let evaluations = get(&board.evaluations);
        let before = *self.evaluations_before.get_or_insert(evaluations);
        let seconds = self.begun.elapsed().as_secs_f64().max(1e-3);
        let rate = evaluations.saturating_sub(before) as f64 / seconds;
        format!(
            "{}/{} branches covered, {} saturated, {} given up | {} evaluations, {}/s | {} kept, {} crashes, {} hangs | last new branch {} s ago",
            get(&board.covered),
            get(&board.total),
            get(&board.saturated),
            get(&board.given_up),
            short(evaluations as f64),
            short(rate),
            get(&board.kept),
            get(&board.crashes),
            get(&board.hangs),
            self.last_find.elapsed().as_secs()
        )
    }

    /// Removes the line from the terminal.
    pub fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// A count in at most five characters: `950`, `12.3k`, `4.56M`.
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
