//! Servers of HTTP/3, honest and hostile: each ends in completed operations or in a failure with its name.

use http3::{ErrorCode, frame, qpack};
use load::{
    Arrival, ErrorKind, Http, Job, Method, Operation, Pace, Percent, QuicCounts, StreamCounts,
};
use quinn_proto::{Dir, IdleTimeout, StreamId, VarInt};
use rustls::version::TLS13;
use tls::{CertificateKey, Identity};
use units::Nanos;

use crate::scripted_server::quic::{Happened, Peer, QuicServer, Settings};
use crate::scripted_server::{asking_config, forged};
use crate::{
    MILLISECOND, assert_completes, assert_fails, https, kinds, lasts, one_in, run, summary,
};

pub const SIZE: u64 = 40_000;
pub const PATH: &str = "/bytes/40000B";

/// What the control stream begins with: its kind, and SETTINGS without any.
const CONTROL: &[u8] = &[0, 4, 0];

fn object(size: u64) -> Vec<u8> {
    let mut body = Vec::new();
    objects::write_to(&mut body, units::Bytes(size)).unwrap();
    body
}

fn head(fields: &[(&str, &str)]) -> Vec<u8> {
    let fields = fields.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes()));
    let (mut section, mut out) = (Vec::new(), Vec::new());
    qpack::encode(fields, &mut section);
    frame::put_headers(&mut out, &section);
    out
}

fn data(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    frame::put_data_head(&mut out, bytes.len() as u64);
    out.extend_from_slice(bytes);
    out
}

pub fn ok(size: u64) -> Vec<u8> {
    head(&[(":status", "200"), ("content-length", &size.to_string())])
}

pub fn honest() -> Vec<u8> {
    [ok(SIZE), data(&object(SIZE))].concat()
}

pub fn over_http3(server: &QuicServer) -> Job {
    let mut job = https(server.address, PATH);
    (job.plan.http, job.plan.verify) = (Some(Http::V3), Some(one_in(1)));
    job
}

