//! Patterns of load: each intended operation starts or is counted as waiting, and latencies are
//! right.
//!
//! Counts that follow from the job are compared exactly. Where the machine's speed matters, the
//! servers' delays are so long that no other effect reaches the limits.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::{Duration, Instant};

use cpus::CpuList;
use hdrhistogram::Histogram;
use load::{
    ArrivalCounts, ErrorKind, Job, Latencies, Operation, Outcome, PauseReason, PauseShare, Pauses,
    Plan, Wakeups,
};
use rustix::time::{ClockId, clock_gettime};
use units::Nanos;

use crate::scripted_server::{
    ALERT, Craft, DATA, Plain, Secure, Server, Session, config, finish, reset, silence,
};
use crate::{MILLISECOND, http, https, kinds, lasts, run, summary};

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// Answers every request after its `delay`; requests are numbered over all connections, and over
/// this one.
fn answer(
    session: &mut dyn Session,
    all: &AtomicU64,
    delay: impl Fn(u64, u64) -> Duration,
) -> io::Result<()> {
    answer_with(OK, session, all, delay)
}

/// The same with another response.
fn answer_with(
    response: &[u8],
    session: &mut dyn Session,
    all: &AtomicU64,
    delay: impl Fn(u64, u64) -> Duration,
) -> io::Result<()> {
    for own in 0.. {
        session.request()?;
        std::thread::sleep(delay(all.fetch_add(1, SeqCst), own));
        session.send(response)?;
    }
    Ok(())
}

/// Plain HTTP, with a delay by the numbers of a request.
fn answering(delay: impl Fn(u64, u64) -> Duration + Send + Sync + 'static) -> Server {
    answering_with(OK, delay)
}

/// The same with another response.
fn answering_with(
    response: &[u8],
    delay: impl Fn(u64, u64) -> Duration + Send + Sync + 'static,
) -> Server {
    let (response, all) = (response.to_owned(), AtomicU64::new(0));
    Server::start(move |stream| answer_with(&response, &mut Plain(stream), &all, &delay))
}

fn at_once(_: u64, _: u64) -> Duration {
    Duration::ZERO
}

/// A server that stalls for half a second, on all connections, at its `first`-th request.
fn stopping(first: u64) -> impl Fn(u64, u64) -> Duration + Send + Sync + 'static {
    let end: Mutex<Option<Instant>> = Mutex::new(None);
    move |number, _| {
        let mut end = end.lock().unwrap();
        if number == first {
            *end = Some(Instant::now() + Duration::from_millis(500));
        }
        end.map_or(Duration::ZERO, |end| end.saturating_duration_since(Instant::now()))
    }
}

/// When a load ends.
enum Stop {
    After { warmup: Nanos, duration: Nanos },
    Operations(u64),
}

fn with(mut job: Job, arrival: &str, connections: usize, stop: Stop) -> Job {
    (job.plan.arrival, job.plan.connections) = (arrival.parse().unwrap(), connections);
    match stop {
        Stop::Operations(count) => job.operations = Some(count),
        Stop::After { warmup, duration } => lasts(&mut job, warmup, duration),
    }
    job
}

fn lasting(milliseconds: u64) -> Stop {
    Stop::After { warmup: Nanos(0), duration: Nanos(milliseconds * MILLISECOND) }
}

/// How many are longer than this.
fn longer(latencies: &Histogram<u64>, milliseconds: u64) -> u64 {
    latencies.count_between(milliseconds * MILLISECOND, u64::MAX)
}

/// Each arrival is counted once.
#[track_caller]
fn assert_adds_up(outcome: &Outcome) {
    let ArrivalCounts { intended, waiting, .. } = outcome.arrivals;
    let ended = outcome.completed + outcome.failures.total();
    assert_eq!(intended, ended + outcome.in_flight + waiting, "{}", summary(outcome));
}

