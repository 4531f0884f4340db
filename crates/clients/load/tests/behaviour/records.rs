//! Servers with wrong records: the walk, and opening everything.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use load::{ErrorKind, Job, KeyExchangeMode, Operation, Plan, Receive};
use tls::{OrPlain, Version};
use units::Nanos;

use crate::scripted_server::{
    ALERT, Accept, Craft, DATA, HANDSHAKE, Secure, Server, Session, config, config_of, finish,
    read_record, rsa, silence, stacks,
};
use crate::{
    MILLISECOND, OBJECT, OBJECT_PATH, assert_completes, assert_fails, https, kinds, lasts, one_in,
    run, summary,
};

fn head() -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {OBJECT}\r\n\r\n")
}

fn body() -> &'static [u8] {
    &objects::slice(0)[..OBJECT as usize]
}

/// Sends the object, honestly the first time and `edit`ed from then on: record 0 is the head, 1 to
/// 16 are the body. After an edited one it closes without close_notify, or stays silent.
fn edited(accept: Accept, edit: fn(&mut Vec<Vec<u8>>), closes: bool) -> Server {
    let count = AtomicUsize::new(0);
    Server::start(move |stream| {
        let mut session = accept(stream)?;
        loop {
            session.request()?;
            let mut records = session.records(head().as_bytes())?;
            // One call per record: in a single call, OpenSSL may choose other sizes.
            for piece in body().chunks(1 << 14) {
                records.extend(session.records(piece)?);
            }
            assert_eq!(records.len(), 17);
            let is_honest = count.fetch_add(1, SeqCst) == 0;
            if !is_honest {
                edit(&mut records);
            }
            session.stream().write_all(&records.concat())?;
            if !is_honest && closes {
                return finish(session.stream());
            }
        }
    })
}

/// The results of a walk, after an honest response, and of opening all.
#[track_caller]
fn assert_edit(
    edit: fn(&mut Vec<Vec<u8>>),
    closes: bool,
    walked: Option<ErrorKind>,
    opened: ErrorKind,
) {
    for (accept, suite) in stacks() {
        let outcome_of = |adjust: fn(&mut Job)| {
            let server = edited(accept.clone(), edit, closes);
            let mut job = https(server.address(), OBJECT_PATH);
            job.plan.suite = suite.map(OrPlain::Tls);
            adjust(&mut job);
            let outcome = run(job);
            assert_eq!(outcome.bytes.body, outcome.completed * OBJECT, "{suite:?}");
            (outcome.completed, kinds(&outcome))
        };
        let expected = walked.map_or((3, vec![]), |kind| (1, vec![(kind, 2)]));
        assert_eq!(outcome_of(|_| {}), expected, "walked, {suite:?}");
        let expected = (1, vec![(opened, 2)]);
        let decrypt: fn(&mut Job) = |job| job.plan.receive = Some(Receive::Decrypt);
        assert_eq!(outcome_of(decrypt), expected, "decrypted, {suite:?}");
        assert_eq!(
            outcome_of(|job| job.plan.verify = Some(one_in(1))),
            expected,
            "verified, {suite:?}"
        );
    }
}

const LOST: ErrorKind = ErrorKind::UnverifiableRecord;

#[test]
fn a_corrupted_first_record() {
    assert_edit(|records| records[0][30] ^= 1, true, Some(LOST), LOST);
}

#[test]
fn a_corrupted_last_record() {
    assert_edit(|records| records[16][9000] ^= 1, true, Some(LOST), LOST);
}

#[test]
fn a_middle_record_repeated() {
    assert_edit(|records| records.insert(7, records[7].clone()), true, Some(LOST), LOST);
}

#[test]
fn a_middle_record_in_place_of_the_last() {
    assert_edit(|records| records[16] = records[7].clone(), true, Some(LOST), LOST);
}

#[test]
fn a_middle_record_missing() {
    // A walk waits for the missing record until the end of the stream.
    let short = Some(ErrorKind::ShortBody);
    assert_edit(|records| drop(records.remove(7)), true, short, LOST);
}

#[test]
fn the_last_record_missing() {
    let short = ErrorKind::ShortBody;
    assert_edit(|records| drop(records.pop()), true, Some(short), short);
}

#[test]
fn a_missing_record_and_silence() {
    let (accept, _) = stacks().into_iter().next().unwrap();
    let server = edited(accept, |records| drop(records.remove(7)), false);
    let mut job = https(server.address(), OBJECT_PATH);
    job.plan.timeout = Nanos(700 * MILLISECOND);
    let outcome = run(job);
    assert_eq!((outcome.completed, kinds(&outcome)), (1, vec![(ErrorKind::Stall, 2)]));
    assert_eq!((outcome.bytes.body, outcome.bytes.unproven > 0), (OBJECT, true));
}

