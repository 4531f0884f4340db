//! rustls, with the cryptography of ring or of AWS-LC.

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::sync::Arc;

use rustls::crypto::{CryptoProvider, aws_lc_rs, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{
    ClientHello, NoClientAuth, NoServerSessionStorage, ProducesTickets, ResolvesServerCert,
    ServerSessionMemoryCache, WebPkiClientVerifier,
};
use rustls::sign::CertifiedKey;
use rustls::{
    InconsistentKeys, RootCertStore, ServerConfig, ServerConnection, SupportedProtocolVersion,
    version,
};
use tls::{AskClient, Identity, Stack, Version};

use super::offered::client_authorities;
use super::session::{Handshake, Session, TlsContext};
use crate::error::ServerError;
use crate::settings::Settings;
use crate::wire::Wire;

/// Sessions of TLS 1.2 that are kept, as many as OpenSSL keeps by default.
const SESSIONS: usize = 20 << 10;

/// What a record's header takes of rustls's `max_fragment_size`.
const RECORD_HEADER: usize = 5;

/// The plaintext that is encrypted at once. What rustls writes is copied to the wire; with so little
/// of it, it is still in the cache then, and its memory is used again.
const PIECE: usize = 16 << 10;

/// A server's connection, and the socket under it.
pub(crate) struct RustlsSession {
    connection: ServerConnection,
    wire: Wire,
}

impl TlsContext for Arc<ServerConfig> {
    type Session = RustlsSession;

    fn accept(&self, wire: Wire) -> io::Result<RustlsSession> {
        let mut connection = ServerConnection::new(Self::clone(self)).map_err(io::Error::other)?;
        // The wire takes every record.
        connection.set_buffer_limit(None);
        Ok(RustlsSession { connection, wire })
    }
}

impl Session for RustlsSession {
    fn wire(&self) -> &Wire {
        &self.wire
    }

    fn wire_mut(&mut self) -> &mut Wire {
        &mut self.wire
    }

    fn handshake(&mut self) -> io::Result<Handshake> {
        while self.connection.is_handshaking() {
            match self.receive() {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return Ok(Handshake::Unready);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(Handshake::Complete)
    }

    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.connection.reader().read(room) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(0),
                outcome => return outcome,
            }
            self.receive()?;
        }
    }

    fn is_http2(&self) -> bool {
        self.connection.alpn_protocol() == Some(http2::ALPN)
    }

    fn write(&mut self, plaintext: &[u8]) -> io::Result<usize> {
        let piece = &plaintext[..plaintext.len().min(PIECE)];
        let count = self.connection.writer().write(piece)?;
        self.flush()?;
        Ok(count)
    }

    fn close(&mut self) {
        self.connection.send_close_notify();
        // Into memory, which does not fail.
        let _ = self.flush();
    }

    /// rustls forgets no session of a connection that was cut off.
    fn abandon(&mut self) {}
}

impl RustlsSession {
    /// Receives once, and answers what is to be answered. The answer to what is wrong is an alert.
    fn receive(&mut self) -> io::Result<usize> {
        let count = self.connection.read_tls(&mut self.wire)?;
        let outcome = self.connection.process_new_packets();
        self.flush()?;
        outcome.map_err(io::Error::other)?;
        Ok(count)
    }

    /// Moves what rustls has written to the wire.
    fn flush(&mut self) -> io::Result<()> {
        while self.connection.wants_write() {
            self.connection.write_tls(&mut self.wire)?;
        }
        Ok(())
    }
}

