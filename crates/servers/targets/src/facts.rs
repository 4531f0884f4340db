//! What is known of a server that runs.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::{fmt, fs};

use cpus::CpuList;
use serde::{Deserialize, Serialize};
use tls::Stack;

use crate::MappedLibrary;

/// A client's certificate and its key, which is there while the server runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClientFiles {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

/// The same in PEM form, for a machine that has other files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClientPem {
    pub certificate: String,
    pub key: PrivatePem,
}

/// A private key in PEM form, which is printed nowhere.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PrivatePem(String);

impl PrivatePem {
    pub fn pem(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for PrivatePem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a private key")
    }
}

impl ClientPem {
    /// # Errors
    /// A file that cannot be read.
    pub fn read(certificate: &Path, key: &Path) -> Result<Self, String> {
        let text = |path: &Path| {
            fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
        };
        Ok(Self { certificate: text(certificate)?, key: PrivatePem(text(key)?) })
    }
}

/// What a server is and where it listens, as its machine knows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ServerFacts {
    /// Its name, with a number from the second one in a result folder on: `nginx-2`.
    pub name: String,
    /// Server and TLS library, such as `nginx/1.22.1, OpenSSL 3.0.22`.
    pub version: String,
    /// Where it speaks TLS.
    pub https: SocketAddr,
    /// Where it serves the same objects over plain HTTP.
    pub http: SocketAddr,
    /// The file of its certificate in PEM form, for clients to trust.
    pub certificate: PathBuf,
    /// What clients are to authenticate themselves with, where the server asks for that.
    pub client: Option<ClientFiles>,
    /// The TLS library that it says it runs on, and its version, where it has a choice.
    pub stack: Option<(Stack, String)>,
    /// The suites and groups that this library does not have, where that was asked.
    #[serde(default)]
    pub lacks: Vec<String>,
    /// The TLS library that it has mapped, libcrypto before libssl; empty where it is linked statically,
    /// or has none that is known.
    pub libraries: Vec<MappedLibrary>,
    /// The release that it comes from, where that is not this machine's.
    #[serde(default)]
    pub system: Option<String>,
    /// Through which functions of OpenSSL it has the handshakes of QUIC, where it serves HTTP/3.
    #[serde(default)]
    pub quic_api: Option<String>,
    /// The CPUs that all of it is pinned to.
    pub cpus: CpuList,
    /// Those of its backend, where it passes requests on to one.
    pub backend_cpus: Option<CpuList>,
}
