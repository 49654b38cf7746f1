//! Derives a campaign's [`Snapshot`] from the shared memory of its workers. Keeps the history that the shared memory
//! lacks: rates, and the times of finds.

use core::sync::atomic::{AtomicU64, Ordering};
use std::{
    collections::{BTreeMap, VecDeque},
    time::{Duration, Instant},
};

use penfuzz_engine::saturation::Goals;
use penfuzz_error::Error;
use penfuzz_report::{Branches, Report, words::Words};

use super::client;
use crate::{
    cluster::{BrokerInfo, broker_info::PeerCell},
    watch::{self, Broker, Client, Find, Peer, Phase, Snapshot},
    worker_shm::WorkerShm,
};

/// Rates are averaged over this time.
const RATE_OVER: Duration = Duration::from_secs(5);

/// Time between two counts that rates are computed from.
const RATE_EVERY: Duration = Duration::from_millis(250);

/// Upper bound for figures in shared memory, so that their sums do not overflow: about a thousand years of 10^6
/// evaluations per second.
const LARGEST_FIGURE: u64 = 1 << 55;

/// Number of the newest finds, and of the newest messages, that are kept.
const REMEMBERED: usize = 20;

/// The figures of one client, from its shared memory.
#[derive(Debug, Clone, Default)]
pub struct Figures {
    /// All figures but the rate, which [`History::snapshot`] fills in.
    pub client: Client,
    /// Its branch counts.
    pub branches: Branches,
    /// Seconds of its search, over all resumed parts.
    pub seconds: f64,
}

impl Figures {
    /// The figures of `client`, whose search is called `search`. `begun` is the start of the program.
    #[must_use]
    pub fn of(client: &client::Client, search: &str, begun: Instant) -> Self {
        let mut figures = Self::of_shm(client.shm(), begun, client.pid().unsigned_abs());
        let c = &mut figures.client;
        let role = client.place.farm.as_ref().filter(|_| search == "targeted").map(|f| f.role.name());
        role.unwrap_or(search).clone_into(&mut c.role);
        c.name = client.place.farm.as_ref().map(|_| client.place.name()).unwrap_or_default();
        (c.core, c.restarts) = (client.core, client.restarts);
        if client.has_ended() {
            "ended".clone_into(&mut c.state);
        } else if client.is_stopped() {
            "stopped".clone_into(&mut c.state);
        }
        figures
    }

    /// The figures in `shm`, without name, role, core and restarts.
    #[must_use]
    fn of_shm(shm: &WorkerShm, begun: Instant, pid: u32) -> Self {
        let get = |cell: &AtomicU64| cell.load(Ordering::Relaxed);
        // The target may have written any bits: a count is clipped to the largest that a campaign can reach.
        let figure = |cell: &AtomicU64| get(cell).min(LARGEST_FIGURE);
        let total = figure(&shm.total);
        let count = |cell: &AtomicU64| figure(cell).min(total) as usize;
        let searching = shm.searching.load(Ordering::Acquire) != 0;
        Self {
            client: Client {
                pid,
                state: if searching && pid != 0 { "searching" } else { "starting" }.to_owned(),
                evaluations: figure(&shm.evaluations),
                covered: figure(&shm.covered).min(total),
                saturated: figure(&shm.saturated).min(total),
                kept: figure(&shm.kept),
                crashes: figure(&shm.crashes),
                hangs: figure(&shm.hangs),
                ..Client::default()
            },
            branches: Branches {
                total: count(&shm.total),
                covered: count(&shm.covered),
                covered_by_crash_only: count(&shm.covered_by_crash),
                saturated: count(&shm.saturated),
                given_up: count(&shm.given_up),
                ..Branches::default()
            },
            seconds: shm.seconds(begun),
        }
    }
}

/// The evaluation counts of one client at some moments of the last seconds.
#[derive(Debug, Default)]
struct Rate(VecDeque<(Instant, u64)>);

