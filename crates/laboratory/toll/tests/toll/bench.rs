//! `toll bench` as a user meets it, at tiny sizes. Nothing here depends on how fast anything is.

use std::process::{Command, Output};

use serde_json::Value;
use support::{insta, json_names};

fn bench(arguments: &[&str]) -> Output {
    let mut command = support::toll();
    command.arg("bench").args(arguments);
    for variable in ["TOLL_HARDWARE", "OPENSSL_ia32cap"] {
        command.env_remove(variable);
    }
    command.output().unwrap()
}

/// What `--json` prints for few samples.
fn json(arguments: &[&str]) -> Value {
    let output = bench(&[arguments, &["--json", "--samples", "3"]].concat());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The one line of an error.
fn error(arguments: &[&str]) -> String {
    let output = bench(arguments);
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(said.lines().count(), 1, "{said}");
    said.trim_end().to_owned()
}

/// Every benchmark runs: all algorithms of all libraries, those that are not available with a
/// reason, and no wrong result.
#[test]
fn everything_is_measured_or_has_a_reason() {
    let bench = json(&["--size", "64B"]);
    let rows = bench["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 62 * 7);
    let mut measured = 0;
    for row in rows {
        match row["no_figure"].as_str() {
            Some(why) => assert!(why.starts_with("not available: "), "{row}"),
            None => {
                assert!(row["cycles_per_op"]["median"].as_f64().unwrap() > 0.0, "{row}");
                assert!(row["ops_per_s"].as_f64().unwrap() > 0.0, "{row}");
                let is_by_the_byte = row["size_bytes"].is_number();
                assert_eq!(row["cycles_per_byte"].is_object(), is_by_the_byte, "{row}");
                assert!(!row["confirmed_by"].as_str().unwrap().is_empty(), "{row}");
                measured += 1;
            }
        }
    }
    assert!(measured > 100, "{measured}");
}

#[test]
fn programs_get_these_names() {
    let bench = json(&[
        "aes-128-gcm",
        "x25519",
        "--size",
        "8KiB",
        "--library",
        "openssl",
        "--library",
        "multibuffer",
    ]);
    insta::assert_snapshot!(json_names([&bench], &[]));
}

#[test]
fn a_sentence_comes_first_then_a_table_with_units() {
    let output = bench(&["aes-128-gcm", "--size", "8KiB", "--samples", "3", "--all"]);
    assert!(output.status.success());
    let said = String::from_utf8(output.stdout).unwrap();
    let first = said.lines().find(|line| line.contains("AES-128-GCM")).unwrap();
    for part in [" cycles/byte", "OpenSSL", "8KiB"] {
        assert!(first.contains(part), "{said}");
    }
    for words in [
        "core cycles per byte",
        "GB/s",
        "quiet samples",
        "Xeon Scalable 0.65",
        "Core cycles are ",
        "not available: the multi-buffer kernels only hash",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    // The bar is for terminals; nothing of it may be in a pipe.
    assert!(output.stderr.is_empty());
}

/// The record of AES-CBC and HMAC made by hand ends at 16 KiB like any other.
#[test]
fn the_usual_sizes_end_without_a_failure() {
    let bench = json(&["aes-128-cbc-hmac-sha1", "--library", "openssl", "--library", "rustcrypto"]);
    for row in bench["rows"].as_array().unwrap() {
        match row["size_bytes"].as_u64() {
            Some(65_536) => {
                let why = "not available: a record holds between 1B and 16KiB";
                assert_eq!(row["no_figure"], why, "{row}");
            }
            // OpenSSL has its stitched cipher only for processors with AES instructions.
            _ => assert_ne!(row["reason"], "refused", "{row}"),
        }
    }
}

/// Server side and client side apart, each confirmed by the other library.
#[test]
fn records_and_handshakes_in_memory() {
    let arguments = [
        "tls-1.3-aes-128-gcm-record",
        "tls-1.3-p-256-full-handshake",
        "tls-1.3-ed25519-full-handshake-with-p-384",
        "resumed-handshakes",
        "--size",
        "1KiB",
        "--size",
        "64KiB",
    ];
    let libraries = ["--library", "openssl", "--library", "rustls-ring"];
    let bench = json(&[&arguments[..], &libraries[..]].concat());
    let rows = bench["rows"].as_array().unwrap();
    assert_eq!(rows.len(), (2 * 2 + 6) * 2);
    for row in rows {
        if row["size_bytes"] == 64 << 10 {
            let why = "not available: a record holds between 1B and 16KiB";
            assert_eq!(row["no_figure"], why, "{row}");
            continue;
        }
        let expected = match row["library"].as_str() {
            Some("openssl") => "rustls",
            _ => "OpenSSL",
        };
        assert!(row["confirmed_by"].as_str().unwrap().starts_with(expected), "{row}");
        assert!(row["ns_per_op"].as_f64().unwrap() > 0.0, "{row}");
    }
    let said = bench_in_words(&[&arguments[..6], &libraries[..]].concat());
    for words in [
        "TLS 1.3 P-256 full handshake server: ",
        "Records in memory: core cycles per byte",
        "Operations: kilocycles per operation",
        "TLS 1.3 resumed handshake client",
        "in memory and without sockets",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
}

/// A copy of the system's libcrypto has no libssl beside it; where it has, the linker would mix it with
/// the system's libcrypto, which is told.
#[test]
fn a_libssl_is_measured_only_with_its_own_libcrypto() {
    let folder = tempfile::tempdir().unwrap();
    let crypto = folder.path().join("libcrypto.so.3");
    let system = libcrypto_of_toll();
    std::fs::copy(&system, &crypto).unwrap();
    let crypto = crypto.to_str().unwrap().to_owned();
    let handshake = ["tls 1.3 resumed handshake server", "--json", "--samples", "3", "--library"];
    let reason = || {
        let said = bench(&[&handshake[..], &[&crypto, "--library", "openssl"]].concat()).stdout;
        let bench: Value = serde_json::from_slice(&said).unwrap();
        assert!(bench["rows"][1]["no_figure"].is_null(), "{bench}");
        bench["rows"][0]["no_figure"].as_str().unwrap().to_owned()
    };
    assert!(reason().contains("libssl"), "{}", reason());
    std::fs::copy(system.replace("libcrypto", "libssl"), folder.path().join("libssl.so.3"))
        .unwrap();
    assert!(reason().contains("LD_LIBRARY_PATH"), "{}", reason());
}

fn bench_in_words(arguments: &[&str]) -> String {
    let output = bench(&[arguments, &["--samples", "3"]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn rates_of_operations_and_of_two_threads() {
    let output = bench(&["x25519", "--library", "openssl", "--samples", "3"]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("kilocycles per operation") && said.contains("/s"), "{said}");
    let cpus = cpus::CpuList::allowed().unwrap().len();
    let threads = cpus.min(2).to_string();
    let bench = json(&["sha-256", "--size", "64B", "--threads", &threads]);
    assert_eq!(bench["threads"], threads.parse::<u64>().unwrap());
    assert!(bench["rows"][0]["ops_per_s"].as_f64().unwrap() > 0.0);
    let said = error(&["sha-256", "--threads", "4096"]);
    assert!(said.starts_with("toll: --threads: 4096 "), "{said}");
}

#[test]
fn cold_caches_are_for_bytes() {
    let bench = json(
        &[
            &["sha-1", "x25519", "tls-1.3-aes-128-gcm-record", "--size", "1KiB", "--cache", "cold"]
                [..],
            &["--library", "openssl"],
        ]
        .concat(),
    );
    for row in bench["rows"].as_array().unwrap() {
        assert_eq!(row["no_figure"].is_null(), row["algorithm"] == "SHA-1", "{row}");
    }
}

#[test]
fn wrong_names_are_answered_with_the_nearest() {
    let wrong = [
        &["aes-128-gmc"][..],
        &["--library", "rustcripto"],
        &["--size", "16"],
        &["--size", "0B"],
        &["--hardware", "mmx"],
        &["instructions", "aes"],
        &["--library", "/no/such/libcrypto.so"],
    ];
    support::assert_golden!(wrong.map(|arguments| (arguments.join(" "), error(arguments))));
}

#[test]
fn a_library_is_loaded_by_its_path() {
    // A copy of the system's own, which is another library to the linker.
    let path = libcrypto_of_toll();
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("libcrypto.so.3");
    std::fs::copy(path, &copy).unwrap();
    let copy = copy.to_str().unwrap();
    let bench = json(&["aes-128-gcm", "sha-256", "x25519", "--size", "64B", "--library", copy]);
    assert_eq!(bench["libraries"][0]["id"], copy);
    for row in bench["rows"].as_array().unwrap() {
        assert!(row["no_figure"].is_null(), "{row}");
        assert!(!row["confirmed_by"].as_str().unwrap().starts_with("OpenSSL"), "{row}");
    }
    let said = error(&["--library", "/proc/self/exe"]);
    assert!(said.starts_with("toll: --library: /proc/self/exe: "), "{said}");
}

/// Where the linker finds the libcrypto that toll is linked with.
fn libcrypto_of_toll() -> String {
    let output = Command::new("ldd").arg(env!("CARGO_BIN_EXE_toll")).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let line = said.lines().find(|line| line.contains("libcrypto")).unwrap();
    line.split_whitespace().find(|word| word.starts_with('/')).unwrap().to_owned()
}

/// The mask reaches the libraries: OpenSSL itself tells that it no longer uses what is masked, and
/// toll's kernels are those that are left.
#[test]
#[cfg(target_arch = "x86_64")]
fn masked_features_are_not_used() {
    const AES_NI: u64 = 1 << 57;
    let first_word = |bench: &Value| {
        let said = bench["libraries"][0]["processor_features"].as_str().unwrap().to_owned();
        let word = said.split("0x").nth(1).unwrap().split(':').next().unwrap().to_owned();
        u64::from_str_radix(&word, 16).unwrap()
    };
    let arguments = ["sha-256", "--size", "64B"];
    let all = json(&arguments);
    let none = json(&[&arguments[..], &["--hardware", "none"]].concat());
    assert_eq!(none["hardware"], "none");
    assert_eq!(first_word(&none) & AES_NI, 0);
    assert_eq!(first_word(&all) & !AES_NI & first_word(&none), first_word(&none));
    let kernels = none["libraries"].as_array().unwrap().last().unwrap();
    assert_eq!(kernels["processor_features"], "portable");
    // Those that cannot be told are not measured.
    for library in ["ring", "rustcrypto"] {
        let rows = none["rows"].as_array().unwrap();
        let row = rows.iter().find(|row| row["library"] == library).unwrap();
        assert!(row["no_figure"].as_str().unwrap().starts_with("not available: "), "{row}");
    }
    let said = error(&["sha-256", "--library", "multibuffer-avx2", "--hardware", "sse"]);
    assert!(said.contains("AVX2") || said.contains("masks it"), "{said}");
}

/// A process that only pretends to be masked is not believed.
#[test]
#[cfg(target_arch = "x86_64")]
fn a_level_without_its_mask_is_no_level() {
    let output = support::toll()
        .args(["bench", "sha-256", "--size", "64B", "--samples", "3", "--json"])
        .args(["--library", "openssl", "--hardware", "none"])
        .env("TOLL_HARDWARE", "none")
        .env_remove("OPENSSL_ia32cap")
        .output()
        .unwrap();
    let bench: Value = serde_json::from_slice(&output.stdout).unwrap();
    let said = bench["libraries"][0]["processor_features"].as_str().unwrap();
    assert!(said.contains("env:~0x"), "{said}");
}

#[test]
fn instructions_are_measured_or_not_available() {
    let output = bench(&["instructions", "--json"]);
    assert!(output.status.success());
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    for line in json["instructions"].as_array().unwrap() {
        match line["no_figure"].as_str() {
            Some(why) => assert!(why.starts_with("not available: "), "{line}"),
            None => assert!(line["latency_cycles"]["median"].as_f64().unwrap() > 0.0, "{line}"),
        }
    }
    let said = String::from_utf8(bench(&["instructions"]).stdout).unwrap();
    assert!(said.contains("cycles/byte") || said.contains("not available"), "{said}");
}
