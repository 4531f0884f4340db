//! Heads of HTTP/1.1 responses, and what they say about the end of the body (RFC 9112).

use std::mem::MaybeUninit;

use crate::{ErrorKind, Failure};

/// The longest response head that is accepted.
const LONGEST_HEAD: usize = 64 << 10;

/// The most header fields that are accepted.
const MOST_FIELDS: usize = 96;

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
        if self.0.len() > LONGEST_HEAD { Err(head_too_long()) } else { Ok(None) }
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
        let parsed = httparse::ParserConfig::default().parse_response_with_uninit_headers(
            &mut head,
            &bytes[start..],
            &mut fields,
        );
        let length = match parsed {
            Ok(httparse::Status::Complete(length)) => length,
            Ok(httparse::Status::Partial) => {
                // Skipped heads are parsed again with each piece, but they are rare.
                return Ok(None);
            }
            Err(error) => return Err(status(&format!("no HTTP response: {error}"))),
        };
        start += length;
        if start > LONGEST_HEAD {
            return Err(head_too_long());
        }
        match head.code.unwrap_or(0) {
            101 => return Err(status("101 Switching Protocols, unasked")),
            100..=199 => {}
            _ => return Ok(Some((start, read(&head)?))),
        }
    }
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
    let mut closes = head.version == Some(0);
    let mut length = None;
    let mut chunked = false;
    for field in head.headers.iter() {
        let value = std::str::from_utf8(field.value.trim_ascii()).unwrap_or_default();
        let is = |name: &str| field.name.eq_ignore_ascii_case(name);
        if is("content-length") {
            let Some(promised) = content_length(value) else {
                return Err(status(&format!("a Content-Length of `{value}`")));
            };
            if length.is_some_and(|other| other != promised) {
                return Err(status("two different Content-Lengths"));
            }
            length = Some(promised);
        } else if is("transfer-encoding") {
            if !value.eq_ignore_ascii_case("chunked") {
                return Err(status(&format!("Transfer-Encoding `{value}`")));
            }
            chunked = true;
        } else if is("connection") {
            for option in value.split(',').map(str::trim) {
                if option.eq_ignore_ascii_case("close") {
                    closes = true;
                } else if option.eq_ignore_ascii_case("keep-alive") {
                    closes = false;
                }
            }
        }
    }
    Ok(match (chunked, length) {
        _ if is_bodyless => (BodyEnd::Length(0), closes),
        (true, _) => (BodyEnd::Chunked, closes),
        (false, Some(promised)) => (BodyEnd::Length(promised), closes),
        (false, None) => (BodyEnd::Close, true),
    })
}

/// Only digits (RFC 9110, section 8.6); `str::parse` would accept a sign too.
fn content_length(value: &str) -> Option<u64> {
    value.bytes().all(|byte| byte.is_ascii_digit()).then(|| value.parse().ok())?
}

fn head_too_long() -> Failure {
    status("a head of more than 64 KiB")
}

pub(super) fn status(seen: &str) -> Failure {
    Failure::new(ErrorKind::Status, seen)
}

/// More bytes came than the response promised.
pub(super) fn too_long() -> Failure {
    Failure::new(ErrorKind::LongBody, "more bytes than the response promised")
}
