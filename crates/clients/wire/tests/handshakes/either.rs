//! One ClientHello for both versions, with OpenSSL's server of either.

use openssl::ssl::{SslStream, SslVerifyMode};
use tls::{CertificateKey, Group, Version};
use wire::handshake::Established;
use wire::{ErrorKind, Failure};
use wire_peer::{InMemory, assert_keys_agree, with_openssl};

use super::static_rsa::{assert_changed_bytes_are_noticed, openssl_server as tls12_server};
use super::tls13::{openssl_server as tls13_server, without_tickets};
use super::{hello_of, identity, start, to_anyone};

const KEYS: [CertificateKey; 4] = [
    CertificateKey::Rsa(2048),
    CertificateKey::EcdsaP256,
    CertificateKey::EcdsaP384,
    CertificateKey::Ed25519,
];

fn handshake(server: &mut SslStream<InMemory>, piece: usize) -> Result<Established, Failure> {
    with_openssl(&mut *start(&to_anyone()), server, piece)
}

#[test]
fn the_server_chooses_the_version() {
    for key in KEYS {
        // A few bytes at a time, so that records and messages are cut.
        for piece in [1, 7, 1000] {
            let servers = [
                (Version::Tls12, tls12_server(identity(key), |_| {})),
                (Version::Tls13, tls13_server(key, without_tickets)),
            ];
            for (version, mut server) in servers {
                let established = handshake(&mut server, piece).unwrap();
                let negotiated = established.negotiated;
                assert_eq!((negotiated.version, negotiated.certificate_key), (version, Some(key)));
                assert!(negotiated.group.is_some() && !negotiated.resumed);
                assert!(established.remarks.is_signature_verified);
                assert_keys_agree(established, &mut server);
            }
        }
    }
}

#[test]
fn another_group_and_a_certificate_are_given_where_the_server_asks() {
    let key = CertificateKey::EcdsaP256;
    let mut server = tls13_server(key, |builder| {
        without_tickets(builder);
        builder.set_groups_list("P-384").unwrap();
        builder.set_verify(SslVerifyMode::PEER);
    });
    let established = handshake(&mut server, 1000).unwrap();
    assert_eq!(established.negotiated.group, Some(Group::Secp384r1));
    assert!(established.remarks.is_retried && established.remarks.asks_certificate);
    assert_keys_agree(established, &mut server);
    let mut server = tls12_server(identity(key), |builder| builder.set_verify(SslVerifyMode::PEER));
    let established = handshake(&mut server, 1000).unwrap();
    assert!(established.remarks.asks_certificate);
    assert_keys_agree(established, &mut server);
}

/// A server that staples sends a CertificateStatus in TLS 1.2, an extension of the certificate in TLS 1.3.
#[test]
fn a_stapled_status_is_accepted() {
    let key = CertificateKey::EcdsaP256;
    let staple = |builder: &mut openssl::ssl::SslContextBuilder| {
        without_tickets(builder);
        let status = |ssl: &mut openssl::ssl::SslRef| ssl.set_ocsp_status(b"good").map(|()| true);
        builder.set_status_callback(status).unwrap();
    };
    for mut server in [tls12_server(identity(key), staple), tls13_server(key, staple)] {
        let established = handshake(&mut server, 1000).unwrap();
        assert!(established.remarks.is_signature_verified);
        assert_keys_agree(established, &mut server);
    }
}

#[test]
fn any_changed_byte_of_a_server_of_tls12_is_noticed() {
    assert_changed_bytes_are_noticed(&to_anyone(), identity(CertificateKey::EcdsaP256));
}

/// RFC 8446, section 4.1.3.
#[test]
fn a_server_of_tls13_that_seems_to_choose_less_is_refused() {
    let mut server = tls12_server(identity(CertificateKey::EcdsaP256), |_| {});
    let mut handshake = start(&to_anyone());
    server.get_mut().incoming = hello_of(&mut *handshake);
    assert!(server.accept().is_err());
    let mut received = std::mem::take(&mut server.get_mut().outgoing);
    // After the record's header and the message's, and the version.
    received[5 + 4 + 2 + 24..][..8].copy_from_slice(b"DOWNGRD\x01");
    let mut alert = Vec::new();
    let failure = handshake.advance(&mut received, &mut alert).err().unwrap();
    assert_eq!(failure.kind, ErrorKind::Handshake);
    assert!(failure.seen.contains("TLS 1.2 although"), "{}", failure.seen);
    // illegal_parameter.
    assert_eq!(alert, [21, 3, 3, 0, 2, 2, 47]);
}
