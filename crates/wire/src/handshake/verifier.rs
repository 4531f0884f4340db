use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use openssl::hash::MessageDigest;
use openssl::rsa::Padding;
use openssl::x509::X509;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature,
};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, DigitallySignedStruct, Error, PeerMisbehaved, RootCertStore, SignatureScheme,
};
use tls::CertificateKey;

use super::Sampler;
use super::distrust::explained;
use super::signature::has_signed_rsa;

/// Verifies every certificate, but the same one only once; verifies one signature in each K; notes the
/// server's signature scheme. One per thread: the notes belong to the handshake that is being
/// advanced.
pub(super) struct SamplingVerifier {
    /// `None` where any certificate is accepted.
    chain: Option<Arc<WebPkiServerVerifier>>,
    /// Certificates that the user named one by one.
    named: Vec<CertificateDer<'static>>,
    provider: Arc<CryptoProvider>,
    signatures: Mutex<Sampler>,
    scheme: AtomicU32,
    is_verified: AtomicBool,
    last: Mutex<Option<Known>>,
}

/// The certificates that are trusted.
pub(super) struct Trusted {
    /// Authorities, which may sign other certificates.
    pub(super) roots: RootCertStore,
    /// Certificates that the user named one by one.
    pub(super) named: Vec<CertificateDer<'static>>,
}

/// One of rustls's two ways to verify a handshake's signature.
type Verify = fn(
    &[u8],
    &CertificateDer<'_>,
    &DigitallySignedStruct,
    &WebPkiSupportedAlgorithms,
) -> Result<HandshakeSignatureValid, Error>;

/// Through OpenSSL: ring verifies RSA from 2048 bits on, and shorter keys are measured too.
fn verify_short_rsa(
    message: &[u8],
    cert: &CertificateDer<'_>,
    dss: &DigitallySignedStruct,
) -> Result<HandshakeSignatureValid, Error> {
    let (digest, padding) = match dss.scheme {
        SignatureScheme::RSA_PKCS1_SHA256 => (MessageDigest::sha256(), Padding::PKCS1),
        SignatureScheme::RSA_PKCS1_SHA384 => (MessageDigest::sha384(), Padding::PKCS1),
        SignatureScheme::RSA_PKCS1_SHA512 => (MessageDigest::sha512(), Padding::PKCS1),
        SignatureScheme::RSA_PSS_SHA256 => (MessageDigest::sha256(), Padding::PKCS1_PSS),
        SignatureScheme::RSA_PSS_SHA384 => (MessageDigest::sha384(), Padding::PKCS1_PSS),
        SignatureScheme::RSA_PSS_SHA512 => (MessageDigest::sha512(), Padding::PKCS1_PSS),
        _ => return Err(PeerMisbehaved::SignedHandshakeWithUnadvertisedSigScheme.into()),
    };
    let key = X509::from_der(cert).and_then(|certificate| certificate.public_key());
    match key.is_ok_and(|key| has_signed_rsa(&key, digest, padding, message, dss.signature())) {
        true => Ok(HandshakeSignatureValid::assertion()),
        false => Err(CertificateError::BadSignature.into()),
    }
}

/// A certificate that was accepted.
struct Known {
    leaf: Vec<u8>,
    key: Option<CertificateKey>,
}

/// What the verifier noted about a handshake.
pub(super) struct Noted {
    pub(super) scheme: u16,
    pub(super) key: Option<CertificateKey>,
    pub(super) is_signature_verified: bool,
}

impl SamplingVerifier {
    pub(super) fn new(
        trusted: Option<Trusted>,
        provider: Arc<CryptoProvider>,
        signatures: Sampler,
    ) -> Result<Self, String> {
        let (chain, named) = match trusted {
            None => (None, Vec::new()),
            Some(Trusted { roots, named }) => (
                Some(
                    WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone())
                        .build()
                        .map_err(|error| error.to_string())?,
                ),
                named,
            ),
        };
        Ok(Self {
            chain,
            named,
            provider,
            signatures: Mutex::new(signatures),
            scheme: AtomicU32::new(0),
            is_verified: AtomicBool::new(false),
            last: Mutex::new(None),
        })
    }

    /// The notes since the last call, if a signature came.
    pub(super) fn take(&self) -> Option<Noted> {
        let scheme = match u16::try_from(self.scheme.load(Relaxed)) {
            Ok(0) | Err(_) => return None,
            Ok(scheme) => scheme,
        };
        self.scheme.store(0, Relaxed);
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        Some(Noted {
            scheme,
            key: last.as_ref().and_then(|known| known.key),
            is_signature_verified: self.is_verified.load(Relaxed),
        })
    }

    fn verify(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
        verify: Verify,
    ) -> Result<HandshakeSignatureValid, Error> {
        if !self.note(dss) {
            return Ok(HandshakeSignatureValid::assertion());
        }
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        match last.as_ref().and_then(|known| known.key) {
            Some(CertificateKey::Rsa(..2048)) => verify_short_rsa(message, cert, dss),
            _ => verify(message, cert, dss, &self.provider.signature_verification_algorithms),
        }
    }

    /// A user who names a server's own certificate trusts it, whoever issued it. WebPKI wants its issuer
    /// instead; nor does it accept a certificate that `openssl req -x509` made, which marks it as an
    /// authority. It looks for these after it has checked all else, such as the validity.
    fn accept_named(
        &self,
        error: Error,
        end_entity: &CertificateDer<'_>,
        server_name: &ServerName<'_>,
    ) -> Result<(), Error> {
        let is_own = match &error {
            Error::InvalidCertificate(CertificateError::UnknownIssuer) => true,
            Error::InvalidCertificate(CertificateError::Other(other)) => {
                other.to_string().contains("CaUsedAsEndEntity")
            }
            _ => false,
        };
        if !is_own || !self.named.iter().any(|named| named == end_entity) {
            return Err(error);
        }
        verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)
    }

    /// Whether the signature of this handshake is to be verified: the first, then one in each K.
    pub(super) fn draws_signature(&self) -> bool {
        (self.signatures.lock().unwrap_or_else(PoisonError::into_inner))()
    }

    fn note(&self, dss: &DigitallySignedStruct) -> bool {
        self.scheme.store(u32::from(u16::from(dss.scheme)), Relaxed);
        let is_sampled = self.draws_signature();
        self.is_verified.store(is_sampled, Relaxed);
        is_sampled
    }
}

impl ServerCertVerifier for SamplingVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.as_ref().is_some_and(|known| known.leaf == end_entity.as_ref()) {
            return Ok(ServerCertVerified::assertion());
        }
        if let Some(chain) = &self.chain {
            chain
                .verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
                .map(|_| ())
                .or_else(|error| self.accept_named(error, end_entity, server_name))
                .map_err(|error| explained(error, end_entity, &server_name.to_str()))?;
        }
        let key = CertificateKey::of_certificate(end_entity);
        if key.is_none() && X509::from_der(end_entity).is_err() {
            return Err(CertificateError::BadEncoding.into());
        }
        *last = Some(Known { leaf: end_entity.to_vec(), key });
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verify(message, cert, dss, verify_tls12_signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verify(message, cert, dss, verify_tls13_signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

impl fmt::Debug for SamplingVerifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SamplingVerifier").finish_non_exhaustive()
    }
}
