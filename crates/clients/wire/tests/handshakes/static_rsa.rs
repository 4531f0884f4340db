//! Static RSA with OpenSSL's server.

use std::path::Path;

use openssl::ssl::{
    Ssl, SslContext, SslContextBuilder, SslMethod, SslOptions, SslStream, SslVerifyMode, SslVersion,
};
use openssl::x509::X509;
use tls::{CertificateKey, Identity, KeyExchange, Mac, SUITES, Suite, Version};
use wire::ErrorKind;
use wire::handshake::{Client, Offer, Trust};
use wire::record::HEADER;
use wire_peer::messages::kind;
use wire_peer::{InMemory, assert_keys_agree, with_openssl};

use super::{NO_EXTENDED_MASTER_SECRET, client_of, hello_of, private, start, to_anyone};

pub(super) fn identity() -> &'static Identity {
    super::identity(CertificateKey::Rsa(2048))
}

pub(super) fn suite(name: &str) -> &'static Suite {
    Suite::parse(name).unwrap()
}

fn suites() -> impl Iterator<Item = &'static Suite> {
    SUITES.iter().filter(|suite| suite.key_exchange == KeyExchange::Rsa)
}

pub(super) fn offering(suite: &'static Suite) -> Offer {
    Offer { suite: Some(suite), version: Some(Version::Tls12), ..to_anyone() }
}

pub(super) fn openssl_server(
    identity: &Identity,
    configure: impl FnOnce(&mut SslContextBuilder),
) -> SslStream<InMemory> {
    let mut builder = SslContext::builder(SslMethod::tls_server()).unwrap();
    builder.set_max_proto_version(Some(SslVersion::TLS1_2)).unwrap();
    builder.set_cipher_list("ALL:@SECLEVEL=0").unwrap();
    builder.set_certificate(&X509::from_pem(&identity.certificate_pem).unwrap()).unwrap();
    builder.set_private_key(&private(identity)).unwrap();
    configure(&mut builder);
    SslStream::new(Ssl::new(&builder.build()).unwrap(), InMemory::default()).unwrap()
}

#[test]
fn openssl_agrees_on_every_suite_with_and_without_each_extension() {
    for suite in suites() {
        for (wants_etm, master) in [
            (false, SslOptions::empty()),
            (true, SslOptions::empty()),
            (true, NO_EXTENDED_MASTER_SECRET),
            (false, NO_EXTENDED_MASTER_SECRET),
        ] {
            if suite.mac == Mac::Aead && wants_etm {
                continue;
            }
            let offer = Offer { encrypt_then_mac: wants_etm, ..offering(suite) };
            let mut server = openssl_server(identity(), |builder| {
                builder.set_options(master);
            });
            let established = with_openssl(&mut *start(&offer), &mut server, 1000).unwrap();
            let negotiated = established.negotiated;
            assert_eq!((negotiated.suite, negotiated.version), (suite, Version::Tls12));
            assert!(!negotiated.resumed, "{suite}");
            assert_eq!((negotiated.group, negotiated.signature_scheme), (None, None));
            assert_eq!(negotiated.certificate_key, Some(CertificateKey::Rsa(2048)));
            assert_eq!(negotiated.encrypt_then_mac, wants_etm, "{suite}");
            assert!(!established.remarks.is_signature_verified);
            assert_keys_agree(established, &mut server);
        }
    }
}

#[test]
fn the_servers_bytes_may_be_cut_anywhere() {
    for piece in [1, 2, 5, 6, 100] {
        let mut server = openssl_server(identity(), |_| {});
        let offer = offering(suite("AES128-SHA"));
        let established = with_openssl(&mut *start(&offer), &mut server, piece).unwrap();
        assert_keys_agree(established, &mut server);
    }
}

#[test]
fn a_certificate_request_is_answered_with_an_empty_list() {
    let mut server = openssl_server(identity(), |builder| {
        builder.set_verify(SslVerifyMode::PEER);
    });
    let mut handshake = start(&offering(suite("AES128-GCM-SHA256")));
    let established = with_openssl(&mut *handshake, &mut server, 1000).unwrap();
    assert_keys_agree(established, &mut server);
    assert!(server.ssl().peer_certificate().is_none());
}

