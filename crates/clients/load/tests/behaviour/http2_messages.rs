//! Requests with bodies and of other methods over HTTP/2, to servers honest and hostile.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use load::{ErrorKind, Http, Job, Method};
use tempfile::TempDir;
use units::Nanos;

use crate::scripted_server::Server;
use crate::scripted_server::frames::{
    DATA_FRAME, END_HEADERS, END_STREAM, Frames, HEADERS, INITIAL_WINDOW, RST_STREAM, SETTINGS,
    WINDOW_UPDATE, field, ok,
};
use crate::{MILLISECOND, assert_completes, assert_fails, http, kinds, run, summary};

/// The HPACK of a status in the static table (RFC 7541, appendix A).
const NO_CONTENT: u8 = 0x89;
const NOT_MODIFIED: u8 = 0x8b;
const NOT_FOUND: u8 = 0x8d;

fn over_http2(server: &Server, method: Method, expect: Option<&str>) -> Job {
    let mut job = http(server.address(), "/");
    job.plan.http = Some(Http::V2);
    job.plan.method = Some(method);
    job.plan.expect = expect.map(|statuses| statuses.parse().unwrap());
    job
}

/// A body of this length in a file.
fn body(length: usize, folder: &TempDir) -> (Vec<u8>, PathBuf) {
    let bytes: Vec<u8> = (0..length).map(|place| (place % 251) as u8).collect();
    let file = folder.path().join("body");
    std::fs::write(&file, &bytes).unwrap();
    (bytes, file)
}

/// A server that opens each window by what came, and answers 204 where the body is this one, else 404.
fn receiving(settings: &'static [(u16, u32)], body: Vec<u8>, pause: Duration) -> Server {
    Server::start(move |stream| {
        let mut frames = Frames::accept(stream, settings)?;
        let mut bodies = BTreeMap::<u32, Vec<u8>>::new();
        loop {
            let frame = frames.next()?;
            match frame.kind {
                HEADERS => drop(bodies.insert(frame.stream, Vec::new())),
                DATA_FRAME => bodies.get_mut(&frame.stream).unwrap().extend(&frame.payload),
                _ => continue,
            }
            if frame.flags & END_STREAM != 0 {
                let is_right = bodies.remove(&frame.stream) == Some(body.clone());
                let status = if is_right { NO_CONTENT } else { NOT_FOUND };
                frames.send(HEADERS, END_HEADERS | END_STREAM, frame.stream, &[status])?;
            }
            if !frame.payload.is_empty() && frame.kind == DATA_FRAME {
                std::thread::sleep(pause);
                frames.open_windows(frame.stream, frame.payload.len() as u32)?;
            }
        }
    })
}

#[test]
fn each_request_carries_the_whole_body_through_windows_of_any_size() {
    let folder = tempfile::tempdir().unwrap();
    for (length, settings) in [
        (0, &[][..]),
        (5, &[]),
        (100_000, &[]),
        (9 << 20, &[]),
        (3_000, &[(INITIAL_WINDOW, 100)]),
        // All wait for the window of the connection.
        (1 << 20, &[(INITIAL_WINDOW, 1 << 30)]),
    ] {
        let (bytes, file) = body(length, &folder);
        let server = receiving(settings, bytes, Duration::ZERO);
        let mut job = over_http2(&server, Method::Put, Some("204"));
        job.plan.body = Some(file);
        (job.plan.streams, job.operations) = (std::num::NonZeroU32::new(4), Some(8));
        let outcome = run(job);
        assert_eq!((outcome.completed, kinds(&outcome)), (8, vec![]), "{}", summary(&outcome));
        assert_eq!((outcome.request_body, outcome.bytes.body), (length as u64, 0));
        let counts = outcome.streams;
        assert_eq!((counts.connections, counts.most), (1, 4));
        // What is longer than the window of the stream, or of the connection, waits.
        let window = settings.first().map_or(u32::MAX, |(_, window)| *window).min(65_535);
        let waits = length > window as usize;
        assert_eq!(counts.held_up > 0, waits, "{length}: {counts:?}");
        assert_eq!(counts.held_up_for > Nanos(0), waits);
        assert!(counts.held_up_for <= counts.with_body_for, "{counts:?}");
    }
}

