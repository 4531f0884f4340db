//! The server's certificates, verified whenever they differ from the last ones, and its signatures,
//! verified in one handshake in K.

use std::sync::{Arc, Mutex, PoisonError};

use rustls::client::danger::ServerCertVerifier;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tls::CertificateKey;

use super::fingerprint::Fingerprint;
use super::refusal::Refusal;
use super::rustls_output::failure;
use super::signature::PublicKey;
use super::verifier::SamplingVerifier;
use crate::{ErrorKind, Failure};

/// One per thread.
pub(super) struct ServerCertificates {
    verifier: Arc<SamplingVerifier>,
    name: ServerName<'static>,
    accepted: Mutex<Option<Arc<AcceptedCertificate>>>,
}

/// A Certificate message that was accepted.
pub(super) struct AcceptedCertificate {
    message: Vec<u8>,
    pub(super) fingerprint: Fingerprint,
    pub(super) public: PublicKey,
    /// Where toll has a name for it.
    pub(super) key: Option<CertificateKey>,
}

impl ServerCertificates {
    pub(super) fn new(verifier: Arc<SamplingVerifier>, name: ServerName<'static>) -> Self {
        Self { verifier, name, accepted: Mutex::new(None) }
    }

    /// Accepts the body of a Certificate message, or says why not. `read` gives its certificates, the
    /// server's own first.
    pub(super) fn accept<'m>(
        &self,
        message: &'m [u8],
        read: impl FnOnce(&'m [u8]) -> Result<Vec<&'m [u8]>, Refusal>,
    ) -> Result<Arc<AcceptedCertificate>, Refusal> {
        let mut last = self.accepted.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(accepted) = last.as_ref().filter(|accepted| accepted.message == message) {
            return Ok(accepted.clone());
        }
        let certificates = read(message)?;
        let refused =
            |seen: &str| Refusal::certificate(Failure::new(ErrorKind::Authentication, seen));
        let [own, others @ ..] = &certificates[..] else {
            return Err(refused("an empty list of certificates"));
        };
        let public =
            PublicKey::of(own).map_err(|_| refused("a certificate that cannot be read"))?;
        let others: Vec<_> = others.iter().map(|der| CertificateDer::from(*der)).collect();
        let end_entity = CertificateDer::from(*own);
        self.verifier
            .verify_server_cert(&end_entity, &others, &self.name, &[], UnixTime::now())
            .map_err(|error| Refusal::certificate(failure(&error)))?;
        let key = CertificateKey::of_certificate(own);
        let (message, fingerprint) = (message.to_owned(), Fingerprint::of(own));
        let accepted = Arc::new(AcceptedCertificate { message, fingerprint, public, key });
        *last = Some(accepted.clone());
        Ok(accepted)
    }

    /// Whether the signature of this handshake is to be verified.
    pub(super) fn draws_signature(&self) -> bool {
        self.verifier.draws_signature()
    }
}
