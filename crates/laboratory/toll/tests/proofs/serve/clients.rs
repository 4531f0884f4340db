//! Served to the other clients of the field: wrk, ab, h2load.

use support::{Serve, peer, run};
use tls::Stack;

/// The server on each of its TLS libraries, one after another.
fn on_each_library(options: &[&str]) -> impl Iterator<Item = Serve> {
    Stack::BUILT_IN.into_iter().map(move |library| {
        eprintln!("on {library}");
        Serve::start(&[&["--library", library.name()], options].concat())
    })
}

fn https(server: &Serve, object: &str) -> String {
    format!("https://localhost:{}/bytes/{object}", server.tls.port())
}

#[test]
fn wrk_sees_no_error() {
    for server in on_each_library(&[]) {
        for url in [
            https(&server, "16KiB"),
            format!("http://{}/bytes/16KiB", server.plain),
            https(&server, "1MiB"),
        ] {
            let text = run(peer("wrk").args(["-t1", "-c16", "-d1s", &url]));
            assert!(text.contains("Requests/sec:"), "{text}");
            assert!(!text.contains("Non-2xx") && !text.contains("Socket errors"), "{text}");
            assert!(!text.contains(" 0 requests in"), "{text}");
        }
    }
}

#[test]
fn ab_keeps_connections_or_not_as_it_asks() {
    for server in on_each_library(&["--certificate-key", "ecdsa:p256"]) {
        for base in [format!("https://{}", server.tls), format!("http://{}", server.plain)] {
            for (keep, kept) in [(&["-k"][..], Some("200")), (&[], None)] {
                let url = format!("{base}/bytes/1KiB");
                let text = run(peer("ab").args(["-q", "-n", "200", "-c", "4"]).args(keep).arg(url));
                let field = |name: &str| {
                    let line = text.lines().find_map(|line| line.strip_prefix(name));
                    line.map(|value| value.split_whitespace().next().unwrap().to_owned())
                };
                assert_eq!(field("Complete requests:").as_deref(), Some("200"), "{text}");
                assert_eq!(field("Failed requests:").as_deref(), Some("0"), "{text}");
                assert_eq!(field("Keep-Alive requests:").as_deref(), kept, "{text}");
            }
        }
    }
}

#[test]
fn h2load_agrees_on_http_1() {
    for server in on_each_library(&[]) {
        let text = run(peer("h2load").args(["--h1", "-n100", "-c4", &https(&server, "64KiB")]));
        assert!(text.contains("Application protocol: http/1.1"), "{text}");
        assert!(text.contains("100 succeeded, 0 failed, 0 errored"), "{text}");
    }
}
