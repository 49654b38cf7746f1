//! Shows a campaign while it runs. The supervisor creates a [`Snapshot`] several times a second, and each submodule
//! displays it in one way.
//!
//! The supervisor also writes the snapshot to `DIR/status.json`. Displays that do not need its terminal read that file:
//! another process serves it to Prometheus, and `penfuzz status` prints it.
//!
//! | `--monitor` | file |
//! | --- | --- |
//! | `lines` (the default) | [`lines`] |
//! | `json` | [`json`] |
//! | `dashboard` | [`dashboard`] |
//! | `prometheus=ADDRESS:PORT` | [`prometheus`], in a process of its own |

pub mod dashboard;
pub mod http;
pub mod json;
pub mod lines;
pub mod prometheus;
mod snapshot;
pub mod status;

use std::{io::IsTerminal, net::SocketAddr};

use penfuzz_error::Error;

pub use snapshot::*;

/// A way to show a campaign (`--monitor`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Monitor {
    /// A dashboard that fills the terminal.
    Dashboard,
    /// A line every few seconds.
    Lines,
    /// A JSON object per line, every few seconds, on standard error.
    Json,
    /// Metrics for Prometheus at `http://ADDRESS/metrics`.
    Prometheus(SocketAddr),
}

/// Shows a campaign on the terminal.
pub trait Watcher {
    /// Shows the snapshot `now`, if it is due. Called about 20 times a second. It must not block, start threads, or
    /// change signal handlers, because the supervisor forks.
    fn tick(&mut self, now: &Snapshot);

    /// Restores the terminal, when the campaign has ended or is about to print something.
    fn end(&mut self);
}

/// Creates the watchers for `monitors`; without any, [`lines`] unless `quiet`. [`Monitor::Prometheus`] has no watcher:
/// another process serves it.
///
/// # Errors
/// When two of them would write to the same standard error.
pub fn watchers(monitors: &[Monitor], quiet: bool) -> Result<Vec<Box<dyn Watcher>>, Error> {
    let mut wanted: Vec<&Monitor> = Vec::new();
    for monitor in monitors.iter().filter(|m| !matches!(m, Monitor::Prometheus(_))) {
        if !wanted.contains(&monitor) {
            wanted.push(monitor);
        }
    }
    match wanted[..] {
        [] if quiet => Ok(Vec::new()),
        [] => Ok(vec![Box::new(lines::Lines::new())]),
        [one] => Ok(vec![watcher(one)]),
        [first, second, ..] => Err(Error::new(format!(
            "--monitor {} and --monitor {} both write to standard error; give one of them",
            name(first),
            name(second)
        ))),
    }
}

fn watcher(monitor: &Monitor) -> Box<dyn Watcher> {
    match monitor {
        Monitor::Json => Box::new(json::Json::new()),
        Monitor::Dashboard if std::io::stderr().is_terminal() => Box::new(dashboard::Dashboard::new()),
        Monitor::Dashboard => {
            penfuzz_system::errln!(
                "penfuzz: standard error is not a terminal, so lines are shown instead of a dashboard"
            );
            Box::new(lines::Lines::new())
        }
        Monitor::Lines | Monitor::Prometheus(_) => Box::new(lines::Lines::new()),
    }
}

fn name(monitor: &Monitor) -> &'static str {
    match monitor {
        Monitor::Dashboard => "dashboard",
        Monitor::Lines => "lines",
        Monitor::Json => "json",
        Monitor::Prometheus(_) => "prometheus",
    }
}

#[cfg(test)]
mod example;

#[cfg(test)]
mod tests {
    use super::*;

    fn count(monitors: &[Monitor], quiet: bool) -> usize {
        watchers(monitors, quiet).unwrap().len()
    }

    #[test]
    fn a_line_is_the_default_and_quiet_has_none() {
        let prometheus = Monitor::Prometheus(([127, 0, 0, 1], 9184).into());
        assert_eq!((count(&[], false), count(&[], true)), (1, 0));
        assert_eq!((count(std::slice::from_ref(&prometheus), false), count(&[prometheus], true)), (1, 0));
    }

    #[test]
    fn an_explicit_monitor_overrides_quiet() {
        assert_eq!(count(&[Monitor::Json, Monitor::Json], true), 1);
    }

    #[test]
    fn two_that_share_standard_error_are_refused() {
        let error = watchers(&[Monitor::Json, Monitor::Lines], false).err().unwrap().to_string();
        assert!(error.contains("json") && error.contains("lines") && error.contains("give one"), "{error}");
    }
}
