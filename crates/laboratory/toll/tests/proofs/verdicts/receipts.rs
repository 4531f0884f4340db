//! Receipts that change with the server, and are refused where they are not what was asked.

use std::path::Path;

use observe::Fact;

use super::bench::{line, load, load_plain};
use support::Serve;

const SHORT: [&str; 6] = ["-c", "2", "-d", "300ms", "--warmup", "100ms"];

#[test]
fn every_name_follows_the_server() {
    for (options, expected) in [
        (
            &["--tls", "1.2", "--suites", "ECDHE-RSA-AES256-GCM-SHA384", "--groups", "secp384r1"][..],
            [
                "1.2",
                "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
                "secp384r1",
                "rsa_pss_rsae_sha",
                "rsa:2048",
            ],
        ),
        (
            &["--tls", "1.3", "--groups", "x25519", "--certificate-key", "ecdsa:p256"][..],
            ["1.3", "TLS_AES_", "x25519", "ecdsa_secp256r1_sha256", "ecdsa:p256"],
        ),
    ] {
        let server = Serve::pinned(options);
        let obtained = line(load(&server, "bytes/1KiB").args(SHORT)).receipt.obtained;
        let names = [
            &obtained.tls,
            &obtained.suite,
            &obtained.group,
            &obtained.signature_scheme,
            &obtained.certificate_key,
        ];
        for (names, expected) in names.into_iter().zip(expected) {
            let all: Vec<&str> = names.keys().map(String::as_str).collect();
            assert!(matches!(all[..], [name] if name.starts_with(expected)), "{all:?}: {expected}");
        }
    }
}

#[test]
fn a_server_that_does_not_encrypt_before_the_mac_is_not_what_was_asked() {
    for agrees in ["on", "off"] {
        let server = Serve::pinned(&["--encrypt-then-mac", agrees]);
        let mut load = load(&server, "bytes/1KiB");
        load.args(["--suite", "AES128-SHA", "--encrypt-then-mac", "on"]);
        let line = line(load.args(SHORT));
        let told: Vec<String> = line.receipt.mismatch.iter().map(ToString::to_string).collect();
        if agrees == "on" {
            assert!(told.is_empty() && line.receipt.obtained.encrypt_then_mac == Some(true));
        } else {
            assert!(!line.valid && told.len() == 1, "{told:?}");
            assert!(told[0].starts_with("encrypt_then_mac: "));
        }
    }
}

#[test]
fn the_kernels_tls_is_counted_or_it_is_said_why_not() {
    let server = Serve::pinned(&[]);
    let receipt = line(load(&server, "bytes/1KiB").args(SHORT)).receipt;
    match receipt.obtained.kernel_tls.unwrap() {
        Fact::Known(counted) => assert!(counted.sent_by_software < receipt.obtained.full.unwrap()),
        Fact::Unknown { not_available_here } => {
            assert!(!Path::new("/proc/net/tls_stat").exists(), "{not_available_here}");
            assert!(not_available_here.contains("CONFIG_TLS"), "{not_available_here}");
        }
    }
    // Of plain HTTP there is nothing to say.
    let plain = line(load_plain(&server, "bytes/1KiB").args(SHORT)).receipt;
    assert_eq!(plain.obtained.kernel_tls, None);
    assert_eq!(plain.asked.receive, Some(load::Receive::Walk));
}
