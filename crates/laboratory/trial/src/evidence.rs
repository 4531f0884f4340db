//! The figures on which a verdict stands, for every candidate, whether or not it was the limit.

mod network;
mod quota;
mod rounding;
#[cfg(test)]
mod tests;

use cpus::CpuList;
use load::{ErrorKind, LateTimers, Repeated, StreamCounts, Verified};
use observe::{CpuShare, CpuTimeSource, CpuWindow, OpenDescriptors, TaskWindow};
use serde::{Deserialize, Serialize};
use serde_with::{skip_serializing_none, with_prefix};
use units::Nanos;

use crate::form::Form;
use crate::operations::Operations;
use crate::quic_use::QuicUse;
use crate::reading::Readings;
use crate::usage::Usage;

pub use network::{Interface, NetworkEvidence};
use quota::quotas;
pub use quota::{QuotaEvidence, QuotaSide, THROTTLED};
use rounding::rounded;

with_prefix!(server_cpus_idle "server_cpus_idle");
with_prefix!(pub(crate) steal "steal");
with_prefix!(foreign "foreign");
with_prefix!(sibling_busy "sibling_busy");

/// The figures of all candidates. Shares are 0 to 1; what could not be known is absent.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Evidence {
    /// Operations that ended well.
    pub completed: u64,
    /// Operations that failed, for whatever reason.
    pub failed: u64,
    /// Failed operations over all that ended.
    pub failed_share: Option<f64>,
    /// Responses with wrong content, or a record that was not authentic, among those that were
    /// opened whole; where all of these were right, among all.
    #[serde(skip_serializing_if = "is_zero")]
    pub wrong_bodies: u64,
    /// How many responses that is a part of; 0 where none was wrong.
    #[serde(skip_serializing_if = "is_zero")]
    pub checked_bodies: u64,
    /// Handshakes that did not authenticate the server, warm-up included.
    #[serde(skip_serializing_if = "is_zero")]
    pub unauthentic_handshakes: u64,
    /// Those and the handshakes whose signature was verified; 0 where none was wrong.
    #[serde(skip_serializing_if = "is_zero")]
    pub checked_handshakes: u64,
    /// Connections that could not be made because the client had no file descriptor left.
    #[serde(skip_serializing_if = "is_zero")]
    pub descriptors_lacking: u64,
    /// Connections that could not be made because the client had no port left.
    #[serde(skip_serializing_if = "is_zero")]
    pub ports_lacking: u64,
    /// Open descriptors of the server's process that was nearest to its limit within the window,
    /// over that limit.
    pub server_descriptors: Option<f64>,
    /// How often an accept queue overflowed in the server's network namespace, where that can be read.
    pub listen_overflows: Option<u64>,
    /// How many connections listeners dropped there, for that or another reason.
    pub listen_drops: Option<u64>,
    /// How many connections the server's own listeners dropped; absent where the kernel does not count
    /// that.
    pub accept_queue_drops: Option<u64>,
    /// Connections of this load that were opened late because a packet had to be sent again; absent where
    /// another program makes the load.
    pub connects_repeated: Option<u64>,
    /// The share of the connections' time that they waited because of that. Where another program makes
    /// the load, at one second for each drop.
    pub accept_queue_loss: Option<f64>,
    /// The CPU quota of the client's control groups, and what it did; absent where there is none. Where ranks made the
    /// load, that of the rank that was held back most.
    pub client_quota: Option<QuotaEvidence>,
    /// The same of the server's.
    pub server_quota: Option<QuotaEvidence>,
    /// The busiest load thread: running, or ready to run and waiting for its CPU. Where ranks made the
    /// load, that of all of them.
    pub client_busy: Option<f64>,
    /// The part of `client_busy` that was waiting: the CPU was doing something else.
    pub client_waiting: Option<f64>,
    /// How late the load's threads did what was due, on average, in ns: their wait is in the latencies.
    pub client_late_ns: Option<u64>,
    /// The same over the time that a response took.
    pub client_late: Option<f64>,
    /// The rank that had that thread, such as `rank 2 on lg1`; absent where the load was made here.
    pub client_rank: Option<String>,
    /// Datagrams that the kernel dropped because the client's socket was full, over all that came, warm-up included;
    /// absent over TCP, and where another program makes the load.
    pub udp_dropped: Option<f64>,
    /// Sends of datagrams that the kernel refused for want of room, over all.
    pub udp_sends_refused: Option<f64>,
    /// CPU time of the server's process tree over what its CPUs have.
    pub server_busy: Option<f64>,
    /// Time that the server's threads were ready to run and waited, over what its CPUs have; more
    /// than 1 where many threads waited at once.
    pub server_waiting: Option<f64>,
    /// The share of a CPU that the busiest of the server's threads used.
    pub server_busiest_thread: Option<f64>,
    /// The part of the server's CPU time that was spent in threads which had no more of a CPU to
    /// use: with a part near 1, more CPUs would not help it, more threads would.
    pub server_saturated: Option<f64>,
    /// The idle share of the server's CPUs.
    #[serde(flatten, with = "server_cpus_idle")]
    pub server_cpus_idle: Option<CpuShare>,
    /// CPU time of the server's backend over what its CPUs have.
    pub backend_busy: Option<f64>,
    /// Operations of the server's accelerator over what its engines can do in that time.
    pub accelerator_busy: Option<f64>,
    /// The share of their time that requests waited for the server to open a window of HTTP/2 or QUIC, with more
    /// of their body to send, warm-up included; absent where they have none.
    pub window_waiting: Option<f64>,
    /// Operations that completed over those that were meant to start in the window; absent in a
    /// closed loop.
    pub offered_served: Option<f64>,
    /// What the limit of a search is on, at the next larger load that was tried, over the limit: 1.25
    /// is a quarter too much. Absent where that load kept within the limit, or none was tried.
    pub beyond_limit: Option<f64>,
    /// What the hypervisor took, on the CPU of server or client from which it took most.
    #[serde(flatten, with = "steal")]
    pub steal: Option<CpuShare>,
    /// What programs other than server and client used of their CPUs. Slightly negative where the
    /// two ways in which the kernel counts CPU time disagree.
    #[serde(flatten, with = "foreign")]
    pub foreign: Option<CpuShare>,
    /// How busy the busiest hyperthread was that shares a core with the server and is neither the
    /// server's nor the client's.
    #[serde(flatten, with = "sibling_busy")]
    pub sibling_busy: Option<CpuShare>,
    /// The interface between the two; absent on loopback.
    pub network: Option<NetworkEvidence>,
}

