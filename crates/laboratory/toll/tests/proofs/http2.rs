//! HTTP/2 with programs of others: Caddy as a server, nghttpd as a peer of the client, and h2spec, which tries
//! what RFC 9113 asks of a server.

use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};

use support::{Killed, Serve, text, toll, until};
use trial::TrialRecord;

use crate::every_server::{http2::load, server, settings, start};

#[test]
fn caddy_speaks_http2_and_http_1() {
    let folder = tempfile::tempdir().unwrap();
    let caddy = start(server("caddy"), &settings(), &folder);
    assert!(caddy.facts().version.starts_with("Caddy/2."), "{}", caddy.facts().version);
    let https = format!("https://{}/bytes/1MiB", caddy.facts().https);
    let line = load(&caddy, &https, &["-n", "100"]);
    assert!(line.valid, "{:?} {:?}", line.receipt.mismatch, line.operations.errors);
    assert_eq!(line.receipt.obtained.http, [("2 by ALPN".to_owned(), 2)].into());
    let plain = format!("http://{}/bytes/1000B", caddy.facts().http);
    let line = load(&caddy, &plain, &["-n", "100"]);
    assert_eq!(line.receipt.obtained.http, [("2 by prior knowledge".to_owned(), 2)].into());
    let output = toll().args(["load", &plain, "--json", "-c", "2", "-n", "100"]).output().unwrap();
    let line: TrialRecord = serde_json::from_slice(&output.stdout).unwrap();
    assert!(line.valid && line.operations.completed == 100, "{}", text(&output.stdout));
}

/// nghttp2's own server, whose frames and priorities are another program's.
#[test]
fn nghttpd_is_loaded_as_any_other() {
    let folder = tempfile::tempdir().unwrap();
    let mut object = Vec::new();
    objects::write_to(&mut object, units::Bytes(100_000)).unwrap();
    std::fs::create_dir(folder.path().join("bytes")).unwrap();
    std::fs::write(folder.path().join("bytes/100000B"), &object).unwrap();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let child = Command::new("nghttpd")
        .args(["--no-tls", "--address=127.0.0.1", "--max-concurrent-streams=16", "--padding=77"])
        .arg(format!("--htdocs={}", folder.path().display()))
        .arg(port.to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let _child = Killed(child);
    until("nghttpd listens", || TcpStream::connect(("127.0.0.1", port)).is_ok());
    let url = format!("http://127.0.0.1:{port}/bytes/100000B");
    let output = toll()
        .args(["load", &url, "--json", "--http", "2", "--streams", "8", "-c", "2", "-n", "200"])
        .args(["--verify", "1/1"])
        .output()
        .unwrap();
    let line: TrialRecord = serde_json::from_slice(&output.stdout).unwrap();
    assert!(line.valid, "{}", text(&output.stdout));
    assert_eq!(line.receipt.obtained.bodies_compared, Some(200));
    assert_eq!(line.receipt.obtained.http2.unwrap().streams_allowed, Some(16));
}

/// What h2spec expects and the library does not do, which RFC 9113 leaves it free to: it ignores frames of
/// streams that have ended on both sides (section 5.1), and PRIORITY frames, which are deprecated
/// (section 5.3.2).
const IGNORED: [&str; 9] = [
    "closed: Sends a DATA frame after sending RST_STREAM frame",
    "closed: Sends a HEADERS frame after sending RST_STREAM frame",
    "closed: Sends a DATA frame",
    "closed: Sends a HEADERS frame",
    "Sends stream identifier that is numerically smaller than previous",
    "Sends PRIORITY frame that depend on itself",
    "Sends a DATA frame on the stream that is not in \"open\" or \"half-closed (local)\" state",
    "Sends a PRIORITY frame with 0x0 stream identifier",
    "Sends multiple WINDOW_UPDATE frames increasing the flow control window to above 2^31-1 on a stream",
];

#[test]
fn the_embedded_server_does_what_h2spec_asks() {
    let h2spec = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../target/h2spec/h2spec");
    if !h2spec.is_file() {
        eprintln!(
            "skipped: h2spec is not installed (scripts/needs proofs installs it where Go is)"
        );
        return;
    }
    let server = Serve::pinned(&[]);
    let https = server.tls.port().to_string();
    let output = Command::new(h2spec)
        // Longer than a window, so that streams whose request has ended are still open.
        .args(["-h", "127.0.0.1", "-p", &https, "-t", "-k", "-o", "1", "-P", "/bytes/1MiB"])
        .output()
        .unwrap();
    let report = text(&output.stdout);
    let last = report.lines().rev().find(|line| line.contains(" tests, ")).unwrap_or_default();
    let count = |what: &str| -> usize {
        let part = last.split(", ").find_map(|part| part.strip_suffix(what)).unwrap_or_default();
        part.trim().parse().unwrap_or(0)
    };
    assert!(count(" tests") > 140 && count(" passed") + IGNORED.len() >= count(" tests"), "{last}");
    let (_, failures) = report.split_once("Failures:").unwrap_or_default();
    let failed = failures.lines().filter_map(|line| line.split_once("× ")?.1.split_once(": "));
    let unknown: Vec<_> =
        failed.map(|(_, what)| what.trim()).filter(|what| !IGNORED.contains(what)).collect();
    assert_eq!(unknown, [""; 0], "{failures}");
}