#[test]
fn a_stall_of_the_server_shows_in_the_latency_of_all_arrivals_meanwhile() {
    const CONNECTIONS: usize = 4;
    let all = AtomicU64::new(0);
    let (delay, config) = (stopping(100), config());
    let secure =
        Server::start(move |stream| answer(&mut Secure::accept(stream, &config)?, &all, &delay));
    let plain = answering(stopping(100));
    for job in [http(plain.address(), "/"), https(secure.address(), "/")] {
        let job = with(job, "uniform 400/s", CONNECTIONS, Stop::Operations(400));
        let outcome = run(job);
        assert_eq!((outcome.completed, kinds(&outcome)), (400, vec![]));
        let (whole, service) = (&outcome.latencies.whole, &outcome.latencies.service);
        assert_eq!((whole.len(), service.len()), (400, 400));
        // Of the 200 that were meant to start within that half second, half had to wait for more than
        // half of it. Only the requests that the server had already received have a long service
        // time.
        let (waited, served) = (longer(whole, 250), longer(service, 250));
        assert!(waited >= 95, "{waited} of 400 took long");
        assert!(served >= 1 && served * 4 < waited, "{served} of {waited} were served long");
        assert!(whole.value_at_quantile(0.85) > 250 * MILLISECOND);
        assert!(service.value_at_quantile(0.85) < 250 * MILLISECOND);
    }
}

#[test]
fn a_closed_loop_sends_fewer_requests_to_a_server_that_stalls() {
    let server = answering(stopping(200));
    let outcome = run(with(http(server.address(), "/"), "closed", 4, Stop::Operations(800)));
    assert_eq!((outcome.completed, kinds(&outcome)), (800, vec![]));
    let slow = longer(&outcome.latencies.whole, 250);
    assert!((1..24).contains(&slow), "{slow} of 800 took long");
    assert!(outcome.latencies.service.is_empty());
    assert_eq!((outcome.arrivals.waiting, outcome.arrivals.deadline_misses), (0, 0));
}

#[test]
fn a_known_latency_distribution_is_measured() {
    // One response in ten takes 150 ms, one in a hundred 450 ms.
    let delay = |number: u64, _| match (number % 100, number % 10) {
        (50, _) => Duration::from_millis(450),
        (_, 5) => Duration::from_millis(150),
        _ => Duration::ZERO,
    };
    let server = answering(delay);
    let outcome = run(with(http(server.address(), "/"), "poisson 400/s", 64, lasting(2000)));
    assert_eq!(kinds(&outcome), []);
    assert_adds_up(&outcome);
    let done = outcome.completed as f64;
    for latencies in
        [&outcome.latencies.whole, &outcome.latencies.first_byte, &outcome.latencies.service]
    {
        let share = |milliseconds| longer(latencies, milliseconds) as f64 / done;
        // 11 and 1 in a hundred; the last few of the window are missing.
        assert!((0.08..0.2).contains(&share(149)), "{}", share(149));
        assert!((0.005..0.1).contains(&share(449)), "{}", share(449));
        assert!(latencies.value_at_quantile(0.5) < 149 * MILLISECOND);
    }
}

#[test]
fn arrivals_without_a_free_connection_are_counted_as_waiting() {
    let server = Server::start(|mut stream| silence(&mut stream));
    let outcome = run(with(http(server.address(), "/"), "uniform 100/s", 2, lasting(300)));
    assert_eq!(outcome.arrivals.intended, 30);
    assert_eq!((outcome.completed, kinds(&outcome)), (0, vec![]));
    assert!(outcome.in_flight <= 2, "{}", summary(&outcome));
    assert_adds_up(&outcome);
}

#[test]
fn every_arrival_of_an_open_loop_is_counted() {
    let server = answering(|_, _| Duration::from_millis(5));
    let config = config();
    let secure = Server::start(move |stream| {
        answer(&mut Secure::accept(stream, &config)?, &AtomicU64::new(0), at_once)
    });
    for operation in
        [Operation::Requests, Operation::Handshakes, Operation::OneRequestPerConnection]
    {
        for arrival in ["uniform 500/s", "poisson 500/s", "paced 20ms"] {
            let job = match operation {
                Operation::Requests => http(server.address(), "/"),
                _ => https(secure.address(), "/"),
            };
            let job = with(
                Job { plan: Plan { operation, ..job.plan }, ..job },
                arrival,
                10,
                lasting(160),
            );
            let job = Job { plan: Plan { cpus: CpuList::allowed().unwrap(), ..job.plan }, ..job };
            let outcome = run(job);
            assert_adds_up(&outcome);
            match arrival {
                "poisson 500/s" => assert!((40..130).contains(&outcome.arrivals.intended)),
                _ => assert_eq!(outcome.arrivals.intended, 80, "{operation} {arrival}"),
            }
        }
    }
}

