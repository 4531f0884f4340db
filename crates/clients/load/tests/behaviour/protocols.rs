//! One table of what servers do, and what becomes of operations over HTTP/1.1 and over HTTP/2. Both columns are
//! the same, but for what the protocols make different, which the row says.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use http2::REFUSED_STREAM;
use load::{Engine, ErrorKind, Http, Job, Load, Method, Outcome, Url};
use quinn_proto::{Dir, StreamId};
use units::Nanos;

use crate::http3::{answering, honest, over_http3};
use crate::scripted_server::frames::{
    DATA_FRAME, END_HEADERS, END_STREAM, Frames, GOAWAY, HEADERS, RST_STREAM, SETTINGS, field, ok,
};
use crate::scripted_server::quic::{Peer as QuicPeer, Settings};
use crate::scripted_server::{
    Plain, Secure, Server, Session, config, config_of, ecdsa, finish, reset, silence,
};
use crate::{MILLISECOND, http, https, kinds, lasts, run, summary};

const SIZE: u64 = 1000;
const PATH: &str = "/bytes/1000B";

/// SETTINGS_MAX_CONCURRENT_STREAMS.
const MAX_STREAMS: u16 = 3;

fn object() -> &'static [u8] {
    &objects::slice(0)[..SIZE as usize]
}

/// A server's side of a connection, of either protocol.
enum Peer {
    Http1(Plain),
    Http2(Frames),
}

use Peer::{Http1, Http2};

impl Peer {
    fn accept(stream: TcpStream, is_http2: bool) -> io::Result<Self> {
        Ok(match is_http2 {
            false => Http1(Plain(stream)),
            true => Http2(Frames::accept(stream, &[])?),
        })
    }

    /// The next request's stream, and its head as it was sent.
    fn request(&mut self) -> io::Result<(u32, Vec<u8>)> {
        match self {
            // A body is not read.
            Http1(plain) => {
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    let mut byte = [0];
                    plain.0.read_exact(&mut byte)?;
                    head.push(byte[0]);
                }
                Ok((0, head))
            }
            Http2(frames) => loop {
                let frame = frames.next()?;
                if frame.kind == HEADERS {
                    return Ok((frame.stream, frame.payload));
                }
            },
        }
    }

    /// The head of an answer, and the first half of its body.
    fn begin(&mut self, stream: u32) -> io::Result<()> {
        let half = &object()[..500];
        match self {
            Http1(plain) => {
                let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {SIZE}\r\n\r\n");
                plain.send(&[head.as_bytes(), half].concat())
            }
            Http2(frames) => {
                frames.head(stream, SIZE)?;
                frames.send(DATA_FRAME, 0, stream, half)
            }
        }
    }

    fn end(&mut self, stream: u32) -> io::Result<()> {
        let half = &object()[500..];
        match self {
            Http1(plain) => plain.send(half),
            Http2(frames) => frames.send(DATA_FRAME, END_STREAM, stream, half),
        }
    }

    fn answer(&mut self, stream: u32) -> io::Result<()> {
        self.begin(stream)?;
        self.end(stream)
    }

    /// An answer with so many fields, and no body.
    fn fields(&mut self, stream: u32, count: usize) -> io::Result<()> {
        match self {
            Http1(plain) => {
                let fields = "X: y\r\n".repeat(count - 1);
                plain.send(
                    format!("HTTP/1.1 200 OK\r\n{fields}Content-Length: 0\r\n\r\n").as_bytes(),
                )
            }
            Http2(frames) => {
                let head = [ok(Some(0)), field("x", b"y").repeat(count - 1)].concat();
                frames.send(HEADERS, END_HEADERS | END_STREAM, stream, &head)
            }
        }
    }

    /// An answer without a body: with this status, which is the field of these bytes in HPACK.
    fn status(&mut self, stream: u32, status: &str, field: &[u8]) -> io::Result<()> {
        match self {
            Http1(plain) => {
                let head = format!("HTTP/1.1 {status} X\r\nContent-Length: 0\r\n\r\n");
                plain.send(head.as_bytes())
            }
            Http2(frames) => frames.send(HEADERS, END_HEADERS | END_STREAM, stream, field),
        }
    }

    fn stream(&mut self) -> &mut TcpStream {
        match self {
            Http1(plain) => &mut plain.0,
            Http2(frames) => &mut frames.0,
        }
    }

    fn close(&mut self) -> io::Result<()> {
        finish(self.stream())
    }

    fn reset(&mut self) -> io::Result<()> {
        reset(self.stream())
    }
}

