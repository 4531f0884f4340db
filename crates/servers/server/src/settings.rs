use std::ffi::OsStr;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;
use std::{fs, io};

use congestion::CongestionControl;
use cpus::CpuList;
use offload::{Batching, Description, ProviderPath, Way};
use tls::{
    AskClient, CertificateKey, Group, Identity, IdentityError, LibraryContext, RecordSize,
    RecordsPerWrite, SendMode, Stack, Suite, Version,
};

use crate::error::ServerError;

/// What a server serves, and how.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where to listen for HTTPS, at least one; port 0 takes a free one.
    pub listen: Vec<SocketAddr>,
    /// Where to listen for plain HTTP, if at all.
    pub listen_plain: Vec<SocketAddr>,
    /// Whether HTTP/3 is served too, over UDP at the addresses of `listen`; with rustls only.
    pub quic: bool,
    /// Whether the kernel is given many datagrams at once to send (UDP_SEGMENT).
    pub gso: bool,
    /// Of its sockets over TCP; by default the system's, at loopback addresses one that does not pace.
    pub congestion: Option<CongestionControl>,
    /// One thread is pinned to each of these.
    pub cpus: CpuList,
    /// The folder of files; generated objects only, where there is none.
    pub root: Option<PathBuf>,
    /// The TLS library.
    pub library: Stack,
    /// The versions to offer; empty for those that `suites` belong to, or all.
    pub versions: Vec<Version>,
    /// The suites to offer, the preferred one first; empty for the library's defaults.
    pub suites: Vec<&'static Suite>,
    /// The groups to offer, the preferred one first; empty for the library's defaults.
    pub groups: Vec<Group>,
    pub certificate: CertificateSource,
    /// Whether clients are asked for a certificate.
    pub ask_client: AskClient,
    /// The authorities that issue those, a PEM file; needed where they are asked for.
    pub client_authorities: Option<PathBuf>,
    /// A folder with a certificate `NAME.crt` for each further name, all of the same key, in PEM form.
    pub names: Option<PathBuf>,
    /// Where to write the certificate for clients, in PEM form; an old file is replaced.
    pub write_certificate: Option<PathBuf>,
    /// Whether clients get session tickets (RFC 5077; RFC 8446, section 4.6.1). Where they do
    /// not, TLS 1.3 has no resumption at all.
    pub tickets: bool,
    /// Whether the server keeps sessions of TLS 1.2 for resumption by identifier.
    pub session_cache: bool,
    /// Whether encrypt-then-MAC (RFC 7366) is agreed to in CBC suites.
    pub encrypt_then_mac: bool,
    /// Where the private key is used, where that is not the CPU; with OpenSSL only.
    pub accelerator: Option<AcceleratorSource>,
    /// How responses are encrypted and sent.
    pub send: SendMode,
    /// The file of what is sent, if any.
    pub counters: Option<PathBuf>,
    /// The most plaintext in a record.
    pub record_size: RecordSize,
    /// How many full records go into one send. With four or more, OpenSSL encrypts four or eight
    /// records of a CBC suite side by side where encrypt-then-MAC is off.
    pub records_per_write: RecordsPerWrite,
    /// What threads have of OpenSSL's library contexts.
    pub library_context: LibraryContext,
    /// How long a connection may be idle, take to send a request's head, or receive nothing.
    pub timeout: Duration,
}

impl Settings {
    /// The certificates of its further names, which are in lower case.
    pub(crate) fn named_certificates(&self) -> Result<Vec<(String, Vec<u8>)>, ServerError> {
        let Some(folder) = &self.names else { return Ok(Vec::new()) };
        let failed = |source| ServerError::Names { path: folder.clone(), source };
        let mut named = Vec::new();
        for entry in fs::read_dir(folder).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            let is_certificate = path.extension().is_some_and(|extension| extension == "crt");
            if let Some(name) = path.file_stem().and_then(OsStr::to_str).filter(|_| is_certificate)
            {
                named.push((name.to_ascii_lowercase(), fs::read(&path).map_err(failed)?));
            }
        }
        match named.is_empty() {
            true => Err(failed(io::Error::other("it has none"))),
            false => Ok(named),
        }
    }
}

/// What does the work of private keys in place of OpenSSL.
#[derive(Debug, Clone)]
pub enum AcceleratorSource {
    /// A modelled device.
    Model(Description),
    /// Intel's multi-buffer library.
    MultiBuffer(Batching),
    /// Whatever this provider of OpenSSL has.
    Provider(ProviderPath, Way),
}

impl AcceleratorSource {
    /// The name of its provider.
    pub(crate) fn provider(&self) -> &str {
        match self {
            Self::Model(_) | Self::MultiBuffer(_) => offload::NAME,
            Self::Provider(provider, _) => provider.name(),
        }
    }

    /// How the server waits for it.
    pub(crate) fn way(&self) -> Way {
        match self {
            Self::Model(model) => model.way,
            Self::MultiBuffer(batching) => batching.way,
            Self::Provider(_, way) => *way,
        }
    }
}

/// Where a certificate comes from.
#[derive(Debug, Clone)]
pub enum CertificateSource {
    /// A self-signed one for this run, with a fresh key of this kind.
    Fresh(CertificateKey),
    /// PEM files.
    Files {
        /// The certificate, or the chain with the leaf first.
        certificate: PathBuf,
        key: PathBuf,
    },
}

impl CertificateSource {
    pub(crate) fn load(&self) -> Result<Identity, IdentityError> {
        match self {
            Self::Fresh(key) => Identity::generate(*key),
            Self::Files { certificate, key } => Identity::read(certificate, key),
        }
    }
}