impl Evidence {
    /// All that is there by the names that it has in the journal, so that a field that is added is shown; fractions are
    /// shares of one.
    pub fn in_words(&self) -> Vec<(String, String)> {
        let fields = serde_json::to_value(self).unwrap_or_default();
        let fields = fields.as_object().into_iter().flatten();
        fields.map(|(name, value)| (name.replace('_', " "), Form::Share.text(value))).collect()
    }

    /// The same with how late the load's threads were, whose responses took so long on average, in ns.
    pub(crate) fn with_late(self, timers: LateTimers, mean_response: Option<u64>) -> Self {
        let client_late_ns = timers.late_ns.checked_div(timers.count);
        let share = |(late, response): (u64, u64)| rounded(late as f64 / response.max(1) as f64);
        Self { client_late_ns, client_late: client_late_ns.zip(mean_response).map(share), ..self }
    }

    /// Whether something that was checked was wrong.
    pub(crate) fn is_any_wrong(&self) -> bool {
        self.wrong_bodies > 0 || self.unauthentic_handshakes > 0
    }

    /// Whether a process of the server had all its file descriptors open.
    pub(crate) fn has_full_server(&self) -> bool {
        self.server_descriptors >= Some(1.0)
    }

    /// Whom a quota held back so much that it was the limit. The client goes first: one that was stopped did not load
    /// the server fully.
    pub fn held_back(&self) -> Option<(QuotaSide, QuotaEvidence)> {
        let limit = |quota: Option<QuotaEvidence>| quota.filter(QuotaEvidence::is_limit);
        match (limit(self.client_quota), limit(self.server_quota)) {
            (Some(quota), _) if quota.is_shared => Some((QuotaSide::Both, quota)),
            (Some(quota), _) => Some((QuotaSide::Client, quota)),
            (None, Some(quota)) => Some((QuotaSide::Server, quota)),
            (None, None) => None,
        }
    }

    /// The client's quota, where it shows in the latencies.
    pub fn quota_in_latencies(&self) -> Option<QuotaEvidence> {
        self.client_quota.filter(QuotaEvidence::is_in_latencies)
    }

