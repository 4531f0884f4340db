//! The server's certificates, verified as OpenSSL does in its own handshakes, whenever they differ
//! from the last ones.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use openssl::error::ErrorStack;
use openssl::pkey::{PKey, Public};
use openssl::rsa::Padding;
use openssl::stack::Stack;
use openssl::x509::store::{X509Store, X509StoreBuilder};
use openssl::x509::verify::{X509VerifyFlags, X509VerifyParam};
use openssl::x509::{X509, X509PurposeId, X509StoreContext, X509VerifyResult};
use rustls::crypto::SecureRandom;
use tls::CertificateKey;

use super::flight::{self, kind};
use super::secrets::SECRET;
use crate::handshake::Trust;
use crate::handshake::encoding::{put_message, put_vector16};
use crate::handshake::refusal::Refusal;
use crate::randomness::Buffered;
use crate::{ErrorKind, Failure};

/// One per thread.
pub(super) struct Server {
    /// `None` where any certificate is accepted.
    store: Option<X509Store>,
    accepted: Mutex<Option<Arc<AcceptedCertificate>>>,
}

/// An accepted Certificate message, and what all handshakes with its key share.
pub(super) struct AcceptedCertificate {
    message: Vec<u8>,
    /// Where toll has a name for it.
    pub(super) key: Option<CertificateKey>,
    pub(super) premaster: [u8; SECRET],
    /// The ClientKeyExchange message with the encrypted `premaster`.
    pub(super) exchange: Vec<u8>,
}

impl Server {
    pub(super) fn new(trust: &Trust, roots: &[X509], host: &str) -> Result<Self, ErrorStack> {
        let store = match trust {
            Trust::Anyone => None,
            Trust::System => Some(store(roots, host, true)?),
            Trust::File(_) => Some(store(roots, host, false)?),
        };
        Ok(Self { store, accepted: Mutex::new(None) })
    }

    /// Accepts the body of a Certificate message, or says why not.
    pub(super) fn accept(&self, message: &[u8]) -> Result<Arc<AcceptedCertificate>, Refusal> {
        let mut last = self.accepted.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(accepted) = last.as_ref().filter(|accepted| accepted.message == message) {
            return Ok(accepted.clone());
        }
        let certificates =
            flight::certificates(message).ok_or_else(|| Refusal::malformed("Certificate"))?;
        let [own, others @ ..] = &certificates[..] else {
            return Err(refused("an empty list of certificates"));
        };
        let unread = |_| refused("a certificate that cannot be read");
        let certificate = X509::from_der(own).map_err(unread)?;
        if let Some(store) = &self.store {
            let verified = verify(store, &certificate, others).map_err(unread)?;
            if verified != X509VerifyResult::OK {
                return Err(refused(verified.error_string()));
            }
        }
        let public = certificate.public_key().map_err(unread)?;
        let premaster = premaster().ok_or_else(|| Refusal::internal("no random bytes"))?;
        let accepted = Arc::new(AcceptedCertificate {
            message: message.to_owned(),
            key: CertificateKey::of_certificate(own),
            exchange: key_exchange(&public, &premaster)
                .ok_or_else(|| refused("a certificate whose key cannot encrypt with RSA"))?,
            premaster,
        });
        *last = Some(accepted.clone());
        Ok(accepted)
    }
}

fn refused(seen: &str) -> Refusal {
    Refusal::certificate(Failure::new(ErrorKind::Authentication, seen))
}

/// The roots and the host that OpenSSL's client would check against.
fn store(roots: &[X509], host: &str, is_system: bool) -> Result<X509Store, ErrorStack> {
    let mut builder = X509StoreBuilder::new()?;
    let mut asked = X509VerifyParam::new()?;
    asked.set_purpose(X509PurposeId::SSL_SERVER)?;
    match host.parse::<IpAddr>() {
        Ok(address) => asked.set_ip(address)?,
        Err(_) => asked.set_host(host)?,
    }
    if is_system {
        builder.set_default_paths()?;
    } else {
        asked.set_flags(X509VerifyFlags::PARTIAL_CHAIN)?;
    }
    for root in roots {
        builder.add_cert(root.clone())?;
    }
    builder.set_param(&asked)?;
    Ok(builder.build())
}

fn verify(
    store: &X509Store,
    certificate: &X509,
    others: &[&[u8]],
) -> Result<X509VerifyResult, ErrorStack> {
    let mut chain = Stack::new()?;
    for other in others {
        chain.push(X509::from_der(other)?)?;
    }
    X509StoreContext::new()?.init(store, certificate, &chain, |context| {
        let is_verified = context.verify_cert()?;
        Ok(if is_verified { X509VerifyResult::OK } else { context.error() })
    })
}

/// The offered version and 46 random bytes (RFC 5246, section 7.4.7.1).
fn premaster() -> Option<[u8; SECRET]> {
    let mut premaster = [3; SECRET];
    Buffered.fill(&mut premaster[2..]).ok()?;
    Some(premaster)
}

/// The ClientKeyExchange message with the premaster secret encrypted to this key.
fn key_exchange(public: &PKey<Public>, premaster: &[u8; SECRET]) -> Option<Vec<u8>> {
    let rsa = public.rsa().ok()?;
    let mut encrypted = vec![0; rsa.size() as usize];
    let length = rsa.public_encrypt(premaster, &mut encrypted, Padding::PKCS1).ok()?;
    let mut body = Vec::with_capacity(2 + length);
    put_vector16(&mut body, encrypted.get(..length)?);
    let mut message = Vec::with_capacity(4 + body.len());
    put_message(&mut message, kind::CLIENT_KEY_EXCHANGE, &body);
    Some(message)
}
