//! Servers with wrong responses, over plain HTTP and over TLS.

use std::io;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use load::{ErrorKind, Job, Operation};
use units::Nanos;

use crate::scripted_server::{Plain, Secure, Server, Session, config, finish, reset, silence};
use crate::{
    MILLISECOND, OBJECT, OBJECT_PATH, assert_completes, assert_fails, http, https, kinds, lasts,
    one_in, run, summary,
};

type Script = dyn Fn(&mut dyn Session) -> io::Result<()> + Send + Sync;

/// The same script over plain HTTP and over TLS, each with a job for this path.
fn both(
    path: &str,
    script: impl Fn(&mut dyn Session) -> io::Result<()> + Send + Sync + 'static,
) -> [(Server, Job); 2] {
    let script: Arc<Script> = Arc::new(script);
    let plain = Server::start({
        let script = script.clone();
        move |stream: TcpStream| script(&mut Plain(stream))
    });
    let config = config();
    let secure = Server::start(move |stream| script(&mut Secure::accept(stream, &config)?));
    let (http, https) = (http(plain.address(), path), https(secure.address(), path));
    [(plain, http), (secure, https)]
}

/// Checks both at the same time: most of it is to wait.
fn at_once(servers: [(Server, Job); 2], check: impl Fn(Job) + Sync) {
    let [(_plain, http), (_secure, https)] = servers;
    std::thread::scope(|scope| {
        scope.spawn(|| check(http));
        scope.spawn(|| check(https));
    });
}

/// Answers every request with this text and keeps the connection.
fn keeping(path: &str, text: impl Into<Vec<u8>>) -> [(Server, Job); 2] {
    let text = text.into();
    both(path, move |session| {
        loop {
            session.request()?;
            session.send(&text)?;
        }
    })
}

/// Answers one request with this text, then announces its close and closes.
fn closing(path: &str, text: impl Into<Vec<u8>>) -> [(Server, Job); 2] {
    let text = text.into();
    both(path, move |session| {
        session.request()?;
        session.send(&text)?;
        session.finish()
    })
}

#[track_caller]
fn assert_both_fail(servers: [(Server, Job); 2], kind: ErrorKind) {
    for (_server, job) in servers {
        assert_fails(job, kind);
    }
}

#[track_caller]
fn assert_both_complete(servers: [(Server, Job); 2], body: u64) {
    for (_server, job) in servers {
        assert_completes(job, body);
    }
}

fn head(length: u64) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n")
}

fn object(size: u64) -> &'static [u8] {
    &objects::slice(0)[..size as usize]
}

/// A response that promises one length and has another.
fn response(promised: u64, sent: u64) -> Vec<u8> {
    [head(promised).as_bytes(), object(sent)].concat()
}

#[test]
fn statuses_without_success() {
    for text in [
        "HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nlost",
        "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 503 Service Unavailable\r\n\r\n",
        "HTTP/1.1 301 Moved Permanently\r\nLocation: /\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 204 No Content\r\n\r\n",
        "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-3/9\r\nContent-Length: 4\r\n\r\npart",
        "HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\nab",
        "HTTP/2 200\r\n\r\n",
        "220 mail ESMTP ready\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n",
    ] {
        assert_both_fail(keeping("/", text), ErrorKind::Status);
    }
}

#[test]
fn a_servers_text_is_shown_in_one_short_line() {
    let reason = format!("Not \x01 {}", "found ".repeat(20_000));
    for text in [
        format!("HTTP/1.1 404 {}\r\nContent-Length: 0\r\n\r\n", "lost ".repeat(10_000)),
        format!("HTTP/1.1 404 {reason}\r\nContent-Length: 0\r\n\r\n"),
        "HTTP/1.1 200 OK\r\nContent-Length: 1\u{9b}2J\u{85}\r\n\r\n".to_owned(),
    ] {
        for (_server, plan) in keeping("/", text) {
            let error = crate::probe(&plan).unwrap_err().to_string();
            assert!(error.chars().count() < 500, "{error}");
            assert!(!error.contains(char::is_control), "{error:?}");
            assert!(error.contains(" status: "), "{error}");
        }
    }
}

#[test]
fn bodies_of_every_framing() {
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nWiki\r\n0\r\n\r\n";
    assert_both_complete(keeping("/", chunked), 4);
    let interim = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab";
    assert_both_complete(keeping("/", interim), 2);
    assert_both_complete(keeping("/", head(0)), 0);
    assert_both_complete(closing("/", "HTTP/1.0 200 OK\r\n\r\nuntil the close"), 15);
    assert_both_complete(keeping(OBJECT_PATH, response(OBJECT, OBJECT)), OBJECT);
}

#[test]
fn interim_responses_are_skipped_and_others_fail() {
    const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab";
    let several = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n";
    assert_both_complete(keeping("/", format!("{several}{OK}")), 2);
    for text in [
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n",
        "HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 304 Not Modified\r\n\r\n",
        "HTTP/1.1 308 Permanent Redirect\r\nLocation: /\r\nContent-Length: 4\r\n\r\nmove",
    ] {
        assert_both_fail(keeping("/", text), ErrorKind::Status);
    }
    // Endless ones are a head that is too long.
    assert_both_fail(keeping("/", several.repeat(6000)), ErrorKind::LongHead);
}

