//! Bytes that stop, trickle or are too many, in the middle of records, with every kind of record:
//! TLS 1.3, AEAD and CBC of TLS 1.2; walked and opened whole.

use std::io::{self, Write};
use std::net::TcpStream;
use std::time::Duration;

use load::{ErrorKind, Receive};
use tls::OrPlain;

use crate::records::{CLOSE, crafted, one_request};
use crate::scripted_server::{Accept, DATA, Server, Session, finish, on_each_stack, reset, stacks};
use crate::{OBJECT, OBJECT_PATH, assert_completes, assert_fails, https};

const LOST: ErrorKind = ErrorKind::UnverifiableRecord;

fn object(size: usize) -> &'static [u8] {
    &objects::slice(0)[..size]
}

/// Sends the head of a response with an object of [`OBJECT`] bytes, 100,000 bytes of it in whole
/// records, and what `then` does.
fn interrupted(accept: Accept, then: fn(&mut dyn Session) -> io::Result<()>) -> Server {
    Server::start(move |stream| {
        let mut session = accept(stream)?;
        session.request()?;
        session.send(format!("HTTP/1.1 200 OK\r\nContent-Length: {OBJECT}\r\n\r\n").as_bytes())?;
        session.send(object(100_000))?;
        then(session.as_mut())
    })
}

/// All operations fail in this way with every kind of record, walked or opened whole.
#[track_caller]
fn assert_interrupted(then: fn(&mut dyn Session) -> io::Result<()>, kind: ErrorKind) {
    for (accept, suite) in stacks() {
        for receive in [Receive::Walk, Receive::Decrypt] {
            let server = interrupted(accept.clone(), then);
            let mut job = https(server.address(), OBJECT_PATH);
            (job.plan.suite, job.plan.receive) = (suite.map(OrPlain::Tls), Some(receive));
            assert_fails(job, kind);
        }
    }
}

/// Half of the next record.
fn half_a_record(session: &mut dyn Session) -> io::Result<&mut TcpStream> {
    let record = session.records(object(8000))?.concat();
    session.stream().write_all(&record[..4000])?;
    Ok(session.stream())
}

#[test]
fn a_reset_within_a_record() {
    assert_interrupted(|session| reset(half_a_record(session)?), ErrorKind::Reset);
}

#[test]
fn an_end_within_a_record() {
    assert_interrupted(|session| finish(half_a_record(session)?), ErrorKind::ShortBody);
}

#[test]
fn an_end_within_a_header() {
    let within = |session: &mut dyn Session| {
        session.stream().write_all(&[23, 3])?;
        finish(session.stream())
    };
    assert_interrupted(within, ErrorKind::ShortBody);
}

#[test]
fn a_close_that_is_announced_too_early() {
    assert_interrupted(|session| session.finish(), ErrorKind::ShortBody);
}

#[test]
fn an_alert_without_protection() {
    let alert = |session: &mut dyn Session| {
        session.stream().write_all(&[21, 3, 3, 0, 2, 2, 40])?;
        finish(session.stream())
    };
    assert_interrupted(alert, ErrorKind::Alert);
}

#[test]
fn headers_that_no_version_allows() {
    type Bytes = fn(&mut dyn Session) -> io::Result<()>;
    let cases: [Bytes; 4] = [
        // 2^14 + 2049 bytes, one more than any record may have.
        |session| session.stream().write_all(&[23, 3, 3, 0x48, 1, 0]),
        |session| session.stream().write_all(&[99, 3, 3, 0, 100, 0]),
        |session| session.stream().write_all(&[23, 2, 0, 0, 100, 0]),
        // Empty, without the authentication that even an empty record has.
        |session| session.stream().write_all(&[23, 3, 3, 0, 0]),
    ];
    for case in cases {
        assert_interrupted(case, LOST);
    }
}

#[test]
fn a_record_that_holds_too_much() {
    for receive in [Receive::Walk, Receive::Decrypt] {
        let server = crafted(|craft| {
            craft.send(DATA, CLOSE.as_bytes(), 0)?;
            craft.send(DATA, object((1 << 14) + 1), 0)
        });
        assert_fails(one_request(&server, OBJECT_PATH, receive), LOST);
    }
}

#[test]
fn a_slow_trickle_is_taken_to_its_end() {
    const SIZE: usize = 150;
    on_each_stack(|accept, suite| {
        let server = Server::start(move |stream| {
            let mut session = accept(stream)?;
            loop {
                session.request()?;
                let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {SIZE}\r\n\r\n");
                let mut bytes = session.records(head.as_bytes())?.concat();
                bytes.extend(session.records(object(SIZE))?.concat());
                for byte in bytes {
                    session.stream().write_all(&[byte])?;
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
        });
        let mut job = https(server.address(), "/bytes/150B");
        job.plan.suite = suite.map(OrPlain::Tls);
        assert_completes(job, SIZE as u64);
    });
}
