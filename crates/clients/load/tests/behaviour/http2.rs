//! HTTP/2 servers, honest and hostile: each ends in completed operations or in a failure with its name.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use load::{ErrorKind, Http, Job, KeyExchangeMode};
use rustls::version::{TLS12, TLS13};
use tls::{OrPlain, Version};
use units::Nanos;

use crate::scripted_server::frames::{
    ACK, CONTINUATION, DATA_FRAME, END_HEADERS, END_STREAM, Frames, GOAWAY, HEADERS, PADDED, PING,
    PUSH_PROMISE, RST_STREAM, SETTINGS, WINDOW_UPDATE, field, frame, ok,
};
use crate::scripted_server::{Secure, Server, config, config_of, ecdsa, finish, silence};
use crate::{
    MILLISECOND, assert_completes, assert_fails, http, https, kinds, lasts, one_in, run, summary,
};

const SIZE: u64 = 40_000;
const PATH: &str = "/bytes/40000B";

const MAX_STREAMS: u16 = 3;
const REFUSED: u32 = 7;
const CALM: u32 = 11;

fn over_http2(job: Job) -> Job {
    let mut job = job;
    job.plan.http = Some(Http::V2);
    job.plan.verify = Some(one_in(1));
    job
}

fn object() -> Vec<u8> {
    let mut body = Vec::new();
    objects::write_to(&mut body, units::Bytes(SIZE)).unwrap();
    body
}

/// A server that does this with each request, and the job for it.
fn answering(
    settings: &'static [(u16, u32)],
    answer: impl Fn(&mut Frames, u32) -> io::Result<()> + Send + Sync + 'static,
) -> (Server, Job) {
    let server = Server::start(move |stream| {
        let mut frames = Frames::accept(stream, settings)?;
        loop {
            let stream = frames.request()?;
            answer(&mut frames, stream)?;
        }
    });
    let job = over_http2(http(server.address(), PATH));
    (server, job)
}

fn honest<S: Read + Write>(frames: &mut Frames<S>, stream: u32) -> io::Result<()> {
    frames.head(stream, SIZE)?;
    frames.body(stream, &object())
}

#[test]
fn honest_responses_count() {
    let (server, job) = answering(&[], honest);
    assert_completes(job, SIZE);
    assert_eq!(server.connections(), 1);
}

#[test]
fn padding_trailers_interim_heads_and_no_length_are_understood() {
    let (_server, job) = answering(&[], |frames, stream| {
        // 103, which is not in the static table.
        let interim = [&[0x08, 3, b'1', b'0', b'3'], &field("content-length", b"7")[..]].concat();
        frames.send(HEADERS, END_HEADERS, stream, &interim)?;
        frames.send(HEADERS, 0, stream, &ok(None))?;
        frames.send(CONTINUATION, END_HEADERS, stream, &field("x", b"y"))?;
        frames.send(PING, 0, 0, &[7; 8])?;
        frames.send(0xbe, 0xff, 0, b"an unknown frame is ignored")?;
        for piece in object().chunks(1000) {
            let padded = [&[200], piece, &[0; 200]].concat();
            frames.send(DATA_FRAME, PADDED, stream, &padded)?;
        }
        let trailers = [field("trailer", b"1"), field("content-length", b"7")].concat();
        frames.send(HEADERS, END_HEADERS | END_STREAM, stream, &trailers)
    });
    let outcome = run(job);
    assert_eq!((outcome.completed, kinds(&outcome)), (3, vec![]), "{}", summary(&outcome));
    assert_eq!((outcome.bytes.body, outcome.verified.compared), (3 * SIZE, 3));
}

