//! ECDHE in TLS 1.2 with OpenSSL's server.

use std::collections::BTreeSet;
use std::num::NonZeroU32;

use openssl::pkey::PKey;
use openssl::ssl::{Ssl, SslContext, SslMethod, SslOptions, SslStream, SslVersion};
use tls::{CertificateKey, Group, KeyExchange, Mac, SUITES, Suite, Version};
use wire::handshake::{Offer, client};
use wire::record::HEADER;
use wire_peer::{InMemory, assert_keys_agree, with_openssl};

use super::static_rsa::{assert_changed_bytes_are_noticed, offering, openssl_server, suite};
use super::{NO_EXTENDED_MASTER_SECRET, client_of, hello_of, identity, one_in, start};

const GROUPS: [Group; 4] = [Group::X25519, Group::Secp256r1, Group::Secp384r1, Group::Secp521r1];

fn suites() -> impl Iterator<Item = &'static Suite> {
    let tls12 = SUITES.iter().filter(|suite| suite.version() == Version::Tls12);
    tls12.filter(|suite| suite.key_exchange != KeyExchange::Rsa)
}

fn keys_of(suite: &Suite) -> Vec<CertificateKey> {
    match suite.key_exchange {
        KeyExchange::EcdheRsa => vec![CertificateKey::Rsa(1024), CertificateKey::Rsa(2048)],
        _ => {
            vec![CertificateKey::EcdsaP256, CertificateKey::EcdsaP384, CertificateKey::Ed25519]
        }
    }
}

#[test]
fn openssl_agrees_on_every_suite_kind_of_key_and_group() {
    let mut turn = 0;
    for suite in suites() {
        for key in keys_of(suite) {
            // Each suite and key with some groups and extensions; all of these with many suites.
            for (group, is_fixed) in [(turn, true), (turn + 1, false)] {
                turn += 1;
                // OpenSSL takes a key only on a curve that is among the client's groups.
                let group = match key {
                    CertificateKey::EcdsaP256 => Group::Secp256r1,
                    CertificateKey::EcdsaP384 => Group::Secp384r1,
                    _ => GROUPS[group % GROUPS.len()],
                };
                let wants_etm = suite.mac != Mac::Aead && turn % 2 == 0;
                let offer = Offer {
                    group: Some(group),
                    fixed_key_exchange: is_fixed,
                    encrypt_then_mac: wants_etm,
                    ..offering(suite)
                };
                let mut server = openssl_server(identity(key), |builder| {
                    if turn % 3 == 0 {
                        builder.set_options(NO_EXTENDED_MASTER_SECRET);
                    }
                });
                let established = with_openssl(&mut *start(&offer), &mut server, 1000).unwrap();
                let negotiated = established.negotiated;
                assert_eq!((negotiated.suite, negotiated.version), (suite, Version::Tls12));
                assert_eq!(negotiated.group, Some(group), "{suite}");
                assert!(negotiated.signature_scheme.is_some() && !negotiated.resumed);
                assert_eq!(negotiated.certificate_key, Some(key));
                assert_eq!(negotiated.encrypt_then_mac, wants_etm, "{suite}");
                assert!(established.remarks.is_signature_verified);
                assert_keys_agree(established, &mut server);
            }
        }
    }
}

#[test]
fn the_server_chooses_among_the_suites_of_the_version() {
    let offer = Offer { suite: None, ..offering(suite("AES128-SHA")) };
    for key in [CertificateKey::Rsa(2048), CertificateKey::EcdsaP256] {
        let mut server = openssl_server(identity(key), |_| {});
        let established = with_openssl(&mut *start(&offer), &mut server, 1000).unwrap();
        let suite = established.negotiated.suite;
        assert_eq!((suite.version(), suite.mac), (Version::Tls12, Mac::Aead));
        assert_keys_agree(established, &mut server);
    }
}

