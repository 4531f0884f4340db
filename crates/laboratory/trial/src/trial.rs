//! One trial: what is loaded, by what, and the result.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use cpus::CpuList;
use load::{Job, Outcome};
use observe::{Fact, ServerProcess};
use tls::CertificateKey;

use crate::moment::Moment;
use crate::neighbours::{Neighbours, NotSteady};
use crate::receipt::RunsOn;
use crate::reports::Reports;
use crate::trial_record::TrialRecord;

/// How often a trial looks up: for an interrupt, and to report its progress.
pub(crate) const STEP: Duration = Duration::from_millis(100);

/// What is loaded, by what, and what is known of both.
#[derive(Debug, Clone)]
pub struct Trial {
    /// The load.
    pub job: Job,
    /// The kind of key that the server was given, where that is known.
    pub certificate_key: Option<CertificateKey>,
    /// The machine that the server runs on, where that is another one.
    pub host: Option<String>,
    /// The server's process here, or why it is not known; `None` of a server that toll started.
    pub process: Option<Fact<ServerProcess>>,
    /// The server's CPUs on its machine, where they are known.
    pub server_cpus: Option<CpuList>,
    /// The CPUs of the server's backend, where that is accounted for apart.
    pub backend_cpus: Option<CpuList>,
    /// Where server and client run relative to each other.
    pub neighbours: Neighbours,
    /// What the server should run on and what it runs on, if toll started it.
    pub runs_on: Option<RunsOn>,
    /// Why the server's objects are not in memory, where they are not.
    pub objects_on_disk: Option<String>,
    /// Whether the server's processes have had no load yet, so that what they grow by is their connections'.
    pub is_first_load: bool,
    /// Where the server was warmed up but did not become steady.
    pub not_steady: Option<NotSteady>,
    /// How far the next larger load of a search was above its limit, as a share of the limit.
    pub beyond_limit: Option<f64>,
    /// Where the caller writes the latencies, by its path in the result folder.
    pub latency_file: Option<String>,
}

/// What a trial needs from its caller.
pub struct Hooks<'a> {
    /// Set to end the window early.
    pub interrupt: &'a AtomicBool,
    /// Called about every 100 ms.
    pub progress: &'a mut dyn FnMut(Moment),
    /// Called once, when the load has ended.
    pub reports: &'a mut dyn FnMut() -> Reports,
}

/// What a trial gave.
#[derive(Debug, Clone)]
pub struct Measured {
    /// Its line in the journal.
    pub line: TrialRecord,
    /// What the load itself counted, and the latencies that its percentiles were taken from.
    pub outcome: Outcome,
}

impl Trial {
    /// The number of the process that is known of a server that toll did not start.
    pub fn found_pid(&self) -> Option<u32> {
        self.process.as_ref()?.known().map(|process| process.pid)
    }

    /// Of a server about which nothing is known but its CPUs.
    pub fn new(job: Job, server_cpus: Option<CpuList>, neighbours: Neighbours) -> Self {
        Self {
            job,
            certificate_key: None,
            host: None,
            process: None,
            server_cpus,
            backend_cpus: None,
            neighbours,
            runs_on: None,
            objects_on_disk: None,
            is_first_load: false,
            not_steady: None,
            beyond_limit: None,
            latency_file: None,
        }
    }
}