/// What a server does on a connection of this number.
type Script = fn(&mut Peer, usize) -> io::Result<()>;

/// A server, the requests that it saw, and a job of three operations on one connection.
fn server(is_http2: bool, script: Script) -> (Server, Job) {
    let connections = AtomicUsize::new(0);
    let server = Server::start(move |stream| {
        let number = connections.fetch_add(1, SeqCst);
        script(&mut Peer::accept(stream, is_http2)?, number)
    });
    let mut job = http(server.address(), PATH);
    job.plan.http = is_http2.then_some(Http::V2);
    (server, job)
}

/// What became of three operations.
#[derive(Debug, PartialEq, Eq)]
struct Became {
    completed: u64,
    failures: Vec<(ErrorKind, u64)>,
    sent_again: u64,
    connections: u64,
}

fn became(
    completed: u64,
    failures: &[(ErrorKind, u64)],
    sent_again: u64,
    connections: u64,
) -> Became {
    Became { completed, failures: failures.to_vec(), sent_again, connections }
}

fn seen(outcome: &Outcome, server: &Server) -> Became {
    assert_eq!(outcome.lost, Vec::<String>::new(), "{}", summary(outcome));
    became(outcome.completed, &kinds(outcome), outcome.sent_again, server.connections())
}

fn as_it_is(_: &mut Job) {}

fn asks_for_nothing(job: &mut Job) {
    job.url = Url::at(false, job.address, "/");
}

fn posts(job: &mut Job) {
    job.plan.method = Some(Method::Post);
}

/// Sends a body that is too long for any socket's buffer and for any window.
fn uploads(job: &mut Job) {
    let file = tempfile::NamedTempFile::new().unwrap();
    file.as_file().set_len(20 << 20).unwrap();
    job.plan.method = Some(Method::Post);
    job.plan.expect = "413".parse().ok();
    job.plan.body = Some(file.into_temp_path().keep().unwrap());
}

fn is_patient_for_100_ms(job: &mut Job) {
    job.plan.timeout = Nanos(100 * MILLISECOND);
}

/// 413 is not in HPACK's static table.
const TOO_LARGE: &[u8] = &[0x08, 3, b'4', b'1', b'3'];

