//! What `toll load --http 2` shows where a server does not do what was asked: nginx, made so from outside.

use std::fs;

use support::{Serve, text, toll};
use targets::{Running, SendCounters, Target};
use tempfile::TempDir;
use trial::TrialRecord;

use crate::every_server::{http2::load, server, settings, start};

/// nginx with these directives.
fn nginx(directives: &str, folder: &TempDir) -> Running {
    let defaults = settings();
    let directives = directives.parse().unwrap();
    let target = Target { directives, ..defaults.target.clone() };
    start(server("nginx"), &targets::Settings { target, ..defaults }, folder)
}

fn https(server: &Running) -> String {
    format!("https://{}/bytes/1000B", server.facts().https)
}

#[test]
fn fewer_streams_than_were_asked_for_are_a_mismatch() {
    let folder = tempfile::tempdir().unwrap();
    let server = nginx("http2_max_concurrent_streams 2", &folder);
    let line = load(&server, &https(&server), &["--warmup", "200ms", "-d", "200ms"]);
    let what: Vec<_> = line.receipt.mismatch.iter().map(|of| of.what.as_str()).collect();
    assert_eq!((line.valid, &what[..]), (false, &["streams"][..]));
    assert_eq!(line.receipt.obtained.streams, Some(2));
    let http2 = line.receipt.obtained.http2.unwrap();
    assert_eq!(http2.streams_allowed, Some(2), "{http2:?}");
    assert!(line.operations.completed > 0 && line.operations.errors.is_empty());
}

#[test]
fn connections_that_end_by_goaway_are_counted_and_nothing_fails() {
    let folder = tempfile::tempdir().unwrap();
    let server = nginx("keepalive_requests 20", &folder);
    let line = load(&server, &https(&server), &["-n", "400"]);
    assert_eq!((line.operations.completed, line.operations.errors.len()), (400, 0), "{line:?}");
    let (http, http2) = (line.receipt.obtained.http, line.receipt.obtained.http2.unwrap());
    assert!(http2.goaways >= 18, "{http2:?}");
    assert!(http["2 by ALPN"] >= 18, "{http:?}");
}

#[test]
fn without_tls_http2_begins_at_once() {
    let server = Serve::pinned(&[]);
    let url = format!("http://{}/bytes/64KiB", server.plain);
    let output = toll()
        .args(["load", &url, "--json", "--http", "2", "--streams", "4", "-c", "2", "-n", "40"])
        .args(["--verify", "1/1"])
        .output()
        .unwrap();
    let line: TrialRecord = serde_json::from_slice(&output.stdout).unwrap();
    assert!(line.valid, "{}", text(&output.stdout));
    assert_eq!(line.receipt.obtained.http, [("2 by prior knowledge".to_owned(), 2)].into());
    assert_eq!(line.operations.completed, 40);
}

/// A file goes to HTTP/1.1 by sendfile; frames of it are written, on connections of the same port.
#[test]
fn a_file_is_framed_where_http_1_gets_it_by_sendfile() {
    const SIZE: u64 = 200_000;
    let folder = tempfile::tempdir().unwrap();
    let counters = folder.path().join("counters");
    let root = folder.path().join("root");
    fs::create_dir(&root).unwrap();
    fs::write(root.join("file"), vec![b'x'; SIZE as usize]).unwrap();
    let paths = [&root, &counters].map(|path| path.to_str().unwrap());
    let server = Serve::pinned(&["--root", paths[0], "--counters", paths[1]]);
    let url = format!("http://{}/file", server.plain);
    let mut sent = [0, 0];
    for (http, by_sendfile) in [("1.1", true), ("2", false), ("1.1", true)] {
        let options = ["--json", "--http", http, "-c", "2", "-n", "20", "--verify", "1/1"];
        let output = toll().args(["load", &url]).args(options).output().unwrap();
        let line: TrialRecord = serde_json::from_slice(&output.stdout).unwrap();
        assert!(line.valid, "{http}: {}", text(&output.stdout));
        assert_eq!(line.bytes.body, 20 * SIZE, "{http}");
        let now = SendCounters::settled(&counters).unwrap();
        let (written, by_file) = (now.write.bytes - sent[0], now.sendfile.bytes - sent[1]);
        sent = [now.write.bytes, now.sendfile.bytes];
        match by_sendfile {
            true => assert!(by_file >= 20 * SIZE && written < SIZE, "{http}: {now:?}"),
            false => assert!(by_file == 0 && written > 20 * SIZE, "{http}: {now:?}"),
        }
    }
}

#[test]
fn new_connections_resume_sessions() {
    let folder = tempfile::tempdir().unwrap();
    let server = nginx("keepalive_requests 20", &folder);
    for (tls, key_exchange) in [("1.3", "fresh"), ("1.2", "fixed")] {
        let options = ["-n", "400", "--resumption", "100%", "--tls", tls];
        let options = [&options[..], &["--key-exchange", key_exchange]].concat();
        let line = load(&server, &https(&server), &options);
        assert_eq!((line.operations.completed, line.operations.errors.len()), (400, 0), "{tls}");
        let obtained = line.receipt.obtained;
        assert!(obtained.resumed.unwrap() >= 10, "{tls}: {obtained:?}");
    }
}

#[test]
fn what_http2_does_not_go_with_is_refused() {
    let url = "https://127.0.0.1:1/";
    let refused = [
        &["--streams", "8"][..],
        &["--http", "1.1", "--streams", "8"],
        &["--http", "2", "--streams", "8", "--receive", "walk"],
        &["--http", "2", "--operation", "handshakes"],
        &["--http", "2", "--client", "wrk"],
        &["--http", "2", "--suite", "AES128-SHA"],
        &["--http", "2", "--streams", "10001"],
        &["--http", "3"],
    ]
    .map(|options| {
        let output = toll().args(["load", url]).args(options).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{options:?}");
        (options.join(" "), text(&output.stderr).trim_end().to_owned())
    });
    support::assert_golden!(refused);
}

#[test]
fn connections_end_after_the_requests_that_were_planned() {
    let folder = tempfile::tempdir().unwrap();
    let server = nginx("none", &folder);
    let line = load(&server, &https(&server), &["-n", "400", "--requests-per-connection", "10"]);
    assert_eq!((line.operations.completed, line.operations.errors.len()), (400, 0));
    let obtained = line.receipt.obtained;
    assert!((40..=42).contains(&obtained.http["2 by ALPN"]), "{obtained:?}");
    let of_ten = obtained.connections_by_requests.get("10").copied().unwrap_or_default();
    assert!(of_ten >= 38 && obtained.not_taken.is_none(), "{of_ten}");
}
