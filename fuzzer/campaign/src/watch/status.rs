//! Determines the status of a campaign from the files in its output directory: whether it runs, has finished, or was
//! killed.

use std::{fmt::Write, fs::TryLockError, path::Path};

use penfuzz_directory::output::{directory, manifest};
use penfuzz_error::Error;
use penfuzz_report::{
    Finding, Report,
    format::{count, seconds, share},
    json,
    words::Words,
};
use penfuzz_system::{
    console::{escape_strings, shown},
    files::foreign,
};
use serde::Serialize;

use super::{Client, Find, Snapshot, lines::short, seconds_since_1970};

/// Maximum age in seconds of the status of a running campaign; it is normally written more often.
const FRESH: u64 = 10;

/// Maximum number of finds, and of messages, that are listed.
const LISTED: usize = 5;

/// Whether a campaign runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RunState {
    /// Its processes exist.
    Running,
    /// It ended by itself, and its report is written.
    Finished,
    /// Its processes have ended, but it has not finished.
    Killed,
}

/// The data that `penfuzz status` shows.
#[derive(Debug, Clone, Serialize)]
pub struct Status {
    /// Whether it runs.
    #[serde(rename = "life")]
    pub life: RunState,
    /// Seconds since its status was written; `None` if there is no status file.
    pub last_seen: Option<u64>,
    /// Its last status. Without a status file, the figures of its report.
    pub status: Snapshot,
    /// The crashes in its report, one per distinct place.
    pub crashes: Vec<Finding>,
    /// The hangs in its report, one per distinct place.
    pub hangs: Vec<Finding>,
}

/// Reads the status of the campaign in `dir`.
///
/// # Errors
/// When `dir` is not the directory of a campaign, or the campaign has not begun to search.
pub fn read(dir: &Path) -> Result<Status, Error> {
    let written = super::read(dir);
    let report = json::read(&dir.join(json::FILE)).ok();
    let (crashes, hangs) = report.as_ref().map_or_else(Default::default, |r| (r.crashes.clone(), r.hangs.clone()));
    let (status, last_seen) = match (written, report) {
        (Ok(snapshot), _) => {
            let seen = seconds_since_1970().saturating_sub(snapshot.updated);
            (snapshot, Some(seen))
        }
        (Err(_), Some(report)) => (of_report(&report), None),
        (Err(e), None) => {
            // Fails with a better message if the directory is not that of a campaign.
            manifest::read(dir)?;
            return Err(penfuzz_error::at(
                dir,
                format!("has no status of a campaign yet ({})", penfuzz_error::plain(&e)),
            )
            .with_source(e));
        }
    };
    Ok(Status { life: life(&status, last_seen, dir), last_seen, status, crashes, hangs })
}

/// The figures of a report, for a campaign of a version without status files.
fn of_report(report: &Report) -> Snapshot {
    Snapshot {
        schema: super::SCHEMA,
        target: report.target.clone(),
        function: report.function.clone(),
        seconds: report.seconds,
        stop_reason: report.stop_reason.clone(),
        goals: report.goals,
        branches: report.branches,
        evaluations: report.evaluations,
        evaluations_per_second: report.evaluations_per_second,
        crashes: report.crashes.len() as u64,
        hangs: report.hangs.len() as u64,
        ..Snapshot::default()
    }
}

fn life(status: &Snapshot, last_seen: Option<u64>, dir: &Path) -> RunState {
    if status.stop_reason != "running" {
        return RunState::Finished;
    }
    let alive = match last_seen {
        // An old process id may belong to another process by now, and a stopped campaign writes no status, so the lock
        // decides. For a fresh status the lock is not tested: the next worker could find the directory locked by this
        // process.
        Some(seen) if seen <= FRESH && !is_from_the_future(status) => exists(status.pid),
        Some(_) => exists(status.pid) && is_locked(dir),
        None => is_locked(dir),
    };
    if alive { RunState::Running } else { RunState::Killed }
}

/// Whether the status is dated later than now. Clocks may be set back.
fn is_from_the_future(status: &Snapshot) -> bool {
    status.updated > seconds_since_1970() + FRESH
}

/// Whether a process with this id exists.
fn exists(pid: u32) -> bool {
    if pid == 0 || pid > i32::MAX as u32 {
        return false;
    }
    // SAFETY: a system call without pointers; signal 0 only checks that the process exists.
    let refused = unsafe { libc::kill(pid as i32, 0) } != 0;
    !refused || std::io::Error::last_os_error().raw_os_error() == Some(libc::EPERM)
}

