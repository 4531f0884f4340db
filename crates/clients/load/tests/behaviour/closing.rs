//! How connections end: by FIN or by RST, as the server sees it.

use std::io::{self, Read};
use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use load::{Close, ErrorKind, Job, Operation, Plan};

use crate::scripted_server::{Plain, Secure, Server, Session, config};
use crate::{assert_fails, http, https, kinds, run};

/// How the server's connections ended.
#[derive(Default)]
struct Seen {
    ends: AtomicU64,
    resets: AtomicU64,
    requests: Mutex<Vec<String>>,
}

impl Seen {
    /// Reads until the client's end.
    fn end(&self, stream: &mut TcpStream) -> io::Result<()> {
        match io::copy(stream, &mut io::sink()) {
            Ok(_) => self.ends.fetch_add(1, SeqCst),
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => {
                self.resets.fetch_add(1, SeqCst)
            }
            Err(error) => return Err(error),
        };
        Ok(())
    }

    /// Waits until this many connections have ended; returns how many did so by FIN and by RST.
    fn counts(&self, connections: u64) -> (u64, u64) {
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            let counts = (self.ends.load(SeqCst), self.resets.load(SeqCst));
            if counts.0 + counts.1 >= connections || Instant::now() > deadline {
                return counts;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

fn server(run: impl Fn(TcpStream, &Seen) -> io::Result<()> + Send + Sync + 'static) -> Ended {
    let seen = Arc::new(Seen::default());
    let server = Server::start({
        let seen = seen.clone();
        move |stream| run(stream, &seen)
    });
    Ended { server, seen }
}

struct Ended {
    server: Server,
    seen: Arc<Seen>,
}

impl Ended {
    /// All connections of three operations end by FIN, or all by RST.
    #[track_caller]
    fn assert_all_end(&self, job: Job, close: Close) {
        let before = self.server.connections();
        let earlier = self.seen.counts(before);
        let outcome = run(Job { plan: Plan { close, ..job.plan }, ..job });
        assert_eq!((outcome.completed, kinds(&outcome)), (3, vec![]), "{close}");
        let connections = self.server.connections();
        assert!(connections - before >= 3);
        let (ends, resets) = self.seen.counts(connections);
        let (ends, resets) = (ends - earlier.0, resets - earlier.1);
        match close {
            // A connection that was unfinished when the load ended may end either way.
            Close::Fin => assert!(ends >= 3 && resets <= 1, "{ends} ends, {resets} resets"),
            Close::Rst => assert!(resets >= 3 && ends == 0, "{ends} ends, {resets} resets"),
        }
    }
}

#[test]
fn handshakes_end_as_asked() {
    let config = config();
    let ended = server(move |stream, seen| {
        let mut https = Secure::accept(stream, &config)?;
        // The close_notify of the client.
        assert!(https.request().is_err());
        let last = https.close_notify()?;
        io::Write::write_all(https.stream(), &last)?;
        // A reset may have come by now: close_notify is enough of an answer.
        let _ = https.stream().shutdown(std::net::Shutdown::Write);
        seen.end(https.stream())
    });
    for close in [Close::Fin, Close::Rst] {
        let job = https(ended.server.address(), "/");
        ended.assert_all_end(
            Job { plan: Plan { operation: Operation::Handshakes, ..job.plan }, ..job },
            close,
        );
    }
}

/// As HAProxy does, which answers a connection without a request.
#[test]
fn what_a_server_sends_after_the_clients_end_is_no_failure() {
    let config = config();
    let server = Server::start(move |stream| {
        let mut https = Secure::accept(stream, &config)?;
        assert!(https.request().is_err());
        https.send(
            b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 2\r\n\r\nno",
        )?;
        https.finish()
    });
    let mut job = https(server.address(), "/");
    job.plan.operation = Operation::Handshakes;
    let outcome = run(job);
    assert_eq!((outcome.completed, kinds(&outcome), outcome.bytes.body), (3, vec![], 0));
}

#[test]
fn a_handshake_that_the_server_does_not_answer_counts_with_neither() {
    // It resets without having read the client's Finished.
    let server = Server::start(|mut stream| {
        let mut hello = [0; 5];
        stream.read_exact(&mut hello)?;
        crate::scripted_server::reset(&stream)
    });
    for close in [Close::Fin, Close::Rst] {
        let job = https(server.address(), "/");
        let job = Job { plan: Plan { operation: Operation::Handshakes, close, ..job.plan }, ..job };
        assert_fails(job, ErrorKind::Reset);
    }
}

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// Answers one request, and closes where it is asked to.
fn answer(http: &mut dyn Session, seen: &Seen) -> io::Result<()> {
    let request = http.request()?;
    let is_last = request.contains("Connection: close");
    seen.requests.lock().unwrap().push(request);
    http.send(OK.as_bytes())?;
    if is_last {
        let last = http.close_notify()?;
        io::Write::write_all(http.stream(), &last)?;
        http.stream().shutdown(std::net::Shutdown::Write)?;
    }
    seen.end(http.stream())
}

#[test]
fn connections_of_one_request_end_as_asked() {
    let config = config();
    let secure = server(move |stream, seen| answer(&mut Secure::accept(stream, &config)?, seen));
    let plain = server(|stream, seen| answer(&mut Plain(stream), seen));
    for (ended, job) in [
        (&secure, https(secure.server.address(), "/")),
        (&plain, http(plain.server.address(), "/")),
    ] {
        let job =
            Job { plan: Plan { operation: Operation::OneRequestPerConnection, ..job.plan }, ..job };
        for close in [Close::Fin, Close::Rst] {
            ended.seen.requests.lock().unwrap().clear();
            ended.assert_all_end(job.clone(), close);
            // The server is asked to close only where its close is awaited.
            let requests = ended.seen.requests.lock().unwrap();
            let asked = requests.iter().filter(|text| text.contains("Connection: close")).count();
            assert_eq!(asked, if close == Close::Fin { requests.len() } else { 0 });
        }
    }
}

#[test]
fn bytes_after_the_only_response_are_too_much_with_either() {
    let plain = server(|stream, seen| {
        let mut http = Plain(stream);
        http.request()?;
        http.send(format!("{OK}!").as_bytes())?;
        seen.end(http.stream())
    });
    for close in [Close::Fin, Close::Rst] {
        let job = http(plain.server.address(), "/");
        let job = Job {
            plan: Plan { operation: Operation::OneRequestPerConnection, close, ..job.plan },
            ..job
        };
        assert_fails(job, ErrorKind::LongBody);
    }
}

/// Sockets get addresses in turn, so two consecutive connections from one address have the same
/// socket.
#[test]
fn a_socket_has_one_connection_after_another_where_both_sides_end() {
    let peers = Arc::new(Mutex::new(Vec::new()));
    let plain = server({
        let peers = peers.clone();
        move |stream, seen| {
            peers.lock().unwrap().push(stream.peer_addr()?);
            answer(&mut Plain(stream), seen)
        }
    });
    for close in [Close::Fin, Close::Rst] {
        peers.lock().unwrap().clear();
        let job = http(plain.server.address(), "/");
        let operation = Operation::OneRequestPerConnection;
        let outcome =
            run(Job { operations: Some(200), plan: Plan { operation, close, ..job.plan }, ..job });
        assert_eq!((outcome.completed, kinds(&outcome)), (200, vec![]), "{close}");
        let peers = peers.lock().unwrap();
        let again = peers.windows(2).filter(|two| two[0].ip() == two[1].ip());
        let ports: Vec<_> = again.map(|two| (two[0].port(), two[1].port())).collect();
        assert_eq!(ports.is_empty(), close == Close::Rst, "{close}: {peers:?}");
        assert!(ports.iter().all(|(one, other)| one != other), "{peers:?}");
    }
}
