//! Handshakes that resume sessions: as many as asked for, counted apart from full ones.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier, mpsc};

use cpus::CpuList;
use load::{
    Collected, Count, Engine, Job, KeyExchangeMode, Load, Operation, Outcome, Plan, SessionsGiven,
};
use rustls::HandshakeKind;
use rustls::server::NoServerSessionStorage;
use rustls::version::{TLS12, TLS13};
use tls::{Group, OrPlain, Stack, Suite, Version};
use units::Nanos;

use crate::scripted_server::{
    Gives, Legacy, Secure, Server, Session, config, config_of, ecdsa, resuming_acceptor, rsa,
    silence,
};
use crate::{MILLISECOND, assert_completes, https, kinds, one_in, run, summary};

/// Answers one request, if one comes, and closes.
fn server(is_resuming: bool) -> (Server, Arc<AtomicU64>) {
    let resumed = Arc::new(AtomicU64::new(0));
    let mut config = config_of(ecdsa(), &[&TLS12, &TLS13]);
    if !is_resuming {
        config.session_storage = Arc::new(NoServerSessionStorage {});
    }
    let (config, counted) = (Arc::new(config), resumed.clone());
    let server = Server::start(move |stream| {
        let mut https = Secure::accept(stream, &config)?;
        if https.handshake_kind() == Some(HandshakeKind::Resumed) {
            counted.fetch_add(1, SeqCst);
        }
        if https.request().is_ok() {
            https.send(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok")?;
        }
        https.finish()
    });
    (server, resumed)
}

fn plan(server: &Server, version: Version, operation: Operation, resumption: &str) -> Job {
    let mut job = https(server.address(), "/");
    job.plan.tls = Some(OrPlain::Tls(version));
    job.plan.resumption = resumption.parse().unwrap();
    job.plan.operation = operation;
    job.plan.verify = Some(one_in(1));
    job.operations = Some(40);
    job
}

/// Full and resumed handshakes.
fn kinds_of_handshake(outcome: &Outcome) -> (u64, u64) {
    let count = |is_resumed: bool| {
        let those =
            outcome.negotiated.iter().filter(|(negotiated, _)| negotiated.resumed == is_resumed);
        those.map(|(_, count)| count).sum()
    };
    (count(false), count(true))
}

const OPERATIONS: [Operation; 2] = [Operation::Handshakes, Operation::OneRequestPerConnection];

#[test]
fn all_resume_but_the_first() {
    let (server, resumed) = server(true);
    for version in [Version::Tls12, Version::Tls13] {
        for operation in OPERATIONS {
            let before = resumed.load(SeqCst);
            let outcome = run(plan(&server, version, operation, "100%"));
            assert_eq!((outcome.completed, kinds(&outcome)), (40, vec![]), "{version} {operation}");
            let (full, again) = kinds_of_handshake(&outcome);
            assert_eq!(full, 1, "{version} {operation}");
            // The connection after the last operation may have been begun.
            assert!((39..=40).contains(&again), "{again}");
            assert!((39..=40).contains(&(resumed.load(SeqCst) - before)));
            // A resumed handshake has no signature to verify.
            assert_eq!(outcome.verified.signatures, 1);
            assert_eq!(outcome.latencies.connect_full().len(), 1);
            assert!((39..=40).contains(&outcome.latencies.connect_resumed.len()));
        }
    }
}

#[test]
fn the_share_that_is_asked_for_resumes() {
    let (server, _) = server(true);
    for (resumption, expected) in [("0%", 0..=0), ("50%", 18..=21), ("70%", 26..=29)] {
        for operation in OPERATIONS {
            let outcome = run(plan(&server, Version::Tls13, operation, resumption));
            assert_eq!((outcome.completed, kinds(&outcome)), (40, vec![]));
            let (_, again) = kinds_of_handshake(&outcome);
            assert!(expected.contains(&again), "{again} of {resumption}");
        }
    }
}

#[test]
fn there_are_enough_tickets_for_many_connections() {
    let (server, _) = server(true);
    let job = plan(&server, Version::Tls13, Operation::OneRequestPerConnection, "100%");
    let outcome =
        run(Job { operations: Some(200), plan: Plan { connections: 20, ..job.plan }, ..job });
    assert_eq!((outcome.completed, kinds(&outcome)), (200, vec![]));
    // The first handshakes of the slots have nothing to resume.
    let (full, again) = kinds_of_handshake(&outcome);
    assert!(full <= 20 && again >= 180, "{full} full, {again} resumed");
}

#[test]
fn a_load_of_so_many_operations_collects_its_tickets_first() {
    for (is_resuming, expected) in [(true, (0, 60)), (false, (60, 0))] {
        let (server, resumed) = server(is_resuming);
        for operation in OPERATIONS {
            let before = resumed.load(SeqCst);
            let job = plan(&server, Version::Tls13, operation, "100%");
            let plan = Plan { connections: 8, count: Count::of(60), ..job.plan };
            let outcome = run(Job { operations: None, plan, ..job });
            assert_eq!((outcome.completed, kinds(&outcome)), (60, vec![]), "{operation}");
            assert_eq!(kinds_of_handshake(&outcome), expected, "{operation}");
            assert_eq!(resumed.load(SeqCst) - before, expected.1, "{operation}");
            let Collected { given, connections } = outcome.collected.unwrap();
            assert_eq!((given.tickets >= 8, connections), (is_resuming, 8), "{operation}");
            assert_eq!(outcome.sessions_offered, expected.1, "{operation}");
        }
    }
    // Where nothing is to be resumed, nothing is collected.
    let (server, _) = server(true);
    let job = plan(&server, Version::Tls13, Operation::Handshakes, "0%");
    let plan = Plan { count: Count::of(3), ..job.plan };
    assert_eq!(run(Job { operations: None, plan, ..job }).collected, None);
    assert_eq!(server.connections(), 3);
}

#[test]
fn every_group_resumes() {
    let (server, _) = server(true);
    for group in Group::ALL.into_iter().filter(|group| Stack::RustlsAwsLc.has_group(*group)) {
        let mut job = plan(&server, Version::Tls13, Operation::Handshakes, "100%");
        job.plan.group = Some(group);
        job.operations = Some(3);
        let outcome = run(job);
        assert_eq!((outcome.completed, kinds(&outcome)), (3, vec![]), "{group}");
        assert!(kinds_of_handshake(&outcome).1 >= 2, "{group}");
        assert!(outcome.negotiated.iter().all(|(negotiated, _)| negotiated.group == Some(group)));
    }
}

#[test]
fn a_server_that_never_resumes_is_reported() {
    let (server, resumed) = server(false);
    for version in [Version::Tls12, Version::Tls13] {
        let outcome = run(plan(&server, version, Operation::OneRequestPerConnection, "100%"));
        assert_eq!((outcome.completed, kinds_of_handshake(&outcome).1), (40, 0), "{version}");
    }
    assert_eq!(resumed.load(SeqCst), 0);
}

/// A server of OpenSSL with one suite and this means of resumption, and its count of resumed
/// handshakes. It answers a request, if one comes, and closes.
fn legacy(suite: &str, gives: Gives) -> (Server, Arc<AtomicU64>) {
    let acceptor = resuming_acceptor(rsa(), Suite::parse(suite).unwrap(), gives);
    let resumed = Arc::new(AtomicU64::new(0));
    let counted = resumed.clone();
    let server = Server::start(move |stream| {
        let mut https = Legacy::accept(stream, &acceptor)?;
        counted.fetch_add(https.is_resumed().into(), SeqCst);
        if https.request().is_ok() {
            https.send(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok")?;
        }
        https.finish()
    });
    (server, resumed)
}

const LEGACY: [&str; 4] =
    ["AES128-SHA", "AES256-GCM-SHA384", "ECDHE-RSA-AES128-SHA", "ECDHE-RSA-AES256-SHA384"];

fn legacy_plan(server: &Server, suite: &str, operation: Operation, resumption: &str) -> Job {
    let mut job = plan(server, Version::Tls12, operation, resumption);
    job.plan.suite = Some(OrPlain::Tls(Suite::parse(suite).unwrap()));
    job
}

#[test]
fn cbc_and_static_rsa_resume_by_ticket_and_by_session_id() {
    for suite in LEGACY {
        for gives in [Gives::Tickets, Gives::SessionIds] {
            let (server, resumed) = legacy(suite, gives);
            for operation in OPERATIONS {
                let before = resumed.load(SeqCst);
                let outcome = run(legacy_plan(&server, suite, operation, "100%"));
                assert_eq!((outcome.completed, kinds(&outcome)), (40, vec![]), "{suite} {gives:?}");
                let (full, again) = kinds_of_handshake(&outcome);
                assert!(full == 1 && (39..=40).contains(&again), "{suite} {gives:?} {again}");
                assert!((39..=40).contains(&(resumed.load(SeqCst) - before)));
                assert_eq!(outcome.latencies.connect_full().len(), 1);
                // A resumed handshake has no key exchange.
                let mut again =
                    outcome.negotiated.iter().filter(|(negotiated, _)| negotiated.resumed);
                assert!(again.all(|(negotiated, _)| negotiated.group.is_none()));
            }
        }
    }
}

#[test]
fn with_cbc_too_the_share_that_is_asked_for_resumes() {
    let (server, _) = legacy("AES128-SHA", Gives::Tickets);
    for (resumption, expected) in [("0%", 0..=0), ("50%", 18..=21), ("70%", 26..=29)] {
        let outcome = run(legacy_plan(&server, "AES128-SHA", Operation::Handshakes, resumption));
        assert_eq!((outcome.completed, kinds(&outcome)), (40, vec![]));
        let (_, again) = kinds_of_handshake(&outcome);
        assert!(expected.contains(&again), "{again} of {resumption}");
    }
}

#[test]
fn an_openssl_server_that_never_resumes_is_reported() {
    let (server, resumed) = legacy("AES128-SHA", Gives::Nothing);
    for operation in OPERATIONS {
        let outcome = run(legacy_plan(&server, "AES128-SHA", operation, "100%"));
        assert_eq!((outcome.completed, kinds_of_handshake(&outcome).1), (40, 0));
    }
    assert_eq!(resumed.load(SeqCst), 0);
}

/// rustls's servers with one means of resumption each; [`server`] uses session identifiers.
#[test]
fn tls12_resumes_by_ticket_without_a_session_cache() {
    let resumed = Arc::new(AtomicU64::new(0));
    let mut config = config_of(ecdsa(), &[&TLS12]);
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.ticketer = rustls::crypto::ring::Ticketer::new().unwrap();
    let (config, counted) = (Arc::new(config), resumed.clone());
    let server = Server::start(move |stream| {
        let mut https = Secure::accept(stream, &config)?;
        counted.fetch_add((https.handshake_kind() == Some(HandshakeKind::Resumed)).into(), SeqCst);
        // The client's close comes first.
        assert!(https.request().is_err());
        https.finish()
    });
    let outcome = run(plan(&server, Version::Tls12, Operation::Handshakes, "100%"));
    assert_eq!((outcome.completed, kinds(&outcome)), (40, vec![]));
    assert!(
        (39..=40).contains(&kinds_of_handshake(&outcome).1)
            && (39..=40).contains(&resumed.load(SeqCst))
    );
}

#[test]
fn kept_connections_take_tickets_too() {
    let config = Arc::new(config_of(ecdsa(), &[&TLS13]));
    let server = Server::start(move |stream| {
        let mut https = Secure::accept(stream, &config)?;
        loop {
            https.request()?;
            https.send(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")?;
        }
    });
    let mut job = https(server.address(), "/");
    job.plan.resumption = "100%".parse().unwrap();
    assert_completes(job, 2);
}

/// The same load as an exact number of operations, for which sessions are collected first.
fn counted(job: Job, count: u32) -> Outcome {
    let plan = Plan { count: Count::of(count), ..job.plan };
    let outcome = run(Job { operations: None, plan, ..job });
    assert_eq!((outcome.completed, kinds(&outcome)), (count.into(), vec![]));
    outcome
}

#[test]
fn each_ticket_of_tls13_counts_whether_it_is_used_or_not() {
    for tickets in [0, 2, 5] {
        let mut config = config_of(ecdsa(), &[&TLS13]);
        config.send_tls13_tickets = tickets;
        let config = Arc::new(config);
        let server = Server::start(move |stream| {
            let mut https = Secure::accept(stream, &config)?;
            while https.request().is_ok() {
                https.send(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")?;
            }
            https.finish()
        });
        let tickets = tickets as u64;
        // toll's own handshake, rustls's, and rustls's where tickets are used.
        for (resumption, key_exchange) in [
            ("0%", KeyExchangeMode::Fixed),
            ("0%", KeyExchangeMode::Fresh),
            ("100%", KeyExchangeMode::Fixed),
        ] {
            for (operation, connections) in [(Operation::Handshakes, 6), (Operation::Requests, 1)] {
                let case = format!("{tickets} {resumption} {key_exchange:?} {operation}");
                let mut job = plan(&server, Version::Tls13, operation, resumption);
                job.plan.key_exchange = Some(key_exchange);
                let outcome = counted(job, 6);
                let given = SessionsGiven { tickets: connections * tickets, ids: 0 };
                assert_eq!(outcome.given, given, "{case}");
                let resumes = resumption == "100%";
                let collected =
                    Collected { given: SessionsGiven { tickets, ids: 0 }, connections: 1 };
                assert_eq!(outcome.collected, resumes.then_some(collected), "{case}");
                let is_offered = resumes && tickets > 0;
                let offered = if is_offered { connections } else { 0 };
                assert_eq!(outcome.sessions_offered, offered, "{case}");
                assert_eq!(kinds_of_handshake(&outcome).1, offered, "{case}");
            }
        }
    }
}

#[test]
fn tls12_gives_a_ticket_an_identifier_or_nothing() {
    let ticketer = rustls::crypto::ring::Ticketer::new().unwrap();
    for (gives, ids, tickets, resumes) in [
        (Gives::Tickets, 0, 1, true),
        (Gives::SessionIds, 1, 0, true),
        (Gives::ForgottenSessionIds, 1, 0, false),
        (Gives::Nothing, 0, 0, false),
    ] {
        // With OpenSSL's server, then with rustls's.
        for suite in ["AES128-SHA", "ECDHE-RSA-AES128-SHA"] {
            let (server, resumed) = legacy(suite, gives);
            let job = legacy_plan(&server, suite, Operation::Handshakes, "100%");
            let collected = Collected { given: SessionsGiven { tickets, ids }, connections: 1 };
            assert_gives(&counted(job, 6), collected, resumes);
            assert_eq!(resumed.load(SeqCst), if resumes { 6 } else { 0 }, "{suite} {gives:?}");
        }
        let mut config = config_of(ecdsa(), &[&TLS12]);
        match gives {
            Gives::Tickets => config.ticketer = ticketer.clone(),
            Gives::SessionIds => {}
            // rustls's server gives no identifier of a session that it does not keep.
            Gives::ForgottenSessionIds => continue,
            Gives::Nothing => config.session_storage = Arc::new(NoServerSessionStorage {}),
        }
        let config = Arc::new(config);
        let server = Server::start(move |stream| {
            let mut https = Secure::accept(stream, &config)?;
            // The client's close comes first.
            assert!(https.request().is_err());
            https.finish()
        });
        let job = plan(&server, Version::Tls12, Operation::Handshakes, "100%");
        let collected = Collected { given: SessionsGiven { tickets, ids }, connections: 1 };
        assert_gives(&counted(job, 6), collected, resumes);
    }
}

/// Six handshakes after a connection that collected this, which `resumes` or not.
#[track_caller]
fn assert_gives(outcome: &Outcome, collected: Collected, resumes: bool) {
    assert_eq!(outcome.collected, Some(collected));
    let has_session = collected.given != SessionsGiven::default();
    assert_eq!(outcome.sessions_offered, if has_session { 6 } else { 0 });
    assert_eq!(kinds_of_handshake(outcome), if resumes { (0, 6) } else { (6, 0) });
    // A session that is resumed by its identifier is not given again.
    let ids = if resumes { 0 } else { 6 * collected.given.ids };
    assert_eq!(outcome.given.ids, ids);
}

/// A server that goes on with a handshake only when it has connections of both load threads.
#[test]
fn sessions_are_collected_on_all_threads_at_the_same_time() {
    let cpus = CpuList::allowed().unwrap().first(2);
    if cpus.len() < 2 {
        return eprintln!("skipped: one CPU has one load thread");
    }
    let (both, config) = (Arc::new(Barrier::new(2)), config());
    let accepted = AtomicUsize::new(0);
    let server = Server::start(move |stream| {
        if accepted.fetch_add(1, SeqCst) < 2 {
            both.wait();
        }
        let mut session = Secure::accept(stream, &config)?;
        loop {
            session.request()?;
            session.send(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")?;
        }
    });
    let mut job = https(server.address(), "/");
    job.operations = None;
    job.plan = Plan {
        cpus,
        connections: 2,
        count: Count::of(4),
        resumption: "100%".parse().unwrap(),
        timeout: Nanos(1000 * MILLISECOND),
        ..job.plan
    };
    let outcome = run(job);
    assert_eq!(outcome.collected.unwrap().connections, 2, "{}", summary(&outcome));
}

#[test]
fn an_interrupt_ends_the_collection_of_sessions() {
    let (sender, accepted) = mpsc::channel();
    let server = Server::start(move |mut stream| {
        let _ = sender.send(());
        silence(&mut stream)
    });
    let mut job = https(server.address(), "/");
    job.operations = None;
    (job.plan.count, job.plan.resumption) = (Count::of(3), "100%".parse().unwrap());
    // Longer than a test may take.
    job.plan.timeout = Nanos(3_600_000 * MILLISECOND);
    let interrupt = Arc::new(AtomicBool::new(false));
    std::thread::spawn({
        let interrupt = interrupt.clone();
        move || accepted.recv().map(|()| interrupt.store(true, SeqCst))
    });
    let engine = Engine::start_after(job, &interrupt, &mut || {}).unwrap();
    engine.stop();
    assert_eq!(engine.join().completed, 0);
}
