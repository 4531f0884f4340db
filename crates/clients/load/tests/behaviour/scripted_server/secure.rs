//! TLS through rustls: all of TLS 1.3, and the ECDHE AEAD suites of TLS 1.2.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, OnceLock};

use rustls::crypto::aws_lc_rs::kx_group::{MLKEM1024, SECP256R1MLKEM768, X25519MLKEM768};
use rustls::crypto::ring::{default_provider, sign::any_supported_type};
use rustls::crypto::{CryptoProvider, SupportedKxGroup};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert, WebPkiClientVerifier};
use rustls::sign::{CertifiedKey, Signer, SigningKey};
use rustls::{
    Error, HandshakeKind, RootCertStore, ServerConfig, ServerConnection, SignatureAlgorithm,
    SignatureScheme, SupportedProtocolVersion,
};
use tls::{CertificateKey, Identity};

use super::{Craft, Session, split};

/// An RSA identity, made once.
pub fn rsa() -> &'static Identity {
    static IDENTITY: OnceLock<Identity> = OnceLock::new();
    IDENTITY.get_or_init(|| Identity::generate(CertificateKey::Rsa(2048)).unwrap())
}

/// An ECDSA identity, made once.
pub fn ecdsa() -> &'static Identity {
    static IDENTITY: OnceLock<Identity> = OnceLock::new();
    IDENTITY.get_or_init(|| Identity::generate(CertificateKey::EcdsaP256).unwrap())
}

/// An honest server's configuration.
pub fn config_of(
    identity: &Identity,
    versions: &[&'static SupportedProtocolVersion],
) -> ServerConfig {
    with_key(versions, certified(identity, |key| key))
}

/// TLS 1.3 with an ECDSA key.
pub fn config() -> Arc<ServerConfig> {
    Arc::new(config_of(ecdsa(), &[&rustls::version::TLS13]))
}

/// A configuration whose key signs something else than the handshake.
pub fn forged(version: &'static SupportedProtocolVersion) -> Arc<ServerConfig> {
    let key = certified(ecdsa(), |key| Arc::new(Forged(key)));
    Arc::new(with_key(&[version], key))
}

/// A configuration whose chain repeats the same certificate.
pub fn long_chain(version: &'static SupportedProtocolVersion, length: usize) -> Arc<ServerConfig> {
    let mut key = certified(ecdsa(), |key| key);
    key.cert = vec![key.cert[0].clone(); length];
    Arc::new(with_key(&[version], key))
}

/// A configuration with an ECDSA key that asks clients for a certificate of this authority, or requires one.
pub fn asking_config(
    authority: &[u8],
    versions: &[&'static SupportedProtocolVersion],
    is_required: bool,
) -> Arc<ServerConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(authority).unwrap()).unwrap();
    let provider = Arc::new(default_provider());
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone());
    let verifier = if is_required { verifier } else { verifier.allow_unauthenticated() };
    let config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(versions)
        .unwrap()
        .with_client_cert_verifier(verifier.build().unwrap())
        .with_cert_resolver(config_of(ecdsa(), versions).cert_resolver.clone());
    Arc::new(config)
}

/// TLS 1.3 with an ECDSA key and this group only.
pub fn config_of_group(group: &'static dyn SupportedKxGroup) -> ServerConfig {
    let provider = CryptoProvider { kx_groups: vec![group], ..default_provider() };
    with_provider(provider, &[&rustls::version::TLS13], certified(ecdsa(), |key| key))
}

fn with_key(versions: &[&'static SupportedProtocolVersion], key: CertifiedKey) -> ServerConfig {
    let mut provider = default_provider();
    provider.kx_groups.extend([X25519MLKEM768, SECP256R1MLKEM768, MLKEM1024]);
    with_provider(provider, versions, key)
}

fn with_provider(
    provider: CryptoProvider,
    versions: &[&'static SupportedProtocolVersion],
    key: CertifiedKey,
) -> ServerConfig {
    let mut config = ServerConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(versions)
        .unwrap()
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(Only(Arc::new(key))));
    config.enable_secret_extraction = true;
    config
}

fn certified(
    identity: &Identity,
    wrap: impl FnOnce(Arc<dyn SigningKey>) -> Arc<dyn SigningKey>,
) -> CertifiedKey {
    let chain = CertificateDer::pem_slice_iter(&identity.certificate_pem)
        .collect::<Result<_, _>>()
        .unwrap();
    let key = PrivateKeyDer::from_pem_slice(&identity.key_pem).unwrap();
    CertifiedKey::new(chain, wrap(any_supported_type(&key).unwrap()))
}

#[derive(Debug)]
struct Only(Arc<CertifiedKey>);

impl ResolvesServerCert for Only {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.clone())
    }
}