/// A server that sends its SETTINGS, and then does this with each request.
pub fn answering(
    settings: Settings,
    mut answer: impl FnMut(&mut Peer<'_>, StreamId) + Send + 'static,
) -> QuicServer {
    QuicServer::start(settings, move |peer, happened| match happened {
        Happened::Connected => {
            peer.open(CONTROL);
        }
        Happened::Asked(id) => answer(peer, id),
        Happened::Opened(_) => {}
    })
}

/// One that answers each request with these bytes.
fn saying(bytes: Vec<u8>) -> (QuicServer, Job) {
    let server = answering(Settings::default(), move |peer, id| peer.answer(id, &bytes));
    let job = over_http3(&server);
    (server, job)
}

#[test]
fn honest_responses_count_and_so_does_what_carried_them() {
    let (server, job) = saying(honest());
    let outcome = run(job);
    assert_eq!((outcome.completed, kinds(&outcome)), (3, vec![]), "{}", summary(&outcome));
    assert_eq!((outcome.bytes.body, outcome.verified.compared), (3 * SIZE, 3));
    assert_eq!((server.connections(), outcome.negotiated[0].1), (1, 1));
    let StreamCounts { connections, by_alpn, requests, answers, most, .. } = outcome.streams;
    assert_eq!((connections, by_alpn, requests, answers, most), (1, 1, 3, 3, 1));
    let (counts, streams) = (outcome.quic, outcome.streams);
    assert!(counts.bytes_received > 3 * SIZE && counts.datagrams_received > 3 * SIZE / 1452);
    assert!(counts.receives <= counts.datagrams_received && counts.sends <= counts.datagrams_sent);
    assert!(counts.acks_sent > 0 && counts.acks_received > 0);
    assert!(streams.fields_sent > streams.header_bytes_sent && streams.fields_received > 0);
    assert_eq!((counts.retries, counts.drops, counts.sends_refused), (0, 0, 0));
}

#[test]
fn datagrams_are_as_long_as_was_asked_for() {
    for (asked, longest) in [(None, 1_452), (Some(1_200), 1_200), (Some(1_300), 1_300)] {
        let (_server, mut job) = saying(honest());
        job.plan.max_udp_payload = asked.and_then(std::num::NonZeroU16::new);
        let QuicCounts { longest_sent, longest_received, .. } = run(job).quic;
        assert_eq!(longest_received, longest, "{asked:?}");
        // The first packet is padded to this; the requests are shorter.
        assert_eq!(longest_sent, 1_200, "{asked:?}");
    }
}

#[test]
fn interim_heads_trailers_unknown_frames_and_streams_are_understood() {
    let interim = head(&[(":status", "103"), ("content-length", "7")]);
    let body = object(SIZE);
    let trailers = head(&[("checked", "yes")]);
    let unknown = b"\x21\x03???".to_vec();
    let all = [
        interim,
        unknown.clone(),
        head(&[(":status", "200")]),
        data(&body[..7]),
        data(&[]),
        unknown,
        data(&body[7..]),
        trailers,
    ]
    .concat();
    let server = answering(Settings::default(), move |peer, id| {
        // Of a kind that nobody knows.
        peer.open(b"\x40\x55 hello");
        peer.answer(id, &all);
    });
    assert_completes(over_http3(&server), SIZE);
}

#[test]
fn wrong_responses_fail_by_their_names() {
    use ErrorKind::{Content, Http3, LongBody, LongHead, ShortBody, Status};
    let mut damaged = object(SIZE);
    damaged[39_999] ^= 1;
    let long = "x".repeat(70_000);
    let fields: Vec<_> = (0..3000).map(|_| ("name", "value")).collect();
    let fields = [&[(":status", "200")], &fields[..]].concat();
    let dynamic = [1, 4, 0, 0, 0x80, 0];
    for (answer, kind) in [
        (head(&[(":status", "404")]), Status),
        ([ok(SIZE), data(&object(39_999))].concat(), ShortBody),
        ([ok(39_999), data(&object(39_999))].concat(), ShortBody),
        ([ok(SIZE), data(&object(SIZE + 1))].concat(), LongBody),
        ([head(&[(":status", "200")]), data(&object(SIZE + 1))].concat(), LongBody),
        ([ok(SIZE), data(&damaged)].concat(), Content),
        (head(&[(":status", "200"), ("long", &long)]), LongHead),
        (head(&fields), LongHead),
        (Vec::new(), Http3),
        (data(b"before a head"), Http3),
        ([ok(SIZE), data(&object(SIZE)), ok(SIZE), ok(SIZE)].concat(), Http3),
        (honest()[..honest().len() - 1].to_vec(), Http3),
        (head(&[("content-length", "1")]), Http3),
        (head(&[(":status", "200"), ("Upper", "case")]), Http3),
        (dynamic.to_vec(), Http3),
        ([ok(SIZE), vec![5, 1, 0]].concat(), Http3),
        // SETTINGS and PRIORITY, the latter of HTTP/2.
        (vec![4, 0], Http3),
        (vec![2, 0], Http3),
    ] {
        let seen = format!("{:?} {:?}", kind, &answer[..answer.len().min(20)]);
        let (_server, job) = saying(answer);
        let outcome = run(job);
        assert_eq!(
            (outcome.completed, kinds(&outcome)),
            (0, vec![(kind, 3)]),
            "{seen}: {}",
            summary(&outcome)
        );
        assert_eq!(outcome.bytes.body, 0, "{seen}");
    }
}

#[test]
fn wrong_streams_of_the_server_end_the_connection() {
    for bytes in [CONTROL, &[1, 0], &[0, 7, 1, 0], &[2, 0x3f], &[3, 0x80]] {
        let server = answering(Settings::default(), move |peer, _| {
            peer.open(bytes);
        });
        assert_fails(over_http3(&server), ErrorKind::Http3);
    }
    let ends = |peer: &mut Peer<'_>, happened| match happened {
        Happened::Connected => {
            let control = peer.open(CONTROL);
            peer.connection.send_stream(control).finish().unwrap();
        }
        Happened::Asked(_) | Happened::Opened(_) => {}
    };
    assert_fails(over_http3(&QuicServer::start(Settings::default(), ends)), ErrorKind::Http3);
}

