//! Judges a trial: from what was seen to its line in the journal.
//!
//! All is seen before anything is judged, so that a line is finished when it is made: no figure,
//! mismatch or warning is added to it later.

use std::collections::BTreeMap;

use cpus::CpuList;
use load::{Arrival, ArrivalCounts, Operation, Outcome};
use observe::Holder;
use targets::Target;
use units::Nanos;

use crate::accelerator::Handshakes;
use crate::busy_program::BusyProgram;
use crate::energy_use::EnergyUse;
use crate::evidence::{Evidence, Facts};
use crate::littles_law::LittlesLaw;
use crate::mismatch::Mismatch;
use crate::observed::Observed;
use crate::obtained::QuotaUse;
use crate::operations::{Arrivals, Operations, UnderWayNs, first_words};
use crate::ranks::RankReport;
use crate::reading::Readings;
use crate::receipt::Receipt;
use crate::stood_still::StoodStill;
use crate::trial::Trial;
use crate::trial_record::{
    ByteCounts, CpuTimes, LatencyNs, PageFigures, SCHEMA, Traffic, TrialRecord, rates,
};
use crate::verdict::Verdict;
use crate::warnings::Seen;

/// How many programs are named that took CPU time from a trial.
const NAMED: usize = 3;

/// Judges a trial: its line follows from what was asked and what was seen, and from nothing else.
pub(crate) fn judge(trial: &Trial, outcome: &Outcome, observed: &Observed) -> TrialRecord {
    let job = &trial.job;
    let operations = Operations {
        completed: outcome.completed,
        in_flight: outcome.in_flight,
        unended: match outcome.completed + outcome.failures.total() {
            0 => first_words(&outcome.unended),
            _ => BTreeMap::new(),
        },
        under_way_ns: UnderWayNs::from(&outcome.under_way),
        arrivals: trial.arrivals(outcome),
        ..Operations::from(&outcome.failures)
    };
    let (rate, goodput) = rates(outcome.completed, outcome.bytes.body, outcome.window);
    let connections_opened = outcome.peer.is_none().then(|| outcome.latencies.connect.len());
    let lost_threads = lost_in_words(&outcome.lost);
    // A load that ended by itself was not interrupted; the trial is not valid.
    let interrupted = outcome.interrupted && (observed.interrupt || lost_threads.is_none());
    let receipt = trial.receipt(outcome, observed, rate, interrupted);
    let verdict = Verdict::of(trial.evidence(outcome, observed, &operations, &receipt));
    let programs = match verdict.evidence.has_foreign_work() {
        true => busiest(&observed.programs.busiest),
        false => Vec::new(),
    };
    let littles_law = trial.littles_law(outcome);
    let seen = Seen {
        outcome,
        observed,
        operations: &operations,
        obtained: &receipt.obtained,
        verdict: &verdict,
        programs: &programs,
        littles_law: littles_law.as_ref(),
    };
    let foreign = trial.foreign_kernel_tls(outcome, observed, &receipt);
    let warnings = trial.warnings(&seen, foreign);
    let ranks = observed.reports.ranks.as_ref();
    let target_error = observed.reports.server.as_ref().err().cloned();
    let load_error = ranks.and_then(RankReport::lost_in_words).or(lost_threads);
    TrialRecord {
        schema: SCHEMA,
        valid: false,
        interrupted,
        started_unix_ms: observed.started_unix_ms,
        window_ns: outcome.window.0,
        window_awaited_ns: outcome.up.map(|up| up.awaited.0).filter(|awaited| *awaited > 0),
        bytes: ByteCounts {
            body: outcome.bytes.body,
            decrypted: outcome.bytes.opened,
            sent: job.plan.body.is_some().then(|| outcome.bodies_sent() * outcome.request_body),
            unproven: outcome.bytes.unproven,
            read_from_disk: observed.readings.read_from_disk(),
        },
        rate_per_s: Some(rate),
        goodput_bps: Some(goodput),
        connections_opened,
        connections_per_s: connections_opened.map(|opened| rates(opened, 0, outcome.window).0),
        server_process: trial.process.clone(),
        cpu_ns: cpu_times(observed, outcome),
        // Of this machine, which says nothing of a server elsewhere.
        memory: observed.readings.memory(outcome.window).filter(|_| trial.is_server_read()),
        energy: energy(observed, outcome.window).filter(|_| trial.is_server_read()),
        connection_memory: observed.connection_memory,
        core_hz: observed.core_hz,
        ranks: ranks.map(|ranks| ranks.figures.clone()).unwrap_or_default(),
        lost_ranks: ranks.map(RankReport::lost_numbers).unwrap_or_default(),
        latency_ns: trial.latency(outcome),
        traffic: Traffic::mean(outcome.traffic),
        littles_law,
        pages: outcome.pages.iter().map(PageFigures::from).collect(),
        walks: (job.plan.operation == Operation::Session).then_some(outcome.walks),
        profile: None,
        cpu_share: trial.series(observed),
        server_cpu_share: trial.series_there(observed),
        programs,
        warnings,
        operations,
        receipt,
        counted: None,
        verdict: Some(verdict),
        target_error,
        load_error,
    }
    .judged()
}

