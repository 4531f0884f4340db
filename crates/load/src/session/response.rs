//! One response of a page, read whole.

use std::ops::Range;

use crate::failure::{ErrorKind, Failure};
use crate::receive::chunks::Chunks;
use crate::receive::http::{BodyEnd, PartialHead, body_end, read_head, status, too_long};

/// The longest body that is kept. A page of a web application is far shorter, and each user keeps
/// one.
pub(super) const LONGEST_BODY: usize = 16 << 20;

/// What a server answered.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(super) status: u16,
    pub(super) location: Option<Vec<u8>>,
    /// The values of the Set-Cookie fields.
    pub(super) cookies: Vec<Vec<u8>>,
    /// Whether the server will close the connection.
    pub(crate) closes: bool,
}

/// A response that is arriving. Its buffers are kept for the next one.
#[derive(Default)]
pub(super) struct Response {
    pub(super) answer: Answer,
    body: Body,
    /// The beginning of a head that came in pieces.
    head: PartialHead,
    has_begun: bool,
    phase: Phase,
}

/// A body. Most come at once, and are then not copied.
#[derive(Default)]
struct Body {
    kept: Vec<u8>,
    /// Where it lies in the bytes in hand, as long as nothing is kept.
    in_hand: Range<usize>,
}

#[derive(Default)]
enum Phase {
    #[default]
    Head,
    Length {
        left: usize,
    },
    Chunked(Chunks),
    UntilClose,
    Done,
}

impl Response {
    /// Expects a new response.
    pub(super) fn clear(&mut self) {
        self.body.clear();
        self.answer.cookies.clear();
        self.head = PartialHead::default();
        (self.has_begun, self.phase) = (false, Phase::Head);
    }

    pub(super) fn has_begun(&self) -> bool {
        self.has_begun
    }

    pub(super) fn is_done(&self) -> bool {
        matches!(self.phase, Phase::Done)
    }

    /// The length of the body so far.
    pub(super) fn body_length(&self) -> usize {
        self.body.length()
    }

    /// The body so far; `bytes` are those in hand.
    pub(super) fn body<'a>(&'a self, bytes: &'a [u8]) -> &'a [u8] {
        if self.body.kept.is_empty() { &bytes[self.body.in_hand.clone()] } else { &self.body.kept }
    }

    /// Keeps the body so far, before the bytes in hand go.
    pub(super) fn keep(&mut self, bytes: &[u8]) {
        self.body.kept.extend_from_slice(&bytes[std::mem::take(&mut self.body.in_hand)]);
    }

    /// Takes the next content, which lies there in the bytes in hand, and may move it to what it took
    /// of them before.
    pub(super) fn take(&mut self, bytes: &mut [u8], content: Range<usize>) -> Result<(), Failure> {
        self.has_begun = true;
        if !matches!(self.phase, Phase::Head) {
            return self.take_body(bytes, content);
        }
        let mut head = std::mem::take(&mut self.head);
        let end = content.end;
        match head.take(&bytes[content], |bytes| self.parse_head(bytes))? {
            Some(body) => self.take_body(bytes, end - body.len()..end),
            None => {
                self.head = head;
                Ok(())
            }
        }
    }

    /// The stream ended; `is_authentic` where only the server can have ended it.
    pub(super) fn end(&mut self, is_authentic: bool) -> Result<(), Failure> {
        match &self.phase {
            Phase::Done => Ok(()),
            Phase::Head if !self.has_begun => {
                Err(Failure::new(ErrorKind::EarlyClose, "closed before a response"))
            }
            Phase::Head => Err(Failure::new(ErrorKind::EarlyClose, "closed within the head")),
            Phase::UntilClose if is_authentic => {
                self.phase = Phase::Done;
                Ok(())
            }
            Phase::UntilClose | Phase::Length { .. } | Phase::Chunked(_) => {
                let came = self.body_length();
                let seen = format!("closed after {came} body bytes, before the body's end");
                Err(Failure::new(ErrorKind::ShortBody, seen))
            }
        }
    }

    /// The length of the head, if `bytes` hold all of it.
    fn parse_head(&mut self, bytes: &[u8]) -> Result<Option<usize>, Failure> {
        let answer = &mut self.answer;
        let read = read_head(bytes, |head| {
            answer.status = head.code.unwrap_or(0);
            let values = |name: &'static str| {
                let named =
                    head.headers.iter().filter(move |field| field.name.eq_ignore_ascii_case(name));
                named.map(|field| field.value.to_vec())
            };
            answer.cookies.extend(values("set-cookie"));
            answer.location = values("location").next();
            if values("location").nth(1).is_some() {
                return Err(status("two Locations"));
            }
            body_end(head)
        })?;
        let Some((length, (end, closes))) = read else { return Ok(None) };
        self.answer.closes = closes;
        self.phase = match end {
            // These have no body, whatever the head says (RFC 9112, section 6.3).
            _ if matches!(self.answer.status, 204 | 304) => {
                self.answer.closes = closes && end != BodyEnd::Close;
                Phase::Done
            }
            BodyEnd::Length(0) => Phase::Done,
            BodyEnd::Length(promised) => match usize::try_from(promised) {
                Ok(left) if left <= LONGEST_BODY => Phase::Length { left },
                _ => return Err(too_large()),
            },
            BodyEnd::Chunked => Phase::Chunked(Chunks::new()),
            BodyEnd::Close => Phase::UntilClose,
        };
        Ok(Some(length))
    }

    fn take_body(&mut self, bytes: &mut [u8], content: Range<usize>) -> Result<(), Failure> {
        let mut rest = content;
        match &mut self.phase {
            Phase::Length { left } => {
                let here = rest.start..rest.end.min(rest.start.saturating_add(*left));
                *left -= here.len();
                rest.start = here.end;
                self.body.add(bytes, here);
                if *left == 0 {
                    self.phase = Phase::Done;
                }
            }
            Phase::Chunked(chunks) => {
                while !rest.is_empty() && !chunks.is_done() {
                    let (used, data) = chunks.take(&bytes[rest.clone()]).map_err(status)?;
                    self.body.add(bytes, rest.start + data.start..rest.start + data.end);
                    rest.start += used;
                }
                if chunks.is_done() {
                    self.phase = Phase::Done;
                }
            }
            Phase::UntilClose => self.body.add(bytes, std::mem::take(&mut rest)),
            Phase::Head | Phase::Done => {}
        }
        if self.body_length() > LONGEST_BODY {
            return Err(too_large());
        }
        if rest.is_empty() { Ok(()) } else { Err(too_long()) }
    }
}

