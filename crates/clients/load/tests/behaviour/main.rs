//! The load engine against good and bad servers, through its public functions: honest responses
//! count, others fail with the right kind of error, and every load ends.

mod certificates;
mod closing;
mod early;
mod edges;
mod ending;
mod habits;
mod handshakes;
mod heads;
mod honest;
mod http2;
mod http2_messages;
mod http2_walk;
mod http3;
mod http3_counts;
mod http3_paths;
mod limits;
mod memory;
mod methods;
mod names;
mod patterns;
mod protocols;
mod public_reports;
mod ramps;
mod records;
mod responses;
mod resumption;
mod scripted_server;
mod sessions;
mod several_objects;
mod sockets;
mod tcp;
mod waking;
mod wire;

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use cpus::CpuList;
use load::{Engine, ErrorKind, Job, Load, Negotiated, OneIn, Outcome, Plan, ProbeError, Url};
use units::Nanos;

/// The most time that a load of a test may take.
const WATCHDOG: Duration = Duration::from_secs(20);

const MILLISECOND: u64 = 1_000_000;

/// The object of most tests: 16 records and more than one read.
const OBJECT: u64 = 256 << 10;
const OBJECT_PATH: &str = "/bytes/256KiB";

/// Three operations over TLS on one connection; the first response is opened whole, the others are
/// walked.
fn https(address: SocketAddr, path: &str) -> Job {
    job(Url::at(true, address, path), address)
}

/// The same over plain HTTP.
fn http(address: SocketAddr, path: &str) -> Job {
    job(Url::at(false, address, path), address)
}

fn job(url: Url, address: SocketAddr) -> Job {
    let plan = Plan {
        connections: 1,
        cpus: first_cpu(),
        verify: Some(one_in(1000)),
        timeout: Nanos(8000 * MILLISECOND),
        insecure: true,
        ..Plan::default()
    };
    Job { operations: Some(3), ..Job::new(plan, url, address) }
}

/// Makes a load end after a time.
fn lasts(job: &mut Job, warmup: Nanos, duration: Nanos) {
    (job.operations, job.plan.warmup, job.plan.duration) = (None, Some(warmup), duration);
}

fn first_cpu() -> CpuList {
    CpuList::from(CpuList::allowed().unwrap().as_slice()[0])
}

fn one_in(k: u32) -> OneIn {
    OneIn(NonZeroU32::new(k).unwrap())
}

/// Runs a load to its end, which must come.
fn run(job: Job) -> Outcome {
    let engine = Engine::start(job).unwrap();
    let deadline = Instant::now() + WATCHDOG;
    while !engine.is_finished() {
        if Instant::now() > deadline {
            engine.stop();
            panic!("no end after {WATCHDOG:?}: {}", summary(&engine.join()));
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    engine.join()
}

/// Tries the server of a job, uninterrupted.
fn probe(job: &Job) -> Result<Option<Negotiated>, ProbeError> {
    load::probe(job, &AtomicBool::new(false))
}

/// The kinds of failures, in order, with their counts.
fn kinds(outcome: &Outcome) -> Vec<(ErrorKind, u64)> {
    outcome.failures.iter().map(|(kind, count, _)| (kind, count)).collect()
}

/// The outcome without its histograms.
fn summary(outcome: &Outcome) -> String {
    let Outcome { completed, in_flight, failures, bytes, negotiated, verified, .. } = outcome;
    format!(
        "{completed} completed, {in_flight} in flight, {failures:?} {bytes:?} {negotiated:?} {verified:?}"
    )
}

/// All three operations of a plan fail in this way.
#[track_caller]
fn assert_fails(job: Job, kind: ErrorKind) {
    let outcome = run(job);
    assert_eq!((outcome.completed, kinds(&outcome)), (0, vec![(kind, 3)]), "{}", summary(&outcome));
    assert_eq!(outcome.bytes.body, 0, "bytes of failed operations were counted");
}

/// All three operations of a plan complete, with bodies of this length.
#[track_caller]
fn assert_completes(job: Job, body: u64) {
    let outcome = run(job);
    assert_eq!((outcome.completed, kinds(&outcome)), (3, vec![]), "{}", summary(&outcome));
    assert_eq!((outcome.bytes.body, outcome.bytes.unproven), (3 * body, 0));
}
