//! Paths of HTTP/3 that answer in QUIC's stead, and that lose, add and move datagrams.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::mpsc;

use load::{ErrorKind, Http, Job, Outcome, QuicCounts};
use ring::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use rustls::version::TLS13;
use units::Nanos;

use crate::http3::{PATH, SIZE, answering, honest, over_http3};
use crate::scripted_server::long_chain;
use crate::scripted_server::quic::Settings;
use crate::scripted_server::relay::{Relay, Sender};
use crate::{MILLISECOND, assert_completes, assert_fails, https, kinds, run, summary};

/// What a socket answers to each datagram of the client; what is seen of it.
fn over_udp(
    mut answer: impl FnMut(&[u8]) -> Vec<Vec<u8>> + Send + 'static,
) -> (ErrorKind, String, QuicCounts) {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = socket.local_addr().unwrap();
    let mut job = https(address, PATH);
    (job.plan.http, job.operations) = (Some(Http::V3), Some(1));
    job.plan.timeout = Nanos(400 * MILLISECOND);
    let server = std::thread::spawn(move || {
        let mut bytes = vec![0; 65_535];
        while let (length @ 1.., from) = socket.recv_from(&mut bytes).unwrap() {
            for answer in answer(&bytes[..length]) {
                // A client that has failed is gone.
                let _ = socket.send_to(&answer, from);
            }
        }
    });
    let outcome = run(job);
    // An empty datagram, which the client never sends, ends it.
    UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().send_to(&[], address).unwrap();
    server.join().unwrap();
    let failures: Vec<_> = outcome.failures.iter().collect();
    let [(kind, 1, seen)] = failures[..] else { panic!("{}", summary(&outcome)) };
    (kind, seen.to_owned(), outcome.quic)
}

/// The connection IDs of a long header, the server's and the client's, and what follows them.
fn ids(initial: &[u8]) -> (&[u8], &[u8], &[u8]) {
    let (length, rest) = initial[5..].split_first().unwrap();
    let (to, rest) = rest.split_at(usize::from(*length));
    let (length, rest) = rest.split_first().unwrap();
    let (from, rest) = rest.split_at(usize::from(*length));
    (to, from, rest)
}

fn with_length(id: &[u8]) -> Vec<u8> {
    [&[id.len() as u8], id].concat()
}

/// The answer to an Initial that lists these versions (RFC 9000, section 17.2.1).
fn version_negotiation(initial: &[u8], versions: &[[u8; 4]]) -> Vec<u8> {
    let (to, from, _) = ids(initial);
    [&[0x80, 0, 0, 0, 0][..], &with_length(from), &with_length(to), &versions.concat()].concat()
}

/// The answer to an Initial that asks for it again with this token and connection ID. Its tag is right (RFC 9001,
/// section 5.8).
fn retry(initial: &[u8], id: &[u8], token: &[u8]) -> Vec<u8> {
    const KEY: [u8; 16] = 0xbe0c690b9f66575a1d766b54e368c84e_u128.to_be_bytes();
    const NONCE: [u8; 12] =
        [0x46, 0x15, 0x99, 0xd3, 0x5d, 0x63, 0x2b, 0xf2, 0x23, 0x98, 0x25, 0xbb];
    let (to, from, _) = ids(initial);
    let packet = [&[0xf0, 0, 0, 0, 1][..], &with_length(from), &with_length(id), token].concat();
    let key = LessSafeKey::new(UnboundKey::new(&AES_128_GCM, &KEY).unwrap());
    let authenticated = Aad::from([with_length(to), packet.clone()].concat());
    let nonce = Nonce::assume_unique_for_key(NONCE);
    let tag = key.seal_in_place_separate_tag(nonce, authenticated, &mut []).unwrap();
    [&packet, tag.as_ref()].concat()
}

