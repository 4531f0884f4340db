//! TLS 1.3 with OpenSSL's server, rustls's, and a server that breaks the rules.

use std::mem::take;
use std::num::NonZeroU32;

use foreign_types::ForeignTypeRef;
use openssl::sign::Signer;
use openssl::ssl::{
    Ssl, SslContext, SslContextBuilder, SslMethod, SslStream, SslVerifyMode, SslVersion,
};
use openssl::x509::X509;
use tls::{CertificateKey, Group, SUITES, Version};
use wire::handshake::{Client, Established, Negotiated, Offer, client};
use wire::reception::{Expectation, Learned, Reception};
use wire::record::{HEADER, content_type};
use wire::{ErrorKind, Failure};
use wire_peer::messages::{
    self, Extensions, RETRY, in_handshake_records, kind, message, session_id, vector16, vector24,
};
use wire_peer::{End, InMemory, Line, Puppet, assert_keys_agree, with_openssl};

use super::tls12::asked;
use super::{hello_of, identity, one_in, private, start, to_anyone};

pub(super) fn openssl_server(
    key: CertificateKey,
    configure: impl FnOnce(&mut SslContextBuilder),
) -> SslStream<InMemory> {
    let identity = identity(key);
    let mut builder = SslContext::builder(SslMethod::tls_server()).unwrap();
    builder.set_min_proto_version(Some(SslVersion::TLS1_3)).unwrap();
    let certificate = X509::from_pem(&identity.certificate_pem).unwrap();
    builder.set_certificate(&certificate).unwrap();
    builder.set_private_key(&private(identity)).unwrap();
    configure(&mut builder);
    SslStream::new(Ssl::new(&builder.build()).unwrap(), InMemory::default()).unwrap()
}

fn tls13() -> Offer {
    Offer { version: Some(Version::Tls13), ..to_anyone() }
}

/// A client that verifies one signature in this many.
fn client_of(verify: NonZeroU32) -> Box<dyn Client> {
    client(&tls13(), one_in(verify)).unwrap()
}

pub(super) fn without_tickets(builder: &mut SslContextBuilder) {
    builder.set_num_tickets(0).unwrap();
}

#[test]
fn openssl_agrees_with_every_suite_group_and_kind_of_key() {
    let groups = [Group::X25519, Group::Secp256r1, Group::Secp384r1];
    let keys = [
        CertificateKey::Rsa(2048),
        CertificateKey::EcdsaP256,
        CertificateKey::EcdsaP384,
        CertificateKey::Ed25519,
    ];
    let suites = SUITES.iter().filter(|suite| suite.version() == Version::Tls13);
    let of_groups = suites.flat_map(|suite| groups.map(|group| (suite, group)));
    for ((suite, group), key) in of_groups.zip(keys.into_iter().cycle()) {
        let offer = Offer { suite: Some(suite), group: Some(group), ..tls13() };
        let mut server = openssl_server(key, without_tickets);
        let established = with_openssl(&mut *start(&offer), &mut server, 1000).unwrap();
        let expected = (suite, Some(group), Some(key));
        let Negotiated { suite, group, certificate_key, version, resumed, .. } =
            established.negotiated;
        assert_eq!((suite, group, certificate_key), expected);
        assert_eq!((version, resumed), (Version::Tls13, false));
        assert!(established.remarks.is_signature_verified);
        assert_keys_agree(established, &mut server);
    }
}

/// What OpenSSL's server sends, with a KeyUpdate before it.
fn updated(server: &mut SslStream<InMemory>, is_requested: bool, content: &[u8]) -> Vec<u8> {
    unsafe extern "C" {
        fn SSL_key_update(ssl: *mut std::ffi::c_void, kind: std::ffi::c_int) -> std::ffi::c_int;
    }
    // SAFETY: the connection is there while it is borrowed, and its handshake is over.
    let rc = unsafe { SSL_key_update(server.ssl().as_ptr().cast(), is_requested.into()) };
    assert_eq!(rc, 1);
    server.get_mut().outgoing.clear();
    server.ssl_write(content).unwrap();
    take(&mut server.get_mut().outgoing)
}

