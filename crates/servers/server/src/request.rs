//! Requests of HTTP/1.1 and HTTP/1.0 (RFC 9112), as far as a server of objects needs them.

use std::mem::MaybeUninit;

use crate::input::HEAD_LIMIT;
use crate::response::{Persistence, Status};

/// The most header fields in a request.
const FIELDS: usize = 100;

/// A request whose head is complete.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Request {
    /// What to answer with: an object, or an error.
    pub(crate) wanted: Result<RequestedObject, Status>,
    /// What becomes of the connection afterwards.
    pub(crate) persistence: Persistence,
    /// Whether the client sends a body, which this server does not read.
    pub(crate) has_body: bool,
}

/// An object that is asked for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RequestedObject {
    /// The target's path, decoded; it begins with `/`.
    pub(crate) path: Vec<u8>,
    /// Whether the content is left out (`HEAD`).
    pub(crate) head_only: bool,
}

/// What the received bytes are.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Parsed {
    /// The beginning of a head.
    Incomplete,
    /// A request, and how many bytes its head has.
    Complete(Request, usize),
    /// No request; the connection cannot be used after the answer.
    Bad(Status),
}

/// Reads the head of the first request in `bytes`.
pub(crate) fn parse(bytes: &[u8]) -> Parsed {
    let mut fields = [const { MaybeUninit::uninit() }; FIELDS];
    let mut head = httparse::Request::new(&mut []);
    let length = match head.parse_with_uninit_headers(bytes, &mut fields) {
        Ok(httparse::Status::Complete(length)) if length <= HEAD_LIMIT => length,
        Ok(httparse::Status::Complete(_)) => return Parsed::Bad(Status::HeadTooLarge),
        Ok(httparse::Status::Partial) if bytes.len() < HEAD_LIMIT => return Parsed::Incomplete,
        Ok(httparse::Status::Partial) if bytes.contains(&b'\n') => {
            return Parsed::Bad(Status::HeadTooLarge);
        }
        Ok(httparse::Status::Partial) => return Parsed::Bad(Status::TargetTooLong),
        Err(httparse::Error::TooManyHeaders) => return Parsed::Bad(Status::HeadTooLarge),
        Err(httparse::Error::Version) => return Parsed::Bad(Status::VersionNotSupported),
        Err(_) => return Parsed::Bad(Status::BadRequest),
    };
    match request(&head) {
        Some(request) => Parsed::Complete(request, length),
        None => Parsed::Bad(Status::BadRequest),
    }
}

/// The request of a head, or `None` where the head contradicts itself.
fn request(head: &httparse::Request<'_, '_>) -> Option<Request> {
    let mut fields = Fields::default();
    for field in &*head.headers {
        fields.read(field)?;
    }
    let http_11 = head.version == Some(1);
    if http_11 && fields.hosts != 1 {
        return None;
    }
    let path = path(head.path?)?;
    let wanted = match head.method? {
        "GET" => Ok(RequestedObject { path, head_only: false }),
        "HEAD" => Ok(RequestedObject { path, head_only: true }),
        _ => Err(Status::MethodNotAllowed),
    };
    let has_body = fields.chunked || fields.content_length.is_some_and(|length| length > 0);
    let persistence = match (http_11, fields.keep_alive) {
        _ if fields.close || has_body => Persistence::Close,
        (true, _) => Persistence::Keep,
        (false, true) => Persistence::KeepAndSay,
        (false, false) => Persistence::Close,
    };
    Some(Request { wanted, persistence, has_body })
}

/// What the header fields say that matters here.
#[derive(Default)]
struct Fields {
    hosts: usize,
    close: bool,
    keep_alive: bool,
    chunked: bool,
    content_length: Option<u64>,
}

impl Fields {
    /// Takes note of a field; `None` where it is wrong (RFC 9112, sections 3.2 and 6.3).
    fn read(&mut self, field: &httparse::Header<'_>) -> Option<()> {
        let is = |name: &str| field.name.eq_ignore_ascii_case(name);
        if is("Host") {
            self.hosts += 1;
        } else if is("Connection") {
            for option in field.value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii) {
                self.close |= option.eq_ignore_ascii_case(b"close");
                self.keep_alive |= option.eq_ignore_ascii_case(b"keep-alive");
            }
        } else if is("Transfer-Encoding") {
            self.chunked = true;
        } else if is("Content-Length") {
            if !field.value.iter().all(u8::is_ascii_digit) {
                return None;
            }
            let length = std::str::from_utf8(field.value).ok()?.parse().ok()?;
            if self.content_length.replace(length).is_some_and(|before| before != length) {
                return None;
            }
        }
        Some(())
    }
}

/// The decoded path of a request's target, in origin form or absolute form (RFC 9112,
/// section 3.2), or `None` where it is malformed.
pub(crate) fn path(target: &str) -> Option<Vec<u8>> {
    let origin = if target.starts_with('/') {
        target
    } else {
        let (scheme, rest) = target.split_once("://")?;
        if !["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known)) {
            return None;
        }
        rest.find('/').map_or("/", |start| &rest[start..])
    };
    let path = origin.split_once('?').map_or(origin, |(path, _)| path);
    percent_decoded(path.as_bytes())
}

