//! Clients that are slow, odd or broken.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::process::Command;
use std::time::{Duration, Instant};

use support::{first_cpu, peer};

use super::server::{LIMIT, Serve, object};

const GET_1KIB: &str = "GET /bytes/1KiB HTTP/1.1\r\nHost: localhost\r\n\r\n";

#[test]
fn pipelined_requests_are_answered_in_order() {
    let server = Serve::start(&[]);
    let mut request = String::new();
    for size in 1..=300 {
        request += &format!("GET /bytes/{size}B HTTP/1.1\r\nHost: localhost\r\n\r\n");
    }
    request += "HEAD /bytes/1MiB HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    let mut stream = server.connect();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let mut rest = answer.as_slice();
    for size in 1..=300 {
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Length: {size}\r\nContent-Type: application/octet-stream\r\n\r\n"
        );
        rest = rest.strip_prefix(head.as_bytes()).unwrap();
        rest = rest.strip_prefix(object(&format!("{size}B")).as_slice()).unwrap();
    }
    let head = String::from_utf8_lossy(rest);
    assert!(head.starts_with("HTTP/1.1 200 OK\r\nContent-Length: 1048576\r\n"), "{head}");
    assert!(head.ends_with("Connection: close\r\n\r\n"), "{head}");
}

#[test]
fn a_request_may_come_in_single_bytes() {
    let server = Serve::start(&[]);
    let mut stream = server.connect();
    stream.set_nodelay(true).unwrap();
    for byte in GET_1KIB.bytes() {
        stream.write_all(&[byte]).unwrap();
    }
    let mut answer = [0; 15];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 200 OK");
}

#[test]
fn a_client_that_closes_its_direction_gets_its_answer() {
    let server = Serve::start(&[]);
    let mut stream = server.connect();
    stream.write_all(b"GET /bytes/8MiB HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    assert!(answer.ends_with(&object("8MiB")));
}

#[test]
fn what_is_no_request_gets_its_status_and_the_end() {
    let server = Serve::start(&[]);
    let long = "x".repeat(9_000);
    for (request, status) in [
        ("GET /bytes/1KiB HTTP/1.1\r\n\r\n".to_owned(), "400 Bad Request"),
        ("nonsense\r\n\r\n".to_owned(), "400 Bad Request"),
        ("GET / HTTP/3.0\r\nHost: a\r\n\r\n".to_owned(), "505 HTTP Version Not Supported"),
        (
            format!("GET / HTTP/1.1\r\nHost: a\r\nX: {long}\r\n\r\n"),
            "431 Request Header Fields Too Large",
        ),
        (format!("GET /{long} HTTP/1.1\r\nHost: a\r\n\r\n"), "414 URI Too Long"),
        (
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello".to_owned(),
            "405 Method Not Allowed",
        ),
        (
            "GET /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n".to_owned(),
            "404 Not Found",
        ),
    ] {
        let answer = server.converse(request.as_bytes());
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}\r\n")), "{request:.40}: {answer}");
        assert!(answer.contains("Connection: close\r\n"), "{answer}");
    }
}

/// Any byte of its first line may be the last of a packet.
#[test]
fn the_preface_of_http2_may_come_in_parts() {
    let server = Serve::start(&[]);
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    for split in [1, 9, 15, 17] {
        let mut stream = server.connect();
        stream.set_nodelay(true).unwrap();
        let (first, rest) = preface.split_at(split);
        stream.write_all(first).unwrap();
        std::thread::sleep(Duration::from_millis(30));
        // And an empty SETTINGS frame, as the server's answer is one (RFC 9113, section 3.4).
        stream.write_all(&[rest, &[0, 0, 0, 4, 0, 0, 0, 0, 0]].concat()).unwrap();
        let mut header = [0; 9];
        stream.read_exact(&mut header).unwrap();
        assert_eq!(header[3], 4, "{split}: {header:?}");
    }
    for request in ["PRI * HTTP/2.1\r\n\r\n", "PRI x HTTP/2.0\r\n\r\n"] {
        assert!(server.converse(request.as_bytes()).starts_with("HTTP/1.1 "), "{request}");
    }
}

#[test]
fn a_head_that_trickles_and_an_idle_connection_end() {
    let server = Serve::start(&["--timeout", "500ms"]);
    let mut idle = server.connect();
    let mut slow = server.connect();
    slow.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n").unwrap();
    let mut trickling = slow.try_clone().unwrap();
    let trickle = std::thread::spawn(move || {
        // Until the server has had enough, or far beyond that.
        (0..3000).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            trickling.write_all(b"a").is_err()
        })
    });
    let mut answer = Vec::new();
    let _ = slow.read_to_end(&mut answer);
    assert!(
        answer.starts_with(b"HTTP/1.1 408 Request Timeout"),
        "{}",
        String::from_utf8_lossy(&answer)
    );
    assert!(trickle.join().unwrap(), "the trickle never ended");
    assert_eq!(idle.read_to_end(&mut Vec::new()).unwrap(), 0);
}

