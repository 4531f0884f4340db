//! Heads of HTTP/1.1 responses, and what they say about the end of the body (RFC 9112).

use std::mem::MaybeUninit;

use super::given::Given;
use crate::quote::{first_line, quoted, with_text};
use crate::{ErrorKind, Failure};

/// The most bytes of a response's head, with all interim ones before it, that are accepted; and of its
/// trailers.
pub const LONGEST_HEAD: usize = 256 << 10;
pub const HEAD_TOO_LONG: &str = "more than 256 KiB of a response's heads";

/// The most fields of a head that are accepted.
pub const MOST_FIELDS: usize = 256;
pub const TOO_MANY_FIELDS: &str = "a head of more than 256 header fields";

/// What a TLS server sends to a client that speaks plain HTTP.
pub const TLS_RECORD: &str = "a TLS record instead of an HTTP response";

/// What an answer to a call of gRPC says in place of 200.
pub const GRPC_STATUS: &str = "grpc-status";

/// What a server says that closes a connection because no request came (RFC 9110, section 15.5.9).
pub(super) const REQUEST_TIMEOUT: u16 = 408;

/// What an HTTP/2 server sends first.
pub const HTTP2_FRAME: &str = "an HTTP/2 frame instead of an HTTP/1.1 response";

/// Where a body ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BodyEnd {
    /// After this many bytes.
    Length(u64),
    /// With the last chunk.
    Chunked,
    /// With the connection.
    Close,
}

/// The beginning of a head that came in pieces; empty where a head came whole.
#[derive(Default)]
pub(super) struct PartialHead(Vec<u8>);

impl PartialHead {
    /// Gives `parse` all that has come of a head, which returns the head's length where that is all of
    /// it; `Some` is what comes after it.
    pub(super) fn take<'a>(
        &'a mut self,
        content: &'a [u8],
        parse: impl FnOnce(&[u8]) -> Result<Option<usize>, Failure>,
    ) -> Result<Option<&'a [u8]>, Failure> {
        if self.0.is_empty() {
            if let Some(length) = parse(content)? {
                return Ok(Some(&content[length..]));
            }
            self.0.extend_from_slice(content);
        } else {
            self.0.extend_from_slice(content);
            if let Some(length) = parse(&self.0)? {
                return Ok(Some(&self.0[length..]));
            }
        }
        if self.0.len() > LONGEST_HEAD { Err(Failure::long_head(HEAD_TOO_LONG)) } else { Ok(None) }
    }
}

/// Reads the head of the response at the beginning of `bytes` and returns its length, if all of it
/// has come; interim responses (1xx) are skipped.
pub(super) fn read_head<T>(
    bytes: &[u8],
    read: impl FnOnce(&httparse::Response<'_, '_>) -> Result<T, Failure>,
) -> Result<Option<(usize, T)>, Failure> {
    let mut start = 0;
    loop {
        let mut fields = [const { MaybeUninit::uninit() }; MOST_FIELDS];
        let mut head = httparse::Response::new(&mut []);
        let parsed =
            forgiving().parse_response_with_uninit_headers(&mut head, &bytes[start..], &mut fields);
        let length = match parsed {
            Ok(httparse::Status::Complete(length)) => length,
            Ok(httparse::Status::Partial) => {
                // Skipped heads are parsed again with each piece, but they are rare.
                return Ok(None);
            }
            Err(error) => return Err(not_http(&bytes[start..], error)),
        };
        start += length;
        if start > LONGEST_HEAD {
            return Err(Failure::long_head(HEAD_TOO_LONG));
        }
        match head.code.unwrap_or(0) {
            101 => return Err(status("101 Switching Protocols, unasked")),
            100..=199 => {}
            _ => return Ok(Some((start, read(&head)?))),
        }
    }
}

/// What a client may forgive (RFC 9112, sections 2.2, 4 and 5.2): lines that end with LF alone, several
/// spaces in the status line, folded fields. Not white space before a field's colon (section 5.1): what
/// one program reads as Content-Length is another field to the next.
fn forgiving() -> httparse::ParserConfig {
    let mut config = httparse::ParserConfig::default();
    config
        .allow_multiple_spaces_in_response_status_delimiters(true)
        .allow_obsolete_multiline_headers_in_responses(true);
    config
}

/// What these bytes are instead of a response, or the line that makes them none.
fn not_http(bytes: &[u8], error: httparse::Error) -> Failure {
    if error == httparse::Error::TooManyHeaders {
        return Failure::long_head(TOO_MANY_FIELDS);
    }
    other_protocol(bytes).unwrap_or_else(|| {
        let line = wrong_field(bytes).unwrap_or_else(|| first_line(bytes));
        status(&format!("no HTTP/1 response: {error} in {}", quoted(line)))
    })
}

/// Bytes came before any request that they could answer: what a server of another protocol says first. One that
/// waits for no further request may say so before it closes.
pub(super) fn unrequested(bytes: &[u8]) -> Result<Given, Failure> {
    if is_timeout(bytes) {
        return Ok(Given::Closed);
    }
    Err(other_protocol(bytes).unwrap_or_else(|| {
        let mut failure = Failure::unrequested();
        failure.seen = with_text(&failure.seen, bytes);
        failure
    }))
}

