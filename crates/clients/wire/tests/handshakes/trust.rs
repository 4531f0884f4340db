//! Whose certificates are accepted, in all suites alike.

use std::path::PathBuf;

use openssl::asn1::Asn1Time;
use openssl::ec::{EcGroup, EcKey};
use openssl::hash::MessageDigest;
use openssl::nid::Nid;
use openssl::pkey::{Id, PKey, PKeyRef, Private};
use openssl::rsa::Rsa;
use openssl::ssl::{Ssl, SslContext, SslMethod, SslStream};
use openssl::x509::extension::{BasicConstraints, SubjectAlternativeName};
use openssl::x509::{X509, X509Name, X509Ref};
use tls::{Identity, Suite};
use wire::ErrorKind;
use wire::handshake::{Offer, Trust};
use wire_peer::{InMemory, with_openssl};

use super::{start, to_anyone};

/// A certificate of this key for localhost, signed by an authority or by itself.
fn certificate(
    key: &PKeyRef<Private>,
    name: &str,
    is_authority: bool,
    by: Option<(&X509Ref, &PKeyRef<Private>)>,
) -> X509 {
    let mut subject = X509Name::builder().unwrap();
    subject.append_entry_by_text("CN", name).unwrap();
    let subject = subject.build();
    let mut builder = X509::builder().unwrap();
    builder.set_version(2).unwrap();
    builder.set_subject_name(&subject).unwrap();
    builder.set_issuer_name(by.map_or(&subject, |(issuer, _)| issuer.subject_name())).unwrap();
    builder.set_pubkey(key).unwrap();
    builder.set_not_before(&Asn1Time::days_from_now(0).unwrap()).unwrap();
    builder.set_not_after(&Asn1Time::days_from_now(10).unwrap()).unwrap();
    if is_authority {
        builder.append_extension(BasicConstraints::new().critical().ca().build().unwrap()).unwrap();
    } else {
        let mut names = SubjectAlternativeName::new();
        let names = names.dns("localhost").build(&builder.x509v3_context(None, None)).unwrap();
        builder.append_extension(names).unwrap();
    }
    let signer = by.map_or(key, |(_, key)| key);
    let digest = match signer.id() {
        Id::ED25519 | Id::ED448 => MessageDigest::null(),
        _ => MessageDigest::sha256(),
    };
    builder.sign(signer, digest).unwrap();
    builder.build()
}

fn in_pem(certificate: &X509Ref, key: &PKeyRef<Private>) -> Identity {
    Identity {
        certificate_pem: certificate.to_pem().unwrap(),
        key_pem: key.private_key_to_pem_pkcs8().unwrap(),
    }
}

pub(super) fn self_signed(key: &PKeyRef<Private>) -> Identity {
    in_pem(&certificate(key, "server", false, None), key)
}

fn rsa(bits: u32) -> PKey<Private> {
    PKey::from_rsa(Rsa::generate(bits).unwrap()).unwrap()
}

fn ec(curve: Nid) -> PKey<Private> {
    let group = EcGroup::from_curve_name(curve).unwrap();
    PKey::from_ec_key(EcKey::generate(&group).unwrap()).unwrap()
}

/// Files of certificates, and the kinds of failures of clients that trust them.
struct Files(tempfile::TempDir);

impl Files {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn write(&self, name: &str, certificate: &X509Ref) -> PathBuf {
        let file = self.0.path().join(name);
        std::fs::write(&file, certificate.to_pem().unwrap()).unwrap();
        file
    }
}

/// The failure of a handshake in which this suite is offered and this trusted.
fn failure(
    suite: &'static Suite,
    trust: Trust,
    host: &str,
    (own, key): (&X509Ref, &PKeyRef<Private>),
) -> Option<ErrorKind> {
    let mut builder = SslContext::builder(SslMethod::tls_server()).unwrap();
    builder.set_cipher_list("ALL:@SECLEVEL=0").unwrap();
    builder.set_security_level(0);
    builder.set_certificate(own).unwrap();
    builder.set_private_key(key).unwrap();
    let ssl = Ssl::new(&builder.build()).unwrap();
    let mut server = SslStream::new(ssl, InMemory::default()).unwrap();
    let offer = Offer { host: host.to_owned(), trust, suite: Some(suite), ..to_anyone() };
    with_openssl(&mut *start(&offer), &mut server, 1000).err().map(|failure| failure.kind)
}

fn suites(names: &[&str]) -> Vec<&'static Suite> {
    names.iter().map(|name| Suite::parse(name).unwrap()).collect()
}

#[test]
fn short_rsa_keys_are_trusted_where_they_are_named() {
    let files = Files::new();
    let (authority_key, own_key) = (rsa(1024), rsa(1024));
    let authority = certificate(&authority_key, "authority", true, None);
    let signed = Some((&*authority, &*authority_key));
    let own = certificate(&own_key, "server", false, signed);
    let alone = certificate(&own_key, "alone", false, None);
    let other = certificate(&rsa(1024), "alone", false, None);
    let refused = Some(ErrorKind::Authentication);
    for suite in suites(&["AES128-SHA", "ECDHE-RSA-AES128-SHA", "TLS_AES_128_GCM_SHA256"]) {
        let trusting = |named: &X509Ref, own: &X509Ref, host| {
            failure(suite, Trust::File(files.write("ca", named)), host, (own, &own_key))
        };
        assert_eq!(trusting(&authority, &own, "localhost"), None);
        assert_eq!(trusting(&own, &own, "localhost"), None);
        assert_eq!(trusting(&alone, &alone, "localhost"), None);
        assert_eq!(trusting(&other, &alone, "localhost"), refused);
        assert_eq!(trusting(&alone, &own, "localhost"), refused);
        assert_eq!(trusting(&authority, &own, "elsewhere.example"), refused);
        assert_eq!(trusting(&own, &own, "elsewhere.example"), refused);
        assert_eq!(failure(suite, Trust::Anyone, "localhost", (&own, &own_key)), None);
    }
}

#[test]
fn a_chain_is_trusted_in_all_suites_alike() {
    let files = Files::new();
    for (authority_key, own_key, names) in [
        (rsa(2048), rsa(2048), &["AES128-SHA", "ECDHE-RSA-AES128-SHA"][..]),
        (ec(Nid::SECP521R1), ec(Nid::SECP384R1), &["ECDHE-ECDSA-AES128-SHA"]),
        (
            ec(Nid::SECP521R1),
            ec(Nid::SECP521R1),
            &["ECDHE-ECDSA-AES128-SHA", "ECDHE-ECDSA-AES128-GCM-SHA256", "TLS_AES_128_GCM_SHA256"],
        ),
        (
            PKey::generate_ed25519().unwrap(),
            ec(Nid::X9_62_PRIME256V1),
            &["ECDHE-ECDSA-AES128-SHA", "ECDHE-ECDSA-AES128-GCM-SHA256", "TLS_AES_128_GCM_SHA256"],
        ),
    ] {
        let authority = certificate(&authority_key, "authority", true, None);
        let own = certificate(&own_key, "server", false, Some((&authority, &authority_key)));
        let forged = certificate(&own_key, "server", false, Some((&authority, &own_key)));
        let file = files.write("ca", &authority);
        for suite in suites(names) {
            let of = |own: &X509Ref| {
                failure(suite, Trust::File(file.clone()), "localhost", (own, &own_key))
            };
            assert_eq!(of(&own), None, "{suite}");
            assert_eq!(of(&forged), Some(ErrorKind::Authentication), "{suite}");
        }
    }
}
