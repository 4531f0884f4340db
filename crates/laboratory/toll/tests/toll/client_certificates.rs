//! Client certificates, with nginx as the server that verifies them.

use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;

use cpus::CpuList;
use journal::Journal;
use support::{Desk, text, toll};
use targets::{Objects, Running, Settings, Target};
use tempfile::TempDir;
use tls::{AskClient, Identity};
use trial::TrialRecord;
use units::Bytes;

/// nginx, which asks clients for a certificate in this way and resumes sessions.
fn nginx(ask: AskClient, folder: &TempDir) -> Running {
    let objects = Arc::new(Objects::make(&[Bytes(1000)], folder.path()).unwrap());
    let defaults = Settings::new(CpuList::allowed().unwrap());
    let target = Target { client_certificate: ask, tickets: true, ..defaults.target.clone() };
    let settings = Settings { target, ..defaults };
    targets::start(targets::by_name("nginx").unwrap(), &settings, &objects, folder.path(), None)
        .unwrap()
}

fn load(server: &Running, client: Option<(&Path, &Path)>, options: &[&str]) -> Output {
    let mut load: Command = toll();
    load.args(["load", &format!("https://{}/bytes/1000B", server.facts().https), "--json"]);
    load.arg("--ca").arg(&server.facts().certificate);
    load.args(["-c", "1", "-n", "6"]).args(options);
    if !options.contains(&"--operation") {
        load.args(["--operation", "one-request-per-connection"]);
    }
    if let Some((certificate, key)) = client {
        load.arg("--client-certificate").arg(certificate).arg("--client-key").arg(key);
    }
    load.output().unwrap()
}

fn line(output: &Output) -> TrialRecord {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)))
}

#[test]
fn nginx_serves_the_client_with_its_certificate_and_the_receipt_shows_it() {
    let folder = tempfile::tempdir().unwrap();
    let server = nginx(AskClient::Require, &folder);
    let own = server.facts().client.clone().unwrap();
    let own = (&*own.certificate, &*own.key);
    for options in [
        &["--tls", "1.3"][..],
        &["--tls", "1.3", "--key-exchange", "fresh"],
        &["--tls", "1.2"],
        &["--suite", "AES128-SHA"],
        &[],
        &["--tls", "1.3", "--resumption", "50%"],
        &["--tls", "1.2", "--resumption", "50%"],
        &["--tls", "1.3", "--http", "2", "--operation", "requests"],
        &["--tls", "1.2", "--http", "2", "--operation", "requests"],
    ] {
        let line = line(&load(&server, Some(own), options));
        let obtained = &line.receipt.obtained;
        assert!(line.valid, "{options:?}: {:?}", line.receipt.mismatch);
        assert_eq!(line.operations.completed, 6, "{options:?}");
        let full = obtained.full.unwrap();
        assert_eq!(obtained.client_certificates, Some(full), "{options:?}");
        assert_eq!(obtained.certificate_requests, Some(full), "{options:?}");
        assert_eq!(obtained.client_key.get("ecdsa:p256"), Some(&full), "{options:?}");
        assert_eq!(obtained.client_scheme.len(), 1, "{options:?}");
        let resumes = options.contains(&"--resumption");
        assert_eq!(obtained.resumed.unwrap() > 0, resumes, "{options:?}");
    }
}

#[test]
fn a_chain_that_is_longer_than_the_server_takes_is_told_with_its_length() {
    let folder = tempfile::tempdir().unwrap();
    let server = nginx(AskClient::Require, &folder);
    let own = server.facts().client.clone().unwrap();
    let certificate = std::fs::read_to_string(&own.certificate).unwrap();
    for (times, is_told) in [(10, false), (1000, true)] {
        let long = folder.path().join(format!("{times}.crt"));
        std::fs::write(&long, certificate.repeat(times)).unwrap();
        let output = load(&server, Some((&long, &own.key)), &["--tls", "1.3"]);
        let error = text(&output.stderr);
        assert_eq!(error.contains("give a shorter chain"), is_told, "{error}");
    }
}

#[test]
fn a_client_without_an_acceptable_certificate_is_told_what_to_give() {
    let folder = tempfile::tempdir().unwrap();
    let server = nginx(AskClient::Require, &folder);
    let (certificate, key) = (folder.path().join("own.crt"), folder.path().join("own.key"));
    Identity::generate(tls::CertificateKey::EcdsaP256).unwrap().write(&certificate, &key).unwrap();
    for version in ["1.2", "1.3"] {
        for (client, expected) in [
            (None, "--client-certificate FILE"),
            (Some((&*certificate, &*key)), "trust who issued it"),
        ] {
            let output = load(&server, client, &["--tls", version]);
            let error = text(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{error}");
            assert_eq!(error.lines().count(), 1, "{error}");
            assert!(error.contains(expected), "{version}: {error}");
        }
    }
}

#[test]
fn a_certificate_that_no_handshake_needed_is_a_mismatch() {
    let folder = tempfile::tempdir().unwrap();
    let server = nginx(AskClient::None, &folder);
    let (certificate, key) = (folder.path().join("own.crt"), folder.path().join("own.key"));
    Identity::generate(tls::CertificateKey::Ed25519).unwrap().write(&certificate, &key).unwrap();
    for options in [&["--tls", "1.2"][..], &["--tls", "1.3"], &["--operation", "handshakes"]] {
        let line = line(&load(&server, Some((&certificate, &key)), options));
        let mismatch = &line.receipt.mismatch;
        assert!(!line.valid, "{options:?}");
        assert_eq!(mismatch.len(), 1, "{mismatch:?}");
        assert_eq!(mismatch[0].what, "client_certificates");
        assert_eq!(line.receipt.obtained.client_certificates, Some(0));
    }
}

const STUDY: &str = r#"
schema = 1
question = "What does mutual TLS cost?"
trials = 2
[target]
object = "1KiB"
certificate-key = "ecdsa:p256"
[load]
operation = "one-request-per-connection"
connections = 4
tls = "1.3"
warmup = "50ms"
duration = "200ms"
[[case]]
name = "mutual"
sweep."target.server" = ["embedded", "nginx"]
sweep."target.client-certificate" = ["none", "require"]
[[answer]]
case = "mutual"
metric = "server-cpu-per-operation"
compare = "target.client-certificate"
baseline = "none"
"#;

#[test]
fn a_study_answers_what_mutual_tls_costs() {
    let desk = Desk::new(STUDY);
    let output = desk.run(&["--quiet"]).output().unwrap();
    assert!(output.stdout.is_empty() || output.status.success(), "{}", text(&output.stderr));
    let trials = Journal::read(&desk.journal()).unwrap().trials;
    assert_eq!(trials.len(), 8);
    for trial in trials {
        let asks = trial.place.params["target.client-certificate"].to_string() == "require";
        let TrialRecord { receipt, operations, .. } = &trial.line;
        assert!(receipt.mismatch.is_empty(), "{:?}", receipt.mismatch);
        assert!(operations.completed > 0 && operations.errors.is_empty(), "{operations:?}");
        let full = receipt.obtained.full;
        assert_eq!(receipt.obtained.client_certificates, full.filter(|_| asks));
        assert_eq!(receipt.asked.client_certificates.is_some(), asks);
    }
}
