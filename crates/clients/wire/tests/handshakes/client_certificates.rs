//! The client's own certificate, with OpenSSL's server.

use std::sync::{Arc, OnceLock};

use openssl::ssl::{
    ShutdownState, Ssl, SslContext, SslContextBuilder, SslMethod, SslStream, SslVerifyMode,
    SslVersion,
};
use openssl::x509::X509;
use tls::{CertificateKey, Identity, Suite, Version};
use wire::ErrorKind;
use wire::handshake::{Client, ClientCertificate, ClientSignature, Offer};
use wire_peer::{InMemory, assert_keys_agree, with_openssl};

use super::{client_of, private, to_anyone};

const KEYS: [CertificateKey; 4] = [
    CertificateKey::Rsa(2048),
    CertificateKey::EcdsaP256,
    CertificateKey::EcdsaP384,
    CertificateKey::Ed25519,
];

fn identity(key: CertificateKey) -> &'static Identity {
    static IDENTITIES: OnceLock<Vec<Identity>> = OnceLock::new();
    let identities =
        IDENTITIES.get_or_init(|| KEYS.map(|key| Identity::generate(key).unwrap()).into());
    &identities[KEYS.iter().position(|of| *of == key).unwrap()]
}

fn certificate(key: CertificateKey) -> X509 {
    X509::from_pem(&identity(key).certificate_pem).unwrap()
}

fn with(key: CertificateKey, offer: Offer) -> Offer {
    let own = ClientCertificate::new(identity(key)).unwrap();
    Offer { client_certificate: Some(Arc::new(own)), ..offer }
}

