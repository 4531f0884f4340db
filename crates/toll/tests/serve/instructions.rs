//! The server does the same work whether the client's key share is fixed or fresh. Time is too
//! coarse to show it, so the server runs in callgrind, which counts its instructions.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::Path;

use cpus::CpuList;
use load::{
    Arrival, Engine, KeyExchangeMode, OneIn, Operation, Plan, Receive, Stop, TlsPlan, Trust, Url,
};
use tls::{Group, Version};
use units::Nanos;

use crate::server::{Serve, peer, stdout_of};

/// Handshakes that make the server do all that it does only once.
const FIRST: u64 = 4;
/// Handshakes that are counted.
const COUNTED: u64 = 20;
/// Two equal runs differ by less: signatures and keys are random, and so are their lengths and the
/// paths through what computes them.
const TOLERANCE: f64 = 0.005;

#[test]
fn fixed_and_fresh_shares_cost_the_server_the_same_instructions() {
    let folder = tempfile::tempdir().unwrap();
    let (certificate, key) = make_certificate(folder.path());
    let cpu = first_cpu().to_string();
    let count = |group, mode, handshakes| {
        let out = folder.path().join("callgrind.out");
        let mut callgrind = peer("valgrind");
        callgrind.args(["--tool=callgrind", "--quiet"]);
        callgrind.arg(format!("--callgrind-out-file={}", out.display()));
        callgrind.arg(env!("CARGO_BIN_EXE_toll"));
        let options = ["--certificate", &certificate, "--key", &key, "--cpus", &cpu];
        let mut server = Serve::start_as(callgrind, &options);
        shake_hands(server.tls, group, mode, handshakes);
        server.signal("-INT");
        assert_eq!(server.exit_code(), Some(0));
        instructions(&std::fs::read_to_string(out).unwrap()) as f64
    };
    let start = count(Group::X25519, KeyExchangeMode::Fixed, FIRST);
    let each = |group, mode| (count(group, mode, FIRST + COUNTED) - start) / COUNTED as f64;

    let mut of_groups = Vec::new();
    for group in [Group::X25519, Group::Secp256r1] {
        let fixed = each(group, KeyExchangeMode::Fixed);
        let fresh = each(group, KeyExchangeMode::Fresh);
        eprintln!(
            "{group}: {fixed:.0} instructions with a fixed share, {fresh:.0} with a fresh one"
        );
        assert!((fixed / fresh - 1.0).abs() < TOLERANCE, "{group}: {fixed} and {fresh}");
        of_groups.push(fresh);
    }
    // Otherwise nothing would be shown: what is another key exchange counts otherwise.
    assert!((of_groups[0] / of_groups[1] - 1.0).abs() > 10.0 * TOLERANCE, "{of_groups:?}");
}

/// So many full handshakes, one after another.
fn shake_hands(address: SocketAddr, group: Group, mode: KeyExchangeMode, handshakes: u64) {
    let plan = Plan {
        url: Url::at(true, address, "/"),
        address,
        tls: TlsPlan {
            version: Some(Version::Tls13),
            group: Some(group),
            key_exchange: Some(mode),
            trust: Trust::Anyone,
            ..TlsPlan::any()
        },
        operation: Operation::Handshakes,
        arrival: Arrival::CLOSED,
        connections: 1,
        cpus: first_cpu(),
        stop: Stop::Operations(handshakes),
        receive: Receive::Walk,
        verify: OneIn(NonZeroU32::MIN),
        objects: None,
        ramp: Nanos(0),
        close: load::Close::Fin,
        seed: 0,
        timeout: Nanos(180_000_000_000),
    };
    let outcome = Engine::start(plan).unwrap().join();
    assert_eq!((outcome.completed, outcome.failures.total()), (handshakes, 0));
    let [(negotiated, count)] = outcome.negotiated[..] else { panic!("{:?}", outcome.negotiated) };
    assert_eq!((negotiated.group, negotiated.resumed, count), (Some(group), false, handshakes));
}

fn first_cpu() -> CpuList {
    CpuList::from(CpuList::allowed().unwrap().as_slice()[0])
}

/// A certificate and its key, for all servers: a key of its own would make a difference.
fn make_certificate(folder: &Path) -> (String, String) {
    let [certificate, key] = ["certificate.pem", "key.pem"]
        .map(|name| folder.join(name).to_str().expect("a path in UTF-8").to_owned());
    let mut openssl = peer("openssl");
    openssl.args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]);
    openssl.args(["-nodes", "-subj", "/CN=localhost", "-out", &certificate, "-keyout", &key]);
    stdout_of(&mut openssl);
    (certificate, key)
}

/// All instructions of a run, from callgrind's file.
fn instructions(report: &str) -> u64 {
    let summary = report.lines().find_map(|line| line.strip_prefix("summary: "));
    summary.and_then(|count| count.trim().parse().ok()).expect("callgrind tells a summary")
}
