//! Requests of other methods, and answers with other statuses, against the embedded server and nginx.

use std::sync::Arc;

use cpus::CpuList;
use support::{Serve, answering, text, toll};
use targets::{Objects, Settings};
use trial::TrialRecord;
use units::Bytes;

/// 40 operations, for which there is time on a busy machine too.
fn load(url: &str, options: &[&str]) -> (Option<i32>, String, String) {
    let output = toll()
        .args(["load", url, "--insecure", "-c", "2", "-n", "40", "--duration", "60s"])
        .args(options)
        .output()
        .unwrap();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn health_checks_are_measured_at_toll_s_server_and_nginx() {
    let serve = Serve::pinned(&[]);
    let folder = tempfile::tempdir().unwrap();
    let objects = Arc::new(Objects::make(&[Bytes(1024)], folder.path()).unwrap());
    let settings = Settings::new(CpuList::allowed().unwrap());
    let nginx = targets::by_name("nginx").unwrap();
    let nginx = targets::start(nginx, &settings, &objects, folder.path(), None).unwrap();
    let both = [serve.tls, nginx.facts().https];
    for (address, http) in both.into_iter().flat_map(|address| [(address, "1.1"), (address, "2")]) {
        let url = |path: &str| format!("https://{address}{path}");
        for (path, method, expect, body) in [
            ("/bytes/1KiB", "HEAD", "200", 0),
            ("/bytes/1KiB", "GET", "200", 40 << 10),
            ("/missing", "HEAD", "404", 0),
            ("/missing", "GET", "200, 404", -1),
        ] {
            let options = ["--method", method, "--expect", expect, "--json", "--http", http];
            let (code, shown, said) = load(&url(path), &options);
            assert_eq!(code, Some(0), "{address} {path} {method}: {shown}{said}");
            let line: TrialRecord = serde_json::from_str(&shown).unwrap();
            assert_eq!((line.operations.completed, line.failed()), (40, 0));
            if body >= 0 {
                assert_eq!(line.bytes.body, body as u64, "{address} {path} {method} {http}");
            }
            let (asked, obtained) = (&line.receipt.asked, &line.receipt.obtained);
            assert_eq!(
                (asked.method.as_deref(), asked.expect.as_deref()),
                (Some(method), Some(expect))
            );
            assert_eq!(obtained.statuses.values().sum::<u64>(), 40);
        }
        for (path, options, part) in [
            ("/bytes/1KiB", &["--expect", "204"][..], "--expect"),
            ("/missing", &["--method", "HEAD"], "404"),
            ("/bytes/1KiB", &["--body", "/etc/hostname"], "GET requests have no body"),
            ("/bytes/1KiB", &["--method", "POST", "--body", "/no/such/file"], "/no/such/file"),
            ("/bytes/1KiB", &["--method", "TRACE"], "TRACE"),
            ("/bytes/1KiB", &["--expect", "99"], "99"),
            ("/bytes/1KiB", &["--method", "HEAD", "--client", "wrk"], "--client"),
        ] {
            let options = [options, &["--http", http]].concat();
            let (code, shown, said) = load(&url(path), &options);
            assert_eq!((code, shown.as_str()), (Some(2), ""), "{options:?}: {said}");
            assert!(said.contains(part), "{options:?}: {said}");
        }
    }
}

/// Larger than the window of a stream, and the answer comes after its last byte.
#[test]
fn bodies_over_http2_go_through_the_windows_of_toll_s_server_and_nginx() {
    let folder = tempfile::tempdir().unwrap();
    let (large, small) = (folder.path().join("large"), folder.path().join("small"));
    std::fs::write(&large, vec![7; 1 << 20]).unwrap();
    std::fs::write(&small, "x").unwrap();
    let serve = Serve::pinned(&[]);
    let objects = Arc::new(Objects::make(&[Bytes(1024)], folder.path()).unwrap());
    let settings = Settings::new(CpuList::allowed().unwrap());
    let nginx = targets::by_name("nginx").unwrap();
    let nginx = targets::start(nginx, &settings, &objects, folder.path(), None).unwrap();
    let post = |address, body: &std::path::Path| {
        let options = ["--http", "2", "--streams", "4", "--method", "POST", "--expect", "405"];
        let body = ["--json", "--body", body.to_str().unwrap()];
        load(&format!("https://{address}/bytes/1KiB"), &[&options[..], &body].concat())
    };
    for (address, body, size) in
        [(serve.tls, &large, 1 << 20), (serve.tls, &small, 1), (nginx.facts().https, &small, 1)]
    {
        let (code, shown, said) = post(address, body);
        assert_eq!(code, Some(0), "{address}: {shown}{said}");
        let line: TrialRecord = serde_json::from_str(&shown).unwrap();
        let obtained = line.receipt.obtained;
        assert_eq!((obtained.bodies_sent, line.bytes.sent), (Some(40), Some(40 * size)));
        assert_eq!(obtained.statuses, [("405".to_owned(), 40)].into());
        assert_eq!(obtained.http2.unwrap().held_up > 0, size > 1 << 16);
    }
    // nginx answers a request that it does not take before its body has come: the operation is complete, and no body
    // is counted as sent.
    let (code, shown, said) = post(nginx.facts().https, &large);
    assert_eq!(code, Some(0), "{shown}{said}");
    let line: TrialRecord = serde_json::from_str(&shown).unwrap();
    let obtained = line.receipt.obtained;
    assert_eq!((line.operations.completed, obtained.answered_early), (40, Some(40)));
    assert_eq!((obtained.bodies_sent, line.bytes.sent), (Some(0), Some(0)));
}

#[test]
fn bodies_are_counted_and_an_answer_that_turns_into_another_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let body = folder.path().join("body");
    std::fs::write(&body, "x").unwrap();
    let body = body.to_str().unwrap();
    let answer =
        |status: &str| format!("HTTP/1.1 {status}\r\nContent-Length: 2\r\n\r\nok").into_bytes();
    let server =
        answering(move |number| answer(if number < 60 { "201 Created" } else { "200 OK" }));
    let url = format!("http://{server}/");
    let options = ["--method", "POST", "--body", body, "--expect", "201", "--json"];
    let (code, shown, said) = load(&url, &options);
    assert_eq!(code, Some(0), "{shown}{said}");
    let line: TrialRecord = serde_json::from_str(&shown).unwrap();
    let (asked, obtained) = (&line.receipt.asked, &line.receipt.obtained);
    assert_eq!((asked.body.as_deref(), asked.body_bytes), (Some(body), Some(1)));
    assert_eq!((obtained.bodies_sent, line.bytes.sent), (Some(40), Some(40)));
    // One was the probe's.
    let (code, shown, _) = load(&url, &options);
    assert_eq!(code, Some(3), "{shown}");
    let line: TrialRecord = serde_json::from_str(&shown).unwrap();
    assert!(!line.valid && line.operations.errors["status"] > 0, "{:?}", line.operations);
    assert_eq!(line.bytes.sent, Some(line.operations.completed));
}
