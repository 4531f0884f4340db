//! Whether the CPU quota of a control group held server or client back.

use observe::Throttled;
use serde::{Deserialize, Serialize};

use super::rounding::rounded;
use crate::reading::Readings;
use crate::usage::Usage;

/// A server that was stopped for as much of the time as a busy one leaves idle had its maximum by the quota.
pub const THROTTLED: f64 = 0.05;

/// The pauses of a client that was stopped for this part of the time are among the slowest of a hundred responses.
const IN_LATENCIES: f64 = 0.01;

/// What the quota that held one side back most did to it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct QuotaEvidence {
    /// The CPUs that it allows: 0.5 is half of one.
    pub cpus: f64,
    /// The share of the time in which it stopped them, of the CPUs that were wanted: at least one, and as many as ran
    /// and were stopped.
    pub throttled: f64,
    /// Whether server and client have it together.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_shared: bool,
}

/// Who was held back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuotaSide {
    Client,
    Server,
    /// By one quota.
    Both,
}

impl QuotaEvidence {
    fn of(throttled: &Throttled, seconds: f64, used: f64, is_shared: bool) -> Self {
        let stopped = throttled.time.seconds() / seconds;
        let share = stopped / (used + stopped).max(1.0);
        Self { cpus: rounded(throttled.quota.cpus()), throttled: rounded(share), is_shared }
    }

    pub(crate) fn is_limit(&self) -> bool {
        self.throttled >= THROTTLED
    }

    /// Whether latencies show that quota, where it is the client's.
    pub(crate) fn is_in_latencies(&self) -> bool {
        self.throttled >= IN_LATENCIES
    }
}

/// Of the server, and of the client where that is `client_here`.
pub(super) fn quotas(readings: &Readings, client_here: bool) -> [Option<QuotaEvidence>; 2] {
    let Some(seconds) = readings.seconds() else { return [None; 2] };
    let server = readings.server_throttled();
    let client = readings.client_throttled().filter(|_| client_here);
    let of_server = readings.server().map_or(0.0, |usage| usage.on_cpu);
    let threads = readings.threads().unwrap_or_default();
    let of_client: f64 = threads.iter().map(|Usage { on_cpu, .. }| on_cpu).sum();
    let is_shared = !readings.is_server_elsewhere()
        && server.as_ref().zip(client.as_ref()).is_some_and(|(a, b)| a.group == b.group);
    let evidence = |throttled: Option<Throttled>, own: f64| {
        let used = if is_shared { of_server + of_client } else { own };
        throttled.map(|throttled| QuotaEvidence::of(&throttled, seconds, used, is_shared))
    };
    [evidence(server, of_server), evidence(client, of_client)]
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::evidence::Evidence;
    use crate::reading::Reading;
    use crate::usage::TaskReading;
    use observe::Throttling;
    use units::Nanos;

    const SECOND: u64 = 1_000_000_000;

    /// A group of this name with a quota of half a CPU, by which it was stopped for `stopped` ns.
    fn group(name: &str, stopped: u64) -> Throttling {
        let quota = serde_json::json!({ "quota_us": 50_000, "period_us": 100_000 });
        let group = serde_json::json!({ "quota": quota, "periods": 9, "time": Nanos(stopped) });
        serde_json::from_value(serde_json::json!({ name: group })).unwrap()
    }

    /// The evidence of two seconds, by the CPUs that server and client used and those on which their groups were stopped.
    fn evidence(used: [f64; 2], groups: [Option<(&str, f64)>; 2]) -> Evidence {
        let base = Instant::now();
        let reading = |seconds: u64| {
            let at = base + Duration::from_secs(seconds);
            let ns = |share: f64| (share * (seconds * SECOND) as f64) as u64;
            let task = |used: f64| {
                let (on_cpu, doubt) = (Nanos(ns(used)), Nanos(0));
                Some(TaskReading { at, on_cpu, doubt, waiting: None })
            };
            let throttling = |of: Option<(&str, f64)>| {
                of.map(|(name, stopped)| group(name, ns(stopped))).unwrap_or_default()
            };
            Reading {
                at: Some(at),
                server: task(used[0]),
                threads: vec![task(used[1])],
                server_throttling: throttling(groups[0]),
                client_throttling: throttling(groups[1]),
                ..Reading::default()
            }
        };
        let mut readings = Readings::begin(reading(0));
        readings.advance(reading(2));
        let [server_quota, client_quota] = quotas(&readings, true);
        Evidence { server_quota, client_quota, ..Evidence::default() }
    }

    fn throttled(quota: Option<QuotaEvidence>) -> Option<f64> {
        quota.map(|quota| quota.throttled)
    }

    #[test]
    fn the_share_is_of_the_cpus_that_were_wanted() {
        let of_server = |used: f64, stopped: f64| {
            let found = evidence([used, 0.2], [Some(("a", stopped)), None]);
            assert_eq!(found.client_quota, None);
            throttled(found.server_quota)
        };
        // A thread on one CPU, four on four, and one that had little to do.
        assert_eq!(of_server(0.5, 0.48), Some(0.48));
        assert_eq!(of_server(2.0, 2.0), Some(0.5));
        assert_eq!(of_server(0.05, 0.01), Some(0.01));
        assert_eq!(of_server(0.3, 0.0), Some(0.0));
    }

    #[test]
    fn a_group_that_both_are_in_is_one_quota() {
        let apart = evidence([0.5, 0.5], [Some(("a", 0.5)), Some(("b", 0.1))]);
        assert_eq!(apart.held_back().map(|(side, _)| side), Some(QuotaSide::Client));
        assert_eq!(throttled(apart.server_quota), Some(0.5));
        let together = evidence([0.5, 0.5], [Some(("a", 1.0)), Some(("a", 1.0))]);
        let (side, quota) = together.held_back().unwrap();
        assert_eq!((side, quota.throttled, quota.cpus), (QuotaSide::Both, 0.5, 0.5));
    }

    #[test]
    fn a_client_elsewhere_is_under_no_quota_of_this_machine() {
        let base = Instant::now();
        let reading = |seconds: u64| Reading {
            at: Some(base + Duration::from_secs(seconds)),
            client_throttling: group("a", seconds * SECOND),
            ..Reading::default()
        };
        let mut readings = Readings::begin(reading(0));
        readings.advance(reading(1));
        let quota = |is_here| quotas(&readings, is_here)[1];
        assert_eq!((throttled(quota(true)), quota(false)), (Some(1.0), None));
    }
}
