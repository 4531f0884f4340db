//! Whose certificates are accepted, for every suite alike: WebPKI verifies chains.
//!
//! A user who names an authority or a server's own certificate trusts it as it is. So beside what
//! rustls accepts of the public's authorities, RSA keys may be short, P-521 may sign, and a server's
//! own certificate need not be one that WebPKI would accept.

use std::sync::{Arc, LazyLock};

use openssl::asn1::Asn1Time;
use openssl::hash::MessageDigest;
use openssl::pkey::PKey;
use openssl::rsa::{Padding, Rsa};
use openssl::x509::{X509, X509NameEntryRef};
use rustls::client::danger::ServerCertVerifier;
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{
    AlgorithmIdentifier, CertificateDer, InvalidSignature, ServerName,
    SignatureVerificationAlgorithm, UnixTime, alg_id,
};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, Error, RootCertStore};

use tls::MlDsa;

use super::offer::Trust;
use super::offer_error::OfferError;
use super::signature::has_signed_rsa;

/// The system's authorities: a load with many names has a client for each.
static SYSTEM: LazyLock<RootCertStore> = LazyLock::new(|| {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    roots
});

impl Trust {
    /// The subjects of the named certificates whose time is over. WebPKI does not look at the validity of an authority
    /// (RFC 5280, section 6.1, leaves that open), and other clients do.
    pub fn expired(&self) -> Vec<String> {
        let Self::File(path) = self else { return Vec::new() };
        let read = || {
            let named = X509::stack_from_pem(&std::fs::read(path).ok()?).ok()?;
            let now = Asn1Time::days_from_now(0).ok()?;
            let is_over = |of: &X509| of.not_after() < &*now;
            Some(named.into_iter().filter(is_over).map(|of| subject(&of)).collect())
        };
        read().unwrap_or_default()
    }
}

/// `CN=Example CA, O=Example`
fn subject(certificate: &X509) -> String {
    let part = |entry: &X509NameEntryRef| {
        let key = entry.object().nid().short_name().ok()?;
        Some(format!("{key}={}", entry.data().to_string().ok()?.escape_debug()))
    };
    certificate.subject_name().entries().filter_map(part).collect::<Vec<_>>().join(", ")
}

/// The certificates that are trusted.
pub(super) struct Trusted {
    chains: Arc<WebPkiServerVerifier>,
    /// Those that the user named.
    named: Vec<CertificateDer<'static>>,
    /// The kinds of ML-DSA among these.
    pub(super) ml_dsa: Vec<MlDsa>,
}

impl Trusted {
    /// `None` where any certificate is accepted.
    pub(super) fn new(
        trust: &Trust,
        provider: &CryptoProvider,
    ) -> Result<Option<Self>, OfferError> {
        let mut roots = RootCertStore::empty();
        let mut named = Vec::new();
        let mut provider = provider.clone();
        match trust {
            Trust::Anyone => return Ok(None),
            Trust::System => {
                roots.clone_from(&SYSTEM);
                if roots.is_empty() {
                    return Err(OfferError(
                        "the system has no certificate authorities (ca-certificates); give --ca \
                         FILE, or --insecure to accept any certificate"
                            .into(),
                    ));
                }
            }
            Trust::File(path) => {
                let shown = path.display();
                named = CertificateDer::pem_file_iter(path)
                    .and_then(Iterator::collect::<Result<Vec<_>, _>>)
                    .map_err(|error| {
                        let why = pem_fault(&error);
                        OfferError(format!("{shown}: {why}; give a PEM file of certificates"))
                    })?;
                if named.is_empty() {
                    return Err(OfferError(format!(
                        "{shown} does not hold a certificate in PEM form; give the file with -----BEGIN CERTIFICATE-----"
                    )));
                }
                for certificate in &named {
                    roots.add(certificate.clone()).map_err(|error| {
                        OfferError(format!(
                            "{shown} holds a certificate that cannot be read: {error}"
                        ))
                    })?;
                }
                provider.signature_verification_algorithms.all = &OF_NAMED;
            }
        }
        let chains = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.into())
            .build()
            .map_err(|error| OfferError(format!("rustls: {error}")))?;
        let of_named = |of: &MlDsa| named.iter().any(|der| MlDsa::of_certificate(der) == Some(*of));
        let ml_dsa = MlDsa::ALL.into_iter().filter(of_named).collect();
        Ok(Some(Self { chains, named, ml_dsa }))
    }

    pub(super) fn verify(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        now: UnixTime,
    ) -> Result<(), Error> {
        self.chains
            .verify_server_cert(end_entity, intermediates, server_name, &[], now)
            .map(|_| ())
            .or_else(|error| self.accept_named(error, end_entity, server_name))
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
            Error::InvalidCertificate(
                CertificateError::UnknownIssuer
                | CertificateError::UnsupportedSignatureAlgorithmContext { .. }
                | CertificateError::UnsupportedSignatureAlgorithmForPublicKeyContext { .. },
            ) => true,
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
}

/// What may sign the certificates below an authority that the user named.
static OF_NAMED: LazyLock<Vec<&'static dyn SignatureVerificationAlgorithm>> = LazyLock::new(|| {
    let usual = aws_lc_rs::default_provider().signature_verification_algorithms.all;
    let is_rsa = |algorithm: &&&dyn SignatureVerificationAlgorithm| {
        ANY_RSA.iter().any(|rsa| rsa.signature_alg_id() == algorithm.signature_alg_id())
    };
    let others = usual.iter().filter(|algorithm| !is_rsa(algorithm)).copied();
    let any_rsa = ANY_RSA.iter().map(|rsa| rsa as &dyn SignatureVerificationAlgorithm);
    any_rsa.chain(others).collect()
});

/// RSA with PKCS #1, with a key of any length.
#[derive(Debug)]
struct AnyRsa {
    digest: fn() -> MessageDigest,
    signature: AlgorithmIdentifier,
}

static ANY_RSA: [AnyRsa; 3] = [
    AnyRsa { digest: MessageDigest::sha256, signature: alg_id::RSA_PKCS1_SHA256 },
    AnyRsa { digest: MessageDigest::sha384, signature: alg_id::RSA_PKCS1_SHA384 },
    AnyRsa { digest: MessageDigest::sha512, signature: alg_id::RSA_PKCS1_SHA512 },
];

impl SignatureVerificationAlgorithm for AnyRsa {
    fn verify_signature(
        &self,
        public_key: &[u8],
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), InvalidSignature> {
        let key = Rsa::public_key_from_der_pkcs1(public_key)
            .and_then(PKey::from_rsa)
            .map_err(|_| InvalidSignature)?;
        match has_signed_rsa(&key, (self.digest)(), Padding::PKCS1, message, signature) {
            true => Ok(()),
            false => Err(InvalidSignature),
        }
    }

    fn public_key_alg_id(&self) -> AlgorithmIdentifier {
        alg_id::RSA_ENCRYPTION
    }

    fn signature_alg_id(&self) -> AlgorithmIdentifier {
        self.signature
    }
}

/// What is wrong with a PEM file; the library shows lines as lists of bytes.
fn pem_fault(error: &pem::Error) -> String {
    let line = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
    match error {
        pem::Error::MissingSectionEnd { end_marker } => {
            format!("the line `{}` is missing", line(end_marker))
        }
        pem::Error::IllegalSectionStart { line: start } => {
            format!("`{}` begins no section of PEM", line(start))
        }
        pem::Error::Io(error) => error.to_string(),
        other => other.to_string(),
    }
}
