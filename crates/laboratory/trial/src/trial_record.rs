//! All that is known of one trial: its line in the journal, but for its place in a study.
//!
//! Names are snake_case and carry their unit. What was not or could not be measured is absent or
//! `null`, never 0. Fields may be added; a field that is there never changes its meaning within a
//! [`SCHEMA`].

use std::collections::BTreeMap;

use load::WalkCounts;
use observe::{Fact, ServerProcess};
use profile::Profile;
use serde::{Deserialize, Serialize};
use serde_with::{skip_serializing_none, with_prefix};
use units::Nanos;

use crate::busy_program::BusyProgram;
use crate::connection_memory::ConnectionMemory;
use crate::counted::CountedInstructions;
use crate::energy_use::EnergyUse;
use crate::evidence::Evidence;
use crate::limit::Limit;
use crate::littles_law::LittlesLaw;
use crate::memory_use::MemoryUse;
use crate::operations::Operations;
use crate::ranks::{ClientFigures, RankFigures};
use crate::reading::CoreHz;
use crate::receipt::Receipt;
use crate::stood_still::StoodStill;
use crate::verdict::Verdict;
use crate::warning::Warning;

/// The version of the line's form.
pub const SCHEMA: u32 = 1;

/// One trial.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrialRecord {
    pub schema: u32,
    /// Whether the figures are what was asked for: something completed, nothing was negotiated
    /// otherwise than asked, and the target and all load threads lived to the end.
    pub valid: bool,
    /// Whether it was stopped before its planned end. The figures are those until then.
    pub interrupted: bool,
    /// When the window began, in milliseconds since 1970-01-01 UTC.
    pub started_unix_ms: u64,
    /// How long it was measured.
    pub window_ns: u64,
    /// How long after its warm-up the window waited for connections; absent where it did not.
    pub window_awaited_ns: Option<u64>,
    /// Operations of the window.
    pub operations: Operations,
    /// Bytes of the window.
    pub bytes: ByteCounts,
    /// Completed operations per second; absent where instructions were counted, as all times and rates are.
    pub rate_per_s: Option<f64>,
    /// Proven HTTP body bits per second.
    pub goodput_bps: Option<u64>,
    /// Connections that were opened within the window, over TLS with their handshakes; absent where another
    /// program opened them.
    pub connections_opened: Option<u64>,
    /// The same per second.
    pub connections_per_s: Option<f64>,
    /// The process of a server that toll did not start, or why it is not known.
    pub server_process: Option<Fact<ServerProcess>>,
    /// CPU time used within the window.
    pub cpu_ns: CpuTimes,
    /// What moved between processors and memory; absent where this machine does not count it.
    pub memory: Option<MemoryUse>,
    /// What the processors took from the mains; absent where they have no counters that can be read.
    pub energy: Option<EnergyUse>,
    /// What open connections took of the memory of the server's machine; only of the first load of a server's
    /// processes, with a thousand connections or more.
    pub connection_memory: Option<ConnectionMemory>,
    /// What each rank did, in their order; empty where the load was made here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ranks: Vec<RankFigures>,
    /// The numbers of the ranks that were lost: killed, stopped or cut off.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost_ranks: Vec<usize>,
    /// Core frequency of the server's first CPU; the client's where the server is elsewhere.
    pub core_hz: CoreHz,
    /// Latencies of operations that ended well within the window.
    pub latency_ns: LatencyNs,
    /// What a connection without a request sent and received; absent where none was looked at.
    pub traffic: Option<Traffic>,
    /// Whether users, rate and times agree. Only of closed loops that toll's own client made, where
    /// an operation completed.
    pub littles_law: Option<LittlesLaw>,
    /// The pages of a session, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pages: Vec<PageFigures>,
    /// The walks of a session that ended within the window.
    pub walks: Option<WalkCounts>,
    /// Where the server's CPU time went; only of trials that were made to know that.
    pub profile: Option<Profile>,
    /// What each CPU of the machine did over the window.
    pub cpu_share: Vec<CoreSeries>,
    /// The same of the server's CPUs, where it runs on another machine.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub server_cpu_share: Vec<CoreSeries>,
    /// The programs that used most CPU time, on any CPU, from just before the window to just after it;
    /// only where other programs disturbed the trial.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<BusyProgram>,
    /// What was asked for and what was got.
    pub receipt: Receipt,
    /// The server's instructions, where they are what was counted.
    pub counted: Option<CountedInstructions>,
    /// What limited the trial; absent where instructions were counted, which nothing limits.
    pub verdict: Option<Verdict>,
    /// What a reader should know before believing the figures.
    pub warnings: Vec<Warning>,
    /// Why the target could not go on, where it could not.
    pub target_error: Option<String>,
    /// Why load threads ended early, where any did: what they measured is missing.
    pub load_error: Option<String>,
}

