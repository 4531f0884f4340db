//! A request, by the values that a line of a log has of it.

use serde::Serialize;

use super::number::number;
use super::time::Minute;

/// What a value of a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    Time,
    /// With it, `Time` is only the time of the day.
    Date,
    Status,
    /// Bytes of the body.
    Body,
    /// Bytes of the body and of the response's head.
    BodyAndHead,
    /// Bytes of one or the other.
    Bytes,
    /// `GET / HTTP/1.1`
    Request,
    Method,
    Protocol,
    Tls,
    /// The server to which the request was passed.
    Upstream,
    /// Which request of its connection this is, from 1.
    NumberFromOne,
    /// The same, from 0: by Apache, which counts none over HTTP/2.
    NumberFromZero,
    /// Whether the connection resumed a session.
    Resumed,
    /// Which port; where it is no number, the line has a format without one.
    Port,
    /// What is after a known format: maybe a number and `Resumed`.
    Rest,
}

const FIELDS: usize = Field::Rest as usize + 1;

/// The values of a line.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Values<'a>([Option<&'a [u8]>; FIELDS]);

/// Why a line is no request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, derive_more::Display)]
pub(super) enum Damage {
    #[display("it has another form")]
    Form,
    #[display("it has no time")]
    Time,
    #[display("it has no status")]
    Status,
    #[display("it has no size")]
    Size,
    #[display("it has more than 64 KiB")]
    TooLong,
}

/// A request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Request {
    pub(super) minute: Minute,
    pub(super) size: u64,
    pub(super) measure: Measure,
    /// Whether its response has a head only.
    pub(super) is_bodiless: bool,
    pub(super) protocol: Option<Protocol>,
    pub(super) tls: Option<Tls>,
    /// Whether it was passed to another server.
    pub(super) is_proxied: Option<bool>,
    pub(super) connection: Connection,
}

/// What a size counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Measure {
    Body,
    BodyAndHead,
    /// One or the other.
    Unknown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, derive_more::Display)]
pub enum Protocol {
    #[display("HTTP/1.0")]
    #[serde(rename = "1.0")]
    V1_0,
    #[display("HTTP/1.1")]
    #[serde(rename = "1.1")]
    V1_1,
    #[display("HTTP/2")]
    #[serde(rename = "2")]
    V2,
    #[display("HTTP/3")]
    #[serde(rename = "3")]
    V3,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, derive_more::Display)]
pub enum Tls {
    #[display("before TLS 1.2")]
    #[serde(rename = "before 1.2")]
    Older,
    #[display("TLS 1.2")]
    #[serde(rename = "1.2")]
    V1_2,
    #[display("TLS 1.3")]
    #[serde(rename = "1.3")]
    V1_3,
}

/// What a line says of its connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Connection {
    /// Nothing.
    Unsaid,
    /// It is a request of HTTP/2 in Apache, which numbers them all 0.
    NotNumbered,
    First {
        is_resumed: Option<bool>,
    },
    Later,
}

impl<'a> Values<'a> {
    /// The first value of a field is kept.
    pub(super) fn set(&mut self, field: Field, value: &'a [u8]) {
        self.0[field as usize].get_or_insert(value);
    }

    fn get(&self, field: Field) -> Option<&'a [u8]> {
        self.0[field as usize]
    }

    /// The request that they are of.
    pub(super) fn request(&self) -> Result<Request, Damage> {
        if self.get(Field::Port).is_some_and(|port| number(port).is_none()) {
            return Err(Damage::Form);
        }
        let time = self.get(Field::Time).ok_or(Damage::Time)?;
        let minute = match self.get(Field::Date) {
            Some(date) => Minute::parse_columns(date, time),
            None => Minute::parse(time),
        };
        let status = self.get(Field::Status).and_then(status).ok_or(Damage::Status)?;
        let sizes = [
            (Field::Body, Measure::Body),
            (Field::BodyAndHead, Measure::BodyAndHead),
            (Field::Bytes, Measure::Unknown),
        ];
        let mut sizes = sizes.into_iter();
        let found = sizes.find_map(|(field, measure)| Some((self.get(field)?, measure)));
        let (size, measure) = found.ok_or(Damage::Size)?;
        let (method, protocol) = self.get(Field::Request).map_or((None, None), request_line);
        let method = self.get(Field::Method).or(method);
        let protocol = self.get(Field::Protocol).or(protocol).and_then(Protocol::parse);
        Ok(Request {
            minute: minute.ok_or(Damage::Time)?,
            size: parse_size(size).ok_or(Damage::Size)?,
            measure,
            is_bodiless: method == Some(b"HEAD") || matches!(status, 204 | 304),
            protocol,
            tls: self.get(Field::Tls).and_then(Tls::parse),
            is_proxied: self
                .get(Field::Upstream)
                .map(|name| !matches!(name, b"" | b"-" | b"<NOSRV>")),
            connection: self.connection(protocol),
        })
    }

    fn connection(&self, protocol: Option<Protocol>) -> Connection {
        if let Some(found) = self.get(Field::Rest).and_then(numbered) {
            return found.connection(protocol);
        }
        let number_of = |field| number(self.get(field)?);
        let is_resumed = self.get(Field::Resumed).and_then(is_resumed);
        match (number_of(Field::NumberFromOne), number_of(Field::NumberFromZero)) {
            (Some(number), _) => Numbered { number, first: 1, is_resumed }.connection(protocol),
            (None, Some(number)) => Numbered { number, first: 0, is_resumed }.connection(protocol),
            (None, None) => Connection::Unsaid,
        }
    }
}

