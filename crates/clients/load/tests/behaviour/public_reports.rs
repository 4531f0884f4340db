//! Servers that behave as public reports of bugs in servers and clients describe: what a recipient can
//! read is measured, and what it cannot is refused with words that help.

use std::io::{self, Write};
use std::net::TcpStream;
use std::sync::Arc;

use load::{ErrorKind, Job, KeyExchangeMode, Operation, Plan, Trust};
use openssl::asn1::Asn1Time;
use openssl::ec::{EcGroup, EcKey};
use openssl::hash::MessageDigest;
use openssl::nid::Nid;
use openssl::pkey::{PKey, Private};
use openssl::ssl::{SslContext, SslMethod, SslVersion};
use openssl::x509::extension::SubjectAlternativeName;
use openssl::x509::{X509, X509Name};
use rustls::ServerConfig;
use rustls::version::{TLS12, TLS13};
use tls::{Identity, OrPlain, Version};

use crate::scripted_server::{
    Legacy, Plain, Secure, Server, Session, config, config_of, ecdsa, finish, long_chain,
    read_record, reset,
};
use crate::{assert_completes, http, https, kinds, one_in, run, summary};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// Answers each request over plain HTTP with these writes, one after another.
fn plain(writes: &'static [&'static str]) -> Server {
    Server::start(move |stream| {
        let mut session = Plain(stream);
        loop {
            session.request()?;
            for text in writes {
                session.send(text.as_bytes())?;
            }
        }
    })
}

/// Sends this as soon as a client connects, and once more what it had to say, whatever it is asked.
fn saying(bytes: impl Into<Vec<u8>>) -> Server {
    let bytes = bytes.into();
    Server::start(move |mut stream: TcpStream| {
        stream.write_all(&bytes)?;
        finish(&mut stream)
    })
}

/// What the probe says of a server that it refuses.
#[track_caller]
fn refused(job: &Job) -> String {
    let error = crate::probe(job).unwrap_err().to_string();
    // No name of a type or a variant.
    assert!(!error.contains("Error") && !error.contains("Other("), "{error}");
    error
}

#[track_caller]
fn assert_words(error: &str, words: &[&str]) {
    for word in words {
        assert!(error.contains(word), "`{word}` is not in: {error}");
    }
}

/// Early hints, as HAProxy sends them (nghttp2 1259).
#[test]
fn an_interim_response_is_not_the_answer() {
    let server = plain(&["HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n", OK]);
    assert_completes(http(server.address(), "/"), 2);
}

#[test]
fn a_length_that_is_said_twice_counts_once() {
    for text in [
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok",
        "HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\n\r\nok",
    ] {
        let server = plain(Box::leak(Box::new([text])));
        assert_completes(http(server.address(), "/"), 2);
    }
}

#[test]
fn old_line_ends_and_folded_fields_are_read() {
    let server = plain(&["HTTP/1.1 200 OK\nX-Log: one\n two\nContent-Length: 2\n\nok"]);
    assert_completes(http(server.address(), "/"), 2);
    let server = plain(&["HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n2\n", "ok\n0\n\n"]);
    assert_completes(http(server.address(), "/"), 2);
}

#[test]
fn a_space_before_the_colon_is_quoted() {
    let server = plain(&["HTTP/1.1 200 OK\r\nContent-Length : 2\r\n\r\nok"]);
    assert_words(&refused(&http(server.address(), "/")), &["`Content-Length : 2`"]);
}

#[test]
fn more_fields_than_the_limit_name_it() {
    let fields = |count| (0..count).map(|n| format!("X-{n}: {n}\r\n")).collect::<String>();
    let text = |count| format!("HTTP/1.1 200 OK\r\n{}Content-Length: 2\r\n\r\nok", fields(count));
    let server = plain(Box::leak(Box::new([&*text(255).leak()])));
    assert_completes(http(server.address(), "/"), 2);
    let server = plain(Box::leak(Box::new([&*text(256).leak()])));
    assert_words(&refused(&http(server.address(), "/")), &["256 header fields"]);
}

#[test]
fn each_status_has_its_own_advice() {
    for (status, words) in [
        ("304 Not Modified", "If-None-Match"),
        ("401 Unauthorized", "Authorization"),
        ("403 Forbidden", "forbids"),
        ("404 Not Found", "the path of an object"),
        ("405 Method Not Allowed", "method"),
        ("421 Misdirected Request", "--connect-to"),
        ("429 Too Many Requests", "limit"),
        ("503 Service Unavailable", "log"),
    ] {
        let text = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n");
        let server = plain(Box::leak(Box::new([&*text.leak()])));
        let error = refused(&http(server.address(), "/"));
        assert_words(&error, &[status, words]);
        assert_eq!(error.contains("the path of an object"), status.starts_with("404"), "{error}");
    }
}