/// Own handshakes and rustls's, with every suite.
#[test]
fn openssls_key_updates_are_followed_and_answered() {
    const RESPONSE: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npong";
    let suites = SUITES.iter().filter(|suite| suite.version() == Version::Tls13);
    for (suite, is_fixed) in suites.flat_map(|suite| [(suite, true), (suite, false)]) {
        let offer = Offer {
            suite: Some(suite),
            fixed_key_exchange: is_fixed,
            follows_key_updates: true,
            ..tls13()
        };
        let mut server = openssl_server(CertificateKey::EcdsaP256, without_tickets);
        let established = with_openssl(&mut *start(&offer), &mut server, 1000).unwrap();
        let Established { opener, mut sealer, post_handshake, .. } = established;
        let mut reception =
            Reception::tls(opener, Learned::default()).with_post_handshake(post_handshake);
        for is_requested in [true, false, true, true] {
            let mut request = Vec::new();
            reception.answer_key_update(&mut sealer, &mut request).unwrap();
            sealer.seal(content_type::APPLICATION_DATA, b"ping", &mut request).unwrap();
            server.get_mut().incoming.append(&mut request);
            let mut read = [0; 10];
            assert_eq!(server.ssl_read(&mut read).unwrap(), 4, "{suite} {is_fixed}");
            assert_eq!(&read[..4], b"ping");
            reception.expect(Expectation::Anything, true);
            let bytes = updated(&mut server, is_requested, RESPONSE);
            let end = Line::new(&bytes, &[usize::MAX]).run(&mut reception);
            assert!(matches!(end, Ok(End::Complete(_))), "{suite} {is_fixed} {end:?}");
        }
    }
}

#[test]
fn the_servers_bytes_may_be_cut_anywhere() {
    for piece in [1, 2, 5, 6, 100] {
        let mut server = openssl_server(CertificateKey::Rsa(2048), without_tickets);
        let established = with_openssl(&mut *start(&tls13()), &mut server, piece).unwrap();
        assert_keys_agree(established, &mut server);
    }
}

#[test]
fn a_server_that_wants_another_group_gets_it() {
    // The group that rustls prefers is offered with a share, the others without.
    for (name, group) in [("P-256", Group::Secp256r1), ("P-384", Group::Secp384r1)] {
        for suite in SUITES.iter().filter(|suite| suite.version() == Version::Tls13) {
            let mut server = openssl_server(CertificateKey::EcdsaP256, |builder| {
                without_tickets(builder);
                builder.set_groups_list(name).unwrap();
            });
            let offer = Offer { suite: Some(suite), ..tls13() };
            let established = with_openssl(&mut *start(&offer), &mut server, 1000).unwrap();
            assert_eq!(established.negotiated.group, Some(group));
            assert_keys_agree(established, &mut server);
        }
    }
}

#[test]
fn a_certificate_request_is_answered_with_an_empty_list() {
    let mut server = openssl_server(CertificateKey::EcdsaP256, |builder| {
        without_tickets(builder);
        builder.set_verify(SslVerifyMode::PEER);
    });
    let established = with_openssl(&mut *start(&tls13()), &mut server, 1000).unwrap();
    assert_keys_agree(established, &mut server);
    assert!(server.ssl().peer_certificate().is_none());
}

#[test]
fn signatures_are_verified_in_one_handshake_in_k() {
    let client = client_of(NonZeroU32::new(3).unwrap());
    let verified: Vec<bool> = (0..9)
        .map(|_| {
            let mut server = openssl_server(CertificateKey::EcdsaP256, without_tickets);
            let mut handshake = client.start().unwrap();
            with_openssl(&mut *handshake, &mut server, 1000).unwrap().remarks.is_signature_verified
        })
        .collect();
    assert!(verified[0]);
    assert!(verified.chunks(3).all(|block| block.iter().filter(|is| **is).count() == 1));
}

