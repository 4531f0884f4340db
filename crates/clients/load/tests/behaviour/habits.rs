//! Servers whose responses have been alike for a while, so that little of them is read, and then
//! are wrong.

use std::io::{self, Write};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use load::{ErrorKind, Job, Outcome};
use tls::{OrPlain, Suite};
use units::Nanos;

use crate::scripted_server::{Accept, Server, Session, finish, on_each_stack, silence, stacks};
use crate::{MILLISECOND, OBJECT, OBJECT_PATH, https, kinds, one_in, run, summary};

/// Honest responses before the wrong one: more than it takes to learn their form.
const HONEST: u64 = 20;

const LOST: ErrorKind = ErrorKind::UnverifiableRecord;

fn text() -> Vec<u8> {
    let head = format!("HTTP/1.1 200 OK\r\nServer: x\r\nContent-Length: {OBJECT}\r\n\r\n");
    [head.as_bytes(), &objects::slice(0)[..OBJECT as usize]].concat()
}

/// The response in full records, as nginx sends it: 0 to 15, and 16 with the last bytes.
fn records(session: &mut dyn Session) -> io::Result<Vec<Vec<u8>>> {
    let mut records = Vec::new();
    for piece in text().chunks(1 << 14) {
        records.extend(session.records(piece)?);
    }
    assert_eq!(records.len(), 17);
    Ok(records)
}

/// A server that sends the object [`HONEST`] times, and then what `last` sends.
fn server(
    accept: Accept,
    last: impl Fn(&mut dyn Session) -> io::Result<()> + Send + Sync + 'static,
) -> Server {
    let count = AtomicUsize::new(0);
    Server::start(move |stream| {
        let mut session = accept(stream)?;
        loop {
            session.request()?;
            if count.fetch_add(1, SeqCst) as u64 >= HONEST {
                return last(&mut *session);
            }
            let records = records(&mut *session)?.concat();
            session.stream().write_all(&records)?;
        }
    })
}

fn plan(server: &Server, suite: Option<&'static Suite>) -> Job {
    let mut job = https(server.address(), OBJECT_PATH);
    job.plan.suite = suite.map(OrPlain::Tls);
    job.operations = Some(HONEST + 1);
    job
}

/// The results of a last response with this damage, over each stack.
#[track_caller]
fn assert_damage(edit: fn(&mut Vec<Vec<u8>>), kind: Option<ErrorKind>) {
    on_each_stack(|accept, suite| {
        let server = server(accept, move |session| {
            let mut records = records(session)?;
            edit(&mut records);
            session.stream().write_all(&records.concat())?;
            finish(session.stream())
        });
        assert_last(&run(plan(&server, suite)), kind);
        let mut whole = plan(&server, suite);
        (whole.operations, whole.plan.verify) = (Some(1), Some(one_in(1)));
        let outcome = run(whole);
        assert_eq!(outcome.completed, 0, "opened whole, {suite:?}: {}", summary(&outcome));
    });
}

/// Checks that all responses but the last counted, and that the last has the expected result.
#[track_caller]
fn assert_last(outcome: &Outcome, kind: Option<ErrorKind>) {
    let (completed, failed) = match kind {
        None => (HONEST + 1, vec![]),
        Some(kind) => (HONEST, vec![(kind, 1)]),
    };
    assert_eq!((outcome.completed, kinds(outcome)), (completed, failed), "{}", summary(outcome));
    assert_eq!(outcome.bytes.body, completed * OBJECT, "{}", summary(outcome));
}

#[test]
fn a_corrupted_head() {
    // The status line, before which the suite may have an IV.
    assert_damage(|records| (0..40).for_each(|at| records[0][5 + at] ^= 1), Some(LOST));
}

#[test]
fn a_corrupted_last_record() {
    assert_damage(|records| records[16][40] ^= 1, Some(LOST));
}

#[test]
fn a_first_record_swapped_with_the_next_or_the_last() {
    assert_damage(|records| records.swap(0, 1), Some(LOST));
    assert_damage(|records| records.swap(0, 16), Some(LOST));
}

#[test]
fn a_record_repeated() {
    assert_damage(|records| records.insert(1, records[0].clone()), Some(LOST));
    assert_damage(|records| records.insert(8, records[7].clone()), Some(LOST));
}

#[test]
fn a_middle_record_missing() {
    // The walk waits for the missing record until the end of the stream.
    assert_damage(|records| drop(records.remove(7)), Some(ErrorKind::ShortBody));
}

#[test]
fn the_first_record_missing() {
    assert_damage(|records| drop(records.remove(0)), Some(LOST));
}

/// A walk accepts this by design; opened whole, it is noticed.
#[test]
fn damage_after_the_head_that_a_walk_does_not_notice() {
    assert_damage(|records| records[0][5000] ^= 1, None);
    assert_damage(|records| records[7][5000] ^= 1, None);
    assert_damage(|records| records.swap(5, 6), None);
}

#[test]
fn an_error_in_place_of_the_object() {
    on_each_stack(|accept, suite| {
        let server = server(accept, |session| {
            let error = session.records(b"HTTP/1.1 503 Not Now\r\nContent-Length: 0\r\n\r\n")?;
            session.stream().write_all(&error.concat())?;
            silence(session.stream())
        });
        assert_last(&run(plan(&server, suite)), Some(ErrorKind::Status));
    });
}

#[test]
fn a_missing_record_and_silence() {
    on_each_stack(|accept, suite| {
        let server = server(accept, |session| {
            let mut records = records(session)?;
            records.remove(7);
            session.stream().write_all(&records.concat())?;
            silence(session.stream())
        });
        let mut job = plan(&server, suite);
        job.plan.timeout = Nanos(700 * MILLISECOND);
        let outcome = run(job);
        assert_last(&outcome, Some(ErrorKind::Stall));
        assert!(outcome.bytes.unproven > 0, "{}", summary(&outcome));
    });
}

#[test]
fn a_pause_within_the_object() {
    on_each_stack(|accept, suite| {
        let server = server(accept, |session| {
            let bytes = records(session)?.concat();
            for piece in bytes.chunks(bytes.len() / 3 + 1) {
                session.stream().write_all(piece)?;
                std::thread::sleep(Duration::from_millis(250));
            }
            silence(session.stream())
        });
        assert_last(&run(plan(&server, suite)), None);
    });
}

/// Where a response is awaited whole, its first byte is not timed.
#[test]
fn one_in_sixteen_responses_awaited_whole_times_its_first_byte() {
    let (accept, suite) = stacks().into_iter().next().unwrap();
    let server = server(accept, |session| finish(session.stream()));
    let outcome = run(Job { operations: Some(HONEST), ..plan(&server, suite) });
    assert_eq!((outcome.completed, kinds(&outcome)), (HONEST, vec![]), "{}", summary(&outcome));
    // The 16 from which the form is learned, and the first of the 4 after them.
    assert_eq!(outcome.latencies.first_byte.len(), 17);
    assert_eq!(outcome.latencies.whole.len(), HONEST);
}