/// Whether this is a response with [`REQUEST_TIMEOUT`].
pub(super) fn is_timeout(bytes: &[u8]) -> bool {
    matches!(bytes, [b'H', b'T', b'T', b'P', b'/', b'1', b'.', _, b' ', b'4', b'0', b'8', ..])
}

/// A protocol that is known by its first bytes: a record of TLS, or a frame with which HTTP/2 begins or ends a
/// connection (SETTINGS, GOAWAY; RFC 9113, section 4.1).
fn other_protocol(bytes: &[u8]) -> Option<Failure> {
    match bytes {
        [20..=23, 3, 0..=4, ..] => Some(status(TLS_RECORD)),
        [0, _, _, 4 | 7, 0, 0, 0, 0, 0, ..] => Some(status(HTTP2_FRAME)),
        _ => None,
    }
}

/// The first line after the status line that is no header field.
fn wrong_field(head: &[u8]) -> Option<&[u8]> {
    let lines = head.trim_ascii_start().split_inclusive(|byte| *byte == b'\n').enumerate().skip(1);
    let is_wrong = |(number, line): &(usize, &[u8])| {
        let is_folded = *number > 1 && matches!(line, [b' ' | b'\t', ..]);
        let alone = [*line, b"\r\n"].concat();
        !is_folded && httparse::parse_headers(&alone, &mut [httparse::EMPTY_HEADER]).is_err()
    };
    let (_, line) = lines.into_iter().find(is_wrong)?;
    Some(line)
}

/// Whether a response with this status has no body, whatever its head says (section 6.3).
pub(super) fn is_bodyless(code: u16) -> bool {
    matches!(code, 204 | 304)
}

/// Where the body after a head ends (section 6.3), and whether the connection closes after it.
/// `is_bodyless` where there is none, whatever the head says.
pub(super) fn body_end(
    head: &httparse::Response<'_, '_>,
    is_bodyless: bool,
) -> Result<(BodyEnd, bool), Failure> {
    let (mut says_close, mut says_keep_alive) = (false, false);
    let mut length = None;
    let mut chunked = false;
    for field in head.headers.iter() {
        let is = |name: &str| field.name.eq_ignore_ascii_case(name);
        if is("content-length") {
            let Some(promised) = content_length(field.value) else {
                return Err(status(&format!("a Content-Length of {}", quoted(field.value))));
            };
            if length.is_some_and(|other| other != promised) {
                return Err(status("two different Content-Lengths"));
            }
            length = Some(promised);
        } else if is("transfer-encoding") {
            for coding in members(field.value) {
                match coding {
                    _ if coding.eq_ignore_ascii_case(b"chunked") => chunked = true,
                    _ if coding.is_empty() || coding.eq_ignore_ascii_case(b"identity") => {}
                    _ => return Err(status(&format!("Transfer-Encoding {}", quoted(field.value)))),
                }
            }
        } else if is("connection") {
            for option in members(field.value) {
                says_close |= option.eq_ignore_ascii_case(b"close");
                says_keep_alive |= option.eq_ignore_ascii_case(b"keep-alive");
            }
        }
    }
    // Section 9.3.
    let closes = says_close || head.version == Some(0) && !says_keep_alive;
    Ok(match (chunked, length) {
        _ if is_bodyless => (BodyEnd::Length(0), closes),
        (true, _) => (BodyEnd::Chunked, closes),
        (false, Some(promised)) => (BodyEnd::Length(promised), closes),
        (false, None) => (BodyEnd::Close, true),
    })
}

/// The members of a list (RFC 9110, section 5.6.1). What is not ASCII is none that is known.
fn members(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii)
}

/// One number, or the same one several times (RFC 9110, section 8.6).
fn content_length(value: &[u8]) -> Option<u64> {
    let mut numbers = members(value).map(digits);
    let first = numbers.next()??;
    numbers.all(|number| number == Some(first)).then_some(first)
}

/// A number of digits alone; `str::parse` would accept a sign too.
fn digits(value: &[u8]) -> Option<u64> {
    let is_number = value.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(value).ok().filter(|_| is_number)?.parse().ok()
}

/// What a gRPC server says of a call that failed, in a field of its head or trailers.
pub fn grpc_failure(name: &[u8], value: &[u8]) -> Option<Failure> {
    let is_failed = name.eq_ignore_ascii_case(b"grpc-status") && value.trim_ascii() != b"0";
    is_failed.then(|| status(&format!("{GRPC_STATUS} {}", String::from_utf8_lossy(value))))
}

pub(super) fn status(seen: &str) -> Failure {
    Failure::new(ErrorKind::Status, seen)
}

/// More bytes came than the response promised.
pub(super) fn too_long() -> Failure {
    Failure::new(ErrorKind::LongBody, "more bytes than the response promised")
}