/// Two versions that nobody has, and the client's own.
const UNKNOWN: [[u8; 4]; 2] = [[0xba; 4], [0x1a, 0x2a, 0x3a, 0x4a]];
const OWN: [u8; 4] = [0, 0, 0, 1];

/// What a client sends that nothing comes of: the Initial, once more where this machine is slow, and
/// CONNECTION_CLOSE.
const SENT: u64 = 3;

#[test]
fn what_is_no_quic_ends_with_words_about_udp() {
    let (kind, seen, _) = over_udp(|_| Vec::new());
    assert_eq!(kind, ErrorKind::ConnectTimeout);
    assert!(seen.contains("firewall") && seen.contains("UDP"), "{seen}");
    for junk in [&b"220 smtp.example ESMTP\r\n"[..], &[0; 40], &[0xff; 1_300]] {
        let (kind, seen, _) = over_udp(move |_| vec![junk.to_owned()]);
        assert_eq!(kind, ErrorKind::ConnectTimeout);
        assert!(seen.contains("none of them QUIC"), "{seen}");
    }
    // Nobody listens.
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = socket.local_addr().unwrap();
    drop(socket);
    let mut job = https(address, PATH);
    job.plan.http = Some(Http::V3);
    assert_fails(job, ErrorKind::Refused);
}

#[test]
fn other_versions_end_a_connection_and_its_own_again_and_again_does_not() {
    let (kind, ..) = over_udp(|initial| vec![version_negotiation(initial, &UNKNOWN)]);
    assert_eq!(kind, ErrorKind::QuicVersion);
    for versions in [&[OWN][..], &[UNKNOWN[0], OWN]] {
        let answer = |initial: &[u8]| vec![version_negotiation(initial, versions); 50];
        let (kind, seen, counts) = over_udp(answer);
        assert_eq!(kind, ErrorKind::ConnectTimeout, "{seen}");
        assert!(counts.datagrams_received >= 50 && counts.datagrams_sent <= SENT, "{counts:?}");
    }
}

#[test]
fn only_the_first_retry_is_followed() {
    // One with a wrong tag.
    let (kind, _, counts) = over_udp(|initial| {
        let mut wrong = retry(initial, &[9; 8], b"token");
        *wrong.last_mut().unwrap() ^= 1;
        vec![wrong; 50]
    });
    assert_eq!(kind, ErrorKind::ConnectTimeout);
    assert!(counts.datagrams_received >= 50 && counts.datagrams_sent <= SENT, "{counts:?}");
    // Valid ones, two to each Initial and all different.
    let (tokens, seen) = mpsc::channel();
    let mut count = 0;
    let (kind, _, counts) = over_udp(move |initial| {
        let (.., rest) = ids(initial);
        tokens.send(rest[1..1 + usize::from(rest[0])].to_owned()).unwrap();
        let mut next = || {
            count += 1;
            retry(initial, &[count; 8], &[count; 16])
        };
        vec![next(), next()]
    });
    let mut seen: Vec<_> = seen.iter().collect();
    seen.dedup();
    assert_eq!((kind, seen), (ErrorKind::ConnectTimeout, vec![vec![], vec![1; 16]]));
    assert!(counts.datagrams_received >= 4 && counts.datagrams_sent <= SENT + 1, "{counts:?}");
    assert_eq!(counts.retries, 0, "no connection came of it");
}

/// Both are discarded once a packet of the server was taken (RFC 9000, sections 6.2 and 17.2.5.2).
#[test]
fn versions_and_retries_after_a_packet_of_the_server_change_nothing() {
    let server = answering(Settings::default(), |peer, id| peer.answer(id, &honest()));
    let mut initial = Vec::new();
    let relay = Relay::start(server.address, move |ends, sender, datagram| {
        ends.pass(sender, datagram);
        if sender == Sender::Client {
            if initial.is_empty() {
                initial = datagram.to_owned();
            }
            return;
        }
        ends.pass(sender, &version_negotiation(&initial, &UNKNOWN));
        ends.pass(sender, &retry(&initial, &[9; 8], b"token"));
    });
    let outcome = run(through(&relay, over_http3(&server)));
    assert_eq!((outcome.completed, kinds(&outcome)), (3, vec![]), "{}", summary(&outcome));
}