impl Body {
    fn clear(&mut self) {
        self.kept.clear();
        self.in_hand = 0..0;
    }

    fn length(&self) -> usize {
        self.kept.len() + self.in_hand.len()
    }

    /// Adds what lies here in the bytes in hand.
    fn add(&mut self, bytes: &mut [u8], here: Range<usize>) {
        if !self.kept.is_empty() {
            self.kept.extend_from_slice(&bytes[here]);
        } else if self.in_hand.is_empty() {
            self.in_hand = here;
        } else {
            let end = self.in_hand.end + here.len();
            bytes.copy_within(here, self.in_hand.end);
            self.in_hand.end = end;
        }
    }
}

fn too_large() -> Failure {
    Failure::new(ErrorKind::LongBody, "a page of more than 16 MiB")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A response that arrives in pieces of this size.
    fn answer(text: &str, piece: usize) -> Result<(u16, String), ErrorKind> {
        let mut response = Response::default();
        for piece in text.as_bytes().chunks(piece) {
            take(&mut response, piece).map_err(|failure| failure.kind)?;
        }
        if !response.is_done() {
            response.end(true).map_err(|failure| failure.kind)?;
        }
        Ok((response.answer.status, String::from_utf8(response.body.kept).unwrap()))
    }

    /// Takes a piece that is all there is in hand.
    fn take(response: &mut Response, piece: &[u8]) -> Result<(), Failure> {
        response.take(&mut piece.to_vec(), 0..piece.len())?;
        response.keep(piece);
        Ok(())
    }

    #[test]
    fn bodies_end_as_their_heads_say_wherever_they_are_cut() {
        let ok = |status, body: &str| Ok((status, body.to_owned()));
        for (text, expected) in [
            ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", ok(200, "hi")),
            ("HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n", ok(404, "")),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
                ok(200, "hi"),
            ),
            ("HTTP/1.0 500 Oops\r\n\r\nhi", ok(500, "hi")),
            ("HTTP/1.1 204 None\r\n\r\n", ok(204, "")),
            ("HTTP/1.1 100 Go\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx", ok(200, "x")),
            ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhi", Err(ErrorKind::ShortBody)),
            ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nhi", Err(ErrorKind::LongBody)),
            ("HTTP/1.1 204 None\r\n\r\nx", Err(ErrorKind::LongBody)),
            ("HTTP/1.1 200 OK\r\nContent-Length: 67108864\r\n\r\nx", Err(ErrorKind::LongBody)),
            ("HTTP/1.1 302 To\r\nLocation: /a\r\nLocation: /b\r\n\r\n", Err(ErrorKind::Status)),
            ("HTTP/1.1 200", Err(ErrorKind::EarlyClose)),
            ("", Err(ErrorKind::EarlyClose)),
            ("SSH-2.0", Err(ErrorKind::Status)),
        ] {
            for piece in [1, 2, 7, 1000] {
                assert_eq!(answer(text, piece), expected, "{text:?} in pieces of {piece}");
            }
        }
    }

    #[test]
    fn a_body_without_a_promised_length_is_cut_off_at_the_limit() {
        let mut response = Response::default();
        take(&mut response, b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
        let piece = vec![b'x'; 1 << 20];
        for _ in 0..16 {
            take(&mut response, &piece).unwrap();
        }
        assert_eq!(take(&mut response, b"x").unwrap_err(), too_large());
    }

    #[test]
    fn the_next_response_begins_anew() {
        let mut response = Response::default();
        let first = "HTTP/1.1 302 To\r\nLocation: /a\r\nSet-Cookie: a=1\r\nset-cookie: b=2\r\nContent-Length: 1\r\nConnection: close\r\n\r\nx";
        take(&mut response, first.as_bytes()).unwrap();
        assert_eq!(response.answer.location.as_deref(), Some(&b"/a"[..]));
        assert_eq!(response.answer.cookies, [b"a=1", b"b=2"]);
        assert!(response.is_done() && response.answer.closes);
        response.clear();
        assert!(!response.has_begun() && !response.is_done());
        take(&mut response, b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\ny").unwrap();
        assert_eq!(response.answer, Answer { status: 200, ..Answer::default() });
        assert_eq!(response.body(b""), b"y");
    }

    #[test]
    fn a_body_in_pieces_in_hand_is_joined_without_what_lies_between() {
        let mut bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nab--cdef--g".to_vec();
        let start = bytes.len() - 11;
        let mut response = Response::default();
        for content in [0..start + 2, start + 4..start + 8, start + 10..start + 11] {
            assert!(!response.is_done());
            response.take(&mut bytes, content).unwrap();
        }
        assert!(response.is_done() && response.body.kept.is_empty());
        assert_eq!((response.body(&bytes), response.body_length()), (&b"abcdefg"[..], 7));
    }
}