    /// The part of `client_waiting` in which something else had the client's CPU: a stopped thread waits too.
    pub(crate) fn waiting_for_others(&self) -> Option<f64> {
        let throttled = self.client_quota.map_or(0.0, |quota| quota.throttled);
        self.client_waiting.map(|waiting| (waiting - throttled).max(0.0))
    }

    /// Whether the server's work was done by threads that each used a whole CPU, while other CPUs of the
    /// server were free.
    pub fn has_few_workers(&self) -> bool {
        let has_free_cpus =
            self.server_cpus_idle.is_none_or(|idle| idle.exceeds(1.0 - SERVER_BUSY));
        self.server_saturated >= Some(SATURATED_WORK)
            && self.server_busy < Some(SERVER_BUSY)
            && has_free_cpus
    }
}

/// A server that waits for nothing still yields a little to interrupts.
pub const SERVER_BUSY: f64 = 0.95;

/// The part of a server's work that its saturated threads must have done for them to be the limit.
/// Where one of several equal workers is saturated and the others are not, the load is uneven, and
/// more of it would be served.
pub const SATURATED_WORK: f64 = 0.90;

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
pub(crate) fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// What the figures are made from.
#[derive(Debug)]
pub(crate) struct Facts<'a> {
    pub(crate) operations: &'a Operations,
    pub(crate) verified: Verified,
    /// The length of the window.
    pub(crate) window: Nanos,
    pub(crate) connections: usize,
    /// Connections that were opened late; not known of other programs.
    pub(crate) repeated: Option<Repeated>,
    /// Of HTTP/2 and HTTP/3.
    pub(crate) streams: &'a StreamCounts,
    /// Of QUIC.
    pub(crate) quic: Option<&'a QuicUse>,
    /// Whether the server's machine was read, so that its accept queue is among those counted.
    pub(crate) is_server_read: bool,
    pub(crate) readings: &'a Readings,
    /// The server's CPUs, where they are known.
    pub(crate) server_cpus: Option<&'a CpuList>,
    /// The load's, where it was made here.
    pub(crate) client_cpus: Option<&'a CpuList>,
    /// The CPUs of the server's backend.
    pub(crate) backend_cpus: Option<&'a CpuList>,
    /// What other tasks did on the client's machine and on the server's, where nothing counts them by CPU.
    pub(crate) other_tasks: [Option<&'a TaskWindow>; 2],
    /// Those that share a core with the server's.
    pub(crate) siblings: &'a [usize],
    pub(crate) server_descriptors: Option<OpenDescriptors>,
    /// Between client and server, in the order of the readings.
    pub(crate) interfaces: &'a [Interface],
}