#[test]
fn chunks_that_lie() {
    const CHUNKED: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (chunks, kind) in [
        ("3\r\nWiki\r\n0\r\n\r\n", ErrorKind::Status),
        ("many\r\nWiki\r\n", ErrorKind::Status),
        ("4\r\nWiki\r\n", ErrorKind::ShortBody),
        ("10\r\nWiki", ErrorKind::ShortBody),
        ("4\r\nWiki\r\n0\r\n\r\nmore", ErrorKind::LongBody),
    ] {
        assert_both_fail(closing("/", format!("{CHUNKED}{chunks}")), kind);
    }
}

#[test]
fn a_chunked_object() {
    let mut text = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
    for chunk in object(OBJECT).chunks(30_000) {
        text.extend(format!("{:x}\r\n", chunk.len()).bytes());
        text.extend(chunk);
        text.extend(b"\r\n");
    }
    text.extend(b"0\r\n\r\n");
    assert_both_complete(keeping(OBJECT_PATH, text), OBJECT);
}

#[test]
fn no_length_and_no_close_notify() {
    let [(_server, plain), (_secure, secure)] = both("/", |session| {
        session.request()?;
        session.send(b"HTTP/1.0 200 OK\r\n\r\nuntil the close")?;
        finish(session.stream())
    });
    assert_completes(plain, 15);
    // Over TLS, anyone could have cut it.
    assert_fails(secure, ErrorKind::ShortBody);
}

#[test]
fn bodies_shorter_than_promised() {
    for sent in [0, 1, 20_000, OBJECT - 1] {
        assert_both_fail(closing(OBJECT_PATH, response(OBJECT, sent)), ErrorKind::ShortBody);
    }
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nWiki\r\n";
    assert_both_fail(closing("/", chunked), ErrorKind::ShortBody);
}

#[test]
fn objects_of_another_size() {
    assert_both_fail(keeping(OBJECT_PATH, response(OBJECT - 1, OBJECT - 1)), ErrorKind::ShortBody);
    assert_both_fail(keeping(OBJECT_PATH, response(OBJECT + 1, OBJECT + 1)), ErrorKind::LongBody);
    assert_both_fail(keeping(OBJECT_PATH, head(0)), ErrorKind::ShortBody);
}

#[test]
fn bodies_longer_than_promised() {
    // In one piece with the response it is noticed at once.
    assert_both_fail(keeping("/bytes/1000B", response(1000, 1001)), ErrorKind::LongBody);
    assert_both_fail(keeping("/", response(1000, 2000)), ErrorKind::LongBody);
    // After a longer response it is found where the next one should begin, if not before. A walk
    // cannot know whether its own count is wrong.
    for (_server, mut job) in keeping(OBJECT_PATH, response(OBJECT, OBJECT + 100)) {
        job.operations = Some(6);
        let outcome = run(job);
        let kinds = [ErrorKind::LongBody, ErrorKind::Status, ErrorKind::UnverifiableRecord];
        let expected: u64 = kinds.iter().map(|kind| outcome.failures.count(*kind)).sum();
        let failed = outcome.failures.total();
        assert!(failed >= 3 && expected == failed, "{}", summary(&outcome));
        assert_eq!(outcome.bytes.body, outcome.completed * OBJECT);
    }
    // With one request per connection nothing may follow.
    for (_server, mut job) in closing(OBJECT_PATH, response(OBJECT, OBJECT + 100)) {
        job.plan.operation = Operation::OneRequestPerConnection;
        job.plan.verify = Some(one_in(1));
        assert_fails(job, ErrorKind::LongBody);
    }
}

#[test]
fn content_that_is_not_the_objects() {
    let mut text = response(OBJECT, OBJECT);
    text[100] ^= 1;
    assert_both_fail(keeping(OBJECT_PATH, text), ErrorKind::Content);
    // Only the bytes of a plain body that are read are compared: every response with verify = 1/1.
    let mut text = response(OBJECT, OBJECT);
    text[200_000] ^= 1;
    for (_server, mut job) in keeping(OBJECT_PATH, text) {
        job.plan.verify = Some(one_in(1));
        assert_fails(job, ErrorKind::Content);
    }
}

#[test]
fn closes_before_the_response_is_there() {
    assert_both_fail(closing("/", ""), ErrorKind::EarlyClose);
    assert_both_fail(closing("/", "HTTP/1.1 200 OK\r\nContent-Le"), ErrorKind::EarlyClose);
}

