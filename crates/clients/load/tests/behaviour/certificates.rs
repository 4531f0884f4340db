//! Certificates: which of a server's a client trusts, and what happens where a server asks for one of the
//! client's.

use std::sync::Arc;

use load::{ErrorKind, Job, KeyExchangeMode, Operation, Trust};
use openssl::asn1::Asn1Time;
use openssl::ec::{EcGroup, EcKey};
use openssl::hash::MessageDigest;
use openssl::nid::Nid;
use openssl::pkey::{PKey, Private};
use openssl::x509::extension::{BasicConstraints, SubjectAlternativeName};
use openssl::x509::{X509, X509Name};
use rustls::version::{TLS12, TLS13};
use tls::{Identity, OrPlain, Suite, Version};

use crate::scripted_server::{
    ALERT, Legacy, Secure, Server, Session, asking_acceptor, asking_config, config, config_of,
    ecdsa, rsa,
};
use crate::{assert_completes, assert_fails, https, kinds, run};

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok";

/// A certificate for 127.0.0.1 with its key, issued by this authority or, without one, itself one.
fn issued(authority: Option<&(X509, PKey<Private>)>, name: &str) -> (X509, PKey<Private>) {
    let group = EcGroup::from_curve_name(Nid::X9_62_PRIME256V1).unwrap();
    let key = PKey::from_ec_key(EcKey::generate(&group).unwrap()).unwrap();
    let mut subject = X509Name::builder().unwrap();
    subject.append_entry_by_text("CN", name).unwrap();
    let subject = subject.build();
    let mut certificate = X509::builder().unwrap();
    certificate.set_version(2).unwrap();
    certificate.set_subject_name(&subject).unwrap();
    certificate.set_issuer_name(authority.map_or(&subject, |of| of.0.subject_name())).unwrap();
    certificate.set_pubkey(&key).unwrap();
    certificate.set_not_before(&Asn1Time::days_from_now(0).unwrap()).unwrap();
    certificate.set_not_after(&Asn1Time::days_from_now(10).unwrap()).unwrap();
    if authority.is_some() {
        let mut names = SubjectAlternativeName::new();
        let names = names.ip("127.0.0.1").build(&certificate.x509v3_context(None, None)).unwrap();
        certificate.append_extension(names).unwrap();
    } else {
        let authority = BasicConstraints::new().critical().ca().build().unwrap();
        certificate.append_extension(authority).unwrap();
    }
    certificate.sign(authority.map_or(&key, |of| &of.1), MessageDigest::sha256()).unwrap();
    (certificate.build(), key)
}

#[test]
fn a_servers_own_certificate_is_trusted_whoever_issued_it() {
    let authority = issued(None, "authority");
    let (own, key) = issued(Some(&authority), "server");
    let (other, _) = issued(Some(&authority), "server");
    let identity = Identity {
        certificate_pem: own.to_pem().unwrap(),
        key_pem: key.private_key_to_pem_pkcs8().unwrap(),
    };
    let folder = tempfile::tempdir().unwrap();
    for version in [&TLS12, &TLS13] {
        let config = Arc::new(config_of(&identity, &[version]));
        let server = Server::start(move |stream| {
            let mut https = Secure::accept(stream, &config)?;
            https.request()?;
            https.send(OK)?;
            https.finish()
        });
        let trusting = |certificate: &X509| {
            let file = folder.path().join("ca.pem");
            std::fs::write(&file, certificate.to_pem().unwrap()).unwrap();
            let mut job = https(server.address(), "/");
            job.plan.operation = Operation::OneRequestPerConnection;
            Job { trust: Trust::File(file), ..job }
        };
        assert_completes(trusting(&own), 2);
        assert_completes(trusting(&authority.0), 2);
        assert_fails(trusting(&other), ErrorKind::Authentication);
    }
}

/// How many handshakes a server asked for a certificate in, and how many there were.
fn requests(job: Job) -> (u64, u64) {
    let outcome = run(job);
    assert_eq!((outcome.completed, kinds(&outcome)), (3, vec![]));
    let handshakes = outcome.negotiated.iter().map(|(_, count)| count).sum();
    (outcome.certificate_requests, handshakes)
}

#[test]
fn requests_for_a_certificate_of_the_client_are_counted() {
    let config = asking_config(&ecdsa().certificate_pem, &[&TLS12, &TLS13], false);
    let server = Server::start(move |stream| {
        let mut https = Secure::accept(stream, &config)?;
        https.request()?;
        https.send(OK)?;
        https.finish()
    });
    // toll's own handshake, and rustls.
    for (version, mode) in [
        (Version::Tls13, KeyExchangeMode::Fixed),
        (Version::Tls13, KeyExchangeMode::Fresh),
        (Version::Tls12, KeyExchangeMode::Fixed),
    ] {
        let mut job = https(server.address(), "/");
        job.plan.tls = Some(OrPlain::Tls(version));
        job.plan.key_exchange = Some(mode);
        job.plan.operation = Operation::OneRequestPerConnection;
        let (asked, handshakes) = requests(job);
        assert!(asked >= 3 && asked == handshakes, "{version} {mode}: {asked} of {handshakes}");
    }
    // Static RSA, and ECDHE with CBC.
    for name in ["AES128-SHA", "ECDHE-RSA-AES128-SHA"] {
        let suite = Suite::parse(name).unwrap();
        let acceptor = asking_acceptor(rsa(), suite);
        let server = Server::start(move |stream| {
            let mut https = Legacy::accept(stream, &acceptor)?;
            https.request()?;
            https.send(OK)?;
            https.finish()
        });
        let mut job = https(server.address(), "/");
        job.plan.suite = Some(OrPlain::Tls(suite));
        job.plan.operation = Operation::OneRequestPerConnection;
        let (asked, handshakes) = requests(job);
        assert!(asked >= 3 && asked == handshakes, "{name}: {asked} of {handshakes}");
    }
}

/// A server of TLS 1.3 refuses a client without a certificate only after the client's Finished (RFC 8446,
/// section 4.4.2.4).
#[test]
fn a_late_alert_is_never_a_success() {
    const CERTIFICATE_REQUIRED: [u8; 2] = [2, 116];
    let config = config();
    let server = Server::start(move |stream| {
        let mut craft = Secure::accept(stream, &config)?.craft()?;
        craft.send(ALERT, &CERTIFICATE_REQUIRED, 0)
    });
    for operation in
        [Operation::Handshakes, Operation::OneRequestPerConnection, Operation::Requests]
    {
        let mut job = https(server.address(), "/");
        job.plan.operation = operation;
        let outcome = run(job);
        let failed = kinds(&outcome).iter().map(|(_, count)| count).sum::<u64>();
        assert_eq!((outcome.completed, failed), (0, 3), "{operation}");
    }
}
