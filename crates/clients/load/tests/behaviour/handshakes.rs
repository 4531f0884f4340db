//! Servers that misbehave in the handshake.

use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use load::{ErrorKind, Job, KeyExchangeMode, Operation, Plan, Trust};
use rustls::version::{TLS12, TLS13};
use tls::{Group, OrPlain, Suite, Version};
use units::Nanos;

use crate::scripted_server::{
    Legacy, Secure, Server, Session, config, config_of, ecdsa, finish, forged, legacy_acceptor,
    long_chain, read_record, rsa, silence,
};
use crate::{MILLISECOND, assert_completes, assert_fails, https, kinds, one_in, run};

/// An AEAD suite and one of CBC.
const SUITES: [&str; 2] = ["ECDHE-RSA-AES128-GCM-SHA256", "ECDHE-RSA-AES128-SHA"];

fn with_suite(job: Job, suite: &str) -> Job {
    let suite = suite.parse().ok();
    Job { plan: Plan { suite, ..job.plan }, ..job }
}

/// Answers a ClientHello with these bytes, then closes.
fn answering(bytes: impl Into<Vec<u8>>) -> Server {
    let bytes = bytes.into();
    Server::start(move |mut stream| {
        read_record(&mut stream)?;
        stream.write_all(&bytes)?;
        finish(&mut stream)
    })
}

/// A ServerHello of TLS 1.2 in its own record.
fn server_hello(suite: u16, session: &[u8], extensions: &[u8]) -> Vec<u8> {
    let body = [
        &[3, 3][..],
        &[7; 32],
        &[session.len() as u8],
        session,
        &suite.to_be_bytes(),
        &[0],
        &(extensions.len() as u16).to_be_bytes(),
        extensions,
    ]
    .concat();
    record(22, &[&[2, 0, 0, body.len() as u8][..], &body].concat())
}

fn record(kind: u8, content: &[u8]) -> Vec<u8> {
    [&[kind, 3, 3, 0, content.len() as u8][..], content].concat()
}

#[track_caller]
fn assert_both_fail(server: &Server, kind: ErrorKind) {
    for suite in SUITES {
        assert_fails(with_suite(https(server.address(), "/"), suite), kind);
    }
}

#[test]
fn something_else_than_tls() {
    for garbage in [&b"HTTP/1.1 400 Bad Request\r\n\r\n"[..], b"220 mail ESMTP ready\r\n", &[0; 64]]
    {
        let server = answering(garbage);
        assert_fails(https(server.address(), "/"), ErrorKind::NotTls);
        assert_both_fail(&server, ErrorKind::NotTls);
    }
}

#[test]
fn tls_against_its_rules_is_tls() {
    // Longer than rustls accepts, and than toll's own handshake of TLS 1.2.
    for (version, asked, certificates) in
        [(&TLS13, Version::Tls13, 200), (&TLS12, Version::Tls12, 1000)]
    {
        let config = long_chain(version, certificates);
        let server = Server::start(move |stream| Secure::accept(stream, &config).map(drop));
        let mut job = https(server.address(), "/");
        job.plan.tls = Some(OrPlain::Tls(asked));
        job.plan.key_exchange = Some(KeyExchangeMode::Fresh);
        assert_fails(job, ErrorKind::Handshake);
    }
    // After a record come bytes that are none.
    for (suite, name) in [(0xc02f, SUITES[0]), (0xc013, SUITES[1]), (0x002f, "AES128-SHA")] {
        let hello = server_hello(suite, &[], &[0xff, 1, 0, 1, 0]);
        let server = answering([&hello[..], b"HTTP/1.1 400 Bad Request\r\n\r\n"].concat());
        assert_fails(with_suite(https(server.address(), "/"), name), ErrorKind::Handshake);
    }
    // A ServerHello that breaks its own grammar.
    let server = answering(record(22, &[2, 0, 0, 3, 3, 3, 9]));
    assert_both_fail(&server, ErrorKind::Handshake);
    assert_fails(https(server.address(), "/"), ErrorKind::Handshake);
}

#[test]
fn an_alert_instead_of_a_server_hello() {
    let server = answering(record(21, &[2, 40]));
    assert_fails(https(server.address(), "/"), ErrorKind::Alert);
    assert_both_fail(&server, ErrorKind::Alert);
}