/// What a walk accepts by design; `receive = decrypt` and `verify = 1/1` find it.
mod unseen_by_a_walk {
    use super::*;

    #[test]
    fn two_middle_records_swapped() {
        assert_edit(|records| records.swap(5, 6), false, None, LOST);
    }

    #[test]
    fn a_corrupted_middle_record() {
        assert_edit(|records| records[7][5000] ^= 1, false, None, LOST);
    }
}

/// A server of TLS 1.3 whose records are crafted by hand.
pub fn crafted(answer: impl Fn(&mut Craft) -> io::Result<()> + Send + Sync + 'static) -> Server {
    let config = config();
    Server::start(move |stream| {
        let mut https = Secure::accept(stream, &config)?;
        https.request()?;
        let mut craft = https.craft()?;
        answer(&mut craft)?;
        silence(&mut craft.stream)
    })
}

/// One response per connection, so that each can be crafted from the handshake's keys.
pub fn one_request(server: &Server, path: &str, receive: Receive) -> Job {
    let mut job = https(server.address(), path);
    job.plan.operation = load::Operation::OneRequestPerConnection;
    job.plan.receive = Some(receive);
    job
}

pub const CLOSE: &str = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 262144\r\n\r\n";

fn send_object(
    craft: &mut Craft,
    between: impl Fn(&mut Craft, usize) -> io::Result<()>,
) -> io::Result<()> {
    craft.send(DATA, CLOSE.as_bytes(), 0)?;
    for (i, piece) in body().chunks(10_000).enumerate() {
        between(craft, i)?;
        craft.send(DATA, piece, 0)?;
    }
    craft.send(ALERT, &[1, 0], 0)?;
    craft.stream.shutdown(std::net::Shutdown::Write)
}

#[test]
fn empty_records_between_others() {
    let server = crafted(|craft| {
        send_object(craft, |craft, i| (0..i).try_for_each(|_| craft.send(DATA, &[], 0)))
    });
    for receive in [Receive::Walk, Receive::Decrypt] {
        assert_completes(one_request(&server, OBJECT_PATH, receive), OBJECT);
    }
}

#[test]
fn tickets_before_the_response() {
    let mut config = config_of(rsa(), &[&rustls::version::TLS13]);
    config.send_tls13_tickets = 60;
    let config = Arc::new(config);
    let server = Server::start(move |stream| {
        let mut https = Secure::accept(stream, &config)?;
        loop {
            https.request()?;
            https.send(head().as_bytes())?;
            https.send(body())?;
        }
    });
    assert_completes(https(server.address(), OBJECT_PATH), OBJECT);
    let mut job = https(server.address(), "/");
    job.plan.operation = load::Operation::Handshakes;
    assert_completes(job, 0);
}

#[test]
fn padding_that_a_walk_cannot_see() {
    let server = crafted(|craft| {
        craft.send(DATA, CLOSE.as_bytes(), 7)?;
        for piece in body().chunks(10_000) {
            craft.send(DATA, piece, 300)?;
        }
        craft.send(ALERT, &[1, 0], 0)?;
        craft.stream.shutdown(std::net::Shutdown::Write)
    });
    let walk = Job {
        plan: Plan {
            verify: Some(one_in(1000)),
            ..one_request(&server, OBJECT_PATH, Receive::Walk).plan
        },
        ..one_request(&server, OBJECT_PATH, Receive::Walk)
    };
    let outcome = run(walk);
    assert_eq!((outcome.completed, kinds(&outcome)), (1, vec![(LOST, 2)]), "{}", summary(&outcome));
    assert_completes(one_request(&server, OBJECT_PATH, Receive::Decrypt), OBJECT);
}