#[test]
fn streams_that_are_reset_fail_or_are_asked_for_again() {
    for (code, kind) in [
        (ErrorCode::InternalError, ErrorKind::StreamReset),
        (ErrorCode::RequestRejected, ErrorKind::RefusedStream),
    ] {
        let server = answering(Settings::default(), move |peer, id| peer.reset(id, code as u32));
        assert_fails(over_http3(&server), kind);
    }
    // Each first time.
    let mut has_refused = false;
    let server = answering(Settings::default(), move |peer, id| {
        has_refused = !has_refused;
        match has_refused {
            true => peer.reset(id, ErrorCode::RequestRejected as u32),
            false => peer.answer(id, &honest()),
        }
    });
    let outcome = run(over_http3(&server));
    assert_eq!((outcome.completed, outcome.streams.requests), (3, 6), "{}", summary(&outcome));
}

#[test]
fn a_server_that_goes_away_is_left_for_a_new_connection() {
    let goaway = |from: u8| [CONTROL, &[7, 1, from]].concat();
    // It takes one request of each connection, and leaves the next ones out.
    let server = QuicServer::start(Settings::default(), move |peer, happened| match happened {
        Happened::Connected => {}
        Happened::Asked(id) if id.index() == 0 => {
            peer.open(&goaway(4));
            peer.answer(id, &honest());
        }
        Happened::Asked(_) | Happened::Opened(_) => {}
    });
    let mut job = over_http3(&server);
    job.plan.streams = std::num::NonZeroU32::new(2);
    let outcome = run(job);
    assert_eq!((outcome.completed, kinds(&outcome)), (3, vec![]), "{}", summary(&outcome));
    assert_eq!((server.connections(), outcome.streams.goaways), (3, 3));
    assert!(outcome.not_taken > 0 && outcome.not_taken == outcome.sent_again);
}

#[test]
fn a_connection_that_the_server_closes_fails_what_it_carries() {
    for (code, kind) in
        [(ErrorCode::InternalError, ErrorKind::Http3), (ErrorCode::NoError, ErrorKind::EarlyClose)]
    {
        let server = answering(Settings::default(), move |peer, _| peer.close(code as u32));
        assert_fails(over_http3(&server), kind);
    }
}