#[test]
fn both_protocols_do_the_same_with_what_a_server_does() {
    use ErrorKind::{EarlyClose, LongHead, Reset, ShortBody, Stall, Status};
    type Row = (&'static str, Script, fn(&mut Job), Became, Option<Became>);
    let rows: Vec<Row> = vec![
        (
            "answers",
            |peer, _| loop {
                let (stream, _) = peer.request()?;
                peer.answer(stream)?;
            },
            as_it_is,
            became(3, &[], 0, 1),
            None,
        ),
        (
            "pauses within its answers",
            |peer, _| loop {
                let (stream, _) = peer.request()?;
                std::thread::sleep(Duration::from_millis(60));
                peer.begin(stream)?;
                std::thread::sleep(Duration::from_millis(60));
                peer.end(stream)?;
            },
            is_patient_for_100_ms,
            became(3, &[], 0, 1),
            None,
        ),
        (
            "closes when the next request has come",
            |peer, _| {
                let (stream, _) = peer.request()?;
                peer.answer(stream)?;
                peer.request()?;
                peer.close()
            },
            as_it_is,
            became(3, &[], 2, 3),
            None,
        ),
        (
            "resets when the next request has come",
            |peer, _| {
                let (stream, _) = peer.request()?;
                peer.answer(stream)?;
                peer.request()?;
                peer.reset()
            },
            as_it_is,
            became(3, &[], 2, 3),
            None,
        ),
        (
            "closes when the next request has come, which is not idempotent",
            |peer, _| {
                let (stream, _) = peer.request()?;
                peer.answer(stream)?;
                peer.request()?;
                peer.close()
            },
            posts,
            became(2, &[(EarlyClose, 1)], 0, 2),
            None,
        ),
        (
            "never answers a second request",
            |peer, number| {
                let (stream, _) = peer.request()?;
                if number == 0 {
                    peer.answer(stream)?;
                    peer.request()?;
                }
                peer.close()
            },
            as_it_is,
            became(1, &[(EarlyClose, 2)], 1, 3),
            None,
        ),
        (
            "closes new connections",
            |peer, _| {
                peer.request()?;
                peer.close()
            },
            as_it_is,
            became(0, &[(EarlyClose, 3)], 0, 3),
            None,
        ),
        (
            "resets within an answer",
            |peer, _| {
                let (stream, _) = peer.request()?;
                peer.begin(stream)?;
                // What was sent is to come before the reset.
                std::thread::sleep(Duration::from_millis(50));
                peer.reset()
            },
            as_it_is,
            became(0, &[(Reset, 3)], 0, 3),
            None,
        ),
        (
            // Over HTTP/1.1 the end of the connection ends the body.
            "closes within an answer",
            |peer, _| {
                let (stream, _) = peer.request()?;
                peer.begin(stream)?;
                peer.close()
            },
            as_it_is,
            became(0, &[(ShortBody, 3)], 0, 3),
            Some(became(0, &[(EarlyClose, 3)], 0, 3)),
        ),
        (
            "answers with another status",
            |peer, _| loop {
                let (stream, _) = peer.request()?;
                peer.status(stream, "500", &[0x8e])?;
            },
            as_it_is,
            became(0, &[(Status, 3)], 0, 1),
            None,
        ),
        (
            "answers with as many fields as are taken",
            |peer, _| loop {
                let (stream, _) = peer.request()?;
                peer.fields(stream, 256)?;
            },
            asks_for_nothing,
            became(3, &[], 0, 1),
            None,
        ),
        (
            // Over HTTP/2 only the stream ends.
            "answers with one field more",
            |peer, _| loop {
                let (stream, _) = peer.request()?;
                peer.fields(stream, 257)?;
            },
            asks_for_nothing,
            became(0, &[(LongHead, 3)], 0, 3),
            Some(became(0, &[(LongHead, 3)], 0, 1)),
        ),
        (
            // Over HTTP/2 a stream without progress ends, and the connection goes on.
            "is silent",
            |peer, _| silence(peer.stream()),
            is_patient_for_100_ms,
            became(0, &[(Stall, 3)], 0, 3),
            Some(became(0, &[(Stall, 3)], 0, 1)),
        ),
        (
            // Over HTTP/2 only the stream ends; over HTTP/1.1 the rest of the body would have to be sent.
            "answers before it has read the request's body",
            |peer, _| loop {
                let (stream, _) = peer.request()?;
                peer.status(stream, "413", TOO_LARGE)?;
                if let Http1(_) = peer {
                    std::thread::sleep(Duration::from_millis(100));
                    return Ok(());
                }
            },
            uploads,
            became(3, &[], 0, 3),
            Some(became(3, &[], 0, 1)),
        ),
    ];
    std::thread::scope(|scope| {
        for (name, script, change, over_http1, over_http2) in &rows {
            scope.spawn(move || {
                for is_http2 in [false, true] {
                    let (server, mut job) = server(is_http2, *script);
                    change(&mut job);
                    let outcome = run(job);
                    let expected = match over_http2 {
                        Some(other) if is_http2 => other,
                        _ => over_http1,
                    };
                    assert_eq!(&seen(&outcome, &server), expected, "{name}, HTTP/2: {is_http2}");
                    assert!(outcome.answers >= outcome.completed, "{name}");
                    let early = outcome.answered_early;
                    assert_eq!(early, if name.contains("body") { 3 } else { 0 }, "{name}");
                }
            });
        }
    });
}

/// Of two objects a server never answers the second one.
#[test]
fn what_is_sent_again_is_the_same_request() {
    for is_http2 in [false, true] {
        let requests = Arc::new(Mutex::new(Vec::<Vec<Vec<u8>>>::new()));
        let server = Server::start({
            let requests = requests.clone();
            move |stream| {
                let mut peer = Peer::accept(stream, is_http2)?;
                let (stream, head) = peer.request()?;
                requests.lock().unwrap().push(vec![head]);
                peer.answer(stream)?;
                let number = requests.lock().unwrap().len() - 1;
                let (_, head) = peer.request()?;
                requests.lock().unwrap()[number].push(head);
                peer.close()
            }
        });
        let mut job = http(server.address(), "/");
        job.plan.http = is_http2.then_some(Http::V2);
        // Both have the same bytes, so each answer is right.
        job.objects = Some("/bytes/1000B 50%, /bytes/1000B?again 50%".parse().unwrap());
        let outcome = run(Job { operations: Some(40), ..job });
        assert_eq!((outcome.completed, kinds(&outcome)), (40, vec![]), "{}", summary(&outcome));
        assert_eq!((outcome.sent_again, outcome.not_taken), (39, 0));
        let requests = requests.lock().unwrap();
        let both: Vec<_> = requests.windows(2).filter(|two| two[0].len() == 2).collect();
        assert!(both.len() >= 38);
        if !is_http2 {
            assert!(both.iter().all(|two| two[0][1] == two[1][0]));
        }
        // Each connection compresses its first request in the same way.
        let first: Vec<_> = requests.iter().map(|of| &of[0]).collect();
        let objects = first.iter().collect::<std::collections::BTreeSet<_>>().len();
        assert_eq!(objects, 2, "HTTP/2: {is_http2}");
    }
}

/// A server that answers three requests of each connection, and leaves the others out: with a GOAWAY or with
/// none.
fn of_three_requests(goes_away: bool) -> Server {
    Server::start(move |stream| {
        let mut frames = Frames::accept(stream, &[])?;
        let streams = [frames.request()?, frames.request()?, frames.request()?];
        if goes_away {
            let last = [streams[2].to_be_bytes(), 0u32.to_be_bytes()].concat();
            frames.send(GOAWAY, 0, 0, &last)?;
        }
        for stream in streams {
            frames.head(stream, SIZE)?;
            frames.body(stream, object())?;
        }
        frames.0.flush()?;
        finish(&mut frames.0)
    })
}

#[test]
fn requests_that_a_connection_leaves_out_are_sent_again_until_they_have_their_turn() {
    for goes_away in [true, false] {
        let server = of_three_requests(goes_away);
        let mut job = http(server.address(), PATH);
        job.plan.http = Some(Http::V2);
        (job.plan.streams, job.operations) = (std::num::NonZeroU32::new(32), Some(321));
        let outcome = run(job);
        let name = format!("GOAWAY: {goes_away}, {}", summary(&outcome));
        assert_eq!((outcome.completed, kinds(&outcome)), (321, vec![]), "{name}");
        let closed = outcome.sent_again - outcome.not_taken;
        assert_eq!((closed > 0, outcome.not_taken > 0), (!goes_away, goes_away), "{name}");
        assert_eq!((outcome.answers, outcome.streams.answers), (321, 321));
        // About three answers to each connection.
        assert!(outcome.connections >= 321 / 3, "{}", outcome.connections);
    }
}

/// Connections that are opened ahead wait for the server: until it has read a ClientHello, over plain HTTP/2
/// until its first frame has come, no more than 64 are under way.
#[test]
fn few_connections_are_opened_ahead_before_the_server_has_shown_that_it_accepts() {
    for is_http2 in [false, true] {
        let gate = Arc::new(AtomicUsize::new(0));
        let server = Server::start({
            let gate = gate.clone();
            move |stream| {
                while gate.load(SeqCst) == 0 {
                    std::thread::sleep(Duration::from_millis(5));
                }
                match is_http2 {
                    true => silence(&mut Frames::accept(stream, &[])?.0),
                    false => {
                        let mut session = Secure::accept(stream, &config())?;
                        silence(session.stream())
                    }
                }
            }
        });
        let mut job = match is_http2 {
            true => http(server.address(), PATH),
            false => https(server.address(), PATH),
        };
        job.plan.http = is_http2.then_some(Http::V2);
        job.plan.connections = 100;
        job.plan.arrival = "paced 1h".parse().unwrap();
        lasts(&mut job, Nanos(0), Nanos(8000 * MILLISECOND));
        let engine = Engine::start(job).unwrap();
        let reaches = |connections| {
            let deadline = Instant::now() + Duration::from_secs(7);
            while server.connections() < connections && Instant::now() < deadline {
                std::thread::sleep(Duration::from_millis(5));
            }
            std::thread::sleep(Duration::from_millis(50));
            assert_eq!(server.connections(), connections, "HTTP/2: {is_http2}");
        };
        reaches(64);
        gate.store(1, SeqCst);
        reaches(100);
        engine.stop();
        let outcome = engine.join();
        assert_eq!((kinds(&outcome), outcome.lost), (vec![], vec![]));
    }
}

/// The server's limit of streams falls from eight to one, and to none.
#[test]
fn the_time_for_which_a_server_allows_no_stream_is_counted() {
    for allowed in [1, 0] {
        let server = Server::start(move |stream| {
            let mut frames = Frames::accept(stream, &[(MAX_STREAMS, 8)])?;
            for number in 0.. {
                let stream = frames.request()?;
                if number == 8 {
                    let setting = [&MAX_STREAMS.to_be_bytes()[..], &u32::to_be_bytes(allowed)];
                    frames.send(SETTINGS, 0, 0, &setting.concat())?;
                }
                std::thread::sleep(Duration::from_millis(2));
                frames.head(stream, SIZE)?;
                frames.body(stream, object())?;
            }
            Ok(())
        });
        let mut job = http(server.address(), PATH);
        job.plan.http = Some(Http::V2);
        job.plan.streams = std::num::NonZeroU32::new(8);
        lasts(&mut job, Nanos(0), Nanos(400 * MILLISECOND));
        let outcome = run(job);
        let counts = outcome.streams;
        assert_eq!((counts.most, counts.allowed), (8, Some(allowed.into())));
        assert!(counts.no_stream_for > counts.open_for, "{counts:?}");
        let all = counts.no_stream_for.0 + counts.open_for.0;
        assert!(all <= 8 * 400 * MILLISECOND, "{counts:?}");
        assert_eq!((kinds(&outcome), outcome.lost), (vec![], vec![]));
    }
}

/// Responses without a length, which end after the window, by the server's close.
#[test]
fn a_response_that_ends_while_the_load_winds_up_was_in_flight_once() {
    let config = config();
    let server = Server::start(move |stream| {
        let mut session = Secure::accept(stream, &config)?;
        session.request()?;
        session.send(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nbegin")?;
        std::thread::sleep(Duration::from_millis(400));
        session.send(b"end")?;
        session.finish()
    });
    let mut job = https(server.address(), "/");
    job.plan.connections = 4;
    job.plan.arrival = "paced 100ms".parse().unwrap();
    lasts(&mut job, Nanos(0), Nanos(300 * MILLISECOND));
    let outcome = run(job);
    assert_eq!((outcome.completed, kinds(&outcome)), (0, vec![]), "{}", summary(&outcome));
    assert_eq!((outcome.in_flight, outcome.lost.len()), (4, 0));
    let arrivals = outcome.arrivals;
    assert_eq!(arrivals.intended, outcome.in_flight + arrivals.waiting, "{arrivals:?}");
    assert!(arrivals.deadlines <= arrivals.intended, "{arrivals:?}");
}

/// A server that reads no body, and never opens its window for the connection again.
#[test]
fn a_connection_whose_window_is_used_up_makes_room_for_another() {
    let server = Server::start(|stream| {
        let mut frames = Frames::accept(stream, &[])?;
        loop {
            frames.request()?;
        }
    });
    let mut job = http(server.address(), "/");
    uploads(&mut job);
    job.plan.http = Some(Http::V2);
    job.plan.timeout = Nanos(200 * MILLISECOND);
    let outcome = run(job);
    let expected = became(0, &[(ErrorKind::FlowControl, 3)], 0, 3);
    assert_eq!(seen(&outcome, &server), expected);
}

/// A server of one of the protocols that carry several requests on a connection, and a job on one of its streams.
struct Multiplexed {
    job: Job,
    connections: Box<dyn Fn() -> u64>,
}

impl Multiplexed {
    /// Over HTTP/2.
    fn frames(serve: fn(Frames) -> io::Result<()>) -> Self {
        let server = Server::start(move |stream| serve(Frames::accept(stream, &[])?));
        let mut job = http(server.address(), PATH);
        job.plan.http = Some(Http::V2);
        Self { job, connections: Box::new(move || server.connections()) }
    }

    /// Over HTTP/3.
    fn quic(
        streams: u32,
        script: impl FnMut(&mut QuicPeer<'_>, StreamId) + Send + 'static,
    ) -> Self {
        let mut settings = Settings::default();
        settings.transport.max_concurrent_bidi_streams(streams.into());
        let server = answering(settings, script);
        let job = over_http3(&server);
        Self { job, connections: Box::new(move || server.connections() as u64) }
    }
}

/// Servers that refuse every second request, as their protocol lets them say that they have not begun with it.
#[test]
fn requests_that_were_sent_again_are_counted_within_the_window() {
    let mut has_refused = false;
    let servers = [
        Multiplexed::frames(move |mut frames| {
            loop {
                let stream = frames.request()?;
                match (stream / 2).is_multiple_of(2) {
                    true => frames.send(RST_STREAM, 0, stream, &REFUSED_STREAM.to_be_bytes())?,
                    false => {
                        frames.head(stream, SIZE)?;
                        frames.body(stream, object())?;
                    }
                }
            }
        }),
        Multiplexed::frames(|mut frames| {
            let stream = frames.request()?;
            frames.head(stream, SIZE)?;
            frames.body(stream, object())?;
            frames.request()?;
            let last = [stream.to_be_bytes(), 0u32.to_be_bytes()].concat();
            frames.send(GOAWAY, 0, 0, &last)?;
            silence(&mut frames.0)
        }),
        Multiplexed::quic(100, move |peer, id| {
            has_refused = !has_refused;
            match has_refused {
                true => peer.reset(id, http3::ErrorCode::RequestRejected as u32),
                false => peer.answer(id, &honest()),
            }
        }),
    ];
    for Multiplexed { mut job, .. } in servers {
        lasts(&mut job, Nanos(300 * MILLISECOND), Nanos(300 * MILLISECOND));
        let outcome = run(job);
        let name = format!("{} {}", outcome.sent_again, summary(&outcome));
        assert!(kinds(&outcome).is_empty() && outcome.completed > 0, "{name}");
        assert!(outcome.sent_again.abs_diff(outcome.completed) <= 1, "{name}");
        assert_eq!(outcome.not_taken, outcome.sent_again, "{name}");
        // The warm-up's are in all that was sent, as is one under way, and in nothing else.
        let all = outcome.streams.requests - outcome.streams.answers;
        assert!(all > outcome.sent_again + 1, "{all} {name}");
    }
}

/// Servers that allow no stream after the third on a connection.
#[test]
fn a_connection_that_gets_no_stream_is_replaced() {
    let over_http2 = Multiplexed::frames(|mut frames| {
        for number in 1.. {
            let stream = frames.request()?;
            if number == 3 {
                let setting = [&MAX_STREAMS.to_be_bytes()[..], &0u32.to_be_bytes()];
                frames.send(SETTINGS, 0, 0, &setting.concat())?;
            }
            frames.head(stream, SIZE)?;
            frames.body(stream, object())?;
        }
        Ok(())
    });
    let over_http3 = Multiplexed::quic(3, |peer, id| {
        peer.connection.set_max_concurrent_streams(Dir::Bi, 0_u32.into());
        peer.answer(id, &honest());
    });
    for Multiplexed { mut job, connections } in [over_http2, over_http3] {
        (job.operations, job.plan.timeout) = (Some(6), Nanos(200 * MILLISECOND));
        let outcome = run(job);
        let result = (outcome.completed, kinds(&outcome), connections());
        assert_eq!(result, (5, vec![(ErrorKind::NoStream, 1)], 2), "{}", summary(&outcome));
    }
}

/// A connection that gets no more requests once it is open: the slot that waited for it has the next one.
#[test]
fn a_slot_does_not_wait_for_a_connection_that_is_full_when_it_opens() {
    let mut config = config_of(ecdsa(), &[&rustls::version::TLS13]);
    config.alpn_protocols = vec![http2::ALPN.to_vec()];
    let (config, numbers) = (Arc::new(config), Arc::new(AtomicUsize::new(0)));
    let server = Server::start({
        let numbers = numbers.clone();
        move |stream| {
            let number = numbers.fetch_add(1, SeqCst);
            if number == 1 {
                // The second slot joins meanwhile.
                std::thread::sleep(Duration::from_millis(600));
            }
            let mut frames = Frames::accept(Secure::accept(stream, &config)?, &[])?;
            let stream = frames.request()?;
            while number == 1 && numbers.load(SeqCst) < 3 {
                std::thread::sleep(Duration::from_millis(5));
            }
            frames.head(stream, SIZE)?;
            frames.body(stream, object())?;
            frames.request().map(drop)
        }
    });
    let mut job = https(server.address(), PATH);
    job.plan.http = Some(Http::V2);
    job.plan.streams = std::num::NonZeroU32::new(2);
    job.plan.requests_per_connection = "1".parse().ok();
    job.plan.arrival = "closed, think 1ms".parse().unwrap();
    job.plan.ramp = Nanos(600 * MILLISECOND);
    job.plan.timeout = Nanos(3000 * MILLISECOND);
    lasts(&mut job, Nanos(0), Nanos(1200 * MILLISECOND));
    let outcome = run(job);
    assert_eq!((kinds(&outcome), outcome.lost.len()), (vec![], 0));
    assert!(outcome.completed > 2, "{}", summary(&outcome));
}
