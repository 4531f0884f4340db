//! Sessions of TLS 1.2 that OpenSSL's server resumes.

use openssl::ssl::{
    ShutdownState, Ssl, SslContext, SslMethod, SslOptions, SslSessionCacheMode, SslStream,
    SslVerifyMode, SslVersion,
};
use openssl::x509::X509;
use tls::{CertificateKey, Version};
use wire::handshake::{Client, GivenSession, Negotiated, Offer, Remarks};
use wire_peer::{InMemory, assert_keys_agree, with_openssl};

use super::static_rsa::{offering, suite};
use super::{NO_EXTENDED_MASTER_SECRET, client_of, hello_of, identity, private, to_anyone};

const SUITES: [&str; 5] = [
    "AES128-SHA",
    "AES256-GCM-SHA384",
    "ECDHE-RSA-AES128-SHA",
    "ECDHE-RSA-AES256-SHA384",
    "ECDHE-RSA-CHACHA20-POLY1305",
];

/// A server that resumes by tickets or identifiers, or not at all.
fn server(gives: Option<GivenSession>, options: SslOptions) -> SslContext {
    let identity = identity(CertificateKey::Rsa(2048));
    let mut builder = SslContext::builder(SslMethod::tls_server()).unwrap();
    builder.set_max_proto_version(Some(SslVersion::TLS1_2)).unwrap();
    builder.set_cipher_list("ALL:@SECLEVEL=0").unwrap();
    builder.set_certificate(&X509::from_pem(&identity.certificate_pem).unwrap()).unwrap();
    builder.set_private_key(&private(identity)).unwrap();
    builder.set_session_id_context(b"toll").unwrap();
    builder.set_options(options);
    builder.set_session_cache_mode(match gives {
        Some(GivenSession::Id) => SslSessionCacheMode::SERVER,
        _ => SslSessionCacheMode::OFF,
    });
    if gives != Some(GivenSession::Ticket) {
        builder.set_options(SslOptions::NO_TICKET);
    }
    builder.build()
}

/// What a handshake with this server negotiates; its bytes arrive in pieces of this length.
fn handshake(client: &dyn Client, context: &SslContext, piece: usize) -> (Negotiated, Remarks) {
    let mut server = SslStream::new(Ssl::new(context).unwrap(), InMemory::default()).unwrap();
    let mut handshake = client.start().unwrap();
    let established = with_openssl(&mut *handshake, &mut server, piece).unwrap();
    let (negotiated, remarks) = (established.negotiated, established.remarks);
    assert_eq!(server.ssl().session_reused(), negotiated.resumed);
    assert_keys_agree(established, &mut server);
    // OpenSSL forgets the session of a connection that ended without a close.
    server.set_shutdown(ShutdownState::SENT | ShutdownState::RECEIVED);
    (negotiated, remarks)
}

fn resuming(suite: &str) -> Offer {
    Offer { resumed_percent: 100, ..offering(super::static_rsa::suite(suite)) }
}

#[test]
fn every_kind_of_suite_resumes_by_ticket_and_by_identifier() {
    for name in SUITES {
        for gives in [GivenSession::Ticket, GivenSession::Id] {
            for (etm, options) in [(true, SslOptions::empty()), (false, NO_EXTENDED_MASTER_SECRET)]
            {
                let context = server(Some(gives), options);
                let client = client_of(&Offer { encrypt_then_mac: etm, ..resuming(name) });
                for (piece, is_resumed) in [(1000, false), (1000, true), (1, true)] {
                    let (negotiated, remarks) = handshake(&*client, &context, piece);
                    assert_eq!(negotiated.resumed, is_resumed, "{name} {gives:?}");
                    assert_eq!(remarks.offers_session, is_resumed);
                    assert_eq!(negotiated.suite, suite(name));
                    assert_eq!(negotiated.certificate_key, Some(CertificateKey::Rsa(2048)));
                    if !is_resumed {
                        assert_eq!(remarks.given, Some(gives));
                    } else {
                        assert_eq!((negotiated.group, negotiated.signature_scheme), (None, None));
                        assert!(!remarks.is_signature_verified);
                    }
                }
            }
        }
    }
}