#[test]
fn servers_that_fall_silent_run_into_the_time_limit() {
    // It only never answers; it says nothing more, not even that packets have come.
    type Script = fn(&mut Peer<'_>);
    let scripts: [Script; 2] = [|_| {}, |peer| *peer.is_dead = true];
    for script in scripts {
        let server = answering(Settings::default(), move |peer, _| script(peer));
        let mut job = over_http3(&server);
        job.plan.timeout = Nanos(400 * MILLISECOND);
        assert_fails(job, ErrorKind::Stall);
    }
}

/// It answers what it does not know by a stateless reset (RFC 9000, section 10.3).
#[test]
fn a_server_that_forgets_resets_the_connection() {
    let server = answering(Settings::default(), |peer, id| {
        peer.answer(id, &honest());
        *peer.forgets = true;
    });
    assert_fails(over_http3(&server), ErrorKind::Reset);
}

#[test]
fn an_idle_timeout_of_the_server_costs_a_new_connection_and_no_failure() {
    let mut settings = Settings::default();
    settings.transport.max_idle_timeout(Some(IdleTimeout::from(VarInt::from_u32(150))));
    let server = answering(settings, |peer, id| peer.answer(id, &honest()));
    let mut job = over_http3(&server);
    lasts(&mut job, Nanos(0), Nanos(1_300 * MILLISECOND));
    job.plan.arrival = Arrival::Paced { pace: Pace::Every(Nanos(400 * MILLISECOND)) };
    let outcome = run(job);
    assert_eq!(kinds(&outcome), [], "{}", summary(&outcome));
    assert!(outcome.completed >= 2 && server.connections() >= 2, "{}", summary(&outcome));
}

#[test]
fn streams_are_as_many_as_the_server_allows() {
    let mut settings = Settings::default();
    settings.transport.max_concurrent_bidi_streams(2_u32.into());
    let server = answering(settings, |peer, id| peer.answer(id, &honest()));
    let mut job = over_http3(&server);
    (job.operations, job.plan.streams) = (Some(40), std::num::NonZeroU32::new(8));
    let outcome = run(job);
    assert_eq!((outcome.completed, kinds(&outcome)), (40, vec![]), "{}", summary(&outcome));
    assert_eq!((outcome.streams.most, outcome.streams.allowed), (2, Some(2)));

    let mut settings = Settings::default();
    settings.transport.max_concurrent_bidi_streams(0_u32.into());
    let server = answering(settings, |_, _| {});
    let mut job = over_http3(&server);
    job.plan.timeout = Nanos(300 * MILLISECOND);
    assert_fails(job, ErrorKind::NoStream);
}

#[test]
fn bodies_are_sent_as_windows_allow() {
    let body = std::env::temp_dir().join(format!("toll-http3-body-{}", std::process::id()));
    std::fs::write(&body, vec![7; 300_000]).unwrap();
    let with_body = |server: &QuicServer| {
        let mut job = over_http3(server);
        (job.plan.method, job.plan.body) = (Some(Method::Post), Some(body.clone()));
        job
    };
    let mut settings = Settings::default();
    settings.transport.stream_receive_window(10_000_u32.into());
    let server = answering(settings, |peer, id| peer.answer(id, &ok(0)));
    let outcome = run(with_body(&server));
    assert_eq!((outcome.completed, kinds(&outcome)), (3, vec![]), "{}", summary(&outcome));
    assert!(outcome.quic.bytes_sent > 900_000, "{:?}", outcome.quic);
    assert_eq!(outcome.answered_early, 0);
    let counts = outcome.streams;
    assert_eq!(counts.held_up, 3);
    assert!(Nanos(0) < counts.held_up_for && counts.held_up_for <= counts.with_body_for);

    // More than the congestion window at first, and less than any window of the server.
    let server = answering(Settings::default(), |peer, id| peer.answer(id, &ok(0)));
    let outcome = run(with_body(&server));
    assert_eq!((outcome.completed, kinds(&outcome)), (3, vec![]), "{}", summary(&outcome));
    assert_eq!((outcome.streams.held_up, outcome.streams.held_up_for), (0, Nanos(0)));

    // Nothing reads them.
    let mut settings = Settings::default();
    settings.transport.receive_window(0_u32.into());
    let server = answering(settings, |_, _| {});
    let mut job = with_body(&server);
    job.plan.timeout = Nanos(300 * MILLISECOND);
    assert_fails(job, ErrorKind::FlowControl);
    std::fs::remove_file(body).unwrap();
}

/// A server that answers uploads before it has read them, or resets them, and reads no more of them.
#[test]
fn uploads_that_a_server_stops_give_their_streams_back() {
    let body = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(body.path(), vec![7; 300_000]).unwrap();
    for (window, answers) in [(10_000_u32, true), (1_000_000, true), (10_000, false)] {
        let mut settings = Settings::default();
        settings.transport.max_concurrent_bidi_streams(2_u32.into());
        settings.transport.stream_receive_window(window.into());
        let too_large = head(&[(":status", "413"), ("content-length", "0")]);
        let server = QuicServer::start(settings, move |peer, happened| match happened {
            Happened::Connected => {
                peer.open(CONTROL);
            }
            Happened::Opened(id) => {
                let code = VarInt::from_u32(ErrorCode::NoError as u32);
                let _ = peer.connection.recv_stream(id).stop(code);
                match answers {
                    true => peer.answer(id, &too_large),
                    false => peer.reset(id, ErrorCode::InternalError as u32),
                }
            }
            Happened::Asked(_) => {}
        });
        let mut job = over_http3(&server);
        (job.plan.method, job.plan.body) = (Some(Method::Post), Some(body.path().into()));
        (job.plan.expect, job.operations) = ("413".parse().ok(), Some(12));
        let outcome = run(job);
        let expected = match answers {
            true => (12, vec![]),
            false => (0, vec![(ErrorKind::StreamReset, 12)]),
        };
        let name = format!("{window} {}", summary(&outcome));
        assert_eq!((outcome.completed, kinds(&outcome)), expected, "{name}");
        assert_eq!(
            (server.connections(), outcome.answered_early),
            (1, outcome.completed),
            "{name}"
        );
    }
}

/// The server allows eight streams in all.
#[test]
fn the_time_for_which_a_server_allows_no_stream_is_counted() {
    let mut settings = Settings::default();
    settings.transport.max_concurrent_bidi_streams(8_u32.into());
    let server = answering(settings, move |peer, id| {
        peer.connection.set_max_concurrent_streams(Dir::Bi, 0_u32.into());
        peer.answer(id, &honest());
    });
    let mut job = over_http3(&server);
    job.plan.streams = std::num::NonZeroU32::new(8);
    lasts(&mut job, Nanos(0), Nanos(800 * MILLISECOND));
    let outcome = run(job);
    let counts = outcome.streams;
    assert_eq!((counts.requests, counts.most, counts.allowed), (8, 8, Some(8)), "{counts:?}");
    assert_eq!((outcome.completed, kinds(&outcome), outcome.in_flight), (8, vec![], 8));
    assert_eq!(outcome.unended.count(ErrorKind::NoStream), 8);
    let all = counts.no_stream_for.0 + counts.open_for.0;
    assert!(counts.no_stream_for > Nanos(0) && all <= 8 * 800 * MILLISECOND, "{counts:?}");
}

#[test]
fn handshakes_are_full_or_resumed() {
    let (server, mut job) = saying(honest());
    (job.plan.operation, job.operations) = (Operation::Handshakes, Some(6));
    let outcome = run(job.clone());
    assert_eq!((outcome.completed, kinds(&outcome)), (6, vec![]), "{}", summary(&outcome));
    assert_eq!((server.connections(), outcome.bytes.body), (6, 0));
    assert_eq!(outcome.negotiated.iter().map(|(_, count)| count).sum::<u64>(), 6);
    assert!(outcome.negotiated.iter().all(|(of, _)| !of.resumed));
    job.plan.resumption = "100%".parse::<Percent>().unwrap();
    let outcome = run(job);
    let resumed = outcome.negotiated.iter().filter(|(of, _)| of.resumed).map(|(_, count)| count);
    // The first has nothing to resume.
    assert_eq!((outcome.completed, resumed.sum::<u64>()), (6, 5), "{}", summary(&outcome));
}

#[test]
fn a_retry_is_followed_and_counted() {
    let server = answering(Settings { retries: true, ..Settings::default() }, |peer, id| {
        peer.answer(id, &honest());
    });
    let outcome = run(over_http3(&server));
    assert_eq!((outcome.completed, outcome.quic.retries), (3, 1), "{}", summary(&outcome));
}

#[test]
fn servers_of_something_else_and_untrusted_ones_are_named() {
    let other = answering(Settings { protocol: b"hq-interop", ..Settings::default() }, |_, _| {});
    assert_fails(over_http3(&other), ErrorKind::NoH3);
    let forged = answering(Settings { tls: forged(&TLS13), ..Settings::default() }, |_, _| {});
    assert_fails(over_http3(&forged), ErrorKind::Authentication);
    let (_server, mut job) = saying(honest());
    (job.plan.insecure, job.trust) = (false, load::Trust::System);
    assert_fails(job, ErrorKind::Authentication);
}

/// A server learns what a client has only after the client has all that it needs to send requests (RFC 8446,
/// section 4.4.2.4).
#[test]
fn a_client_certificate_is_sent_and_without_an_acceptable_one_nothing_completes() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    let issue = |name: &str| {
        let (client, authority) = Identity::issued_client(CertificateKey::EcdsaP256).unwrap();
        client.write(&file(&format!("{name}.crt")), &file(&format!("{name}.key"))).unwrap();
        authority
    };
    let (authority, _) = (issue("own"), issue("strange"));
    let settings =
        Settings { tls: asking_config(&authority, &[&TLS13], true), ..Settings::default() };
    let server = answering(settings, |peer, id| peer.answer(id, &honest()));
    for operation in [Operation::Requests, Operation::Handshakes] {
        let job_with = |name: Option<&str>| {
            let mut job = over_http3(&server);
            job.plan.operation = operation;
            job.plan.client_certificate = name.map(|name| file(&format!("{name}.crt")));
            job.plan.client_key = name.map(|name| file(&format!("{name}.key")));
            job
        };
        let outcome = run(job_with(Some("own")));
        assert_eq!((outcome.completed, kinds(&outcome)), (3, vec![]), "{}", summary(&outcome));
        let [(negotiated, count)] = outcome.negotiated[..] else { panic!("{}", summary(&outcome)) };
        assert_eq!(negotiated.client.unwrap().key, Some(CertificateKey::EcdsaP256));
        assert_eq!(outcome.certificate_requests, count);
        for name in [None, Some("strange")] {
            assert_fails(job_with(name), ErrorKind::Alert);
        }
    }
}
