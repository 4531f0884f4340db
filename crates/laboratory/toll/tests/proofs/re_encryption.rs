//! Proxies that encrypt to their backend too, and what their receipts make of it when that is changed from outside.

use std::path::Path;

use support::{Desk, text, write_program};
use targets::{Backend, BackendConnections, TargetError};
use trial::TrialRecord;

use crate::every_server::{objects, server, settings};

/// A proxy whose configuration is changed before it reads it; PLAIN stands for the backend's port without TLS.
const CHANGED: &str = r#"
for file in "$@"; do
    if [ -f "$file" ] && [ "$file" != "${file%/targets/*}" ]; then
        backend="${file%/targets/*}/logs/backend/announcement.json"
        port() { sed -n "s/.*\"$1\":\"127.0.0.1:\([0-9]*\)\".*/\1/p" "$backend"; }
        sed -i "$(echo "$CHANGE" | sed "s/PLAIN/$(port plain)/")" "$file"
    fi
done
exec "/usr/sbin/${0##*/}" "$@""#;

/// Runs one short trial of each cell of a study of this proxy, which `change` changes where it says something.
fn measured(proxy: &str, target: &str, case: &str, change: &str) -> (Desk, Vec<TrialRecord>) {
    let desk = Desk::new(&format!(
        "schema = 1\nquestion = \"?\"\ntrials = 1\n[target]\nserver = \"{proxy}\"\nif-missing = \"fail\"\n\
         certificate-key = \"ecdsa:p256\"\nobject = \"1KiB\"\n{target}\n[load]\nconnections = 4\n\
         tls = \"1.3\"\nwarmup = \"50ms\"\nduration = \"300ms\"\n[[case]]\nname = \"c\"\n{case}\n"
    ));
    let mut run = desk.run(&["--quiet"]);
    if !change.is_empty() {
        write_program(&desk.path().join(proxy), CHANGED);
        let path = format!("{}:{}", desk.path().display(), std::env::var("PATH").unwrap());
        run.env("PATH", path).env("CHANGE", change);
    }
    let output = run.output().unwrap();
    let output = if change.is_empty() { desk.undisturbed(output) } else { output };
    let expected = if change.is_empty() { 0 } else { 3 };
    assert_eq!(output.status.code(), Some(expected), "{}", text(&output.stderr));
    let lines = desk.lines();
    (desk, lines)
}

/// Whether this one is not here, which is said.
fn is_missing(proxy: &str) -> bool {
    let is_missing = !Path::new("/usr/sbin").join(proxy).exists();
    if is_missing {
        eprintln!("skipped: there is no {proxy}");
    }
    is_missing
}

#[test]
fn the_backends_own_count_shows_what_came_to_it() {
    for proxy in ["haproxy", "nginx"] {
        if is_missing(proxy) {
            continue;
        }
        let sweep = "sweep.\"target.backend\" = [\"plain\", \"tls\"]\n\
                     sweep.\"target.backend-connections\" = [\"kept\", \"new\"]";
        let (_desk, mut lines) = measured(proxy, "", sweep, "");
        lines.retain(|line| line.valid);
        assert_eq!(lines.len(), 4, "{proxy}");
        for line in lines {
            let asked = &line.receipt.asked;
            let is_tls = asked.backend.as_deref() == Some("tls");
            let is_new = asked.backend_connections.as_deref() == Some("new");
            let used = line.receipt.obtained.backend.as_ref().unwrap();
            let (requests, opened) = match is_tls {
                true => (used.tls_requests, used.handshakes),
                false => (used.plain_requests, used.plain_connections),
            };
            let total = used.tls_requests + used.plain_requests;
            assert_eq!(requests, total, "{proxy}: {used:?}");
            assert!(requests >= line.operations.completed, "{proxy}: {used:?}");
            assert_eq!(opened + 4 >= requests, is_new, "{proxy}: {used:?}");
            let suite = is_tls.then_some("TLS_AES_128_GCM_SHA256");
            assert!(used.suite.as_deref() == suite.filter(|_| used.handshakes > 0), "{used:?}");
            assert!(line.cpu_ns.backend.unwrap() > 0 && line.cpu_ns.server.unwrap() > 0);
        }
    }
}

/// Each of them answers as it should: only the backend's count shows how it got there.
#[test]
fn requests_that_went_otherwise_are_no_rate() {
    let tls = "backend = \"tls\"";
    let tls_new = "backend = \"tls\"\nbackend-connections = \"new\"";
    let plain = "backend = \"plain\"\nbackend-connections = \"kept\"";
    for (proxy, target, change, what) in [
        ("haproxy", tls, "s/server objects .*/server objects 127.0.0.1:PLAIN/", "backend"),
        (
            "haproxy",
            tls_new,
            "s/option http-server-close//; s/http-reuse never/http-reuse always/",
            "backend_connections",
        ),
        ("haproxy", plain, "s/http-reuse always/option http-server-close/", "backend_connections"),
        (
            "nginx",
            tls,
            "s#https://backend#http://backend#; s/server 127.0.0.1:[0-9]*;/server 127.0.0.1:PLAIN;/",
            "backend",
        ),
        (
            "nginx",
            plain,
            "s/proxy_set_header Connection \"\"/proxy_set_header Connection close/",
            "backend_connections",
        ),
    ] {
        if is_missing(proxy) {
            continue;
        }
        let (_desk, lines) = measured(proxy, target, "", change);
        let [line] = &lines[..] else { panic!("{lines:?}") };
        let found: Vec<_> = line.receipt.mismatch.iter().map(|of| of.what.as_str()).collect();
        assert_eq!((line.valid, &found[..]), (false, &[what][..]), "{proxy} {target}: {line:?}");
    }
}

/// A proxy whose backend has another certificate than the one that it trusts.
const EXCHANGED: &str = r#"
for file in "$@"; do
    if [ -f "$file" ] && [ "$file" != "${file%/targets/*}" ]; then
        cp "${0%/*}/other.crt" "${file%/targets/*}/targets/backend/server.crt"
    fi
done
exec "/usr/sbin/${0##*/}" "$@""#;

#[test]
fn a_backend_that_does_not_verify_is_named_where_it_is_to() {
    for proxy in ["haproxy", "nginx"] {
        if is_missing(proxy) {
            continue;
        }
        for is_verified in [true, false] {
            let folder = tempfile::tempdir().unwrap();
            let other = tls::Identity::generate(tls::CertificateKey::EcdsaP256).unwrap();
            std::fs::write(folder.path().join("other.crt"), other.certificate_pem).unwrap();
            write_program(&folder.path().join(proxy), EXCHANGED);
            let mut settings = settings();
            settings.program_folders = vec![folder.path().to_owned()];
            settings.target.server = server(proxy);
            settings.target.backend = Some(Backend::Tls);
            settings.target.backend_connections = BackendConnections::New;
            settings.target.backend_verify = is_verified;
            let objects = objects(&folder);
            let started = targets::start(server(proxy), &settings, &objects, folder.path(), None);
            match started {
                Ok(_) => assert!(!is_verified, "{proxy} takes any backend"),
                Err(error) => {
                    assert!(is_verified, "{proxy}: {error}");
                    assert!(matches!(error, TargetError::Backend { .. }), "{error:?}");
                    let message = error.to_string();
                    assert!(
                        message.starts_with(proxy) && message.contains("backend at "),
                        "{message}"
                    );
                    assert_eq!(message.lines().count(), 1, "{message}");
                }
            }
        }
    }
}