/// The same load, but by way of the relay.
pub fn through(relay: &Relay, job: Job) -> Job {
    Job { plan: job.plan, ..https(relay.address, PATH) }
}

/// What a server sends before the address of its client is proven: three times what it received (RFC 9000,
/// section 8.1), and up to the end of a datagram that begins within that.
const UNPROVEN: u64 = 3 * 1_200 + 1_452;

/// The server's chain is longer than what it may send before the client answers, and some answers are lost.
#[test]
fn a_server_at_its_limit_is_answered_again_or_runs_into_the_time_limit() {
    let settings = Settings { tls: long_chain(&TLS13, 40), ..Settings::default() };
    let server = answering(settings, |peer, id| peer.answer(id, &honest()));
    // The load, and what the server has sent, where these datagrams of the client are lost.
    let load = |lost: std::ops::Range<u64>, operations, timeout| {
        let (mut number, sent) = (0, Arc::new(AtomicU64::new(0)));
        let count = sent.clone();
        let relay = Relay::start(server.address, move |ends, sender, datagram| match sender {
            Sender::Client => {
                if !lost.contains(&number) {
                    ends.pass(sender, datagram);
                }
                number += 1;
            }
            Sender::Server => {
                count.fetch_add(datagram.len() as u64, SeqCst);
                ends.pass(sender, datagram);
            }
        });
        let mut job = through(&relay, over_http3(&server));
        (job.operations, job.plan.timeout) = (Some(operations), Nanos(timeout * MILLISECOND));
        (run(job), sent.load(SeqCst))
    };
    let (outcome, sent) = load(1..3, 3, 8_000);
    assert_eq!((outcome.completed, kinds(&outcome)), (3, vec![]), "{}", summary(&outcome));
    assert!(sent > UNPROVEN);

    let (outcome, sent) = load(1..u64::MAX, 1, 300);
    let failures: Vec<_> = outcome.failures.iter().collect();
    let [(ErrorKind::ConnectTimeout, 1, seen)] = failures[..] else {
        panic!("{}", summary(&outcome))
    };
    assert!(seen.contains("the handshake made no progress"), "{seen}");
    assert!((UNPROVEN - 2 * 1_452..=UNPROVEN).contains(&sent), "{sent}");
}

/// What a tunnel of 1,400 bytes carries, whose router says nothing about the rest.
const TUNNEL: usize = 1_400 - 20 - 8;

/// RFC 9000, section 14; RFC 8899, section 4.3.
#[test]
fn datagrams_are_shorter_where_the_path_does_not_carry_them() {
    let server = answering(Settings::default(), |peer, id| peer.answer(id, &honest()));
    let carried = || {
        Relay::start(server.address, |ends, sender, datagram| {
            if datagram.len() <= TUNNEL {
                ends.pass(sender, datagram);
            }
        })
    };
    let relay = carried();
    let outcome = run(through(&relay, over_http3(&server)));
    assert_eq!((outcome.completed, kinds(&outcome)), (3, vec![]), "{}", summary(&outcome));
    assert_eq!((outcome.quic.longest_received, outcome.quic.path_payload), (1_200, None));
    // An upload fills the client's datagrams, too.
    let body = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(body.path(), vec![7; 60_000]).unwrap();
    let relay = carried();
    let mut job = through(&relay, over_http3(&server));
    (job.plan.method, job.plan.body) = (Some(load::Method::Post), Some(body.path().into()));
    let outcome = run(job);
    assert_eq!((outcome.completed, kinds(&outcome)), (3, vec![]), "{}", summary(&outcome));
    assert_eq!((outcome.quic.longest_sent, outcome.quic.path_payload), (1_452, Some(1_200)));
}

