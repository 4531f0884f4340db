//! Receipts count what nginx needs of a handshake beside its keys: a second ClientHello, and tickets.

use std::net::SocketAddr;
use std::sync::Arc;

use cpus::CpuList;
use support::{balance, text, toll};
use targets::{Objects, Running, Settings, Target};
use tempfile::TempDir;
use tls::{CertificateKey, Group};
use trial::{Obtained, TrialRecord, WarningKind};
use units::Bytes;

/// nginx with these groups, its own where none is given.
fn start(groups: &[Group], tickets: bool, session_cache: bool, folder: &TempDir) -> Running {
    let defaults = Settings::new(CpuList::allowed().unwrap());
    let certificate_key = CertificateKey::EcdsaP256;
    let target = Target { certificate_key, tickets, session_cache, ..defaults.target };
    let settings = Settings { groups: groups.to_vec(), target, ..defaults };
    let objects = Arc::new(Objects::make(&[Bytes(1)], folder.path()).unwrap());
    targets::start(targets::by_name("nginx").unwrap(), &settings, &objects, folder.path(), None)
        .unwrap()
}

/// The line of a load of so many operations.
fn load(server: &Running, options: &[&str]) -> TrialRecord {
    load_at(server.facts().https, &[options, &COUNT].concat())
}

fn load_at(address: SocketAddr, options: &[&str]) -> TrialRecord {
    let url = format!("https://{address}/bytes/1B");
    let output = toll()
        .args(["load", &url, "--json", "--insecure", "-c", "4"])
        .args(options)
        .output()
        .unwrap();
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}{}", text(&output.stdout), text(&output.stderr)))
}

const COUNT: [&str; 2] = ["-n", "40"];
const HANDSHAKES: [&str; 4] = ["--operation", "handshakes", "--tls", "1.3"];
/// toll's own handshake, and rustls's.
const DRIVERS: [&str; 2] = ["fixed", "fresh"];

#[test]
fn every_handshake_with_a_server_of_another_group_needs_a_second_client_hello() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(&[Group::Secp384r1], true, true, &folder);
    for driver in DRIVERS {
        for (group, retried) in [(None, 40), (Some("secp384r1"), 0)] {
            let mut options = [&HANDSHAKES[..], &["--key-exchange", driver]].concat();
            options.extend(group.iter().flat_map(|group| ["--group", group]));
            let line = load(&server, &options);
            let Obtained { hello_retry_requests, full, group, .. } = line.receipt.obtained;
            assert_eq!((hello_retry_requests, full), (Some(retried), Some(40)), "{driver}");
            assert_eq!(group.into_keys().collect::<Vec<_>>(), ["secp384r1"]);
            let is_warned =
                |warning: &trial::Warning| warning.kind == WarningKind::HelloRetryRequests;
            assert_eq!(line.warnings.iter().any(is_warned), retried > 0, "{driver}");
        }
    }
    // A user who asks for the whole receipt reads it there.
    let url = format!("https://{}/bytes/1B", server.facts().https);
    let shown = toll()
        .args(["load", &url, "-v", "--insecure", "-c", "1", "-n", "3", "--tls", "1.3"])
        .output()
        .unwrap();
    let shown = text(&shown.stdout);
    assert!(shown.contains("handshakes with a HelloRetryRequest 1,"), "{shown}");
}

#[test]
fn a_client_without_a_share_is_asked_for_it_in_every_handshake() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(&[], true, true, &folder);
    for group in ["x25519", "secp384r1"] {
        let options = [&HANDSHAKES[..], &["--key-exchange", "retried", "--group", group]].concat();
        let line = load(&server, &options);
        let obtained = &line.receipt.obtained;
        assert_eq!((obtained.hello_retry_requests, obtained.full), (Some(40), Some(40)), "{group}");
        assert!(line.receipt.mismatch.is_empty() && obtained.group.contains_key(group));
        let retried =
            line.warnings.iter().find(|warning| warning.kind == WarningKind::HelloRetryRequests);
        assert!(retried.is_none(), "it was asked for: {retried:?}");
    }
}

