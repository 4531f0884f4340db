//! Names: what a client sends in SNI and in Host, and for which name it checks the certificate.

use std::collections::BTreeSet;
use std::io::Write;
use std::sync::{Arc, Mutex};

use load::{Count, ErrorKind, Job, KeyExchangeMode, Operation, Trust, Url};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tempfile::TempDir;
use tls::{Authority, OrPlain, Suite, Version};

use crate::scripted_server::{
    Legacy, Plain, Secure, Server, Session, config, ecdsa, finish, legacy_acceptor, read_record,
    rsa,
};
use crate::{assert_completes, assert_fails, https, job, kinds, run};

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// The name in SNI and the Host of each request.
type Seen = Arc<Mutex<Vec<(Option<String>, String)>>>;

fn host(request: &str) -> String {
    let line = request.lines().find_map(|line| line.strip_prefix("Host: "));
    line.unwrap_or_default().to_owned()
}

/// A server of TLS 1.3 with an ECDSA key, and one of static RSA through OpenSSL; both have certificates for
/// `localhost`.
fn servers(seen: &Seen) -> [(Server, Option<&'static Suite>, Trust, tempfile::TempDir); 2] {
    let trusting = |identity: &tls::Identity| {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ca.pem");
        identity.write_certificate(&file).unwrap();
        (Trust::File(file), folder)
    };
    let (config, noted) = (config(), seen.clone());
    let modern = Server::start(move |stream| {
        let mut https = Secure::accept(stream, &config)?;
        loop {
            let request = https.request()?;
            let name = https.server_name().map(str::to_owned);
            noted.lock().unwrap().push((name, host(&request)));
            https.send(OK)?;
        }
    });
    let suite = Suite::parse("AES128-SHA").unwrap();
    let (context, noted) = (legacy_acceptor(rsa(), suite), seen.clone());
    let legacy = Server::start(move |stream| {
        let mut https = Legacy::accept(stream, &context)?;
        loop {
            let request = https.request()?;
            let name = https.server_name().map(str::to_owned);
            noted.lock().unwrap().push((name, host(&request)));
            https.send(OK)?;
        }
    });
    let ((modern_trust, one), (legacy_trust, other)) = (trusting(ecdsa()), trusting(rsa()));
    [(modern, None, modern_trust, one), (legacy, Some(suite), legacy_trust, other)]
}

/// The URL's host says what is in SNI and Host, wherever the connection goes, and `--sni` replaces the
/// first; each library and each of toll's own handshakes sends it.
#[test]
fn names_are_sent_where_they_belong_and_the_certificate_must_have_that_of_sni() {
    let seen = Seen::default();
    for (server, suite, trust, _folder) in servers(&seen) {
        let address = server.address();
        for (url, sni, expected) in [
            ("https://localhost:8443/", None, (Some("localhost"), "localhost:8443")),
            ("https://www.example.com/", Some("localhost"), (Some("localhost"), "www.example.com")),
            ("https://127.0.0.1/", Some("localhost"), (Some("localhost"), "127.0.0.1")),
            ("https://127.0.0.1/", None, (None, "127.0.0.1")),
        ] {
            for key_exchange in [None, Some(KeyExchangeMode::Fresh)] {
                let mut job = job(url.parse().unwrap(), address);
                job.plan.insecure = false;
                job.plan.suite = suite.map(OrPlain::Tls);
                job.plan.key_exchange = key_exchange;
                job.plan.sni = sni.map(|name| name.parse().unwrap());
                seen.lock().unwrap().clear();
                assert_completes(Job { trust: trust.clone(), ..job }, 2);
                let seen = seen.lock().unwrap();
                assert!(!seen.is_empty());
                for (name, host) in &*seen {
                    assert_eq!(
                        (name.as_deref(), host.as_str()),
                        expected,
                        "{url} {sni:?} {suite:?}"
                    );
                }
            }
        }
        // The certificate is not for these.
        for (url, sni) in [
            ("https://www.example.com/", None),
            ("https://localhost/", Some("www.example.com")),
            ("https://127.0.0.1/", Some("www.example.com")),
        ] {
            let mut job = job(url.parse().unwrap(), address);
            job.plan.suite = suite.map(OrPlain::Tls);
            job.plan.sni = sni.map(|name| name.parse().unwrap());
            job.plan.insecure = false;
            assert_fails(Job { trust: trust.clone(), ..job }, ErrorKind::Authentication);
        }
    }
}

/// Certificates of these names, each with the name in SNI that it is shown for.
#[derive(Debug)]
struct ByName(Vec<(&'static str, Arc<CertifiedKey>)>);

impl ResolvesServerCert for ByName {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let asked = hello.server_name()?;
        self.0.iter().find(|(name, _)| *name == asked).map(|(_, key)| key.clone())
    }
}

/// A server of each version whose key has certificates of `of`, shown for the names of `shown`, and what
/// signed them.
fn with_names(of: &[&str], shown: &[&'static str], folder: &TempDir) -> (Arc<ServerConfig>, Trust) {
    let authority = Authority::generate().unwrap();
    let file = folder.path().join("authority.pem");
    std::fs::write(&file, &authority.certificate_pem).unwrap();
    let provider = rustls::crypto::ring::default_provider();
    let key = PrivateKeyDer::from_pem_slice(&ecdsa().key_pem).unwrap();
    let key = provider.key_provider.load_private_key(key).unwrap();
    let certificates = authority.certify(of.iter(), &ecdsa().key_pem).unwrap();
    let certified = |pem: Vec<u8>| {
        let chain: Result<_, _> = CertificateDer::pem_slice_iter(&pem).collect();
        Arc::new(CertifiedKey::new(chain.unwrap(), key.clone()))
    };
    let named = shown.iter().copied().zip(certificates.into_iter().map(certified)).collect();
    let config = ServerConfig::builder_with_provider(Arc::new(provider))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(ByName(named)));
    (Arc::new(config), Trust::File(file))
}

const NAMES: [&str; 3] = ["a.toll.test", "b.toll.test", "c.toll.test"];

/// A load whose connections carry two requests and draw their names from a list.
fn drawing(address: std::net::SocketAddr, list: &std::path::Path, trust: &Trust) -> Job {
    std::fs::write(list, NAMES.join("\n")).unwrap();
    let mut job = https(address, "/");
    job.plan.insecure = false;
    job.plan.names = Some(list.to_owned());
    job.plan.requests_per_connection = "2".parse().ok();
    Job { trust: trust.clone(), operations: Some(120), ..job }
}

fn answering(config: Arc<ServerConfig>, seen: &Seen) -> Server {
    let noted = seen.clone();
    Server::start(move |stream| {
        let mut https = Secure::accept(stream, &config)?;
        loop {
            let request = https.request()?;
            let name = https.server_name().map(str::to_owned);
            noted.lock().unwrap().push((name, host(&request)));
            https.send(OK)?;
        }
    })
}

#[test]
fn connections_draw_names_and_each_name_has_its_certificate() {
    let folder = tempfile::tempdir().unwrap();
    let (seen, list) = (Seen::default(), folder.path().join("names"));
    let (config, trust) = with_names(&NAMES, &NAMES, &folder);
    let server = answering(config, &seen);
    let port = server.address().port();
    for version in [Version::Tls12, Version::Tls13] {
        for key_exchange in [KeyExchangeMode::Fixed, KeyExchangeMode::Fresh] {
            seen.lock().unwrap().clear();
            let mut job = drawing(server.address(), &list, &trust);
            job.plan.tls = Some(OrPlain::Tls(version));
            job.plan.key_exchange = Some(key_exchange);
            let outcome = run(Job { seed: 5, ..job.clone() });
            assert_eq!((outcome.completed, kinds(&outcome)), (120, vec![]), "{version}");
            let names = &outcome.names;
            assert_eq!((names.len(), outcome.names_asked), (3, 3));
            assert_eq!(names.iter().sum::<u64>(), outcome.latencies.connect.len());
            assert!(names.iter().all(|count| *count >= 5), "{names:?}");
            assert_eq!(outcome.certificates.len(), 3);
            for (sni, host) in &*seen.lock().unwrap() {
                assert_eq!(*host, format!("{}:{port}", sni.as_deref().unwrap()));
            }
            assert_eq!(run(Job { seed: 5, ..job.clone() }).names, *names);
            assert_ne!(run(Job { seed: 6, ..job }).names, *names);
        }
    }
}

/// rustls resumes a session for no other name, and shows no certificate where it does.
#[test]
fn each_name_resumes_sessions_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let (seen, list) = (Seen::default(), folder.path().join("names"));
    let (config, trust) = with_names(&NAMES, &NAMES, &folder);
    let server = answering(config, &seen);
    for version in [Version::Tls12, Version::Tls13] {
        for (share, resumes) in [("100%", 60..=60), ("50%", 28..=32)] {
            let mut job = drawing(server.address(), &list, &trust);
            job.plan.tls = Some(OrPlain::Tls(version));
            job.plan.resumption = share.parse().unwrap();
            job.plan.connections = 1;
            job.plan.count = Count::of(120);
            let outcome = run(Job { operations: None, ..job });
            assert_eq!((outcome.completed, kinds(&outcome)), (120, vec![]), "{version} {share}");
            let resumed = outcome.negotiated.iter().filter(|(negotiated, _)| negotiated.resumed);
            let resumed: u64 = resumed.map(|(_, count)| count).sum();
            assert!(resumes.contains(&resumed), "{version} {share}: {resumed}");
            // Each name was connected with once, to collect a session.
            assert_eq!(outcome.collected.map(|collected| collected.connections), Some(3));
            assert_eq!(outcome.names_certified.len(), 3);
            let full = outcome.latencies.connect_full().len();
            assert_eq!(outcome.names_certified.iter().sum::<u64>(), 3 + full, "{version} {share}");
            assert_eq!(outcome.certificates.len(), 3);
        }
    }
}

/// A name without a certificate of its own collects nothing, and its handshakes fail; those of others resume.
#[test]
fn a_name_whose_certificate_is_another_ones_resumes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (seen, list) = (Seen::default(), folder.path().join("names"));
    let (config, trust) = with_names(&[NAMES[0], NAMES[1], NAMES[1]], &NAMES, &folder);
    let server = answering(config, &seen);
    for version in [Version::Tls12, Version::Tls13] {
        let mut job = drawing(server.address(), &list, &trust);
        job.plan.tls = Some(OrPlain::Tls(version));
        job.plan.resumption = "100%".parse().unwrap();
        job.plan.count = Count::of(60);
        let outcome = run(Job { operations: None, ..job });
        assert_eq!(kinds(&outcome), [(ErrorKind::Authentication, outcome.failures.total())]);
        assert!(outcome.completed > 0 && outcome.failures.total() > 0, "{version}");
        assert!(outcome.names.get(2).is_none() && outcome.names_certified.get(2).is_none());
    }
}

