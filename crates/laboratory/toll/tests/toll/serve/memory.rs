//! What a connection that waits costs the server: memory of its process, as the kernel counts it.
//! The kernel's own buffers are not among it.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use openssl::ssl::{Ssl, SslContext, SslMethod, SslStream};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tls::Stack;

use super::server::Serve;

/// Bytes that a connection that has sent nothing may cost: a place in a table.
const SILENT: u64 = 2 << 10;

/// Bytes that an idle TLS connection may cost: what OpenSSL keeps for it, some 15 KiB, without any
/// buffer. With its buffers it would be 23 KiB.
const IDLE: u64 = 19 << 10;

/// The same of OpenSSL since 3.2, which keeps more of what a connection is: 22 KiB in 3.6, 6 more for a hybrid group.
const IDLE_SINCE_3_2: u64 = 27 << 10;
const OPENSSL_3_2: i64 = 0x3020_0000;

impl Serve {
    /// Serves on one CPU, so that connections have their turns in the order in which they came.
    fn start_on_one_cpu(library: Stack) -> Self {
        let limit = getrlimit(Resource::Nofile).maximum;
        setrlimit(Resource::Nofile, Rlimit { current: limit, maximum: limit }).unwrap();
        let cpu = cpus::CpuList::allowed().unwrap().first(1).to_string();
        // No connection's time is up in the test, however slow the machine.
        // What a group keeps of its keys differs.
        let options = ["--cpus", &cpu, "--certificate-key", "ecdsa:p256", "--timeout", "1h"];
        Self::start_on(library, &[&options[..], &["--groups", "x25519"]].concat())
    }

    /// Bytes of memory that the server has written to, and no file holds.
    fn memory(&self) -> u64 {
        let path = format!("/proc/{}/smaps_rollup", self.process.pid());
        let text = std::fs::read_to_string(path).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix("Anonymous:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
    }

    /// What each of `count` connections costs that `open` makes.
    fn cost<T>(&self, count: usize, open: impl Fn() -> T) -> u64 {
        // What the first one makes the server do once is no cost of the others.
        let _first = open();
        let before = self.memory();
        let descriptors = || observe::open_descriptors(self.process.pid()).unwrap().open;
        let open_before = descriptors();
        let _connections: Vec<T> = (0..count).map(|_| open()).collect();
        while descriptors() < open_before + count as u64 {
            std::thread::sleep(Duration::from_millis(10));
        }
        // Answered after all of them have had a turn.
        assert!(self.converse(b"GET /bytes/1B HTTP/1.0\r\n\r\n").starts_with("HTTP/1.1 200 "));
        self.memory().saturating_sub(before) / count as u64
    }

    /// A TLS connection on which one request was answered.
    fn answered(&self, context: &SslContext) -> SslStream<TcpStream> {
        let stream = TcpStream::connect(self.tls).unwrap();
        stream.set_nodelay(true).unwrap();
        let mut stream = SslStream::new(Ssl::new(context).unwrap(), stream).unwrap();
        stream.connect().unwrap();
        stream.write_all(b"HEAD /bytes/1MiB HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        let mut answer = Vec::new();
        while !answer.ends_with(b"\r\n\r\n") {
            let mut bytes = [0; 1024];
            let count = stream.read(&mut bytes).unwrap();
            answer.extend_from_slice(&bytes[..count]);
        }
        assert!(answer.starts_with(b"HTTP/1.1 200 "));
        stream
    }
}

#[test]
fn a_connection_that_has_sent_nothing_costs_little() {
    let server = Serve::start_on_one_cpu(Stack::OpenSsl);
    let each = server.cost(2000, || TcpStream::connect(server.tls).unwrap());
    println!("{each} bytes for a connection that has sent nothing");
    // None at all would mean that nothing was counted.
    assert!((1..=SILENT).contains(&each), "{each} bytes a connection");
}

#[test]
fn an_idle_tls_connection_holds_no_buffers() {
    for library in Stack::BUILT_IN {
        let server = Serve::start_on_one_cpu(library);
        let context = SslContext::builder(SslMethod::tls_client()).unwrap().build();
        let each = server.cost(1000, || server.answered(&context));
        println!("{each} bytes for an idle TLS connection on {library}");
        let is_newer = library == Stack::OpenSsl && openssl::version::number() >= OPENSSL_3_2;
        let most = if is_newer { IDLE_SINCE_3_2 } else { IDLE };
        // The library alone takes some for its state.
        assert!((1 << 10..=most).contains(&each), "{each} bytes a connection");
    }
}
