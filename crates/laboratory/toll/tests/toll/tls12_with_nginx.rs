//! The client's handshakes of TLS 1.2 with nginx: each suite, kind of key and group, with a fixed and with
//! a fresh key exchange.

use std::sync::Arc;

use cpus::CpuList;
use support::{text, toll};
use targets::{Objects, Settings, Target};
use tls::{CertificateKey, Group, KeyExchange, SUITES, Suite, Version};
use trial::TrialRecord;
use units::Bytes;

#[test]
fn every_suite_of_tls12_is_what_the_receipt_says() {
    let folder = tempfile::tempdir().unwrap();
    let objects = Arc::new(Objects::make(&[Bytes(1000)], folder.path()).unwrap());
    let groups = [Group::X25519, Group::Secp256r1, Group::Secp384r1];
    let mut turn = 0;
    for key in [
        CertificateKey::Rsa(1024),
        CertificateKey::Rsa(2048),
        CertificateKey::EcdsaP256,
        CertificateKey::EcdsaP384,
        CertificateKey::Ed25519,
    ] {
        let is_rsa = matches!(key, CertificateKey::Rsa(_));
        let fits = |suite: &Suite| match suite.key_exchange {
            KeyExchange::Tls13 => false,
            KeyExchange::EcdheEcdsa => !is_rsa,
            _ => is_rsa,
        };
        let suites: Vec<&'static Suite> = SUITES.iter().filter(|suite| fits(suite)).collect();
        let defaults = Settings::new(CpuList::allowed().unwrap());
        let target = Target { certificate_key: key, ..defaults.target };
        let versions = vec![Version::Tls12];
        let settings = Settings { versions, suites: suites.clone(), target, ..defaults };
        let nginx = targets::by_name("nginx").unwrap();
        let server = targets::start(nginx, &settings, &objects, folder.path(), None).unwrap();
        for suite in suites {
            turn += 1;
            let mode = ["fixed", "fresh"][turn % 2];
            // OpenSSL takes a key only on a curve that is among the client's groups.
            let group = match key {
                CertificateKey::EcdsaP256 => Group::Secp256r1,
                CertificateKey::EcdsaP384 => Group::Secp384r1,
                _ => groups[turn % 3],
            };
            let url = format!("https://{}/bytes/1000B", server.facts().https);
            let mut options =
                vec!["--suite", suite.name, "--key-exchange", mode, "--verify", "1/1"];
            if suite.key_exchange != KeyExchange::Rsa {
                options.extend(["--group", group.name()]);
            }
            let output = toll()
                .args(["load", &url, "--json", "-c", "1", "-n", "3", "--ca"])
                .arg(&server.facts().certificate)
                .args(["--operation", "one-request-per-connection"])
                .args(&options)
                .output()
                .unwrap();
            let line: TrialRecord = serde_json::from_slice(&output.stdout)
                .unwrap_or_else(|error| panic!("{suite} {key}: {error}: {}", text(&output.stderr)));
            let obtained = &line.receipt.obtained;
            let case = format!("{suite} {key} {group} {mode}: {obtained:?}");
            assert!(line.valid, "{case}: {:?}", line.receipt.mismatch);
            assert_eq!((line.operations.completed, obtained.full), (3, Some(3)), "{case}");
            assert_eq!(obtained.suite.keys().collect::<Vec<_>>(), [suite.name], "{case}");
            let is_ephemeral = suite.key_exchange != KeyExchange::Rsa;
            let expected = is_ephemeral.then(|| group.name().to_owned());
            assert_eq!(obtained.group.keys().next().cloned(), expected, "{case}");
        }
    }
}
