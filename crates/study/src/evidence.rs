//! The figures on which a verdict stands, for every candidate, whether or not it was the limit.

mod network;

use std::collections::BTreeMap;

use cpus::CpuList;
use load::ErrorKind;
use observe::{CoreShares, InterruptTime, OpenDescriptors};
use serde::{Deserialize, Serialize};
use units::Nanos;

use crate::line::Operations;
use crate::reading::Readings;
use crate::verdict::SERVER_BUSY;

pub use network::{Interface, NetworkEvidence};

/// The figures of all candidates. Shares are 0 to 1; what could not be known is absent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
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
    /// Open descriptors of the server's process that is nearest to its limit, over that limit, at
    /// the window's end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_descriptors: Option<f64>,
    /// How often an accept queue overflowed in the server's network namespace, where the server
    /// runs on this machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub listen_overflows: Option<u64>,
    /// How many connections listeners dropped there, for that or another reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub listen_drops: Option<u64>,
    /// The share of the connections' time that those drops cost, at one second each.
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
    /// The share of a CPU that the busiest of the server's threads used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_busiest_thread: Option<f64>,
    /// The part of the server's CPU time that was spent in threads which had no more of a CPU to
    /// use: with a part near 1, more CPUs would not help it, more threads would.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_saturated: Option<f64>,
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
    /// How busy the busiest hyperthread was that shares a core with the server and is neither the
    /// server's nor the client's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sibling_busy: Option<f64>,
    /// The interface between the two; absent on loopback.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<NetworkEvidence>,
}

impl Evidence {
    /// Whether the server's work was done by threads that each had a CPU and no more to use of it,
    /// while other CPUs of the server's were free.
    #[must_use]
    pub fn has_few_workers(&self) -> bool {
        let has_free_cpus = self.server_cpus_idle.is_none_or(|idle| idle > 1.0 - SERVER_BUSY);
        self.server_saturated >= Some(SATURATED_WORK)
            && self.server_busy < Some(SERVER_BUSY)
            && has_free_cpus
    }
}

/// The part of a server's work that its saturated threads must have done for them to be the limit.
/// Where one of several equal workers is saturated and the others are not, the load is uneven, and
/// more of it would be served.
pub const SATURATED_WORK: f64 = 0.90;

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
    /// Those that share a core with the server's.
    pub(crate) siblings: &'a [usize],
    /// Whom the kernel charges the time of interrupts to, where that is known.
    pub(crate) interrupt_time: Option<InterruptTime>,
    pub(crate) server_descriptors: Option<OpenDescriptors>,
    /// Between client and server, in the order of the readings.
    pub(crate) interfaces: &'a [Interface],
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
            server_descriptors: facts
                .server_descriptors
                .filter(|files| files.limit > 0)
                .map(|files| rounded(files.open as f64 / files.limit as f64)),
            listen_overflows: facts.of_server(Readings::listen_overflows),
            listen_drops: facts.of_server(Readings::listen_drops),
            accept_queue_loss: facts.accept_queue_loss().map(rounded),
            client_busy: busiest.map(|usage| rounded(usage.busy())),
            client_waiting: busiest.and_then(|usage| usage.waiting).map(rounded),
            server_busy: server.and_then(|usage| of_server_cpus(usage.on_cpu)).map(rounded),
            server_waiting: server
                .and_then(|usage| usage.waiting)
                .and_then(of_server_cpus)
                .map(rounded),
            server_busiest_thread: readings.server_threads().first().copied().map(rounded),
            server_saturated: facts.server_saturated().map(rounded),
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
            sibling_busy: facts.sibling_busy().map(rounded),
            network: NetworkEvidence::of(readings, facts.interfaces),
        }
    }
}

