//! What an access log says of its traffic: nginx's and Apache's combined format, plain or compressed by gzip.
//!
//! Nothing of it is kept but counts: how many requests there were by size and by minute. A log may end each line
//! with two more fields, which say how connections are used:
//! nginx `$connection_requests $ssl_session_reused`, Apache `%k %{SSL_SESSION_RESUMED}x`.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;
use objects::Mix;

use crate::sizes::Sizes;

/// What is asked of a log, for whoever gave another.
const FORM: &str = "a line of the combined format of nginx or Apache is \
    `ADDRESS - USER [10/Oct/2026:13:55:36 +0000] \"GET / HTTP/1.1\" 200 2326 \"REFERER\" \"AGENT\"`";

/// The longest line that is read.
const LONGEST: u64 = 64 << 10;

/// As much of `10/Oct/2026:13:55:36 +0000` as names a minute.
const MINUTE: usize = 17;

/// The traffic of a log.
#[derive(Debug, PartialEq)]
pub struct AccessLog {
    pub requests: u64,
    /// The sizes of the bodies that were sent.
    pub sizes: Sizes,
    /// Few objects that stand for them.
    pub object: Mix,
    /// Requests in the busiest minute.
    pub busiest: u64,
    /// That minute as the log writes it; of several, the one that comes first.
    pub minute: String,
    /// What the two further fields say; `None` where lines have none.
    pub connections: Option<Connections>,
}

/// How connections were used.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Connections {
    /// How many were opened.
    pub opened: u64,
    /// How many of these resumed a session.
    pub resumed: u64,
}

/// Why a log cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    #[error("{}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{}, line {line}: {FORM}", path.display())]
    Form { path: PathBuf, line: u64 },
    #[error("{}, line {line}: it has further fields where others have none; write the whole log in one format", path.display())]
    Mixed { path: PathBuf, line: u64 },
    #[error("{}: no request is in it", path.display())]
    Empty { path: PathBuf },
}

/// Reads a log, by what it begins with: gzip or text. A last line that was not written to its end is left out.
///
/// # Errors
/// The file cannot be read, or a line has another form.
pub fn read(path: &Path) -> Result<AccessLog, LogError> {
    let unreadable = |source| LogError::Read { path: path.to_owned(), source };
    let mut file = BufReader::with_capacity(1 << 20, File::open(path).map_err(unreadable)?);
    match file.fill_buf().map_err(unreadable)?.starts_with(b"\x1f\x8b") {
        true => lines(BufReader::with_capacity(1 << 20, MultiGzDecoder::new(file)), path),
        false => lines(file, path),
    }
}

fn lines(mut text: impl BufRead, path: &Path) -> Result<AccessLog, LogError> {
    let mut counts = Counts::default();
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let mut one = text.by_ref().take(LONGEST);
        one.read_until(b'\n', &mut line)
            .map_err(|source| LogError::Read { path: path.to_owned(), source })?;
        let is_whole = line.pop_if(|byte| *byte == b'\n').is_some();
        line.pop_if(|byte| *byte == b'\r');
        if line.is_empty() && !is_whole {
            break;
        }
        match Request::parse(&line) {
            Some(request) if counts.add(request) => {}
            Some(_) => return Err(LogError::Mixed { path: path.to_owned(), line: number }),
            // It was cut off while it was written.
            None if !is_whole && (line.len() as u64) < LONGEST => break,
            None => return Err(LogError::Form { path: path.to_owned(), line: number }),
        }
    }
    counts.finish().ok_or_else(|| LogError::Empty { path: path.to_owned() })
}

#[derive(Default)]
struct Counts {
    requests: u64,
    sizes: Sizes,
    minutes: HashMap<[u8; MINUTE], Minute>,
    /// The minute of the last line, and its requests that are not in `minutes` yet: a log is nearly in order.
    now: ([u8; MINUTE], u64),
    connections: Option<Connections>,
}

struct Minute {
    /// Its place among all.
    place: usize,
    requests: u64,
}

