//! From what was seen in a trial to its line in the journal.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use cpus::CpuList;
use load::{Arrival, ArrivalCounts, Operation, Outcome, Storage};
use observe::{
    CoreShares, CpuSeries, KernelTlsCounters, NamedThread, ObserveError, OpenDescriptors,
};
use units::Nanos;

use crate::busy_program::BusyProgram;
use crate::compilers;
use crate::congestion::Connections;
use crate::evidence::{Evidence, Facts, Interface, OtherMachine};
use crate::line::{
    ByteCounts, CoreSeries, CpuTimes, LatencyNs, Line, Page, SCHEMA, Traffic, Walks,
};
use crate::littles_law::LittlesLaw;
use crate::machine::SeriesThere;
use crate::nouns::Nouns;
use crate::operations::{Arrivals, Operations, UnderWayNs};
use crate::reading::{CoreHz, ProcessesChanged, Readings};
use crate::receipt::Receipt;
use crate::trial::{STEP, Trial};
use crate::verdict::{Limit, NOISE, Verdict};
use crate::warning::Warning;
use crate::workers::Workers;

/// How many programs are named that took CPU time from a trial.
const NAMED: usize = 3;

/// How many steps the record of a window's CPU time has at most.
const SERIES_STEPS: u32 = 10;

impl Trial {
    /// What was meant to start, where that does not follow from the answers.
    fn arrivals(&self, outcome: &Outcome) -> Option<Arrivals> {
        let arrival = self.job.plan.arrival;
        let ArrivalCounts { intended, waiting, deadlines, deadline_misses } = outcome.arrivals;
        arrival.is_scheduled().then(|| Arrivals {
            intended,
            waiting,
            deadlines: arrival.is_paced().then_some(deadlines),
            deadline_misses: arrival.is_paced().then_some(deadline_misses),
        })
    }

    /// Whether the users' time is accounted for, where the load is a closed loop.
    fn littles_law(&self, outcome: &Outcome) -> Option<LittlesLaw> {
        let plan = &self.job.plan;
        let Outcome { window, completed, user_time, .. } = outcome;
        matches!(plan.arrival, Arrival::Closed { .. })
            .then(|| LittlesLaw::of(plan.connections, *window, *completed, user_time))?
    }