#[test]
fn a_close_within_the_handshake() {
    let hello = server_hello(0xc02f, &[], &[]);
    let server = answering(&hello[..40]);
    assert_both_fail(&server, ErrorKind::EarlyClose);
    let server = answering([]);
    assert_fails(https(server.address(), "/"), ErrorKind::EarlyClose);
}

#[test]
fn a_suite_that_was_not_offered() {
    for suite in [0xc030, 0xc02c, 0xc014, 0x009c, 0x002f, 0x1301, 0xffff] {
        let server = answering(server_hello(suite, &[], &[]));
        assert_both_fail(&server, ErrorKind::Handshake);
    }
}

#[test]
fn an_abbreviated_handshake_that_resumes_nothing() {
    for (suite, name) in [0xc02f, 0xc013].into_iter().zip(SUITES) {
        for session in [&[][..], &[5; 32]] {
            let hello = server_hello(suite, session, &[0xff, 1, 0, 1, 0]);
            let flight = [hello, record(20, &[1]), record(22, &[9; 40])].concat();
            let server = answering(flight);
            assert_fails(with_suite(https(server.address(), "/"), name), ErrorKind::Handshake);
        }
    }
}

#[test]
fn encrypt_then_mac_unasked() {
    const ENCRYPT_THEN_MAC: [u8; 4] = [0, 22, 0, 0];
    for (suite, name) in [0xc02f, 0xc013].into_iter().zip(SUITES) {
        let extensions = [&[0xff, 1, 0, 1, 0], &ENCRYPT_THEN_MAC[..]].concat();
        let server = answering(server_hello(suite, &[], &extensions));
        assert_fails(with_suite(https(server.address(), "/"), name), ErrorKind::Handshake);
    }
}

#[test]
fn a_version_that_was_not_offered() {
    let server = answering(server_hello(0xc02f, &[], &[]));
    let mut job = https(server.address(), "/");
    job.plan.tls = Some(OrPlain::Tls(Version::Tls13));
    assert_fails(job, ErrorKind::Handshake);
}

#[test]
fn a_server_that_lacks_what_is_asked() {
    let tls12 = Arc::new(config_of(rsa(), &[&TLS12]));
    let server = Server::start(move |stream| Secure::accept(stream, &tls12).map(drop));
    let asks: [fn(&mut Plan); 3] = [
        |plan| plan.tls = Some(OrPlain::Tls(Version::Tls13)),
        |plan| plan.suite = "ECDHE-ECDSA-AES128-GCM-SHA256".parse().ok(),
        |plan| plan.suite = "ECDHE-RSA-AES128-SHA".parse().ok(),
    ];
    for ask in asks {
        let mut job = https(server.address(), "/");
        ask(&mut job.plan);
        assert_fails(job, ErrorKind::Alert);
    }

    let mut config = config_of(ecdsa(), &[&TLS13]);
    let mut provider = rustls::crypto::ring::default_provider();
    provider.kx_groups.retain(|group| u16::from(group.name()) == Group::X25519.code_point());
    config = rustls::ServerConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(&[&TLS13])
        .unwrap()
        .with_no_client_auth()
        .with_cert_resolver(config.cert_resolver.clone());
    let config = Arc::new(config);
    let server = Server::start(move |stream| Secure::accept(stream, &config).map(drop));
    let mut job = https(server.address(), "/");
    job.plan.group = Some(Group::Secp384r1);
    assert_fails(job, ErrorKind::Alert);
}

#[test]
fn certificates_of_somebody_else() {
    let folder = tempfile::tempdir().unwrap();
    let (file, key) = (folder.path().join("ca.pem"), folder.path().join("key.pem"));
    let other = tls::Identity::generate(tls::CertificateKey::EcdsaP256).unwrap();
    other.write(&file, &key).unwrap();
    let trust = Trust::File(file);

    for version in [&TLS13, &TLS12] {
        let config = Arc::new(config_of(ecdsa(), &[version]));
        let server = Server::start(move |stream| Secure::accept(stream, &config).map(drop));
        let mut job = https(server.address(), "/");
        job.trust = trust.clone();
        assert_fails(job, ErrorKind::Authentication);
    }

    for name in ["AES128-SHA", "ECDHE-RSA-AES128-SHA", "AES128-GCM-SHA256"] {
        let acceptor = legacy_acceptor(rsa(), Suite::parse(name).unwrap());
        let server = Server::start(move |stream| Legacy::accept(stream, &acceptor).map(drop));
        let mut job = with_suite(https(server.address(), "/"), name);
        job.trust = trust.clone();
        assert_fails(job, ErrorKind::Authentication);
    }
}

