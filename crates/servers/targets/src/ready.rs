//! Whether a server answers: a whole GET of an object over plain HTTP, whose bytes are compared,
//! and a connection to its TLS port.

use std::fs;
use std::io::{self, Read};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use units::Bytes;

/// The shortest time limit that a socket takes seriously.
const SHORTEST: Duration = Duration::from_millis(1);

/// Why a server is not ready.
#[derive(Debug)]
pub enum Unready {
    /// It may be in a moment.
    NotYet(String),
    /// It gives a wrong answer; waiting does not fix that.
    Wrong(String),
}

impl From<io::Error> for Unready {
    fn from(error: io::Error) -> Self {
        Self::NotYet(error.to_string())
    }
}

/// What a server prints in one line when it listens, once the line is complete.
pub(crate) fn announcement<T: DeserializeOwned>(file: &Path) -> Result<T, Unready> {
    let text = fs::read_to_string(file)?;
    let Some((line, _)) = text.split_once('\n') else {
        return Err(Unready::NotYet("it has not announced its ports".to_owned()));
    };
    serde_json::from_str(line)
        .map_err(|e| Unready::Wrong(format!("it announces `{line}` instead of its ports ({e})")))
}

/// One attempt at both ports, which ends by `deadline`.
pub(crate) fn attempt(
    http: SocketAddr,
    https: SocketAddr,
    size: Bytes,
    deadline: Instant,
) -> Result<(), Unready> {
    get_object(http, size, deadline)?;
    listens(https, deadline)
}

/// One attempt at a connection, which ends by `deadline`.
pub(crate) fn listens(address: SocketAddr, deadline: Instant) -> Result<(), Unready> {
    TcpStream::connect_timeout(&address, left(deadline))
        .map(drop)
        .map_err(|e| Unready::NotYet(format!("no connection to {address}: {e}")))
}

fn get_object(http: SocketAddr, size: Bytes, deadline: Instant) -> Result<(), Unready> {
    let url = format!("http://{http}{}", objects::path(size));
    let wrong = |why: String| Unready::Wrong(format!("GET {url}: {why}"));
    let answer = get(&url, left(deadline)).map_err(|error| match error {
        ureq::Error::Io(_) | ureq::Error::Timeout(_) => Unready::NotYet(format!("{url}: {error}")),
        error => wrong(error.to_string()),
    })?;
    // The field itself: ureq's body has no length where it is empty.
    let length = answer.headers().get("Content-Length");
    let length = length.and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    let status = answer.status().as_u16();
    match (status, length) {
        (200, Some(length)) if length == size.0 => {}
        (200, Some(length)) => {
            return Err(wrong(format!("Content-Length {length} instead of {}", size.0)));
        }
        (200, None) => return Err(wrong("no Content-Length".to_owned())),
        (status, _) => return Err(wrong(format!("status {status} instead of 200"))),
    }
    let mut body = answer.into_body().into_reader();
    let mut buffer = vec![0; 1 << 16];
    let mut offset = 0;
    loop {
        let count = match body.read(&mut buffer) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => 0,
            read => read?,
        };
        if count == 0 && offset == size.0 {
            return Ok(());
        }
        if count == 0 || !objects::matches(offset, &buffer[..count]) {
            return Err(wrong(format!("not the object's {size}")));
        }
        offset += count as u64;
    }
}

/// The answer to a request without TLS, of any status.
pub(crate) fn get(
    url: &str,
    limit: Duration,
) -> Result<ureq::http::Response<ureq::Body>, ureq::Error> {
    let config = ureq::Agent::config_builder().timeout_global(Some(limit));
    let config = config.http_status_as_error(false).max_redirects(0).proxy(None).build();
    config.new_agent().get(url).header("Connection", "close").call()
}

fn left(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now()).max(SHORTEST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;
    use std::io::Write;
    use std::net::TcpListener;

    /// The outcome of an attempt at a server that gives every connection `answer` and closes.
    fn against(answer: &[u8], size: Bytes) -> Result<(), Unready> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let (mut stream, _) = listener.accept().unwrap();
                let mut request = [0; 1024];
                let n = stream.read(&mut request).unwrap();
                let line = format!("GET {} HTTP/1.1\r\n", objects::path(size));
                assert!(request[..n].starts_with(line.as_bytes()));
                stream.write_all(answer).unwrap();
            });
            attempt(address, address, size, Instant::now() + Duration::from_secs(5))
        })
    }

    fn answer(head: &str, length: u64) -> Vec<u8> {
        let mut answer = head.as_bytes().to_vec();
        objects::write_to(&mut answer, Bytes(length)).unwrap();
        answer
    }

    const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n";

    #[test]
    fn the_object_is_taken() {
        assert!(against(&answer(OK, 100), Bytes(100)).is_ok());
        assert!(against(&answer(&OK.replace("100", "0"), 0), Bytes(0)).is_ok());
    }

    #[test]
    fn an_empty_object_has_its_length_too() {
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n";
        for (answer, expected) in [
            (
                answer("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 0),
                "no Content-Length",
            ),
            (answer(head, 1), "Content-Length 1 instead of 0"),
        ] {
            let found = against(&answer, Bytes(0));
            assert!(
                matches!(&found, Err(Unready::Wrong(why)) if why.contains(expected)),
                "{found:?}"
            );
        }
    }

    #[test]
    fn whatever_else_is_wrong() {
        let mut changed = answer(OK, 100);
        *changed.last_mut().unwrap() ^= 1;
        for (answer, expected) in [
            (changed, "not the object's 100B"),
            (answer(OK, 99), "not the object's 100B"),
            (answer("HTTP/1.1 404 Not Found\r\n\r\n", 0), "status 404 instead of 200"),
            (answer("HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n", 7), "Content-Length 7 instead"),
            (answer("HTTP/1.1 200 OK\r\n\r\n", 100), "no Content-Length"),
            (b"\x15\x03\x03\x00\x02\x02\x46".to_vec(), "http parse fail"),
        ] {
            match against(&answer, Bytes(100)) {
                Err(Unready::Wrong(why)) => assert!(why.contains(expected), "{why}"),
                other => panic!("{other:?} for {expected}"),
            }
        }
    }

    #[test]
    fn an_announcement_counts_when_its_line_is_complete() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("out");
        let announced = || announcement::<HashMap<String, SocketAddr>>(&file);
        fs::write(&file, r#"{"plain":"127.0.0.1:2"}"#).unwrap();
        assert!(matches!(announced(), Err(Unready::NotYet(_))));
        fs::write(&file, "{\"plain\":\"127.0.0.1:2\"}\nmore").unwrap();
        assert_eq!(announced().ok().unwrap()["plain"].port(), 2);
        fs::write(&file, "hello\n").unwrap();
        assert!(matches!(announced(), Err(Unready::Wrong(why)) if why.contains("`hello`")));
    }

    #[test]
    fn silence_may_end() {
        assert!(matches!(against(b"", Bytes(100)), Err(Unready::NotYet(_))));
        let nobody = crate::Ports::reserve(&["127.0.0.1".parse().unwrap()]).unwrap().http()[0];
        let deadline = Instant::now() + Duration::from_secs(5);
        assert!(matches!(attempt(nobody, nobody, Bytes(1), deadline), Err(Unready::NotYet(_))));
    }
}
