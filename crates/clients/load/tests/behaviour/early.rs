//! Servers that answer before a request, in one write with their Finished.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use load::{ErrorKind, Job, KeyExchangeMode, Operation};
use openssl::ssl::{Ssl, SslContext, SslStream};
use rustls::version::{TLS12, TLS13};
use rustls::{ServerConfig, ServerConnection};
use tls::{OrPlain, Suite};

use crate::scripted_server::{Server, config_of, legacy_acceptor, rsa, silence};
use crate::{assert_fails, https, kinds, run, summary};

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nearly";

/// A stream that holds written bytes back until the next read, so that a flight goes out in one
/// write.
struct Flight {
    stream: TcpStream,
    held: Vec<u8>,
}

impl Flight {
    fn new(stream: TcpStream) -> Self {
        Self { stream, held: Vec::new() }
    }

    /// Sends what is held but for its last `late` bytes, and these once the client's request has
    /// come, in TLS 1.3 in one flight with its Finished.
    fn release(mut self, late: usize) -> io::Result<()> {
        let (now, later) = self.held.split_at(self.held.len() - late);
        self.stream.write_all(now)?;
        if late > 0 && self.stream.read(&mut [0; 4096])? > 0 {
            self.stream.write_all(later)?;
        }
        silence(&mut self.stream)
    }
}

impl Read for Flight {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.write_all(&self.held)?;
        self.held.clear();
        self.stream.read(buffer)
    }
}

impl Write for Flight {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.held.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A rustls server that sends an answer with the end of its handshake.
fn through_rustls(config: &Arc<ServerConfig>, stream: TcpStream, late: usize) -> io::Result<()> {
    let mut connection = ServerConnection::new(config.clone()).map_err(io::Error::other)?;
    let mut flight = Flight::new(stream);
    connection.writer().write_all(ANSWER)?;
    // In TLS 1.3 the server sends its flight before the client's Finished, in TLS 1.2 after it.
    let is_over = |connection: &ServerConnection, flight: &Flight| {
        let has_spoken = !connection.wants_write() && !flight.held.is_empty();
        let version = connection.protocol_version();
        has_spoken
            && (version == Some(rustls::ProtocolVersion::TLSv1_3) || !connection.is_handshaking())
    };
    while !is_over(&connection, &flight) {
        if connection.wants_write() {
            connection.write_tls(&mut flight)?;
        } else {
            connection.read_tls(&mut flight)?;
            connection.process_new_packets().map_err(io::Error::other)?;
        }
    }
    flight.release(late)
}

/// The same through OpenSSL.
fn through_openssl(context: &SslContext, stream: TcpStream, late: usize) -> io::Result<()> {
    let mut stream = SslStream::new(Ssl::new(context)?, Flight::new(stream))?;
    stream.accept().map_err(io::Error::other)?;
    stream.ssl_write(ANSWER).map_err(io::Error::other)?;
    let flight = stream.get_mut();
    let held = std::mem::take(&mut flight.held);
    Flight { stream: flight.stream.try_clone()?, held }.release(late)
}

/// A server and a client for each kind of handshake; the last `late` bytes of the answer come after
/// the request.
fn paths(late: usize) -> Vec<(&'static str, Server, Job)> {
    let mut paths = Vec::new();
    for (name, version, is_asked, key_exchange) in [
        ("own TLS 1.3", &TLS13, true, KeyExchangeMode::Fixed),
        ("TLS 1.3 of rustls", &TLS13, true, KeyExchangeMode::Fresh),
        ("TLS 1.2", &TLS12, true, KeyExchangeMode::Fixed),
        ("TLS 1.3, chosen by the server", &TLS13, false, KeyExchangeMode::Fixed),
        ("TLS 1.2, chosen by the server", &TLS12, false, KeyExchangeMode::Fixed),
    ] {
        let mut config = config_of(rsa(), &[version]);
        config.send_half_rtt_data = true;
        config.send_tls13_tickets = 0;
        let config = Arc::new(config);
        let server = Server::start(move |stream| through_rustls(&config, stream, late));
        let mut job = https(server.address(), "/");
        job.plan.tls = is_asked.then_some(match version.version {
            rustls::ProtocolVersion::TLSv1_3 => OrPlain::Tls(tls::Version::Tls13),
            _ => OrPlain::Tls(tls::Version::Tls12),
        });
        job.plan.key_exchange = Some(key_exchange);
        paths.push((name, server, job));
    }
    for (name, suite) in [("static RSA", "AES128-SHA"), ("CBC", "ECDHE-RSA-AES128-SHA")] {
        let suite = Suite::parse(suite).unwrap();
        let context = legacy_acceptor(rsa(), suite);
        let server = Server::start(move |stream| through_openssl(&context, stream, late));
        let mut job = https(server.address(), "/");
        job.plan.suite = Some(OrPlain::Tls(suite));
        paths.push((name, server, job));
    }
    paths
}

#[test]
fn an_answer_before_its_request_fails() {
    for late in [0, 1, 30] {
        for (name, _server, mut job) in paths(late) {
            for operation in [Operation::Requests, Operation::OneRequestPerConnection] {
                job.plan.operation = operation;
                let outcome = run(job.clone());
                let expected = (0, vec![(ErrorKind::LongBody, 3)]);
                let seen = (outcome.completed, kinds(&outcome));
                assert_eq!(seen, expected, "{name} {operation} {late}: {}", summary(&outcome));
            }
        }
    }
}

#[test]
fn a_handshake_with_an_unrequested_answer_fails() {
    for (_, _server, mut job) in paths(0) {
        job.plan.operation = Operation::Handshakes;
        assert_fails(job, ErrorKind::LongBody);
    }
}

#[test]
fn connections_that_are_opened_ahead_fail_too() {
    for (name, _server, mut job) in paths(0) {
        job.plan.arrival = "closed, think 1ms".parse().unwrap();
        job.operations = Some(3);
        let outcome = run(job);
        assert_eq!(outcome.completed, 0, "{name}: {}", summary(&outcome));
        assert_eq!(outcome.failures.count(ErrorKind::LongBody), outcome.failures.total());
    }
}
