//! What a connection that waits for its turn costs the client: bytes of its own, counted by the
//! allocator of this process. The kernel's buffers are not among them.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicIsize, Ordering::SeqCst};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use cpus::CpuList;
use load::{Arrival, Engine, Job, OneIn, Plan, Url};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection};
use tls::{CertificateKey, Identity};
use units::Nanos;

/// What a connection may cost, as the documents promise.
const MOST: isize = 12 << 10;

/// No wait of this test is longer.
const LIMIT: Duration = Duration::from_secs(120);

/// Bytes that all threads but the server's hold.
static HELD: AtomicIsize = AtomicIsize::new(0);

thread_local! {
    static IS_SERVER: Cell<bool> = const { Cell::new(false) };
}

struct Counting;

fn count(bytes: isize) {
    // Fails while a thread ends, which is none of those whose bytes matter here.
    if !IS_SERVER.try_with(Cell::get).unwrap_or(true) {
        HELD.fetch_add(bytes, SeqCst);
    }
}

// SAFETY: all is done by the system's allocator; what is counted does not touch the memory.
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

/// Makes one handshake after another and keeps the connections; says how many it has.
fn serve(listener: &TcpListener, config: &Arc<ServerConfig>, made: &Sender<usize>) {
    IS_SERVER.set(true);
    let mut kept: Vec<(ServerConnection, TcpStream)> = Vec::new();
    for stream in listener.incoming() {
        let Ok(mut stream) = stream else { return };
        let mut connection = ServerConnection::new(config.clone()).unwrap();
        // A connection that says nothing is the one that ends this server.
        if connection.complete_io(&mut stream).is_err() {
            return;
        }
        kept.push((connection, stream));
        if made.send(kept.len()).is_err() {
            return;
        }
    }
}

fn server() -> (SocketAddr, Receiver<usize>) {
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
    let (made, told) = channel();
    std::thread::spawn(move || serve(&listener, &config, &made));
    (address, told)
}

/// Bytes that so many paced connections hold, all of them open.
fn held_by(connections: usize) -> isize {
    let (address, told) = server();
    let before = HELD.load(SeqCst);
    let hour = Nanos(3_600_000_000_000);
    let plan = Plan {
        // The first answer would be due in an hour: what is counted is connections that wait.
        arrival: Arrival::Paced { every: hour },
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
    while told.recv_timeout(LIMIT).unwrap() < connections {}
    let held = HELD.load(SeqCst) - before;
    engine.stop();
    let outcome = engine.join();
    drop(TcpStream::connect(address));
    let handshakes: u64 = outcome.negotiated.iter().map(|(_, count)| count).sum();
    assert_eq!(handshakes, connections as u64);
    held
}

#[test]
fn a_waiting_connection_costs_little() {
    let (few, many) = (100, 1100);
    // What a load costs by itself, such as its histograms, is in both.
    let each = (held_by(many) - held_by(few)) / (many - few) as isize;
    println!("{each} bytes a connection");
    // None at all would mean that nothing was counted.
    assert!((500..=MOST).contains(&each), "{each} bytes a connection");
}
