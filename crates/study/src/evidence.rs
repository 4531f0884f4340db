//! The figures on which a verdict stands, for every candidate, whether or not it was the limit.

use std::collections::BTreeMap;

use cpus::CpuList;
use load::ErrorKind;
use observe::CoreShares;
use serde::{Deserialize, Serialize};
use units::Nanos;

use crate::line::Operations;
use crate::reading::Readings;

/// The figures of all candidates. Shares are 0 to 1; what could not be known is absent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Evidence {
    /// Operations that ended well.
    pub completed: u64,
    /// Operations that failed, for whatever reason.
    pub failed: u64,
    /// Failed operations over all that ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed_share: Option<f64>,
    /// Connections that could not be made because the client had no file descriptor left.
    #[serde(skip_serializing_if = "is_zero")]
    pub descriptors_lacking: u64,
    /// Connections that could not be made because the client had no port left.
    #[serde(skip_serializing_if = "is_zero")]
    pub ports_lacking: u64,
    /// How often an accept queue of this machine overflowed, where the server runs on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub listen_overflows: Option<u64>,
    /// The share of the connections' time that those overflows cost, at one second each.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accept_queue_loss: Option<f64>,
    /// The busiest load thread: running, or ready to run and waiting for its CPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_busy: Option<f64>,
    /// The part of `client_busy` that was waiting: the CPU was doing something else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_waiting: Option<f64>,
    /// CPU time of the server's process tree over what its CPUs have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_busy: Option<f64>,
    /// Time that the server's threads were ready to run and waited, over what its CPUs have; more
    /// than 1 where many threads waited at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_waiting: Option<f64>,
    /// The idle share of the server's CPUs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_cpus_idle: Option<f64>,
    /// CPU time of what stands behind the server over what its CPUs have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backend_busy: Option<f64>,
    /// Operations that completed over those that were meant to start in the window; absent in a
    /// closed loop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offered_served: Option<f64>,
    /// What the hypervisor took, on the CPU of server or client from which it took most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steal: Option<f64>,
    /// What programs other than server and client used of their CPUs. Slightly negative where the
    /// two ways in which the kernel counts CPU time disagree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub foreign: Option<f64>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// What the figures are made from.
#[derive(Debug)]
pub(crate) struct Facts<'a> {
    pub(crate) operations: &'a Operations,
    /// The length of the window.
    pub(crate) window: Nanos,
    pub(crate) connections: usize,
    /// Whether the server runs on this machine, so that its accept queue is among those counted.
    pub(crate) is_server_here: bool,
    pub(crate) readings: &'a Readings,
    /// What each CPU did over the window, where that is known.
    pub(crate) shares: &'a BTreeMap<usize, CoreShares>,
    /// The server's CPUs, where it runs here.
    pub(crate) server_cpus: Option<&'a CpuList>,
    pub(crate) client_cpus: &'a CpuList,
    /// Those of what stands behind the server.
    pub(crate) backend_cpus: Option<&'a CpuList>,
}

/// How long a connection idles whose SYN found the accept queue full (RFC 6298, section 2.1).
const SYN_RETRANSMISSION: Nanos = Nanos(1_000_000_000);

impl Evidence {
    /// The figures of a trial.
    pub(crate) fn of(facts: &Facts<'_>) -> Self {
        let Facts { operations, readings, server_cpus, .. } = facts;
        let failed = operations.errors.values().sum();
        let count = |kind: ErrorKind| operations.errors.get(kind.name()).copied().unwrap_or(0);
        let ended = operations.completed + failed;
        let busiest = readings
            .threads()
            .and_then(|usages| usages.into_iter().max_by(|a, b| a.busy().total_cmp(&b.busy())));
        let server = readings.server();
        let of_server_cpus = |cpus: f64| server_cpus.map(|list| cpus / list.len() as f64);
        Self {
            completed: operations.completed,
            failed,
            failed_share: (ended > 0).then(|| rounded(failed as f64 / ended as f64)),
            descriptors_lacking: count(ErrorKind::Descriptors),
            ports_lacking: count(ErrorKind::Ports),
            listen_overflows: facts.listen_overflows(),
            accept_queue_loss: facts.accept_queue_loss().map(rounded),
            client_busy: busiest.map(|usage| rounded(usage.busy())),
            client_waiting: busiest.and_then(|usage| usage.waiting).map(rounded),
            server_busy: server.and_then(|usage| of_server_cpus(usage.on_cpu)).map(rounded),
            server_waiting: server
                .and_then(|usage| usage.waiting)
                .and_then(of_server_cpus)
                .map(rounded),
            server_cpus_idle: facts.server_cpus_idle().map(rounded),
            backend_busy: readings
                .backend()
                .zip(facts.backend_cpus)
                .map(|(usage, cpus)| rounded(usage.on_cpu / cpus.len() as f64)),
            offered_served: operations
                .arrivals
                .filter(|arrivals| arrivals.intended > 0)
                .map(|arrivals| rounded(operations.completed as f64 / arrivals.intended as f64)),
            steal: facts.steal().map(rounded),
            foreign: facts.foreign().map(rounded),
        }
    }
}

