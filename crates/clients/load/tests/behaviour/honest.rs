//! Honest servers: every suite, group and kind of key exchange, and counts that equal the server's.

use std::io;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use cpus::CpuList;
use load::{Count, Job, KeyExchangeMode, Operation, Plan, Trust};
use rustls::HandshakeKind;
use rustls::crypto::ring::kx_group::{SECP384R1, X25519};
use rustls::version::{TLS12, TLS13};
use tls::{
    CertificateKey, Group, Identity, KeyExchange, Mac, OrPlain, SUITES, Stack, Suite, Version,
};

use crate::scripted_server::{
    Legacy, Plain, Secure, Server, Session, config, config_of, config_of_group, ecdsa, finish,
    legacy_acceptor, rsa, silence,
};
use crate::{OBJECT, OBJECT_PATH, http, https, kinds, one_in, run, summary};

/// Serves the object until the client closes, or asks for a close.
fn serve(session: &mut dyn Session) -> io::Result<()> {
    loop {
        let request = session.request()?;
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {OBJECT}\r\n\r\n");
        session.send(head.as_bytes())?;
        session.send(&objects::slice(0)[..OBJECT as usize])?;
        if request.contains("Connection: close") {
            return session.finish();
        }
    }
}

fn identity_of(suite: &Suite) -> &'static Identity {
    match suite.key_exchange {
        KeyExchange::EcdheEcdsa => ecdsa(),
        _ => rsa(),
    }
}

fn server_of(suite: &'static Suite) -> Server {
    let identity = identity_of(suite);
    if suite.mac == Mac::Aead && suite.key_exchange != KeyExchange::Rsa {
        let config = Arc::new(config_of(identity, &[&TLS12, &TLS13]));
        Server::start(move |stream| serve(&mut Secure::accept(stream, &config)?))
    } else {
        let acceptor = legacy_acceptor(identity, suite);
        Server::start(move |stream| serve(&mut Legacy::accept(stream, &acceptor)?))
    }
}

#[test]
fn every_suite_is_walked_opened_and_reported() {
    let folder = tempfile::tempdir().unwrap();
    for (identity, name) in [(rsa(), "rsa"), (ecdsa(), "ecdsa")] {
        let (file, key) = (folder.path().join(name), folder.path().join(format!("{name}.key")));
        identity.write(&file, &key).unwrap();
    }
    for suite in SUITES {
        let server = server_of(suite);
        let (name, key) = match suite.key_exchange {
            KeyExchange::EcdheEcdsa => ("ecdsa", CertificateKey::EcdsaP256),
            _ => ("rsa", CertificateKey::Rsa(2048)),
        };
        for encrypt_then_mac in [None, Some(true)] {
            if suite.mac == Mac::Aead && encrypt_then_mac.is_some() {
                continue;
            }
            let mut job = https(server.address(), OBJECT_PATH);
            job.plan.suite = Some(OrPlain::Tls(suite));
            job.plan.encrypt_then_mac = encrypt_then_mac;
            job.trust = Trust::File(folder.path().join(name));
            let outcome = run(job);
            assert_eq!((outcome.completed, kinds(&outcome)), (3, vec![]), "{suite}");
            assert_eq!((outcome.verified.opened, outcome.verified.walked), (1, 2), "{suite}");
            assert_eq!(outcome.verified.compared, 1);
            assert_eq!((outcome.bytes.body, outcome.bytes.unproven), (3 * OBJECT, 0));
            // One response whole, and the last record of the others.
            assert!((OBJECT..2 * OBJECT).contains(&outcome.bytes.opened), "{suite}");
            let [(negotiated, 1)] = outcome.negotiated[..] else {
                panic!("{:?}", outcome.negotiated)
            };
            assert_eq!((negotiated.suite, negotiated.version), (suite, suite.version()));
            assert_eq!(negotiated.certificate_key, Some(key), "{suite}");
            assert_eq!(negotiated.encrypt_then_mac, encrypt_then_mac == Some(true));
            let is_ephemeral = suite.key_exchange != KeyExchange::Rsa;
            assert_eq!(negotiated.group.is_some(), is_ephemeral, "{suite}");
            assert_eq!(negotiated.signature_scheme.is_some(), is_ephemeral, "{suite}");
            assert!(!negotiated.resumed);
        }
    }
}