/// What nginx answers to plain HTTP on a port of TLS.
#[test]
fn a_400_says_why() {
    let server = plain(&[
        "HTTP/1.1 400 Bad Request\r\nContent-Type: text/html\r\nContent-Length: 60\r\n\
         Connection: close\r\n\r\n",
        "<title>400 Plain HTTP was sent to a port of TLS</title> ....",
    ]);
    let error = refused(&http(server.address(), "/"));
    assert_words(&error, &["400 Bad Request: Plain HTTP was sent to a port of TLS", "https://"]);
}

#[test]
fn another_protocol_is_named() {
    // A TLS server's alert to plain HTTP, and an HTTP/2 server's first frame.
    let error = refused(&http(saying([21, 3, 3, 0, 2, 2, 10]).address(), "/"));
    assert_words(&error, &["TLS record", "https://"]);
    let error = refused(&http(saying(*b"\0\0\x06\x04\0\0\0\0\0\0\x03\0\0\0d").address(), "/"));
    assert_words(&error, &["HTTP/2"]);
    let error = refused(&http(saying(*b"220 mail ESMTP ready\r\n").address(), "/"));
    assert_words(&error, &["`220 mail ESMTP ready`"]);
}

/// A server that reads a ClientHello and answers with this alert.
fn alerting(alert: u8) -> Server {
    Server::start(move |mut stream| {
        read_record(&mut stream)?;
        stream.write_all(&[21, 3, 3, 0, 2, 2, alert])?;
        finish(&mut stream)
    })
}

/// A server with static RSA or DHE only (rustls 1161 and others; tls-perf 9).
#[test]
fn an_alert_lists_what_was_offered_and_what_would_change_it() {
    let server = alerting(40);
    let error = refused(&https(server.address(), "/"));
    assert_words(&error, &["handshake_failure", "TLS 1.3 and 1.2", "x25519", "--suite AES128-SHA"]);
    let mut narrow = https(server.address(), "/");
    narrow.plan.tls = Some(OrPlain::Tls(Version::Tls13));
    let error = refused(&narrow);
    assert_words(&error, &["toll offered TLS 1.3 with", "leave --tls out"]);
    assert!(!error.contains("--suite"), "{error}");
    let error = refused(&https(alerting(112).address(), "/"));
    assert_words(&error, &["unrecognized_name", "--sni"]);
}

/// A server of this certificate that answers with `ok`.
fn serving(config: ServerConfig) -> Server {
    let config = Arc::new(config);
    Server::start(move |stream| {
        let mut session = Secure::accept(stream, &config)?;
        loop {
            session.request()?;
            session.send(OK.as_bytes())?;
        }
    })
}

/// A server that speaks HTTP/2 only says so in the handshake, on each of toll's paths.
#[test]
fn a_server_of_http2_only_is_named() {
    for version in [Version::Tls12, Version::Tls13] {
        let mut config = config_of(ecdsa(), &[&TLS12, &TLS13]);
        config.alpn_protocols = vec![b"h2".to_vec()];
        let server = serving(config);
        let mut job = https(server.address(), "/");
        job.plan.tls = Some(OrPlain::Tls(version));
        assert_words(&refused(&job), &["no_application_protocol", "HTTP/2"]);
        let mut config = config_of(ecdsa(), &[&TLS12, &TLS13]);
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let server = serving(config);
        let mut job = https(server.address(), "/");
        job.plan.tls = Some(OrPlain::Tls(version));
        assert_completes(job, 2);
    }
}

/// An identity for 127.0.0.1 that is valid between these days from now.
fn identity(days: std::ops::Range<i64>, names: &[&str]) -> Identity {
    let group = EcGroup::from_curve_name(Nid::X9_62_PRIME256V1).unwrap();
    let key = PKey::from_ec_key(EcKey::generate(&group).unwrap()).unwrap();
    let mut name = X509Name::builder().unwrap();
    name.append_entry_by_text("CN", "server").unwrap();
    let name = name.build();
    let at = |days: i64| {
        let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs() as i64;
        Asn1Time::from_unix(now + days * 86_400).unwrap()
    };
    let mut certificate = X509::builder().unwrap();
    certificate.set_version(2).unwrap();
    certificate.set_subject_name(&name).unwrap();
    certificate.set_issuer_name(&name).unwrap();
    certificate.set_pubkey(&key).unwrap();
    certificate.set_not_before(&at(days.start)).unwrap();
    certificate.set_not_after(&at(days.end)).unwrap();
    if !names.is_empty() {
        let mut of = SubjectAlternativeName::new();
        names.iter().for_each(|name| match name.parse::<std::net::IpAddr>() {
            Ok(_) => drop(of.ip(name)),
            Err(_) => drop(of.dns(name)),
        });
        let of = of.build(&certificate.x509v3_context(None, None)).unwrap();
        certificate.append_extension(of).unwrap();
    }
    certificate.sign(&key, MessageDigest::sha256()).unwrap();
    Identity {
        certificate_pem: certificate.build().to_pem().unwrap(),
        key_pem: key.private_key_to_pem_pkcs8().unwrap(),
    }
}

