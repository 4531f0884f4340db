//! Intel's multi-buffer library in servers: the real one where it is there and this CPU can use it, and a
//! stand-in that is wrong.

use std::path::Path;

use support::{CryptoMbStandIn, Serve, crypto_mb_is_lacking, text, toll};
use targets::{AcceleratorCounts, KeyUse, SendCounters};
use trial::{TrialRecord, WarningKind};

use super::study::{RSA, refusal, study, used};

const MULTI_BUFFER: &str = "accelerator = \"multi-buffer\"";
const P256: &str = "certificate-key = \"ecdsa:p256\"";

/// The one trial of a study with this library, or with the installed one; `None` where there is none that
/// this machine can use.
#[track_caller]
fn line(server: &str, library: Option<&Path>, target: &str, load: &str) -> Option<TrialRecord> {
    let desk = study(server, &format!("{MULTI_BUFFER}\n{target}"), load);
    let mut run = desk.run(&[]);
    match library {
        Some(folder) => run.env("CRYPTO_MB", folder),
        None => run.env_remove("CRYPTO_MB"),
    };
    let output = run.output().unwrap();
    let said = text(&output.stderr);
    if library.is_none() && crypto_mb_is_lacking(&said) {
        eprintln!("skipped: {said}");
        return None;
    }
    assert!(desk.results_if_any().is_some(), "{said}");
    let targets = std::fs::read_to_string(desk.results().join("targets.json")).unwrap();
    assert!(targets.contains("crypto_mb "), "{targets}");
    let journal = std::fs::read_to_string(desk.journal()).unwrap();
    let first = journal.lines().next().unwrap_or_else(|| panic!("no trial: {said}"));
    Some(serde_json::from_str(first).unwrap())
}

