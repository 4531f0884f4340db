//! Loads with ramps: when connections begin and end, and what counts. Only the earliest possible
//! times are checked, so the tests hold on the slowest of machines.

use std::io;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use cpus::CpuList;
use load::{Job, Operation, Outcome, Plan};
use units::Nanos;

use crate::scripted_server::{Plain, Server, Session};
use crate::{MILLISECOND, http, kinds, lasts, run, summary};

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// When connections began and ended.
#[derive(Default)]
struct Lives {
    begins: Vec<Instant>,
    ends: Vec<Instant>,
}

fn server() -> (Server, Arc<Mutex<Lives>>) {
    let lives = Arc::new(Mutex::new(Lives::default()));
    let noted = lives.clone();
    let server = Server::start(move |stream| {
        noted.lock().unwrap().begins.push(Instant::now());
        let mut http = Plain(stream);
        let served = (|| -> io::Result<()> {
            loop {
                http.request()?;
                http.send(OK)?;
            }
        })();
        noted.lock().unwrap().ends.push(Instant::now());
        served
    });
    (server, lives)
}

fn ramped(server: &Server, arrival: &str, connections: usize) -> Job {
    let mut job = http(server.address(), "/");
    (job.plan.arrival, job.plan.connections) = (arrival.parse().unwrap(), connections);
    job.plan.ramp = Nanos(400 * MILLISECOND);
    lasts(&mut job, Nanos(50 * MILLISECOND), Nanos(150 * MILLISECOND));
    job
}

/// Every operation meant for the window is counted once; some that started before it may have ended
/// in it too.
#[track_caller]
fn assert_all_known(outcome: &Outcome) {
    let known = outcome.completed + outcome.failures.total() + outcome.in_flight;
    assert!(outcome.arrivals.intended <= known + outcome.arrivals.waiting, "{}", summary(outcome));
}

#[test]
fn connections_come_in_turn_and_go_in_turn() {
    const CONNECTIONS: u32 = 4;
    let step = Duration::from_millis(100);
    let in_turn = |arrival| {
        let (server, lives) = server();
        let start = Instant::now();
        let outcome = run(ramped(&server, arrival, CONNECTIONS as usize));
        assert_eq!(kinds(&outcome), [], "{arrival}");
        assert_eq!((outcome.window, outcome.interrupted), (Nanos(150 * MILLISECOND), false));
        assert_all_known(&outcome);
        let deadline = Instant::now() + Duration::from_secs(60);
        while lives.lock().unwrap().ends.len() < CONNECTIONS as usize && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(2));
        }
        let mut lives = lives.lock().unwrap();
        assert_eq!((lives.begins.len(), lives.ends.len()), (4, 4), "{arrival}");
        lives.begins.sort();
        lives.ends.sort();
        let end = start + Duration::from_millis(600);
        for number in 0..CONNECTIONS {
            assert!(lives.begins[number as usize] >= start + step * number, "{arrival} {number}");
            assert!(lives.ends[number as usize] >= end + step * number, "{arrival} {number}");
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| in_turn("closed, think 10ms"));
        scope.spawn(|| in_turn("paced 20ms"));
    });
}

#[test]
fn only_the_window_counts_whatever_the_pattern() {
    let (server, _) = server();
    for operation in [Operation::Requests, Operation::OneRequestPerConnection] {
        for arrival in
            ["closed", "closed, think 5ms", "uniform 400/s", "poisson 400/s", "paced 50ms"]
        {
            let job = ramped(&server, arrival, 8);
            let job = Job {
                plan: Plan { operation, cpus: CpuList::allowed().unwrap(), ..job.plan },
                ..job
            };
            let outcome =
                run(Job { plan: Plan { ramp: Nanos(50 * MILLISECOND), ..job.plan }, ..job });
            assert_eq!(outcome.window, Nanos(150 * MILLISECOND));
            match arrival {
                "uniform 400/s" => assert!((59..=61).contains(&outcome.arrivals.intended)),
                // Three ticks of each lie in three periods.
                "paced 50ms" => assert_eq!(outcome.arrivals.intended, 24),
                _ => {}
            }
            assert_all_known(&outcome);
            assert_eq!(outcome.completed, outcome.latencies.whole.len());
        }
    }
}

#[test]
fn a_rate_grows_and_shrinks() {
    let (server, _) = server();
    // In the ramps, half as many operations begin, counted or not, as at the full rate.
    let mut job = ramped(&server, "uniform 200/s", 4);
    lasts(&mut job, Nanos(0), Nanos(400 * MILLISECOND));
    let outcome = run(job);
    assert!((79..=81).contains(&outcome.arrivals.intended), "{}", summary(&outcome));
    assert_all_known(&outcome);
}

/// Slots that leave may back off after a failure.
#[test]
fn a_load_shrinks_to_nothing_where_all_fails() {
    let server = Server::start(|_| Ok(()));
    let outcome = run(ramped(&server, "closed", 8));
    assert!(outcome.failures.total() > 0 && outcome.completed == 0, "{}", summary(&outcome));
    assert_eq!(outcome.lost, [""; 0]);
}
