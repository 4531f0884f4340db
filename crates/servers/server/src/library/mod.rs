//! The TLS libraries that the server runs on: one trait, one file each.
//!
//! HTTP, sockets and epoll are the same for all of them, so that servers differ in nothing else.
//! Everything here is generic, so the trait costs nothing at run time.

mod jobs;
mod kernel;
mod opened;
mod openssl;
mod own_context;
mod rustls;

use std::io;
use std::os::fd::RawFd;
use std::sync::Arc;

use ::openssl::ssl::SslContext;
use ::openssl::x509::X509;
use ::rustls::ServerConfig;
use tls::{
    AskClient, CertificateKey, Identity, KeyExchange, LibraryContext, SendMode, Stack, Suite,
    Version,
};

use crate::wire::Wire;
use crate::{AcceleratorSource, ServerError, Settings};
use kernel::KernelTls;
use opened::OpenedLibrary;

/// OpenSSL 3.5, the first with ML-KEM and ML-DSA; its lists of groups may have names that it does not know.
const FIRST_WITH_ML_KEM: i64 = 0x3050_0000;

/// A TLS library with the settings and the certificate of one server.
pub(crate) trait Library: Sync {
    type Session: Session;

    /// A connection on this wire, before its handshake.
    fn accept(&self, wire: Wire) -> io::Result<Self::Session>;
}

/// The server's side of one TLS connection. What it writes gathers in its wire, which takes
/// everything: only reading has to wait.
pub(crate) trait Session {
    fn wire(&self) -> &Wire;

    fn wire_mut(&mut self) -> &mut Wire;

    /// Takes the handshake as far as it goes. A paused one must go on before it may be dropped.
    fn handshake(&mut self) -> io::Result<Handshake>;

    /// Reads decrypted bytes; 0 is the end, orderly or not. `WouldBlock` where nothing is there.
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize>;

    /// Whether the handshake, which is complete, agreed on HTTP/2.
    fn is_http2(&self) -> bool;

    /// Encrypts the beginning of `plaintext`, and says how much of it.
    fn write(&mut self, plaintext: &[u8]) -> io::Result<usize>;

    /// How what it is given is sent. Where the kernel encrypts, that is written to its wire as over
    /// plain HTTP, not to the session.
    fn send_mode(&self) -> SendMode {
        SendMode::User
    }

    /// Writes close_notify, where that gathers after what was written.
    fn close(&mut self);

    /// Writes close_notify, where that does not gather: all else is sent.
    fn close_when_sent(&mut self) {}

    /// The client is gone without a close_notify, which is no reason to forget its session.
    fn abandon(&mut self);
}

/// How far a handshake is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Handshake {
    Complete,
    /// Something must be read first.
    Unready,
    /// The accelerator must answer first.
    Paused(Pause),
}

/// What a paused handshake waits for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Pause {
    /// The answer to this operation, which is polled for.
    Answer(offload::Ticket),
    /// One of its descriptors becomes readable; these are new. They stay open while it is paused.
    Event(Vec<RawFd>),
}

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
    /// What a library that was opened says of itself: its name and version, and the suites and groups that it lacks.
    pub(crate) fn opened(&self) -> Option<(&str, &[&'static str])> {
        match self {
            Self::Opened(library) => Some((library.version(), library.lacks())),
            _ => None,
        }
    }
}

/// The certificates of the authorities of clients, where those are asked for a certificate.
fn client_authorities(settings: &Settings) -> Result<Vec<X509>, ServerError> {
    if settings.ask_client == AskClient::None {
        return Ok(Vec::new());
    }
    let Some(path) = &settings.client_authorities else {
        return Err(ServerError::NoClientAuthorities(settings.ask_client));
    };
    let refused = |why: String| ServerError::ClientAuthorities { path: path.clone(), why };
    let pem = std::fs::read(path).map_err(|error| refused(error.to_string()))?;
    let found = X509::stack_from_pem(&pem).map_err(|error| refused(error.to_string()))?;
    match found.is_empty() {
        true => Err(refused("no certificate in PEM form".to_owned())),
        false => Ok(found),
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