#[test]
fn a_key_update_within_a_body() {
    let count = AtomicUsize::new(0);
    let server = Server::start({
        let config = config();
        move |stream| {
            let mut https = Secure::accept(stream, &config)?;
            loop {
                https.request()?;
                https.send(head().as_bytes())?;
                let (first, second) = body().split_at(100_000);
                https.send(first)?;
                if count.fetch_add(1, SeqCst) > 0 {
                    https.update_key()?;
                }
                https.send(second)?;
            }
        }
    });
    let outcome = run(https(server.address(), OBJECT_PATH));
    assert_eq!((outcome.completed, kinds(&outcome)), (1, vec![(LOST, 2)]), "{}", summary(&outcome));
    // Where bodies are decrypted, KeyUpdates are followed, with toll's own handshake and with
    // rustls's.
    for key_exchange in [KeyExchangeMode::Fixed, KeyExchangeMode::Fresh] {
        let mut job = https(server.address(), OBJECT_PATH);
        job.plan.receive = Some(Receive::Decrypt);
        job.plan.tls = Some(OrPlain::Tls(Version::Tls13));
        job.plan.key_exchange = Some(key_exchange);
        assert_completes(job, OBJECT);
    }
}

/// Java's SSLSocket says user_canceled before close_notify in TLS 1.3, as other clients ignore it.
#[test]
fn user_canceled_before_the_close() {
    let server = crafted(|craft| {
        craft.send(DATA, CLOSE.as_bytes(), 0)?;
        for piece in body().chunks(10_000) {
            craft.send(DATA, piece, 0)?;
        }
        craft.send(ALERT, &[1, 90], 0)?;
        craft.send(ALERT, &[1, 0], 0)?;
        craft.stream.shutdown(std::net::Shutdown::Write)
    });
    for operation in [Operation::OneRequestPerConnection, Operation::Requests] {
        for receive in [Receive::Walk, Receive::Decrypt] {
            let mut job = one_request(&server, OBJECT_PATH, receive);
            job.plan.operation = operation;
            assert_completes(job, OBJECT);
        }
    }
}

/// RFC 8446, section 4.6.2: the client has not offered post_handshake_auth. The server learns that by an alert.
#[test]
fn a_certificate_request_after_the_handshake_is_answered_by_an_alert() {
    let (seen, alerts) = std::sync::mpsc::channel();
    let config = config();
    let server = Server::start(move |stream| {
        let mut https = Secure::accept(stream, &config)?;
        https.request()?;
        let mut craft = https.craft()?;
        craft.send(HANDSHAKE, &[13, 0, 0, 3, 0, 0, 0], 0)?;
        let answer = read_record(&mut craft.stream)?;
        seen.send(answer.len()).map_err(io::Error::other)
    });
    let mut job = https(server.address(), OBJECT_PATH);
    job.operations = Some(1);
    let outcome = run(job);
    assert_eq!(kinds(&outcome), [(ErrorKind::Handshake, 1)], "{}", summary(&outcome));
    // Header, level and description, type and tag.
    assert_eq!(alerts.recv().unwrap(), 5 + 2 + 1 + 16);
}

