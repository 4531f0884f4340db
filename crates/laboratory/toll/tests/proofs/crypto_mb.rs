//! `toll bench --library crypto-mb`: with Intel's library where it is there and this CPU can use it, and with a
//! stand-in that is wrong.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use support::{CryptoMbStandIn, crypto_mb_is_lacking};

fn bench(folder: Option<&Path>, arguments: &[&str]) -> Output {
    let mut toll: Command = support::toll();
    toll.args(["bench", "--json", "--samples", "3"]).args(arguments).env_remove("TOLL_HARDWARE");
    match folder {
        Some(folder) => toll.env("CRYPTO_MB", folder),
        None => toll.env_remove("CRYPTO_MB"),
    };
    toll.output().unwrap()
}

fn rows(output: &Output) -> Vec<Value> {
    let said = String::from_utf8_lossy(&output.stderr);
    let bench: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{said}"));
    let rows = bench["rows"].as_array().unwrap();
    rows.iter().filter(|row| row["library"] != "openssl").cloned().collect()
}

#[test]
fn batches_of_every_size_have_figures_that_a_second_library_confirms() {
    let algorithms = [
        "rsa-2048 sign",
        "rsa-2048 decrypt",
        "rsa-3072 sign",
        "rsa-3072 decrypt",
        "rsa-4096 sign",
        "rsa-4096 decrypt",
        "ecdsa p-256 sign",
        "ecdsa p-384 sign",
        "x25519 derive",
        "x25519 exchange",
        "ecdh p-256 derive",
        "ecdh p-256 exchange",
        "ecdh p-384 derive",
        "ecdh p-384 exchange",
    ];
    let batches = [("crypto-mb", 8), ("crypto-mb-4", 4), ("crypto-mb-2", 2), ("crypto-mb-1", 1)];
    let libraries = batches.iter().flat_map(|(name, _)| ["--library", name]);
    let arguments: Vec<_> = algorithms.into_iter().chain(libraries).collect();
    let output = bench(None, &arguments);
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(2) && crypto_mb_is_lacking(&said) {
        return eprint!("skipped: {said}");
    }
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let rows = rows(&output);
    assert_eq!(rows.len(), algorithms.len() * batches.len());
    for row in &rows {
        let (_, lanes) = batches.iter().find(|(name, _)| row["library"] == *name).unwrap();
        assert_eq!(row["messages_per_op"], *lanes, "{row}");
        assert!(!row["confirmed_by"].as_str().unwrap().starts_with("crypto_mb"), "{row}");
    }
}

#[test]
fn results_that_are_wrong_have_no_figure() {
    for (stand_in, words) in [
        (CryptoMbStandIn::default(), ["rsa-2048 sign", "x25519 derive"]),
        (
            CryptoMbStandIn { wrong_lane: Some(7), ..CryptoMbStandIn::default() },
            ["rsa-2048 sign", "rsa-2048 decrypt"],
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        stand_in.build(folder.path());
        let output = bench(Some(folder.path()), &[words[0], words[1], "--library", "crypto-mb"]);
        assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stderr));
        let rows = rows(&output);
        assert_eq!(rows.len(), 2);
        for row in rows {
            assert!(row["no_figure"].as_str().unwrap().starts_with("no figure: "), "{row}");
            assert_eq!(row["reason"], "refused");
        }
    }
}

#[test]
fn a_library_that_cannot_be_used_is_refused_in_a_line() {
    let lacks = CryptoMbStandIn { lacks_a_function: true, ..CryptoMbStandIn::default() };
    let without = CryptoMbStandIn { is_applicable: false, ..CryptoMbStandIn::default() };
    for (stand_in, named) in [
        (None, "make crypto-mb"),
        (Some(lacks), "mbx_nistp384_ecdsa_sign_mb8"),
        (Some(without), "AVX-512 IFMA"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        if let Some(stand_in) = stand_in {
            stand_in.build(folder.path());
        }
        let output = bench(Some(folder.path()), &["x25519", "--library", "crypto-mb"]);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), said.lines().count()), (Some(2), 1), "{said}");
        assert!(said.contains(named), "{said}");
    }
}
