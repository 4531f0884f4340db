//! How much memory an idle connection costs the client, counted by this process's allocator. The
//! kernel's buffers are not included. nextest gives each test the process of its own that this takes.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicIsize, Ordering::SeqCst};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use cpus::CpuList;
use load::{Arrival, Engine, Job, Load, OneIn, Pace, Plan, Url};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection};
use tls::{CertificateKey, Identity};
use units::Nanos;

/// The most bytes per connection.
const MOST: isize = 5 << 9;

/// The limit of each wait.
const LIMIT: Duration = Duration::from_secs(120);

/// Bytes that all threads but the server's hold.
static HELD: AtomicIsize = AtomicIsize::new(0);

thread_local! {
    static IS_SERVER: Cell<bool> = const { Cell::new(false) };
}

struct Counting;

fn count(bytes: isize) {
    // This fails only while a thread ends, and such bytes do not matter here.
    if !IS_SERVER.try_with(Cell::get).unwrap_or(true) {
        HELD.fetch_add(bytes, SeqCst);
    }
}

// SAFETY: the system's allocator does all the work; counting does not touch the memory.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Accepts one handshake after another, and keeps the connections and answers their requests; sends how
/// many it has, and how many it has answered.
fn serve(listener: &TcpListener, config: &Arc<ServerConfig>, count: &Sender<(usize, usize)>) {
    IS_SERVER.set(true);
    let mut kept: Vec<(ServerConnection, TcpStream)> = Vec::new();
    let mut answered = 0;
    listener.set_nonblocking(true).unwrap();
    loop {
        while let Ok((mut stream, _)) = listener.accept() {
            stream.set_nonblocking(false).unwrap();
            let mut connection = ServerConnection::new(config.clone()).unwrap();
            // A connection without a ClientHello ends this server.
            if connection.complete_io(&mut stream).is_err() {
                return;
            }
            stream.set_nonblocking(true).unwrap();
            kept.push((connection, stream));
        }
        answered +=
            kept.iter_mut().filter_map(|(connection, stream)| answer(connection, stream)).count();
        if count.send((kept.len(), answered)).is_err() {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Answers a request that has come.
fn answer(connection: &mut ServerConnection, stream: &mut TcpStream) -> Option<()> {
    connection.read_tls(stream).ok().filter(|count| *count > 0)?;
    connection.process_new_packets().ok()?;
    let mut request = [0; 4096];
    let length = connection.reader().read(&mut request).ok()?;
    assert!(request[..length].ends_with(b"\r\n\r\n"), "a request is one record");
    connection.writer().write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx").ok()?;
    connection.write_tls(stream).ok().map(drop)
}

fn server() -> (SocketAddr, Receiver<(usize, usize)>) {
    let identity = Identity::generate(CertificateKey::EcdsaP256).unwrap();
    let chain = CertificateDer::pem_slice_iter(&identity.certificate_pem);
    let key = PrivateKeyDer::from_pem_slice(&identity.key_pem).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain.collect::<Result<_, _>>().unwrap(), key)
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, receiver) = channel();
    std::thread::spawn(move || serve(&listener, &config, &sender));
    (address, receiver)
}

/// The bytes that this many open paced connections hold, each of which asks for something once in `every`.
fn held_by(connections: usize, every: Nanos, is_idle: impl Fn((usize, usize)) -> bool) -> isize {
    let (address, receiver) = server();
    let before = HELD.load(SeqCst);
    let hour = Nanos(3_600_000_000_000);
    let plan = Plan {
        arrival: Arrival::Paced { pace: Pace::Every(every) },
        connections,
        cpus: CpuList::from(CpuList::allowed().unwrap().as_slice()[0]),
        warmup: Some(hour),
        duration: hour,
        verify: Some(OneIn(NonZeroU32::MIN)),
        insecure: true,
        timeout: Nanos(LIMIT.as_nanos() as u64),
        ..Plan::default()
    };
    let engine = Engine::start(Job::new(plan, Url::at(true, address, "/"), address)).unwrap();
    while !is_idle(receiver.recv_timeout(LIMIT).unwrap()) {}
    let held = HELD.load(SeqCst) - before;
    engine.stop();
    let outcome = engine.join();
    drop(TcpStream::connect(address));
    let handshakes: u64 = outcome.negotiated.iter().map(|(_, count)| count).sum();
    assert_eq!(handshakes, connections as u64);
    held
}

/// What a connection holds more where there are more of them: the fixed cost of a load, such as its
/// histograms, is in both.
#[track_caller]
fn check(held_by: impl Fn(usize) -> isize) {
    let (few, many) = (50, 550);
    let each = (held_by(many) - held_by(few)) / (many - few) as isize;
    println!("{each} bytes per connection");
    // None at all would mean that nothing was counted.
    assert!((500..=MOST).contains(&each), "{each} bytes per connection");
}

#[test]
fn a_waiting_connection_costs_little() {
    // The first answer would be due in an hour, so all connections are idle.
    let hour = Nanos(3_600_000_000_000);
    check(|connections| held_by(connections, hour, |(kept, _)| kept >= connections));
}

#[test]
fn a_connection_that_waits_after_an_answer_costs_little() {
    // In this time each asks once; an answer takes no time beside it.
    let every = Nanos(2_000_000_000);
    check(|connections| held_by(connections, every, |(_, answered)| answered >= connections));
}
