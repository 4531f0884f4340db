//! A connection of HTTP/2: its requests, and their responses side by side.

use std::collections::HashMap;
use std::io;
use std::time::Instant;

use http2::{ServerHandler, SessionError};

use crate::answer::{Answer, MAX_STREAMS};
use crate::content::{Content, Contents};
use crate::head_watch::HeadWatch;
use crate::input::HEAD_LIMIT;

/// See the module.
pub(crate) struct Multiplexed {
    session: http2::Server<Streams>,
    streams: Streams,
    heads: HeadWatch,
    /// What is to be sent, before it is encrypted.
    plaintext: Vec<u8>,
}

/// The streams of a connection.
#[derive(Default)]
struct Streams {
    open: HashMap<i32, Exchange>,
    /// Requests that have come whole and were not answered.
    asked: Vec<i32>,
}

/// A request, then its response.
#[derive(Default)]
struct Exchange {
    method: Vec<u8>,
    path: Vec<u8>,
    /// The bytes of all fields.
    head: usize,
    /// Whether fields are trailers.
    has_head: bool,
    response: Option<Body>,
}

/// What is left of a response's body.
struct Body {
    content: Content,
    offset: u64,
    end: u64,
}

impl Multiplexed {
    pub(crate) fn new() -> Self {
        let settings = http2::ServerSettings { max_streams: MAX_STREAMS };
        let session = http2::Server::new(settings);
        let heads = HeadWatch::default();
        Self { session, streams: Streams::default(), heads, plaintext: Vec::new() }
    }

    /// When the head began of which only a part has come.
    pub(crate) fn head_begun(&self) -> Option<Instant> {
        self.heads.begun()
    }

    /// Takes what the client has sent, and answers the requests that are whole; how many these are.
    pub(crate) fn receive(
        &mut self,
        bytes: &[u8],
        contents: &Contents,
        now: Instant,
    ) -> io::Result<u64> {
        self.heads.take(bytes, now);
        self.session.receive(&mut self.streams, bytes).map_err(broken)?;
        let mut answered = 0;
        for stream in std::mem::take(&mut self.streams.asked) {
            let Some(exchange) = self.streams.open.get_mut(&stream) else { continue };
            let answer = Answer::of(&exchange.method, &exchange.path, exchange.head, contents);
            let end = answer.body_size();
            let session = &mut self.session;
            let respond = |fields: &[(&[u8], &[u8])]| session.respond(stream, fields, end > 0);
            answer.with_fields(respond).map_err(broken)?;
            exchange.response = Some(Body { content: answer.content, offset: 0, end });
            answered += 1;
        }
        Ok(answered)
    }

    /// The next bytes to send: about `enough`, or fewer where no more are due.
    pub(crate) fn next(&mut self, enough: usize) -> io::Result<&[u8]> {
        self.plaintext.clear();
        self.session.send(&mut self.streams, &mut self.plaintext, enough).map_err(broken)?;
        Ok(&self.plaintext)
    }

    /// No more requests are taken.
    pub(crate) fn go_away(&mut self) {
        self.session.go_away();
    }

    /// Whether no request is under way.
    pub(crate) fn is_idle(&self) -> bool {
        self.streams.open.is_empty()
    }

    /// Whether the session goes on: not after an error, or after both sides have ended it.
    pub(crate) fn is_alive(&self) -> bool {
        self.session.is_alive()
    }
}

fn broken(error: SessionError) -> io::Error {
    io::Error::other(error.to_string())
}

impl ServerHandler for Streams {
    fn field(&mut self, stream: i32, name: &[u8], value: &[u8]) {
        let exchange = self.open.entry(stream).or_default();
        exchange.head += name.len() + value.len();
        if exchange.has_head || exchange.head > HEAD_LIMIT {
            return;
        }
        match name {
            b":method" => value.clone_into(&mut exchange.method),
            b":path" => value.clone_into(&mut exchange.path),
            _ => {}
        }
    }

    fn head_ends(&mut self, stream: i32) {
        if let Some(exchange) = self.open.get_mut(&stream) {
            exchange.has_head = true;
        }
    }

    fn request_ends(&mut self, stream: i32) {
        self.asked.push(stream);
    }

    fn closed(&mut self, stream: i32) {
        self.open.remove(&stream);
    }

    fn body(&mut self, stream: i32, most: usize) -> Option<(usize, bool)> {
        let Body { offset, end, .. } = self.open.get(&stream)?.response.as_ref()?;
        let left = end - offset;
        let length = usize::try_from(left).map_or(most, |left| left.min(most));
        Some((length, length as u64 == left))
    }

    fn put_body(&mut self, stream: i32, length: usize, out: &mut Vec<u8>) -> bool {
        let body = self.open.get_mut(&stream).and_then(|exchange| exchange.response.as_mut());
        let Some(Body { content, offset, .. }) = body else { return false };
        let mut left = length;
        while left > 0 {
            let begun = out.len();
            let taken = if let Content::File(..) = content {
                out.resize(begun + left, 0);
                let taken = content.piece(*offset, left, &mut out[begun..]).map(<[u8]>::len);
                out.truncate(begun + *taken.as_ref().unwrap_or(&0));
                taken
            } else {
                content.piece(*offset, left, &mut []).map(|piece| {
                    out.extend_from_slice(piece);
                    piece.len()
                })
            };
            let Ok(taken) = taken else { return false };
            left -= taken;
            *offset += taken as u64;
        }
        true
    }
}