#[test]
fn the_time_that_bodies_wait_for_windows_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let (bytes, file) = body(4_000, &folder);
    let server = receiving(&[(INITIAL_WINDOW, 1_000)], bytes, Duration::from_millis(20));
    let mut job = over_http2(&server, Method::Post, Some("204"));
    job.plan.body = Some(file);
    let outcome = run(job);
    let counts = outcome.streams;
    // A window that is opened is no first byte of a response.
    assert!(outcome.latencies.first_byte.max() >= 3 * 20 * MILLISECOND);
    // The first of three was sent before the settings came; each other waits three times.
    assert_eq!(counts.held_up, 2);
    assert!(counts.held_up_for >= Nanos(2 * 3 * 20 * MILLISECOND), "{counts:?}");
}

#[test]
fn what_a_server_sends_is_counted_against_the_client_s_window() {
    const SIZE: u64 = 40_000;
    let mut object = Vec::new();
    objects::write_to(&mut object, units::Bytes(SIZE)).unwrap();
    let server = Server::start(move |stream| {
        let mut frames = Frames::accept(stream, &[])?;
        loop {
            let stream = frames.request()?;
            frames.head(stream, SIZE)?;
            frames.body(stream, &object)?;
        }
    });
    let mut job = http(server.address(), "/bytes/40000B");
    job.plan.http = Some(Http::V2);
    let outcome = run(job);
    let counts = outcome.streams;
    assert_eq!(outcome.http2.least_window, Some(load::HTTP2_WINDOW - 3 * SIZE as u32));
    assert_eq!((counts.held_up, counts.with_body_for), (0, Nanos(0)));
}

