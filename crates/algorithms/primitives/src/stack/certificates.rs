//! A server's certificate and the root that clients trust, made once in a process for each kind of key.
//!
//! The root is of the same kind, so that a client verifies two signatures of it in a full handshake:
//! the root's under the certificate, and the server's under the handshake.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::{Mutex, PoisonError};

use openssl::error::ErrorStack;
use openssl::x509::extension::{BasicConstraints, KeyUsage, SubjectAlternativeName};
use tls::{CertificateKey, certificate};

use crate::material::KeyPair;
use crate::routine::Failed;

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
    pub fn of(key: CertificateKey) -> Result<&'static Self, Failed> {
        static MADE: Mutex<BTreeMap<String, &Identity>> = Mutex::new(BTreeMap::new());
        let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(match made.entry(key.to_string()) {
            Entry::Occupied(made) => made.get(),
            Entry::Vacant(free) => free.insert(Box::leak(Box::new(Self::make(key)?))),
        })
    }

    fn make(key: CertificateKey) -> Result<Self, ErrorStack> {
        let (root_key, key) = (key.generate()?, key.generate()?);
        let (root_itself, name) = (("toll bench", &*root_key), (NAME, &*key));
        let root = certificate(root_itself, root_itself, &|builder| {
            builder.append_extension(BasicConstraints::new().critical().ca().build()?)?;
            builder.append_extension(KeyUsage::new().critical().key_cert_sign().build()?)
        })?;
        let leaf = certificate(name, root_itself, &|builder| {
            builder.append_extension(BasicConstraints::new().critical().build()?)?;
            let context = builder.x509v3_context(None, None);
            let names = SubjectAlternativeName::new().dns(NAME).build(&context)?;
            builder.append_extension(names)
        })?;
        let pair = KeyPair::new(&key, Vec::new(), Vec::new())?;
        Ok(Self {
            root: root.to_der()?,
            certificate: leaf.to_der()?,
            key: pair.pkcs8.clone(),
            pair,
        })
    }
}
