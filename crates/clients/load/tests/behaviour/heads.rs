//! Heads and trailers that are long, or that say more than the status: one table for HTTP/1.1 and HTTP/2.

use std::io;
use std::net::TcpStream;
use std::sync::mpsc;

use http2::{Server as Http2Session, ServerHandler, ServerSettings};
use load::{ErrorKind, Http, Job};

use crate::scripted_server::frames::{
    CONTINUATION, DATA_FRAME, END_HEADERS, END_STREAM, Frames, HEADERS, field, ok,
};
use crate::scripted_server::{Plain, Server, Session};
use crate::{assert_completes, assert_fails, http};

const BODY: &[u8] = b"hello";

/// Fields after the status, and trailers after [`BODY`].
#[derive(Clone)]
struct Answer {
    fields: Vec<(&'static str, String)>,
    trailers: Vec<(&'static str, String)>,
}

fn over_http1(stream: TcpStream, answer: &Answer) -> io::Result<()> {
    let lines = |fields: &[(&str, String)]| -> String {
        fields.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect()
    };
    let (head, trailers) = (lines(&answer.fields), lines(&answer.trailers));
    let chunks = format!("5\r\nhello\r\n0\r\n{trailers}\r\n");
    let text = format!("HTTP/1.1 200 OK\r\n{head}Transfer-Encoding: chunked\r\n\r\n{chunks}");
    let mut session = Plain(stream);
    loop {
        session.request()?;
        session.send(text.as_bytes())?;
    }
}

/// A head in frames of at most this many bytes.
fn head(frames: &mut Frames, stream: u32, block: &[u8], end: u8, longest: usize) -> io::Result<()> {
    let pieces: Vec<&[u8]> = block.chunks(longest).collect();
    for (place, piece) in pieces.iter().enumerate() {
        let kind = if place == 0 { HEADERS } else { CONTINUATION };
        let flags = if place == 0 { end } else { 0 };
        let last = if place + 1 == pieces.len() { END_HEADERS } else { 0 };
        frames.send(kind, flags | last, stream, piece)?;
    }
    Ok(())
}

fn over_http2(stream: TcpStream, answer: &Answer) -> io::Result<()> {
    let block = |fields: &[(&str, String)]| -> Vec<u8> {
        fields.iter().flat_map(|(name, value)| field(name, value.as_bytes())).collect()
    };
    let first = [ok(None), block(&answer.fields)].concat();
    let last = [block(&answer.trailers), field("x-end", b"1")].concat();
    let mut frames = Frames::accept(stream, &[])?;
    loop {
        let stream = frames.request()?;
        head(&mut frames, stream, &first, 0, 16 << 10)?;
        frames.send(DATA_FRAME, 0, stream, BODY)?;
        head(&mut frames, stream, &last, END_STREAM, 16 << 10)?;
    }
}

fn http2_job(server: &Server) -> Job {
    let mut job = http(server.address(), "/");
    job.plan.http = Some(Http::V2);
    job
}

#[test]
fn heads_and_trailers_end_alike_over_both_protocols() {
    let long = |count: usize, length: usize| {
        (0..count).map(|_| ("x-long", "y".repeat(length))).collect::<Vec<_>>()
    };
    let grpc = |status: &str| vec![("grpc-status", status.to_owned())];
    let none = Vec::new;
    for (name, fields, trailers, http1, http2) in [
        ("in one frame", long(1, 10), none(), None, None),
        ("a field of 60 KiB", long(1, 60 << 10), none(), None, None),
        ("200 KiB", long(4, 50 << 10), none(), None, None),
        ("250 fields", long(250, 10), none(), None, None),
        (
            "300 KiB",
            long(6, 50 << 10),
            none(),
            Some(ErrorKind::LongHead),
            Some(ErrorKind::LongHead),
        ),
        // The codec takes no longer ones.
        ("a field of 70 KiB", long(1, 70 << 10), none(), None, Some(ErrorKind::LongHead)),
        ("trailers of 100 KiB", none(), long(2, 50 << 10), None, None),
        ("a call of gRPC", none(), grpc("0"), None, None),
        ("one that failed", none(), grpc("14"), Some(ErrorKind::Status), Some(ErrorKind::Status)),
        (
            "one that failed at once",
            grpc("5"),
            none(),
            Some(ErrorKind::Status),
            Some(ErrorKind::Status),
        ),
    ] {
        type Script = fn(TcpStream, &Answer) -> io::Result<()>;
        for (script, expected, version) in
            [(over_http1 as Script, http1, Http::V1), (over_http2, http2, Http::V2)]
        {
            println!("{name} over {version:?}");
            let answer = Answer { fields: fields.clone(), trailers: trailers.clone() };
            let server = Server::start(move |stream| script(stream, &answer));
            let mut job = http(server.address(), "/");
            job.plan.http = Some(version);
            match expected {
                Some(kind) => assert_fails(job, kind),
                None => assert_completes(job, BODY.len() as u64),
            }
        }
    }
}

/// No server breaks a rule by so many.
#[test]
fn a_head_in_too_many_frames_is_a_long_one() {
    for (longest, expected) in [(2048, None), (1024, Some(ErrorKind::LongHead))] {
        let server = Server::start(move |stream| {
            let mut frames = Frames::accept(stream, &[])?;
            let block = [ok(Some(0)), field("x", &[b'y'; 60 << 10]), field("x", &[b'y'; 30 << 10])];
            loop {
                let stream = frames.request()?;
                head(&mut frames, stream, &block.concat(), END_STREAM, longest)?;
            }
        });
        match expected {
            Some(kind) => assert_fails(http2_job(&server), kind),
            None => assert_completes(http2_job(&server), 0),
        }
    }
}

/// The values of `te` in requests.
struct Te(Vec<Vec<u8>>, Vec<i32>);

impl ServerHandler for Te {
    fn field(&mut self, stream: i32, name: &[u8], value: &[u8]) {
        if name == b"te" {
            self.0.push(value.to_vec());
            self.1.push(stream);
        }
    }
}

#[test]
fn a_server_of_grpc_is_told_that_its_trailers_are_read() {
    let (sender, seen) = mpsc::channel();
    let server = Server::start(move |stream| {
        let mut plain = Plain(stream);
        let mut session = Http2Session::new(ServerSettings { max_streams: 10 });
        let mut te = Te(Vec::new(), Vec::new());
        loop {
            let mut out = Vec::new();
            session.send(&mut te, &mut out, usize::MAX).unwrap();
            plain.send(&out)?;
            let mut bytes = Vec::new();
            plain.read_on(&mut bytes)?;
            session.receive(&mut te, &bytes).unwrap();
            te.0.drain(..).for_each(|value| sender.send(value).unwrap());
            for stream in te.1.drain(..) {
                session.respond(stream, &[(b":status", b"200")], false).unwrap();
            }
        }
    });
    let mut job = http2_job(&server);
    job.plan.header = vec!["TE: trailers".parse().unwrap()];
    assert!(
        Job { plan: load::Plan { http: None, ..job.plan.clone() }, ..job.clone() }.check().is_err()
    );
    assert_completes(job, 0);
    assert_eq!(seen.iter().take(3).collect::<Vec<_>>(), [b"trailers"; 3]);
    assert!("te: gzip".parse::<load::Header>().is_err());
}
