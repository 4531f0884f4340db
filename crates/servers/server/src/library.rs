//! The TLS libraries that the server runs on: one trait, one file each.
//!
//! HTTP, sockets and epoll are the same for all of them, so that servers differ in nothing else.
//! Everything here is generic, so the trait costs nothing at run time.

mod jobs;
mod kernel;
mod offered;
mod opened;
mod openssl;
mod own_context;
mod rustls;
mod session;

use std::sync::Arc;

use ::openssl::ssl::SslContext;
use ::openssl::x509::X509;
use ::rustls::ServerConfig;
use tls::{CertificateKey, Identity, KeyExchange, LibraryContext, SendMode, Stack, Suite, Version};

use crate::error::ServerError;
use crate::quic::QuicSettings;
use crate::settings::{AcceleratorSource, Settings};
use kernel::KernelTls;
use offered::FIRST_WITH_ML_KEM;
use opened::OpenedLibrary;
pub(crate) use session::{Handshake, Pause, Session, TlsContext};

/// One of the libraries, with its settings.
pub(crate) enum AnyLibrary {
    /// One for all threads, or one for each.
    OpenSsl(Vec<SslContext>),
    /// OpenSSL, and the kernel for what is sent.
    Kernel(KernelTls),
    Rustls(Arc<ServerConfig>),
    Opened(OpenedLibrary),
}

impl AnyLibrary {
    /// Offers exactly what the settings name.
    pub(crate) fn new(settings: &Settings, identity: &Identity) -> Result<Self, ServerError> {
        let key = X509::from_pem(&identity.certificate_pem)
            .and_then(|leaf| leaf.to_der())
            .ok()
            .and_then(|der| CertificateKey::of_certificate(&der))
            .ok_or(ServerError::KeyKind)?;
        check_key(settings, key)?;
        check_library(settings, key)?;
        match &settings.accelerator {
            Some(AcceleratorSource::Model(model)) => model.check_key(key),
            Some(AcceleratorSource::MultiBuffer(batching)) => batching.check_key(key),
            Some(AcceleratorSource::Provider(..)) | None => Ok(()),
        }
        .map_err(ServerError::Accelerator)?;
        let versions = versions(settings)?;
        Ok(match settings.library {
            Stack::OpenSsl => {
                let mut contexts = openssl::build(settings, &versions, identity, key)?;
                match settings.send {
                    SendMode::User => Self::OpenSsl(contexts),
                    mode => Self::Kernel(KernelTls::new(contexts.remove(0), mode)),
                }
            }
            Stack::RustlsRing | Stack::RustlsAwsLc => {
                Self::Rustls(rustls::build(settings, &versions, identity)?)
            }
            Stack::AwsLc | Stack::BoringSsl | Stack::S2n | Stack::WolfSsl | Stack::GnuTls => {
                Self::Opened(opened::build(settings, &versions, identity)?)
            }
        })
    }
}

impl AnyLibrary {
    /// What HTTP/3 is served with.
    pub(crate) fn quic(&self, settings: &Settings) -> Result<QuicSettings, ServerError> {
        match self {
            Self::Rustls(config) => QuicSettings::new(settings, config),
            _ => Err(ServerError::QuicLibrary(settings.library)),
        }
    }

    /// What a library that was opened says of itself: its name and version, and the suites and groups that it lacks.
    pub(crate) fn opened(&self) -> Option<(&str, &[&'static str])> {
        match self {
            Self::Opened(library) => Some((library.version(), library.lacks())),
            _ => None,
        }
    }
}

/// The versions to offer, ascending.
fn versions(settings: &Settings) -> Result<Vec<Version>, ServerError> {
    let of_suites = |version| settings.suites.iter().any(|suite| suite.version() == version);
    let all = [Version::Tls12, Version::Tls13];
    if settings.versions.is_empty() {
        return Ok(if settings.suites.is_empty() {
            all.to_vec()
        } else {
            all.into_iter().filter(|&version| of_suites(version)).collect()
        });
    }
    if let Some(suite) =
        settings.suites.iter().find(|suite| !settings.versions.contains(&suite.version()))
    {
        return Err(ServerError::SuiteVersion { suite });
    }
    let versions: Vec<_> =
        all.into_iter().filter(|version| settings.versions.contains(version)).collect();
    match versions.iter().find(|&&version| !settings.suites.is_empty() && !of_suites(version)) {
        Some(&version) => Err(ServerError::VersionWithoutSuite(version)),
        None => Ok(versions),
    }
}

/// Refuses suites that cannot be negotiated with a certificate of this key.
fn check_key(settings: &Settings, key: CertificateKey) -> Result<(), ServerError> {
    let rsa = matches!(key, CertificateKey::Rsa(_));
    let is_other = rsa || matches!(key, CertificateKey::MlDsa(_));
    let lacking = |suite: &&'static Suite| match suite.key_exchange {
        KeyExchange::Tls13 => None,
        KeyExchange::EcdheRsa | KeyExchange::Rsa => (!rsa).then_some("an RSA key"),
        KeyExchange::EcdheEcdsa => is_other.then_some("an ECDSA or Ed25519 key"),
    };
    match settings.suites.iter().find_map(|suite| Some((*suite, lacking(suite)?))) {
        Some((suite, needs)) => Err(ServerError::SuiteKey { suite, needs, key }),
        None => Ok(()),
    }
}

/// Whether it is an OpenSSL before 3.5, the first with ML-DSA, and the key is one of that.
fn is_older(library: Stack, key: CertificateKey) -> bool {
    let has_ml_dsa = ::openssl::version::number() >= FIRST_WITH_ML_KEM;
    library == Stack::OpenSsl && matches!(key, CertificateKey::MlDsa(_)) && !has_ml_dsa
}

/// Refuses what the library does not have.
fn check_library(settings: &Settings, key: CertificateKey) -> Result<(), ServerError> {
    let library = settings.library;
    let is_apart = settings.library_context == LibraryContext::PerThread;
    let has_device = settings.accelerator.is_some() || settings.send.is_kernels();
    if is_apart && (library != Stack::OpenSsl || has_device || settings.session_cache) {
        return Err(ServerError::LibraryContext);
    }
    let suite = settings.suites.iter().find(|suite| !library.has_suite(suite));
    let group = settings.groups.iter().find(|group| !library.has_group(**group));
    let lacks = match (suite, group) {
        (Some(suite), _) => suite.to_string(),
        (_, Some(group)) => group.to_string(),
        _ if settings.send.is_kernels() && library != Stack::OpenSsl => {
            format!("--send {}", settings.send)
        }
        _ if settings.accelerator.is_some() && library != Stack::OpenSsl => {
            "--accelerator".to_owned()
        }
        _ if !library.has_key(key) || is_older(library, key) => format!("signatures with {key}"),
        _ => return Ok(()),
    };
    Err(ServerError::Lacks { library, lacks })
}