/// A machine that a CPU is of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum EvidenceOf {
    Server,
    Client,
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
        let Verified { opened, wrong, signatures, unauthentic, .. } = facts.verified;
        let (wrong_bodies, right_bodies) = match wrong {
            // A walk sees the content of some records of each response.
            0 => (count(ErrorKind::Content), operations.completed),
            _ => (wrong, opened),
        };
        let of_checked = |wrong: u64, right: u64| if wrong > 0 { wrong + right } else { 0 };
        let busiest = facts
            .client_usages()
            .and_then(|usages| usages.into_iter().max_by(|a, b| a.busy().total_cmp(&b.busy())));
        let server = readings.server();
        let [server_quota, client_quota] = quotas(readings, facts.client_cpus.is_some());
        let of_server_cpus = |cpus: f64| server_cpus.map(|list| cpus / list.len() as f64);
        Self {
            completed: operations.completed,
            failed,
            failed_share: (ended > 0).then(|| rounded(failed as f64 / ended as f64)),
            wrong_bodies,
            checked_bodies: of_checked(wrong_bodies, right_bodies),
            unauthentic_handshakes: unauthentic,
            checked_handshakes: of_checked(unauthentic, signatures),
            descriptors_lacking: count(ErrorKind::Descriptors),
            ports_lacking: count(ErrorKind::Ports),
            server_descriptors: facts
                .server_descriptors
                .filter(|files| files.limit > 0)
                .map(|files| rounded(files.open as f64 / files.limit as f64)),
            listen_overflows: facts.of_server(Readings::listen_overflows),
            listen_drops: facts.of_server(Readings::listen_drops),
            accept_queue_drops: facts.of_server(Readings::listener_drops),
            connects_repeated: facts.repeated.map(|repeated| repeated.connections),
            accept_queue_loss: facts.accept_queue_loss().map(rounded),
            client_quota,
            server_quota,
            client_busy: busiest.map(|usage| rounded(usage.busy())),
            client_waiting: busiest.and_then(|usage| usage.waiting).map(rounded),
            // Known of the load.
            client_late_ns: None,
            client_late: None,
            // Known of ranks only.
            client_rank: None,
            udp_dropped: facts.quic.map(|quic| rounded(quic.dropped())),
            udp_sends_refused: facts.quic.map(|quic| rounded(quic.refused())),
            server_busy: server.and_then(|usage| of_server_cpus(usage.on_cpu)).map(rounded),
            server_waiting: server
                .and_then(|usage| usage.waiting)
                .and_then(of_server_cpus)
                .map(rounded),
            server_busiest_thread: readings.server_threads().first().copied().map(rounded),
            server_saturated: facts.server_saturated().map(rounded),
            server_cpus_idle: facts.server_cpus_idle().map(CpuShare::rounded),
            backend_busy: readings
                .backend()
                .zip(facts.backend_cpus)
                .map(|(usage, cpus)| rounded(usage.on_cpu / cpus.len() as f64)),
            window_waiting: (facts.streams.with_body_for > Nanos(0)).then(|| {
                let StreamCounts { held_up_for, with_body_for, .. } = facts.streams;
                rounded(held_up_for.seconds() / with_body_for.seconds())
            }),
            offered_served: operations
                .arrivals
                .filter(|arrivals| arrivals.intended > 0)
                .map(|arrivals| rounded(operations.completed as f64 / arrivals.intended as f64)),
            // Known with the server's counts.
            accelerator_busy: None,
            // Known to the search only.
            beyond_limit: None,
            steal: facts.steal().map(CpuShare::rounded),
            foreign: facts.foreign().map(CpuShare::rounded),
            sibling_busy: facts.sibling_busy().map(CpuShare::rounded),
            network: NetworkEvidence::of(readings, facts.interfaces),
        }
    }
}