#[test]
fn stalls_within_the_response() {
    for text in
        [b"HTTP/1.1 200 OK\r\nContent-Le".to_vec(), response(OBJECT, 0), response(OBJECT, 99_999)]
    {
        let servers = both(OBJECT_PATH, move |session| {
            session.request()?;
            session.send(&text)?;
            silence(session.stream())
        });
        at_once(servers, |mut job| {
            job.plan.timeout = Nanos(250 * MILLISECOND);
            assert_fails(job, ErrorKind::Stall);
        });
    }
}

#[test]
fn resets_within_the_body() {
    let servers = both(OBJECT_PATH, |session| {
        session.request()?;
        session.send(&response(OBJECT, 100_000))?;
        reset(session.stream())
    });
    assert_both_fail(servers, ErrorKind::Reset);
}

#[test]
fn what_was_right_before_a_failure_counts() {
    let count = AtomicUsize::new(0);
    let servers = both(OBJECT_PATH, move |session| {
        loop {
            session.request()?;
            if count.fetch_add(1, SeqCst) % 5 == 4 {
                session.send(b"HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n")?;
            } else {
                session.send(&response(OBJECT, OBJECT))?;
            }
        }
    });
    for (_server, mut job) in servers {
        job.operations = Some(5);
        let outcome = run(job);
        // The counter is shared, so the failing one of five differs between the two.
        assert_eq!((outcome.completed, kinds(&outcome)), (4, vec![(ErrorKind::Status, 1)]));
        assert_eq!(outcome.bytes.body, 4 * OBJECT);
    }
}

#[test]
fn a_connection_outlives_an_error_that_came_whole() {
    const ANSWERS: [&str; 4] = [
        "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 1\r\nContent-Length: 5\r\n\r\nlater",
        "HTTP/1.1 503 Busy\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbusy\r\n0\r\n\r\n",
        "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
    ];
    let servers = both("/", |session| {
        for answer in ANSWERS.iter().cycle() {
            session.request()?;
            session.send(answer.as_bytes())?;
        }
        Ok(())
    });
    for (server, mut job) in servers {
        job.operations = Some(8);
        let outcome = run(job);
        assert_eq!((outcome.completed, kinds(&outcome)), (2, vec![(ErrorKind::Status, 6)]));
        assert_eq!((outcome.bytes.body, server.connections()), (4, 1));
    }
    // One that announces its close ends with it.
    let last = "HTTP/1.1 503 Busy\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
    for (server, job) in closing("/", last) {
        assert_fails(job, ErrorKind::Status);
        assert!(server.connections() >= 3);
    }
}

#[test]
fn pauses_do_not_hide_progress_behind_the_low_water_mark() {
    const SIZE: u64 = 1 << 20;
    const PAUSES: [u64; 4] = [150, 150, 400, 150];
    let servers = both("/bytes/1MiB", |session| {
        loop {
            session.request()?;
            let text = response(SIZE, SIZE);
            let mut pieces = text.chunks(text.len().div_ceil(PAUSES.len() + 1));
            session.send(pieces.next().unwrap_or_default())?;
            for (piece, pause) in pieces.zip(PAUSES) {
                std::thread::sleep(Duration::from_millis(pause));
                session.send(piece)?;
            }
        }
    });
    at_once(servers, |mut job| {
        // The limit is longer than each pause and shorter than all of them, so bytes must be
        // received in between.
        job.plan.timeout = Nanos(700 * MILLISECOND);
        job.operations = Some(2);
        let outcome = run(job);
        assert_eq!((outcome.completed, kinds(&outcome)), (2, vec![]));
        assert_eq!(outcome.bytes.body, 2 * SIZE);
    });
}

/// If the second response were taken for the next request's answer, it would double the rate. Both
/// go out in one write, so that the second is there when the first ends, however slow either side
/// is.
#[test]
fn unrequested_answers_fail_as_too_long() {
    const SIZE: u64 = 1 << 10;
    let servers = both("/bytes/1KiB", |session| {
        loop {
            session.request()?;
            session.send(&response(SIZE, SIZE).repeat(2))?;
        }
    });
    for (_server, mut job) in servers {
        job.operations = Some(20);
        let outcome = run(job);
        assert_eq!((outcome.completed, kinds(&outcome)), (0, vec![(ErrorKind::LongBody, 20)]));
    }
}

#[test]
fn a_response_counts_whose_server_keeps_the_connection_and_that_is_counted_too() {
    let servers = both(OBJECT_PATH, |session| {
        session.request()?;
        session.send(&response(OBJECT, OBJECT))?;
        silence(session.stream())
    });
    for (_server, mut job) in servers {
        job.plan.operation = Operation::OneRequestPerConnection;
        job.plan.connections = 4;
        lasts(&mut job, Nanos(0), Nanos(600 * MILLISECOND));
        let outcome = run(job);
        assert_eq!((outcome.completed, outcome.in_flight), (4, 0), "{}", summary(&outcome));
        assert_eq!((outcome.bytes.body, outcome.bytes.unproven), (4 * OBJECT, 0));
        assert_eq!(kinds(&outcome), []);
        assert_eq!((outcome.not_closed_by_server, outcome.most_open), (4, 4));
    }
}
