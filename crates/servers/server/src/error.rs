use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use openssl::error::ErrorStack;
use tls::{AskClient, CertificateKey, IdentityError, Stack, Suite, Version};

/// Why a server cannot be started or cannot go on; each message is one line.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// A CPU that is not available.
    #[error("{0}")]
    Cpus(String),
    #[error(
        "{0} is in use by another program; choose another port with --listen, or port 0 for any \
         free one"
    )]
    Busy(SocketAddr),
    #[error(
        "cannot listen on {address}: {source}; use an address of this machine and a port that you \
         may use"
    )]
    Listen { address: SocketAddr, source: io::Error },
    #[error("{0}")]
    Congestion(String),
    #[error(
        "QUIC is served with rustls alone: {0} has no packet keys for it here; write --library rustls-ring or \
         rustls-aws-lc, or leave out --quic"
    )]
    QuicLibrary(Stack),
    #[error(
        "QUIC needs TLS 1.3; add 1.3 to --tls and a suite of it to --suites, or leave out --quic"
    )]
    QuicVersion,
    #[error("cannot serve files from {path}: {source}; --root needs a readable folder")]
    Root { path: PathBuf, source: io::Error },
    #[error(
        "{suite} is a suite of {}, which is not in --tls; add {} to --tls or remove the suite",
        suite.version(),
        suite.version().number()
    )]
    SuiteVersion { suite: &'static Suite },
    #[error(
        "{suite} needs {needs}, and the certificate has {key}; change --certificate-key or --suites"
    )]
    SuiteKey {
        suite: &'static Suite,
        /// The kind of key that it needs.
        needs: &'static str,
        /// The kind of key that is there.
        key: CertificateKey,
    },
    #[error("the accelerator {0}")]
    Accelerator(String),
    #[error("{0}")]
    NoAccelerator(#[from] offload::InstallError),
    #[error("{0}")]
    Provider(String),
    #[error("the kernel's TLS does not have {0}; remove it from --suites, or write --send user")]
    SuiteKernel(&'static Suite),
    #[error("cannot serve as nobody: {0}; --as-nobody needs root")]
    Nobody(io::Error),
    #[error("cannot keep counters in {path}: {source}; --counters needs a file that can be made")]
    Counters { path: PathBuf, source: io::Error },
    #[error(
        "--tls offers {0}, but --suites has no suite for it; add one or remove {n} from --tls",
        n = .0.number()
    )]
    VersionWithoutSuite(Version),
    #[error(
        "toll cannot serve a certificate with this kind of key; use RSA, ECDSA on P-256 or P-384, \
         or Ed25519"
    )]
    KeyKind,
    /// The certificate or its key.
    #[error(transparent)]
    Identity(#[from] IdentityError),
    #[error("--client-certificate {0} needs the authorities of clients; give --client-ca FILE")]
    NoClientAuthorities(AskClient),
    #[error("--client-ca {path}: {why}; give a PEM file of certificates")]
    ClientAuthorities { path: PathBuf, why: String },
    #[error("cannot read certificates from {path}: {source}; --names needs a folder with NAME.crt")]
    Names { path: PathBuf, source: io::Error },
    #[error("cannot write the certificate to {path}: {source}")]
    WriteCertificate { path: PathBuf, source: io::Error },
    #[error("OpenSSL refuses {what}: {source}")]
    OpenSsl { what: &'static str, source: ErrorStack },
    #[error("{library} refuses these settings: {source}")]
    Rustls { library: Stack, source: rustls::Error },
    #[error("{library} has no {lacks}; choose something else, or --library openssl")]
    Lacks { library: Stack, lacks: String },
    #[error(
        "--library-context per-thread is for OpenSSL with its own private keys and its own records: it goes with no \
         other --library, --accelerator, --provider or --send, and needs --session-cache off, since threads would \
         not find each other's sessions"
    )]
    LibraryContext,
    /// A library that is opened when it is asked for.
    #[error(
        "{library} is not here: no {} in LD_LIBRARY_PATH, in target/stacks/lib or in the system's folders; {}",
        .library.file().unwrap_or_default(),
        .library.installation()
    )]
    NoLibrary { library: Stack },
    #[error("{library} cannot be opened: {why}; {}", .library.installation())]
    NotOpened { library: Stack, why: shared_library::OpenError },
    #[error(
        "this is no {library} of a version that toll knows: it has no function {function}; {}",
        .library.installation()
    )]
    Function { library: Stack, function: &'static str },
    #[error("{library} refuses {what}: {why}")]
    Opened { library: Stack, what: &'static str, why: String },
    #[error("a server thread failed: {source}")]
    Thread { source: io::Error },
}