/// The ClientKeyExchange that the client sends to a new OpenSSL server.
fn exchange_with(client: &dyn Client, identity: &Identity) -> Vec<u8> {
    let mut server = openssl_server(identity, |_| {});
    let mut handshake = client.start().unwrap();
    let (mut received, mut to_send) = (Vec::new(), hello_of(&mut *handshake));
    server.get_mut().incoming.append(&mut to_send);
    assert!(server.accept().is_err());
    received.append(&mut server.get_mut().outgoing);
    assert!(handshake.advance(&mut received, &mut to_send).unwrap().is_none());
    let length = 4 + 2 + 256;
    assert_eq!(to_send[HEADER], kind::CLIENT_KEY_EXCHANGE);
    to_send[HEADER..HEADER + length].to_vec()
}

#[test]
fn the_premaster_secret_is_encrypted_once_for_each_key() {
    let other = Identity::generate(CertificateKey::Rsa(2048)).unwrap();
    for is_fixed in [true, false] {
        let offer = Offer { fixed_key_exchange: is_fixed, ..offering(suite("AES128-SHA")) };
        let client = client_of(&offer);
        let first = exchange_with(&*client, identity());
        assert_eq!(exchange_with(&*client, identity()) == first, is_fixed);
        assert_ne!(exchange_with(&*client, &other), first);
        assert_ne!(exchange_with(&*client_of(&offer), identity()), first);
    }
}

/// Changes each byte of a server's messages in turn.
#[track_caller]
pub(super) fn assert_changed_bytes_are_noticed(offer: &Offer, identity: &Identity) {
    let client = client_of(offer);
    let last = |server: &mut SslStream<InMemory>| std::mem::take(&mut server.get_mut().outgoing);
    for flight in [0, 1] {
        for at in 0.. {
            let mut server = openssl_server(identity, |_| {});
            let mut handshake = client.start().unwrap();
            let mut to_send = hello_of(&mut *handshake);
            let mut result = Ok(None);
            let mut is_past = false;
            for now in [0, 1] {
                server.get_mut().incoming.append(&mut to_send);
                let _ = server.accept();
                let mut received = last(&mut server);
                if now == flight {
                    match received.get_mut(at) {
                        Some(byte) => *byte ^= 1,
                        None => is_past = true,
                    }
                }
                // A message whose length byte has grown may wait for more bytes.
                if matches!(result, Ok(None)) {
                    result = handshake.advance(&mut received, &mut to_send);
                }
            }
            if is_past {
                break;
            }
            // The version of the first record means nothing.
            let is_done = matches!(result, Ok(Some(_)));
            assert_eq!(is_done, flight == 0 && at == 2, "byte {at} of flight {flight}");
        }
    }
}

#[test]
fn any_changed_byte_of_the_servers_messages_is_noticed() {
    let offer = offering(suite("AES128-SHA"));
    let mut first = openssl_server(identity(), |_| {});
    assert!(with_openssl(&mut *start(&offer), &mut first, 1000).is_ok());
    assert_changed_bytes_are_noticed(&offer, identity());
}

#[test]
fn certificates_are_trusted_whether_the_key_exchange_is_fixed_or_fresh() {
    let folder = tempfile::tempdir().unwrap();
    let write = |identity: &Identity, name: &str| {
        let (file, key) = (folder.path().join(name), folder.path().join(format!("{name}.key")));
        identity.write(&file, &key).unwrap();
        file
    };
    let own = write(identity(), "own");
    let others = write(&Identity::generate(CertificateKey::Rsa(2048)).unwrap(), "others");
    let verdict = |file: &Path, host: &str, is_fixed| {
        let offer = Offer {
            host: host.to_owned(),
            trust: Trust::File(file.to_owned()),
            fixed_key_exchange: is_fixed,
            ..offering(suite("AES128-SHA"))
        };
        let mut server = openssl_server(identity(), |_| {});
        let result = with_openssl(&mut *start(&offer), &mut server, 1000);
        result.map(|_| ()).map_err(|failure| (failure.kind, failure.seen.clone()))
    };
    for (file, host, is_trusted) in [
        (&own, "localhost", true),
        (&own, "127.0.0.1", true),
        (&own, "elsewhere.example", false),
        (&own, "127.9.9.9", false),
        (&others, "localhost", false),
    ] {
        let fixed = verdict(file, host, true);
        assert_eq!(fixed.is_ok(), is_trusted, "{host}: {fixed:?}");
        // The descriptions are the same, too.
        assert_eq!(fixed, verdict(file, host, false), "{host}");
        if let Err((kind, _)) = fixed {
            assert_eq!(kind, ErrorKind::Authentication);
        }
    }
}