#[test]
fn statuses_and_answers_without_a_body_are_right_as_over_http_1() {
    type Head = (u8, Option<&'static [u8]>);
    let missing: Head = (NOT_FOUND, None);
    let cases: &[(Method, Head, Option<&str>, bool)] = &[
        (Method::Get, (NO_CONTENT, None), Some("204"), true),
        (Method::Get, (NO_CONTENT, None), Some("200, 204"), true),
        (Method::Get, (NO_CONTENT, None), None, false),
        (Method::Get, (NOT_MODIFIED, Some(b"5")), Some("304"), true),
        (Method::Get, missing, Some("200, 404"), true),
        (Method::Get, missing, Some("204"), false),
        (Method::Head, (0x88, Some(b"1048576")), None, true),
        (Method::Head, missing, None, false),
        (Method::Delete, (NO_CONTENT, None), Some("204"), true),
        (Method::Options, (0x88, None), Some("200"), true),
    ];
    for (method, (status, length), expect, is_right) in cases {
        let (status, length) = (*status, *length);
        let server = Server::start(move |stream| {
            let mut frames = Frames::accept(stream, &[])?;
            loop {
                let stream = frames.request()?;
                let length = length.map(|length| field("content-length", length));
                let head = [&[status], &length.unwrap_or_default()[..]].concat();
                frames.send(HEADERS, END_HEADERS | END_STREAM, stream, &head)?;
            }
        });
        let job = over_http2(&server, *method, *expect);
        if *is_right {
            let outcome = run(job);
            let case = format!("{method} {status:x}: {}", summary(&outcome));
            assert_eq!((outcome.completed, kinds(&outcome)), (3, vec![]), "{case}");
            assert_eq!((outcome.bytes.body, server.connections()), (0, 1), "{case}");
            let code = match status {
                NO_CONTENT => Some(204),
                NOT_MODIFIED => Some(304),
                NOT_FOUND => Some(404),
                _ => None,
            };
            let others: Vec<_> = code.into_iter().map(|code| (code, 3)).collect();
            assert_eq!(outcome.statuses, others, "{case}");
        } else {
            assert_fails(job, ErrorKind::Status);
        }
    }
}

#[test]
fn a_body_after_an_answer_that_has_none_is_too_long() {
    for (method, status, expect) in [
        (Method::Head, 0x88, "200"),
        (Method::Get, NO_CONTENT, "204"),
        (Method::Get, NOT_MODIFIED, "304"),
    ] {
        let server = Server::start(move |stream| {
            let mut frames = Frames::accept(stream, &[])?;
            loop {
                let stream = frames.request()?;
                frames.send(HEADERS, END_HEADERS, stream, &[status])?;
                frames.send(DATA_FRAME, END_STREAM, stream, b"more")?;
            }
        });
        assert_fails(over_http2(&server, method, Some(expect)), ErrorKind::LongBody);
    }
}

#[test]
fn an_object_in_an_answer_with_an_expected_status_counts() {
    let server = Server::start(|stream| {
        let mut frames = Frames::accept(stream, &[])?;
        loop {
            let stream = frames.request()?;
            frames.send(HEADERS, END_HEADERS, stream, &ok(Some(5)))?;
            frames.send(DATA_FRAME, END_STREAM, stream, b"hello")?;
        }
    });
    assert_completes(over_http2(&server, Method::Get, Some("200, 404")), 5);
}

/// Each fault, with what is seen of it.
#[test]
fn faults_with_bodies_have_their_names() {
    type Fault = (&'static str, ErrorKind, fn(&mut Frames, u32) -> io::Result<()>);
    let faults: &[Fault] = &[
        ("404", ErrorKind::Status, |frames, stream| {
            frames.send(HEADERS, END_HEADERS | END_STREAM, stream, &[NOT_FOUND])
        }),
        ("RST_STREAM", ErrorKind::StreamReset, |frames, stream| {
            frames.send(RST_STREAM, 0, stream, &8u32.to_be_bytes())
        }),
        ("the request waited", ErrorKind::FlowControl, |_, _| Ok(())),
        ("the request waited", ErrorKind::FlowControl, |frames, _| {
            // A window below nothing: 16 KiB were sent of one that is of 1 byte now.
            frames.send(SETTINGS, 0, 0, &[0, 4, 0, 0, 0, 1])
        }),
        ("", ErrorKind::Http2, |frames, _| {
            for _ in 0..3 {
                frames.send(WINDOW_UPDATE, 0, 0, &0x7fff_ffffu32.to_be_bytes())?;
            }
            Ok(())
        }),
    ];
    let folder = tempfile::tempdir().unwrap();
    let (_, file) = body(200_000, &folder);
    for (number, (part, kind, fault)) in faults.iter().enumerate() {
        let server = Server::start(move |stream| {
            let mut frames = Frames::accept(stream, &[])?;
            loop {
                let stream = frames.request()?;
                fault(&mut frames, stream)?;
            }
        });
        let mut job = over_http2(&server, Method::Post, None);
        job.plan.body = Some(file.clone());
        if *kind == ErrorKind::FlowControl {
            job.plan.timeout = Nanos(200 * MILLISECOND);
        }
        let outcome = run(job);
        let case = format!("{number}: {}", summary(&outcome));
        assert_eq!((outcome.completed, kinds(&outcome)), (0, vec![(*kind, 3)]), "{case}");
        let (.., seen) = outcome.failures.iter().next().unwrap();
        assert!(seen.contains(part), "{number}: {seen}");
    }
}

#[test]
fn a_server_that_reads_nothing_stalls_a_request() {
    let folder = tempfile::tempdir().unwrap();
    let (_, file) = body(20 << 20, &folder);
    let server = Server::start(|stream| {
        let mut frames = Frames::accept(stream, &[(INITIAL_WINDOW, 0x7fff_ffff)])?;
        frames.request()?;
        frames.send(WINDOW_UPDATE, 0, 0, &0x7000_0000u32.to_be_bytes())?;
        std::thread::sleep(Duration::from_secs(1));
        Ok(())
    });
    let mut job = over_http2(&server, Method::Post, None);
    (job.plan.body, job.operations) = (Some(file), Some(1));
    job.plan.timeout = Nanos(300 * MILLISECOND);
    let outcome = run(job);
    assert_eq!((outcome.completed, kinds(&outcome)), (0, vec![(ErrorKind::Stall, 1)]));
}