#[test]
fn any_changed_byte_of_the_servers_flight_is_noticed() {
    // The first handshake is another, so no signature is verified below: the Finished covers the whole
    // transcript.
    for offer in [tls13(), to_anyone()] {
        let client = client(&offer, one_in(NonZeroU32::MAX)).unwrap();
        let mut first = openssl_server(CertificateKey::EcdsaP256, without_tickets);
        assert!(with_openssl(&mut *client.start().unwrap(), &mut first, 1000).is_ok());
        for at in 0.. {
            let mut server = openssl_server(CertificateKey::EcdsaP256, without_tickets);
            let mut handshake = client.start().unwrap();
            let (mut received, mut to_send) = (Vec::new(), Vec::new());
            assert!(handshake.advance(&mut received, &mut to_send).unwrap().is_none());
            server.get_mut().incoming = to_send.split_off(0);
            assert!(server.accept().is_err());
            received = std::mem::take(&mut server.get_mut().outgoing);
            // The versions of ServerHello's record and of the ChangeCipherSpec after it mean nothing.
            let hello = HEADER + usize::from(u16::from_be_bytes([received[3], received[4]]));
            let Some(byte) = received.get_mut(at) else { break };
            *byte ^= 1;
            let is_done = matches!(handshake.advance(&mut received, &mut to_send), Ok(Some(_)));
            assert_eq!(is_done, [2, hello + 2].contains(&at), "byte {at}");
        }
    }
}

#[test]
fn client_hellos_differ_in_their_random_and_session_identifier_alone() {
    let client = client_of(NonZeroU32::MIN);
    let hello = || hello_of(&mut *client.start().unwrap());
    let (one, two) = (hello(), hello());
    assert_eq!(one.len(), two.len());
    let of_its_own = |at: usize| (11..43).contains(&at) || (44..76).contains(&at);
    for at in 0..one.len() {
        assert!(one[at] == two[at] || of_its_own(at), "byte {at}");
    }
    assert_ne!(one[11..43], two[11..43]);
    assert_ne!(session_id(&one), session_id(&two));
}

#[test]
fn resumption_and_honest_key_exchange_are_left_to_rustls() {
    for offer in [
        Offer { resumed_percent: 100, ..tls13() },
        Offer { fixed_key_exchange: false, ..tls13() },
        Offer { resumed_percent: 100, ..to_anyone() },
    ] {
        let mut server = openssl_server(CertificateKey::EcdsaP256, without_tickets);
        let established = with_openssl(&mut *start(&offer), &mut server, 1000).unwrap();
        assert_keys_agree(established, &mut server);
    }
}