impl Trial {
    /// Threads that may have run elsewhere than they were to: the window is one of two placements then.
    fn moved(&self, readings: &Readings) -> Vec<Mismatch> {
        let moved = |what: &str, asked: &CpuList, obtained: CpuList| {
            let obtained = format!("threads that could run on {obtained}");
            Mismatch::new(what, format!("CPU {asked}"), obtained)
        };
        let (client, server) = (&self.job.plan.cpus, self.server_cpus.as_ref());
        let of_client = readings.client_moved_from(client);
        let of_server = server.zip(readings.server_cpus());
        let of_server = of_server.filter(|(asked, obtained)| obtained.without(asked).is_some());
        let of_client = of_client.map(|obtained| moved("client_cpus", client, obtained));
        let of_server =
            of_server.map(|(asked, obtained)| moved("server_cpus", asked, obtained.clone()));
        of_client.into_iter().chain(of_server).collect()
    }

    /// What was meant to start, where that does not follow from the answers.
    fn arrivals(&self, outcome: &Outcome) -> Option<Arrivals> {
        let arrival = self.job.plan.arrival;
        let ArrivalCounts { intended, carried, waiting, deadlines, deadline_misses, .. } =
            outcome.arrivals;
        arrival.is_scheduled().then(|| Arrivals {
            intended,
            carried: Some(carried),
            waiting,
            deadlines: arrival.is_paced().then_some(deadlines),
            deadline_misses: arrival.is_paced().then_some(deadline_misses),
        })
    }

    /// Whether the users' time is accounted for, where the load is a closed loop of toll's own.
    fn littles_law(&self, outcome: &Outcome) -> Option<LittlesLaw> {
        let plan = &self.job.plan;
        let Outcome { window, completed, user_time, .. } = outcome;
        (matches!(plan.arrival, Arrival::Closed { .. }) && outcome.peer.is_none())
            .then(|| LittlesLaw::of(plan.most_open(), *window, *completed, user_time))?
    }

