//! HTTP/2, as each server speaks it to toll.

use support::{text, toll};
use targets::Running;
use trial::TrialRecord;

use super::{kinds, settings, start};

/// The line of a load over HTTP/2: 2 connections of 8 streams.
pub(crate) fn load(server: &Running, url: &str, options: &[&str]) -> TrialRecord {
    let certificate = server.facts().certificate.to_str().unwrap();
    let output = toll()
        .args(["load", url, "--json", "--http", "2", "--streams", "8", "-c", "2"])
        .args(["--ca", certificate, "--verify", "1/1"])
        .args(options)
        .output()
        .unwrap();
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}{}", text(&output.stdout), text(&output.stderr)))
}

#[test]
fn each_speaks_http2_and_the_receipt_shows_it() {
    let folder = tempfile::tempdir().unwrap();
    for kind in kinds().filter(|kind| kind.name() != "tomcat") {
        let server = start(kind, &settings(), &folder);
        let https = format!("https://{}/bytes/1MiB", server.facts().https);
        let line = load(&server, &https, &["-n", "100"]);
        assert!(line.valid, "{kind}: {:?} {:?}", line.receipt.mismatch, line.operations.errors);
        assert_eq!(line.operations.completed, 100, "{kind}");
        let obtained = line.receipt.obtained;
        assert_eq!(obtained.http, [("2 by ALPN".to_owned(), 2)].into(), "{kind}");
        assert_eq!((obtained.streams, obtained.bodies_compared), (Some(8), Some(100)), "{kind}");
        let http2 = obtained.http2.unwrap();
        assert_eq!((http2.goaways, obtained.not_taken), (0, None), "{kind}");
        // A frame has at most 16 KiB.
        assert!(http2.data_frames.unwrap() >= 64.0, "{kind}: {http2:?}");
        assert!(http2.request_frames < http2.request_fields, "{kind}: {http2:?}");
    }
}