/// A ticket may allow 0-RTT (RFC 8446, section 4.2.10), and the client still does not offer it, nor an encrypted
/// ClientHello.
#[test]
fn no_client_hello_offers_early_data_or_is_encrypted() {
    const RESPONSE: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npong";
    const PRE_SHARED_KEY: u16 = 41;
    const EARLY_DATA: u16 = 42;
    const ENCRYPTED_CLIENT_HELLO: u16 = 0xfe0d;
    let extensions = |client: &dyn Client| {
        let (_, extensions) = asked(&hello_of(&mut *client.start().unwrap()));
        extensions.into_iter().map(|(kind, _)| kind).collect::<Vec<u16>>()
    };
    let offers = [
        tls13(),
        Offer { version: Some(Version::Tls12), ..to_anyone() },
        to_anyone(),
        Offer { resumed_percent: 100, ..tls13() },
    ];
    for offer in offers {
        let client = client(&offer, one_in(NonZeroU32::MIN)).unwrap();
        let resumes = offer.resumed_percent > 0;
        if resumes {
            let mut server = openssl_server(CertificateKey::EcdsaP256, |builder| {
                builder.set_max_early_data(1 << 14).unwrap();
            });
            let mut handshake = client.start().unwrap();
            server.get_mut().incoming = hello_of(&mut *handshake);
            assert!(server.accept().is_err());
            let (mut received, mut finished) = (take(&mut server.get_mut().outgoing), Vec::new());
            let established = handshake.advance(&mut received, &mut finished).unwrap();
            server.get_mut().incoming = finished;
            server.accept().unwrap();
            let Established { opener, post_handshake, .. } = established.unwrap();
            let mut reception =
                Reception::tls(opener, Learned::default()).with_post_handshake(post_handshake);
            reception.expect(Expectation::Anything, true);
            server.ssl_write(RESPONSE).unwrap();
            let end = Line::new(&server.get_ref().outgoing, &[usize::MAX]).run(&mut reception);
            assert!(matches!(end, Ok(End::Complete(_))), "{end:?}");
        }
        let extensions = extensions(&*client);
        assert_eq!(extensions.contains(&PRE_SHARED_KEY), resumes, "{extensions:?}");
        let is_neither = |kind: &u16| ![EARLY_DATA, ENCRYPTED_CLIENT_HELLO].contains(kind);
        assert!(extensions.len() > 3 && extensions.iter().all(is_neither), "{extensions:?}");
    }
}

/// The client's result when the server answers its ClientHello with these messages.
fn result_of(answer: impl FnOnce(&[u8]) -> Vec<u8>) -> Result<(), Failure> {
    let mut handshake = start(&tls13());
    let (mut received, mut to_send) = (Vec::new(), Vec::new());
    assert!(handshake.advance(&mut received, &mut to_send)?.is_none());
    received = answer(&to_send);
    let before = to_send.len();
    let result = handshake.advance(&mut received, &mut to_send).map(|_| ());
    if let Err(failure) = &result
        && failure.kind != ErrorKind::Alert
        && failure.kind != ErrorKind::EarlyClose
    {
        assert!(to_send.len() > before, "no alert was sent for {}", failure.seen);
    }
    result
}

#[track_caller]
fn assert_refused(kind: ErrorKind, seen: &str, answer: impl FnOnce(&[u8]) -> Vec<u8>) {
    let failure = result_of(answer).unwrap_err();
    assert_eq!(failure.kind, kind, "{}", failure.seen);
    assert!(failure.seen.contains(seen), "`{}`", failure.seen);
}

/// A ServerHello in its own record.
fn server_hello(
    random: &[u8; 32],
    session_id: &[u8],
    suite: u16,
    listed: &Extensions<'_>,
) -> Vec<u8> {
    in_handshake_records(&messages::server_hello([3, 3], random, session_id, suite, listed))
}

/// A key share of this group.
fn key_share(group: u16, share: &[u8]) -> Vec<u8> {
    [&group.to_be_bytes()[..], &vector16(share)].concat()
}