#[test]
fn equal_seeds_make_equal_arrivals() {
    let server = answering(at_once);
    let intended = |seed| {
        let job = with(http(server.address(), "/"), "poisson 2000/s", 8, lasting(300));
        run(Job { seed, ..job }).arrivals.intended
    };
    let first = intended(1);
    assert_eq!(intended(1), first);
    // A Poisson count of 600 has a standard deviation of 25; the counts of these two seeds are
    // within the limits.
    assert_ne!(intended(2), first);
    assert!((450..750).contains(&first), "{first}");
}

#[test]
fn paced_connections_are_opened_once_and_each_asks_at_every_tick() {
    let config = config();
    let server = Server::start(move |stream| {
        answer(&mut Secure::accept(stream, &config)?, &AtomicU64::new(0), at_once)
    });
    let stop =
        Stop::After { warmup: Nanos(1000 * MILLISECOND), duration: Nanos(800 * MILLISECOND) };
    let job = with(https(server.address(), "/"), "paced 200ms", 100, stop);
    let outcome = run(Job { plan: Plan { cpus: CpuList::allowed().unwrap(), ..job.plan }, ..job });
    assert_eq!(kinds(&outcome), []);
    // Four ticks of each lie in a window of four periods, wherever its phase is.
    assert_eq!(outcome.arrivals.intended, 400);
    // A slow machine may not have opened all by then, but none is opened twice.
    let handshakes: u64 = outcome.negotiated.iter().map(|(_, count)| count).sum();
    assert!((65..=100).contains(&handshakes), "{handshakes}");
    assert!((handshakes..=100).contains(&server.connections()), "{}", server.connections());
}

#[test]
fn a_late_response_and_those_waiting_for_it_miss_their_deadlines() {
    // On each connection the third response takes two and a half periods: the deadlines of the
    // third and of the fourth pass meanwhile.
    let delay = |_, own: u64| Duration::from_millis(if own == 2 { 500 } else { 0 });
    let server = answering(delay);
    let job = with(http(server.address(), "/"), "paced 200ms", 10, Stop::Operations(80));
    let outcome = run(job);
    assert_eq!((outcome.completed, kinds(&outcome)), (80, vec![]));
    let misses = outcome.arrivals.deadline_misses;
    assert!((20..=40).contains(&misses), "{misses}");
    // Latency counts from the tick: the fourth waited for 300 ms and was then answered at once.
    let (whole, service) = (&outcome.latencies.whole, &outcome.latencies.service);
    assert!(longer(whole, 290) >= 20, "{}", longer(whole, 290));
    assert!((10..15).contains(&longer(service, 290)), "{}", longer(service, 290));
    // The ticks did not move: eight ticks of ten connections take at least this long.
    assert!(outcome.window >= Nanos(7 * 200 * MILLISECOND));
}

/// Without pauses: where latencies must be exact, buffers would fill, or a pause would cost more
/// wake-ups than it saves.
#[test]
fn a_closed_loop_of_many_quick_operations_lets_one_wake_up_serve_several() {
    // The delays differ; otherwise users that began together would stay in step.
    let slow = |number, _| Duration::from_millis(64 + number % 16);
    let server = answering(slow);
    let body = "a".repeat(65 << 10);
    let response = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    let long = answering_with(response.as_bytes(), slow);
    let asked = |share| Some(Pauses { share, reason: PauseReason::Asked });
    let usual = Some(Pauses { share: PauseShare::Short, reason: PauseReason::Untried });
    for (server, arrival, connections, wakeups, expected) in [
        (&server, "closed", 64, None, usual),
        (&server, "closed", 63, None, None),
        (&server, "closed, think 1us", 64, None, None),
        (&server, "uniform 2000/s", 64, None, None),
        (&server, "paced 70ms", 64, None, None),
        (&long, "closed", 64, None, None),
        (&server, "closed", 64, Some(Wakeups::Each), None),
        (&server, "closed", 64, Some(Wakeups::ThirtySecond), asked(PauseShare::Short)),
        (&server, "closed", 16, Some(Wakeups::Quarter), asked(PauseShare::Longest)),
        (&server, "closed", 15, Some(Wakeups::Quarter), None),
        (&server, "closed", 31, Some(Wakeups::Eighth), None),
        (&server, "closed", 32, Some(Wakeups::Eighth), asked(PauseShare::Long)),
    ] {
        let mut job = http(server.address(), "/");
        job.plan.wakeups = wakeups;
        let outcome = run(with(job, arrival, connections, Stop::Operations(320)));
        assert_eq!((outcome.completed, kinds(&outcome)), (320, vec![]), "{}", summary(&outcome));
        let Latencies { coalescing: Nanos(pause), .. } = &outcome.latencies;
        assert_eq!(outcome.pauses, expected, "{arrival}, {connections}: {pause} ns");
        assert_eq!(*pause > 0, expected.is_some(), "{arrival}, {connections}: {pause} ns");
    }
}

