use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use openssl::error::ErrorStack;
use tls::{CertificateKey, IdentityError, Suite, Version};

/// Why a server cannot be started or cannot go on; each message is one line.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// A CPU that is not available.
    #[error("{0}")]
    Cpus(String),
    /// Somebody listens there already.
    #[error(
        "{0} is in use by another program; choose another port with --listen, or port 0 for any \
         free one"
    )]
    Busy(SocketAddr),
    /// The address cannot be listened on for another reason.
    #[error(
        "cannot listen on {address}: {source}; use an address of this machine and a port that you \
         may use"
    )]
    Listen {
        /// Which address.
        address: SocketAddr,
        /// The system's word.
        source: io::Error,
    },
    /// The folder of files cannot be served from.
    #[error("cannot serve files from {path}: {source}; --root needs a readable folder")]
    Root {
        /// Which folder.
        path: PathBuf,
        /// The system's word.
        source: io::Error,
    },
    /// The suite belongs to a version that is not offered.
    #[error(
        "{suite} is a suite of {}, which is not in --tls; add {} to --tls or remove the suite",
        suite.version(),
        suite.version().number()
    )]
    SuiteVersion {
        /// Which suite.
        suite: &'static Suite,
    },
    /// The suite needs another kind of key.
    #[error(
        "{suite} needs {needs}, and the certificate has {key}; change --certificate-key or --suites"
    )]
    SuiteKey {
        /// Which suite.
        suite: &'static Suite,
        /// The kind of key that it needs.
        needs: &'static str,
        /// The kind of key that is there.
        key: CertificateKey,
    },
    /// A version is offered that none of the named suites belongs to.
    #[error(
        "--tls offers {0}, but --suites has no suite for it; add one or remove {n} from --tls",
        n = .0.number()
    )]
    VersionWithoutSuite(Version),
    /// The certificate's key is of a kind that no name exists for.
    #[error(
        "toll cannot serve a certificate with this kind of key; use RSA, ECDSA on P-256 or P-384, \
         or Ed25519"
    )]
    KeyKind,
    /// The certificate or its key.
    #[error(transparent)]
    Identity(#[from] IdentityError),
    /// The certificate could not be written for clients.
    #[error("cannot write the certificate to {path}: {source}")]
    WriteCertificate {
        /// Which file.
        path: PathBuf,
        /// The system's word.
        source: io::Error,
    },
    /// OpenSSL refuses the settings.
    #[error("OpenSSL refuses {what}: {source}")]
    OpenSsl {
        /// What was set.
        what: &'static str,
        /// The library's word.
        source: ErrorStack,
    },
    /// A thread could not be started, pinned, or wait for its sockets.
    #[error("a server thread failed: {source}")]
    Thread {
        /// The system's word.
        source: io::Error,
    },
}