/// A configuration that offers exactly what the settings name.
pub(super) fn build(
    settings: &Settings,
    versions: &[Version],
    identity: &Identity,
) -> Result<Arc<ServerConfig>, ServerError> {
    let refused = |source| ServerError::Rustls { library: settings.library, source };
    let versions: Vec<_> = versions.iter().copied().map(version_of).collect();
    let provider = provider(settings);
    let key = PrivateKeyDer::from_pem_slice(&identity.key_pem).map_err(|_| ServerError::KeyKind)?;
    let key = provider.key_provider.load_private_key(key).map_err(refused)?;
    let certified = |pem: &[u8]| {
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
        let certified = CertifiedKey::new(chain.map_err(|_| ServerError::KeyKind)?, key.clone());
        match certified.keys_match() {
            Ok(()) | Err(rustls::Error::InconsistentKeys(InconsistentKeys::Unknown)) => {
                Ok(Arc::new(certified))
            }
            Err(source) => Err(refused(source)),
        }
    };
    let of_name = |(name, pem): (String, Vec<u8>)| Ok((name, certified(&pem)?));
    let named: Result<_, ServerError> =
        settings.named_certificates()?.into_iter().map(of_name).collect();
    let by_name = ByName { usual: certified(&identity.certificate_pem)?, named: named? };
    let provider = Arc::new(provider);
    let clients = clients(settings, &provider)?;
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&versions)
        .map_err(refused)?
        .with_client_cert_verifier(clients)
        .with_cert_resolver(Arc::new(by_name));
    config.ignore_client_order = true;
    config.alpn_protocols = vec![http2::ALPN.to_vec(), b"http/1.1".to_vec()];
    config.max_fragment_size = Some(settings.record_size.get() + RECORD_HEADER);
    config.session_storage = match settings.session_cache {
        true => ServerSessionMemoryCache::new(SESSIONS),
        false => Arc::new(NoServerSessionStorage {}),
    };
    match settings.tickets {
        true => config.ticketer = ticketer(settings.library).map_err(refused)?,
        // Otherwise those of TLS 1.3 would name a session in the cache.
        false => config.send_tls13_tickets = 0,
    }
    Ok(Arc::new(config))
}

/// What asks clients for a certificate that these authorities have issued.
fn clients(
    settings: &Settings,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ClientCertVerifier>, ServerError> {
    if settings.ask_client == AskClient::None {
        return Ok(Arc::new(NoClientAuth));
    }
    let refused = |why: String| ServerError::ClientAuthorities {
        path: settings.client_authorities.clone().unwrap_or_default(),
        why,
    };
    let mut roots = RootCertStore::empty();
    for authority in client_authorities(settings)? {
        let der = authority.to_der().map_err(|error| refused(error.to_string()))?;
        roots.add(der.into()).map_err(|error| refused(error.to_string()))?;
    }
    let verifier =
        WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider));
    let verifier = match settings.ask_client {
        AskClient::Require => verifier,
        AskClient::None | AskClient::Ask => verifier.allow_unauthenticated(),
    };
    verifier.build().map_err(|error| refused(error.to_string()))
}

/// The certificate of the name that a client asks for, or else the server's usual one.
#[derive(Debug)]
struct ByName {
    usual: Arc<CertifiedKey>,
    named: HashMap<String, Arc<CertifiedKey>>,
}

impl ResolvesServerCert for ByName {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        // rustls gives it in lower case.
        let named = hello.server_name().and_then(|name| self.named.get(name));
        Some(named.unwrap_or(&self.usual).clone())
    }
}

fn version_of(version: Version) -> &'static SupportedProtocolVersion {
    match version {
        Version::Tls12 => &version::TLS12,
        Version::Tls13 => &version::TLS13,
    }
}

/// The cryptography, with the suites and groups of the settings in their order.
fn provider(settings: &Settings) -> CryptoProvider {
    let mut provider = match settings.library {
        Stack::RustlsAwsLc => CryptoProvider {
            kx_groups: aws_lc_rs::ALL_KX_GROUPS.to_vec(),
            ..aws_lc_rs::default_provider()
        },
        _ => ring::default_provider(),
    };
    if !settings.suites.is_empty() {
        let all = std::mem::take(&mut provider.cipher_suites);
        let theirs = |code_point| all.iter().find(|suite| u16::from(suite.suite()) == code_point);
        let wanted = settings.suites.iter().filter_map(|suite| theirs(suite.code_point));
        provider.cipher_suites = wanted.copied().collect();
    }
    if !settings.groups.is_empty() {
        let all = std::mem::take(&mut provider.kx_groups);
        let theirs = |code_point| all.iter().find(|group| u16::from(group.name()) == code_point);
        let wanted = settings.groups.iter().filter_map(|group| theirs(group.code_point()));
        provider.kx_groups = wanted.copied().collect();
    }
    provider
}

fn ticketer(library: Stack) -> Result<Arc<dyn ProducesTickets>, rustls::Error> {
    match library {
        Stack::RustlsAwsLc => aws_lc_rs::Ticketer::new(),
        _ => ring::Ticketer::new(),
    }
}