#[test]
fn streams_are_open_together_and_may_be_answered_in_any_order() {
    let server = Server::start(|stream| {
        let mut frames = Frames::accept(stream, &[])?;
        loop {
            let mut asked = Vec::new();
            for _ in 0..4 {
                asked.push(frames.request()?);
            }
            for stream in asked.iter().rev() {
                frames.head(*stream, SIZE)?;
            }
            let body = object();
            for piece in body.chunks(9000) {
                for stream in &asked {
                    frames.send(DATA_FRAME, 0, *stream, piece)?;
                }
            }
            for stream in asked {
                frames.send(DATA_FRAME, END_STREAM, stream, &[])?;
            }
        }
    });
    let mut job = over_http2(http(server.address(), PATH));
    (job.plan.streams, job.operations) = (std::num::NonZeroU32::new(4), Some(12));
    let outcome = run(job);
    assert_eq!((outcome.completed, kinds(&outcome)), (12, vec![]), "{}", summary(&outcome));
    assert_eq!(outcome.bytes.body, 12 * SIZE);
    let (counts, frames) = (outcome.streams, outcome.http2);
    assert_eq!((counts.connections, counts.by_alpn, counts.most), (1, 0, 4));
    assert_eq!((counts.requests, counts.goaways, outcome.sent_again), (12, 0, 0));
    assert_eq!(frames.data_frames, 12 * 6);
    // Of the fields `:status: 200` and `content-length: 40000`, of which the server indexes the first.
    assert_eq!(counts.fields_received, 12 * 29);
    assert_eq!(counts.header_bytes_received, 12 * ok(Some(SIZE)).len() as u64);
    // SETTINGS both ways with their acknowledgements, and one WINDOW_UPDATE for the connection.
    assert_eq!((frames.frames_received, frames.frames_sent), (2 + 12 * 7, 3 + 12));
    // What is asked for again is in the table of the compression.
    assert!(counts.header_bytes_sent * 3 < counts.fields_sent, "{counts:?}");
}

#[test]
fn what_a_server_has_not_taken_is_asked_again_on_a_new_connection() {
    let connections = AtomicUsize::new(0);
    let server = Server::start(move |stream| {
        let mut frames = Frames::accept(stream, &[])?;
        let is_first = connections.fetch_add(1, SeqCst) == 0;
        let first = frames.request()?;
        if is_first {
            // It takes the first of three requests and announces that it takes no more.
            let last = [first.to_be_bytes(), 0u32.to_be_bytes()].concat();
            frames.send(GOAWAY, 0, 0, &last)?;
            honest(&mut frames, first)?;
            return silence(&mut frames.0);
        }
        honest(&mut frames, first)?;
        loop {
            let stream = frames.request()?;
            honest(&mut frames, stream)?;
        }
    });
    let mut job = over_http2(http(server.address(), PATH));
    job.plan.streams = std::num::NonZeroU32::new(3);
    let outcome = run(job);
    assert_eq!((outcome.completed, kinds(&outcome)), (3, vec![]), "{}", summary(&outcome));
    let counts = outcome.streams;
    assert_eq!((counts.goaways, outcome.not_taken, counts.connections), (1, 2, 2), "{counts:?}");
    assert_eq!(server.connections(), 2);
}

#[test]
fn a_server_that_always_goes_away_fails_operations() {
    let last = [0u32.to_be_bytes(), 0u32.to_be_bytes()].concat();
    let (_server, job) = answering(&[], move |frames, _| {
        frames.send(GOAWAY, 0, 0, &last).and(silence(&mut frames.0))
    });
    assert_fails(job, ErrorKind::Goaway);
}

#[test]
fn a_server_of_fewer_streams_makes_operations_wait() {
    let (_server, mut job) = answering(&[(MAX_STREAMS, 2)], honest);
    (job.plan.streams, job.operations) = (std::num::NonZeroU32::new(8), Some(40));
    let outcome = run(job);
    assert_eq!((outcome.completed, kinds(&outcome)), (40, vec![]), "{}", summary(&outcome));
    assert_eq!((outcome.streams.allowed, outcome.streams.most), (Some(2), 2));
    let (_server, mut job) = answering(&[(MAX_STREAMS, 0)], honest);
    // The first request may be sent before the settings come.
    (job.plan.timeout, job.operations) = (Nanos(100 * MILLISECOND), Some(1));
    let outcome = run(job);
    let is_named = kinds(&outcome) == [(ErrorKind::NoStream, 1)] || outcome.completed == 1;
    assert!(is_named, "{}", summary(&outcome));
}