#[test]
fn bad_server_hellos_are_refused() {
    use ErrorKind::Handshake;
    const TLS13: (u16, &[u8]) = (43, &[3, 4]);
    let share = &key_share(29, &[7; 32])[..];
    let other_group = key_share(23, &[4; 65]);
    let short = key_share(29, &[7; 31]);
    const RANDOM: [u8; 32] = [5; 32];
    let refused = |suite: u16, extensions: &[(u16, &[u8])], seen: &str| {
        let hello = |client: &[u8]| server_hello(&RANDOM, session_id(client), suite, extensions);
        assert_refused(Handshake, seen, hello);
    };
    refused(0x1301, &[(51, share)], "a version that was not offered");
    refused(0x1301, &[(43, &[3, 3]), (51, share)], "a version that was not offered");
    refused(0x1399, &[TLS13, (51, share)], "a suite that was not offered");
    refused(0xc02f, &[TLS13, (51, share)], "a suite that was not offered");
    refused(0x1301, &[TLS13], "a key share of a group for which the client sent none");
    refused(
        0x1301,
        &[TLS13, (51, &other_group)],
        "a key share of a group for which the client sent none",
    );
    refused(0x1301, &[TLS13, (51, &short)], "a key share that is not valid in its group");
    refused(0x1301, &[TLS13, (51, share), (41, &[0, 0])], "that was not offered");
    refused(0x1301, &[TLS13, TLS13, (51, share)], "a malformed ServerHello");
    refused(0x1301, &[TLS13, (51, &[0, 29, 0])], "a malformed ServerHello");
    assert_refused(Handshake, "a session identifier that is not the client's", |_| {
        server_hello(&RANDOM, &[9; 32], 0x1301, &[TLS13, (51, share)])
    });
    assert_refused(Handshake, "after which the keys change", |client| {
        let hello = Puppet::hello(client);
        in_handshake_records(&[hello, message(8, &[0, 0])].concat())
    });
    assert_refused(Handshake, "a message of type 8", |_| {
        in_handshake_records(&message(8, &[0, 0]))
    });
    assert_refused(Handshake, "an empty record", |_| vec![22, 3, 3, 0, 0]);
    assert_refused(Handshake, "the wrong protection", |_| vec![20, 3, 3, 0, 1, 2]);
    assert_refused(Handshake, "the wrong protection", |_| vec![23, 3, 3, 0, 1, 2]);
    assert_refused(ErrorKind::NotTls, "not a TLS record", |_| b"HTTP/1.1 400".to_vec());
    assert_refused(Handshake, "a malformed record", |client| {
        [in_handshake_records(&Puppet::hello(client)), b"HTTP/1.1 400".to_vec()].concat()
    });
    assert_refused(ErrorKind::Alert, "handshake_failure", |_| vec![21, 3, 3, 0, 2, 2, 40]);
    assert_refused(ErrorKind::EarlyClose, "close_notify", |_| vec![21, 3, 3, 0, 2, 1, 0]);
}

/// RFC 8446, sections 5.1, 5.2 and 5.4.
#[test]
fn records_between_the_parts_of_a_message_or_too_long_are_refused() {
    const CHANGE: &[u8] = &[20, 3, 3, 0, 1, 1];
    let cut = |hello: Vec<u8>, before: &[u8], between: &[u8]| {
        let (one, two) = hello.split_at(9);
        let (one, two) = (in_handshake_records(one), in_handshake_records(two));
        [before, &one, between, &two].concat()
    };
    // It may come before a message, again and again.
    let before = CHANGE.repeat(3);
    assert!(result_of(|client| cut(Puppet::hello(client), &before, &[])).is_ok());
    let seen = "a record with the wrong protection";
    let refused = |answer: &dyn Fn(&[u8]) -> Vec<u8>, seen| {
        assert_refused(ErrorKind::Handshake, seen, answer);
    };
    refused(&|client| cut(Puppet::hello(client), &[], CHANGE), seen);
    let extensions = message(kind::ENCRYPTED_EXTENSIONS, &NO_EXTENSIONS);
    refused(
        &|client| {
            let mut puppet = Puppet::new(client).unwrap();
            puppet.send(content_type::HANDSHAKE, &extensions[..3]);
            puppet.out.extend(CHANGE);
            puppet.send(content_type::HANDSHAKE, &extensions[3..]);
            puppet.out
        },
        seen,
    );
    // Of a record's content only the end that is not zero tells its type.
    let padded = |length: usize| {
        let mut inner = [&extensions[..], &[content_type::HANDSHAKE]].concat();
        inner.resize(length, 0);
        move |client: &[u8]| {
            let mut puppet = Puppet::new(client).unwrap();
            puppet.send(0, &inner);
            puppet.out
        }
    };
    const FULL: usize = 1 << 14;
    assert!(result_of(padded(FULL)).is_ok());
    for length in [FULL + 1, FULL + 256 - 17, FULL + 256 - 16, FULL + 2000] {
        refused(&padded(length), "more than 2^14 bytes");
    }
    // Without protection: a ServerHello with an extension that fills its record.
    let plain = [&[22, 3, 3, 0x40, 1][..], &message(kind::SERVER_HELLO, &[0; FULL - 3])].concat();
    refused(&|_| plain.clone(), "more than 2^14 bytes");
}

