use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use openssl::x509::X509;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature,
};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, DigitallySignedStruct, Error, PeerMisbehaved, SignatureScheme};
use tls::CertificateKey;

use super::distrust::explained;
use super::fingerprint::Fingerprint;
use super::offer::{Sampler, Trust};
use super::offer_error::OfferError;
use super::signature::{OTHER_SCHEMES, PublicKey};
use super::trust::Trusted;

/// Verifies every certificate, but the same one only once; verifies one signature in each K; notes the
/// server's signature scheme. One per thread: the notes belong to the handshake that is being
/// advanced.
pub(super) struct SamplingVerifier {
    /// `None` where any certificate is accepted.
    trusted: Option<Trusted>,
    provider: Arc<CryptoProvider>,
    /// The signature schemes that are offered.
    schemes: Vec<SignatureScheme>,
    signatures: Mutex<Sampler>,
    scheme: AtomicU32,
    is_verified: AtomicBool,
    last: Mutex<Option<Known>>,
}

/// One of rustls's two ways to verify a handshake's signature, and toll's for the same version.
struct Verify {
    by_rustls: fn(
        &[u8],
        &CertificateDer<'_>,
        &DigitallySignedStruct,
        &WebPkiSupportedAlgorithms,
    ) -> Result<HandshakeSignatureValid, Error>,
    by_toll: fn(&PublicKey, u16, &[u8], &[u8]) -> bool,
}

const TLS12: Verify =
    Verify { by_rustls: verify_tls12_signature, by_toll: PublicKey::has_signed_tls12 };
const TLS13: Verify =
    Verify { by_rustls: verify_tls13_signature, by_toll: PublicKey::has_signed_tls13 };

/// A certificate that was accepted.
struct Known {
    leaf: Vec<u8>,
    fingerprint: Fingerprint,
    key: Option<CertificateKey>,
}

/// What the verifier noted about a handshake.
pub(super) struct Noted {
    pub(super) scheme: u16,
    pub(super) key: Option<CertificateKey>,
    pub(super) certificate: Option<Fingerprint>,
    pub(super) is_signature_verified: bool,
}

impl SamplingVerifier {
    pub(super) fn new(
        trust: &Trust,
        provider: Arc<CryptoProvider>,
        signatures: Sampler,
    ) -> Result<Self, OfferError> {
        let trusted = Trusted::new(trust, &provider)?;
        let mut schemes = provider.signature_verification_algorithms.supported_schemes();
        let others = OTHER_SCHEMES.into_iter().map(SignatureScheme::from);
        schemes.extend(others.filter(|scheme| !schemes.contains(scheme)).collect::<Vec<_>>());
        // They make each ClientHello longer, so that a client offers those that it knows to be of use.
        let named = trusted.iter().flat_map(|trusted| &trusted.ml_dsa);
        schemes.extend(named.map(|of| SignatureScheme::from(of.scheme())));
        Ok(Self {
            trusted,
            provider,
            schemes,
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
            certificate: last.as_ref().map(|known| known.fingerprint),
            is_signature_verified: self.is_verified.load(Relaxed),
        })
    }

    /// Short RSA keys, and schemes that rustls has no library for, are verified as in toll's own
    /// handshakes. In TLS 1.2 rustls leaves it to its verifier whether the scheme was offered.
    fn verify(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
        verify: &Verify,
    ) -> Result<HandshakeSignatureValid, Error> {
        if !self.schemes.contains(&dss.scheme) {
            return Err(PeerMisbehaved::SignedHandshakeWithUnadvertisedSigScheme.into());
        }
        if !self.note(dss) {
            return Ok(HandshakeSignatureValid::assertion());
        }
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let key = last.as_ref().and_then(|known| known.key);
        let theirs = &self.provider.signature_verification_algorithms;
        let is_theirs = theirs.mapping.iter().any(|(scheme, _)| *scheme == dss.scheme);
        if is_theirs && !matches!(key, Some(CertificateKey::Rsa(..2048))) {
            return (verify.by_rustls)(message, cert, dss, theirs);
        }
        let public = PublicKey::of(cert);
        let is_signed = |key| (verify.by_toll)(&key, dss.scheme.into(), message, dss.signature());
        match public.is_ok_and(is_signed) {
            true => Ok(HandshakeSignatureValid::assertion()),
            false => Err(CertificateError::BadSignature.into()),
        }
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
        _: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.as_ref().is_some_and(|known| known.leaf == end_entity.as_ref()) {
            return Ok(ServerCertVerified::assertion());
        }
        if let Some(trusted) = &self.trusted {
            trusted
                .verify(end_entity, intermediates, server_name, now)
                .map_err(|error| explained(error, end_entity, &server_name.to_str()))?;
        }
        let key = CertificateKey::of_certificate(end_entity);
        if key.is_none() && X509::from_der(end_entity).is_err() {
            return Err(CertificateError::BadEncoding.into());
        }
        let fingerprint = Fingerprint::of(end_entity);
        *last = Some(Known { leaf: end_entity.to_vec(), fingerprint, key });
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verify(message, cert, dss, &TLS12)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verify(message, cert, dss, &TLS13)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.schemes.clone()
    }
}

impl fmt::Debug for SamplingVerifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SamplingVerifier").finish_non_exhaustive()
    }
}