#[test]
fn a_session_that_the_server_does_not_know_is_a_full_handshake() {
    for gives in [GivenSession::Ticket, GivenSession::Id] {
        let client = client_of(&resuming("ECDHE-RSA-AES128-SHA"));
        let servers = [(); 2].map(|()| server(Some(gives), SslOptions::empty()));
        let resumed = [0, 1, 1, 0].map(|which: usize| {
            let (negotiated, remarks) = handshake(&*client, &servers[which], 1000);
            (remarks.offers_session, negotiated.resumed)
        });
        let expected = [(false, false), (true, false), (true, true), (true, false)];
        assert_eq!(resumed, expected, "{gives:?}");
    }
}

#[test]
fn nothing_is_offered_where_the_server_gave_nothing_or_sessions_are_only_collected() {
    let none = server(None, SslOptions::empty());
    let client = client_of(&resuming("ECDHE-RSA-AES128-SHA"));
    for _ in 0..2 {
        let (negotiated, remarks) = handshake(&*client, &none, 1000);
        assert_eq!((negotiated.resumed, remarks.offers_session), (false, false));
        assert_eq!(remarks.given, None);
    }
    let context = server(Some(GivenSession::Ticket), SslOptions::empty());
    client.collect(true);
    for _ in 0..2 {
        assert!(!handshake(&*client, &context, 1000).0.resumed);
    }
    client.collect(false);
    assert!(handshake(&*client, &context, 1000).0.resumed);
}

#[test]
fn full_handshakes_offer_no_session_and_ask_for_none() {
    let client = client_of(&Offer { resumed_percent: 50, ..resuming("ECDHE-RSA-AES128-SHA") });
    let context = server(Some(GivenSession::Ticket), SslOptions::empty());
    let asks = [(); 6].map(|()| {
        let (_, remarks) = handshake(&*client, &context, 1000);
        remarks.given.is_some() || remarks.offers_session
    });
    assert_eq!(asks.iter().filter(|asks| **asks).count(), 3);
    let lengths = [(); 2].map(|()| hello_of(&mut *client.start().unwrap()).len());
    assert!(lengths[0] != lengths[1]);
}

#[test]
fn a_request_for_a_certificate_is_noted_in_full_handshakes() {
    let identity = identity(CertificateKey::Rsa(2048));
    let mut builder = SslContext::builder(SslMethod::tls_server()).unwrap();
    builder.set_max_proto_version(Some(SslVersion::TLS1_2)).unwrap();
    builder.set_cipher_list("ALL:@SECLEVEL=0").unwrap();
    builder.set_certificate(&X509::from_pem(&identity.certificate_pem).unwrap()).unwrap();
    builder.set_private_key(&private(identity)).unwrap();
    builder.set_session_id_context(b"toll").unwrap();
    builder.set_verify(SslVerifyMode::PEER);
    let context = builder.build();
    let client = client_of(&resuming("ECDHE-RSA-AES128-SHA"));
    let asked = [(); 2].map(|()| {
        let (negotiated, remarks) = handshake(&*client, &context, 1000);
        (negotiated.resumed, remarks.asks_certificate)
    });
    assert_eq!(asked, [(false, true), (true, false)]);
}

/// rustls makes the handshake; what the server gives is read from its bytes.
#[test]
fn a_server_that_chooses_tls12_gives_sessions_too() {
    for gives in [GivenSession::Ticket, GivenSession::Id] {
        for piece in [1000, 1] {
            let context = server(Some(gives), SslOptions::empty());
            let client = client_of(&Offer { resumed_percent: 100, ..to_anyone() });
            let (first, remarks) = handshake(&*client, &context, piece);
            assert_eq!((first.version, first.resumed), (Version::Tls12, false));
            assert_eq!(remarks.given, Some(gives));
            assert!(handshake(&*client, &context, piece).0.resumed, "{gives:?}");
        }
    }
    let context = server(None, SslOptions::empty());
    let client = client_of(&Offer { resumed_percent: 100, ..to_anyone() });
    assert_eq!(handshake(&*client, &context, 1000).1.given, None);
}