#[test]
fn plain_connections_draw_names_for_host() {
    let folder = tempfile::tempdir().unwrap();
    let list = folder.path().join("names");
    let seen = Arc::new(Mutex::new(Vec::new()));
    let noted = seen.clone();
    let server = Server::start(move |stream| {
        let mut http = Plain(stream);
        loop {
            let request = http.request()?;
            noted.lock().unwrap().push(host(&request));
            http.send(OK)?;
        }
    });
    let url = Url::at(false, server.address(), "/");
    let job = Job { url, ..drawing(server.address(), &list, &Trust::Anyone) };
    let outcome = run(job);
    assert_eq!((outcome.completed, kinds(&outcome)), (120, vec![]));
    assert!(outcome.certificates.is_empty() && outcome.names.len() == 3, "{:?}", outcome.names);
    let seen: BTreeSet<String> = seen.lock().unwrap().iter().cloned().collect();
    let port = server.address().port();
    assert_eq!(seen, NAMES.iter().map(|name| format!("{name}:{port}")).collect());
}

#[test]
fn the_certificate_of_another_name_is_an_error_of_that_name_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (seen, list) = (Seen::default(), folder.path().join("names"));
    let of = [NAMES[0], NAMES[1], NAMES[1]];
    let (config, trust) = with_names(&of, &NAMES, &folder);
    let server = answering(config, &seen);
    for version in [Version::Tls12, Version::Tls13] {
        let mut job = drawing(server.address(), &list, &trust);
        job.plan.tls = Some(OrPlain::Tls(version));
        seen.lock().unwrap().clear();
        let outcome = run(job.clone());
        let failed = outcome.failures.total();
        assert_eq!(kinds(&outcome), [(ErrorKind::Authentication, failed)]);
        assert!(outcome.completed > 0 && failed > 0);
        assert!(outcome.names.get(2).is_none(), "{:?}", outcome.names);
        assert!(seen.lock().unwrap().iter().all(|(name, _)| name.as_deref() != Some(NAMES[2])));
        // Whoever accepts any certificate sees how many there are.
        job.plan.insecure = true;
        let outcome = run(Job { trust: Trust::Anyone, ..job });
        assert_eq!((outcome.completed, outcome.names.len()), (120, 3));
        assert_eq!(outcome.certificates.len(), 3, "two of them are of one name");
    }
}

/// As nginx does with `ssl_reject_handshake` (RFC 6066, section 3).
#[test]
fn a_server_that_lacks_the_name_leads_to_the_flags_for_names() {
    let server = Server::start(|mut stream| {
        read_record(&mut stream)?;
        stream.write_all(&[21, 3, 3, 0, 2, 2, 112])?;
        finish(&mut stream)
    });
    for operation in [Operation::Requests, Operation::Handshakes] {
        let mut job = https(server.address(), "/");
        job.plan.operation = operation;
        let message = crate::probe(&job).unwrap_err().to_string();
        assert!(message.contains("unrecognized_name") && message.contains("--sni"), "{message}");
    }
}
