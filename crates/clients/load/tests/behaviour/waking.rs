//! What wakes a client with one request per connection, and what it sends. Both sides are in this
//! process, so the test can read the options of both sockets.

use std::io::{self, Write};
use std::mem::MaybeUninit;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use load::{ErrorKind, Job, Operation, Plan};
use rustix::process::{PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

use crate::scripted_server::{Plain, Secure, Server, Session, config_of, finish, rsa, silence};
use crate::{assert_fails, http, https, kinds, run, summary};

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

const LIMIT: Duration = Duration::from_secs(10);

/// Responses from which a thread learns how many bytes of tickets come before them.
const LEARNED_FROM: usize = 16;

/// The mark at which nothing but the server's end wakes.
const END: libc::c_int = 32 << 10;

fn one_request(job: Job, operations: u64) -> Job {
    let operation = Operation::OneRequestPerConnection;
    Job { operations: Some(operations), plan: Plan { operation, ..job.plan }, ..job }
}

/// An option of a socket, a plain structure of the kernel's.
fn option<T: Copy>(socket: BorrowedFd<'_>, level: libc::c_int, name: libc::c_int) -> Option<T> {
    let mut value = MaybeUninit::<T>::zeroed();
    let mut length = size_of::<T>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes into `value`.
    let rc = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            level,
            name,
            value.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    // SAFETY: all zeros and whatever the kernel writes is such a number or structure.
    (rc == 0).then(|| unsafe { value.assume_init() })
}

/// The low-water mark of the client's socket, which is found by its address.
fn mark(stream: &TcpStream) -> Option<libc::c_int> {
    let client = stream.peer_addr().ok()?;
    let descriptors = std::fs::read_dir("/proc/self/fd").ok()?;
    let this = pidfd_open(rustix::process::getpid(), PidfdFlags::empty()).ok()?;
    let socket = descriptors.flatten().find_map(|entry| {
        // A duplicate, since another thread owns the socket and may close it at any time.
        let descriptor = entry.file_name().to_str()?.parse().ok()?;
        let socket = pidfd_getfd(&this, descriptor, PidfdGetfdFlags::empty()).ok()?;
        let name = rustix::net::getsockname(&socket).ok()?;
        (SocketAddr::try_from(name).ok()? == client).then_some(socket)
    })?;
    option(socket.as_fd(), libc::SOL_SOCKET, libc::SO_RCVLOWAT)
}

/// Waits until only the server's end wakes the client.
fn await_sleep(stream: &TcpStream, limit: Duration) -> io::Result<()> {
    let deadline = Instant::now() + limit;
    while mark(stream) != Some(END) {
        if Instant::now() > deadline {
            return Err(io::ErrorKind::TimedOut.into());
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

/// A server that sends two tickets before the response on its first connections and none on the
/// others; with the client's marks when the requests came.
fn ticketing(with_tickets: usize) -> (Server, Arc<Mutex<Vec<libc::c_int>>>) {
    let [some, none] = [2, 0].map(|tickets| {
        let mut config = config_of(rsa(), &[&rustls::version::TLS13]);
        config.send_tls13_tickets = tickets;
        Arc::new(config)
    });
    let marks = Arc::new(Mutex::new(Vec::new()));
    let server = Server::start({
        let marks = marks.clone();
        move |stream| {
            let count = marks.lock().unwrap().len();
            let mut https =
                Secure::accept(stream, if count < with_tickets { &some } else { &none })?;
            https.request()?;
            marks.lock().unwrap().extend(mark(https.stream()));
            https.send(OK)?;
            https.finish()
        }
    });
    (server, marks)
}

#[test]
fn a_client_that_knows_of_tickets_sleeps_through_them() {
    let (server, marks) = ticketing(usize::MAX);
    let outcome = run(one_request(https(server.address(), "/"), 2 * LEARNED_FROM as u64));
    assert_eq!(kinds(&outcome), [], "{}", summary(&outcome));
    let marks = marks.lock().unwrap();
    let (before, after) = marks.split_at(LEARNED_FROM);
    assert!(before.iter().all(|mark| *mark == 1), "{marks:?}");
    assert!(after.len() >= LEARNED_FROM && after.iter().all(|mark| *mark > 100), "{marks:?}");
}

#[test]
fn a_response_without_the_tickets_counts_and_ends_the_wait_for_them() {
    let with_tickets = LEARNED_FROM + 4;
    let (server, marks) = ticketing(with_tickets);
    let operations = with_tickets as u64 + 4;
    let outcome = run(one_request(https(server.address(), "/"), operations));
    assert_eq!((outcome.completed, kinds(&outcome)), (operations, vec![]), "{}", summary(&outcome));
    let marks = marks.lock().unwrap();
    assert!(marks[with_tickets] as usize > OK.len() + 100, "all came to the mark: {marks:?}");
    assert!(marks[with_tickets + 1..].iter().all(|mark| *mark == 1), "{marks:?}");
}

#[test]
fn after_the_only_response_just_the_end_wakes_the_client() {
    let server = Server::start(|stream| {
        let mut http = Plain(stream);
        http.request()?;
        http.send(OK)?;
        await_sleep(http.stream(), LIMIT)?;
        finish(http.stream())
    });
    let outcome = run(one_request(http(server.address(), "/"), 3));
    assert_eq!((outcome.completed, kinds(&outcome)), (3, vec![]), "{}", summary(&outcome));
}

/// The client checks after a while, and at the latest when the server's time to close is over: that
/// comes first where responses take long.
#[test]
fn bytes_instead_of_the_end_are_noticed() {
    for delay in [0, 600] {
        let server = Server::start(move |stream| {
            let mut http = Plain(stream);
            http.request()?;
            std::thread::sleep(Duration::from_millis(delay));
            http.send(OK)?;
            // If the machine stalled and the client is already awake, it notices all the same.
            let _ = await_sleep(http.stream(), Duration::from_millis(100));
            http.send(b"!")?;
            silence(http.stream())
        });
        let job = one_request(http(server.address(), "/"), 3);
        assert_fails(Job { plan: Plan { connections: 3, ..job.plan }, ..job }, ErrorKind::LongBody);
    }
}

/// Segments that arrived before the client wakes: its own FIN, sent first, acknowledges them all.
/// If they were read first, two would be acknowledged separately.
#[test]
fn a_received_end_is_answered_before_the_bytes_with_it_are_read() {
    // SYN, ClientHello, Finished with the request, and the end.
    const FEWEST: u32 = 4;
    let segments = Arc::new(Mutex::new(Vec::new()));
    let mut config = config_of(rsa(), &[&rustls::version::TLS13]);
    config.send_tls13_tickets = 0;
    let config = Arc::new(config);
    let server = Server::start({
        let segments = segments.clone();
        move |stream| {
            let mut https = Secure::accept(stream, &config)?;
            https.request()?;
            https.send(OK)?;
            await_sleep(https.stream(), LIMIT)?;
            for half in https.close_notify()?.chunks(12) {
                https.stream().write_all(half)?;
            }
            finish(https.stream())?;
            let stream = https.stream();
            let info: Option<libc::tcp_info> =
                option(stream.as_fd(), libc::IPPROTO_TCP, libc::TCP_INFO);
            segments.lock().unwrap().extend(info.map(|info| info.tcpi_segs_in));
            Ok(())
        }
    });
    // The client acknowledges separately if the server is slow.
    let deadline = Instant::now() + LIMIT;
    while !segments.lock().unwrap().contains(&FEWEST) {
        let outcome = run(one_request(https(server.address(), "/"), 10));
        assert_eq!(kinds(&outcome), [], "{}", summary(&outcome));
        assert!(Instant::now() < deadline, "{:?}", segments.lock().unwrap());
    }
    assert!(segments.lock().unwrap().iter().all(|segments| *segments >= FEWEST));
}