/// Whether a campaign has locked its directory.
fn is_locked(dir: &Path) -> bool {
    foreign::open_own(&dir.join(directory::LOCK))
        .is_ok_and(|f| matches!(f.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

/// The status as text, about 100 columns wide.
#[must_use]
pub fn text(status: &Status, dir: &Path) -> String {
    let status = &Status {
        status: escape_strings(&status.status),
        crashes: escape_strings(&status.crashes),
        hangs: escape_strings(&status.hangs),
        ..*status
    };
    let s = &status.status;
    let mut out = format!("{}: {}\n", shown(&dir.to_string_lossy()), life_text(status));
    let _ = writeln!(out, "  {} ({}): {}", s.function, s.target, branches(s));
    let _ = writeln!(
        out,
        "  {} evaluations in {} ({}/s), {} kept, {} crashes, {} hangs{}",
        count(s.evaluations),
        seconds(s.seconds),
        count(s.evaluations_per_second as u64),
        s.kept,
        s.crashes,
        s.hangs,
        if status.life == RunState::Running {
            format!(", last new {} {} ago", Words::of(s.goals).goal, seconds(s.since_last_find))
        } else {
            String::new()
        }
    );
    if s.unwritten > 0 {
        let _ = writeln!(out, "  {} finds are not on disk yet", s.unwritten);
    }
    machines(s, &mut out);
    if s.clients.len() > 1 {
        clients(&s.clients, &mut out);
    }
    list("Last finds", s.finds.iter().map(find), &mut out);
    list("Messages", s.messages.iter().cloned(), &mut out);
    findings("CRASH", &status.crashes, &mut out);
    findings("HANG", &status.hangs, &mut out);
    out
}

fn branches(s: &Snapshot) -> String {
    let (b, words) = (&s.branches, Words::of(s.goals));
    let crash_only = match b.covered_by_crash_only {
        0 => String::new(),
        n => format!(", {n} only by inputs that crash"),
    };
    format!(
        "{} of {} {} {} ({:.1} %){crash_only}, {} saturated, {} given up",
        b.covered,
        b.total,
        words.goals,
        words.done,
        share(b.covered, b.total),
        b.saturated,
        b.given_up
    )
}

fn life_text(status: &Status) -> String {
    let s = &status.status;
    match (status.life, status.last_seen) {
        (RunState::Running, Some(seen)) if seen > FRESH => {
            format!("running (process {}), but its status is {} old: is it stopped?", s.pid, seconds(seen as f64))
        }
        (RunState::Running, _) if s.pid == 0 => "running".to_owned(),
        (RunState::Running, _) => format!("running (process {})", s.pid),
        (RunState::Finished, _) => format!("finished ({})", s.stop_reason),
        (RunState::Killed, None) => "not running, and did not finish; the same command resumes the campaign".to_owned(),
        (RunState::Killed, Some(seen)) => format!(
            "not running, and did not finish; last seen {} ago; the same command resumes the campaign",
            seconds(seen as f64)
        ),
    }
}

fn machines(s: &Snapshot, out: &mut String) {
    let Some(broker) = &s.broker else { return };
    let whom = if broker.port == 0 { "for this machine".to_owned() } else { format!("on port {}", broker.port) };
    let _ = writeln!(out, "  broker {whom}, started again {} times", broker.restarts);
    for peer in &broker.peers {
        let state = if peer.connected { "connected" } else { "not connected" };
        let _ = writeln!(out, "    {}: {state}, {} finds received", peer.address, peer.received);
    }
}

fn clients(clients: &[Client], out: &mut String) {
    let name = clients.iter().map(|c| c.name.chars().count()).max().unwrap_or(0).max("client".len());
    let _ = writeln!(
        out,
        "\n  {:<name$}  {:<12} {:>4} {:>8}  {:<9} {:>8} {:>7} {:>7} {:>7} {:>5} {:>7} {:>5}",
        "client", "role", "core", "pid", "state", "restarts", "evals", "evals/s", "covered", "kept", "crashes", "hangs"
    );
    for c in clients {
        let _ = writeln!(
            out,
            "  {:<name$}  {:<12} {:>4} {:>8}  {:<9} {:>8} {:>7} {:>7} {:>7} {:>5} {:>7} {:>5}",
            c.name,
            c.role,
            c.core.map_or_else(|| "-".to_owned(), |n| n.to_string()),
            c.pid,
            c.state,
            c.restarts,
            short(c.evaluations as f64),
            short(c.evaluations_per_second),
            c.covered,
            c.kept,
            c.crashes,
            c.hangs
        );
    }
}

fn find(find: &Find) -> String {
    format!("{:>10}  {:<4} {}", seconds(find.seconds), find.client, find.what)
}

/// Appends the newest lines, newest last, under a title.
fn list(title: &str, lines: impl DoubleEndedIterator<Item = String>, out: &mut String) {
    let mut newest: Vec<String> = lines.rev().take(LISTED).collect();
    newest.reverse();
    if !newest.is_empty() {
        let _ = writeln!(out, "\n  {title}");
    }
    for line in newest {
        let _ = writeln!(out, "    {line}");
    }
}

fn findings(title: &str, list: &[Finding], out: &mut String) {
    for finding in list {
        let _ = writeln!(out, "\n  {title}  {} in {}", finding.reason, finding.place);
        if let Some(why) = finding.dependence() {
            let _ = writeln!(out, "         {why}");
        }
        let _ = writeln!(out, "         {}  ({})", penfuzz_report::c_text::decimals(&finding.args), finding.file);
    }
}

#[cfg(test)]
#[path = "status_tests.rs"]
mod tests;