/// Both of toll's own handshakes, static RSA, and rustls with each version.
fn paths() -> [(&'static str, Offer); 6] {
    let version = |version| Offer { version: Some(version), ..to_anyone() };
    let suite = |name| Offer {
        suite: Some(Suite::parse(name).unwrap()),
        version: Some(Version::Tls12),
        ..to_anyone()
    };
    [
        ("TLS 1.3", version(Version::Tls13)),
        ("TLS 1.3, fresh", Offer { fixed_key_exchange: false, ..version(Version::Tls13) }),
        ("TLS 1.2", version(Version::Tls12)),
        ("TLS 1.2, CBC", suite("ECDHE-RSA-AES128-SHA")),
        ("static RSA", suite("AES256-GCM-SHA384")),
        ("either", to_anyone()),
    ]
}

/// A server that requires a certificate, and trusts that of this key.
fn requiring(key: CertificateKey, configure: impl FnOnce(&mut SslContextBuilder)) -> SslContext {
    let own = identity(CertificateKey::Rsa(2048));
    let mut builder = SslContext::builder(SslMethod::tls_server()).unwrap();
    builder.set_cipher_list("ALL:@SECLEVEL=0").unwrap();
    builder.set_certificate(&X509::from_pem(&own.certificate_pem).unwrap()).unwrap();
    builder.set_private_key(&private(own)).unwrap();
    builder.set_session_id_context(b"toll").unwrap();
    builder.cert_store_mut().add_cert(certificate(key)).unwrap();
    builder.set_verify(SslVerifyMode::PEER | SslVerifyMode::FAIL_IF_NO_PEER_CERT);
    configure(&mut builder);
    builder.build()
}

fn accepting(context: &SslContext) -> SslStream<InMemory> {
    SslStream::new(Ssl::new(context).unwrap(), InMemory::default()).unwrap()
}

/// What the client signed with, and whether the handshake resumed.
fn handshake(
    client: &dyn Client,
    context: &SslContext,
    piece: usize,
) -> (Option<ClientSignature>, bool) {
    let mut server = accepting(context);
    let mut handshake = client.start().unwrap();
    let established = with_openssl(&mut *handshake, &mut server, piece).unwrap();
    let negotiated = established.negotiated;
    assert_eq!(established.remarks.asks_certificate, !negotiated.resumed);
    // A resumed session keeps the certificate of its full handshake.
    if negotiated.client.is_some() || negotiated.resumed {
        let seen = server.ssl().peer_certificate().expect("it was sent");
        let known = KEYS.map(|key| certificate(key).to_der().unwrap());
        assert!(known.contains(&seen.to_der().unwrap()));
        assert_eq!(server.ssl().verify_result(), openssl::x509::X509VerifyResult::OK);
    } else {
        assert!(server.ssl().peer_certificate().is_none());
    }
    assert_keys_agree(established, &mut server);
    server.set_shutdown(ShutdownState::SENT | ShutdownState::RECEIVED);
    (negotiated.client, negotiated.resumed)
}

#[test]
fn openssl_verifies_every_kind_of_key_on_every_path() {
    for key in KEYS {
        let context = requiring(key, |builder| builder.set_num_tickets(0).unwrap());
        for (path, offer) in paths() {
            let client = client_of(&with(key, offer));
            for piece in [1000, 1] {
                let (signature, _) = handshake(&*client, &context, piece);
                let scheme = signature.unwrap_or_else(|| panic!("{path}, {key}")).scheme;
                assert_eq!(signature.unwrap().key, Some(key), "{path}");
                let is_of_key = match key {
                    CertificateKey::Rsa(_) => (0x0804..=0x0806).contains(&scheme),
                    CertificateKey::EcdsaP256 => scheme == 0x0403,
                    CertificateKey::EcdsaP384 => scheme == 0x0503,
                    CertificateKey::Ed25519 => scheme == 0x0807,
                    CertificateKey::MlDsa(_) => false,
                };
                assert!(is_of_key, "{path}, {key}: {scheme:#x}");
            }
        }
    }
}

/// Servers of TLS 1.2 may know no PSS; in TLS 1.3 they cannot accept anything else of RSA.
#[test]
fn the_server_s_schemes_decide() {
    let rsa = CertificateKey::Rsa(2048);
    let context = requiring(rsa, |builder| {
        builder.set_sigalgs_list("RSA+SHA256:ECDSA+SHA256").unwrap();
        builder.set_max_proto_version(Some(SslVersion::TLS1_2)).unwrap();
    });
    for offer in [Offer { version: Some(Version::Tls12), ..to_anyone() }, to_anyone()] {
        let client = client_of(&with(rsa, offer));
        let (signature, _) = handshake(&*client, &context, 1000);
        assert_eq!(signature.map(|of| of.scheme), Some(0x0401));
    }
    // One that asks, and accepts nothing that the key can do, gets an empty list.
    for (path, offer) in paths() {
        let context = requiring(CertificateKey::EcdsaP256, |builder| {
            builder.set_num_tickets(0).unwrap();
            builder.set_sigalgs_list("RSA-PSS+SHA256:RSA+SHA256:ECDSA+SHA256").unwrap();
            builder.set_verify(SslVerifyMode::PEER);
        });
        let client = client_of(&with(CertificateKey::Ed25519, offer.clone()));
        assert_eq!(handshake(&*client, &context, 1000), (None, false), "{path}");
        let client = client_of(&with(CertificateKey::EcdsaP256, offer));
        assert!(handshake(&*client, &context, 1000).0.is_some(), "{path}");
    }
}

#[test]
fn a_server_that_does_not_ask_gets_none() {
    for (path, offer) in paths() {
        let context =
            requiring(CertificateKey::EcdsaP256, |builder| builder.set_verify(SslVerifyMode::NONE));
        let mut server = accepting(&context);
        let client = client_of(&with(CertificateKey::EcdsaP256, offer));
        let established = with_openssl(&mut *client.start().unwrap(), &mut server, 1000).unwrap();
        assert!(!established.remarks.asks_certificate, "{path}");
        assert_eq!(established.negotiated.client, None, "{path}");
    }
}

#[test]
fn a_session_is_resumed_without_the_certificate() {
    let context =
        requiring(CertificateKey::EcdsaP256, |builder| builder.set_num_tickets(0).unwrap());
    for suite in ["AES128-SHA", "ECDHE-RSA-AES128-GCM-SHA256"] {
        let offer = Offer {
            suite: Some(Suite::parse(suite).unwrap()),
            resumed_percent: 100,
            ..to_anyone()
        };
        let client = client_of(&with(CertificateKey::EcdsaP256, offer));
        let (first, resumed) = handshake(&*client, &context, 1000);
        assert!(first.is_some() && !resumed, "{suite}");
        assert_eq!(handshake(&*client, &context, 1000), (None, true), "{suite}");
    }
}

#[test]
fn a_server_of_tls12_that_requires_one_says_so_by_its_alert() {
    let context = requiring(CertificateKey::EcdsaP256, |builder| {
        builder.set_max_proto_version(Some(SslVersion::TLS1_2)).unwrap();
    });
    let client = client_of(&Offer { version: Some(Version::Tls12), ..to_anyone() });
    let (mut handshake, mut server) = (client.start().unwrap(), accepting(&context));
    let (mut received, mut to_send) = (Vec::new(), Vec::new());
    let failure = loop {
        match handshake.advance(&mut received, &mut to_send) {
            Ok(None) => {}
            Ok(Some(_)) => panic!("a server that requires a certificate accepted none"),
            Err(failure) => break failure,
        }
        server.get_mut().incoming = std::mem::take(&mut to_send);
        let _ = server.accept();
        received.append(&mut server.get_mut().outgoing);
    };
    assert_eq!(failure.kind, ErrorKind::Alert);
    assert!(failure.seen.contains("client certificate"), "{}", failure.seen);
}

#[test]
fn a_chain_that_needs_several_records_arrives_whole() {
    let key = CertificateKey::EcdsaP256;
    let Identity { certificate_pem, key_pem } = identity(key).clone();
    let identity = Identity { certificate_pem: certificate_pem.repeat(60), key_pem };
    let own = Arc::new(ClientCertificate::new(&identity).unwrap());
    let context =
        requiring(CertificateKey::EcdsaP256, |builder| builder.set_num_tickets(0).unwrap());
    for (path, offer) in paths() {
        let client = client_of(&Offer { client_certificate: Some(own.clone()), ..offer });
        assert!(handshake(&*client, &context, 4000).0.is_some(), "{path}");
    }
}

#[test]
fn files_that_do_not_fit_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    let write = |name: &str, key| {
        let certificate = file(&format!("{name}.crt"));
        Identity::generate(key)
            .unwrap()
            .write(&certificate, &file(&format!("{name}.key")))
            .unwrap();
    };
    write("a", CertificateKey::EcdsaP256);
    write("b", CertificateKey::EcdsaP256);
    write("short", CertificateKey::Rsa(1024));
    let refused = |certificate: &str, key: &str| {
        let error = ClientCertificate::read(&file(certificate), &file(key)).unwrap_err();
        let error = error.to_string();
        assert!(error.contains(folder.path().to_str().unwrap()), "{error}");
        assert!(!error.contains('\n'), "{error}");
    };
    assert!(ClientCertificate::read(&file("a.crt"), &file("a.key")).is_ok());
    refused("a.crt", "b.key");
    refused("a.crt", "a.crt");
    refused("a.key", "a.key");
    refused("none.crt", "a.key");
    refused("short.crt", "short.key");
    let key = private(identity(CertificateKey::EcdsaP256));
    let cipher = openssl::symm::Cipher::aes_128_cbc();
    let encrypted = key.private_key_to_pem_pkcs8_passphrase(cipher, b"secret").unwrap();
    std::fs::write(file("encrypted.key"), encrypted).unwrap();
    refused("a.crt", "encrypted.key");
}