impl Facts<'_> {
    /// Those of this machine say nothing of a server elsewhere.
    fn listen_overflows(&self) -> Option<u64> {
        self.is_server_here.then(|| self.readings.listen_overflows())?
    }

    fn accept_queue_loss(&self) -> Option<f64> {
        let time_of_all = self.window.seconds() * self.connections as f64;
        let lost = self.listen_overflows()? as f64 * SYN_RETRANSMISSION.seconds();
        (time_of_all > 0.0).then(|| lost / time_of_all)
    }

    /// The mean over `cpus` of a figure of each; `None` where one is not known.
    fn mean(&self, cpus: &CpuList, figure: fn(&CoreShares) -> f64) -> Option<f64> {
        let figures: Option<Vec<f64>> =
            cpus.as_slice().iter().map(|cpu| self.shares.get(cpu).map(figure)).collect();
        Some(figures?.iter().sum::<f64>() / cpus.len() as f64)
    }

    /// Only where the server has its CPUs for itself: otherwise it is not the server's idleness.
    fn server_cpus_idle(&self) -> Option<f64> {
        let server = self.server_cpus?;
        self.are_apart(server).then(|| self.mean(server, |shares| shares.idle))?
    }

    fn are_apart(&self, server: &CpuList) -> bool {
        server.without(self.client_cpus).as_ref() == Some(server)
    }

    fn steal(&self) -> Option<f64> {
        let server = self.server_cpus.map_or(&[][..], CpuList::as_slice);
        let cpus = server.iter().chain(self.client_cpus.as_slice());
        cpus.filter_map(|cpu| self.shares.get(cpu))
            .map(|shares| shares.steal)
            .max_by(f64::total_cmp)
    }

    /// What stands behind the server used so much of these CPUs, were it spread evenly over its own.
    fn backend_on(&self, cpus: &CpuList) -> f64 {
        let (Some(usage), Some(own)) = (self.readings.backend(), self.backend_cpus) else {
            return 0.0;
        };
        let shared = own.as_slice().iter().filter(|cpu| cpus.as_slice().contains(cpu)).count();
        usage.on_cpu * shared as f64 / own.len() as f64
    }

    /// Program time on the CPUs of server and client beyond their own. Where they share CPUs, on
    /// all of these together; otherwise on the side where it is more.
    fn foreign(&self) -> Option<f64> {
        let programs = |cpus: &CpuList| {
            Some(self.mean(cpus, |shares| shares.user + shares.system)? * cpus.len() as f64)
        };
        let client_cpus = self.client_cpus;
        let client: f64 = self.readings.threads()?.iter().map(|usage| usage.on_cpu).sum();
        let server_cpus = self.server_cpus?;
        let server = self.readings.server()?.on_cpu;
        let client = client + self.backend_on(client_cpus);
        match server_cpus.without(client_cpus) {
            Some(own) if own == *server_cpus => {
                let server = server + self.backend_on(server_cpus);
                let beside_server = (programs(server_cpus)? - server) / server_cpus.len() as f64;
                let beside_client = (programs(client_cpus)? - client) / client_cpus.len() as f64;
                Some(beside_server.max(beside_client))
            }
            own => {
                let own_cpus = own.as_ref().map_or(0, CpuList::len);
                let server = server + own.as_ref().map_or(0.0, |own| self.backend_on(own));
                let all = programs(client_cpus)? + own.as_ref().map_or(Some(0.0), programs)?;
                Some((all - server - client) / (client_cpus.len() + own_cpus) as f64)
            }
        }
    }
}