/// RFC 3986, section 2.1.
fn percent_decoded(text: &[u8]) -> Option<Vec<u8>> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&byte, after)) = rest.split_first() {
        if byte == b'%' {
            let digits = std::str::from_utf8(after.get(..2)?).ok()?;
            if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
                return None;
            }
            decoded.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &after[2..];
        } else {
            decoded.push(byte);
            rest = after;
        }
    }
    Some(decoded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn complete(text: &str) -> Request {
        match parse(text.as_bytes()) {
            Parsed::Complete(request, length) => {
                assert_eq!(length, text.len());
                request
            }
            other => panic!("{text:?} is {other:?}"),
        }
    }

    fn get(path: &str) -> Result<RequestedObject, Status> {
        Ok(RequestedObject { path: path.as_bytes().to_vec(), head_only: false })
    }

    #[test]
    fn persistence_follows_version_and_connection_field() {
        for (version, field, expected) in [
            ("1.1", "", Persistence::Keep),
            ("1.1", "Connection: close\r\n", Persistence::Close),
            ("1.1", "Connection: x, Close\r\n", Persistence::Close),
            ("1.0", "", Persistence::Close),
            ("1.0", "connection: Keep-Alive\r\n", Persistence::KeepAndSay),
            ("1.0", "Connection: keep-alive, close\r\n", Persistence::Close),
        ] {
            let request = complete(&format!("GET / HTTP/{version}\r\nHost: a\r\n{field}\r\n"));
            assert_eq!(request.persistence, expected, "{version} {field}");
        }
    }

    #[test]
    fn targets_are_decoded_and_lose_their_query() {
        for (target, path) in [
            ("/bytes/1MiB", "/bytes/1MiB"),
            ("/bytes/1MiB?a=/b", "/bytes/1MiB"),
            ("/%62ytes/1%4diB", "/bytes/1MiB"),
            ("/%2e%2e/x", "/../x"),
            ("http://host:80/x", "/x"),
            ("HTTPS://host", "/"),
        ] {
            let request = complete(&format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n"));
            assert_eq!(request.wanted, get(path), "{target}");
        }
    }

    #[test]
    fn a_body_closes_the_connection() {
        for (fields, has_body) in [
            ("Content-Length: 0\r\n", false),
            ("Content-Length: 1\r\n", true),
            ("Content-Length: 2\r\nContent-Length: 2\r\n", true),
            ("Transfer-Encoding: chunked\r\n", true),
        ] {
            let request = complete(&format!("GET / HTTP/1.1\r\nHost: a\r\n{fields}\r\n"));
            assert_eq!(request.has_body, has_body, "{fields}");
            assert_eq!(request.persistence == Persistence::Close, has_body, "{fields}");
        }
    }

    #[test]
    fn other_methods_are_not_allowed() {
        for method in ["POST", "PUT", "OPTIONS", "BREW"] {
            let request = complete(&format!("{method} / HTTP/1.1\r\nHost: a\r\n\r\n"));
            assert_eq!(request.wanted, Err(Status::MethodNotAllowed));
        }
    }

    #[test]
    fn what_is_no_request_is_refused_by_its_kind() {
        let long = "x".repeat(HEAD_LIMIT);
        let many = "A: b\r\n".repeat(FIELDS + 1);
        for (text, status) in [
            ("GET / HTTP/1.1\r\n\r\n".to_owned(), Status::BadRequest),
            ("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n".to_owned(), Status::BadRequest),
            ("GET x HTTP/1.1\r\nHost: a\r\n\r\n".to_owned(), Status::BadRequest),
            ("GET ftp://a/ HTTP/1.1\r\nHost: a\r\n\r\n".to_owned(), Status::BadRequest),
            ("GET /%4 HTTP/1.1\r\nHost: a\r\n\r\n".to_owned(), Status::BadRequest),
            ("GET /%+4 HTTP/1.1\r\nHost: a\r\n\r\n".to_owned(), Status::BadRequest),
            (
                "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\n".to_owned(),
                Status::BadRequest,
            ),
            (
                "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"
                    .to_owned(),
                Status::BadRequest,
            ),
            ("\x16\x03\x01\x02\x00".to_owned(), Status::BadRequest),
            ("GET / HTTP/2.0\r\n\r\n".to_owned(), Status::VersionNotSupported),
            (format!("GET /{long}"), Status::TargetTooLong),
            (format!("GET / HTTP/1.1\r\nHost: a\r\nX: {long}"), Status::HeadTooLarge),
            (format!("GET / HTTP/1.1\r\nHost: a\r\n{many}\r\n"), Status::HeadTooLarge),
        ] {
            assert_eq!(parse(text.as_bytes()), Parsed::Bad(status), "{text:.60}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_parsed_without_a_panic(bytes: Vec<u8>) {
            parse(&bytes);
        }

        #[test]
        fn any_target_is_parsed_without_a_panic(target in "[!-~]{1,60}", field in "[ -~]{0,60}") {
            parse(format!("GET {target} HTTP/1.1\r\nHost: a\r\nContent-Length: {field}\r\n\r\n").as_bytes());
        }

        #[test]
        fn a_part_of_a_request_is_incomplete(cut in 1usize..60) {
            let text = b"GET /bytes/1MiB HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n\r\n";
            prop_assert_eq!(parse(&text[..cut.min(text.len() - 1)]), Parsed::Incomplete);
        }

        #[test]
        fn encoding_then_decoding_is_identity(bytes: Vec<u8>) {
            let encoded: String = bytes.iter().map(|byte| format!("%{byte:02x}")).collect();
            prop_assert_eq!(percent_decoded(encoded.as_bytes()), Some(bytes));
        }
    }
}