/// Bytes that arrived.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ByteCounts {
    /// Of bodies, proven.
    pub body: u64,
    /// Those of `body` that were decrypted (over plain HTTP: read).
    pub decrypted: u64,
    /// Of the bodies of requests, of completed operations; absent where requests have none.
    pub sent: Option<u64>,
    /// Of bodies, not counted because their operation failed or was not proven.
    pub unproven: u64,
    /// What the server's processes had read from disks, by the kernel's count; absent where that is
    /// not known.
    pub read_from_disk: Option<u64>,
}

/// What one connection sent and received, from the handshake to the end: the mean of those that were
/// looked at, warm-up included.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Traffic {
    /// How many were looked at.
    pub connections: u64,
    /// Bytes of TLS.
    pub bytes_sent: f64,
    pub bytes_received: f64,
    /// Packets of TCP, those without data included.
    pub packets_sent: f64,
    pub packets_received: f64,
}

/// CPU time used within the window, and time spent waiting for a CPU while ready to run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuTimes {
    /// All threads of the server's process tree; `null` where its process is not known.
    pub server: Option<u64>,
    /// The load threads; `null` where they ended before they could be read.
    pub client: Option<u64>,
    /// All threads of the server's backend, which are not in its own time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend: Option<u64>,
    /// Waiting of the server's threads in run queues.
    pub server_run_queue_wait: Option<u64>,
    /// Waiting of the load threads in run queues.
    pub client_run_queue_wait: Option<u64>,
}

/// The latencies of what was timed.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LatencyNs {
    /// TCP and TLS, from the start of a connection until it can carry a request.
    #[serde(flatten, with = "connect")]
    pub connect: Percentiles,
    /// Those of the connections whose handshake was full; only where some were resumed.
    pub connect_full_p50: Option<u64>,
    pub connect_full_p99: Option<u64>,
    /// Those of the connections that resumed a session.
    pub connect_resumed_p50: Option<u64>,
    pub connect_resumed_p99: Option<u64>,
    /// From the start of an operation until the first byte of its response. Where arrivals are
    /// scheduled, the start is the intended one.
    #[serde(flatten, with = "first_byte")]
    pub first_byte: Percentiles,
    /// The mean response time, from the start of an operation to its end: of exact times, where the
    /// percentiles are of a histogram.
    pub mean: Option<u64>,
    /// From the start of an operation to its end: `p50` and so on, without a prefix.
    #[serde(flatten)]
    pub whole: Percentiles,
    /// From the moment when an operation really began to its end; absent in a closed loop, where
    /// that is the latency above.
    #[serde(flatten, with = "service")]
    pub service: Percentiles,
    /// How much too long any of these may be: the client left its sockets alone for so long, so that
    /// one wake-up served several. Absent where it looked at each event at once.
    pub coalescing_max: Option<u64>,
    /// Operations that all of these leave out, because they stood still when the window ended; absent where none did.
    pub stood_still: Option<StoodStill>,
    /// The HdrHistogram log with all of them, by its path in the result folder.
    pub file: Option<String>,
}

