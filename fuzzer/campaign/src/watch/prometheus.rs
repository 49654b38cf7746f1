//! `--monitor prometheus=ADDRESS:PORT`: answers `GET /metrics` with the figures of `DIR/status.json`, in the text
//! format of `OpenMetrics`, which Prometheus reads.
//!
//! The supervisor calls [`bind`], so that a port in use is reported at once. [`serve`] runs in a separate process: a
//! hostile client can keep only that process busy.

use std::{
    fmt,
    net::{SocketAddr, TcpListener},
    path::Path,
};

use Value::{Counter, Gauge};
use penfuzz_error::{Error, plain};
use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeMetric, text},
    metrics::{MetricType, counter::ConstCounter, gauge::ConstGauge},
    registry::Registry,
};

use super::{
    Client, Peer, Snapshot,
    http::{self, Response},
    read,
};

const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Listens on `address`.
///
/// # Errors
/// When the address does not belong to this machine or the port is in use.
pub fn bind(address: SocketAddr) -> Result<TcpListener, Error> {
    TcpListener::bind(address).map_err(|e| {
        Error::new(format!("cannot listen on {address} for Prometheus: {}; give another address or port", plain(&e)))
            .with_source(e)
    })
}

/// Answers requests with the status in `dir`, within the limits of [`http`].
///
/// # Errors
/// When the listener cannot be polled.
pub fn serve(listener: &TcpListener, dir: &Path) -> Result<(), Error> {
    http::serve(listener, |path| page(path, dir))
}

fn page(path: &str, dir: &Path) -> Response {
    if path != "/metrics" {
        return Response::sentence(404, "there is nothing here but /metrics");
    }
    match read(dir) {
        Ok(snapshot) => metrics(snapshot).map_or_else(
            |e| Response::sentence(500, &e.to_string()),
            |body| Response { status: 200, kind: CONTENT_TYPE, body },
        ),
        Err(e) => Response::sentence(503, &format!("the campaign has no status yet ({})", plain(&e))),
    }
}

/// Formats the status for Prometheus.
///
/// # Errors
/// Never: the text is written to memory.
pub fn metrics(snapshot: Snapshot) -> Result<String, fmt::Error> {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Metrics(snapshot)));
    let mut text = String::new();
    text::encode(&mut text, &registry)?;
    Ok(text)
}

#[derive(Debug)]
struct Metrics(Snapshot);

/// A figure of a campaign, a client or a peer, with its name and its help text.
struct Figure<T> {
    name: &'static str,
    help: &'static str,
    of: Value<T>,
}

enum Value<T> {
    /// A counter: it only grows while the counting process lives. Prometheus appends `_total` to the name.
    Counter(fn(&T) -> f64),
    Gauge(fn(&T) -> f64),
}

const CAMPAIGN: [Figure<Snapshot>; 13] = [
    Figure {
        name: "penfuzz_branches",
        help: "Branches of the function under test",
        of: Gauge(|s| s.branches.total as f64),
    },
    Figure { name: "penfuzz_branches_covered", help: "Branches covered", of: Gauge(|s| s.branches.covered as f64) },
    Figure {
        name: "penfuzz_branches_saturated",
        help: "Branches saturated",
        of: Gauge(|s| s.branches.saturated as f64),
    },
    Figure { name: "penfuzz_branches_given_up", help: "Branches given up", of: Gauge(|s| s.branches.given_up as f64) },
    Figure { name: "penfuzz_evaluations", help: "Evaluations of all clients", of: Counter(|s| s.evaluations as f64) },
    Figure {
        name: "penfuzz_search_seconds",
        help: "Seconds of search, resumed parts included",
        of: Counter(|s| s.seconds),
    },
    Figure { name: "penfuzz_kept_inputs", help: "Inputs in the queues", of: Gauge(|s| s.kept as f64) },
    Figure { name: "penfuzz_crashes", help: "Crashes at distinct places", of: Gauge(|s| s.crashes as f64) },
    Figure { name: "penfuzz_hangs", help: "Hangs at distinct places", of: Gauge(|s| s.hangs as f64) },
    Figure {
        name: "penfuzz_unwritten_finds",
        help: "Finds that could not be written to disk yet",
        of: Gauge(|s| s.unwritten as f64),
    },
    Figure {
        name: "penfuzz_since_last_find_seconds",
        help: "Seconds since a branch was covered for the first time",
        of: Gauge(|s| s.since_last_find),
    },
    Figure {
        name: "penfuzz_running",
        help: "1 while the campaign runs",
        of: Gauge(|s| f64::from(u8::from(s.stop_reason == "running"))),
    },
    Figure {
        name: "penfuzz_updated_seconds",
        help: "When the status was written, in seconds since 1970",
        of: Gauge(|s| s.updated as f64),
    },
];

