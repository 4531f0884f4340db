//! Responses over HTTP/2 whose records are dropped unread: what comes as before counts, and what does not has failed.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use load::{ErrorKind, Http, Job, OneIn, Outcome, Receive};
use rustls::version::{TLS12, TLS13};

use crate::scripted_server::frames::{
    ACK, DATA_FRAME, END_HEADERS, END_STREAM, Frames, HEADERS, PADDED, PING, SETTINGS,
    WINDOW_UPDATE, frame, ok,
};
use crate::scripted_server::{Craft, DATA, Secure, Server, config_of, ecdsa};
use crate::{https, kinds, one_in, run, summary};

const SIZE: u64 = 200_000;
/// Of each record of the server.
const RECORD: usize = 16_000;
/// After this many usual responses comes another one. Sixteen teach how they come; the next ones are walked.
const USUAL: u64 = 30;
const OPERATIONS: u64 = 40;

fn object() -> Vec<u8> {
    let mut body = Vec::new();
    objects::write_to(&mut body, units::Bytes(SIZE)).unwrap();
    body
}

fn head(stream: u32) -> Vec<u8> {
    frame(HEADERS, END_HEADERS, stream, &ok(Some(SIZE)))
}

/// Frames of 8 KiB, the last of which ends the stream.
fn frames_of(stream: u32, body: &[u8]) -> Vec<Vec<u8>> {
    let count = body.len().div_ceil(8 << 10);
    let pieces = body.chunks(8 << 10).enumerate();
    let flags = |place| if place + 1 == count { END_STREAM } else { 0 };
    pieces.map(|(place, piece)| frame(DATA_FRAME, flags(place), stream, piece)).collect()
}

/// The usual response, as one server or another cuts it into records.
fn usual(stream: u32, cut: Cut) -> Vec<Vec<u8>> {
    let (head, frames) = (head(stream), frames_of(stream, &object()));
    match cut {
        Cut::Stream => in_records(&[vec![head], frames].concat().concat()),
        Cut::Frames => [vec![head], frames].concat(),
        Cut::EmptyLast => {
            let frames =
                object().chunks(RECORD).map(|of| frame(DATA_FRAME, 0, stream, of)).collect();
            [vec![head], frames, vec![frame(DATA_FRAME, END_STREAM, stream, &[])]].concat()
        }
    }
}