    /// What was asked and what was got, by the load, the kernel, the server and the ranks.
    fn receipt(
        &self,
        outcome: &Outcome,
        observed: &Observed,
        rate_per_s: f64,
        interrupted: bool,
    ) -> Receipt {
        let mut receipt = match &outcome.peer {
            None => Receipt::of(&self.job, self.certificate_key, outcome),
            Some(peer) => Receipt::of_peer(&self.job, peer, outcome),
        };
        receipt.asked.host = self.host.clone();
        receipt.asked.server_cpus = self.server_cpus.clone();
        if self.job.url.is_tls() && self.is_server_read() {
            receipt.obtained.kernel_tls = Some(observed.kernel_tls.clone());
        }
        receipt.mismatch.extend(observed.sharers.known().and_then(|found| shared_address(found)));
        receipt.mismatch.extend(self.moved(&observed.readings));
        receipt.obtained.server_quota = observed.readings.server_throttled().map(QuotaUse::from);
        let of_client = observed.readings.client_throttled();
        receipt.obtained.client_quota =
            of_client.filter(|_| self.client_cpus().is_some()).map(QuotaUse::from);
        if let Some(server) = &self.runs_on {
            receipt.add_server(server);
        }
        let ranks = observed.reports.ranks.as_ref();
        let mut connections = observed.connections.clone();
        if let Some(ranks) = ranks {
            connections.client.congestion = ranks.congestion();
            let is_open = receipt.asked.client_congestion.is_none();
            receipt.mismatch.extend(ranks.congestion_mismatch().filter(|_| is_open));
        }
        if receipt.obtained.quic.is_some() {
            connections.add_quic(outcome.streams.connections);
        }
        receipt.add_connections(&connections, self.is_over_loopback());
        receipt.obtained.mpi = ranks.and_then(|ranks| ranks.mpi.clone());
        if let Some(ranks) = ranks.filter(|_| !interrupted) {
            let is_toll = outcome.peer.is_none();
            receipt.mismatch.extend(ranks.mismatches(self.job.plan.duration, is_toll));
        }
        let Ok(report) = &observed.reports.server else { return receipt };
        receipt.add_application(report, self.job.plan.connections);
        let target = self.runs_on.as_ref().map(|server| &server.target);
        if let Some(target) = target {
            receipt.add_foreign_files(target, &report.foreign);
        }
        let has_keys =
            |target: &&Target| target.server.is_configured() || target.provider.is_some();
        if let Some(target) = target.filter(has_keys) {
            receipt.add_accelerator(
                target,
                report.accelerated,
                &Handshakes {
                    operation: self.job.plan.operation,
                    threads: ranks.map_or(self.job.plan.cpus.len(), RankReport::threads),
                    rate_per_s,
                },
            );
        }
        if let Some(sending) = &report.sending {
            receipt.add_sending(sending);
        }
        if let Some((target, backend)) = target.zip(report.backend.as_ref()) {
            receipt.add_backend(target, backend, (&self.job, outcome));
        }
        receipt
    }

    pub(crate) fn latency(&self, outcome: &Outcome) -> LatencyNs {
        let Outcome { latencies, under_way, window, .. } = outcome;
        LatencyNs {
            file: self.latency_file.clone(),
            stood_still: StoodStill::of(&latencies.whole, &under_way.whole, *window),
            mean: mean_response(outcome),
            ..LatencyNs::from(latencies)
        }
    }

    /// The figures of every candidate for the limit.
    fn evidence(
        &self,
        outcome: &Outcome,
        observed: &Observed,
        operations: &Operations,
        receipt: &Receipt,
    ) -> Evidence {
        let programs = &observed.programs;
        let tasks_there = match observed.there.is_some() {
            true => &programs.tasks_there,
            false => &programs.tasks,
        };
        let evidence = Evidence::of(&Facts {
            operations,
            verified: outcome.verified,
            window: outcome.window,
            connections: self.job.plan.connections,
            repeated: outcome.peer.is_none().then_some(outcome.repeated),
            streams: &outcome.streams,
            quic: receipt.obtained.quic.as_ref(),
            is_server_read: self.is_server_read(),
            readings: &observed.readings,
            server_cpus: self.server_cpus.as_ref(),
            client_cpus: self.client_cpus(),
            backend_cpus: self.backend_cpus.as_ref(),
            other_tasks: [programs.tasks.as_ref(), tasks_there.as_ref()],
            siblings: &observed.siblings,
            server_descriptors: observed.server_descriptors,
            interfaces: &observed.interfaces,
        });
        let evidence = Evidence {
            beyond_limit: self.beyond_limit,
            accelerator_busy: receipt.obtained.accelerator.as_ref().and_then(|used| used.busy),
            ..evidence
        };
        let evidence = evidence.with_late(outcome.timers, mean_response(outcome));
        match &observed.reports.ranks {
            Some(ranks) => ranks.evidence(evidence),
            None => evidence,
        }
    }