#[test]
fn a_head_that_trickles_over_http2_has_no_longer_than_another() {
    let server = Serve::start(&["--timeout", "500ms"]);
    let mut slow = server.connect();
    // The preface, SETTINGS, and HEADERS whose 8,000 bytes never end.
    slow.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").unwrap();
    slow.write_all(b"\0\x1f\x40\x01\x05\0\0\0\x01\x82\0\x01x\x7f\xff\x3d").unwrap();
    let mut trickling = slow.try_clone().unwrap();
    let trickle = std::thread::spawn(move || {
        (0..3000).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            trickling.write_all(b"a").is_err()
        })
    });
    let _ = slow.read_to_end(&mut Vec::new());
    assert!(trickle.join().unwrap(), "the trickle never ended");
}

#[test]
fn a_client_that_does_not_read_is_dropped() {
    let server = Serve::start(&["--timeout", "500ms"]);
    let mut stream = server.connect();
    stream.write_all(b"GET /bytes/1TiB HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    stream.read_exact(&mut [0; 1024]).unwrap();
    let client = stream.local_addr().unwrap().port();
    assert!(is_held_by_the_server(client), "the connection was never there");
    let begin = Instant::now();
    while is_held_by_the_server(client) {
        assert!(begin.elapsed() < LIMIT, "the connection is kept");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(server.fetch(&[&server.http("/bytes/1KiB")]), object("1KiB"));
}

/// Whether a process still holds the far end of the connection from the local port `client`. The
/// kernel lists a closed socket with data to send as well, but with the inode 0 (proc(5)).
fn is_held_by_the_server(client: u16) -> bool {
    let remote = format!(":{client:04X}");
    std::fs::read_to_string("/proc/net/tcp").unwrap().lines().skip(1).any(|line| {
        let fields: Vec<_> = line.split_whitespace().collect();
        fields[2].ends_with(&remote) && fields[9] != "0"
    })
}

#[test]
fn one_large_download_does_not_starve_others() {
    let server = Serve::start(&["--cpus", &first_cpu().to_string()]);
    let mut greedy: Vec<_> = (0..4)
        .map(|_| {
            peer("curl")
                .args([
                    "--silent",
                    "--insecure",
                    "--output",
                    "/dev/null",
                    &server.https("/bytes/1TiB"),
                ])
                .spawn()
                .unwrap()
        })
        .collect();
    for _ in 0..5 {
        assert_eq!(server.fetch(&[&server.https("/bytes/1KiB")]), object("1KiB"));
    }
    for curl in &mut greedy {
        assert!(curl.try_wait().unwrap().is_none(), "a large download ended early");
        curl.kill().unwrap();
        curl.wait().unwrap();
    }
}

#[test]
fn garbage_instead_of_tls_and_broken_handshakes_do_no_harm() {
    let server = Serve::start(&[]);
    let hello = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03";
    for bytes in [&b"GET / HTTP/1.1\r\n\r\n"[..], &[0xff; 5000], &hello[..], &[0x16], &[]] {
        let mut stream = TcpStream::connect_timeout(&server.tls, LIMIT).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        stream.write_all(bytes).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        // An alert or a reset: the server ends it either way.
        let _ = stream.read_to_end(&mut Vec::new());
        let mut reset = connection_that_resets(&server);
        reset.write_all(bytes).unwrap();
    }
    assert_eq!(server.fetch(&[&server.https("/bytes/1KiB")]), object("1KiB"));
}

/// A connection that is reset, not closed, when it is dropped.
fn connection_that_resets(server: &Serve) -> TcpStream {
    let stream = TcpStream::connect_timeout(&server.tls, LIMIT).unwrap();
    socket2::SockRef::from(&stream).set_linger(Some(Duration::ZERO)).unwrap();
    stream
}

#[test]
fn without_descriptors_connections_wait_and_are_served_later() {
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -n 24; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_toll")]);
    let server = Serve::start_as(limited, &["--cpus", &first_cpu().to_string()]);
    let hoard: Vec<_> = (0..40).map(|_| server.connect()).collect();
    let mut waiting = server.connect();
    waiting.write_all(GET_1KIB.as_bytes()).unwrap();
    std::thread::sleep(Duration::from_millis(500));
    drop(hoard);
    let mut answer = [0; 15];
    waiting.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 200 OK");
}
