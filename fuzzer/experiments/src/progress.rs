//! Shows the progress of an experiment on standard error: on a terminal as one line that is redrawn, otherwise as a
//! line every 30 s.

use std::{
    io::IsTerminal,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressStyle};
use penfuzz_system::{console::shown, errln};

use super::model::Trial;

/// Time between two lines if they cannot be redrawn.
const LINE_EVERY: Duration = Duration::from_secs(30);

/// The progress of the trials of an experiment.
pub struct Progress {
    bar: Option<ProgressBar>,
    quiet: bool,
    total: usize,
    state: Mutex<State>,
}

struct State {
    done: usize,
    /// Number of trials done in this run, which began at `begun`: the basis of the estimate of the remaining time.
    here: usize,
    begun: Instant,
    last_line: Instant,
}

impl Progress {
    /// Starts with `done` of `total` trials already finished by earlier runs.
    #[must_use]
    pub fn new(total: usize, done: usize, quiet: bool) -> Self {
        let bar = (!quiet && std::io::stderr().is_terminal()).then(|| {
            let bar = ProgressBar::new(total as u64).with_position(done as u64);
            if let Ok(style) = ProgressStyle::with_template("{elapsed_precise} {bar:30} {pos}/{len} trials  {wide_msg}")
            {
                bar.set_style(style);
            }
            bar.enable_steady_tick(Duration::from_secs(1));
            bar
        });
        if done > 0 && !quiet {
            errln!("penfuzz: {done} of {total} trials are done already");
        }
        let now = Instant::now();
        Self { bar, quiet, total, state: Mutex::new(State { done, here: 0, begun: now, last_line: now }) }
    }

    /// Shows that a trial starts.
    pub fn begin(&self, tool: &str, function: &str) {
        if let Some(bar) = &self.bar {
            bar.set_message(format!("{}  {tool} on {}", self.left(), shown(function)));
        }
    }

    /// Shows that a trial is done.
    pub fn done(&self, trial: &Trial) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.done += 1;
        state.here += 1;
        let is_time = state.last_line.elapsed() >= LINE_EVERY;
        if is_time {
            state.last_line = Instant::now();
        }
        let done = state.done;
        drop(state);
        match &self.bar {
            Some(bar) => {
                if let Some(error) = &trial.error {
                    bar.println(shown(&format!("{} on {}: {error}", trial.tool, trial.function)));
                }
                bar.set_position(done as u64);
            }
            None if self.quiet => {}
            None => {
                if let Some(error) = &trial.error {
                    errln!("{} on {}: {error}", trial.tool, trial.function);
                }
                if is_time {
                    errln!("{done}/{} trials, {}", self.total, self.left());
                }
            }
        }
    }

    /// Estimates the remaining time from the trials of this run.
    fn left(&self) -> String {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.here == 0 {
            return "time left unknown".to_owned();
        }
        let each = state.begun.elapsed().as_secs_f64() / state.here as f64;
        format!("about {} left", rounded(each * (self.total - state.done.min(self.total)) as f64))
    }

    /// Removes the line from the terminal.
    pub fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// Returns a time in seconds as rounded text.
fn rounded(seconds: f64) -> String {
    let minutes = (seconds / 60.0).round() as u64;
    match minutes {
        0 => format!("{seconds:.0} s"),
        1..120 => format!("{minutes} min"),
        _ => format!("{} h {} min", minutes / 60, minutes % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::rounded;

    #[test]
    fn times_have_two_units_at_most() {
        assert_eq!([rounded(12.0), rounded(600.0), rounded(8000.0)], ["12 s", "10 min", "2 h 13 min"]);
    }
}