#[test]
fn what_a_thread_that_never_sleeps_polls_in_vain_is_not_its_work() {
    let server = answering(|_, _| Duration::from_millis(40));
    for arrival in ["closed", "uniform 100/s"] {
        let mut job = with(http(server.address(), "/"), arrival, 4, Stop::Operations(20));
        job.plan.wakeups = Some(Wakeups::None);
        let before = clock_gettime(ClockId::ProcessCPUTime);
        let outcome = run(job);
        let used = clock_gettime(ClockId::ProcessCPUTime) - before;
        assert_eq!((outcome.completed, kinds(&outcome)), (20, vec![]), "{}", summary(&outcome));
        let [thread] = &outcome.threads[..] else { panic!("{:?}", outcome.threads) };
        let work = Duration::from(thread.on_cpu);
        // It was busy from its first moment to its last, mostly with nothing.
        let polled = Duration::try_from(used).unwrap();
        assert!(work > Duration::ZERO && polled > 2 * work, "{work:?} of {polled:?}, {arrival}");
    }
}

#[test]
fn users_think_before_they_ask_again() {
    let server = answering(at_once);
    let job = with(http(server.address(), "/"), "closed, think 30ms", 2, Stop::Operations(20));
    let outcome = run(job);
    assert_eq!((outcome.completed, kinds(&outcome)), (20, vec![]));
    // Twenty operations of two users have nine pauses one after another.
    assert!(outcome.window >= Nanos(9 * 30 * MILLISECOND), "{}", outcome.window);
    assert_eq!((server.connections(), outcome.latencies.service.len()), (2, 0));
}

#[test]
fn a_server_that_closes_idle_connections_is_no_failure() {
    let server = Server::start(|stream| {
        let mut http = Plain(stream);
        http.request()?;
        http.send(OK)?;
        finish(&mut http.0)
    });
    // The second request comes 250 ms after the first, long after the close.
    for arrival in ["uniform 4/s", "paced 250ms", "closed, think 250ms"] {
        let before = server.connections();
        let outcome = run(with(http(server.address(), "/"), arrival, 1, Stop::Operations(2)));
        assert_eq!((outcome.completed, kinds(&outcome)), (2, vec![]), "{arrival}");
        assert_eq!(server.connections() - before, 2, "{arrival}");
    }
}

const TIMEOUT: &[u8] =
    b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

