use std::fmt;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use tls::CertificateKey;

/// Verifies every certificate, but the same one only once; verifies one signature in K; notes what
/// the server signed with. One per thread: what it notes belongs to the handshake that is being
/// advanced.
pub(super) struct SamplingVerifier {
    /// `None` where any certificate is accepted.
    chain: Option<Arc<WebPkiServerVerifier>>,
    provider: Arc<CryptoProvider>,
    one_in: NonZeroU32,
    handshakes: AtomicU32,
    scheme: AtomicU32,
    is_verified: AtomicBool,
    last: Mutex<Option<Known>>,
}

/// A certificate that was accepted.
struct Known {
    leaf: Vec<u8>,
    key: Option<CertificateKey>,
}

/// What the verifier noted of a handshake.
pub(super) struct Noted {
    pub(super) scheme: u16,
    pub(super) key: Option<CertificateKey>,
    pub(super) is_signature_verified: bool,
}

impl SamplingVerifier {
    pub(super) fn new(
        roots: Option<RootCertStore>,
        provider: Arc<CryptoProvider>,
        one_in: NonZeroU32,
    ) -> Result<Self, String> {
        let chain = match roots {
            None => None,
            Some(roots) => Some(
                WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone())
                    .build()
                    .map_err(|error| error.to_string())?,
            ),
        };
        Ok(Self {
            chain,
            provider,
            one_in,
            handshakes: AtomicU32::new(0),
            scheme: AtomicU32::new(0),
            is_verified: AtomicBool::new(false),
            last: Mutex::new(None),
        })
    }

    /// What was noted since the last call, if a signature came.
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

    fn note(&self, dss: &DigitallySignedStruct) -> bool {
        self.scheme.store(u32::from(u16::from(dss.scheme)), Relaxed);
        let is_sampled = self.handshakes.fetch_add(1, Relaxed).is_multiple_of(self.one_in.get());
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
            chain.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)?;
        }
        let key = CertificateKey::of_certificate(end_entity);
        if key.is_none() && openssl::x509::X509::from_der(end_entity).is_err() {
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
        if !self.note(dss) {
            return Ok(HandshakeSignatureValid::assertion());
        }
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, cert, dss, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        if !self.note(dss) {
            return Ok(HandshakeSignatureValid::assertion());
        }
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, cert, dss, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

impl fmt::Debug for SamplingVerifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SamplingVerifier").field("one_in", &self.one_in).finish_non_exhaustive()
    }
}
