//! The server's certificates, verified whenever they differ from the last ones, and its signatures,
//! verified in one handshake in K.

use std::sync::{Arc, Mutex, PoisonError};

use openssl::x509::X509;
use rustls::client::danger::ServerCertVerifier;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tls::CertificateKey;

use super::flight;
use crate::handshake::refusal::Refusal;
use crate::handshake::rustls_output::failure;
use crate::handshake::signature::PublicKey;
use crate::handshake::verifier::SamplingVerifier;
use crate::{ErrorKind, Failure};

/// One per thread.
pub(super) struct Server {
    verifier: Arc<SamplingVerifier>,
    name: ServerName<'static>,
    accepted: Mutex<Option<Arc<AcceptedCertificate>>>,
}

/// A Certificate message that was accepted.
pub(super) struct AcceptedCertificate {
    message: Vec<u8>,
    public: PublicKey,
    /// Where toll has a name for it.
    pub(super) key: Option<CertificateKey>,
}

impl Server {
    pub(super) fn new(verifier: Arc<SamplingVerifier>, name: ServerName<'static>) -> Self {
        Self { verifier, name, accepted: Mutex::new(None) }
    }

    /// Accepts the body of a Certificate message, or says why not. `offered` are the types of the
    /// client's extensions.
    pub(super) fn accept(
        &self,
        message: &[u8],
        offered: &[u16],
    ) -> Result<Arc<AcceptedCertificate>, Refusal> {
        let mut last = self.accepted.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(accepted) = last.as_ref().filter(|accepted| accepted.message == message) {
            return Ok(accepted.clone());
        }
        let (certificates, extensions) =
            flight::certificates(message).ok_or_else(|| Refusal::malformed("Certificate"))?;
        if let Some(unoffered) = extensions.into_iter().find(|kind| !offered.contains(kind)) {
            return Err(Refusal::extension(unoffered));
        }
        let unread =
            || Failure::new(ErrorKind::Authentication, "a certificate that cannot be read");
        let [own, others @ ..] = &certificates[..] else {
            let seen = "an empty list of certificates";
            return Err(Refusal::certificate(Failure::new(ErrorKind::Authentication, seen)));
        };
        let others: Vec<_> = others.iter().map(|der| CertificateDer::from(*der)).collect();
        let end_entity = CertificateDer::from(*own);
        self.verifier
            .verify_server_cert(&end_entity, &others, &self.name, &[], UnixTime::now())
            .map_err(|error| Refusal::certificate(failure(&error)))?;
        let public = X509::from_der(own)
            .and_then(|certificate| PublicKey::new(certificate.public_key()?))
            .map_err(|_| Refusal::certificate(unread()))?;
        let key = CertificateKey::of_certificate(own);
        let accepted = Arc::new(AcceptedCertificate { message: message.to_owned(), public, key });
        *last = Some(accepted.clone());
        Ok(accepted)
    }

    /// Whether the signature of this handshake is to be verified.
    pub(super) fn draws_signature(&self) -> bool {
        self.verifier.draws_signature()
    }
}

impl AcceptedCertificate {
    /// Whether the server signed a transcript with this hash (RFC 8446, section 4.4.3).
    pub(super) fn has_signed(&self, scheme: u16, signature: &[u8], transcript: &[u8]) -> bool {
        const CONTEXT: &[u8] = b"TLS 1.3, server CertificateVerify\0";
        let message = [&[b' '; 64], CONTEXT, transcript].concat();
        self.public.has_signed(scheme, &message, signature)
    }
}
