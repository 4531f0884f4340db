//! Sockets of slots that pause between connections. The test counts the sockets of its process, which
//! nextest gives it alone.

use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener};
use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use load::{Engine, Job, Load, OneIn, Operation, Plan, Url};
use units::Nanos;

const CONNECTIONS: usize = 20;

const SECOND: u64 = 1_000_000_000;

/// Answers one connection after another, each of which it closes.
fn serve(listener: &TcpListener) {
    for stream in listener.incoming() {
        let mut stream = stream.unwrap();
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n") {
            let mut piece = [0; 1000];
            let count = stream.read(&mut piece).unwrap();
            assert_ne!(count, 0, "no whole request");
            request.extend_from_slice(&piece[..count]);
        }
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        // A connection that was reset has ended too.
        let _ = stream.read_to_end(&mut Vec::new());
    }
}

fn sockets() -> usize {
    let links = fs::read_dir("/proc/self/fd").unwrap().filter_map(|entry| {
        // The descriptor of the folder itself is closed by now.
        fs::read_link(entry.unwrap().path()).ok()
    });
    links.filter(|link| link.to_string_lossy().starts_with("socket:")).count()
}

/// A socket whose connection is over would cause events all the time and cost CPU time.
#[test]
fn a_slot_without_a_connection_has_no_socket() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || serve(&listener));
    let before = sockets();
    let plan = Plan {
        operation: Operation::OneRequestPerConnection,
        // The users start evenly, one every 20 ms, so that all slots pause between two of them.
        arrival: "closed, think 400ms".parse().unwrap(),
        connections: CONNECTIONS,
        cpus: cpus::CpuList::from(cpus::CpuList::allowed().unwrap().as_slice()[0]),
        warmup: Some(Nanos(0)),
        duration: Nanos(120 * SECOND),
        verify: Some(OneIn(NonZeroU32::MIN)),
        timeout: Nanos(8 * SECOND),
        ..Plan::default()
    };
    let job = Job::new(plan, Url::at(false, address, "/"), address);
    let engine = Engine::start(job).unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    // With twice as many operations as connections, each slot has paused.
    while engine.progress().completed < 2 * CONNECTIONS as u64 || sockets() > before {
        assert!(Instant::now() < deadline, "{} sockets, {before} before", sockets());
        std::thread::sleep(Duration::from_millis(1));
    }
    engine.stop();
    assert_eq!(engine.join().failures.total(), 0);
}