#[test]
fn every_group_with_either_kind_of_key_exchange() {
    for version in [Version::Tls12, Version::Tls13] {
        let config = Arc::new(config_of(ecdsa(), &[&TLS12, &TLS13]));
        let server = Server::start(move |stream| serve(&mut Secure::accept(stream, &config)?));
        let groups = Group::ALL.into_iter().filter(|group| Stack::RustlsAwsLc.has_group(*group));
        for group in groups.filter(|group| version == Version::Tls13 || !group.is_of_tls13_only()) {
            for mode in [KeyExchangeMode::Fixed, KeyExchangeMode::Fresh] {
                let mut job = https(server.address(), OBJECT_PATH);
                job.plan.tls = Some(OrPlain::Tls(version));
                job.plan.group = Some(group);
                job.plan.key_exchange = Some(mode);
                job.plan.operation = Operation::OneRequestPerConnection;
                let outcome = run(job.clone());
                assert_eq!((outcome.completed, kinds(&outcome)), (3, vec![]), "{group} {mode}");
                let [(negotiated, count)] = outcome.negotiated[..] else {
                    panic!("{:?}", outcome.negotiated)
                };
                assert_eq!((negotiated.version, negotiated.group), (version, Some(group)));
                assert!(count >= 3);
                assert_eq!(crate::probe(&job).unwrap(), Some(negotiated));
            }
        }
    }
}

/// A load on all CPUs of the machine.
fn wide(job: Job, operations: u64) -> Job {
    let plan = Plan { cpus: CpuList::allowed().unwrap(), connections: 6, ..job.plan };
    Job { plan, operations: Some(operations), ..job }
}

#[test]
fn the_number_of_handshakes_is_the_servers() {
    let finished = Arc::new(AtomicU64::new(0));
    let server = Server::start({
        let (finished, config) = (finished.clone(), config());
        move |stream| {
            let mut https = Secure::accept(stream, &config)?;
            finished.fetch_add(1, SeqCst);
            let _ = https.request();
            https.finish()
        }
    });
    let mut job = wide(https(server.address(), "/"), 100);
    job.plan.operation = Operation::Handshakes;
    job.plan.verify = Some(one_in(1));
    let outcome = run(job);
    assert_eq!((outcome.completed, kinds(&outcome)), (100, vec![]));
    assert!((100..=106).contains(&finished.load(SeqCst)), "{finished:?}");
    assert!((100..=106).contains(&outcome.verified.signatures));
    let counted: u64 = outcome.negotiated.iter().map(|(_, count)| count).sum();
    assert!((100..=106).contains(&counted));
    assert_eq!(outcome.bytes.body, 0);
}

#[test]
fn requests_share_connections_or_have_their_own() {
    for (operation, most_connections) in
        [(Operation::Requests, 6), (Operation::OneRequestPerConnection, 46)]
    {
        let requests = Arc::new(AtomicU64::new(0));
        let count = |serve: fn(TcpStream, &AtomicU64) -> io::Result<()>| {
            let requests = requests.clone();
            move |stream| serve(stream, &requests)
        };
        let server =
            Server::start(count(|stream, requests| serve(&mut Counting(Plain(stream), requests))));
        let mut job = wide(http(server.address(), OBJECT_PATH), 40);
        job.plan.operation = operation;
        let outcome = run(job);
        assert_eq!((outcome.completed, kinds(&outcome)), (40, vec![]), "{operation}");
        // At most six more were under way at the end.
        assert!((40..=46).contains(&requests.load(SeqCst)), "{operation}: {requests:?}");
        assert!(server.connections() <= most_connections, "{operation}");
        assert!(operation == Operation::Requests || server.connections() >= 40);
        assert_eq!(outcome.latencies.whole.len(), 40);
        assert!(outcome.most_open <= 6, "{operation}: {}", outcome.most_open);
        assert_eq!(outcome.not_closed_by_server, 0);
    }
}

/// Counts requests.
struct Counting<'a, S>(S, &'a AtomicU64);

impl<S: Session> Session for Counting<'_, S> {
    fn read(&mut self, piece: &mut [u8]) -> io::Result<usize> {
        self.0.read(piece)
    }

    fn request(&mut self) -> io::Result<String> {
        let request = self.0.request()?;
        self.1.fetch_add(1, SeqCst);
        Ok(request)
    }

    fn records(&mut self, content: &[u8]) -> io::Result<Vec<Vec<u8>>> {
        self.0.records(content)
    }

    fn close_notify(&mut self) -> io::Result<Vec<u8>> {
        self.0.close_notify()
    }

    fn stream(&mut self) -> &mut TcpStream {
        self.0.stream()
    }
}