fn in_records(bytes: &[u8]) -> Vec<Vec<u8>> {
    bytes.chunks(RECORD).map(<[u8]>::to_vec).collect()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cut {
    /// Full records, whatever the frames are.
    Stream,
    /// A record for each frame.
    Frames,
    /// The same, with an empty frame at the end.
    EmptyLast,
}

/// What a server sends in place of its usual response.
type Other = fn(&mut Craft, u32) -> io::Result<()>;

/// A server whose responses come in this way, but for one.
fn server(
    version: &'static rustls::SupportedProtocolVersion,
    cut: Cut,
    other: Option<Other>,
) -> Server {
    let mut config = config_of(ecdsa(), &[version]);
    config.alpn_protocols = vec![http2::ALPN.to_vec()];
    config.enable_secret_extraction = true;
    let (config, answered) = (Arc::new(config), AtomicU64::new(0));
    Server::start(move |stream| {
        let mut frames = Frames::accept(Secure::accept(stream, &config)?, &[])?;
        loop {
            let stream = frames.request()?;
            if answered.fetch_add(1, SeqCst) == USUAL
                && let Some(other) = other
            {
                let mut craft = frames.0.craft()?;
                other(&mut craft, stream)?;
                return crate::scripted_server::finish(&mut craft.stream);
            }
            for record in usual(stream, cut) {
                frames.0.write_all(&record)?;
            }
        }
    })
}

fn walking(server: &Server, verify: OneIn) -> Job {
    let mut job = https(server.address(), "/bytes/200000B");
    job.operations = Some(OPERATIONS);
    job.plan.http = Some(Http::V2);
    job.plan.receive = Some(Receive::Walk);
    job.plan.verify = Some(verify);
    job
}

/// Which part of the bodies was decrypted.
fn opened(outcome: &Outcome) -> f64 {
    outcome.bytes.opened as f64 / outcome.bytes.body as f64
}

#[test]
fn what_comes_as_before_is_not_opened() {
    for version in [&TLS12, &TLS13] {
        for cut in [Cut::Stream, Cut::Frames, Cut::EmptyLast] {
            let server = server(version, cut, None);
            let outcome = run(walking(&server, one_in(1000)));
            let whole = (OPERATIONS, vec![], OPERATIONS * SIZE);
            let seen = (outcome.completed, kinds(&outcome), outcome.bytes.body);
            assert_eq!(seen, whole, "{cut:?}: {}", summary(&outcome));
            // Sixteen of forty teach.
            assert!((0.4..0.5).contains(&opened(&outcome)), "{cut:?}: {}", summary(&outcome));
            assert_eq!(server.connections(), 1);
            let all = run(walking(&server, one_in(1)));
            assert_eq!((all.completed, opened(&all)), (OPERATIONS, 1.0), "{}", summary(&all));
        }
    }
}

#[test]
fn what_comes_otherwise_has_failed_and_nothing_is_dropped_after_it() {
    fn with(place: usize, more: Vec<u8>) -> impl Fn(&mut Craft, u32) -> io::Result<()> {
        move |craft, stream| {
            let mut bytes = usual(stream, Cut::Stream).concat();
            bytes.splice(head(stream).len() + place..head(stream).len() + place, more.clone());
            in_records(&bytes).iter().try_for_each(|record| craft.send(DATA, record, 0))
        }
    }
    // After five frames of 8 KiB and their headers.
    const MIDDLE: usize = 5 * (9 + (8 << 10));
    let others: [(&str, Other); 11] = [
        ("PING", |craft, stream| with(MIDDLE, frame(PING, 0, 0, &[7; 8]))(craft, stream)),
        ("SETTINGS", |craft, stream| with(MIDDLE, frame(SETTINGS, 0, 0, &[]))(craft, stream)),
        ("SETTINGS with ACK", |craft, stream| {
            with(MIDDLE, frame(SETTINGS, ACK, 0, &[]))(craft, stream)
        }),
        ("WINDOW_UPDATE", |craft, stream| {
            with(MIDDLE, frame(WINDOW_UPDATE, 0, 0, &[0, 0, 0, 9]))(craft, stream)
        }),
        ("empty DATA", |craft, stream| {
            with(MIDDLE, frame(DATA_FRAME, 0, stream, &[]))(craft, stream)
        }),
        ("padded DATA", |craft, stream| {
            with(MIDDLE, frame(DATA_FRAME, PADDED, stream, &[1, 0]))(craft, stream)
        }),
        ("PING in a record of its own", |craft, stream| {
            let mut records = usual(stream, Cut::Stream);
            records.insert(5, frame(PING, 0, 0, &[7; 8]));
            records.iter().try_for_each(|record| craft.send(DATA, record, 0))
        }),
        ("padding of TLS 1.3", |craft, stream| {
            let records = usual(stream, Cut::Stream).into_iter().enumerate();
            let padding = |place| if place == 5 { 100 } else { 0 };
            { records }.try_for_each(|(place, record)| craft.send(DATA, &record, padding(place)))
        }),
        ("shorter records", |craft, stream| {
            let bytes = usual(stream, Cut::Stream).concat();
            let (first, rest) = bytes.split_at(RECORD);
            craft.send(DATA, first, 0)?;
            rest.chunks(RECORD / 2).try_for_each(|record| craft.send(DATA, record, 0))
        }),
        ("a body that is too short by a frame", |craft, stream| {
            let body = &object()[..SIZE as usize - (8 << 10)];
            let bytes = [vec![head(stream)], frames_of(stream, body)].concat().concat();
            in_records(&bytes).iter().try_for_each(|record| craft.send(DATA, record, 0))
        }),
        ("a damaged last record", |craft, stream| {
            let mut records = usual(stream, Cut::Stream);
            let last = records.pop().unwrap_or_default();
            records.iter().try_for_each(|record| craft.send(DATA, record, 0))?;
            let mut last = craft.seal(DATA, &last, 0);
            let at = last.len() - 1;
            last[at] ^= 1;
            craft.stream.write_all(&last)
        }),
    ];
    for (what, other) in others {
        let server = server(&TLS13, Cut::Stream, Some(other));
        let outcome = run(walking(&server, one_in(1000)));
        let lost = vec![(ErrorKind::UnverifiableRecord, 1)];
        let seen = (outcome.completed, kinds(&outcome));
        assert_eq!(seen, (OPERATIONS - 1, lost), "{what}: {}", summary(&outcome));
        assert_eq!(outcome.bytes.body, (OPERATIONS - 1) * SIZE, "{what}");
        assert_eq!(server.connections(), 2, "{what}");
        // Sixteen taught, and the nine after the failure were opened whole.
        let least = (16.0 + 9.0) / 39.0;
        assert!((least..0.75).contains(&opened(&outcome)), "{what}: {}", summary(&outcome));
    }
}
