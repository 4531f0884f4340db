//! Which warnings a trial gives reason for.

use load::{KeyExchangeMode, Operation, Outcome, Storage};

use crate::busy_program::BusyProgram;
use crate::compilers;
use crate::facts::Obtained;
use crate::littles_law::LittlesLaw;
use crate::neighbours::Neighbours;
use crate::nouns::Nouns;
use crate::observed::Observed;
use crate::operations::Operations;
use crate::reading::CoreHz;
use crate::trial::Trial;
use crate::verdict::Verdict;
use crate::warning::Warning;
use crate::workers::Workers;

/// What warnings are about.
pub(crate) struct Seen<'a> {
    pub(crate) outcome: &'a Outcome,
    pub(crate) observed: &'a Observed,
    pub(crate) operations: &'a Operations,
    pub(crate) obtained: &'a Obtained,
    pub(crate) verdict: &'a Verdict,
    pub(crate) programs: &'a [BusyProgram],
    pub(crate) littles_law: Option<&'a LittlesLaw>,
}

impl Warning {
    /// All that a trial gives reason for.
    pub fn of(
        neighbours: Neighbours,
        verdict: &Verdict,
        operations: &Operations,
        connections: usize,
        core: CoreHz,
        programs: &[BusyProgram],
        nouns: Nouns,
    ) -> Vec<Self> {
        [
            Self::neighbours(neighbours),
            Self::steal(verdict),
            Self::foreign_work(verdict, programs),
            Self::busy_sibling(verdict),
            Self::few_workers(verdict),
            Self::frequency(core),
            Self::few_errors(verdict, nouns),
            Self::late_client(verdict, nouns),
            Self::few_operations(operations, connections, nouns),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// Of server and client CPUs that slow each other down.
    pub fn neighbours(neighbours: Neighbours) -> Option<Self> {
        Self::shared_cpus(neighbours).or_else(|| Self::sibling_cpus(neighbours))
    }
}

impl Trial {
    /// What a reader should know before believing the figures. The kernel may have encrypted `foreign` connections that
    /// are another program's.
    pub(crate) fn warnings(&self, seen: &Seen<'_>, foreign: Option<u64>) -> Vec<Warning> {
        let Seen { outcome, observed, operations, obtained, verdict, programs, littles_law } =
            *seen;
        let (job, plan) = (&self.job, &self.job.plan);
        let nouns = Nouns::of(plan.operation);
        let Outcome { completed, sent_again, not_taken, window, .. } = *outcome;
        let (opened, connections) = (outcome.latencies.connect.len(), plan.connections);
        let handshakes: u64 = outcome.negotiated.iter().map(|(_, count)| count).sum();
        // A paced load has fewer operations than connections where its window is short.
        let is_opened_once =
            plan.arrival.is_paced() && handshakes <= connections as u64 && job.url.is_tls();
        let is_kept = plan.operation == Operation::Requests && plan.keeps_connections();
        let latency = self.latency(outcome);
        let quic = obtained.quic.as_ref();
        let per_operation = outcome.bytes.body / completed.max(1);
        let is_on_disk = job.files.is_some_and(|files| files.storage == Storage::Disk);
        let there = observed.there.as_ref().and_then(|there| there.as_ref().err());
        let first = Warning::of(
            self.neighbours,
            verdict,
            operations,
            connections,
            observed.core_hz,
            programs,
            nouns,
        );
        let others = [
            plan.operations().filter(|_| !outcome.interrupted).and_then(|count| {
                let ended = completed + outcome.failures.total();
                Warning::count_not_reached(ended, count.get().into(), nouns)
            }),
            Warning::kept_connections_closed(sent_again - not_taken, connections)
                .filter(|_| is_kept),
            match is_opened_once {
                true => Warning::still_opening(opened, connections),
                false => Warning::connections_not_kept(opened, completed),
            }
            .filter(|_| is_kept),
            Warning::requests_not_taken(not_taken, completed),
            littles_law.and_then(|law| Warning::littles_law(law, nouns, job.ends_by_itself())),
            latency
                .stood_still
                .and_then(|still| Warning::stood_still(still, latency.whole.max, nouns)),
            Warning::delayed_acknowledgements(latency.first_byte.p50, latency.whole.p50)
                .filter(|_| quic.is_none()),
            quic.and_then(|quic| Warning::datagrams_lost(quic, self.is_over_loopback())),
            quic.and_then(Warning::datagrams_too_long),
            quic.and_then(Warning::short_path),
            Warning::mixed(obtained),
            Warning::batches_never_pay(obtained),
            Warning::paced(obtained, per_operation, self.runs_on.is_some())
                .filter(|_| self.is_over_loopback()),
            Warning::client_certificate(obtained),
            job.url.is_tls().then(|| Warning::expired_authority(&job.trust.expired())).flatten(),
            Warning::hello_retry_requests(obtained)
                .filter(|_| plan.key_exchange() != KeyExchangeMode::Retried),
            Warning::sessions_refused(obtained),
            outcome.peer.as_ref().and_then(Warning::peer_client),
            Warning::shared_backend(verdict).filter(|_| self.shared_backend()),
            self.workers(observed).and_then(Warning::uneven_workers),
            observed.server_change.and_then(|of| Warning::processes_changed(of, window)),
            observed
                .sharers
                .clone()
                .or_why()
                .err()
                .and_then(|why| Warning::listeners_unknown(&why)),
            observed.readings.too_coarse().and_then(|(doubt, of)| Warning::coarse_clock(doubt, of)),
            observed.series.as_ref().err().and_then(Warning::cores_unknown),
            there.and_then(Warning::cores_unknown),
            self.objects_on_disk.as_deref().and_then(Warning::objects_on_disk),
            self.not_steady(observed),
            Warning::objects_in_cache(observed.readings.read_from_disk(), outcome.bytes.body)
                .filter(|_| is_on_disk),
            foreign.and_then(Warning::foreign_kernel_tls),
        ];
        first.into_iter().chain(others.into_iter().flatten()).collect()
    }

    /// A server that its warm-up did not make steady may have become so since: its compilers show it.
    fn not_steady(&self, observed: &Observed) -> Option<Warning> {
        let used = observed.readings.server_threads_by_id();
        let compilers = compilers::share(&used, &observed.server_threads);
        let is_settled = compilers.is_some_and(|share| share <= compilers::SETTLED);
        Warning::not_steady(self.not_steady.filter(|_| !is_settled)?, compilers)
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
}