#[test]
fn every_signature_scheme_is_verified() {
    let ed448 = super::trust::self_signed(&PKey::generate_ed448().unwrap());
    let (rsa, p256, p384) = (
        identity(CertificateKey::Rsa(2048)),
        identity(CertificateKey::EcdsaP256),
        identity(CertificateKey::EcdsaP384),
    );
    let (of_rsa, of_ecdsa) = (suite("ECDHE-RSA-AES128-SHA"), suite("ECDHE-ECDSA-AES256-SHA384"));
    for (signer, suite, algorithms, scheme) in [
        (rsa, of_rsa, "RSA+SHA1", 0x0201),
        (rsa, of_rsa, "RSA+SHA224", 0x0301),
        (rsa, of_rsa, "RSA+SHA256", 0x0401),
        (rsa, of_rsa, "RSA+SHA384", 0x0501),
        (rsa, of_rsa, "RSA+SHA512", 0x0601),
        (rsa, of_rsa, "RSA-PSS+SHA256", 0x0804),
        (rsa, of_rsa, "RSA-PSS+SHA384", 0x0805),
        (rsa, of_rsa, "RSA-PSS+SHA512", 0x0806),
        (p256, of_ecdsa, "ECDSA+SHA1", 0x0203),
        (p256, of_ecdsa, "ECDSA+SHA224", 0x0303),
        (p256, of_ecdsa, "ECDSA+SHA256", 0x0403),
        (p256, of_ecdsa, "ECDSA+SHA384", 0x0503),
        (p384, of_ecdsa, "ECDSA+SHA256", 0x0403),
        (p384, of_ecdsa, "ECDSA+SHA384", 0x0503),
        (p384, of_ecdsa, "ECDSA+SHA512", 0x0603),
        (identity(CertificateKey::Ed25519), of_ecdsa, "ed25519", 0x0807),
        (&ed448, of_ecdsa, "ed448", 0x0808),
    ] {
        let mut server = openssl_server(signer, |builder| {
            builder.set_sigalgs_list(algorithms).unwrap();
        });
        let mut handshake = start(&offering(suite));
        let established = with_openssl(&mut *handshake, &mut server, 1000).unwrap();
        assert_eq!(established.negotiated.signature_scheme, Some(scheme), "{algorithms}");
        assert!(established.remarks.is_signature_verified);
        assert_keys_agree(established, &mut server);
    }
}

#[test]
fn the_servers_bytes_may_be_cut_anywhere() {
    for piece in [1, 2, 5, 6, 100] {
        let mut server = openssl_server(identity(CertificateKey::EcdsaP256), |_| {});
        let offer = offering(suite("ECDHE-ECDSA-AES128-SHA"));
        let established = with_openssl(&mut *start(&offer), &mut server, piece).unwrap();
        assert_keys_agree(established, &mut server);
    }
}

#[test]
fn a_fixed_share_is_sent_again_and_a_fresh_one_is_not() {
    for group in GROUPS {
        for is_fixed in [true, false] {
            let offer = Offer {
                group: Some(group),
                fixed_key_exchange: is_fixed,
                ..offering(suite("ECDHE-RSA-AES128-SHA"))
            };
            let client = client_of(&offer);
            let [one, two] = [(), ()].map(|()| {
                let mut server = openssl_server(identity(CertificateKey::Rsa(2048)), |_| {});
                let mut handshake = client.start().unwrap();
                let (mut received, mut to_send) = (Vec::new(), hello_of(&mut *handshake));
                server.get_mut().incoming.append(&mut to_send);
                assert!(server.accept().is_err());
                received.append(&mut server.get_mut().outgoing);
                assert!(handshake.advance(&mut received, &mut to_send).unwrap().is_none());
                // Up to the ChangeCipherSpec.
                let length = usize::from(u16::from_be_bytes([to_send[3], to_send[4]]));
                to_send[HEADER..HEADER + length].to_vec()
            });
            assert_eq!(one == two, is_fixed, "{group}");
        }
    }
}

