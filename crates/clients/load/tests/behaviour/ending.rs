//! Connections that the client ends after a number of requests, as the server sees them.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use load::{Close, ErrorKind, Job, Outcome, Plan, Receive};
use rustls::HandshakeKind;
use units::Nanos;

use crate::scripted_server::{
    Accept, Plain, Secure, Server, Session, config, on_each_stack, reset, silence,
};
use crate::{MILLISECOND, http, https, kinds, lasts, one_in, run, summary};

/// What became of the server's connections.
#[derive(Default)]
struct Seen {
    /// By how many requests came on it.
    by_requests: BTreeMap<u32, u64>,
    /// Where the client ended it in order: over TLS with a close_notify, then by FIN.
    ended: u64,
    requests: Vec<String>,
}

struct Counting {
    server: Server,
    seen: Arc<Mutex<Seen>>,
}

/// Answers each request with `respond`, which is given its number on the connection, until the client ends
/// the connection; `None` closes it instead.
fn counting(
    accept: Accept,
    respond: impl Fn(u32, &str) -> Option<Vec<u8>> + Send + Sync + 'static,
) -> Counting {
    let seen = Arc::new(Mutex::new(Seen::default()));
    let server = Server::start({
        let seen = seen.clone();
        move |stream| {
            let mut session = accept(stream)?;
            let mut count = 0;
            let has_ended = loop {
                let request = match session.request() {
                    Ok(request) => request,
                    // Without close_notify, the TLS libraries say more than that.
                    Err(error) => {
                        let is_end = error.kind() == io::ErrorKind::UnexpectedEof;
                        break is_end && error.get_ref().is_none();
                    }
                };
                seen.lock().unwrap().requests.push(request.clone());
                match respond(count, &request) {
                    Some(response) => session.send(&response)?,
                    None => break false,
                }
                count += 1;
            };
            let is_over = has_ended && matches!(session.stream().read(&mut [0]), Ok(0));
            let mut seen = seen.lock().unwrap();
            *seen.by_requests.entry(count).or_default() += 1;
            seen.ended += u64::from(is_over);
            drop(seen);
            session.finish()
        }
    });
    Counting { server, seen }
}

