//! The embedded server with an accelerator that stops, or answers late, twice or wrongly: every handshake
//! ends, and no job is left.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use load::{Engine, ErrorKind, Job, Load, Operation, Outcome, Plan, Trust, Url};
use offload::testing::{Fault, fail};
use offload::{Accelerator, Description};
use server::{AcceleratorSource, CertificateSource, Server, ServerError, Settings};
use support::{first_cpu, last_cpu, until};
use targets::{AcceleratorCounts, SendCounters};
use tempfile::TempDir;
use tls::{CertificateKey, OrPlain, RecordSize, RecordsPerWrite, SendMode, Stack, Suite};
use units::Nanos;

const SUITE: &str = "AES128-SHA";

/// Handshakes of a load. The first one is computed, and its answer is what the others ask for.
const HANDSHAKES: u64 = 24;

/// A server in this process, whose device, the only one of the process, fails on demand.
struct Faulty {
    address: SocketAddr,
    accelerator: &'static Accelerator,
    stop: &'static AtomicBool,
    server: thread::JoinHandle<Result<(), ServerError>>,
    folder: TempDir,
}

impl Faulty {
    fn start() -> Self {
        fail(Fault::None);
        let accelerator = offload::testing::install();
        let folder = tempfile::tempdir().unwrap();
        let settings = Settings {
            listen: vec![SocketAddr::from(([127, 0, 0, 1], 0))],
            listen_plain: Vec::new(),
            quic: false,
            gso: true,
            congestion: None,
            cpus: first_cpu(),
            root: None,
            library: Stack::OpenSsl,
            versions: Vec::new(),
            suites: vec![Suite::parse(SUITE).unwrap()],
            groups: Vec::new(),
            certificate: CertificateSource::Fresh(CertificateKey::Rsa(2048)),
            write_certificate: None,
            ask_client: tls::AskClient::None,
            client_authorities: None,
            names: None,
            tickets: false,
            session_cache: false,
            encrypt_then_mac: false,
            accelerator: Some(AcceleratorSource::Model(Description::default())),
            send: SendMode::User,
            counters: Some(counters(&folder)),
            record_size: RecordSize::default(),
            records_per_write: RecordsPerWrite::default(),
            library_context: Default::default(),
            timeout: Duration::from_secs(30),
        };
        let server = Server::bind(settings).unwrap();
        let address = server.tls_addresses()[0];
        let stop: &AtomicBool = Box::leak(Box::new(AtomicBool::new(false)));
        let server = thread::spawn(|| server.run(stop, &|_| {}));
        Self { address, accelerator, stop, server, folder }
    }

    fn job(&self) -> Job {
        let plan = Plan {
            operation: Operation::Handshakes,
            connections: 8,
            cpus: last_cpu(),
            suite: Some(OrPlain::Tls(Suite::parse(SUITE).unwrap())),
            timeout: Nanos(30_000_000_000),
            insecure: true,
            ..Plan::default()
        };
        let job = Job::new(plan, Url::at(true, self.address, "/bytes/1B"), self.address);
        Job { trust: Trust::Anyone, operations: Some(HANDSHAKES), ..job }
    }

    /// A load, and what the accelerator was asked in it.
    fn load(&self, fault: Fault) -> (Outcome, AcceleratorCounts) {
        let before = self.counts();
        fail(fault);
        let outcome = Engine::start(self.job()).unwrap().join();
        fail(Fault::None);
        assert_eq!(self.accelerator.in_flight(), 0);
        let counts = self.counts().since(&before);
        assert_eq!((counts.computed, counts.submitted), (1, HANDSHAKES - 1), "{counts:?}");
        assert_eq!(counts.submitted, counts.completed + counts.timed_out, "{counts:?}");
        (outcome, counts)
    }

    fn counts(&self) -> AcceleratorCounts {
        SendCounters::settled(&counters(&self.folder)).unwrap().accelerator.unwrap_or_default()
    }

    fn stop(self) {
        self.stop.store(true, Ordering::Relaxed);
        self.server.join().unwrap().unwrap();
        assert_eq!(self.accelerator.in_flight(), 0);
    }
}

fn counters(folder: &TempDir) -> PathBuf {
    folder.path().join("counters")
}

fn completed(outcome: &Outcome) -> (u64, u64) {
    (outcome.completed, outcome.failures.total())
}

#[test]
fn a_device_that_stops_leaves_the_work_to_the_cpu() {
    let server = Faulty::start();
    let (outcome, counts) = server.load(Fault::Silent);
    assert_eq!(completed(&outcome), (HANDSHAKES, 0), "{:?}", outcome.failures);
    assert_eq!((counts.timed_out, counts.completed), (HANDSHAKES - 1, 0));
    // It is asked again.
    let (outcome, counts) = server.load(Fault::None);
    assert_eq!((completed(&outcome), counts.timed_out), ((HANDSHAKES, 0), 0));
    server.stop();
}

#[test]
fn answers_that_come_late_count_until_they_are_given_up() {
    let server = Faulty::start();
    for (late, is_given_up) in [(300, false), (1_300, true)] {
        let (outcome, counts) = server.load(Fault::Late(Nanos(late * 1_000_000)));
        assert_eq!(completed(&outcome), (HANDSHAKES, 0), "{:?}", outcome.failures);
        let timed_out = if is_given_up { HANDSHAKES - 1 } else { 0 };
        assert_eq!(counts.timed_out, timed_out, "{late} ms: {counts:?}");
    }
    server.stop();
}

#[test]
fn a_second_answer_is_dropped() {
    let server = Faulty::start();
    let (outcome, counts) = server.load(Fault::Twice);
    assert_eq!(completed(&outcome), (HANDSHAKES, 0), "{:?}", outcome.failures);
    assert_eq!(counts.completed, HANDSHAKES - 1);
    server.stop();
}

#[test]
fn a_wrong_answer_is_a_handshake_that_fails_with_an_alert() {
    let server = Faulty::start();
    let (outcome, _) = server.load(Fault::Wrong);
    assert_eq!(completed(&outcome), (1, HANDSHAKES - 1));
    let kinds: Vec<_> = outcome.failures.iter().map(|(kind, ..)| kind).collect();
    assert_eq!(kinds, [ErrorKind::Alert], "{:?}", outcome.failures);
    // It harms no other handshake.
    assert_eq!(completed(&server.load(Fault::None).0), (HANDSHAKES, 0));
    server.stop();
}

#[test]
fn a_server_stops_while_its_device_is_silent() {
    let server = Faulty::start();
    fail(Fault::Silent);
    let load = Engine::start(server.job()).unwrap();
    until("paused handshakes", || server.accelerator.in_flight() > 1);
    server.stop();
    load.stop();
    drop(load.join());
}