/// Of one latency; absent where there was no such thing to time.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Percentiles {
    pub p50: Option<u64>,
    pub p90: Option<u64>,
    pub p99: Option<u64>,
    pub p99_9: Option<u64>,
    pub max: Option<u64>,
}

with_prefix!(connect "connect_");
with_prefix!(first_byte "first_byte_");
with_prefix!(service "service_");

impl Percentiles {
    fn of(times: &hdrhistogram::Histogram<u64>) -> Self {
        let at = |quantile| (!times.is_empty()).then(|| times.value_at_quantile(quantile));
        let max = (!times.is_empty()).then(|| times.max());
        Self { p50: at(0.5), p90: at(0.9), p99: at(0.99), p99_9: at(0.999), max }
    }

    /// From the median to the longest.
    pub fn all(self) -> [Option<u64>; 5] {
        [self.p50, self.p90, self.p99, self.p99_9, self.max]
    }
}

/// What became of one page of a session within the window.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageFigures {
    /// Its name in the session file.
    pub name: String,
    /// How often it was what it should be.
    pub completed: u64,
    /// How often not, by error kind.
    pub errors: BTreeMap<String, u64>,
    /// From its start to its end, redirects included; absent where it never was what it should be.
    pub p50_ns: Option<u64>,
    pub p99_ns: Option<u64>,
}

/// What one CPU did over the window: shares of each step, 0 to 1, three decimals.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CoreSeries {
    /// The CPU's number.
    pub cpu: usize,
    /// How long each step was.
    pub step_ns: Vec<u64>,
    /// In programs.
    pub user: Vec<f64>,
    /// In the kernel, for programs.
    pub system: Vec<f64>,
    /// In the kernel, for interrupts and their deferred work, such as receiving from the network.
    pub softirq: Vec<f64>,
    /// Taken away by the hypervisor.
    pub steal: Vec<f64>,
    /// With nothing to do.
    pub idle: Vec<f64>,
}

impl CoreSeries {
    /// The mean of one of its shares over the steps, which are not all equally long.
    pub fn mean(&self, shares: &[f64]) -> f64 {
        let total: u64 = self.step_ns.iter().sum();
        let weighted = shares.iter().zip(&self.step_ns).map(|(share, step)| share * *step as f64);
        weighted.sum::<f64>() / (total as f64).max(1.0)
    }
}

/// Operations per second, and bits of bodies per second.
pub(crate) fn rates(completed: u64, body: u64, window: Nanos) -> (f64, u64) {
    let seconds = window.seconds();
    let per_second = |count: f64| if seconds > 0.0 { count / seconds } else { 0.0 };
    (per_second(completed as f64), per_second(body as f64 * 8.0).round() as u64)
}

/// Bodies shorter than this, the longest plaintext of a TLS record (RFC 8446, section 5.1), cost what their operations
/// do, so that operations per second are what counts.
pub const LEAST_BODY_BYTES: u64 = 16_384;

impl TrialRecord {
    /// With the rates that follow from the counts and the window; without any where instructions were counted, whose
    /// time says nothing.
    #[must_use]
    pub fn with_rates(self) -> Self {
        if self.verdict.is_none() {
            return Self { rate_per_s: None, goodput_bps: None, connections_per_s: None, ..self };
        }
        let (rate, goodput) =
            rates(self.operations.completed, self.bytes.body, Nanos(self.window_ns));
        let (rate_per_s, goodput_bps) = (Some(rate), Some(goodput));
        let per_second = |opened| rates(opened, 0, Nanos(self.window_ns)).0;
        let connections_per_s = self.connections_opened.map(per_second);
        Self { rate_per_s, goodput_bps, connections_per_s, ..self }
    }