#[test]
fn bad_retry_requests_are_refused() {
    const TLS13: (u16, &[u8]) = (43, &[3, 4]);
    let retry = |client: &[u8], extensions: &[(u16, &[u8])]| {
        let all = [&[TLS13], extensions].concat();
        server_hello(&RETRY, session_id(client), 0x1301, &all)
    };
    let refused = |extensions: &[(u16, &[u8])], seen: &str| {
        assert_refused(ErrorKind::Handshake, seen, |client| retry(client, extensions));
    };
    refused(&[], "changes nothing");
    refused(&[(51, &[0, 29])], "changes nothing");
    refused(&[(51, &[1, 0])], "a group that was not offered");
    refused(&[(51, &[0, 23, 0])], "a malformed ServerHello");
    assert_refused(ErrorKind::Handshake, "a second HelloRetryRequest", |client| {
        let asked = retry(client, &[(51, &[0, 23])]);
        [asked.clone(), asked].concat()
    });
    assert_refused(ErrorKind::Handshake, "another suite than", |client| {
        let share = key_share(23, &[4; 65]);
        let hello = server_hello(&[5; 32], session_id(client), 0x1302, &[TLS13, (51, &share)]);
        [retry(client, &[(51, &[0, 23])]), hello].concat()
    });
    // A cookie alone is a reason for a retry, and the client repeats it.
    let mut handshake = start(&tls13());
    let (mut received, mut to_send) = (Vec::new(), Vec::new());
    assert!(handshake.advance(&mut received, &mut to_send).unwrap().is_none());
    received = retry(&to_send, &[(44, &[0, 3, 1, 2, 3])]);
    to_send.clear();
    assert!(handshake.advance(&mut received, &mut to_send).unwrap().is_none());
    let cookie = [0, 44, 0, 5, 0, 3, 1, 2, 3];
    assert!(to_send.windows(cookie.len()).any(|window| window == cookie));
}

/// A Certificate message with the ECDSA identity's certificate.
fn certificate() -> Vec<u8> {
    let pem = &identity(CertificateKey::EcdsaP256).certificate_pem;
    let der = X509::from_pem(pem).unwrap().to_der().unwrap();
    let entry = [&vector24(&der)[..], &[0, 0]].concat();
    message(kind::CERTIFICATE, &[&[0], &vector24(&entry)[..]].concat())
}

fn signature(transcript: &[u8]) -> Vec<u8> {
    let key = private(identity(CertificateKey::EcdsaP256));
    let mut signer = Signer::new(openssl::hash::MessageDigest::sha256(), &key).unwrap();
    let content = [&[b' '; 64][..], b"TLS 1.3, server CertificateVerify\0", transcript].concat();
    signer.sign_oneshot_to_vec(&content).unwrap()
}

fn certificate_verify(scheme: u16, signature: &[u8]) -> Vec<u8> {
    let body = [&scheme.to_be_bytes()[..], &vector16(signature)].concat();
    message(kind::CERTIFICATE_VERIFY, &body)
}

const NO_EXTENSIONS: [u8; 2] = [0, 0];