/// Self-signed, expired, early, of another name, without a name: with dates, and with the advice that
/// helps (rustls 259 and many after it).
#[test]
fn a_certificate_that_is_not_accepted_says_why() {
    let here = ["127.0.0.1"];
    let folder = tempfile::tempdir().unwrap();
    for (identity, is_named, words) in [
        (identity(-2..9, &here), false, &["self-signed (CN=server)", "--ca"][..]),
        (identity(-2..-1, &here), true, &["expired on 20", "renew", "--insecure"]),
        (identity(2..9, &here), true, &["not valid before 20", "clock"]),
        (identity(-2..9, &["a.example"]), true, &["another name than 127.0.0.1: a.example"]),
        (identity(-2..9, &[]), true, &["no subjectAltName", "-addext"]),
    ] {
        for (version, asked) in [(&TLS12, Version::Tls12), (&TLS13, Version::Tls13)] {
            let server = serving(config_of(&identity, &[version]));
            let mut job = https(server.address(), "/");
            job.plan.tls = Some(OrPlain::Tls(asked));
            job.trust = Trust::System;
            if is_named {
                let file = folder.path().join("ca.pem");
                std::fs::write(&file, &identity.certificate_pem).unwrap();
                job.trust = Trust::File(file);
            }
            let error = refused(&job);
            assert_words(&error, words);
            assert_eq!(error.contains("--ca"), !is_named, "{error}");
            job.trust = Trust::Anyone;
            assert_completes(job, 2);
        }
    }
}

/// Keys and signatures that rustls has no library for here (rustls 1327, 2477 and others), with OpenSSL's server,
/// whichever version is asked for.
#[test]
fn keys_of_every_kind_are_measured() {
    let ec = |curve| {
        let group = EcGroup::from_curve_name(curve).unwrap();
        PKey::from_ec_key(EcKey::generate(&group).unwrap()).unwrap()
    };
    for (name, key, digest, only) in [
        ("P-521", ec(Nid::SECP521R1), Some(MessageDigest::sha512()), None),
        (
            "P-256 with SHA-512",
            ec(Nid::X9_62_PRIME256V1),
            Some(MessageDigest::sha512()),
            Some(Version::Tls12),
        ),
        ("RSA-PSS", rsa_pss(), Some(MessageDigest::sha256()), None),
        ("Ed448", PKey::generate_ed448().unwrap(), None, None),
        ("Ed25519", PKey::generate_ed25519().unwrap(), None, None),
    ] {
        let mut context = SslContext::builder(SslMethod::tls_server()).unwrap();
        context.set_certificate(&certificate(&key, digest)).unwrap();
        context.set_private_key(&key).unwrap();
        // In TLS 1.3 the hash decides the curve; in TLS 1.2 a key's curve must be a group that is offered.
        if only == Some(Version::Tls12) {
            context.set_max_proto_version(Some(SslVersion::TLS1_2)).unwrap();
            context.set_sigalgs_list("ECDSA+SHA512").unwrap();
        }
        let context = context.build();
        let server = Server::start(move |stream| {
            let mut session = Legacy::accept(stream, &context)?;
            loop {
                session.request()?;
                session.send(OK.as_bytes())?;
            }
        });
        let versions = [None, Some(Version::Tls12), Some(Version::Tls13)];
        for version in
            versions.into_iter().filter(|of| of.is_none() || only.is_none() || *of == only)
        {
            let mut job = https(server.address(), "/");
            job.plan.tls = version.map(OrPlain::Tls);
            job.plan.verify = Some(one_in(1));
            let outcome = run(job);
            let verified = outcome.verified.signatures;
            assert_eq!(
                (outcome.completed, verified),
                (3, 1),
                "{name} {version:?} {}",
                summary(&outcome)
            );
        }
    }
}