impl Facts<'_> {
    /// Counters of this machine say nothing of a server elsewhere.
    fn of_server(&self, counter: fn(&Readings) -> Option<u64>) -> Option<u64> {
        self.is_server_here.then(|| counter(self.readings))?
    }

    fn accept_queue_loss(&self) -> Option<f64> {
        let time_of_all = self.window.seconds() * self.connections as f64;
        // An overflow is a drop too, but not in all kernels and places.
        let overflows = self.of_server(Readings::listen_overflows)?;
        let dropped = self.of_server(Readings::listen_drops)?.max(overflows);
        let lost = dropped as f64 * SYN_RETRANSMISSION.seconds();
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

    /// The part of the server's CPU time that its saturated threads used; `None` where nothing is
    /// known of them.
    ///
    /// A thread is saturated that used its CPU up. Where interrupts are counted apart, that is what
    /// they left of a CPU on which nothing was idle.
    fn server_saturated(&self) -> Option<f64> {
        let threads = self.readings.server_threads();
        let all: f64 = threads.iter().sum();
        let cpus = self.server_cpus.map_or(&[][..], CpuList::as_slice);
        let interrupts = cpus
            .iter()
            .filter_map(|cpu| self.shares.get(cpu))
            .filter(|_| self.interrupt_time == Some(InterruptTime::Apart))
            .filter(|shares| shares.idle <= 1.0 - SERVER_BUSY && shares.steal <= 1.0 - SERVER_BUSY)
            .map(|shares| shares.irq + shares.softirq)
            .fold(0.0, f64::max);
        let saturated: f64 = threads.iter().filter(|used| **used + interrupts >= SERVER_BUSY).sum();
        (all > 0.0).then(|| saturated / all)
    }

    /// Of the hyperthreads beside the server's that neither it nor the client runs on.
    fn sibling_busy(&self) -> Option<f64> {
        let is_of_neither = |cpu: &&usize| !self.client_cpus.as_slice().contains(cpu);
        let siblings = self.siblings.iter().filter(is_of_neither);
        siblings.filter_map(|cpu| self.shares.get(cpu)).map(CoreShares::busy).max_by(f64::total_cmp)
    }

    /// What ran on the CPUs of server and client beyond their own. Where they share CPUs, on all of
    /// these together; otherwise on the side where it is more.
    fn foreign(&self) -> Option<f64> {
        let client_cpus = self.client_cpus;
        let client: f64 = self.readings.threads()?.iter().map(|usage| usage.on_cpu).sum();
        let server_cpus = self.server_cpus?;
        let server = self.readings.server()?.on_cpu;
        let client = client + self.backend_on(client_cpus);
        match server_cpus.without(client_cpus) {
            Some(own) if own == *server_cpus => {
                let server = server + self.backend_on(server_cpus);
                let beside_server = (self.ran_on(server_cpus)? - server) / server_cpus.len() as f64;
                let beside_client = (self.ran_on(client_cpus)? - client) / client_cpus.len() as f64;
                Some(beside_server.max(beside_client))
            }
            own => {
                let own_cpus = own.as_ref().map_or(0, CpuList::len);
                let server = server + own.as_ref().map_or(0.0, |own| self.backend_on(own));
                let own = own.as_ref().map_or(Some(0.0), |own| self.ran_on(own))?;
                let all = self.ran_on(client_cpus)? + own;
                Some((all - server - client) / (client_cpus.len() + own_cpus) as f64)
            }
        }
    }

    /// The time of programs on these CPUs, in CPUs, counted as the kernel counts that of processes.
    ///
    /// Where it leaves the interrupts' time in the processes', these run a part of what `/proc/stat`
    /// calls interrupts, and the kernel's own threads run the rest: so the interrupts' time counts
    /// too, less those threads'. Else a program beside the server would vanish behind the
    /// interrupts that are charged to the server. Where those threads are not seen, or it is not
    /// known what the kernel does, only what is certain counts.
    fn ran_on(&self, cpus: &CpuList) -> Option<f64> {
        let programs = self.mean(cpus, |shares| shares.user + shares.system)?;
        let interrupts = self.mean(cpus, |shares| shares.irq + shares.softirq)?;
        let list = cpus.as_slice();
        let of_kernel: Option<f64> =
            list.iter().map(|cpu| self.readings.softirq_thread(*cpu)).sum();
        let all = |share: f64| share * cpus.len() as f64;
        Some(match (self.interrupt_time, of_kernel) {
            (Some(InterruptTime::InProcesses), Some(of_kernel)) => {
                all(programs) + (all(interrupts) - of_kernel).max(0.0)
            }
            _ => all(programs),
        })
    }
}