const CLIENTS: [Figure<Client>; 9] = [
    Figure { name: "penfuzz_client_evaluations", help: "Evaluations", of: Counter(|c| c.evaluations as f64) },
    Figure {
        name: "penfuzz_client_evaluations_per_second",
        help: "Evaluations per second over the last few seconds",
        of: Gauge(|c| c.evaluations_per_second),
    },
    Figure {
        name: "penfuzz_client_branches_covered",
        help: "Branches that it has covered",
        of: Gauge(|c| c.covered as f64),
    },
    Figure {
        name: "penfuzz_client_branches_saturated",
        help: "Branches that it has saturated",
        of: Gauge(|c| c.saturated as f64),
    },
    Figure { name: "penfuzz_client_kept_inputs", help: "Inputs in its queue", of: Gauge(|c| c.kept as f64) },
    Figure { name: "penfuzz_client_crashes", help: "Inputs in its crashes", of: Gauge(|c| c.crashes as f64) },
    Figure { name: "penfuzz_client_hangs", help: "Inputs in its hangs", of: Gauge(|c| c.hangs as f64) },
    Figure {
        name: "penfuzz_client_restarts",
        help: "Times it was started again after it had been killed",
        of: Counter(|c| f64::from(c.restarts)),
    },
    Figure {
        name: "penfuzz_client_up",
        help: "1 while its process exists",
        of: Gauge(|c| f64::from(u8::from(c.is_alive()))),
    },
];

const PEERS: [Figure<Peer>; 2] = [
    Figure {
        name: "penfuzz_peer_connected",
        help: "1 while there is a connection to the other machine",
        of: Gauge(|p| f64::from(u8::from(p.connected))),
    },
    Figure { name: "penfuzz_peer_finds", help: "Finds received from it", of: Counter(|p| p.received as f64) },
];

impl Collector for Metrics {
    fn encode(&self, mut encoder: DescriptorEncoder) -> fmt::Result {
        let Self(snapshot) = self;
        let of_campaign = [("target", snapshot.target.as_str()), ("function", &snapshot.function)];
        for figure in &CAMPAIGN {
            family(&mut encoder, figure, [(&of_campaign[..], snapshot)].into_iter())?;
        }
        let labels: Vec<_> =
            snapshot.clients.iter().map(|c| [("client", c.name.as_str()), ("role", c.role.as_str())]).collect();
        for figure in &CLIENTS {
            family(&mut encoder, figure, labels.iter().map(|l| &l[..]).zip(&snapshot.clients))?;
        }
        let peers = snapshot.broker.as_ref().map_or(&[][..], |b| &b.peers);
        let labels: Vec<_> = peers.iter().map(|p| [("peer", p.address.as_str())]).collect();
        for figure in PEERS.iter().filter(|_| !peers.is_empty()) {
            family(&mut encoder, figure, labels.iter().map(|l| &l[..]).zip(peers))?;
        }
        Ok(())
    }
}

/// Encodes one metric with a value for each set of labels.
fn family<'a, T: 'a>(
    encoder: &mut DescriptorEncoder,
    figure: &Figure<T>,
    values: impl Iterator<Item = (&'a [(&'a str, &'a str)], &'a T)>,
) -> fmt::Result {
    let kind = match figure.of {
        Counter(_) => MetricType::Counter,
        Gauge(_) => MetricType::Gauge,
    };
    let mut encoder = encoder.encode_descriptor(figure.name, figure.help, None, kind)?;
    for (labels, of) in values {
        let encoder = encoder.encode_family(&labels)?;
        match figure.of {
            Counter(value) => ConstCounter::new(value(of)).encode(encoder)?,
            Gauge(value) => ConstGauge::new(value(of)).encode(encoder)?,
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "prometheus_tests.rs"]
mod tests;