impl Counts {
    /// False where the line has further fields and those before had none, or the other way round.
    fn add(&mut self, request: Request) -> bool {
        if self.requests == 0 {
            self.now.0 = request.minute;
            self.connections = request.connection.map(|_| Connections::default());
        }
        self.requests += 1;
        self.sizes.add(request.body);
        if self.now.0 != request.minute {
            self.settle();
            self.now = (request.minute, 0);
        }
        self.now.1 += 1;
        match (&mut self.connections, request.connection) {
            (Some(connections), Some(connection)) => {
                connections.opened += u64::from(connection.is_first);
                connections.resumed += u64::from(connection.is_first && connection.is_resumed);
                true
            }
            (None, None) => true,
            _ => false,
        }
    }

    fn settle(&mut self) {
        let place = self.minutes.len();
        let minute = self.minutes.entry(self.now.0).or_insert(Minute { place, requests: 0 });
        minute.requests += self.now.1;
    }

    fn finish(mut self) -> Option<AccessLog> {
        self.settle();
        let order = |minute: &Minute| (minute.requests, Reverse(minute.place));
        let (minute, Minute { requests: busiest, .. }) =
            self.minutes.into_iter().max_by_key(|(_, minute)| order(minute))?;
        let minute = String::from_utf8_lossy(&minute).into_owned();
        let Self { requests, sizes, connections, .. } = self;
        let object = sizes.mix()?;
        Some(AccessLog { requests, sizes, object, busiest, minute, connections })
    }
}

/// A line.
#[derive(Clone, Copy)]
struct Request {
    minute: [u8; MINUTE],
    body: u64,
    connection: Option<Connection>,
}

/// What a line's further fields say.
#[derive(Clone, Copy)]
struct Connection {
    /// Whether the request was the first on its connection.
    is_first: bool,
    /// Whether the connection resumed a session.
    is_resumed: bool,
}

impl Request {
    fn parse(line: &[u8]) -> Option<Self> {
        let time = &line[memchr::memchr(b'[', line)? + 1..];
        let minute = *time.first_chunk::<MINUTE>()?;
        // dd/Mon/yyyy:hh:mm
        let is_time = [(2, b'/'), (6, b'/'), (11, b':'), (14, b':')];
        if is_time.iter().any(|(at, byte)| minute[*at] != *byte) {
            return None;
        }
        let rest = &time[memchr::memchr(b']', time)? + 1..];
        let rest = quoted(rest)?;
        let (status, rest) = word(rest)?;
        if status.len() != 3 || !status.iter().all(u8::is_ascii_digit) {
            return None;
        }
        let (body, rest) = word(rest)?;
        let body = if body == b"-" { 0 } else { number(body)? };
        // Referer and agent.
        let rest = quoted(quoted(rest)?)?;
        Some(Self { minute, body, connection: Connection::parse(rest).ok()? })
    }
}

impl Connection {
    /// None where there are no such fields.
    fn parse(rest: &[u8]) -> Result<Option<Self>, ()> {
        let Some((count, rest)) = word(rest) else { return Ok(None) };
        let (reused, rest) = word(rest).ok_or(())?;
        if word(rest).is_some() {
            return Err(());
        }
        let count = number(count).ok_or(())?;
        // nginx counts from 1, Apache from 0.
        let (first, is_resumed) = match reused {
            b"r" => (1, true),
            b"." | b"-" => (1, false),
            b"Resumed" => (0, true),
            b"Initial" => (0, false),
            _ => return Err(()),
        };
        Ok(Some(Self { is_first: count == first, is_resumed }))
    }
}

/// What follows the text in quotation marks that comes next. A mark within it has a backslash before it.
fn quoted(line: &[u8]) -> Option<&[u8]> {
    let mut rest = line.strip_prefix(b" \"")?;
    loop {
        let at = memchr::memchr2(b'"', b'\\', rest)?;
        match rest[at] {
            b'"' => return Some(&rest[at + 1..]),
            _ => rest = rest.get(at + 2..)?,
        }
    }
}

/// The next word, and what follows it.
fn word(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let rest = line.strip_prefix(b" ")?;
    let end = memchr::memchr(b' ', rest).unwrap_or(rest.len());
    (end > 0).then(|| rest.split_at(end))
}