/// To four decimals: more would be noise in the journal. Never a negative zero.
fn rounded(share: f64) -> f64 {
    (share * 1e4).round() / 1e4 + 0.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reading::{NetReading, Reading, TaskReading};
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
            at: Some(base + Duration::from_millis(at)),
            server: server.map(|server| task(at, server, 0)),
            backend: None,
            // Two workers, of which one does a tenth of the work.
            server_threads: server.map_or_else(BTreeMap::new, |server| {
                [(7, server * 9 / 10), (8, server / 10)]
                    .map(|(id, ms)| (id, Nanos(ms * 1_000_000)))
                    .into()
            }),
            threads: vec![Some(task(at, client, waiting))],
            softirq_threads: [0, 1].map(|cpu| (cpu, Nanos(at * 100_000))).into(),
            net: Some(NetReading {
                listen_overflows: overflows,
                listen_drops: overflows + 1,
                ..NetReading::default()
            }),
            links: Vec::new(),
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
        evidence_where(readings, cores, server, client, |_| {})
    }

    fn evidence_where(
        readings: &Readings,
        cores: [CoreShares; 2],
        server: Option<&CpuList>,
        client: &CpuList,
        change: impl FnOnce(&mut Facts<'_>),
    ) -> Evidence {
        let mut facts = Facts {
            operations: &Operations { completed: 1000, ..Operations::default() },
            window: Nanos(600_000_000),
            connections: 64,
            is_server_here: server.is_some(),
            readings,
            shares: &cores.into_iter().enumerate().collect(),
            server_cpus: server,
            client_cpus: client,
            backend_cpus: None,
            siblings: &[],
            interrupt_time: Some(InterruptTime::Apart),
            server_descriptors: None,
            interfaces: &[],
        };
        change(&mut facts);
        Evidence::of(&facts)
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
            ..Reading::default()
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
                siblings: &[],
                interrupt_time: None,
                server_descriptors: None,
                interfaces: &[],
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
                server_descriptors: None,
                listen_overflows: Some(2),
                listen_drops: Some(2),
                // 2 s of 64 times 0.6 s.
                accept_queue_loss: Some(0.0521),
                client_busy: Some(0.25),
                client_waiting: Some(0.05),
                server_busy: Some(0.8),
                server_waiting: Some(0.0),
                server_busiest_thread: Some(0.72),
                server_saturated: Some(0.0),
                server_cpus_idle: Some(0.05),
                backend_busy: None,
                offered_served: None,
                steal: Some(0.02),
                // The client's CPU ran programs for 0.3, of which 0.2 was the client.
                foreign: Some(0.1),
                sibling_busy: None,
                network: None,
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

    const IN_PROCESSES: fn(&mut Facts<'_>) =
        |facts| facts.interrupt_time = Some(InterruptTime::InProcesses);

    #[test]
    fn a_program_does_not_vanish_behind_interrupts_that_are_charged_to_the_server() {
        // Recorded beside a busy loop at nice 5 and a server of plain HTTP: of the server's 0.75,
        // 0.25 were in soft interrupts, so that programs seem to have run for 0.75 in all.
        let cores = [shares(0.75, 0.25, 0.0), shares(0.2, 0.0, 0.0)];
        let (server, client) = (CpuList::from(0), CpuList::from(1));
        let with = |change: fn(&mut Facts<'_>)| {
            let readings = readings(Some(450), 120, 0);
            evidence_where(&readings, cores, Some(&server), &client, change).foreign
        };
        // The kernel's own thread had a tenth of each CPU.
        assert_eq!(with(IN_PROCESSES), Some(0.15));
        assert_eq!(with(|_| {}), Some(0.0));
        assert_eq!(with(|facts| facts.interrupt_time = None), Some(0.0));
    }

    #[test]
    fn where_the_kernels_threads_are_not_seen_only_what_is_certain_is_foreign() {
        let cores = [shares(0.75, 0.25, 0.0), shares(0.2, 0.0, 0.0)];
        let (server, client) = (CpuList::from(0), CpuList::from(1));
        let mut readings = readings(Some(450), 120, 0);
        let base = Instant::now();
        let unseen =
            |ms| Reading { at: Some(base + Duration::from_millis(ms)), ..Reading::default() };
        let seen = evidence_where(&readings, cores, Some(&server), &client, IN_PROCESSES);
        readings.advance(unseen(600));
        let unseen = evidence_where(&readings, cores, Some(&server), &client, IN_PROCESSES);
        assert_eq!((seen.foreign, unseen.foreign), (Some(0.15), None));
        // The network's own work is no program's.
        let quiet = [shares(0.4, 0.1, 0.0), shares(0.2, 0.0, 0.0)];
        let readings = self::readings(Some(240), 120, 0);
        let network = evidence_where(&readings, quiet, Some(&server), &client, IN_PROCESSES);
        assert_eq!(network.foreign, Some(0.0));
    }

    #[test]
    fn one_busy_thread_of_a_server_with_two_cpus_is_seen() {
        let cores = [shares(1.0, 0.0, 0.0), shares(0.0, 0.0, 0.0)];
        let (both, client): (CpuList, _) = ("0-1".parse().unwrap(), CpuList::from(2));
        let found = evidence(&readings(Some(660), 120, 0), cores, Some(&both), &client);
        assert_eq!((found.server_busy, found.server_busiest_thread), (Some(0.55), Some(0.99)));
        assert_eq!(found.server_saturated, Some(0.9));
        assert!(found.has_few_workers());
        let found = evidence(&readings(Some(600), 120, 0), cores, Some(&both), &client);
        assert_eq!((found.server_busiest_thread, found.server_saturated), (Some(0.9), Some(0.0)));
        assert!(!found.has_few_workers());
        // The other tenth of its CPU went to interrupts, which this kernel counts apart.
        let cores = [shares(0.9, 0.1, 0.0), shares(0.0, 0.0, 0.0)];
        let found = evidence(&readings(Some(600), 120, 0), cores, Some(&both), &client);
        assert_eq!(found.server_saturated, Some(0.9));
    }

    #[test]
    fn a_hyperthread_of_somebody_else_is_seen_and_the_clients_is_not() {
        let cores = [shares(0.5, 0.0, 0.0), shares(0.6, 0.1, 0.0)];
        let server = CpuList::from(0);
        let beside = |client: usize| {
            let client = CpuList::from(client);
            let readings = readings(Some(300), 120, 0);
            evidence_where(&readings, cores, Some(&server), &client, |facts| facts.siblings = &[1])
                .sibling_busy
        };
        assert_eq!((beside(2), beside(1)), (Some(0.7), None));
    }

    #[test]
    fn a_server_without_descriptors_is_seen() {
        let cores = [shares(0.5, 0.0, 0.0), shares(0.2, 0.0, 0.0)];
        let (server, client) = (CpuList::from(0), CpuList::from(1));
        let found =
            evidence_where(&readings(Some(300), 120, 0), cores, Some(&server), &client, |facts| {
                facts.server_descriptors = Some(OpenDescriptors { open: 64, limit: 64 });
            });
        assert_eq!(found.server_descriptors, Some(1.0));
    }
}