    /// The line of this trial.
    pub(crate) fn line(&self, outcome: &Outcome, observed: Observed) -> Line {
        let shares = observed.shares();
        let shares_there = observed.shares_there();
        let there = observed.there.as_ref().map(|there| OtherMachine {
            shares: &shares_there,
            interrupt_time: there.interrupt_time,
        });
        let not_steady = self.not_steady(&observed);
        let cpu_share = self.series(&observed);
        let server_cpu_share = self.series_there(&observed);
        let workers = self.workers(&observed);
        let operations = Operations {
            completed: outcome.completed,
            in_flight: outcome.in_flight,
            under_way_ns: UnderWayNs::from(&outcome.under_way),
            arrivals: self.arrivals(outcome),
            ..Operations::from(&outcome.failures)
        };
        let evidence = Evidence {
            beyond_limit: self.beyond_limit,
            ..Evidence::of(&Facts {
                operations: &operations,
                verified: outcome.verified,
                window: outcome.window,
                connections: self.job.plan.connections,
                is_server_read: self.is_server_read(),
                readings: &observed.readings,
                shares: &shares,
                server_cpus: self.server_cpus.as_ref(),
                client_cpus: self.client_cpus(),
                backend_cpus: self.backend_cpus.as_ref(),
                there,
                siblings: &observed.siblings,
                interrupt_time: observe::interrupt_time().known().copied(),
                server_descriptors: observed.server_descriptors,
                interfaces: &observed.interfaces,
            })
        };
        let receipt = match &outcome.peer {
            None => Receipt::of(&self.job, self.certificate_key, outcome),
            Some(peer) => Receipt::of_peer(&self.job, peer, outcome),
        };
        let receipt = match self.job.url.is_tls() && self.is_server_read() {
            true => receipt.with_kernel_tls(observed.kernel_tls.into()),
            false => receipt,
        };
        let receipt = match &self.runs_on {
            Some(server) => receipt.with_server(server),
            None => receipt,
        };
        let is_loopback = self.job.address.ip().to_canonical().is_loopback();
        let mut receipt = receipt.with_connections(&observed.connections, is_loopback);
        receipt.asked.host = self.host.clone();
        receipt.asked.server_cpus = self.server_cpus.as_ref().map(ToString::to_string);
        let verdict = Verdict::of(evidence);
        let load_error = lost_in_words(&outcome.lost);
        let programs = match verdict.evidence.foreign >= Some(NOISE) {
            true => busiest(&observed.programs),
            false => Vec::new(),
        };
        let nouns = Nouns::of(self.job.plan.operation);
        let mut warnings = Warning::of(
            self.neighbours,
            &verdict,
            &operations,
            self.job.plan.connections,
            observed.core_hz,
            &programs,
            nouns,
        );
        if self.job.plan.operation == Operation::Requests {
            let (opened, connections) =
                (outcome.latencies.connect.len(), self.job.plan.connections);
            let handshakes: u64 = outcome.negotiated.iter().map(|(_, count)| count).sum();
            // A paced load has fewer operations than connections where its window is short.
            let is_opened_once = handshakes <= connections as u64 && self.job.url.is_tls();
            warnings.extend(match self.job.plan.arrival.is_paced() && is_opened_once {
                true => Warning::still_opening(opened, connections),
                false => Warning::connections_not_kept(opened, outcome.completed),
            });
        }
        let littles_law = outcome.peer.is_none().then(|| self.littles_law(outcome)).flatten();
        warnings.extend(littles_law.as_ref().and_then(|law| Warning::littles_law(law, nouns)));
        warnings.extend(Warning::mixed(&receipt.obtained));
        let paced = receipt.obtained.pacing.as_ref().filter(|_| is_loopback);
        warnings.extend(paced.map(|pacing| {
            Warning::paced(pacing, &receipt.obtained.server_congestion, self.runs_on.is_some())
        }));
        warnings.extend(outcome.peer.as_ref().map(Warning::peer_client));
        warnings.extend(self.shared_backend().then(|| Warning::shared_backend(&verdict)));
        warnings.extend(workers.and_then(Warning::uneven_workers));
        warnings.extend(observed.server_change.map(Warning::processes_changed));
        let there = observed.there.as_ref().and_then(|there| there.series.as_ref().err());
        let unknown = observed.series.as_ref().err().into_iter().chain(there);
        warnings.extend(unknown.map(Warning::cores_unknown));
        warnings.extend(self.objects_on_disk.as_deref().map(Warning::objects_on_disk));
        warnings.extend(not_steady);
        if self.job.files.is_some_and(|files| files.storage == Storage::Disk) {
            let read = observed.readings.read_from_disk();
            warnings.extend(Warning::objects_in_cache(read, outcome.bytes.body));
        }
        Line {
            schema: SCHEMA,
            valid: receipt.mismatch.is_empty()
                && observed.target_error.is_none()
                && load_error.is_none()
                && verdict.limit != Limit::Errors
                // Objects larger than the window count by their bytes, which are proven one by one.
                && (outcome.completed > 0 || outcome.bytes.body > 0),
            // A load that ended by itself was not interrupted; the trial is not valid.
            interrupted: outcome.interrupted && (observed.interrupt || load_error.is_none()),
            started_unix_ms: observed.started_unix_ms,
            window_ns: outcome.window.0,
            bytes: ByteCounts {
                body: outcome.bytes.body,
                decrypted: outcome.bytes.opened,
                unproven: outcome.bytes.unproven,
                read_from_disk: observed.readings.read_from_disk(),
            },
            rate_per_s: 0.0,
            goodput_bps: 0,
            cpu_ns: cpu_times(&observed.readings, outcome),
            // Of this machine, which says nothing of a server elsewhere.
            memory: observed.readings.memory(outcome.window).filter(|_| self.is_server_read()),
            core_hz: observed.core_hz,
            ranks: Vec::new(),
            lost_ranks: Vec::new(),
            latency_ns: LatencyNs {
                file: self.latency_file.clone(),
                mean: mean_response(outcome),
                ..LatencyNs::from(&outcome.latencies)
            },
            traffic: Traffic::mean(outcome.traffic),
            littles_law,
            pages: outcome.pages.iter().map(Page::from).collect(),
            walks: (self.job.plan.operation == Operation::Session)
                .then(|| Walks::from(outcome.walks)),
            profile: None,
            cpu_share,
            server_cpu_share,
            programs,
            warnings,
            operations,
            receipt,
            verdict,
            target_error: observed.target_error,
            load_error,
        }
        .with_rates()
    }

