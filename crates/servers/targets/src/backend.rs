//! The server to which a proxy passes requests on: toll's own, in a process of its own.

use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use openssl::error::ErrorStack;
use openssl::ssl::{HandshakeError, Ssl, SslContext, SslMethod, SslVerifyMode};
use openssl::x509::X509VerifyResult;
use serde::{Deserialize, Serialize};
use strum::{Display, EnumString, VariantArray};

/// The name that a backend is to prove.
pub(crate) const NAME: &str = "localhost";
/// The only suite that a backend takes over TLS, so that each of its handshakes has it.
pub const SUITE: &str = "TLS_AES_128_GCM_SHA256";
/// How long a backend may take to prove its name.
const PROVES_WITHIN: Duration = Duration::from_secs(2);

/// How requests go to a backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[derive(Serialize, Deserialize, Display, EnumString, VariantArray)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Backend {
    /// Over plain HTTP.
    Plain,
    /// Encrypted again.
    Tls,
}

/// How long connections to a backend live.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[derive(Serialize, Deserialize, Display, EnumString, VariantArray)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum BackendConnections {
    /// They are used again.
    #[default]
    Kept,
    /// Each carries one request; over TLS each has a full handshake, since the backend gives no sessions.
    New,
}

/// What a proxy is told of its running backend.
#[derive(Debug, Clone)]
pub(crate) struct BackendAddress {
    pub(crate) address: SocketAddr,
    /// What it proves its name with, in PEM form.
    pub(crate) certificate: PathBuf,
}

impl BackendAddress {
    /// Why the certificate that it shows is not the one that its proxy trusts, if it is not.
    pub(crate) fn distrusted(&self) -> Option<String> {
        let stream = TcpStream::connect_timeout(&self.address, PROVES_WITHIN).ok()?;
        stream.set_read_timeout(Some(PROVES_WITHIN)).ok()?;
        let why = match verifying(&self.certificate) {
            Ok(ssl) => match ssl.connect(stream) {
                Err(HandshakeError::Failure(failed)) => match failed.ssl().verify_result() {
                    X509VerifyResult::OK => return None,
                    result => result.error_string().to_owned(),
                },
                _ => return None,
            },
            Err(error) => error.to_string(),
        };
        let (address, certificate) = (self.address, self.certificate.display());
        Some(format!(
            "the certificate of backend at {address} does not verify by {certificate} ({why})"
        ))
    }
}

fn verifying(certificate: &Path) -> Result<Ssl, ErrorStack> {
    let mut context = SslContext::builder(SslMethod::tls_client())?;
    context.set_ca_file(certificate)?;
    context.set_verify(SslVerifyMode::PEER);
    let mut ssl = Ssl::new(&context.build())?;
    ssl.param_mut().set_host(NAME)?;
    Ok(ssl)
}
