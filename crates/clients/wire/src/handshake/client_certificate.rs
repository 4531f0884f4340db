//! The client's own certificate and its key, with which it authenticates itself where the server asks
//! for that (RFC 8446, section 4.4.2; RFC 5246, section 7.4.6).

use std::path::Path;
use std::sync::Arc;

use ::tls::{CertificateKey, Identity};
use rustls::crypto::aws_lc_rs::sign::any_supported_type;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::{CertifiedKey, Signer};
use rustls::{SignatureAlgorithm, SignatureScheme};

use super::encoding::{self, put_message, put_vector16, put_vector24};
use super::established::ClientSignature;
use super::numbers::kind;
use super::offer_error::OfferError;
use super::refusal::Refusal;
use super::transcript::Transcript;

/// A certificate with its chain and its key, read once.
#[derive(Debug)]
pub struct ClientCertificate {
    pub(super) certified: Arc<CertifiedKey>,
    key: Option<CertificateKey>,
    /// Its Certificate message of TLS 1.2.
    tls12: Vec<u8>,
    /// That of TLS 1.3.
    tls13: Vec<u8>,
}

impl ClientCertificate {
    /// Reads a certificate, first in its chain, and its key from PEM files.
    ///
    /// # Errors
    /// Files that do not hold them, a key of another certificate, or one that cannot sign.
    pub fn read(certificate: &Path, key: &Path) -> Result<Self, OfferError> {
        let identity =
            Identity::read(certificate, key).map_err(|error| OfferError(error.to_string()))?;
        Self::new(&identity)
            .map_err(|OfferError(error)| OfferError(format!("{}: {error}", key.display())))
    }

    /// The certificate of an identity.
    ///
    /// # Errors
    /// A key that cannot sign.
    pub fn new(identity: &Identity) -> Result<Self, OfferError> {
        let chain = CertificateDer::pem_slice_iter(&identity.certificate_pem)
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| OfferError(format!("the certificate's chain: {error}")))?;
        let signing = PrivateKeyDer::from_pem_slice(&identity.key_pem)
            .ok()
            .and_then(|der| any_supported_type(&der).ok())
            .ok_or_else(|| {
                OfferError(
                    "toll cannot sign with this key; give one of RSA with 2048 to 8192 bits, ECDSA \
                     P-256, P-384 or P-521, or Ed25519"
                        .to_owned(),
                )
            })?;
        let (mut plain, mut extended) = (Vec::new(), Vec::new());
        for certificate in &chain {
            put_vector24(&mut plain, certificate);
            put_vector24(&mut extended, certificate);
            put_vector16(&mut extended, &[]);
        }
        let message = |context: &[u8], list: &[u8]| {
            let mut body = context.to_vec();
            put_vector24(&mut body, list);
            encoding::message(kind::CERTIFICATE, &body)
        };
        Ok(Self {
            key: chain.first().and_then(|leaf| CertificateKey::of_certificate(leaf)),
            tls12: message(&[], &plain),
            tls13: message(&[0], &extended),
            certified: Arc::new(CertifiedKey::new(chain, signing)),
        })
    }

    /// How long the message is that has its chain, in bytes.
    pub fn length(&self) -> usize {
        self.tls13.len()
    }

    /// What it signs with where a server accepts these schemes.
    pub(super) fn signature(&self, schemes: &[SignatureScheme]) -> Option<ClientSignature> {
        let schemes = schemes.iter().copied().map(u16::from);
        self.signer(schemes).map(|signer| signer.signature())
    }

    fn signer(&self, schemes: impl Iterator<Item = u16>) -> Option<ClientSigner> {
        let schemes: Vec<SignatureScheme> = schemes.map(SignatureScheme::from).collect();
        let signer = self.certified.key.choose_scheme(&schemes)?;
        Some(ClientSigner { signer, key: self.key })
    }
}

/// Signs what the answer to a CertificateRequest must sign.
pub(super) struct ClientSigner {
    signer: Box<dyn Signer>,
    key: Option<CertificateKey>,
}

impl ClientSigner {
    pub(super) fn signature(&self) -> ClientSignature {
        ClientSignature { scheme: self.signer.scheme().into(), key: self.key }
    }

    /// Appends a CertificateVerify over these bytes.
    pub(super) fn put_verify(&self, signed: &[u8], out: &mut Vec<u8>) -> Result<(), Refusal> {
        let signature = (self.signer.sign(signed))
            .map_err(|_| Refusal::internal("a handshake that the client's key could not sign"))?;
        let mut body = self.signature().scheme.to_be_bytes().to_vec();
        put_vector16(&mut body, &signature);
        put_message(out, kind::CERTIFICATE_VERIFY, &body);
        Ok(())
    }
}

/// Appends the Certificate message of TLS 1.2: with the client's certificate where it has one that fits
/// these types and schemes, else with an empty list. Gives what signs then.
pub(super) fn put_tls12(
    own: Option<&ClientCertificate>,
    types: &[u8],
    schemes: &[u16],
    out: &mut Vec<u8>,
) -> Option<ClientSigner> {
    // ClientCertificateType (RFC 5246, section 7.4.4; RFC 8422, section 5.5).
    const RSA_SIGN: u8 = 1;
    const ECDSA_SIGN: u8 = 64;
    let fits = |own: &&ClientCertificate| match own.certified.key.algorithm() {
        SignatureAlgorithm::RSA => types.contains(&RSA_SIGN),
        _ => types.contains(&ECDSA_SIGN),
    };
    let signer =
        own.filter(fits).and_then(|own| Some((&own.tls12, own.signer(schemes.iter().copied())?)));
    put(signer, &[0; 3], out)
}

/// The same in TLS 1.3, where RSA signs with PSS alone (RFC 8446, section 4.2.3).
pub(super) fn put_tls13(
    own: Option<&ClientCertificate>,
    schemes: &[u16],
    out: &mut Vec<u8>,
) -> Option<ClientSigner> {
    let schemes = schemes.iter().copied().filter(|scheme| scheme & 0xff != 1);
    let signer = own.and_then(|own| Some((&own.tls13, own.signer(schemes)?)));
    // The context is empty, and so is the list.
    put(signer, &[0; 4], out)
}

fn put(
    signer: Option<(&Vec<u8>, ClientSigner)>,
    empty: &[u8],
    out: &mut Vec<u8>,
) -> Option<ClientSigner> {
    match signer {
        Some((message, signer)) => {
            out.extend_from_slice(message);
            Some(signer)
        }
        None => {
            put_message(out, kind::CERTIFICATE, empty);
            None
        }
    }
}

/// What a client of TLS 1.3 signs after this transcript (RFC 8446, section 4.4.3).
pub(super) fn signed_tls13(transcript: &Transcript) -> Vec<u8> {
    const CONTEXT: &[u8] = b"TLS 1.3, client CertificateVerify\0";
    [&[b' '; 64], CONTEXT, transcript.hash().as_ref()].concat()
}
