//! A server's certificate and the root that clients trust, made once in a process for each kind of key.
//!
//! The root is of the same kind, so that a client verifies two signatures of it in a full handshake:
//! the root's under the certificate, and the server's under the handshake.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use openssl::asn1::{Asn1Integer, Asn1Time};
use openssl::bn::BigNum;
use openssl::error::ErrorStack;
use openssl::hash::MessageDigest;
use openssl::pkey::{Id, PKey, Private};
use openssl::x509::extension::{BasicConstraints, KeyUsage, SubjectAlternativeName};
use openssl::x509::{X509, X509Name, X509NameBuilder};
use tls::CertificateKey;

use crate::material::{KeyPair, NoKeys};

/// The name in the certificate, which clients verify.
pub(crate) const NAME: &str = "localhost";

/// A server's certificate and key, and the root above it, all in DER.
pub struct Identity {
    pub root: Vec<u8>,
    /// The server's, signed by the root.
    pub certificate: Vec<u8>,
    /// Its key, PKCS #8.
    pub key: Vec<u8>,
    /// The same with its public part.
    pub(crate) pair: KeyPair,
}

impl Identity {
    pub fn of(key: CertificateKey) -> Result<&'static Self, NoKeys> {
        static MADE: Mutex<BTreeMap<String, &Identity>> = Mutex::new(BTreeMap::new());
        let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(match made.entry(key.to_string()) {
            Entry::Occupied(made) => made.get(),
            Entry::Vacant(free) => free.insert(Box::leak(Box::new(Self::make(key)?))),
        })
    }

    fn make(key: CertificateKey) -> Result<Self, ErrorStack> {
        let (root_key, key) = (key.generate()?, key.generate()?);
        let (root_name, name) = (named("toll bench")?, named(NAME)?);
        let root = signed(1, (&root_name, &root_key), (&root_name, &root_key))?;
        let leaf = signed(2, (&name, &key), (&root_name, &root_key))?;
        let pair = KeyPair::new(&key, Vec::new(), Vec::new())?;
        Ok(Self {
            root: root.to_der()?,
            certificate: leaf.to_der()?,
            key: pair.pkcs8.clone(),
            pair,
        })
    }
}

fn named(name: &str) -> Result<X509Name, ErrorStack> {
    let mut builder = X509NameBuilder::new()?;
    builder.append_entry_by_text("CN", name)?;
    Ok(builder.build())
}

/// A certificate of a subject by an issuer; of itself, it may sign others.
fn signed(
    serial: u32,
    (subject, key): (&X509Name, &PKey<Private>),
    (issuer, issuer_key): (&X509Name, &PKey<Private>),
) -> Result<X509, ErrorStack> {
    /// A day, for clocks that differ.
    const DAY: i64 = 86_400;
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |time| i64::try_from(time.as_secs()).unwrap_or_default());
    let mut certificate = X509::builder()?;
    certificate.set_version(2)?;
    certificate.set_serial_number(&*Asn1Integer::from_bn(&*BigNum::from_u32(serial)?)?)?;
    certificate.set_subject_name(subject)?;
    certificate.set_issuer_name(issuer)?;
    certificate.set_pubkey(key)?;
    certificate.set_not_before(&*Asn1Time::from_unix(now - DAY)?)?;
    certificate.set_not_after(&*Asn1Time::from_unix(now + 30 * DAY)?)?;
    if key.public_eq(issuer_key) {
        certificate.append_extension(BasicConstraints::new().critical().ca().build()?)?;
        certificate.append_extension(KeyUsage::new().critical().key_cert_sign().build()?)?;
    } else {
        certificate.append_extension(BasicConstraints::new().critical().build()?)?;
        let context = certificate.x509v3_context(None, None);
        let names = SubjectAlternativeName::new().dns(NAME).build(&context)?;
        certificate.append_extension(names)?;
    }
    // Ed25519 hashes by itself.
    let digest = match issuer_key.id() {
        Id::ED25519 => MessageDigest::null(),
        _ => MessageDigest::sha256(),
    };
    certificate.sign(issuer_key, digest)?;
    Ok(certificate.build())
}