#[test]
fn each_fault_of_a_server_has_its_name() {
    type Fault = (&'static str, ErrorKind, fn(&mut Frames, u32) -> io::Result<()>);
    let faults: &[Fault] = &[
        ("reset", ErrorKind::StreamReset, |frames, stream| {
            frames.send(RST_STREAM, 0, stream, &2u32.to_be_bytes())
        }),
        ("reset within the body", ErrorKind::StreamReset, |frames, stream| {
            frames.head(stream, SIZE)?;
            frames.send(DATA_FRAME, 0, stream, &object()[..9000])?;
            frames.send(RST_STREAM, 0, stream, &2u32.to_be_bytes())
        }),
        ("reset without an error", ErrorKind::StreamReset, |frames, stream| {
            frames.head(stream, SIZE)?;
            frames.send(RST_STREAM, 0, stream, &0u32.to_be_bytes())
        }),
        ("refused", ErrorKind::RefusedStream, |frames, stream| {
            frames.send(RST_STREAM, 0, stream, &REFUSED.to_be_bytes())
        }),
        ("gone with an error", ErrorKind::Goaway, |frames, _| {
            let last = [0u32.to_be_bytes(), CALM.to_be_bytes()].concat();
            frames.send(GOAWAY, 0, 0, &last)
        }),
        ("404", ErrorKind::Status, |frames, stream| {
            frames.send(HEADERS, END_HEADERS | END_STREAM, stream, &[0x8d])
        }),
        ("a body too short", ErrorKind::ShortBody, |frames, stream| {
            frames.head(stream, SIZE)?;
            frames.body(stream, &object()[..9000])
        }),
        ("a body too short, without a length", ErrorKind::ShortBody, |frames, stream| {
            frames.send(HEADERS, END_HEADERS, stream, &ok(None))?;
            frames.body(stream, &object()[..9000])
        }),
        ("a body too long", ErrorKind::LongBody, |frames, stream| {
            frames.send(HEADERS, END_HEADERS, stream, &ok(None))?;
            frames.body(stream, &[&object()[..], b"x"].concat())
        }),
        ("an endless body", ErrorKind::Content, |frames, stream| {
            frames.send(HEADERS, END_HEADERS, stream, &ok(None))?;
            loop {
                frames.send(DATA_FRAME, 0, stream, &object()[..16 << 10])?;
            }
        }),
        ("a body of other bytes", ErrorKind::Content, |frames, stream| {
            frames.head(stream, SIZE)?;
            frames.body(stream, &vec![7; SIZE as usize])
        }),
        ("no status", ErrorKind::Http2, |frames, stream| {
            frames.send(HEADERS, END_HEADERS | END_STREAM, stream, &field("x", b"y"))
        }),
        ("a body before its head", ErrorKind::Http2, |frames, stream| frames.body(stream, b"x")),
        ("data after the end", ErrorKind::Http2, |frames, stream| {
            frames.send(HEADERS, END_HEADERS, stream, &ok(Some(SIZE)))?;
            frames.send(DATA_FRAME, 0, stream + 2, b"x")
        }),
        ("a frame that is too large", ErrorKind::Http2, |frames, stream| {
            frames.head(stream, SIZE)?;
            frames.send(DATA_FRAME, 0, stream, &object()[..(16 << 10) + 1])
        }),
        ("a frame of the wrong size", ErrorKind::Http2, |frames, stream| {
            frames.send(RST_STREAM, 0, stream, b"abc")
        }),
        ("padding beyond the frame", ErrorKind::Http2, |frames, stream| {
            frames.head(stream, SIZE)?;
            frames.send(DATA_FRAME, PADDED, stream, &[200, 1, 2])
        }),
        ("a field that is not in the table", ErrorKind::Http2, |frames, stream| {
            frames.send(HEADERS, END_HEADERS | END_STREAM, stream, &[0xff, 0xff, 0x7f])
        }),
        ("a table that grows too much", ErrorKind::Http2, |frames, stream| {
            frames.send(HEADERS, END_HEADERS, stream, &[0x3f, 0xff, 0xff, 0x7f])
        }),
        ("a bomb of fields", ErrorKind::LongHead, |frames, stream| {
            // A field of 4 KiB in the table, then its number 16,000 times: 64 MiB.
            let long = [&[0x40, 1, b'x', 127, 0xa1, 0x1e], &[b'y'; 4000][..]].concat();
            let head = [&[0x88], &long[..], &[0xbe; 12_000]].concat();
            frames.send(HEADERS, END_HEADERS, stream, &head)
        }),
        ("a head that never ends", ErrorKind::LongHead, |frames, stream| {
            frames.send(HEADERS, 0, stream, &[0x88])?;
            loop {
                frames.send(CONTINUATION, 0, stream, &field("x", &[b'y'; 1000]))?;
            }
        }),
        ("a frame within a head", ErrorKind::Http2, |frames, stream| {
            frames.send(HEADERS, 0, stream, &[0x88])?;
            frames.send(DATA_FRAME, 0, stream, b"x")
        }),
        ("a head after a head", ErrorKind::Http2, |frames, stream| {
            frames.head(stream, SIZE)?;
            frames.head(stream, SIZE)
        }),
        ("a window that overflows", ErrorKind::Http2, |frames, _| {
            frames.send(WINDOW_UPDATE, 0, 0, &0x7fff_ffffu32.to_be_bytes())?;
            frames.send(WINDOW_UPDATE, 0, 0, &0x7fff_ffffu32.to_be_bytes())
        }),
        ("an increment of nothing", ErrorKind::Http2, |frames, _| {
            frames.send(WINDOW_UPDATE, 0, 0, &0u32.to_be_bytes())
        }),
        ("a window beyond its limit", ErrorKind::Http2, |frames, _| {
            frames.send(SETTINGS, 0, 0, &[0, 4, 0x80, 0, 0, 0])
        }),
        ("a pushed response", ErrorKind::Http2, |frames, stream| {
            frames.send(PUSH_PROMISE, END_HEADERS, stream, &[0, 0, 0, 2, 0x82])
        }),
        ("an acknowledgement of nothing", ErrorKind::Http2, |frames, _| {
            frames.send(SETTINGS, ACK, 0, b"x")
        }),
        ("a flood of settings", ErrorKind::Http2, |frames, _| {
            let one = frame(SETTINGS, 0, 0, &[0, 3, 0, 0, 0, 9]);
            loop {
                frames.0.write_all(&one.repeat(1000))?;
            }
        }),
        ("a flood of pings", ErrorKind::Http2, |frames, _| {
            let one = frame(PING, 0, 0, &[1; 8]);
            loop {
                frames.0.write_all(&one.repeat(1000))?;
            }
        }),
        ("a body beyond its promise", ErrorKind::LongBody, |frames, stream| {
            frames.head(stream, SIZE)?;
            frames.body(stream, &[&object()[..], b"x"].concat())
        }),
        ("an endless refusal", ErrorKind::Status, |frames, stream| {
            frames.send(HEADERS, END_HEADERS, stream, &[0x8e])?;
            loop {
                frames.send(DATA_FRAME, 0, stream, &[0; 16 << 10])?;
            }
        }),
        ("an end within a frame", ErrorKind::EarlyClose, |frames, stream| {
            frames.0.write_all(&frame(HEADERS, END_HEADERS, stream, &ok(Some(SIZE)))[..10])?;
            finish(&mut frames.0)
        }),
        ("the end instead of a response", ErrorKind::EarlyClose, |frames, _| finish(&mut frames.0)),
    ];
    std::thread::scope(|scope| {
        for (name, kind, fault) in faults {
            scope.spawn(move || {
                let (_server, job) = answering(&[], *fault);
                let outcome = run(job);
                // What still comes of a stream that was reset may end the connection.
                let also = name.starts_with("an endless").then_some(ErrorKind::Http2);
                let of = |kind| outcome.failures.count(kind);
                let found = (of(*kind) > 0, of(*kind) + also.map_or(0, of));
                assert_eq!(found, (true, 3), "{name}: {}", summary(&outcome));
                assert_eq!((outcome.completed, outcome.bytes.body), (0, 0), "{name}");
            });
        }
    });
}

#[test]
fn a_wrong_response_fails_its_operation_and_leaves_those_beside_it() {
    type Fault = fn(&mut Frames, u32) -> io::Result<()>;
    let faults: [(ErrorKind, Fault); 3] = [
        (ErrorKind::Http2, |frames, stream| {
            frames.head(stream, SIZE)?;
            frames.head(stream, SIZE)
        }),
        (ErrorKind::ShortBody, |frames, stream| {
            frames.head(stream, SIZE)?;
            frames.body(stream, &object()[..9000])
        }),
        (ErrorKind::LongBody, |frames, stream| {
            frames.head(stream, SIZE - 1)?;
            frames.body(stream, &object())
        }),
    ];
    for (kind, fault) in faults {
        let server = Server::start(move |stream| {
            let mut frames = Frames::accept(stream, &[])?;
            loop {
                let wrong = frames.request()?;
                let right = frames.request()?;
                frames.head(right, SIZE)?;
                fault(&mut frames, wrong)?;
                frames.body(right, &object())?;
            }
        });
        let mut job = over_http2(http(server.address(), PATH));
        (job.plan.streams, job.operations) = (std::num::NonZeroU32::new(2), Some(10));
        let outcome = run(job);
        let found = (outcome.completed, kinds(&outcome), server.connections());
        assert_eq!(found, (5, vec![(kind, 5)], 1), "{}", summary(&outcome));
    }
}

/// As nginx sends them with TLS 1.2, and Go with TLS 1.3.
#[test]
fn settings_may_come_in_one_read_with_the_end_of_the_handshake() {
    for version in [&TLS12, &TLS13] {
        for key_exchange in [KeyExchangeMode::Fixed, KeyExchangeMode::Fresh] {
            for tls in [
                None,
                Some(if version.version == TLS12.version {
                    Version::Tls12
                } else {
                    Version::Tls13
                }),
            ] {
                let mut config = config_of(ecdsa(), &[version]);
                config.alpn_protocols = vec![http2::ALPN.to_vec()];
                config.send_half_rtt_data = true;
                let config = Arc::new(config);
                let server = Server::start(move |stream| {
                    let settings = frame(SETTINGS, 0, 0, &[]);
                    let session = Secure::accept_saying(stream, &config, &settings)?;
                    let mut frames = Frames::begin(session)?;
                    loop {
                        let stream = frames.request()?;
                        honest(&mut frames, stream)?;
                    }
                });
                let mut job = over_http2(https(server.address(), PATH));
                job.plan.tls = tls.map(OrPlain::Tls);
                job.plan.key_exchange = Some(key_exchange);
                assert_completes(job, SIZE);
            }
        }
    }
}

#[test]
fn http_1_and_silence_have_their_names() {
    let server = Server::start(|mut stream: TcpStream| {
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")?;
        silence(&mut stream)
    });
    assert_fails(over_http2(http(server.address(), PATH)), ErrorKind::AnsweredHttp1);
    let mut job =
        over_http2(http(Server::start(|mut stream| silence(&mut stream)).address(), PATH));
    job.plan.timeout = Nanos(100 * MILLISECOND);
    let silent = Server::start(|mut stream| silence(&mut stream));
    job.address = silent.address();
    assert_fails(job, ErrorKind::Stall);
}

#[test]
fn a_server_without_alpn_is_no_http2_server() {
    let config = config();
    let server = Server::start(move |stream| {
        let mut session = Secure::accept(stream, &config)?;
        silence(crate::scripted_server::Session::stream(&mut session))
    });
    assert_fails(over_http2(https(server.address(), PATH)), ErrorKind::NoH2);
}

#[test]
fn every_way_to_begin_operations_works_with_streams() {
    for (arrival, ramp) in [
        ("closed", 0),
        ("closed, think 5ms", 0),
        ("uniform 400/s", 0),
        ("poisson 400/s", 0),
        ("paced 50ms", 0),
        ("closed, think 5ms", 50),
        ("paced 50ms", 50),
    ] {
        let (server, mut job) = answering(&[], honest);
        lasts(&mut job, Nanos(100 * MILLISECOND), Nanos(200 * MILLISECOND));
        job.plan.arrival = arrival.parse().unwrap();
        job.plan.ramp = Nanos(ramp * MILLISECOND);
        (job.plan.connections, job.plan.streams) = (2, std::num::NonZeroU32::new(4));
        let outcome = run(job);
        let name = format!("{arrival} {ramp}: {}", summary(&outcome));
        assert!(outcome.completed > 0 && kinds(&outcome).is_empty(), "{name}");
        assert!(outcome.bytes.body >= (outcome.completed - 8) * SIZE, "{name}");
        assert_eq!(outcome.verified.compared, outcome.completed, "{name}");
        assert_eq!((server.connections(), outcome.streams.connections), (2, 2), "{name}");
        // Eight users that ask every 50 ms.
        if arrival == "paced 50ms" {
            assert!((24..=40).contains(&outcome.arrivals.intended), "{name}");
        }
    }
}

#[test]
fn several_objects_are_asked_for_in_their_shares() {
    let server = Server::start(|stream| {
        let mut frames = Frames::accept(stream, &[])?;
        // What a request asks for is not read: the sizes differ, so half of them are wrong.
        loop {
            let stream = frames.request()?;
            honest(&mut frames, stream)?;
        }
    });
    let mut job = over_http2(http(server.address(), "/"));
    job.objects = Some("40000B 50%, 39999B 50%".parse().unwrap());
    (job.plan.streams, job.operations) = (std::num::NonZeroU32::new(4), Some(40));
    let outcome = run(job);
    let long = outcome.failures.count(ErrorKind::LongBody);
    assert_eq!(outcome.completed + long, 40, "{}", summary(&outcome));
    assert!(outcome.completed > 5 && long > 5, "{}", summary(&outcome));
    assert_eq!(outcome.objects, [outcome.completed]);
}