#[test]
fn the_tickets_of_a_server_are_counted_on_every_connection_that_it_gives_them() {
    let folder = tempfile::tempdir().unwrap();
    // OpenSSL's server gives two for each full handshake of TLS 1.3, and one for each resumed one.
    for (tickets, each) in [(true, 2), (false, 0)] {
        let server = start(&[], tickets, false, &folder);
        for driver in DRIVERS {
            let line = load(&server, &[&HANDSHAKES[..], &["--key-exchange", driver]].concat());
            let Obtained { tickets, sessions_offered, full, .. } = line.receipt.obtained;
            assert_eq!((tickets, full), (Some(40 * each), Some(40)), "{driver}");
            assert_eq!(sessions_offered, None);
        }
        let line = load(&server, &["--operation", "requests", "--tls", "1.3"]);
        assert_eq!(line.receipt.obtained.tickets, Some(4 * each));
        let line = load(&server, &[&HANDSHAKES[..], &["--resumption", "100%"]].concat());
        let Obtained { collected_tickets, sessions_offered, resumed, tickets, .. } =
            line.receipt.obtained;
        assert_eq!(collected_tickets, Some(4 * each));
        let resuming = if each > 0 { Some(40) } else { Some(0) };
        assert_eq!((sessions_offered, resumed, tickets), (resuming, resuming, resuming));
        assert_eq!(line.valid, each > 0, "{:?}", line.receipt.mismatch);
    }
}

#[test]
fn sessions_of_tls12_are_tickets_or_identifiers_and_neither_where_the_server_gives_none() {
    let folder = tempfile::tempdir().unwrap();
    for (tickets, cache) in [(true, false), (false, true), (false, false)] {
        let server = start(&[], tickets, cache, &folder);
        // An AEAD suite and one of CBC.
        for suite in ["ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-ECDSA-AES128-SHA"] {
            let options = ["--operation", "handshakes", "--suite", suite, "--resumption", "100%"];
            let line = load(&server, &options);
            let obtained = &line.receipt.obtained;
            let case = format!("{suite}, tickets {tickets}, cache {cache}: {obtained:?}");
            let given = |is_given| Some(if is_given { 4 } else { 0 });
            assert_eq!(obtained.collected_tickets, given(tickets), "{case}");
            assert_eq!(obtained.collected_session_ids, given(cache), "{case}");
            let resuming = if tickets || cache { Some(40) } else { Some(0) };
            assert_eq!(
                (obtained.sessions_offered, obtained.resumed),
                (resuming, resuming),
                "{case}"
            );
            assert_eq!(line.valid, resuming == Some(40), "{case}");
            assert_eq!(obtained.hello_retry_requests, None);
        }
    }
}

#[test]
fn sessions_that_servers_without_a_common_key_refuse_are_counted_and_named() {
    let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let servers = folders.each_ref().map(|folder| start(&[], true, false, folder));
    let addresses = servers.each_ref().map(|server| server.facts().https);
    let resume = ["--resumption", "100%"];
    for (servers, are_refused) in [(addresses, true), ([addresses[0]; 2], false)] {
        for end in [&COUNT[..], &["-d", "500ms", "--warmup", "200ms"]] {
            let line = load_at(balance(&servers), &[&HANDSHAKES[..], &resume, end].concat());
            let Obtained { sessions_offered, resumed, full, .. } = line.receipt.obtained;
            let case = format!("{sessions_offered:?} offered, {resumed:?} resumed, {full:?} full");
            let is_warned = line.warnings.iter().any(|of| of.kind == WarningKind::SessionsRefused);
            assert_eq!(is_warned, are_refused, "{case}");
            assert_eq!(line.receipt.mismatch.is_empty(), !are_refused, "{case}");
            assert_eq!(sessions_offered > resumed, are_refused, "{case}");
        }
    }
}