#[test]
fn signatures_are_verified_in_one_handshake_in_k() {
    let offer = offering(suite("ECDHE-ECDSA-AES128-SHA"));
    let client = client(&offer, one_in(NonZeroU32::new(3).unwrap())).unwrap();
    let verified: Vec<_> = (0..7)
        .map(|_| {
            let mut server = openssl_server(identity(CertificateKey::EcdsaP256), |_| {});
            let mut handshake = client.start().unwrap();
            let established = with_openssl(&mut *handshake, &mut server, 1000).unwrap();
            established.remarks.is_signature_verified
        })
        .collect();
    assert_eq!(verified, [true, false, false, true, false, false, true]);
}

#[test]
fn any_changed_byte_of_the_servers_messages_is_noticed() {
    let offer = offering(suite("ECDHE-ECDSA-AES128-SHA"));
    assert_changed_bytes_are_noticed(&offer, identity(CertificateKey::EcdsaP256));
}

/// Suites, and extensions with their contents.
pub(super) type Asked = (Vec<u8>, Vec<(u16, Vec<u8>)>);

pub(super) fn asked(hello: &[u8]) -> Asked {
    let vector = |from: &mut &[u8], width: usize| {
        let (length, rest) = from.split_at(width);
        let length = length.iter().fold(0, |sum, byte| 256 * sum + usize::from(*byte));
        let (content, rest) = rest.split_at(length);
        *from = rest;
        content.to_vec()
    };
    let mut rest = &hello[HEADER + 4 + 34..];
    vector(&mut rest, 1);
    let suites = vector(&mut rest, 2);
    vector(&mut rest, 1);
    let listed = vector(&mut rest, 2);
    let mut listed = &listed[..];
    let mut extensions = Vec::new();
    while !listed.is_empty() {
        let kind = u16::from_be_bytes([listed[0], listed[1]]);
        listed = &listed[2..];
        extensions.push((kind, vector(&mut listed, 2)));
    }
    (suites, extensions)
}

#[test]
fn client_hellos_ask_for_what_openssls_client_asks_for() {
    for suite in SUITES.iter().filter(|suite| suite.version() == Version::Tls12) {
        let mut builder = SslContext::builder(SslMethod::tls_client()).unwrap();
        builder.set_max_proto_version(Some(SslVersion::TLS1_2)).unwrap();
        builder.set_cipher_list(&format!("{}:@SECLEVEL=0", suite.openssl_name)).unwrap();
        builder.set_groups_list("X25519:P-256:P-384:P-521").unwrap();
        builder.set_options(SslOptions::NO_TICKET | tls::NO_ENCRYPT_THEN_MAC);
        builder.set_alpn_protos(b"\x08http/1.1").unwrap();
        let mut ssl = Ssl::new(&builder.build()).unwrap();
        ssl.set_hostname("localhost").unwrap();
        let mut stream = SslStream::new(ssl, InMemory::default()).unwrap();
        assert!(stream.connect().is_err());
        let theirs = asked(&stream.get_ref().outgoing);

        let own = client_of(&offering(suite));
        let [one, two] = [(), ()].map(|()| hello_of(&mut *own.start().unwrap()));
        assert_eq!((&one[..11], &one[43..]), (&two[..11], &two[43..]), "{suite}");
        assert_ne!(one[11..43], two[11..43]);
        let own = asked(&one);
        assert_eq!(own.0, theirs.0, "{suite}");
        let kinds = |(_, extensions): &Asked| -> BTreeSet<u16> {
            extensions.iter().map(|(kind, _)| *kind).collect()
        };
        assert_eq!(kinds(&own), kinds(&theirs), "{suite}");
        for (kind, content) in &own.1 {
            let (_, of_openssl) = theirs.1.iter().find(|(of, _)| of == kind).unwrap();
            match kind {
                // OpenSSL accepts compressed points and DSA too.
                11 => assert_eq!(content[..], [1, 0]),
                13 => {
                    let theirs: BTreeSet<_> = of_openssl[2..].chunks(2).collect();
                    assert!(content[2..].chunks(2).all(|scheme| theirs.contains(scheme)));
                }
                _ => assert_eq!(content, of_openssl, "{suite} {kind}"),
            }
        }
    }
}
