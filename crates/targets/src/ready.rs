//! Whether a server answers: a whole GET of an object over plain HTTP, whose bytes are compared,
//! and a connection to its TLS port.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use units::Bytes;

/// The longest head of an answer that is looked at.
const HEAD: usize = 8192;
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
    get(http, size, deadline)?;
    listens(https, deadline)
}

/// One attempt at a connection, which ends by `deadline`.
pub(crate) fn listens(address: SocketAddr, deadline: Instant) -> Result<(), Unready> {
    TcpStream::connect_timeout(&address, left(deadline))
        .map(drop)
        .map_err(|e| Unready::NotYet(format!("no connection to {address}: {e}")))
}

fn get(http: SocketAddr, size: Bytes, deadline: Instant) -> Result<(), Unready> {
    let path = objects::path(size);
    let mut stream = TcpStream::connect_timeout(&http, left(deadline))
        .map_err(|e| Unready::NotYet(format!("no connection to {http}: {e}")))?;
    stream.set_write_timeout(Some(left(deadline)))?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: {http}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes())?;

    let mut buffer = vec![0; 1 << 16];
    let mut filled = 0;
    let head = loop {
        stream.set_read_timeout(Some(left(deadline)))?;
        match stream.read(&mut buffer[filled..])? {
            0 => return Err(Unready::NotYet(format!("{http} closed without an answer"))),
            n => filled += n,
        }
        if let Some(length) = head_length(&buffer[..filled], size)
            .map_err(|wrong| Unready::Wrong(format!("GET http://{http}{path}: {wrong}")))?
        {
            break length;
        }
    };

    let mut offset = (filled - head) as u64;
    let mut right = objects::matches(0, &buffer[head..filled]);
    while right && offset < size.0 {
        stream.set_read_timeout(Some(left(deadline)))?;
        match stream.read(&mut buffer)? {
            0 => break,
            n => {
                right = objects::matches(offset, &buffer[..n]);
                offset += n as u64;
            }
        }
    }
    if right && offset == size.0 {
        Ok(())
    } else {
        Err(Unready::Wrong(format!("GET http://{http}{path}: not the object's {size}")))
    }
}

/// The length of a complete head that promises the object; `None` where more of it must come.
fn head_length(received: &[u8], size: Bytes) -> Result<Option<usize>, String> {
    let mut headers = [httparse::EMPTY_HEADER; 64];
    let mut response = httparse::Response::new(&mut headers);
    let head = match response.parse(received) {
        Ok(httparse::Status::Complete(head)) => head,
        Ok(httparse::Status::Partial) if received.len() < HEAD => return Ok(None),
        Ok(httparse::Status::Partial) => return Err("a head without end".to_owned()),
        Err(e) => return Err(format!("no HTTP: {e}")),
    };
    if response.code != Some(200) {
        return Err(format!("status {} instead of 200", response.code.unwrap_or(0)));
    }
    let length: Option<u64> = response
        .headers
        .iter()
        .find(|header| header.name.eq_ignore_ascii_case("content-length"))
        .and_then(|header| std::str::from_utf8(header.value).ok()?.trim().parse().ok());
    match length {
        Some(length) if length == size.0 => Ok(Some(head)),
        Some(length) => Err(format!("Content-Length {length} instead of {}", size.0)),
        None => Err("no Content-Length".to_owned()),
    }
}

fn left(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now()).max(SHORTEST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;
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
                assert!(request[..n].starts_with(b"GET /bytes/100B HTTP/1.1\r\nHost: 127.0.0.1"));
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
            (b"\x15\x03\x03\x00\x02\x02\x46".to_vec(), "no HTTP"),
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