    /// A server that its warm-up did not make steady may have become so since: its compilers show it.
    fn not_steady(&self, observed: &Observed) -> Option<Warning> {
        let used = observed.readings.server_threads_by_id();
        let compilers = compilers::share(&used, &observed.server_threads);
        let is_settled = compilers.is_some_and(|share| share <= compilers::SETTLED);
        self.not_steady.filter(|_| !is_settled).map(|found| Warning::not_steady(found, compilers))
    }

    /// What the server's workers did, where it has CPUs here.
    fn workers(&self, observed: &Observed) -> Option<Workers> {
        let used = observed.readings.server_threads_by_id();
        Workers::of(&used, &observed.server_threads, self.server_cpus.as_ref()?.len())
    }

    /// Whether the server's backend runs on CPUs of the server or the client.
    fn shared_backend(&self) -> bool {
        let Some(backend) = &self.backend_cpus else { return false };
        let mut others = [self.server_cpus.as_ref(), self.client_cpus()].into_iter().flatten();
        others.any(|cpus| cpus.without(backend).as_ref() != Some(cpus))
    }

    /// The load's CPUs, where it is made here.
    pub(crate) fn client_cpus(&self) -> Option<&CpuList> {
        self.job.plan.ranks.is_none().then_some(&self.job.plan.cpus)
    }

    /// Whether the counters that were read are those of the server's machine too.
    fn is_server_read(&self) -> bool {
        self.server_cpus.is_some() || self.job.address.ip().to_canonical().is_loopback()
    }

    /// What each CPU did: step by step those of server and client, the others over the whole window.
    /// Where the server's are not known, all step by step.
    fn series(&self, observed: &Observed) -> Vec<CoreSeries> {
        let Ok(series) = &observed.series else { return Vec::new() };
        let server = self.server_cpus.as_ref().filter(|_| observed.there.is_none());
        let is_of_interest = |cpu: &usize| match server {
            Some(server) => {
                let mut lists = [Some(server), self.client_cpus()].into_iter().flatten();
                lists.any(|cpus| cpus.as_slice().contains(cpu))
            }
            None => observed.there.is_none() || self.job.plan.cpus.as_slice().contains(cpu),
        };
        core_series(series, (observed.started, observed.ended), &is_of_interest)
    }

    /// The same of the server's machine, where that is another one.
    fn series_there(&self, observed: &Observed) -> Vec<CoreSeries> {
        let Some((series, window)) = observed.series_there() else { return Vec::new() };
        let server = self.server_cpus.as_ref().map_or(&[][..], CpuList::as_slice);
        core_series(series, window, &|cpu| server.contains(cpu))
    }
}

/// What each CPU did: those of interest step by step, the others over the whole window.
fn core_series(
    series: &CpuSeries,
    (from, to): (Instant, Instant),
    is_of_interest: &dyn Fn(&usize) -> bool,
) -> Vec<CoreSeries> {
    let window = to.saturating_duration_since(from);
    let steps = (window.as_nanos() / STEP.as_nanos()).clamp(1, SERIES_STEPS.into()) as u32;
    let step = window / steps;
    let mut all: BTreeMap<usize, CoreSeries> = BTreeMap::new();
    let mut add = |from: Instant, length: Duration, is_wanted: &dyn Fn(&usize) -> bool| {
        for (cpu, shares) in series.shares(from, from + length) {
            if is_wanted(&cpu) {
                let core = all.entry(cpu).or_default();
                core.cpu = cpu;
                core.push(length, &shares);
            }
        }
    };
    for i in 0..steps {
        add(from + step * i, step, is_of_interest);
    }
    add(from, window, &|cpu| !is_of_interest(cpu));
    all.into_values().collect()
}

impl CoreSeries {
    fn push(&mut self, step: Duration, shares: &CoreShares) {
        let rounded = |share: f64| (share * 1e3).round() / 1e3;
        self.step_ns.push(u64::try_from(step.as_nanos()).unwrap_or(u64::MAX));
        self.user.push(rounded(shares.user));
        self.system.push(rounded(shares.system));
        self.softirq.push(rounded(shares.softirq + shares.irq));
        self.steal.push(rounded(shares.steal));
        self.idle.push(rounded(shares.idle));
    }
}