/// A puppet that has sent an honest server's messages up to this one.
fn puppet_until(client_hello: &[u8], stop_before: u8) -> Puppet {
    let mut puppet = Puppet::new(client_hello).unwrap();
    type Message = fn(&Puppet) -> Vec<u8>;
    let steps: [(u8, Message); 4] = [
        (kind::ENCRYPTED_EXTENSIONS, |_| message(kind::ENCRYPTED_EXTENSIONS, &NO_EXTENSIONS)),
        (kind::CERTIFICATE, |_| certificate()),
        (kind::CERTIFICATE_VERIFY, |puppet| {
            certificate_verify(0x0403, &signature(&puppet.transcript()))
        }),
        (kind::FINISHED, |puppet| puppet.finished()),
    ];
    for (kind, message) in steps.into_iter().take_while(|(kind, _)| *kind != stop_before) {
        let message = message(&puppet);
        assert_eq!(message[0], kind);
        puppet.send(content_type::HANDSHAKE, &message);
    }
    puppet
}

#[test]
fn an_honest_puppet_is_accepted() {
    let mut handshake = start(&tls13());
    let (mut received, mut to_send) = (Vec::new(), Vec::new());
    assert!(handshake.advance(&mut received, &mut to_send).unwrap().is_none());
    received = puppet_until(&to_send, 0).out;
    assert!(handshake.advance(&mut received, &mut to_send).unwrap().is_some());
    assert!(received.is_empty());
}