impl Rate {
    /// Evaluations per second, given the count at `now`.
    fn at(&mut self, now: Instant, evaluations: u64) -> f64 {
        // A replacement worker may continue from an older count.
        if self.0.back().is_some_and(|(_, before)| *before > evaluations) {
            self.0.clear();
        }
        if self.0.back().is_none_or(|(last, _)| now - *last >= RATE_EVERY) {
            self.0.push_back((now, evaluations));
        }
        while self.0.len() > 2 && now - self.0[1].0 >= RATE_OVER {
            self.0.pop_front();
        }
        let Some((first, before)) = self.0.front() else { return 0.0 };
        let seconds = (now - *first).as_secs_f64();
        if seconds > 0.0 { (evaluations - before) as f64 / seconds } else { 0.0 }
    }
}

/// The state of a campaign that is kept between two snapshots.
#[derive(Debug)]
pub struct History {
    snapshot: Snapshot,
    rates: BTreeMap<String, Rate>,
    /// The number of crashes and of hangs of each client.
    faults: BTreeMap<String, (u64, u64)>,
    seconds_before: Option<f64>,
    last_find: Instant,
    covered: usize,
}

impl History {
    /// Creates the history of a campaign on `target` that begins `now`.
    #[must_use]
    pub fn new(target: String, goals: Goals, now: Instant) -> Self {
        let snapshot = Snapshot {
            schema: watch::SCHEMA,
            target,
            goals,
            pid: std::process::id(),
            stop_reason: "running".to_owned(),
            ..Snapshot::default()
        };
        Self {
            snapshot,
            rates: BTreeMap::new(),
            faults: BTreeMap::new(),
            seconds_before: None,
            last_find: now,
            covered: 0,
        }
    }

    /// Sets function and directory, when the search has begun.
    pub fn name(&mut self, function: &str, dir: &str) {
        function.clone_into(&mut self.snapshot.function);
        dir.clone_into(&mut self.snapshot.directory);
    }

    /// Adds a warning about a problem that does not end the campaign.
    pub fn warn(&mut self, message: &str) {
        push(&mut self.snapshot.messages, message.to_owned());
    }

    /// Returns the snapshot of the state at `now`. `unwritten` is the number of finds that could not be written yet.
    pub fn snapshot(
        &mut self,
        now: Instant,
        clients: Vec<Figures>,
        broker: Option<Broker>,
        unwritten: u64,
    ) -> &Snapshot {
        let best = clients.iter().max_by_key(|c| (c.branches.covered, c.branches.saturated));
        let (branches, name) = best.map_or_else(Default::default, |c| (c.branches, c.client.name.clone()));
        let seconds = clients.iter().map(|c| c.seconds).fold(0.0, f64::max);
        let before = *self.seconds_before.get_or_insert(seconds);
        self.note_branches(now, seconds, branches, &name);
        for figures in &clients {
            self.note_faults(seconds, &figures.client);
        }
        let mut clients: Vec<Client> = clients.into_iter().map(|f| f.client).collect();
        for c in &mut clients {
            c.evaluations_per_second = self.rates.entry(c.name.clone()).or_default().at(now, c.evaluations);
        }
        // Sorts `c2` before `c10`.
        clients.sort_by_cached_key(|c| (c.name.len(), c.name.clone()));
        let s = &mut self.snapshot;
        let sum = |of: fn(&Client) -> u64| clients.iter().map(of).sum();
        (s.evaluations, s.kept, s.crashes, s.hangs) =
            (sum(|c| c.evaluations), sum(|c| c.kept), sum(|c| c.crashes), sum(|c| c.hangs));
        s.evaluations_per_second = clients.iter().map(|c| c.evaluations_per_second).sum();
        (s.branches, s.seconds, s.seconds_of_run) = (branches, seconds, seconds - before);
        (s.broker, s.unwritten) = (broker, unwritten);
        s.since_last_find = (now - self.last_find).as_secs_f64();
        s.updated = watch::seconds_since_1970();
        s.clients = clients;
        s
    }

