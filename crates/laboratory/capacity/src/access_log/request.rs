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
    /// Version of TLS; `-` or nothing where there is none. So is `Cipher`.
    Tls,
    Cipher,
    /// `0/0/0/0/0 SNI/TLSv1.3/CIPHER` in HAProxy's HTTPS log; nothing in its HTTP log.
    SniAndTls,
    /// `https`, or what AWS ALB calls the type: `h2`, `wss`.
    Scheme,
    /// nginx's `$https`: `on`, or nothing.
    Https,
    /// HAProxy's frontend, which ends with `~` where the client spoke TLS.
    Frontend,
    /// HAProxy's five times with slashes between; else the line has another format.
    Times,
    /// Of Caddy's logs, which have the object `tls` for each request over TLS.
    Logger,
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

/// What a line is that has all that a request has.
#[derive(Debug, Clone, Copy)]
pub(super) enum Entry {
    Request(Request),
    /// It never was TLS, and so cost none.
    Plain,
    /// A connection that became a WebSocket or a tunnel: its bytes are no object.
    Upgraded,
}

/// A request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Request {
    pub(super) minute: Minute,
    pub(super) size: u64,
    pub(super) measure: Measure,
    /// Whether its response has a head only.
    pub(super) is_bodiless: bool,
    /// Whether its response has a body as a rule: it succeeded.
    pub(super) has_content: bool,
    /// Whether a dash stands for its size, and a number after it.
    pub(super) is_doubtful: bool,
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

    /// What they are of.
    pub(super) fn entry(&self) -> Result<Entry, Damage> {
        if self.get(Field::Port).is_some_and(|port| number(port).is_none())
            || self.get(Field::Times).is_some_and(|times| !are_times(times))
        {
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
        let request = Request {
            minute: minute.ok_or(Damage::Time)?,
            size: parse_size(size).ok_or(Damage::Size)?,
            measure,
            is_bodiless: method == Some(b"HEAD") || matches!(status, 204 | 304),
            has_content: method != Some(b"HEAD") && matches!(status, 200 | 206),
            // In `common` what is after the format follows the size at once.
            is_doubtful: size == b"-"
                && self.get(Field::Rest).is_some_and(|rest| {
                    rest.as_ptr() == size.as_ptr_range().end && begins_with_number(rest)
                }),
            protocol,
            tls: self.get(Field::Tls).or(self.get(Field::SniAndTls)).and_then(Tls::parse),
            is_proxied: self
                .get(Field::Upstream)
                .map(|name| !matches!(name, b"" | b"-" | b"<NOSRV>")),
            connection: self.connection(protocol),
        };
        let is_tunnel = method == Some(b"CONNECT") && matches!(status, 200..300);
        Ok(match () {
            () if self.is_plain() => Entry::Plain,
            () if status == 101 || is_tunnel || self.get(Field::Scheme) == Some(b"wss") => {
                Entry::Upgraded
            }
            () => Entry::Request(request),
        })
    }

    /// Whether one of the values says that there was no TLS.
    fn is_plain(&self) -> bool {
        let is_nothing = |field| self.get(field).is_some_and(|text| matches!(text, b"" | b"-"));
        [Field::Tls, Field::Cipher, Field::Https, Field::Resumed].into_iter().any(is_nothing)
            || matches!(self.get(Field::Scheme), Some(b"http" | b"ws"))
            || self.get(Field::Port) == Some(b"80")
            || self.get(Field::Frontend).is_some_and(|name| !name.ends_with(b"~"))
            || self.get(Field::Logger).is_some_and(|name| name.starts_with(b"http.log.access"))
                && self.get(Field::Tls).is_none()
            || self
                .get(Field::Rest)
                .and_then(number_and_resumed)
                .is_some_and(|(_, resumed)| resumed == b"-")
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
    let (number, resumed) = number_and_resumed(rest)?;
    let first = u64::from(matches!(resumed, b"r" | b"."));
    Some(Numbered { number, first, is_resumed: is_resumed(resumed) })
}

/// The two of them; without TLS both write `-` for the second.
fn number_and_resumed(rest: &[u8]) -> Option<(u64, &[u8])> {
    let rest = rest.strip_prefix(b" ")?;
    let (count, resumed) = rest.split_at(memchr::memchr(b' ', rest)?);
    let resumed = &resumed[1..];
    let is_known = matches!(resumed, b"Resumed" | b"Initial" | b"r" | b"." | b"-");
    Some((number(count).filter(|_| is_known)?, resumed))
}

/// `10/0/30/69/109`, where `-1` is a time that there was not, and `+109` one that went on.
fn are_times(text: &[u8]) -> bool {
    let sign = |byte: &&u8| matches!(byte, b'-' | b'+');
    let is_time = |time: &[u8]| number(&time[time.iter().take_while(sign).count()..]).is_some();
    text.split(|byte| *byte == b'/').filter(|time| is_time(time)).count() == 5
}

/// Whether the next word is a whole number.
fn begins_with_number(rest: &[u8]) -> bool {
    let word = rest.strip_prefix(b" ").and_then(|rest| rest.split(|byte| *byte == b' ').next());
    word.and_then(number).is_some()
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