#[test]
fn datagrams_that_are_longer_than_was_asked_for_are_read_and_counted() {
    let server = answering(Settings::default(), |peer, id| peer.answer(id, &honest()));
    let mut is_first = true;
    let relay = Relay::start(server.address, move |ends, sender, datagram| {
        let mut datagram = datagram.to_owned();
        if sender == Sender::Server && std::mem::take(&mut is_first) {
            // After the packets of a handshake zeros mean nothing.
            datagram.resize(1_280, 0);
        }
        ends.pass(sender, &datagram);
    });
    let mut job = through(&relay, over_http3(&server));
    job.plan.max_udp_payload = std::num::NonZeroU16::new(1_200);
    let outcome = run(job);
    assert_eq!((outcome.completed, kinds(&outcome)), (3, vec![]), "{}", summary(&outcome));
    assert_eq!((outcome.quic.longest_received, outcome.quic.too_long_received), (1_280, 1));
}

/// toll measures the address that it was given.
#[test]
fn a_preferred_address_is_not_gone_to() {
    let other = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    other.set_nonblocking(true).unwrap();
    let SocketAddr::V4(address) = other.local_addr().unwrap() else { unreachable!() };
    let settings = Settings { preferred_address: Some(address), ..Settings::default() };
    let server = answering(settings, |peer, id| peer.answer(id, &honest()));
    assert_completes(over_http3(&server), SIZE);
    assert_eq!(server.connections(), 1);
    other.recv(&mut [0]).unwrap_err();
}

/// A load whose server's datagrams come from another socket, of this address: all of them as well, or only there
/// once it has answered.
fn moved(address: fn(SocketAddr) -> (Ipv4Addr, u16), stays: bool) -> (Outcome, u64) {
    let has_answered = Arc::new(AtomicU64::new(0));
    let answers = has_answered.clone();
    let server = answering(Settings::default(), move |peer, id| {
        peer.answer(id, &honest());
        answers.fetch_add(1, SeqCst);
    });
    let relayed = Arc::new(AtomicU64::new(0));
    let count = relayed.clone();
    let mut other = None;
    let relay = Relay::start(server.address, move |ends, sender, datagram| {
        let other = other.get_or_insert_with(|| UdpSocket::bind(address(ends.address)).unwrap());
        other.set_nonblocking(true).unwrap();
        other.recv(&mut [0]).unwrap_err();
        if sender == Sender::Server {
            other.send_to(datagram, ends.client).unwrap();
        }
        if sender == Sender::Client || stays || has_answered.load(SeqCst) < 2 {
            count.fetch_add(u64::from(sender == Sender::Server), SeqCst);
            ends.pass(sender, datagram);
        }
    });
    let mut job = through(&relay, over_http3(&server));
    job.plan.timeout = Nanos(300 * MILLISECOND);
    (run(job), relayed.load(SeqCst))
}

/// Servers do not move but to a preferred address (RFC 9000, section 9).
#[test]
fn datagrams_from_another_address_or_port_are_not_taken() {
    let port = |_| (Ipv4Addr::LOCALHOST, 0);
    let address = |of: SocketAddr| (Ipv4Addr::new(127, 0, 0, 2), of.port());
    for (outcome, relayed) in [moved(port, true), moved(address, true)] {
        assert_eq!((outcome.completed, kinds(&outcome)), (3, vec![]), "{}", summary(&outcome));
        assert!(outcome.quic.datagrams_received <= relayed, "{:?} {relayed}", outcome.quic);
    }
    for (outcome, relayed) in [moved(port, false), moved(address, false)] {
        let stalls = vec![(ErrorKind::Stall, 2)];
        assert_eq!((outcome.completed, kinds(&outcome)), (1, stalls), "{}", summary(&outcome));
        assert!(outcome.quic.datagrams_received <= relayed, "{:?} {relayed}", outcome.quic);
    }
}
