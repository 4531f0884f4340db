//! What is counted of QUIC, beside what passed on the way and what the server counts of the same connection.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use load::{Method, QuicCounts};
use quinn_proto::ConnectionStats;

use crate::http3::{answering, ok, over_http3};
use crate::http3_paths::through;
use crate::scripted_server::quic::Settings;
use crate::scripted_server::relay::{Relay, Sender};
use crate::{kinds, run, summary};

/// What the client has sent, as the relay saw it.
#[derive(Debug, Default, Clone, Copy)]
struct Passed {
    datagrams: u64,
    bytes: u64,
    lost: u64,
}

/// Three requests with long bodies by way of a relay, which loses every datagram of the client whose number is a
/// multiple of `loses`.
fn sends_bodies(loses: Option<u64>) -> (QuicCounts, Passed, ConnectionStats) {
    let body = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(body.path(), vec![7; 60_000]).unwrap();
    let server = answering(Settings::default(), |peer, id| peer.answer(id, &ok(0)));
    let passed = Arc::new(Mutex::new(Passed::default()));
    let counted = Arc::clone(&passed);
    let relay = Relay::start(server.address, move |ends, sender, datagram| {
        if sender == Sender::Client {
            let mut passed = counted.lock().unwrap();
            passed.datagrams += 1;
            passed.bytes += datagram.len() as u64;
            if loses.is_some_and(|number| passed.datagrams.is_multiple_of(number)) {
                passed.lost += 1;
                return;
            }
        }
        ends.pass(sender, datagram);
    });
    let mut job = through(&relay, over_http3(&server));
    (job.plan.method, job.plan.body) = (Some(Method::Post), Some(body.path().into()));
    let outcome = run(job);
    assert_eq!((outcome.completed, kinds(&outcome)), (3, vec![]), "{}", summary(&outcome));
    // What was under way at the client's end still comes. The server does not count the first.
    let end = Instant::now() + Duration::from_secs(5);
    loop {
        let (passed, stats) = (*passed.lock().unwrap(), server.stats());
        let has_come = stats.udp_rx.datagrams + 1 + passed.lost == outcome.quic.datagrams_sent;
        if has_come || Instant::now() > end {
            return (outcome.quic, passed, stats);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn datagrams_and_acknowledgements_are_those_that_the_server_counts() {
    let (client, passed, server) = sends_bodies(None);
    let sent = (client.datagrams_sent, client.bytes_sent, client.acks_sent);
    assert_eq!(sent, (passed.datagrams, passed.bytes, server.frame_rx.acks));
    // The last ones of the server may come after the client's end.
    let late = server.udp_tx.datagrams - client.datagrams_received;
    assert!(late <= 4 && server.frame_tx.acks - client.acks_received <= late, "{client:?}");
    assert!(client.sends < client.datagrams_sent, "the kernel cuts none: {client:?}");
    assert!(client.bytes_sent > 180_000 && client.longest_sent == 1_452, "{client:?}");
}

#[test]
fn packets_that_do_not_arrive_are_lost_and_so_are_their_bytes() {
    let (client, passed, _) = sends_bodies(Some(20));
    let (lost, dropped) = (client.packets_lost, passed.lost);
    assert!(dropped > 3, "{passed:?}");
    assert_eq!(client.datagrams_sent, passed.datagrams);
    // Those that carry only ACK frames are not missed; a server that stood still is, for a while.
    assert!((dropped / 2..dropped * 2).contains(&lost), "{lost} lost, {dropped} dropped");
    let mean = client.bytes_lost / lost;
    assert!((600..=1_452).contains(&mean), "{mean} bytes each");
    // Of an undisturbed load none is lost, or few.
    assert!(sends_bodies(None).0.packets_lost < lost);
}
