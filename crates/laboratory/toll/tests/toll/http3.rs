//! `toll load --http 3`, against toll's own server and where there is none.

use support::{Serve, text, toll};
use trial::TrialRecord;

/// The options of a server with QUIC.
const QUIC: [&str; 3] = ["--quic", "--library", "rustls-ring"];

fn load(server: &Serve, options: &[&str]) -> TrialRecord {
    let url = format!("https://{}/bytes/20000B", server.tls);
    let output = toll()
        .args(["load", &url, "--json", "--http", "3", "-c", "2", "--insecure"])
        .args(options)
        .output()
        .unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)))
}

#[test]
fn requests_are_compared_and_the_receipt_says_what_carried_them() {
    let server = Serve::start(&QUIC);
    let line = load(&server, &["-n", "60", "--streams", "8", "--verify", "1/1"]);
    assert!(line.valid, "{:?}", line.receipt.mismatch);
    assert_eq!((line.operations.completed, line.bytes.body), (60, 60 * 20_000));
    let obtained = &line.receipt.obtained;
    assert_eq!((obtained.streams, obtained.full), (Some(8), Some(2)));
    assert_eq!(obtained.http, [("3 on QUIC 1".to_owned(), 2)].into());
    let quic = obtained.quic.as_ref().unwrap();
    assert_eq!((quic.drops, quic.retries, quic.longest_received), (0, 0, 1_452), "{quic:?}");
}

#[test]
fn handshakes_are_valid_without_streams_full_and_resumed() {
    let server = Serve::start(&[&QUIC[..], &["--tickets", "on"]].concat());
    for (resumption, full, resumed) in [("0%", 30, 0), ("100%", 0, 30)] {
        let options = ["--operation", "handshakes", "-n", "30", "--resumption", resumption];
        let line = load(&server, &options);
        assert!(line.valid, "{:?}", line.receipt.mismatch);
        assert_eq!((line.operations.completed, line.operations.errors.len()), (30, 0));
        let obtained = &line.receipt.obtained;
        assert_eq!((obtained.full, obtained.resumed), (Some(full), Some(resumed)), "{resumption}");
    }
}

#[test]
fn a_server_without_quic_is_refused_at_once_and_by_name() {
    let server = Serve::start(&[]);
    let url = format!("https://{}/", server.tls);
    let output = toll().args(["load", &url, "--http", "3", "--insecure"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("refused"), "{}", text(&output.stderr));
}