impl Counting {
    /// Waits until this many connections have ended.
    fn seen(&self, connections: u64) -> std::sync::MutexGuard<'_, Seen> {
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            let seen = self.seen.lock().unwrap();
            if seen.by_requests.values().sum::<u64>() >= connections || Instant::now() > deadline {
                return seen;
            }
            drop(seen);
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

fn ok(_: u32, _: &str) -> Option<Vec<u8>> {
    Some(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".to_vec())
}

/// The generated object that the path names.
fn object(_: u32, request: &str) -> Option<Vec<u8>> {
    let size = objects::size_of(request.split(' ').nth(1)?)?;
    let mut response =
        format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", size.0).into_bytes();
    objects::write_to(&mut response, size).ok()?;
    Some(response)
}

fn plain() -> Accept {
    Arc::new(|stream: TcpStream| Ok(Box::new(Plain(stream))))
}

fn secure() -> Accept {
    let config = config();
    Arc::new(move |stream| Ok(Box::new(Secure::accept(stream, &config)?)))
}

fn ending(mut job: Job, requests: &str, operations: u64) -> Job {
    job.plan.requests_per_connection = Some(requests.parse().unwrap());
    Job { operations: Some(operations), ..job }
}

#[track_caller]
fn assert_all(outcome: &Outcome, completed: u64) {
    assert_eq!((outcome.completed, kinds(outcome)), (completed, vec![]), "{}", summary(outcome));
}

#[test]
fn a_connection_ends_after_so_many_requests_over_each_stack() {
    on_each_stack(|accept, suite| {
        for close in [Close::Fin, Close::Rst] {
            let counting = counting(accept.clone(), ok);
            let mut job = ending(https(counting.server.address(), "/"), "8", 24);
            job.plan.suite = suite.map(tls::OrPlain::Tls);
            job.plan.close = close;
            let outcome = run(job);
            assert_all(&outcome, 24);
            assert_eq!(outcome.ended.by_requests, [(8, 3)]);
            assert_eq!(outcome.latencies.connect.len(), 3, "handshakes are counted apart");
            let seen = counting.seen(3);
            assert_eq!(seen.by_requests, BTreeMap::from([(8, 3)]), "{suite:?} {close}");
            // The client announces nothing, and ends in order unless it is to reset.
            assert!(!seen.requests.iter().any(|request| request.contains("Connection:")));
            assert_eq!(seen.ended, if close == Close::Fin { 3 } else { 0 }, "{suite:?} {close}");
        }
    });
}

#[test]
fn plain_connections_end_alike() {
    let counting = counting(plain(), ok);
    let outcome = run(ending(http(counting.server.address(), "/"), "5", 20));
    assert_all(&outcome, 20);
    assert_eq!(outcome.ended.by_requests, [(5, 4)]);
    let seen = counting.seen(4);
    assert_eq!((&seen.by_requests, seen.ended), (&BTreeMap::from([(5, 4)]), 4));
}

#[test]
fn the_last_connection_of_a_number_of_operations_ends_with_the_load() {
    let counting = counting(plain(), ok);
    let outcome = run(ending(http(counting.server.address(), "/"), "8", 20));
    assert_all(&outcome, 20);
    assert_eq!((outcome.ended.by_requests, outcome.ended.by_server), (vec![(8, 2)], 0));
    assert_eq!(counting.seen(3).by_requests, BTreeMap::from([(4, 1), (8, 2)]));
}

#[test]
fn a_list_gives_each_count_its_share_of_the_connections() {
    let counting = counting(plain(), ok);
    let of = |seed| {
        let job = ending(http(counting.server.address(), "/"), "1 50%, 4 50%", 1000);
        run(Job { seed, ..job })
    };
    let outcome = of(7);
    assert_all(&outcome, 1000);
    let mut ended = outcome.ended.by_requests.clone();
    ended.sort_unstable();
    let [(1, ones), (4, fours)] = ended[..] else { panic!("{ended:?}") };
    // 1,000 requests are about 400 connections: five standard deviations are 50.
    assert!(ones.abs_diff(fours) < 100, "{ended:?}");
    {
        let seen = counting.seen(ones + fours);
        let whole = |requests| seen.by_requests.get(&requests).copied().unwrap_or_default();
        // The load may end within a connection.
        assert!(whole(1) - ones <= 1 && whole(4) == fours, "{:?} {ended:?}", seen.by_requests);
    }
    assert_eq!(of(7).ended, outcome.ended);
    assert_ne!(of(8).ended, outcome.ended);
}

/// An open loop, connections at a pace, users who think, several connections.
#[test]
fn requests_are_what_arrives_whatever_the_arrival() {
    let counting = counting(secure(), object);
    for arrival in ["uniform 400/s", "poisson 400/s", "paced 20ms", "closed, think 10ms", "closed"]
    {
        let mut job = ending(https(counting.server.address(), "/bytes/1KiB"), "3", 0);
        lasts(&mut job, Nanos(0), Nanos(500 * MILLISECOND));
        (job.plan.arrival, job.plan.connections) = (arrival.parse().unwrap(), 8);
        let outcome = run(job);
        assert_eq!(kinds(&outcome), [], "{arrival}");
        let (completed, opened) = (outcome.completed, outcome.latencies.connect.len());
        assert!(completed >= 50, "{arrival}: {}", summary(&outcome));
        if arrival.starts_with("uniform") {
            // Each arrival is a request, not a connection.
            assert_eq!(outcome.arrivals.intended, 200);
        }
        // At most three requests on each, but for those under way; the first ones of each slot carry fewer.
        assert!(opened >= completed / 3 && opened <= completed / 3 + 2 * 8, "{arrival}: {opened}");
        assert_eq!(outcome.ended.by_server, 0);
        assert!(outcome.ended.by_requests.iter().all(|(requests, _)| *requests == 3));
        assert_eq!(outcome.ended.rests, 8, "{arrival}: {:?}", outcome.ended);
    }
}

#[test]
fn objects_are_walked_and_decrypted_on_ending_connections() {
    let counting = counting(secure(), object);
    for receive in [Receive::Walk, Receive::Decrypt] {
        let mut job = ending(https(counting.server.address(), "/"), "3", 60);
        job.objects = Some("1KiB 50%, 256KiB 50%".parse().unwrap());
        (job.plan.receive, job.plan.verify) = (Some(receive), Some(one_in(4)));
        let outcome = run(job);
        assert_all(&outcome, 60);
        assert_eq!(outcome.ended.by_requests, [(3, 20)], "{receive}");
        assert!(outcome.verified.compared >= 15, "{}", summary(&outcome));
        assert_eq!(outcome.verified.walked > 0, receive == Receive::Walk);
    }
}

#[test]
fn ending_connections_resume_sessions() {
    let resumed = Arc::new(Mutex::new(0));
    let config = config();
    let accept: Accept = Arc::new({
        let resumed = resumed.clone();
        move |stream| {
            let secure = Secure::accept(stream, &config)?;
            if secure.handshake_kind() == Some(HandshakeKind::Resumed) {
                *resumed.lock().unwrap() += 1;
            }
            Ok(Box::new(secure))
        }
    });
    let counting = counting(accept, ok);
    let mut job = ending(https(counting.server.address(), "/"), "4", 80);
    job.plan.resumption = "100%".parse().unwrap();
    let outcome = run(job);
    assert_all(&outcome, 80);
    let of = |is_resumed: bool| -> u64 {
        let those = outcome.negotiated.iter().filter(|(kind, _)| kind.resumed == is_resumed);
        those.map(|(_, count)| count).sum()
    };
    assert_eq!((of(false), of(true), *resumed.lock().unwrap()), (1, 19, 19));
}

/// As nginx does at keepalive_requests: it says so in the last response.
#[test]
fn a_server_that_closes_before_is_counted_and_its_responses_count_too() {
    for (accept, is_tls) in [(plain(), false), (secure(), true)] {
        let counting = counting(accept, |number, _| match number {
            0 | 1 => ok(number, ""),
            2 => Some(
                b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok".to_vec(),
            ),
            _ => None,
        });
        // A server that says so and does not close would be waited for: this one ends with the client.
        let address = counting.server.address();
        let job = if is_tls { https(address, "/") } else { http(address, "/") };
        let mut job = ending(job, "8", 9);
        job.plan.close = Close::Rst;
        let outcome = run(job);
        assert_all(&outcome, 9);
        assert_eq!((outcome.ended.by_requests, outcome.ended.by_server), (vec![], 3));
    }
}

#[test]
fn a_server_that_closes_in_silence_between_requests_is_counted() {
    let config = config();
    let server = Server::start(move |stream| {
        let mut https = Secure::accept(stream, &config)?;
        for number in 0..2 {
            https.request()?;
            https.send(&ok(number, "").unwrap())?;
        }
        https.finish()
    });
    let mut job = ending(https(server.address(), "/"), "8", 8);
    job.plan.arrival = "closed, think 30ms".parse().unwrap();
    let outcome = run(job);
    assert_all(&outcome, 8);
    // The last one is closed by whoever comes first.
    assert!((3..=4).contains(&outcome.ended.by_server), "{:?}", outcome.ended);
}

#[test]
fn a_server_that_keeps_its_side_open_is_waited_for_a_second_and_counted() {
    let server = Server::start(|stream| {
        let mut http = Plain(stream);
        http.request()?;
        http.send(&ok(0, "").unwrap())?;
        std::thread::sleep(Duration::from_millis(1500));
        silence(http.stream())
    });
    let begun = Instant::now();
    let outcome = run(ending(http(server.address(), "/"), "1", 2));
    assert_all(&outcome, 2);
    assert!(outcome.not_closed_by_server >= 1, "{}", outcome.not_closed_by_server);
    assert!(begun.elapsed() >= Duration::from_secs(1));
}

/// As a server does that ends all its connections so.
#[test]
fn a_reset_after_the_clients_end_is_no_failure() {
    let config = config();
    let server = Server::start(move |stream| {
        let mut https = Secure::accept(stream, &config)?;
        while https.request().is_ok() {
            https.send(&ok(0, "").unwrap())?;
        }
        reset(https.stream())
    });
    let outcome = run(ending(https(server.address(), "/"), "3", 12));
    assert_all(&outcome, 12);
    assert_eq!(outcome.ended.by_requests, [(3, 4)]);
}

#[test]
fn bytes_after_the_last_response_are_too_much() {
    for close in [Close::Fin, Close::Rst] {
        let counting = counting(plain(), |number, request| {
            let mut response = ok(number, request)?;
            if number == 1 {
                response.push(b'!');
            }
            Some(response)
        });
        let mut job = ending(http(counting.server.address(), "/"), "2", 6);
        job.plan.close = close;
        let outcome = run(job);
        assert_eq!((outcome.completed, kinds(&outcome)), (3, vec![(ErrorKind::LongBody, 3)]));
        assert_eq!(outcome.ended.by_requests, []);
    }
}

#[test]
fn a_refused_last_request_is_an_error_and_ends_the_connection() {
    let counting = counting(plain(), |number, request| match number {
        1 => Some(b"HTTP/1.1 503 Busy\r\nContent-Length: 2\r\n\r\nno".to_vec()),
        _ => ok(number, request),
    });
    let outcome = run(ending(http(counting.server.address(), "/"), "2", 6));
    assert_eq!((outcome.completed, kinds(&outcome)), (3, vec![(ErrorKind::Status, 3)]));
    assert_eq!(counting.seen(3).by_requests, BTreeMap::from([(2, 3)]));
    // Before the last one, the connection goes on.
    let outcome = run(ending(http(counting.server.address(), "/"), "4", 8));
    assert_eq!((outcome.completed, kinds(&outcome)), (6, vec![(ErrorKind::Status, 2)]));
    assert_eq!(outcome.ended.by_requests, [(4, 2)]);
}

/// The first connection of each slot begins in the middle of its life where the load lasts for a time.
#[test]
fn not_all_connections_end_together() {
    let counting = counting(plain(), ok);
    let mut job = ending(http(counting.server.address(), "/"), "20", 0);
    lasts(&mut job, Nanos(0), Nanos(400 * MILLISECOND));
    job.plan = Plan { connections: 16, arrival: "paced 5ms".parse().unwrap(), ..job.plan };
    let outcome = run(job);
    assert!(outcome.ended.rests >= 12, "{:?}", outcome.ended);
    let seen = counting.seen(16);
    let firsts = seen.by_requests.keys().filter(|requests| **requests < 20).count();
    assert!(firsts >= 8, "{:?}", seen.by_requests);
}