/// A key that signs with PSS alone (RFC 4055), as `openssl genpkey -algorithm RSA-PSS` makes it.
fn rsa_pss() -> PKey<Private> {
    let command = ["genpkey", "-algorithm", "RSA-PSS", "-pkeyopt", "rsa_keygen_bits:2048"];
    let made = std::process::Command::new("openssl").args(command).output().unwrap();
    PKey::private_key_from_pem(&made.stdout).unwrap()
}

/// A self-signed certificate for this key.
fn certificate(key: &PKey<Private>, digest: Option<MessageDigest>) -> X509 {
    let mut certificate = X509::builder().unwrap();
    certificate.set_version(2).unwrap();
    certificate.set_pubkey(key).unwrap();
    certificate.set_not_before(&Asn1Time::days_from_now(0).unwrap()).unwrap();
    certificate.set_not_after(&Asn1Time::days_from_now(9).unwrap()).unwrap();
    certificate.sign(key, digest.unwrap_or_else(MessageDigest::null)).unwrap();
    certificate.build()
}

/// A chain of 90 KB, of which rustls takes 64 KiB: the words name the way that takes it.
#[test]
fn a_long_chain_is_measured_by_tolls_own_handshakes() {
    let length = 90_000 / ecdsa_certificate_length();
    for (version, asked) in [(&TLS12, Version::Tls12), (&TLS13, Version::Tls13)] {
        let config = long_chain(version, length);
        let server = Server::start(move |stream| {
            let mut session = Secure::accept(stream, &config)?;
            loop {
                session.request()?;
                session.send(OK.as_bytes())?;
            }
        });
        let mut job = https(server.address(), "/");
        job.plan.key_exchange = Some(KeyExchangeMode::Fresh);
        let error = refused(&job);
        assert_words(&error, &["longer than 64 KiB", "leave out --key-exchange fresh"]);
        job.plan.key_exchange = None;
        for version in [None, Some(OrPlain::Tls(asked))] {
            job.plan.tls = version;
            assert_completes(job.clone(), 2);
        }
    }
}

fn ecdsa_certificate_length() -> usize {
    X509::from_pem(&ecdsa().certificate_pem).unwrap().to_der().unwrap().len()
}

/// A server that closes where TLS is expected, without a word.
#[test]
fn a_server_that_only_closes_asks_for_the_other_scheme() {
    let silent = || Server::start(|mut stream: TcpStream| finish(&mut stream));
    let of = |job: Job| refused(&job);
    assert_words(&of(https(silent().address(), "/")), &["early-close", "what the URL says"]);
    assert_words(&of(http(silent().address(), "/")), &["early-close", "what the URL says"]);
}

/// Apache httpd closes a kept connection whenever its threads are all busy; so does any server at its
/// keep-alive timeout. The request that was on its way is sent again, and that is counted.
#[test]
fn a_kept_connection_may_close_before_the_next_answer() {
    // Answers once, and closes when it has read the second request: with a FIN, or with a reset.
    for resets in [false, true] {
        let server = Server::start(move |stream| {
            let mut session = Plain(stream);
            session.request()?;
            session.send(OK.as_bytes())?;
            session.request()?;
            if resets { reset(session.stream()) } else { finish(session.stream()) }
        });
        let outcome = run(http(server.address(), "/"));
        assert_eq!((outcome.completed, kinds(&outcome)), (3, vec![]), "{}", summary(&outcome));
        assert_eq!((outcome.sent_again, server.connections()), (2, 3));
    }
    // A connection that never had an answer is no kept one, and half an answer is no close between two.
    for text in ["", "HTTP/1.1 200 OK\r\nContent-Le"] {
        let server = Server::start(move |stream| {
            let mut session = Plain(stream);
            session.request()?;
            if !text.is_empty() {
                session.send(OK.as_bytes())?;
                session.request()?;
            }
            session.send(text.as_bytes())?;
            finish(session.stream())
        });
        let outcome = run(http(server.address(), "/"));
        let failed = if text.is_empty() { 3 } else { 1 };
        assert_eq!(kinds(&outcome), [(ErrorKind::EarlyClose, failed)], "{}", summary(&outcome));
        assert_eq!(outcome.sent_again, 0);
    }
}

/// A session walks on after a page that it did not expect; there are no paths to advise then.
#[test]
fn handshakes_alone_need_no_answer() {
    let config = config();
    let server = Server::start(move |stream| -> io::Result<()> {
        let mut session = Secure::accept(stream, &config)?;
        session.finish()
    });
    let mut job = https(server.address(), "/");
    job.plan = Plan { operation: Operation::Handshakes, ..job.plan };
    assert!(crate::probe(&job).is_ok());
    assert_words(&refused(&https(server.address(), "/")), &[ErrorKind::EarlyClose.name()]);
}