#[test]
fn batches_do_all_that_handshakes_need_of_private_keys() {
    use KeyUse::{EcdhDerive, EcdhKey, EcdsaSign, RsaDecrypt, RsaSign, X25519Derive, X25519Key};
    let fresh = "suite = \"AES128-SHA\"\nkey-exchange = \"fresh\"";
    let ecdhe = "suite = \"ECDHE-RSA-AES128-GCM-SHA256\"\ngroup = \"x25519\"";
    let ecdsa = "suite = \"ECDHE-ECDSA-AES128-GCM-SHA256\"\ngroup = \"p256\"";
    let [x25519, p384] =
        ["x25519", "p384"].map(|group| format!("tls = \"1.3\"\ngroup = \"{group}\""));
    let p384_key = "certificate-key = \"ecdsa:p384\"";
    let both = &["embedded", "haproxy"][..];
    let embedded = &both[..1];
    let [decrypt, nist] = [&[RsaDecrypt][..], &[EcdsaSign, EcdhKey, EcdhDerive]];
    for (target, servers, load, uses) in [
        ("", both, RSA, decrypt),
        ("", embedded, fresh, decrypt),
        ("", both, ecdhe, &[RsaSign, X25519Key, X25519Derive]),
        (P256, both, &x25519, &[EcdsaSign, X25519Key, X25519Derive]),
        (p384_key, embedded, &p384, nist),
        (P256, both, ecdsa, nist),
    ] {
        for server in servers {
            let Some(line) = line(server, None, target, load) else { return };
            assert_eq!(line.receipt.mismatch, [], "{line:?}");
            let counts = used(&line).counts;
            let batches = counts.batches.unwrap();
            assert_eq!((counts.in_flight(), batches.faulty()), (0, 0), "{counts:?}");
            assert!(batches.by_size[7] > 0 && batches.computing_ns > 0, "{counts:?}");
            assert_eq!(batches.pause_ns > 0, *server == "haproxy", "{counts:?}");
            let found: Vec<_> = batches.uses.used().map(|(of, _)| of).collect();
            assert_eq!(found, uses, "{server} {load}");
            for (of, counts) in batches.uses.used() {
                assert!((1..=9).contains(&counts.break_even), "{of}: {counts:?}");
                assert_eq!(counts.submitted, counts.completed + counts.below_break_even, "{of}");
                assert!(counts.submitted >= line.receipt.obtained.full.unwrap(), "{of}: {line:?}");
            }
            // Of keys of handshakes, those of the last batches are left.
            let stock = batches.computed().abs_diff(counts.completed);
            assert!(stock <= 7 * 2, "{counts:?}");
        }
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
    let x25519 = "tls = \"1.3\"\ngroup = \"x25519\"";
    for (target, load, of) in [
        ("", RSA, KeyUse::RsaDecrypt),
        // Its results of curves are zeros.
        (P256, x25519, KeyUse::EcdsaSign),
        (P256, x25519, KeyUse::X25519Key),
        (P256, x25519, KeyUse::X25519Derive),
    ] {
        // Those of other lanes would be wrong too without being noticed: no batch has them.
        let target = format!("{target}\noffload = \"synchronous\"");
        let line = line("embedded", Some(folder.path()), &target, load).unwrap();
        let said = line.why_invalid().unwrap_or_else(|| panic!("{line:?}"));
        assert!(said.contains("accelerator: ") && said.contains("faulty"), "{said}");
        let counts = used(&line).counts;
        assert_eq!((counts.completed, counts.in_flight()), (0, 0), "{counts:?}");
        let faulty = counts.batches.unwrap().uses[of].faulty;
        assert!(faulty >= line.receipt.obtained.full.unwrap(), "{of}: {line:?}");
        let errors: u64 = line.operations.errors.values().sum();
        assert_eq!(errors, 0, "{line:?}");
    }
}

/// A stand-in that takes so long that no batch is ever worth it.
#[test]
fn a_trial_that_openssl_did_since_no_batch_pays_is_marked() {
    let folder = tempfile::tempdir().unwrap();
    CryptoMbStandIn { milliseconds: 20, ..CryptoMbStandIn::default() }.build(folder.path());
    let line = line("embedded", Some(folder.path()), "", RSA).unwrap();
    assert_eq!(line.receipt.mismatch, [], "{line:?}");
    let counts = used(&line).counts.batches.unwrap();
    assert_eq!(counts.uses[KeyUse::RsaDecrypt].break_even, 9);
    assert_eq!((counts.by_size, counts.uses[KeyUse::RsaDecrypt].completed), ([0; 8], 0));
    let marked = line.warnings.iter().find(|it| it.kind == WarningKind::BatchesNeverPay);
    assert!(marked.is_some_and(|it| it.seen.contains("rsa-decrypt")), "{:?}", line.warnings);
}

#[test]
fn a_library_that_is_gone_when_the_server_starts_is_named() {
    for server in ["embedded", "haproxy"] {
        let folder = tempfile::tempdir().unwrap();
        // toll's check is the first that loads it.
        CryptoMbStandIn { vanishes: true, ..CryptoMbStandIn::default() }.build(folder.path());
        let desk = study(server, MULTI_BUFFER, RSA);
        let output = desk.run(&[]).env("CRYPTO_MB", folder.path()).output().unwrap();
        let said = text(&output.stderr);
        assert!(matches!(output.status.code(), Some(2 | 3)), "{said}");
        assert!(said.contains("make crypto-mb"), "{said}");
        assert!(!said.contains("panicked"), "{said}");
    }
}

#[test]
fn a_server_whose_library_lacks_a_function_does_not_start() {
    let folder = tempfile::tempdir().unwrap();
    CryptoMbStandIn { lacks_a_function: true, ..CryptoMbStandIn::default() }.build(folder.path());
    let desk = study("embedded", MULTI_BUFFER, RSA);
    let output = desk.run(&[]).env("CRYPTO_MB", folder.path()).output().unwrap();
    let said = crate::errors(&output.stderr);
    assert_eq!((output.status.code(), said.trim_end().lines().count()), (Some(2), 1), "{said}");
    assert!(said.contains("mbx_nistp384_ecdsa_sign_mb8"), "{said}");
}

#[test]
fn ten_thousand_handshakes_with_a_faulty_library_end_and_none_waits() {
    const HANDSHAKES: u64 = 10_000;
    for (suite, key) in [("AES128-SHA", "rsa:2048"), ("TLS_AES_128_GCM_SHA256", "ecdsa:p256")] {
        let folder = tempfile::tempdir().unwrap();
        // All lanes are refused.
        CryptoMbStandIn { status: 0x4444_4444, ..CryptoMbStandIn::default() }.build(folder.path());
        let counters = folder.path().join("counters");
        let mut server = toll();
        server.env("CRYPTO_MB", folder.path());
        let options =
            ["--accelerator", "multi-buffer", "--suites", suite, "--certificate-key", key];
        let options = [&options[..], &["--counters", counters.to_str().unwrap()]].concat();
        let cpu = support::first_cpu().to_string();
        let server =
            Serve::start_by(server, "127.0.0.1", &[&["--cpus", &cpu], &options[..]].concat());
        let mut load = server.load("bytes/1B");
        load.args(["--operation", "handshakes", "--connections", "64", "--json"]);
        load.args(["--suite", suite, "--count", &HANDSHAKES.to_string(), "--duration", "60s"]);
        let output = load.output().unwrap();
        let said = text(&output.stderr);
        let line: TrialRecord =
            serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{said}"));
        assert_eq!(line.operations.completed, HANDSHAKES, "{line:?}");
        assert_eq!(line.operations.errors.values().sum::<u64>(), 0, "{line:?}");
        let counts = SendCounters::settled(&counters).unwrap().accelerator.unwrap();
        let AcceleratorCounts { submitted, completed, .. } = counts;
        assert_eq!((completed, counts.in_flight()), (0, 0), "{counts:?}");
        assert_eq!(counts.batches.unwrap().faulty(), submitted, "{counts:?}");
    }
}

/// Results that are wrong and seem right: the client notices, and the failure has a name.
#[test]
fn a_handshake_whose_secret_is_wrong_fails_by_name() {
    let folder = tempfile::tempdir().unwrap();
    CryptoMbStandIn::default().build(folder.path());
    let counters = folder.path().join("counters");
    let mut server = toll();
    server.env("CRYPTO_MB", folder.path());
    let options = ["--accelerator", "multi-buffer", "--suites", "AES128-SHA", "--counters"];
    let cpu = support::first_cpu().to_string();
    let options = [&["--cpus", &cpu], &options[..], &[counters.to_str().unwrap()]].concat();
    let server = Serve::start_by(server, "127.0.0.1", &options);
    let mut load = server.load("bytes/1B");
    load.args([
        "--operation",
        "handshakes",
        "--connections",
        "8",
        "--json",
        "--suite",
        "AES128-SHA",
    ]);
    load.args(["--duration", "10s"]);
    let output = load.output().unwrap();
    let said = crate::errors(&output.stderr);
    // The first one fails, and nothing is measured.
    assert_eq!((output.status.code(), said.trim_end().lines().count()), (Some(2), 1), "{said}");
    assert!(said.contains("bad_record_mac"), "{said}");
    let counts = SendCounters::settled(&counters).unwrap().accelerator.unwrap();
    assert!(counts.completed > 0 && counts.in_flight() == 0, "{counts:?}");
}

/// Neither results nor logs nor what is printed have the secret numbers of a key, whatever the library does.
#[test]
fn no_byte_of_a_key_is_written() {
    let folder = tempfile::tempdir().unwrap();
    CryptoMbStandIn { wrong_lane: Some(0), ..CryptoMbStandIn::default() }.build(folder.path());
    for server in ["embedded", "haproxy"] {
        let desk = study(server, MULTI_BUFFER, RSA);
        let output = desk.run(&["-v"]).env("CRYPTO_MB", folder.path()).output().unwrap();
        let mut texts =
            vec![("stdout".to_owned(), output.stdout), ("stderr".to_owned(), output.stderr)];
        let mut folders = vec![desk.results_if_any().unwrap()];
        let mut secrets = Vec::new();
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap().flatten() {
                let path = entry.path();
                if path.is_dir() {
                    folders.push(path);
                } else if let Ok(bytes) = std::fs::read(&path) {
                    // The server reads its key from there.
                    match openssl::rsa::Rsa::private_key_from_pem(&bytes) {
                        Ok(key) => secrets.push(key),
                        Err(_) => texts.push((path.display().to_string(), bytes)),
                    }
                }
            }
        }
        for (name, text) in &texts {
            let has = |part: &[u8]| text.windows(part.len()).any(|window| window == part);
            assert!(!has(b"PRIVATE KEY"), "{server}: {name}");
            for key in &secrets {
                for number in [key.p().unwrap(), key.q().unwrap(), key.dmp1().unwrap(), key.d()] {
                    let bytes = &number.to_vec()[..16];
                    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
                    assert!(!has(bytes) && !has(hex.as_bytes()), "{server}: {name}");
                    assert!(!has(hex.to_uppercase().as_bytes()), "{server}: {name}");
                }
            }
        }
    }
}

#[test]
fn what_the_library_cannot_do_is_refused_before_a_server_starts() {
    for (target, named) in [
        ("certificate-key = \"ed25519\"", "ecdsa:p384"),
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
    let said = crate::errors(&output.stderr);
    assert_eq!((output.status.code(), said.lines().count()), (Some(2), 1), "{said}");
    assert!(said.contains("make crypto-mb"), "{said}");
}
