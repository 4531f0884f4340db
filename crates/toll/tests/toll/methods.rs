//! Requests of other methods, and answers with other statuses, against toll's own server and nginx.

use std::sync::Arc;

use cpus::CpuList;
use support::{Serve, answering, text, toll};
use targets::{Objects, Settings};
use trial::Line;
use units::Bytes;

fn load(url: &str, options: &[&str]) -> (Option<i32>, String, String) {
    let output = toll()
        .args(["load", url, "--insecure", "-c", "2", "-n", "40"])
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
    for address in [serve.tls, nginx.facts().https] {
        let url = |path: &str| format!("https://{address}{path}");
        for (path, method, expect, body) in [
            ("/bytes/1KiB", "HEAD", "200", 0),
            ("/bytes/1KiB", "GET", "200", 40 << 10),
            ("/missing", "HEAD", "404", 0),
            ("/missing", "GET", "200, 404", -1),
        ] {
            let options = ["--method", method, "--expect", expect, "--json"];
            let (code, shown, said) = load(&url(path), &options);
            assert_eq!(code, Some(0), "{address} {path} {method}: {shown}{said}");
            let line: Line = serde_json::from_str(&shown).unwrap();
            assert_eq!((line.operations.completed, line.failed()), (40, 0));
            if body >= 0 {
                assert_eq!(line.bytes.body, body as u64, "{address} {path} {method}");
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
            let (code, shown, said) = load(&url(path), options);
            assert_eq!((code, shown.as_str()), (Some(2), ""), "{options:?}: {said}");
            assert!(said.contains(part), "{options:?}: {said}");
        }
    }
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
    let line: Line = serde_json::from_str(&shown).unwrap();
    let (asked, obtained) = (&line.receipt.asked, &line.receipt.obtained);
    assert_eq!((asked.body.as_deref(), asked.body_bytes), (Some(body), Some(1)));
    assert_eq!((obtained.bodies_sent, line.bytes.sent), (Some(40), Some(40)));
    // One was the probe's.
    let (code, shown, _) = load(&url, &options);
    assert_eq!(code, Some(3), "{shown}");
    let line: Line = serde_json::from_str(&shown).unwrap();
    assert!(!line.valid && line.operations.errors["status"] > 0, "{:?}", line.operations);
    assert_eq!(line.bytes.sent, Some(line.operations.completed));
}
