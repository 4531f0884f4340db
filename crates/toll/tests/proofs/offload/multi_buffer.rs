//! Intel's multi-buffer library in the embedded server: the real one where it is there and this CPU can use
//! it, and a stand-in that is wrong.

use std::path::Path;

use support::{CryptoMbStandIn, Serve, text, toll};
use targets::{AcceleratorCounts, SendCounters};
use trial::Line;

use super::study::{RSA, refusal, study, used};

const MULTI_BUFFER: &str = "accelerator = \"multi-buffer\"";

/// The one trial of a study with this library, or with the installed one; `None` where there is none that
/// this machine can use.
#[track_caller]
fn line(server: &str, library: Option<&Path>, target: &str, load: &str) -> Option<Line> {
    let desk = study(server, &format!("{MULTI_BUFFER}\n{target}"), load);
    let mut run = desk.run(&[]);
    match library {
        Some(folder) => run.env("CRYPTO_MB", folder),
        None => run.env_remove("CRYPTO_MB"),
    };
    let output = run.output().unwrap();
    let said = text(&output.stderr);
    if library.is_none() && (said.contains("make crypto-mb") || said.contains("AVX-512 IFMA")) {
        eprintln!("skipped: {said}");
        return None;
    }
    assert!(desk.results_if_any().is_some(), "{said}");
    let journal = std::fs::read_to_string(desk.journal()).unwrap();
    let first = journal.lines().next().unwrap_or_else(|| panic!("no trial: {said}"));
    Some(serde_json::from_str(first).unwrap())
}

#[test]
fn batches_do_the_private_keys_of_static_rsa_and_of_signatures() {
    for (server, target, load, purpose) in [
        ("embedded", "", RSA, "decrypt"),
        ("embedded", "", "suite = \"AES128-SHA\"\nkey-exchange = \"fresh\"", "decrypt"),
        ("embedded", "", "suite = \"ECDHE-RSA-AES128-GCM-SHA256\"", "sign"),
        ("embedded", "", "tls = \"1.3\"", "sign"),
        ("haproxy", "", RSA, "decrypt"),
        ("haproxy", "", "tls = \"1.3\"", "sign"),
    ] {
        let Some(line) = line(server, None, target, load) else { return };
        assert_eq!(line.receipt.mismatch, [], "{line:?}");
        let counts = used(&line).counts;
        let batches = counts.batches.unwrap();
        assert_eq!((counts.in_flight(), batches.faulty), (0, 0), "{counts:?}");
        assert_eq!(batches.computed(), counts.completed, "{counts:?}");
        assert!(batches.by_size[7] > 0 && batches.computing_ns > 0, "{counts:?}");
        let (used, unused) = match purpose {
            "decrypt" => (batches.rsa_decrypt, batches.rsa_sign),
            _ => (batches.rsa_sign, batches.rsa_decrypt),
        };
        assert_eq!((used, unused), (counts.submitted, 0), "{counts:?}");
        assert!(used >= line.receipt.obtained.full.unwrap(), "{line:?}");
    }
}

#[test]
fn a_server_that_waits_in_its_thread_has_no_batches_and_goes_back_to_openssl() {
    let Some(line) = line("embedded", None, "offload = \"synchronous\"", RSA) else { return };
    let counts = used(&line).counts;
    assert_eq!((line.receipt.mismatch.len(), counts.in_flight_max), (0, 1), "{line:?}");
    assert_eq!(counts.batches.unwrap().by_size[1..], [0; 7], "{counts:?}");
}

#[test]
fn results_that_are_wrong_are_a_mismatch_and_harm_no_handshake() {
    let folder = tempfile::tempdir().unwrap();
    CryptoMbStandIn { wrong_lane: Some(0), ..CryptoMbStandIn::default() }.build(folder.path());
    // Those of other lanes would be wrong too without being noticed: no batch has them.
    let line = line("embedded", Some(folder.path()), "offload = \"synchronous\"", RSA).unwrap();
    let said = line.why_invalid().unwrap_or_else(|| panic!("{line:?}"));
    assert!(said.contains("accelerator: ") && said.contains("faulty"), "{said}");
    let counts = used(&line).counts;
    assert_eq!((counts.completed, counts.in_flight()), (0, 0), "{counts:?}");
    assert!(counts.batches.unwrap().faulty >= line.receipt.obtained.full.unwrap());
    assert_eq!(line.receipt.mismatch.len(), 1, "{line:?}");
}

#[test]
fn ten_thousand_handshakes_with_a_faulty_library_end_and_none_waits() {
    const HANDSHAKES: u64 = 10_000;
    let folder = tempfile::tempdir().unwrap();
    // All lanes are refused.
    CryptoMbStandIn { status: 0x4444_4444, ..CryptoMbStandIn::default() }.build(folder.path());
    let counters = folder.path().join("counters");
    let mut server = toll();
    server.env("CRYPTO_MB", folder.path());
    let options = ["--accelerator", "multi-buffer", "--suites", "AES128-SHA", "--counters"];
    let options = [&options[..], &[counters.to_str().unwrap()]].concat();
    let cpu = support::first_cpu().to_string();
    let server = Serve::start_by(server, "127.0.0.1", &[&["--cpus", &cpu], &options[..]].concat());
    let mut load = server.load("bytes/1B");
    load.args(["--operation", "handshakes", "--connections", "64", "--json"]);
    load.args(["--suite", "AES128-SHA", "--count", &HANDSHAKES.to_string(), "--duration", "60s"]);
    let output = load.output().unwrap();
    let said = text(&output.stderr);
    let line: Line = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{said}"));
    assert_eq!(line.operations.completed, HANDSHAKES, "{line:?}");
    assert_eq!(line.operations.errors.values().sum::<u64>(), 0, "{line:?}");
    let counts = SendCounters::settled(&counters).unwrap().accelerator.unwrap();
    let AcceleratorCounts { submitted, completed, .. } = counts;
    assert_eq!((completed, counts.in_flight()), (0, 0), "{counts:?}");
    assert_eq!(counts.batches.unwrap().faulty, submitted, "{counts:?}");
}

#[test]
fn what_the_library_cannot_do_is_refused_before_a_server_starts() {
    for (target, named) in [
        ("certificate-key = \"ecdsa:p256\"", "rsa:2048"),
        ("offload = \"inline\"", "asynchronous"),
        ("accelerator-rate = \"rsa:2048 5/s\"", "accelerator-rate"),
    ] {
        let said = refusal(&study("embedded", &format!("{MULTI_BUFFER}\n{target}"), RSA));
        assert!(said.contains(named), "{said}");
    }
    let synchronous = format!("{MULTI_BUFFER}\noffload = \"synchronous\"");
    let said = refusal(&study("nginx", &synchronous, RSA));
    assert!(said.contains("embedded or haproxy"), "{said}");
    let folder = tempfile::tempdir().unwrap();
    let mut serve = toll();
    serve.args(["serve", "--accelerator", "multi-buffer", "--listen", "127.0.0.1:0"]);
    let output = serve.env("CRYPTO_MB", folder.path()).output().unwrap();
    let said = text(&output.stderr);
    assert_eq!((output.status.code(), said.lines().count()), (Some(2), 1), "{said}");
    assert!(said.contains("make crypto-mb"), "{said}");
}