    /// What the client of a trial on this machine used of it.
    pub fn client_figures(&self) -> ClientFigures {
        let evidence = self.evidence();
        ClientFigures {
            cpu_ns: self.cpu_ns.client,
            busy: evidence.and_then(|evidence| evidence.client_busy),
            waiting: evidence.and_then(|evidence| evidence.client_waiting),
            quota: evidence.and_then(|evidence| evidence.client_quota),
            steal: evidence.and_then(|evidence| evidence.steal),
            congestion: self.receipt.obtained.client_congestion.clone(),
            network: evidence.and_then(|evidence| evidence.network.clone()),
        }
    }

    /// The figures of every candidate for the limit, where there is one.
    pub fn evidence(&self) -> Option<&Evidence> {
        Some(&self.verdict.as_ref()?.evidence)
    }

    /// What limited it, where anything can.
    pub fn limit(&self) -> Option<Limit> {
        Some(self.verdict.as_ref()?.limit)
    }

    /// Whether the hypervisor or other programs took so much of the CPUs that it changes a rate.
    pub fn is_disturbed(&self) -> bool {
        self.verdict.as_ref().is_some_and(Verdict::is_disturbed)
    }

    /// Whether the client was to end connections after a number of requests, so that requests and handshakes
    /// are different counts.
    pub fn ends_connections(&self) -> bool {
        self.receipt.asked.requests_per_connection.is_some()
    }

    /// Operations that failed within the window.
    pub fn failed(&self) -> u64 {
        self.operations.errors.values().sum()
    }

    /// CPU time per completed operation in nanoseconds, if any completed.
    pub fn per_operation(&self, cpu_ns: u64) -> Option<f64> {
        (self.operations.completed > 0).then(|| cpu_ns as f64 / self.operations.completed as f64)
    }

    /// Bytes per second between processors and memory, where they were counted.
    pub fn memory_bandwidth(&self) -> Option<f64> {
        Some(self.memory?.bytes as f64 / Nanos(self.window_ns).seconds())
    }

    /// Bytes that moved between processors and memory for each proven byte of bodies.
    pub fn memory_per_byte(&self) -> Option<f64> {
        let memory = self.memory.filter(|_| self.bytes.body > 0)?;
        Some(memory.bytes as f64 / self.bytes.body as f64)
    }

    /// Joules in the window, but for those that the machine takes without the load.
    pub fn joules(&self) -> Option<f64> {
        self.energy?.beyond_idle(Nanos(self.window_ns))
    }

    /// CPU-seconds per GB (10^9 bytes) of goodput, if there was any.
    pub fn per_gigabyte(&self, cpu_ns: u64) -> Option<f64> {
        (self.bytes.body > 0).then(|| cpu_ns as f64 / self.bytes.body as f64)
    }
}

impl Traffic {
    /// `None` where no connection was looked at.
    pub(crate) fn mean(sum: load::Traffic) -> Option<Self> {
        let mean = |count: u64| count as f64 / sum.connections as f64;
        (sum.connections > 0).then(|| Self {
            connections: sum.connections,
            bytes_sent: mean(sum.bytes_sent),
            bytes_received: mean(sum.bytes_received),
            packets_sent: mean(sum.packets_sent),
            packets_received: mean(sum.packets_received),
        })
    }
}

impl From<&load::PageOutcome> for PageFigures {
    fn from(page: &load::PageOutcome) -> Self {
        let at =
            |quantile| (!page.latency.is_empty()).then(|| page.latency.value_at_quantile(quantile));
        Self {
            name: page.name.clone(),
            completed: page.completed,
            errors: Operations::from(&page.failures).errors,
            p50_ns: at(0.5),
            p99_ns: at(0.99),
        }
    }
}