#[test]
fn signatures_over_something_else() {
    for version in [&TLS13, &TLS12] {
        let config = forged(version);
        let server = Server::start(move |stream| {
            let mut https = Secure::accept(stream, &config)?;
            let _ = https.request();
            https.finish()
        });
        let mut job = https(server.address(), "/");
        job.plan.operation = Operation::Handshakes;
        job.plan.verify = Some(one_in(1));
        assert_fails(job.clone(), ErrorKind::Authentication);

        // By design sampling misses some: of four, the first and the third are verified.
        job.plan.verify = Some(one_in(2));
        job.operations = Some(4);
        let outcome = run(job);
        assert_eq!(kinds(&outcome), [(ErrorKind::Authentication, 2)]);
        assert_eq!((outcome.completed, outcome.verified.signatures), (2, 0));
        assert_eq!(outcome.verified.unauthentic, 2);
    }
}

#[test]
fn a_handshake_and_then_nothing() {
    let closing = Server::start({
        let config = config();
        move |stream| Secure::accept(stream, &config)?.finish()
    });
    assert_fails(https(closing.address(), "/"), ErrorKind::EarlyClose);

    let cutting = Server::start({
        let config = config();
        move |stream| finish(Secure::accept(stream, &config)?.stream())
    });
    assert_fails(https(cutting.address(), "/"), ErrorKind::EarlyClose);

    let silent = Server::start({
        let config = config();
        move |stream| silence(Secure::accept(stream, &config)?.stream())
    });
    let mut job = https(silent.address(), "/");
    job.plan.timeout = Nanos(400 * MILLISECOND);
    assert_fails(job, ErrorKind::Stall);
}

#[test]
fn a_close_that_is_not_answered() {
    let server = Server::start({
        let config = config();
        move |stream| {
            let _held = Secure::accept(stream, &config)?;
            std::thread::sleep(Duration::from_secs(3));
            Ok(())
        }
    });
    let mut job = https(server.address(), "/");
    job.plan.operation = Operation::Handshakes;
    job.plan.timeout = Nanos(400 * MILLISECOND);
    assert_fails(job, ErrorKind::Stall);
}

#[test]
fn a_close_without_close_notify_ends_a_handshake() {
    // nginx closes like this, with TLS 1.2 and 1.3.
    for version in [&TLS13, &TLS12] {
        let config = Arc::new(config_of(ecdsa(), &[version]));
        let server =
            Server::start(move |stream| silence(Secure::accept(stream, &config)?.stream()));
        let mut job = https(server.address(), "/");
        job.plan.operation = Operation::Handshakes;
        assert_completes(job, 0);
    }
}

#[test]
fn a_server_that_never_reads_the_clients_finished() {
    for (version, expected) in [
        // The server's Finished is missing.
        (&TLS12, (0, vec![(ErrorKind::EarlyClose, 3)])),
        // By design this counts: only the close shows that the server received the client's
        // Finished, and this server closes as nginx does.
        (&TLS13, (3, vec![])),
    ] {
        let config = Arc::new(config_of(ecdsa(), &[version]));
        let server = Server::start(move |mut stream| {
            let mut connection = rustls::ServerConnection::new(config.clone()).unwrap();
            connection.read_tls(&mut stream)?;
            connection.process_new_packets().map_err(io::Error::other)?;
            while connection.wants_write() {
                connection.write_tls(&mut stream)?;
            }
            finish(&mut stream)
        });
        let mut job = https(server.address(), "/");
        job.plan.operation = Operation::Handshakes;
        let outcome = run(job);
        assert_eq!((outcome.completed, kinds(&outcome)), expected);
    }
}