#[test]
fn the_number_of_operations_is_exact_on_all_cpus() {
    let config = config();
    let server = Server::start(move |stream| serve(&mut Secure::accept(stream, &config)?));
    for operations in [1, 2, 7, 60] {
        let outcome = run(wide(https(server.address(), OBJECT_PATH), operations));
        assert_eq!((outcome.completed, kinds(&outcome)), (operations, vec![]));
        // Bodies under way at the end count as far as they are proven, so there may be more.
        assert!(outcome.bytes.body >= operations * OBJECT, "{}", summary(&outcome));
        assert!(!outcome.interrupted);
    }
}

#[test]
fn a_server_that_closes_after_each_response_is_no_failure() {
    let server = Server::start(|stream| {
        let mut http = Plain(stream);
        http.request()?;
        http.send(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok")?;
        finish(&mut http.0)
    });
    let outcome = run(http(server.address(), "/"));
    assert_eq!((outcome.completed, kinds(&outcome)), (3, vec![]));
    assert!((3..=4).contains(&server.connections()));

    // Nor is it a failure if a server announces a close and does not close, once the response is
    // there.
    let server = Server::start(|stream| {
        let mut http = Plain(stream);
        http.request()?;
        http.send(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok")?;
        silence(&mut http.0)
    });
    let outcome = run(Job { operations: Some(1), ..http(server.address(), "/") });
    assert_eq!((outcome.completed, kinds(&outcome)), (1, vec![]));
}

#[test]
fn a_handshake_in_which_the_server_asked_for_a_second_client_hello_is_counted() {
    let retried = Arc::new(AtomicU64::new(0));
    let (config, counted) = (Arc::new(config_of_group(SECP384R1)), retried.clone());
    let server = Server::start(move |stream| {
        let mut https = Secure::accept(stream, &config)?;
        let is_retried = https.handshake_kind() == Some(HandshakeKind::FullWithHelloRetryRequest);
        counted.fetch_add(is_retried.into(), SeqCst);
        https.finish()
    });
    let retried_of = |group, key_exchange, resumption: &str| {
        let mut job = https(server.address(), "/");
        job.plan.tls = Some(OrPlain::Tls(Version::Tls13));
        (job.plan.operation, job.plan.group) = (Operation::Handshakes, group);
        job.plan.key_exchange = Some(key_exchange);
        job.plan.resumption = resumption.parse().unwrap();
        (job.operations, job.plan.count) = (None, Count::of(10));
        let before = retried.load(SeqCst);
        let outcome = run(job);
        assert_eq!((outcome.completed, kinds(&outcome)), (10, vec![]));
        (outcome.hello_retry_requests, retried.load(SeqCst) - before)
    };
    // toll's own handshake, and rustls's.
    for key_exchange in [KeyExchangeMode::Fixed, KeyExchangeMode::Fresh] {
        assert_eq!(retried_of(None, key_exchange, "0%"), (10, 10), "{key_exchange:?}");
        let group = Some(Group::Secp384r1);
        assert_eq!(retried_of(group, key_exchange, "0%"), (0, 0), "{key_exchange:?}");
    }
    // Of these, the connection that collects the tickets is retried; then the client knows the group.
    assert_eq!(retried_of(None, KeyExchangeMode::Fixed, "100%"), (0, 1));
}

#[test]
fn a_handshake_that_is_retried_and_resumes_counts_as_both() {
    let (first, mut others) = (config_of_group(X25519), config_of_group(SECP384R1));
    others.session_storage = first.session_storage.clone();
    let (first, others) = (Arc::new(first), Arc::new(others));
    let connections = AtomicU64::new(0);
    let server = Server::start(move |stream| {
        let is_first = connections.fetch_add(1, SeqCst) == 0;
        Secure::accept(stream, if is_first { &first } else { &others })?.finish()
    });
    let mut job = https(server.address(), "/");
    job.plan.tls = Some(OrPlain::Tls(Version::Tls13));
    (job.plan.operation, job.plan.resumption) = (Operation::Handshakes, "100%".parse().unwrap());
    (job.operations, job.plan.count) = (None, Count::of(10));
    let outcome = run(job);
    assert_eq!((outcome.completed, kinds(&outcome)), (10, vec![]));
    // The first connection gave the tickets. After the second the client knows the group.
    assert_eq!((outcome.hello_retry_requests, outcome.sessions_offered), (1, 10));
    assert!(outcome.negotiated.iter().all(|(negotiated, _)| negotiated.resumed));
}
