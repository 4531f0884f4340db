//! What parts of a receipt are made of, and how what the load counted comes to them.

use std::collections::BTreeMap;

use load::{Arrival, EndedConnections, Http, Job, Outcome, Pace};
use observe::Throttled;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use targets::{AcceleratorCounts, Calls};

use crate::quic_use::VERSION;

/// What a server did to send.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SendCalls {
    /// Of bytes in memory; over TLS in user space, encrypted ones.
    pub write: Calls,
    /// Of bytes of files.
    pub sendfile: Calls,
}

/// Orders in a shop's database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Orders {
    /// Before the load.
    pub before: u64,
    /// After it.
    pub after: u64,
}

/// What held back what the server sent.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Pacing {
    /// How many of the server's connections, of those that were looked at, sent by timers: by their
    /// congestion control, or at a rate that their program had set.
    pub connections: u64,
    /// The lowest rate of these.
    pub least_bps: Option<f64>,
    /// `fq`, where that is the queue before loopback, which sends by timers for all.
    pub queue: Option<String>,
}

/// A CPU quota that one side of a trial was under, and what it did: of several, the one that stopped it for longest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct QuotaUse {
    /// The CPUs that it allows: 0.5 is half of one.
    pub cpus: f64,
    /// For how long the group was stopped within the window, summed over CPUs.
    pub throttled_ns: u64,
    /// The periods in which the quota was used up.
    pub throttled_periods: u64,
    /// The folder of the control group.
    pub group: String,
}

impl From<Throttled> for QuotaUse {
    fn from(throttled: Throttled) -> Self {
        let Throttled { group, quota, periods, time } = throttled;
        Self { cpus: quota.cpus(), throttled_ns: time.0, throttled_periods: periods, group }
    }
}

/// What a backend served from before the load to after it, by its own count.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct BackendUse {
    /// Full handshakes: it gives no sessions.
    pub handshakes: u64,
    /// The suite of these, the only one that it takes.
    pub suite: Option<String>,
    /// Requests over TLS.
    pub tls_requests: u64,
    /// Connections over plain HTTP.
    pub plain_connections: u64,
    /// Requests over these.
    pub plain_requests: u64,
}

/// What an accelerator did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AcceleratorUse {
    /// What it is: `model`.
    pub kind: String,
    #[serde(flatten)]
    pub counts: AcceleratorCounts,
    /// Its operations in the window over what its engines can do in that time; absent where operations of
    /// the load are not handshakes, and where it answers at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub busy: Option<f64>,
}

/// The rate of a paced load, where it has one.
pub(crate) fn pace(arrival: &Arrival) -> Option<u64> {
    match arrival {
        Arrival::Paced { pace: Pace::Rate(rate) } => Some(*rate),
        _ => None,
    }
}

/// Connections by how they came to their protocol; only where HTTP/2 or 3 was asked for.
pub(crate) fn protocols(job: &Job, outcome: &Outcome) -> BTreeMap<String, u64> {
    let streams = &outcome.streams;
    let by_knowledge = streams.connections.saturating_sub(streams.by_alpn);
    let all = match job.plan.http {
        None | Some(Http::V1) => Vec::new(),
        Some(Http::V2) => vec![
            ("2 by ALPN".to_owned(), streams.by_alpn),
            ("2 by prior knowledge".to_owned(), by_knowledge),
        ],
        Some(Http::V3) => vec![(format!("3 on QUIC {VERSION}"), streams.connections)],
    };
    all.into_iter().filter(|(_, count)| *count > 0).collect()
}

/// Of connections that carried all that was planned; `None` where none did.
pub(crate) fn mean_requests(ended: &EndedConnections) -> Option<f64> {
    let connections: u64 = ended.by_requests.iter().map(|(_, count)| count).sum();
    let requests = ended.by_requests.iter().map(|(requests, count)| u64::from(*requests) * count);
    (connections > 0).then(|| requests.sum::<u64>() as f64 / connections as f64)
}

/// Completed responses by status.
pub(crate) fn statuses(outcome: &Outcome) -> BTreeMap<String, u64> {
    let others: u64 = outcome.statuses.iter().map(|(_, count)| count).sum();
    let usual = (200, outcome.completed.saturating_sub(others));
    let all = outcome.statuses.iter().copied().chain([usual]).filter(|(_, count)| *count > 0);
    all.map(|(status, count)| (status.to_string(), count)).collect()
}

/// Completed pages that store an order.
pub(crate) fn order_pages(outcome: &Outcome) -> Option<u64> {
    let pages = outcome.pages.iter().filter(|page| page.is_order);
    pages.map(|page| page.completed_ever).reduce(|sum, count| sum + count)
}