fn number(digits: &[u8]) -> Option<u64> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;
    use proptest::prelude::*;

    use super::*;

    fn log(text: &[u8]) -> Result<AccessLog, LogError> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text).unwrap();
        read(file.path())
    }

    fn line(minute: u32, body: &str, more: &str) -> String {
        format!(
            "192.0.2.1 - - [10/Oct/2026:13:{minute:02}:36 +0000] \"GET /a\\\"b HTTP/1.1\" 200 {body} \"-\" \
             \"an agent\"{more}\n"
        )
    }

    #[test]
    fn sizes_and_the_busiest_minute_are_counted() {
        let text = [
            line(1, "100", ""),
            line(2, "-", ""),
            line(1, "300", ""),
            line(2, "8", ""),
            line(2, "8", ""),
        ];
        let read = log(text.concat().as_bytes()).unwrap();
        assert_eq!((read.requests, read.busiest, &*read.minute), (5, 3, "10/Oct/2026:13:02"));
        assert_eq!((read.sizes.count(), read.sizes.bytes()), (5, 416));
        assert_eq!(read.connections, None);
    }

    #[test]
    fn of_equally_busy_minutes_it_is_the_first() {
        let text: String = (0..60).rev().map(|minute| line(minute, "1", "")).collect();
        for _ in 0..5 {
            let read = log(text.as_bytes()).unwrap();
            assert_eq!((read.busiest, &*read.minute), (1, "10/Oct/2026:13:59"));
        }
    }

    #[test]
    fn further_fields_of_nginx_and_of_apache_count_connections() {
        let expected = Some(Connections { opened: 2, resumed: 1 });
        for fields in [[" 1 r", " 2 r", " 1 ."], [" 0 Resumed", " 1 Resumed", " 0 Initial"]] {
            let text: String = fields.iter().map(|fields| line(1, "10", fields)).collect();
            assert_eq!(log(text.as_bytes()).unwrap().connections, expected, "{fields:?}");
        }
    }

    #[test]
    fn compressed_logs_are_read_and_a_torn_end_is_left_out() {
        let text = line(1, "100", "").repeat(3);
        let mut compressed = GzEncoder::new(Vec::new(), Compression::fast());
        compressed.write_all(text.as_bytes()).unwrap();
        assert_eq!(log(&compressed.finish().unwrap()).unwrap().requests, 3);
        assert_eq!(log(&text.as_bytes()[..text.len() - 20]).unwrap().requests, 2);
    }

    #[test]
    fn another_format_is_refused_with_its_line() {
        let good = line(1, "100", "");
        for (bad, number) in [
            ("127.0.0.1 - - [10/Oct/2026:13:55:36 +0000] \"GET / HTTP/1.1\" 200 5\n".to_owned(), 2),
            ("{\"status\":200}\n".to_owned(), 2),
            ("\n".to_owned(), 2),
            (good.replace("200", "OK"), 2),
            (good.replace("10/Oct/2026", "2026-10-10"), 2),
            (line(1, "ten", ""), 2),
            (line(1, "5", " 1 r 3"), 2),
            (line(1, "5", " x r"), 2),
            ("x".repeat(100_000), 2),
        ] {
            let error = log(format!("{good}{bad}").as_bytes()).unwrap_err();
            assert!(
                matches!(error, LogError::Form { line, .. } if line == number),
                "{bad}: {error}"
            );
        }
        let error = log(format!("{good}{}", line(1, "5", " 1 r")).as_bytes()).unwrap_err();
        assert!(matches!(error, LogError::Mixed { line: 2, .. }), "{error}");
        assert!(matches!(log(b"").unwrap_err(), LogError::Empty { .. }));
        assert!(matches!(log(b"\x1f\x8bno gzip").unwrap_err(), LogError::Read { .. }));
    }

    proptest! {
        #[test]
        fn no_bytes_are_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = log(&bytes);
            let _ = log(&[line(1, "5", "").as_bytes(), &bytes].concat());
        }
    }
}
