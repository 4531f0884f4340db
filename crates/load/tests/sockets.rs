//! Sockets of connections that have rests between them. Alone in its process, whose sockets it counts.

use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener};
use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use load::{Engine, Job, OneIn, Operation, Plan, Url};
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
        // Whoever is told of a reset has ended too.
        let _ = stream.read_to_end(&mut Vec::new());
    }
}

fn sockets() -> usize {
    let links = fs::read_dir("/proc/self/fd").unwrap().filter_map(|entry| {
        // The folder's own descriptor is gone by now.
        fs::read_link(entry.unwrap().path()).ok()
    });
    links.filter(|link| link.to_string_lossy().starts_with("socket:")).count()
}

/// A socket whose connection is over would tell of that again and again, and cost CPU time.
#[test]
fn a_slot_that_has_a_rest_has_no_socket() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || serve(&listener));
    let before = sockets();
    let plan = Plan {
        operation: Operation::OneRequestPerConnection,
        // The users come evenly, one each 50 ms, so that between two of them all have a rest.
        arrival: "closed, think 1s".parse().unwrap(),
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
    // Twice as many operations as there are connections: each of these has had a rest.
    while engine.progress().completed < 2 * CONNECTIONS as u64 || sockets() > before {
        assert!(Instant::now() < deadline, "{} sockets, {before} before", sockets());
        std::thread::sleep(Duration::from_millis(1));
    }
    engine.stop();
    assert_eq!(engine.join().failures.total(), 0);
}