/// A key whose well-formed signatures are over something else.
#[derive(Debug)]
struct Forged<T>(T);

impl SigningKey for Forged<Arc<dyn SigningKey>> {
    fn choose_scheme(&self, offered: &[SignatureScheme]) -> Option<Box<dyn Signer>> {
        Some(Box::new(Forged(self.0.choose_scheme(offered)?)))
    }

    fn algorithm(&self) -> SignatureAlgorithm {
        self.0.algorithm()
    }
}

impl Signer for Forged<Box<dyn Signer>> {
    fn sign(&self, _: &[u8]) -> Result<Vec<u8>, Error> {
        self.0.sign(b"something else")
    }

    fn scheme(&self) -> SignatureScheme {
        self.0.scheme()
    }
}

/// A connection whose handshake has ended.
pub struct Secure {
    connection: ServerConnection,
    stream: TcpStream,
}

impl Secure {
    /// Makes the handshake, to its end on both sides.
    pub fn accept(stream: TcpStream, config: &Arc<ServerConfig>) -> io::Result<Self> {
        Self::accept_saying(stream, config, &[])
    }

    /// The same; this comes in one write with the server's Finished, where the configuration allows data
    /// before the client's.
    pub fn accept_saying(
        mut stream: TcpStream,
        config: &Arc<ServerConfig>,
        first: &[u8],
    ) -> io::Result<Self> {
        let mut connection = ServerConnection::new(config.clone()).map_err(io::Error::other)?;
        connection.set_buffer_limit(None);
        connection.writer().write_all(first)?;
        let mut processed = Ok(());
        loop {
            let mut flight = Vec::new();
            while connection.wants_write() {
                connection.write_tls(&mut flight)?;
            }
            // An alert that says why too.
            stream.write_all(&flight)?;
            processed.map_err(io::Error::other)?;
            if !connection.is_handshaking() {
                return Ok(Self { connection, stream });
            }
            if connection.read_tls(&mut stream)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            processed = connection.process_new_packets().map(drop);
        }
    }

    /// The name that the client asked for (SNI).
    pub fn server_name(&self) -> Option<&str> {
        self.connection.server_name()
    }

    /// Whether it resumed a session.
    pub fn handshake_kind(&self) -> Option<HandshakeKind> {
        self.connection.handshake_kind()
    }

    /// Sends a KeyUpdate with what is sent next, and changes the key.
    pub fn update_key(&mut self) -> io::Result<()> {
        self.connection.refresh_traffic_keys().map_err(io::Error::other)
    }

    /// Takes the keys out, to seal records by hand.
    pub fn craft(self) -> io::Result<Craft> {
        let secrets = self.connection.dangerous_extract_secrets().map_err(io::Error::other)?;
        Craft::new(secrets.tx, self.stream)
    }
}

impl Read for Secure {
    fn read(&mut self, piece: &mut [u8]) -> io::Result<usize> {
        Session::read(self, piece)
    }
}

impl Write for Secure {
    fn write(&mut self, content: &[u8]) -> io::Result<usize> {
        self.send(content).map(|()| content.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Session for Secure {
    fn read(&mut self, piece: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.connection.reader().read(piece) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.connection.read_tls(&mut self.stream)?;
                    self.connection.process_new_packets().map_err(io::Error::other)?;
                }
                read => return read,
            }
        }
    }

    fn records(&mut self, content: &[u8]) -> io::Result<Vec<Vec<u8>>> {
        self.connection.writer().write_all(content)?;
        let mut sealed = Vec::new();
        while self.connection.wants_write() {
            self.connection.write_tls(&mut sealed)?;
        }
        Ok(split(&sealed))
    }

    fn close_notify(&mut self) -> io::Result<Vec<u8>> {
        self.connection.send_close_notify();
        Ok(self.records(&[])?.concat())
    }

    fn stream(&mut self) -> &mut TcpStream {
        &mut self.stream
    }
}