impl From<&load::Latencies> for LatencyNs {
    fn from(latencies: &load::Latencies) -> Self {
        let load::Latencies { connect, connect_resumed, first_byte, whole, service, coalescing } =
            latencies;
        let connect_full = match connect_resumed.is_empty() {
            true => load::Latencies::default().connect,
            false => latencies.connect_full(),
        };
        let [full, resumed] = [&connect_full, connect_resumed].map(Percentiles::of);
        Self {
            connect: Percentiles::of(connect),
            connect_full_p50: full.p50,
            connect_full_p99: full.p99,
            connect_resumed_p50: resumed.p50,
            connect_resumed_p99: resumed.p99,
            first_byte: Percentiles::of(first_byte),
            mean: None,
            whole: Percentiles::of(whole),
            service: Percentiles::of(service),
            coalescing_max: Some(coalescing.0).filter(|nanos| *nanos > 0),
            stood_still: None,
            file: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{EXAMPLE, example};

    #[test]
    fn the_designs_example_is_read_and_written_alike() {
        let line = example();
        assert_eq!(line.receipt.obtained.full, Some(64));
        assert_eq!(line.limit(), Some(Limit::ServerCpu));
        assert_eq!(
            line.evidence().unwrap(),
            &Evidence {
                completed: 39,
                failed: 1,
                failed_share: Some(0.025),
                server_busy: Some(0.997),
                client_busy: Some(0.068),
                ..Evidence::default()
            }
        );
        // A load of no study has the same object without the study's fields.
        let mut expected: serde_json::Value = serde_json::from_str(EXAMPLE).unwrap();
        for field in ["case", "cell", "params", "role", "round", "order"] {
            expected.as_object_mut().unwrap().remove(field).unwrap();
        }
        assert_eq!(serde_json::to_value(&line).unwrap(), expected);
    }

    #[test]
    fn latencies_that_were_not_timed_are_absent() {
        let mut latencies = load::Latencies::default();
        for micros in 1..=1000 {
            latencies.whole.record(micros * 1_000).unwrap();
        }
        let latency = LatencyNs::from(&latencies);
        assert_eq!((latency.connect.p50, latency.first_byte.max), (None, None));
        let near = |value: Option<u64>, expected: f64| {
            (value.unwrap() as f64 / expected - 1.0).abs() < 0.002
        };
        assert!(
            near(latency.whole.p50, 500_000.0) && near(latency.whole.p99, 990_000.0),
            "{latency:?}"
        );
        assert!(
            near(latency.whole.p99_9, 999_000.0) && latency.service.p99_9.is_none(),
            "{latency:?}"
        );
        assert!(near(latency.whole.max, 1_000_000.0), "{latency:?}");
        assert_eq!(latency.coalescing_max, None);
        latencies.coalescing = units::Nanos(31_250);
        let latency = LatencyNs::from(&latencies);
        assert_eq!(latency.coalescing_max, Some(31_250));
        // Each percentile is a field of its own in a journal.
        let written = serde_json::to_value(&latency).unwrap();
        let names: Vec<&str> = written.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(names.len(), 6, "{names:?}");
        assert!(["p50", "p90", "p99", "p99_9", "max"].iter().all(|name| names.contains(name)));
        assert_eq!(serde_json::from_value::<LatencyNs>(written).unwrap(), latency);
        let of_connections =
            serde_json::json!({"connect_p50": 1, "connect_full_p50": 2, "service_max": 3});
        let read: LatencyNs = serde_json::from_value(of_connections.clone()).unwrap();
        assert_eq!(
            (read.connect.p50, read.connect_full_p50, read.service.max),
            (Some(1), Some(2), Some(3))
        );
        assert_eq!(read.whole, Percentiles::default());
        assert_eq!(serde_json::to_value(&read).unwrap(), of_connections);
    }

    #[test]
    fn costs_are_per_completed_operation_and_per_proven_gigabyte() {
        let line = example();
        assert_eq!(line.per_operation(39_000), Some(1_000.0));
        assert_eq!(line.per_gigabyte(line.bytes.body), Some(1.0));
        let nothing =
            TrialRecord { operations: Operations::default(), bytes: ByteCounts::default(), ..line };
        assert_eq!((nothing.per_operation(1), nothing.per_gigabyte(1)), (None, None));
    }
}
