//! Time limits: of a whole operation, whatever its progress, and what a load says in which nothing ended.

use std::io::{self, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use load::{Engine, ErrorKind, Http, Job, Load};
use units::Nanos;

use crate::scripted_server::frames::{DATA_FRAME, END_HEADERS, Frames, HEADERS, ok};
use crate::scripted_server::{Plain, Server, Session, read_record, silence};
use crate::{MILLISECOND, assert_completes, assert_fails, http, https, kinds, lasts, run, summary};

const BOTH: [Http; 2] = [Http::V1, Http::V2];

/// Some progress in each of these.
const STEP: Duration = Duration::from_millis(5);

fn limited(mut job: Job, http: Http) -> Job {
    job.plan.http = Some(http);
    job.plan.operation_timeout = Some(Nanos(100 * MILLISECOND));
    job
}

/// A body that never ends, in small pieces.
fn dribble(stream: TcpStream, version: Http) -> io::Result<()> {
    if version == Http::V2 {
        let mut frames = Frames::accept(stream, &[])?;
        let stream = frames.request()?;
        frames.send(HEADERS, END_HEADERS, stream, &ok(None))?;
        loop {
            frames.send(DATA_FRAME, 0, stream, b"x")?;
            std::thread::sleep(STEP);
        }
    }
    let mut plain = Plain(stream);
    plain.request()?;
    plain.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")?;
    loop {
        plain.send(b"x")?;
        std::thread::sleep(STEP);
    }
}

#[test]
fn an_operation_that_never_ends_fails_though_it_makes_progress() {
    for version in BOTH {
        let server = Server::start(move |stream| dribble(stream, version));
        let job = limited(http(server.address(), "/"), version);
        let outcome = run(job);
        assert_eq!(kinds(&outcome), [(ErrorKind::OperationTimeout, 3)], "{}", summary(&outcome));
        assert_eq!(outcome.completed, 0);
        // A handshake too.
        let server = Server::start(|mut stream| {
            read_record(&mut stream)?;
            stream.write_all(&[22, 3, 3, 0x40, 0, 2, 0, 0x3f, 0xfc])?;
            loop {
                stream.write_all(b"x")?;
                std::thread::sleep(STEP);
            }
        });
        let job = limited(https(server.address(), "/"), version);
        assert_fails(job, ErrorKind::OperationTimeout);
    }
}

#[test]
fn a_load_in_which_nothing_ended_names_what_was_waited_for() {
    let server = Server::start(|mut stream| silence(&mut stream));
    for version in BOTH {
        for job_is_tls in [false, true] {
            let mut job = if job_is_tls { https } else { http }(server.address(), "/");
            job.plan.http = Some(version);
            lasts(&mut job, Nanos(0), Nanos(100 * MILLISECOND));
            let outcome = run(job);
            assert_eq!((outcome.completed, outcome.in_flight, kinds(&outcome)), (0, 1, vec![]));
            let waits: Vec<_> = outcome.unended.iter().collect();
            let what = match version {
                _ if job_is_tls => "the handshake",
                Http::V2 => "the opening",
                _ => "the response",
            };
            let seen = format!("{what} had not ended when the window did");
            assert_eq!(waits, [(ErrorKind::Stall, 1, &*seen)]);
        }
    }
}

/// Its answer has come, and only the server's close is awaited, for longer than an operation may take or pause.
#[test]
fn an_operation_that_is_answered_does_not_fail_while_the_close_is_awaited() {
    let server = Server::start(|stream| {
        let mut plain = Plain(stream);
        plain.request()?;
        plain.send(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok")?;
        std::thread::sleep(Duration::from_millis(300));
        plain.finish()
    });
    assert_completes(limited(http(server.address(), "/"), Http::V1), 2);
    let mut job = http(server.address(), "/");
    job.plan.timeout = Nanos(100 * MILLISECOND);
    assert_completes(job, 2);
}

/// Connections that are opened ahead count as being opened until the server's first frame has come, but not for
/// ever: others take the place of those that have failed.
#[test]
fn an_opening_over_plain_http_2_that_is_not_answered_fails_in_time() {
    let server = Server::start(|mut stream| silence(&mut stream));
    let mut job = http(server.address(), "/");
    job.plan.http = Some(Http::V2);
    job.plan.connections = 100;
    job.plan.arrival = "paced 1h".parse().unwrap();
    job.plan.timeout = Nanos(200 * MILLISECOND);
    lasts(&mut job, Nanos(0), Nanos(8000 * MILLISECOND));
    let engine = Engine::start(job).unwrap();
    let deadline = Instant::now() + Duration::from_secs(7);
    while engine.progress().failures < 100 && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(5));
    }
    engine.stop();
    let outcome = engine.join();
    assert_eq!((kinds(&outcome), server.connections()), (vec![(ErrorKind::Stall, 100)], 100));
}