#[test]
fn alerts_and_garbage_between_records() {
    type Misbehaviour = fn(&mut Craft) -> io::Result<()>;
    let cases: [(Misbehaviour, ErrorKind); 6] = [
        (|craft| craft.send(ALERT, &[2, 80], 0), ErrorKind::Alert),
        (|craft| craft.stream.write_all(&[21, 3, 3, 0, 2, 2, 40]), ErrorKind::Alert),
        (|craft| craft.stream.write_all(&[23, 3, 3, 0xff, 0xff, 0]), LOST),
        (|craft| craft.stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n"), LOST),
        (|craft| craft.send(99, b"what is this", 0), LOST),
        // A KeyUpdate, and the old key after it.
        (
            |craft| {
                craft.send(HANDSHAKE, &[24, 0, 0, 1, 0], 0)?;
                craft.send(DATA, b"x", 0)
            },
            LOST,
        ),
    ];
    for (misbehave, kind) in cases {
        for position in [0, 3] {
            let server = crafted(move |craft| {
                for i in 0..=position {
                    match i {
                        _ if i == position => misbehave(craft)?,
                        0 => craft.send(DATA, CLOSE.as_bytes(), 0)?,
                        i => craft.send(DATA, &body()[(i - 1) * 10_000..i * 10_000], 0)?,
                    }
                }
                Ok(())
            });
            assert_fails(one_request(&server, OBJECT_PATH, Receive::Decrypt), kind);
        }
    }
}

#[test]
fn wrong_content_in_the_first_record() {
    for (accept, suite) in stacks() {
        let server = Server::start(move |stream| {
            let mut session = accept(stream)?;
            session.request()?;
            let mut content = [head().as_bytes(), body()].concat();
            content[100] ^= 1;
            session.send(&content)?;
            session.finish()
        });
        let mut job = https(server.address(), OBJECT_PATH);
        job.plan.suite = suite.map(OrPlain::Tls);
        assert_fails(job, ErrorKind::Content);
    }
}

#[test]
fn wrong_content_in_each_record_but_the_first() {
    let count = AtomicUsize::new(0);
    let (accept, _) = stacks().into_iter().next().unwrap();
    let server = Server::start(move |stream| {
        let mut session = accept(stream)?;
        loop {
            session.request()?;
            let mut content = [head().as_bytes(), body()].concat();
            if count.fetch_add(1, SeqCst) > 0 {
                content[50_000..].fill(0);
            }
            session.send(&content)?;
        }
    });
    // A walk cannot know whether the content or the count of bytes is wrong.
    let outcome = run(https(server.address(), OBJECT_PATH));
    assert_eq!((outcome.completed, kinds(&outcome)), (1, vec![(LOST, 2)]), "{}", summary(&outcome));
    assert_eq!(outcome.verified.wrong, 0);
    let mut job = https(server.address(), OBJECT_PATH);
    job.plan.verify = Some(one_in(1));
    let outcome = run(job);
    assert_eq!((kinds(&outcome), outcome.verified.wrong), (vec![(ErrorKind::Content, 3)], 3));
}

#[test]
fn one_byte_at_a_time() {
    const SIZE: usize = 1500;
    for (accept, suite) in stacks() {
        let server = Server::start(move |stream| {
            let mut session = accept(stream)?;
            loop {
                session.request()?;
                let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {SIZE}\r\n\r\n");
                let mut bytes = session.records(head.as_bytes())?.concat();
                for piece in body()[..SIZE].chunks(400) {
                    bytes.extend(session.records(piece)?.concat());
                }
                for byte in bytes {
                    session.stream().write_all(&[byte])?;
                }
            }
        });
        let mut job = https(server.address(), "/bytes/1500B");
        job.plan.suite = suite.map(OrPlain::Tls);
        assert_completes(job, SIZE as u64);
    }
}

#[test]
fn a_trickle_neither_completes_nor_stalls() {
    let trickle = |whole| {
        let server = crafted(|craft| {
            craft.send(DATA, CLOSE.as_bytes(), 0)?;
            for byte in craft.seal(DATA, &body()[..16_000], 0) {
                craft.stream.write_all(&[byte])?;
                std::thread::sleep(Duration::from_millis(10));
            }
            Ok(())
        });
        let mut job = https(server.address(), OBJECT_PATH);
        job.plan.verify = Some(one_in(if whole { 1 } else { 1000 }));
        job.plan.timeout = Nanos(400 * MILLISECOND);
        lasts(&mut job, Nanos(0), Nanos(900 * MILLISECOND));
        let outcome = run(job);
        assert_eq!((outcome.completed, kinds(&outcome), outcome.in_flight), (0, vec![], 1));
        assert_eq!(outcome.bytes.body, 0);
    };
    std::thread::scope(|scope| {
        for whole in [false, true] {
            scope.spawn(move || trickle(whole));
        }
    });
}

#[test]
fn endless_empty_records() {
    for (kind, content) in [(DATA, &[][..]), (HANDSHAKE, &[4, 0, 0, 1, 9])] {
        let server = crafted(move |craft| {
            loop {
                craft.send(kind, content, 0)?;
            }
        });
        let mut job = https(server.address(), OBJECT_PATH);
        lasts(&mut job, Nanos(0), Nanos(300 * MILLISECOND));
        let outcome = run(job);
        assert_eq!((outcome.completed, kinds(&outcome), outcome.in_flight), (0, vec![], 1));
    }
}

#[test]
fn a_pause_within_a_record_does_not_set_a_mark_that_is_never_reached() {
    const SIZE: usize = 48 << 10;
    let server = Server::start({
        let config = config();
        move |stream| {
            let mut https = Secure::accept(stream, &config)?;
            loop {
                https.request()?;
                let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {SIZE}\r\n\r\n");
                https.send(head.as_bytes())?;
                let body = https.records(&body()[..SIZE])?.concat();
                let (first, second) = body.split_at(10_000);
                https.stream().write_all(first)?;
                std::thread::sleep(Duration::from_millis(40));
                https.stream().write_all(second)?;
            }
        }
    });
    let mut job = https(server.address(), "/bytes/48KiB");
    // Shorter than the time after which a mark is lowered. A busy machine may need longer for some
    // responses, but a mark larger than what is to come would fail all of them.
    job.plan.timeout = Nanos(150 * MILLISECOND);
    job.operations = Some(20);
    let outcome = run(job);
    assert!(outcome.completed >= 10, "{}", summary(&outcome));
}