/// What was seen beside the load.
pub(crate) struct Observed {
    pub(crate) started_unix_ms: u64,
    pub(crate) started: Instant,
    pub(crate) ended: Instant,
    pub(crate) readings: Readings,
    pub(crate) server_change: Option<ProcessesChanged>,
    pub(crate) server_descriptors: Option<OpenDescriptors>,
    /// Those of the server that may serve.
    pub(crate) server_threads: Vec<NamedThread>,
    /// The CPU time of other programs, from the warm-up to the window's end, the busiest first.
    pub(crate) programs: Vec<(String, Nanos)>,
    /// The CPUs that share a core with the server's.
    pub(crate) siblings: Vec<usize>,
    pub(crate) interfaces: Vec<Interface>,
    /// What the kernel encrypted by itself from before the load to after it.
    pub(crate) kernel_tls: Result<KernelTlsCounters, ObserveError>,
    /// What connections had for congestion control.
    pub(crate) connections: Connections,
    pub(crate) series: Result<CpuSeries, ObserveError>,
    /// Of the server's machine, where that is another one.
    pub(crate) there: Option<SeriesThere>,
    pub(crate) core_hz: CoreHz,
    pub(crate) target_error: Option<String>,
    /// Whether somebody asked for the window to end early.
    pub(crate) interrupt: bool,
}

impl Observed {
    fn shares(&self) -> BTreeMap<usize, CoreShares> {
        self.series
            .as_ref()
            .map(|series| series.shares(self.started, self.ended))
            .unwrap_or_default()
    }

    /// Of the CPUs of the server's machine, where that is another one.
    fn shares_there(&self) -> BTreeMap<usize, CoreShares> {
        self.series_there().map(|(series, (from, to))| series.shares(from, to)).unwrap_or_default()
    }

    /// With the window by the clock of that machine.
    fn series_there(&self) -> Option<(&CpuSeries, (Instant, Instant))> {
        let series = self.there.as_ref()?.series.as_ref().ok()?;
        Some((series, self.readings.window_there()?))
    }
}

/// The programs that a trial names.
fn busiest(programs: &[(String, Nanos)]) -> Vec<BusyProgram> {
    let program = |(name, cpu): &(String, Nanos)| BusyProgram { name: name.clone(), cpu_ns: cpu.0 };
    programs.iter().take(NAMED).map(program).collect()
}

/// Why load threads ended before their time, where any did.
fn lost_in_words(lost: &[String]) -> Option<String> {
    match lost {
        [] => None,
        [why] => Some(format!("a load thread ended early: {why}")),
        [first, ..] => Some(format!("{} load threads ended early, the first: {first}", lost.len())),
    }
}

/// Of completed operations, where their times are known.
fn mean_response(outcome: &Outcome) -> Option<u64> {
    let responses = outcome.user_time.responses as f64;
    (responses > 0.0).then(|| (responses / outcome.completed as f64).round() as u64)
}

fn cpu_times(readings: &Readings, outcome: &Outcome) -> CpuTimes {
    let window = outcome.window;
    let server = readings.server();
    let client = readings.threads();
    let waited = client.as_ref().and_then(|usages| {
        usages.iter().map(|usage| usage.waiting_within(window).map(|time| time.0)).sum()
    });
    CpuTimes {
        server: server.map(|usage| usage.on_cpu_within(window).0),
        client: client.map(|usages| usages.iter().map(|usage| usage.on_cpu_within(window).0).sum()),
        server_run_queue_wait: server
            .and_then(|usage| usage.waiting_within(window))
            .map(|time| time.0),
        client_run_queue_wait: waited,
        backend: readings.backend().map(|usage| usage.on_cpu_within(window).0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::job;
    use crate::warning::Neighbours;
    use cpus::CpuList;

    #[test]
    fn this_machines_counters_are_not_those_of_a_server_elsewhere() {
        let is_read = |address: &str, server_cpus: Option<usize>| {
            let mut job = job("https://localhost/");
            job.address = address.parse().unwrap();
            let server_cpus = server_cpus.map(CpuList::from);
            let neighbours = Neighbours::Apart;
            let trial = Trial::new(job, server_cpus, neighbours);
            trial.is_server_read()
        };
        assert!(is_read("127.0.0.1:443", None) && is_read("[::1]:443", None));
        assert!(is_read("[::ffff:127.0.0.1]:443", None));
        assert!(!is_read("192.0.2.1:443", None));
        assert!(is_read("192.0.2.1:443", Some(0)));
    }
}
