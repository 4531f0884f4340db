//! The server does the same work whether the client's key exchange is fixed or fresh. Time is too
//! coarse to show it, so the server runs in callgrind, which counts its instructions.

use std::net::SocketAddr;
use std::num::NonZeroU32;

use load::{Engine, Job, KeyExchangeMode, Load, OneIn, Operation, Plan, Url};
use support::{first_cpu, run, toll_path};
use tempfile::TempDir;
use tls::{Group, OrPlain, Version};
use units::Nanos;

use crate::server::{Serve, peer};

/// Handshakes that make the server do all that it does only once.
const FIRST: u64 = 4;
/// Handshakes that are counted.
const COUNTED: u64 = 20;
/// Two equal runs differ by less: signatures and keys are random, and so are their lengths and the
/// paths through what computes them.
const TOLERANCE: f64 = 0.005;

#[test]
fn fixed_and_fresh_shares_cost_the_server_the_same_instructions() {
    let bench = Bench::new(&["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]);
    let plan = |group| Plan {
        tls: Some(OrPlain::Tls(Version::Tls13)),
        group: Some(group),
        ..Plan::default()
    };
    let start = bench.count(&plan(Group::X25519), KeyExchangeMode::Fixed, FIRST);
    let of_groups = [Group::X25519, Group::Secp256r1].map(|group| bench.each(&plan(group), start));
    // Otherwise nothing would be shown: what is another key exchange counts otherwise.
    assert!((of_groups[0] / of_groups[1] - 1.0).abs() > 10.0 * TOLERANCE, "{of_groups:?}");
}

#[test]
fn a_premaster_secret_that_comes_again_costs_the_server_the_same_instructions() {
    let bench = Bench::new(&["-newkey", "rsa:2048"]);
    let plan = Plan { suite: "AES128-SHA".parse().ok(), ..Plan::default() };
    let start = bench.count(&plan, KeyExchangeMode::Fixed, FIRST);
    let each = bench.each(&plan, start);
    // Otherwise nothing would be shown: it is the decryption that counts.
    assert!(each > 1e6, "{each}");
}

/// Servers with one certificate and one key: a key of its own would make a difference.
struct Bench {
    folder: TempDir,
}

impl Bench {
    /// With a key that `openssl req` makes when it is told so.
    fn new(key: &[&str]) -> Self {
        let bench = Self { folder: tempfile::tempdir().unwrap() };
        let mut openssl = peer("openssl");
        openssl.args(["req", "-x509", "-nodes", "-subj", "/CN=localhost"]).args(key);
        openssl.args(["-out", &bench.path("certificate.pem"), "-keyout", &bench.path("key.pem")]);
        run(&mut openssl);
        bench
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().expect("a path in UTF-8").to_owned()
    }

    /// The server's instructions for each handshake, where it had executed `start` after its first
    /// ones: the same with a fixed key exchange and with a fresh one.
    #[track_caller]
    fn each(&self, plan: &Plan, start: f64) -> f64 {
        let each = |mode| (self.count(plan, mode, FIRST + COUNTED) - start) / COUNTED as f64;
        let fixed = each(KeyExchangeMode::Fixed);
        let fresh = each(KeyExchangeMode::Fresh);
        let what = plan.group.map_or("static RSA".to_owned(), |group| group.to_string());
        eprintln!(
            "{what}: {fixed:.0} instructions with a fixed exchange, {fresh:.0} with a fresh one"
        );
        assert!((fixed / fresh - 1.0).abs() < TOLERANCE, "{what}: {fixed} and {fresh}");
        fresh
    }

    /// All instructions of a server that shakes hands so many times.
    fn count(&self, plan: &Plan, mode: KeyExchangeMode, handshakes: u64) -> f64 {
        let out = self.path("callgrind.out");
        let mut callgrind = peer("valgrind");
        callgrind.args(["--tool=callgrind", "--quiet"]);
        callgrind.arg(format!("--callgrind-out-file={out}"));
        callgrind.arg(toll_path());
        let (certificate, key) = (self.path("certificate.pem"), self.path("key.pem"));
        let cpu = first_cpu().to_string();
        let options = ["--certificate", &certificate, "--key", &key, "--cpus", &cpu];
        let mut server = Serve::start_as(callgrind, &options);
        let plan = Plan { key_exchange: Some(mode), ..plan.clone() };
        shake_hands(server.tls, plan, handshakes);
        server.process.send("-INT");
        assert_eq!(server.exit_code(), Some(0));
        instructions(&std::fs::read_to_string(out).unwrap()) as f64
    }
}

/// So many full handshakes, one after another.
fn shake_hands(address: SocketAddr, plan: Plan, handshakes: u64) {
    let (group, suite) = (plan.group, plan.only_suite());
    let plan = Plan {
        operation: Operation::Handshakes,
        connections: 1,
        cpus: first_cpu(),
        verify: Some(OneIn(NonZeroU32::MIN)),
        timeout: Nanos(180_000_000_000),
        insecure: true,
        ..plan
    };
    let job = Job::new(plan, Url::at(true, address, "/"), address);
    let outcome = Engine::start(Job { operations: Some(handshakes), ..job }).unwrap().join();
    assert_eq!(
        (outcome.completed, outcome.failures.total()),
        (handshakes, 0),
        "{:?}",
        outcome.failures
    );
    let [(negotiated, count)] = outcome.negotiated[..] else { panic!("{:?}", outcome.negotiated) };
    assert_eq!((negotiated.group, negotiated.resumed, count), (group, false, handshakes));
    assert!(suite.is_none_or(|suite| suite == negotiated.suite));
}

/// All instructions of a run, from callgrind's file.
fn instructions(report: &str) -> u64 {
    let summary = report.lines().find_map(|line| line.strip_prefix("summary: "));
    summary.and_then(|count| count.trim().parse().ok()).expect("callgrind tells a summary")
}
