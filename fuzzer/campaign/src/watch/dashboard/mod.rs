//! `--monitor dashboard`: shows the campaign on the whole terminal.
//!
//! Keys are never read and keep their meaning, so Ctrl-C ends the campaign as it does without the dashboard.

mod draw;
mod screen;

use std::{
    collections::{BTreeMap, VecDeque},
    time::{Duration, Instant},
};

use penfuzz_system::{console, errln};
use screen::Screen;

use super::{Snapshot, Watcher};

/// Time between two redraws.
const DRAW_EVERY: Duration = Duration::from_millis(250);

/// Time between two samples of the rates.
const RATE_EVERY: Duration = Duration::from_secs(1);

/// Number of rates kept for each client: one per column of a wide terminal.
const RATES: usize = 200;

/// Maximum number of steps of the curve; if there are more, every second one is removed.
const STEPS: usize = 1000;

/// The history of a campaign, from its snapshots, for curves.
#[derive(Debug, Default)]
pub struct Trail {
    /// Seconds and number of covered branches, whenever the number has grown.
    covered: Vec<(f64, f64)>,
    /// Evaluations per second of each client, newest last.
    rates: BTreeMap<String, VecDeque<u64>>,
    last_rate: Option<Instant>,
}

impl Trail {
    fn note(&mut self, now: &Snapshot, at: Instant) {
        let covered = now.branches.covered as f64;
        if self.covered.last().is_none_or(|(_, before)| *before < covered) {
            self.covered.push((now.seconds, covered));
            if self.covered.len() > STEPS {
                let mut keep = false;
                self.covered.retain(|_| {
                    keep = !keep;
                    keep
                });
            }
        }
        if self.last_rate.is_none_or(|last| at - last >= RATE_EVERY) {
            self.last_rate = Some(at);
            for client in &now.clients {
                let rates = self.rates.entry(client.name.clone()).or_default();
                rates.push_back(client.evaluations_per_second as u64);
                let surplus = rates.len().saturating_sub(RATES);
                rates.drain(..surplus);
            }
        }
    }
}

/// The watcher: the history so far, and the terminal once the search has begun.
#[derive(Default)]
pub struct Dashboard {
    trail: Trail,
    screen: Option<Screen>,
    drawn: Option<Instant>,
    /// Whether writing to the terminal failed; it is then not tried again.
    failed: bool,
}

impl Dashboard {
    /// Creates a dashboard that takes over the terminal when the search begins.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn draw(&mut self, now: &Snapshot) -> std::io::Result<()> {
        let screen = match &mut self.screen {
            Some(screen) => screen,
            none => none.insert(Screen::take()?),
        };
        screen.draw(|frame| draw::campaign(frame, now, &self.trail))
    }
}

impl Watcher for Dashboard {
    fn tick(&mut self, now: &Snapshot) {
        let at = Instant::now();
        let has_ended = now.stop_reason != "running";
        if now.function.is_empty() || has_ended || self.failed || self.drawn.is_some_and(|last| at - last < DRAW_EVERY)
        {
            return;
        }
        self.drawn = Some(at);
        let now = console::escape_strings(now);
        self.trail.note(&now, at);
        if let Err(e) = self.draw(&now) {
            self.failed = true;
            self.end();
            errln!("penfuzz: the terminal cannot show the dashboard ({e}); the campaign continues without it");
        }
    }

    fn end(&mut self) {
        // Dropping the screen restores the terminal.
        self.screen = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::example;

    #[test]
    fn the_curve_has_a_point_per_change_and_stays_small() {
        let (mut trail, mut now) = (Trail::default(), example::farm());
        let begun = Instant::now();
        for i in 0..5000_usize {
            (now.seconds, now.branches.covered) = (i as f64, i / 2);
            trail.note(&now, begun + Duration::from_millis(i as u64 * 250));
        }
        assert!((STEPS / 2..=STEPS).contains(&trail.covered.len()), "{}", trail.covered.len());
        assert!(trail.covered.is_sorted_by(|a, b| a < b), "each point is later and higher");
        assert_eq!(trail.rates["c0"].len(), RATES);
    }
}