/// A request's number on its connection.
struct Numbered {
    number: u64,
    /// The number of the first: nginx counts from 1, Apache from 0.
    first: u64,
    is_resumed: Option<bool>,
}

impl Numbered {
    fn connection(&self, protocol: Option<Protocol>) -> Connection {
        match self.first {
            0 if protocol >= Some(Protocol::V2) => Connection::NotNumbered,
            _ if self.number == self.first => Connection::First { is_resumed: self.is_resumed },
            _ => Connection::Later,
        }
    }
}

/// nginx's `$connection_requests $ssl_session_reused` or Apache's `%k %{SSL_SESSION_RESUMED}x`, and nothing else.
fn numbered(rest: &[u8]) -> Option<Numbered> {
    let rest = rest.strip_prefix(b" ")?;
    let (count, resumed) = rest.split_at(memchr::memchr(b' ', rest)?);
    let resumed = &resumed[1..];
    let first = match resumed {
        b"Resumed" | b"Initial" => 0,
        b"r" | b"." | b"-" => 1,
        _ => return None,
    };
    // Without TLS both write `-`, and only Apache counts from 0.
    let number = number(count)?;
    Some(Numbered {
        number,
        first: first.min(number),
        is_resumed: is_resumed(resumed).or(Some(false)),
    })
}

fn is_resumed(text: &[u8]) -> Option<bool> {
    match text {
        b"r" | b"Resumed" => Some(true),
        b"." | b"Initial" => Some(false),
        _ => None,
    }
}

/// The method and the protocol of `GET / HTTP/1.1`.
fn request_line(text: &[u8]) -> (Option<&[u8]>, Option<&[u8]>) {
    let method = memchr::memchr(b' ', text).map(|end| &text[..end]);
    let protocol = memchr::memrchr(b' ', text).map(|start| &text[start + 1..]);
    (method, protocol)
}

/// Three digits, or what Caddy and HAProxy write where there was no response.
fn status(text: &[u8]) -> Option<u64> {
    match text {
        b"0" | b"-1" => Some(0),
        [_, _, _] => number(text),
        _ => None,
    }
}

/// Bytes; nginx and Apache write `-` for none. More than a pebibyte is no size.
fn parse_size(text: &[u8]) -> Option<u64> {
    match text {
        b"-" => Some(0),
        _ => number(text).filter(|size| *size <= 1 << 50),
    }
}

impl Protocol {
    pub(super) const ALL: [Self; 4] = [Self::V1_0, Self::V1_1, Self::V2, Self::V3];

    fn parse(text: &[u8]) -> Option<Self> {
        let version = match text.split_first_chunk::<5>() {
            Some((name, version)) if name.eq_ignore_ascii_case(b"HTTP/") => version,
            _ => text,
        };
        match version {
            b"1.0" => Some(Self::V1_0),
            b"1.1" => Some(Self::V1_1),
            b"2.0" | b"2" | b"h2" => Some(Self::V2),
            b"3.0" | b"3" | b"h3" => Some(Self::V3),
            _ => None,
        }
    }
}

impl Tls {
    pub(super) const ALL: [Self; 3] = [Self::Older, Self::V1_2, Self::V1_3];

    /// As OpenSSL names it, or its number in the protocol, which Caddy writes. HAProxy has it before the last slash.
    fn parse(text: &[u8]) -> Option<Self> {
        match text.rsplit(|byte| *byte == b'/').nth(1).unwrap_or(text) {
            b"TLSv1.3" | b"772" => Some(Self::V1_3),
            b"TLSv1.2" | b"771" => Some(Self::V1_2),
            b"TLSv1.1" | b"TLSv1" | b"TLSv1.0" | b"SSLv3" | b"770" | b"769" | b"768" => {
                Some(Self::Older)
            }
            _ => None,
        }
    }
}
