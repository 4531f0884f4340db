//! What `toll load --http 2` shows where a server does not do what was asked: nginx, made so from outside.

use support::{Serve, text, toll};
use targets::{Running, Target};
use tempfile::TempDir;
use trial::Line;

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
    // With a connection's first requests nginx may refuse streams, before its limit is known.
    let line = load(&server, &https(&server), &["--warmup", "200ms", "-d", "200ms"]);
    let what: Vec<_> = line.receipt.mismatch.iter().map(|of| of.what.as_str()).collect();
    assert!(!line.valid && what.contains(&"streams") || line.receipt.obtained.streams == Some(8));
    let http2 = line.receipt.obtained.http2.unwrap();
    assert_eq!(http2.streams_allowed, Some(2), "{http2:?}");
    assert!(line.operations.completed > 0);
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
    let line: Line = serde_json::from_slice(&output.stdout).unwrap();
    assert!(line.valid, "{}", text(&output.stdout));
    assert_eq!(line.receipt.obtained.http, [("2 by prior knowledge".to_owned(), 2)].into());
    assert_eq!(line.operations.completed, 40);
}