    /// Records a find only if the count exceeds its maximum so far: a replacement worker counts from 0.
    fn note_branches(&mut self, now: Instant, seconds: f64, branches: Branches, client: &str) {
        let new = branches.covered.saturating_sub(self.covered);
        if new > 0 {
            (self.covered, self.last_find) = (branches.covered, now);
            let words = Words::of(self.snapshot.goals);
            let branches = format!(
                "{new} {}, {} of {} {}",
                if new == 1 { words.goal } else { words.goals },
                branches.covered,
                branches.total,
                words.done
            );
            self.find(seconds, client, branches);
        }
    }

    fn note_faults(&mut self, seconds: f64, client: &Client) {
        let known = self.faults.entry(client.name.clone()).or_default();
        let (crashes, hangs) = (client.crashes.saturating_sub(known.0), client.hangs.saturating_sub(known.1));
        *known = (known.0.max(client.crashes), known.1.max(client.hangs));
        for (new, one, several) in [(crashes, "crash", "crashes"), (hangs, "hang", "hangs")] {
            match new {
                0 => {}
                1 => self.find(seconds, &client.name, one.to_owned()),
                n => self.find(seconds, &client.name, format!("{n} {several}")),
            }
        }
    }

    fn find(&mut self, seconds: f64, client: &str, what: String) {
        push(&mut self.snapshot.finds, Find { seconds, client: client.to_owned(), what });
    }

    /// The last snapshot.
    #[must_use]
    pub fn last(&self) -> &Snapshot {
        &self.snapshot
    }

    /// Sets what the campaign does from now on.
    pub fn enter(&mut self, phase: Phase) {
        self.snapshot.phase = phase;
    }

    /// Sets the state of a campaign that has failed.
    pub fn failed(&mut self, why: &Error) {
        "failed".clone_into(&mut self.snapshot.stop_reason);
        self.warn(&why.to_string());
    }

    /// Sets the state at the end of the campaign from `report`.
    pub fn ended(&mut self, report: &Report) {
        let s = &mut self.snapshot;
        s.phase = Phase::default();
        (s.stop_reason, s.branches) = (report.stop_reason.clone(), report.branches);
        (s.seconds, s.evaluations) = (report.seconds, report.evaluations);
        (s.crashes, s.hangs) = (report.crashes.len() as u64, report.hangs.len() as u64);
        s.updated = watch::seconds_since_1970();
        if s.function.is_empty() {
            // The campaign ended before the first poll.
            s.function.clone_from(&report.function);
        }
        for find in &mut s.finds {
            // The find may have been polled only after the search, while the report was written.
            find.seconds = find.seconds.min(report.seconds);
        }
        for client in &mut s.clients {
            "ended".clone_into(&mut client.state);
        }
        if let [only] = &mut s.clients[..] {
            only.evaluations = report.evaluations;
            (only.covered, only.saturated) = (report.branches.covered as u64, report.branches.saturated as u64);
            (only.crashes, only.hangs) = (s.crashes, s.hangs);
        }
    }
}

fn push<T>(list: &mut Vec<T>, item: T) {
    list.push(item);
    let surplus = list.len().saturating_sub(REMEMBERED);
    list.drain(..surplus);
}

/// The displayed state of the broker.
#[must_use]
pub fn broker(broker_info: &BrokerInfo, restarts: u32) -> Broker {
    let peer = |cell: &PeerCell| {
        let state = cell.state.load(Ordering::Relaxed);
        let address = cell.address.get().filter(|_| state > 0)?;
        Some(Peer { address, connected: state == 2, received: cell.received.load(Ordering::Relaxed) })
    };
    Broker {
        port: broker_info.public_port.load(Ordering::Relaxed) as u16,
        restarts,
        peers: broker_info.peers.iter().filter_map(peer).collect(),
    }
}

#[cfg(test)]
#[path = "snapshots_tests.rs"]
mod tests;
