//! What is counted of QUIC, beside what the server counts of the same connection.

use std::time::{Duration, Instant};

use load::{Method, QuicCounts};

use crate::http3::{answering, ok, over_http3};
use crate::scripted_server::quic::{Counted, Settings};
use crate::{kinds, run, summary};

/// Three requests with long bodies to a server that does not get one of so many datagrams.
fn sends_bodies(loses_one_in: Option<u64>) -> (QuicCounts, Counted) {
    let body = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(body.path(), vec![7; 60_000]).unwrap();
    let settings = Settings { loses_one_in, ..Settings::default() };
    let server = answering(settings, |peer, id| peer.answer(id, &ok(0)));
    let mut job = over_http3(&server);
    (job.plan.method, job.plan.body) = (Some(Method::Post), Some(body.path().into()));
    let outcome = run(job);
    assert_eq!((outcome.completed, kinds(&outcome)), (3, vec![]), "{}", summary(&outcome));
    // What was under way at the client's end still comes.
    let end = Instant::now() + Duration::from_secs(5);
    while server.counted().datagrams < outcome.quic.datagrams_sent && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(5));
    }
    (outcome.quic, server.counted())
}

#[test]
fn datagrams_and_acknowledgements_are_those_that_the_server_counts() {
    let (client, server) = sends_bodies(None);
    let of_server = server.stats;
    let sent = (client.datagrams_sent, client.bytes_sent, client.acks_sent);
    assert_eq!(sent, (server.datagrams, server.bytes, of_server.frame_rx.acks));
    // The last ones of the server may come after the client's end.
    let late = of_server.udp_tx.datagrams - client.datagrams_received;
    assert!(late <= 4 && of_server.frame_tx.acks - client.acks_received <= late, "{client:?}");
    assert!(client.sends < client.datagrams_sent, "the kernel cuts none: {client:?}");
    assert!(client.bytes_sent > 180_000 && client.longest_sent == 1_452, "{client:?}");
}

#[test]
fn packets_that_do_not_arrive_are_lost_and_so_are_their_bytes() {
    let (client, server) = sends_bodies(Some(20));
    let (lost, dropped) = (client.packets_lost, server.dropped);
    assert!(dropped > 3, "{server:?}");
    assert_eq!(client.datagrams_sent, server.datagrams);
    // Those that carry only ACK frames are not missed; a server that stood still is, for a while.
    assert!((dropped / 2..dropped * 2).contains(&lost), "{lost} lost, {dropped} dropped");
    let mean = client.bytes_lost / lost;
    assert!((600..=1_452).contains(&mean), "{mean} bytes each");
    // Of an undisturbed load none is lost, or few.
    assert!(sends_bodies(None).0.packets_lost < lost);
}