    /// Connections that the kernel encrypted and the server did not make, where any are known.
    fn foreign_kernel_tls(
        &self,
        outcome: &Outcome,
        observed: &Observed,
        receipt: &Receipt,
    ) -> Option<u64> {
        let sending = observed.reports.server.as_ref().ok()?.sending.as_ref()?;
        receipt.foreign_kernel_tls(sending, self.unfinished_handshakes(outcome))
    }

    /// Handshakes that the kernel may have seen and the client does not count: those of connections
    /// that were under way or failed.
    fn unfinished_handshakes(&self, outcome: &Outcome) -> u64 {
        let handshakes = outcome.negotiated.iter().map(|(_, count)| count).sum();
        let under_way = match self.job.plan.keeps_connections() {
            true => (self.job.plan.connections as u64).saturating_sub(handshakes),
            false => outcome.in_flight,
        };
        under_way + outcome.failures.total()
    }

    /// The load's CPUs, where it is made here.
    pub(crate) fn client_cpus(&self) -> Option<&CpuList> {
        self.job.plan.ranks.is_none().then_some(&self.job.plan.cpus)
    }

    /// Whether the counters that were read are those of the server's machine too.
    fn is_server_read(&self) -> bool {
        self.server_cpus.is_some() || self.is_over_loopback()
    }

    pub(crate) fn is_over_loopback(&self) -> bool {
        self.job.address.ip().to_canonical().is_loopback()
    }
}

/// The programs that a trial names.
fn busiest(programs: &[(String, Nanos)]) -> Vec<BusyProgram> {
    let program = |(name, cpu): &(String, Nanos)| BusyProgram { name: name.clone(), cpu_ns: cpu.0 };
    programs.iter().take(NAMED).map(program).collect()
}

/// Why load threads ended before their time, where any did.
pub(crate) fn lost_in_words(lost: &[String]) -> Option<String> {
    match lost {
        [] => None,
        [why] => Some(format!("a load thread ended early: {why}")),
        [first, ..] => Some(format!("{} load threads ended early, the first: {first}", lost.len())),
    }
}

fn energy(observed: &Observed, window: Nanos) -> Option<EnergyUse> {
    let joules = observed.readings.joules(window)?;
    Some(EnergyUse { joules, idle_watts: observed.idle_watts? })
}

/// Of completed operations, where their times are known.
fn mean_response(outcome: &Outcome) -> Option<u64> {
    let responses = outcome.user_time.responses as f64;
    (responses > 0.0).then(|| (responses / outcome.completed as f64).round() as u64)
}

/// The server does not get all that the load sends, so that its CPU time is that of a part of it.
fn shared_address(others: &[Holder]) -> Option<Mismatch> {
    let names: Vec<String> = others.iter().map(ToString::to_string).collect();
    (!names.is_empty()).then(|| {
        let obtained = format!("connections also to {}", names.join(", "));
        Mismatch::new("listener", "the server alone", obtained)
    })
}

fn cpu_times(observed: &Observed, outcome: &Outcome) -> CpuTimes {
    let (readings, window) = (&observed.readings, outcome.window);
    let server = readings.server();
    let client = readings.threads();
    let waited = client.as_ref().and_then(|usages| {
        usages.iter().map(|usage| usage.waiting_within(window).map(|time| time.0)).sum()
    });
    let client =
        client.map(|usages| usages.iter().map(|usage| usage.on_cpu_within(window).0).sum());
    CpuTimes {
        server: server.map(|usage| usage.on_cpu_within(window).0),
        client: observed.reports.ranks.as_ref().map_or(client, RankReport::cpu_ns),
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
    use crate::neighbours::Neighbours;
    use crate::testing::job;
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