/// To four decimals: more would be noise in the journal.
fn rounded(share: f64) -> f64 {
    (share * 1e4).round() / 1e4
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reading::{Reading, TaskReading};
    use std::time::{Duration, Instant};

    /// Readings of a window of 600 ms: the server's CPU time, and that of one load thread with
    /// its waiting, in ms.
    fn readings(server: Option<u64>, client: u64, waiting: u64) -> Readings {
        let base = Instant::now();
        let task = |at: u64, on_cpu: u64, waiting: u64| TaskReading {
            at: base + Duration::from_millis(at),
            on_cpu: Nanos(on_cpu * 1_000_000),
            waiting: Some(Nanos(waiting * 1_000_000)),
        };
        let reading = |at, server: Option<u64>, client, waiting, overflows| Reading {
            server: server.map(|server| task(at, server, 0)),
            backend: None,
            threads: vec![Some(task(at, client, waiting))],
            listen_overflows: Some(overflows),
        };
        let mut readings = Readings::begin(reading(0, server.map(|_| 0), 0, 0, 7));
        readings.advance(reading(600, server, client, waiting, 9));
        readings
    }

    fn shares(user: f64, softirq: f64, steal: f64) -> CoreShares {
        CoreShares {
            user,
            softirq,
            steal,
            idle: 1.0 - user - softirq - steal,
            ..CoreShares::default()
        }
    }

    fn evidence(
        readings: &Readings,
        cores: [CoreShares; 2],
        server: Option<&CpuList>,
        client: &CpuList,
    ) -> Evidence {
        Evidence::of(&Facts {
            operations: &Operations { completed: 1000, ..Operations::default() },
            window: Nanos(600_000_000),
            connections: 64,
            is_server_here: server.is_some(),
            readings,
            shares: &cores.into_iter().enumerate().collect(),
            server_cpus: server,
            client_cpus: client,
            backend_cpus: None,
        })
    }

    #[test]
    fn a_backend_is_no_foreign_program_and_not_the_server() {
        let base = Instant::now();
        let task = |at: u64, on_cpu: u64| {
            let (on_cpu, at) = (Nanos(on_cpu * 1_000_000), base + Duration::from_millis(at));
            Some(TaskReading { at, on_cpu, waiting: None })
        };
        let reading = |at, server, client, backend| Reading {
            server: task(at, server),
            backend: task(at, backend),
            threads: vec![task(at, client)],
            listen_overflows: None,
        };
        let mut readings = Readings::begin(reading(0, 0, 0, 0));
        readings.advance(reading(1000, 900, 300, 400));
        let (server, client) = (CpuList::from(0), CpuList::from(1));
        let found = |backend: &CpuList| {
            Evidence::of(&Facts {
                operations: &Operations::default(),
                window: Nanos(1_000_000_000),
                connections: 64,
                is_server_here: true,
                readings: &readings,
                shares: &[shares(0.9, 0.0, 0.0), shares(0.7, 0.0, 0.0)]
                    .into_iter()
                    .enumerate()
                    .collect(),
                server_cpus: Some(&server),
                client_cpus: &client,
                backend_cpus: Some(backend),
            })
        };
        let beside_client = found(&client);
        assert_eq!(beside_client.server_busy, Some(0.9));
        assert_eq!((beside_client.backend_busy, beside_client.foreign), (Some(0.4), Some(0.0)));
        // On a CPU of its own it excuses nothing on the others.
        let apart = found(&CpuList::from(2));
        assert_eq!((apart.backend_busy, apart.foreign), (Some(0.4), Some(0.4)));
    }

    #[test]
    fn every_candidate_has_its_figure() {
        let cores = [shares(0.8, 0.15, 0.0), shares(0.3, 0.0, 0.02)];
        let (server, client) = (CpuList::from(0), CpuList::from(1));
        let found = evidence(&readings(Some(480), 120, 30), cores, Some(&server), &client);
        assert_eq!(
            found,
            Evidence {
                completed: 1000,
                failed: 0,
                failed_share: Some(0.0),
                descriptors_lacking: 0,
                ports_lacking: 0,
                listen_overflows: Some(2),
                // 2 s of 64 times 0.6 s.
                accept_queue_loss: Some(0.0521),
                client_busy: Some(0.25),
                client_waiting: Some(0.05),
                server_busy: Some(0.8),
                server_waiting: Some(0.0),
                server_cpus_idle: Some(0.05),
                backend_busy: None,
                offered_served: None,
                steal: Some(0.02),
                // The client's CPU ran programs for 0.3, of which 0.2 was the client.
                foreign: Some(0.1),
            }
        );
    }

    #[test]
    fn a_server_that_is_not_known_has_no_figures() {
        let client = CpuList::from(1);
        let cores = [shares(1.0, 0.0, 0.0), shares(0.2, 0.0, 0.0)];
        let found = evidence(&readings(None, 120, 0), cores, None, &client);
        assert_eq!((found.server_busy, found.server_cpus_idle, found.foreign), (None, None, None));
        assert_eq!(found.client_busy, Some(0.2));
        // Nor does an accept queue of this machine tell of it.
        assert_eq!((found.listen_overflows, found.accept_queue_loss), (None, None));
    }

    #[test]
    fn on_shared_cpus_all_programs_are_weighed_together() {
        let cores = [shares(0.9, 0.0, 0.0), shares(0.0, 0.0, 0.0)];
        let cpu = CpuList::from(0);
        let found = evidence(&readings(Some(300), 120, 30), cores, Some(&cpu), &cpu);
        // 0.9 in programs, less 0.5 of the server and 0.2 of the client.
        assert_eq!(found.foreign, Some(0.2));
        assert_eq!(found.server_cpus_idle, None);
        let both: CpuList = "0-1".parse().unwrap();
        let found = evidence(&readings(Some(300), 120, 30), cores, Some(&both), &cpu);
        assert_eq!((found.foreign, found.server_busy), (Some(0.1), Some(0.25)));
    }
}