#[test]
fn bad_protected_messages_are_refused() {
    use ErrorKind::{Authentication, Handshake};
    let refused = |kind, seen: &str, stop_before, content_type: u8, content: &[u8]| {
        assert_refused(kind, seen, |client| {
            let mut puppet = puppet_until(client, stop_before);
            puppet.send(content_type, content);
            puppet.out
        });
    };
    let handshake = content_type::HANDSHAKE;
    let extensions = |listed: &Extensions<'_>| {
        message(kind::ENCRYPTED_EXTENSIONS, &messages::extensions(listed))
    };
    let (first, second) = (kind::ENCRYPTED_EXTENSIONS, kind::CERTIFICATE);
    let (third, last) = (kind::CERTIFICATE_VERIFY, kind::FINISHED);
    // Early data was not offered, and the others do not belong here.
    for kind in [42, 43, 51] {
        let seen = format!("extension {kind}, which was not offered");
        refused(Handshake, &seen, first, handshake, &extensions(&[(kind, &[])]));
    }
    for (seen, protocols) in [
        ("the application protocol `h2`", &b"\0\x03\x02h2"[..]),
        ("a malformed list of app", b"\0\x0c\x08http/1.1\x02h2"),
        ("a malformed list of app", b"\0\x01\0"),
        ("a malformed list of app", b"\0\x09\x08http/1.1h2"),
        ("a malformed list of app", b""),
    ] {
        refused(Handshake, seen, first, handshake, &extensions(&[(16, protocols)]));
    }
    refused(Handshake, "a malformed Enc", first, handshake, &extensions(&[(0, &[]), (0, &[])]));
    refused(Handshake, "a malformed Enc", first, handshake, &message(first, &[0, 1]));
    refused(Handshake, "a message of type 11", first, handshake, &certificate());
    refused(Handshake, "a message of type 20", second, handshake, &message(last, &[0; 32]));
    refused(Handshake, "a message of type 4", second, handshake, &message(4, &[0; 32]));
    refused(Handshake, "data before the handshake's end", second, 23, b"HTTP/1.1 200 OK");
    refused(ErrorKind::Alert, "internal_error", second, 21, &[2, 80]);
    refused(ErrorKind::EarlyClose, "close_notify", second, 21, &[1, 0]);
    refused(Handshake, "a malformed alert", second, 21, &[2]);
    refused(Handshake, "an empty record", second, handshake, &[]);

    let asking = |body: &[u8]| message(kind::CERTIFICATE_REQUEST, body);
    let request = asking(&[0, 0, 8, 0, 13, 0, 4, 0, 2, 4, 3]);
    let twice = [&request[..], &request].concat();
    refused(Handshake, "a message of type 13", second, handshake, &twice);
    refused(Handshake, "a message of type 13", first, handshake, &request);
    refused(Handshake, "a message of type 13", third, handshake, &request);
    let nameless = asking(&[0, 0, 0]);
    refused(Handshake, "without signature_algorithms", second, handshake, &nameless);
    for body in [
        &[0, 0][..],
        // A context, which is of requests after the handshake.
        &[1, 9, 0, 8, 0, 13, 0, 4, 0, 2, 4, 3],
        // No scheme, half of one, and one too many for the length.
        &[0, 0, 6, 0, 13, 0, 2, 0, 0],
        &[0, 0, 7, 0, 13, 0, 3, 0, 1, 4],
        &[0, 0, 10, 0, 13, 0, 6, 0, 2, 4, 3, 5, 3],
        // More after the extensions.
        &[0, 0, 8, 0, 13, 0, 4, 0, 2, 4, 3, 0],
    ] {
        let malformed = "a malformed CertificateRequest";
        refused(Handshake, malformed, second, handshake, &asking(body));
    }
    refused(
        Authentication,
        "empty list of certificates",
        second,
        handshake,
        &message(second, &[0, 0, 0, 0]),
    );
    refused(Handshake, "a malformed Certificate", second, handshake, &message(second, &[1, 9]));
    let no_der = message(second, &[0, 0, 0, 6, 0, 0, 1, 9, 0, 0]);
    refused(Authentication, "", second, handshake, &no_der);
    let mut unoffered = certificate();
    unoffered.truncate(unoffered.len() - 2);
    unoffered.extend([0, 4, 0, 18, 0, 0]);
    for (at, more) in [(3, 4), (7, 4)] {
        unoffered[at] = unoffered[at].checked_add(more).unwrap_or_else(|| {
            unoffered[at - 1] += 1;
            unoffered[at].wrapping_add(more)
        });
    }
    refused(Handshake, "extension 18, which was not offered", second, handshake, &unoffered);

    let signed = |scheme, signature: &[u8]| certificate_verify(scheme, signature);
    let forged = "a signature that does not match the handshake";
    refused(Authentication, forged, third, handshake, &signed(0x0403, &[1; 70]));
    refused(Authentication, forged, third, handshake, &signed(0x0403, &signature(&[0; 32])));
    refused(Authentication, forged, third, handshake, &signed(0x0804, &[1; 256]));
    refused(Handshake, "a signature scheme", third, handshake, &signed(0x0203, &[1; 70]));
    let longer = [&signed(0x0403, &[1; 70])[4..], &[0]].concat();
    refused(Handshake, "a malformed CertificateVerify", third, handshake, &message(third, &longer));

    let wrong = "a Finished that does not match the handshake";
    refused(Authentication, wrong, last, handshake, &message(last, &[0; 32]));
    refused(Authentication, wrong, last, handshake, &message(last, &[]));
    assert_refused(Handshake, "after which the keys change", |client| {
        let mut puppet = puppet_until(client, kind::FINISHED);
        let finished = puppet.finished();
        puppet.send(content_type::HANDSHAKE, &[finished, message(4, &[0; 9])].concat());
        puppet.out
    });
    assert_refused(Handshake, "not authentic", |client| {
        let mut puppet = puppet_until(client, kind::CERTIFICATE);
        puppet.out.extend([23, 3, 3, 0, 40]);
        puppet.out.extend([1; 40]);
        puppet.out
    });
    assert_refused(Handshake, "the wrong protection", |client| {
        let mut puppet = puppet_until(client, kind::CERTIFICATE);
        puppet.out.extend(in_handshake_records(&certificate()));
        puppet.out
    });
    assert_refused(Handshake, "more than 256 KiB", |client| {
        let mut puppet = puppet_until(client, kind::CERTIFICATE);
        let long = message(kind::CERTIFICATE, &vec![0; 300 << 10]);
        for part in long.chunks(16 << 10) {
            puppet.send(content_type::HANDSHAKE, part);
        }
        puppet.out
    });
}