impl Facts<'_> {
    /// What the load used of each of its CPUs, which have its threads in turn.
    fn client_usages(&self) -> Option<Vec<Usage>> {
        let threads = self.readings.threads()?;
        let cpus = self.client_cpus?.len().min(threads.len());
        let on_cpu = |cpu| threads.iter().skip(cpu).step_by(cpus);
        Some((0..cpus).filter_map(|cpu| Usage::of_one_cpu(on_cpu(cpu))).collect())
    }

    /// Counters of this machine say nothing of a server elsewhere.
    fn of_server(&self, counter: fn(&Readings) -> Option<u64>) -> Option<u64> {
        self.is_server_read.then(|| counter(self.readings))?
    }

    /// What was lost is the time that this load's connections waited. Where the listeners dropped none,
    /// it was not their doing; of a server elsewhere whose drops are not known, it may be the network's.
    fn accept_queue_loss(&self) -> Option<f64> {
        let drops = self.of_server(Readings::listener_drops);
        let lost = match (drops, self.repeated) {
            (Some(0), _) => 0.0,
            (Some(_), Some(repeated)) => repeated.time.seconds(),
            (Some(drops), None) => drops as f64 * SYN_RETRANSMISSION.seconds(),
            (None, repeated) => repeated.filter(|_| self.is_server_read)?.time.seconds(),
        };
        let time_of_all = self.window.seconds() * self.connections as f64;
        // More than there was is of other loads than this.
        Some(lost / time_of_all).filter(|share| (0.0..=1.0).contains(share))
    }

    /// What the CPUs of a machine did.
    fn window(&self, of: EvidenceOf) -> Option<CpuWindow> {
        match of {
            EvidenceOf::Server => self.readings.cpus_at_server(),
            EvidenceOf::Client => self.readings.cpus(),
        }
    }

    /// Only where the server has its CPUs for itself: otherwise it is not the server's idleness.
    fn server_cpus_idle(&self) -> Option<CpuShare> {
        let server = self.server_cpus?;
        let is_alone = self.own_cpus(server).as_ref() == Some(server);
        is_alone.then(|| self.window(EvidenceOf::Server)?.idle(server.as_slice()))?
    }

    /// Those of the server's CPUs that the client does not use.
    fn own_cpus(&self, server: &CpuList) -> Option<CpuList> {
        match (self.readings.is_server_elsewhere(), self.client_cpus) {
            (false, Some(client)) => server.without(client),
            _ => Some(server.clone()),
        }
    }

    fn steal(&self) -> Option<CpuShare> {
        let sides =
            [(EvidenceOf::Server, self.server_cpus), (EvidenceOf::Client, self.client_cpus)];
        CpuShare::most(sides.into_iter().flat_map(|(of, cpus)| {
            let window = self.window(of);
            let cpus = cpus.map_or(&[][..], CpuList::as_slice).iter();
            cpus.filter_map(move |cpu| window.as_ref()?.steal(*cpu))
        }))
    }

    /// How much the backend used of these CPUs, if its load is spread evenly over its own, which are
    /// of the server's machine.
    fn backend_on(&self, (of, cpus): (EvidenceOf, &CpuList)) -> f64 {
        if of == EvidenceOf::Client && self.readings.is_server_elsewhere() {
            return 0.0;
        }
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
        let window = self.window(EvidenceOf::Server);
        let interrupts = cpus.iter().filter_map(|cpu| {
            let window = window.as_ref()?;
            let is_full = window.idle(&[*cpu])?.is_within(1.0 - SERVER_BUSY)
                && window.steal(*cpu)?.is_within(1.0 - SERVER_BUSY);
            window.interrupts_apart(*cpu).filter(|_| is_full)
        });
        let interrupts = interrupts.fold(0.0, f64::max);
        let saturated: f64 = threads.iter().filter(|used| **used + interrupts >= SERVER_BUSY).sum();
        (all > 0.0).then(|| saturated / all)
    }

    /// Of the hyperthreads beside the server's that neither it nor the client runs on.
    fn sibling_busy(&self) -> Option<CpuShare> {
        let client = self.client_cpus.map_or(&[][..], CpuList::as_slice);
        let is_of_neither =
            |cpu: &&usize| self.readings.is_server_elsewhere() || !client.contains(cpu);
        let window = self.window(EvidenceOf::Server)?;
        let siblings = self.siblings.iter().filter(is_of_neither);
        CpuShare::most(siblings.filter_map(|cpu| window.busy(&[*cpu])))
    }

    /// What ran on the CPUs of server and client beyond their own. Where they share CPUs, on all of
    /// these together; otherwise on the side where it is more. Of a client elsewhere, nothing is known
    /// here.
    fn foreign(&self) -> Option<CpuShare> {
        let server_cpus = self.server_cpus?;
        let server = self.readings.server()?.on_cpu;
        let at_server = (EvidenceOf::Server, server_cpus);
        let Some(client_cpus) = self.client_cpus else {
            return self.beside(at_server, server);
        };
        let client: f64 = self.readings.threads()?.iter().map(|usage| usage.on_cpu).sum();
        match self.own_cpus(server_cpus) {
            Some(own) if own == *server_cpus => {
                let at_client = (EvidenceOf::Client, client_cpus);
                let sides = [self.beside(at_server, server)?, self.beside(at_client, client)?];
                CpuShare::most(sides)
            }
            own => {
                let all = own.map_or_else(|| client_cpus.clone(), |own| client_cpus.with(&own));
                self.beside((EvidenceOf::Client, &all), server + client)
            }
        }
    }

    /// What ran on these CPUs beyond those that are measured, which used so many CPUs beside their backend.
    fn beside(&self, on: (EvidenceOf, &CpuList), used: f64) -> Option<CpuShare> {
        let (of, cpus) = (on.0, on.1.as_slice());
        let window = self.window(of)?;
        let programs = window.programs(cpus)?;
        let [of_client, of_server] = self.other_tasks;
        let tasks = if of == EvidenceOf::Server { of_server } else { of_client };
        if let Some(tasks) = tasks.filter(|_| programs.source == Some(CpuTimeSource::ProcStat)) {
            return Some(tasks.share_of(cpus));
        }
        let own = (used + self.backend_on(on)) * self.readings.part_of(window.seconds());
        Some(CpuShare { share: programs.share - own / cpus.len() as f64, ..programs })
    }
}