/// A server that waits for no further request may say so (RFC 9110, section 15.5.9), reset the connection, or end it by
/// alerts. No operation has failed.
#[test]
fn however_an_idle_connection_ends_no_operation_fails() {
    type End = fn(&mut Craft) -> io::Result<()>;
    let ends: [(&str, End); 4] = [
        ("408", |craft| craft.send(DATA, TIMEOUT, 0)),
        ("reset", |craft| reset(&craft.stream)),
        ("user_canceled", |craft| {
            craft.send(ALERT, &[1, 90], 0)?;
            craft.send(ALERT, &[1, 0], 0)
        }),
        ("internal_error", |craft| craft.send(ALERT, &[2, 80], 0)),
    ];
    for (name, end) in ends {
        let config = config();
        let server = Server::start(move |stream| {
            let mut tls = Secure::accept(stream, &config)?;
            tls.request()?;
            let mut craft = tls.craft()?;
            craft.send(DATA, OK, 0)?;
            std::thread::sleep(Duration::from_millis(50));
            end(&mut craft)
        });
        let job = with(https(server.address(), "/"), "uniform 4/s", 1, Stop::Operations(2));
        let outcome = run(job);
        assert_eq!((outcome.completed, kinds(&outcome)), (2, vec![]), "{name}");
        assert_eq!((outcome.arrivals.failed_connections, outcome.sent_again), (0, 0), "{name}");
    }
    let server = Server::start(move |stream| {
        let mut http = Plain(stream);
        http.request()?;
        http.send(OK)?;
        std::thread::sleep(Duration::from_millis(50));
        http.send(TIMEOUT)?;
        finish(&mut http.0)
    });
    for arrival in ["uniform 4/s", "paced 250ms", "closed, think 250ms"] {
        let outcome = run(with(http(server.address(), "/"), arrival, 1, Stop::Operations(2)));
        assert_eq!((outcome.completed, kinds(&outcome)), (2, vec![]), "{arrival}");
        assert_eq!((outcome.arrivals.failed_connections, outcome.sent_again), (0, 0), "{arrival}");
    }
}

/// What comes sooner after a request than the connection had been idle before was on its way: the request is sent
/// again. Else 408 is the answer to it.
#[test]
fn a_request_may_cross_the_408_of_an_idle_connection() {
    let server = || {
        Server::start(|stream| {
            let mut http = Plain(stream);
            http.request()?;
            http.send(OK)?;
            http.request()?;
            std::thread::sleep(Duration::from_millis(20));
            http.send(TIMEOUT)?;
            finish(&mut http.0)
        })
    };
    let crossing = server();
    let outcome = run(with(http(crossing.address(), "/"), "uniform 4/s", 1, Stop::Operations(2)));
    assert_eq!((outcome.completed, kinds(&outcome)), (2, vec![]), "{}", summary(&outcome));
    assert_eq!((outcome.sent_again, crossing.connections()), (1, 2));
    let answering = server();
    let outcome = run(http(answering.address(), "/"));
    assert_eq!((outcome.completed, kinds(&outcome)), (2, vec![(ErrorKind::Status, 1)]));
    assert_eq!(outcome.sent_again, 0);
}

#[test]
fn unrequested_bytes_on_an_idle_connection_are_a_failure() {
    let server = Server::start(|stream| {
        let mut http = Plain(stream);
        http.request()?;
        http.send(OK)?;
        std::thread::sleep(Duration::from_millis(50));
        http.send(OK)?;
        silence(&mut http.0)
    });
    // Half a second after the answer the connection is idle, and the next request is not due yet.
    let job = with(http(server.address(), "/"), "uniform 1/s", 1, lasting(900));
    let outcome = run(job);
    assert_eq!((outcome.completed, kinds(&outcome)), (1, vec![(ErrorKind::LongBody, 1)]));
}

#[test]
fn arrivals_at_a_dead_server_fail_one_by_one() {
    let dead = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
    for arrival in ["poisson 1000/s", "paced 10ms", "closed, think 1ms"] {
        let outcome = run(with(http(dead, "/"), arrival, 5, Stop::Operations(30)));
        assert_eq!((outcome.completed, kinds(&outcome)), (0, vec![(ErrorKind::Refused, 30)]));
    }
}

#[test]
fn a_window_ends_in_time_whatever_waits() {
    let mute = Server::start(|mut stream| silence(&mut stream));
    for arrival in ["uniform 100000/s", "poisson 100000/s", "paced 1ms", "closed, think 1ms"] {
        let address: SocketAddr = mute.address();
        // Over TLS no connection is even opened.
        for job in [http(address, "/"), https(address, "/")] {
            let outcome = run(with(job, arrival, 20, lasting(100)));
            assert_eq!((outcome.completed, kinds(&outcome)), (0, vec![]));
            match arrival {
                "closed, think 1ms" => assert_eq!(outcome.arrivals.waiting, 0),
                _ => assert_adds_up(&outcome),
            }
        }
    }
}
