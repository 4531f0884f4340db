//! rustls, with the cryptography of `ring` or of AWS-LC: buffered connections over vectors of bytes.

use std::io::{Read, Write};
use std::sync::{Arc, Mutex, PoisonError};

use rustls::client::Tls13ClientSessionValue;
use rustls::client::{ClientSessionStore, Resumption, Tls12ClientSessionValue};
use rustls::crypto::{CryptoProvider, aws_lc_rs, ring};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName};
use rustls::server::{NoServerSessionStorage, ProducesTickets};
use rustls::{
    ClientConfig, ClientConnection, Connection, HandshakeKind, NamedGroup, RootCertStore,
    ServerConfig, ServerConnection, SupportedProtocolVersion,
};
use tls::{Group, Suite, Version};

use crate::algorithm::{Algorithm, Side};
use crate::libraries::library::{About, Library};
use crate::material::Material;
use crate::routine::{Failed, Routine, Unavailable};
use crate::stack::{
    Configuration, ConnectionSpec, Endpoint, Identity, Kind, NAME, Negotiated, TlsStack,
};

/// rustls with one provider of cryptography.
pub(crate) struct Rustls {
    id: &'static str,
    title: &'static str,
    /// Whose instructions its speed depends on.
    origin: &'static str,
    provider: fn() -> CryptoProvider,
    ticketer: fn() -> Result<Arc<dyn ProducesTickets>, rustls::Error>,
}

impl Rustls {
    pub(crate) fn with_ring() -> Self {
        Self {
            id: "rustls-ring",
            title: concat!("rustls ", env!("VERSION_OF_RUSTLS"), " with ring"),
            origin: "ring",
            provider: ring::default_provider,
            ticketer: ring::Ticketer::new,
        }
    }

    pub(crate) fn with_aws_lc() -> Self {
        Self {
            id: "rustls-aws-lc",
            title: concat!("rustls ", env!("VERSION_OF_RUSTLS"), " with AWS-LC"),
            origin: "aws-lc",
            provider: aws_lc_rs::default_provider,
            ticketer: aws_lc_rs::Ticketer::new,
        }
    }
}

impl Library for Rustls {
    fn about(&self) -> About<'_> {
        About { id: self.id, title: self.title, origin: self.origin }
    }

    fn prepare(&self, _: Algorithm, _: &Material) -> Result<Routine, Unavailable> {
        Err(Unavailable::because("rustls is measured by records and handshakes"))
    }

    fn stack(&self) -> Result<&dyn TlsStack, Unavailable> {
        Ok(self)
    }
}

impl TlsStack for Rustls {
    fn configure(
        &self,
        side: Side,
        wanted: ConnectionSpec,
        identity: &Identity,
    ) -> Result<Box<dyn Configuration>, Unavailable> {
        let provider = Arc::new(only(wanted, (self.provider)())?);
        let config = match side {
            Side::Client => client(provider, wanted, identity),
            Side::Server => server(provider, wanted, identity, self.ticketer),
        };
        Ok(Box::new(config.map_err(refused)?))
    }
}

fn refused(error: rustls::Error) -> Unavailable {
    Unavailable::because(format_args!("rustls refuses it: {error}"))
}

/// The provider with one suite and one group.
fn only(
    wanted: ConnectionSpec,
    mut provider: CryptoProvider,
) -> Result<CryptoProvider, Unavailable> {
    let suite = wanted.suite;
    provider.cipher_suites.retain(|own| u16::from(own.suite()) == suite.code_point);
    let group = wanted.group.code_point();
    provider.kx_groups.retain(|own| u16::from(own.name()) == group);
    match (provider.cipher_suites.is_empty(), provider.kx_groups.is_empty()) {
        (false, false) => Ok(provider),
        (true, _) => Err(Unavailable::because(format_args!("rustls has no {suite}"))),
        (_, true) => {
            Err(Unavailable::because(format_args!("rustls has no {}", wanted.group.name())))
        }
    }
}

static TLS_1_2: &[&SupportedProtocolVersion] = &[&rustls::version::TLS12];
static TLS_1_3: &[&SupportedProtocolVersion] = &[&rustls::version::TLS13];

fn versions(wanted: ConnectionSpec) -> &'static [&'static SupportedProtocolVersion] {
    match wanted.suite.version() {
        Version::Tls12 => TLS_1_2,
        Version::Tls13 => TLS_1_3,
    }
}

fn client(
    provider: Arc<CryptoProvider>,
    wanted: ConnectionSpec,
    identity: &Identity,
) -> Result<Config, rustls::Error> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from(identity.root.clone()))?;
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(versions(wanted))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let tickets = Arc::new(Tickets::default());
    config.resumption = match wanted.resumes {
        true => Resumption::store(Arc::clone(&tickets) as Arc<dyn ClientSessionStore>),
        false => Resumption::disabled(),
    };
    let name = ServerName::try_from(NAME)
        .map_err(|_| rustls::Error::General("the name of the server is none".to_owned()))?;
    Ok(Config::Client { config: Arc::new(config), name, tickets })
}

fn server(
    provider: Arc<CryptoProvider>,
    wanted: ConnectionSpec,
    identity: &Identity,
    ticketer: fn() -> Result<Arc<dyn ProducesTickets>, rustls::Error>,
) -> Result<Config, rustls::Error> {
    let chain = vec![CertificateDer::from(identity.certificate.clone())];
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(identity.key.clone()));
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(versions(wanted))?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = usize::from(wanted.resumes);
    if wanted.resumes {
        config.ticketer = ticketer()?;
    }
    Ok(Config::Server(Arc::new(config)))
}

enum Config {
    Client { config: Arc<ClientConfig>, name: ServerName<'static>, tickets: Arc<Tickets> },
    Server(Arc<ServerConfig>),
}

impl Configuration for Config {
    fn connect(&self) -> Result<Box<dyn Endpoint>, Failed> {
        let (connection, tickets) = match self {
            Self::Client { config, name, tickets } => {
                let connection = ClientConnection::new(Arc::clone(config), name.clone());
                (connection.map_err(failed)?.into(), Some(Arc::clone(tickets)))
            }
            Self::Server(config) => {
                (ServerConnection::new(Arc::clone(config)).map_err(failed)?.into(), None)
            }
        };
        Ok(Box::new(End { connection, tickets, sealed: Vec::new(), given: Vec::new(), read: 0 }))
    }
}

fn failed(error: rustls::Error) -> Failed {
    Failed::because(format_args!("rustls says: {error}"))
}

struct End {
    connection: Connection,
    /// Where a client's tickets are.
    tickets: Option<Arc<Tickets>>,
    sealed: Vec<u8>,
    given: Vec<u8>,
    /// What of `given` was read.
    read: usize,
}

impl Endpoint for End {
    fn handshake(&mut self, mut from_peer: &[u8], to_peer: &mut Vec<u8>) -> Result<bool, Failed> {
        while !from_peer.is_empty() {
            self.connection.read_tls(&mut from_peer).map_err(|_| Failed::of("read_tls"))?;
            self.connection.process_new_packets().map_err(failed)?;
        }
        while self.connection.wants_write() {
            self.connection.write_tls(to_peer).map_err(|_| Failed::of("write_tls"))?;
        }
        Ok(!self.connection.is_handshaking())
    }

    fn negotiated(&self) -> Result<Negotiated, Failed> {
        let unknown = || Failed::because("rustls does not report what it negotiated");
        let suite = self.connection.negotiated_cipher_suite().ok_or_else(unknown)?.suite();
        let group = self.connection.negotiated_key_exchange_group().ok_or_else(unknown)?.name();
        Ok(Negotiated {
            suite: Suite::by_code_point(suite.into()).ok_or_else(unknown)?,
            group: group_of(group).ok_or_else(unknown)?,
            kind: match self.connection.handshake_kind().ok_or_else(unknown)? {
                HandshakeKind::Full => Kind::Full,
                HandshakeKind::Resumed => Kind::Resumed,
                _ => return Err(Failed::because("its handshake took a HelloRetryRequest")),
            },
        })
    }

    /// rustls has given it to the store.
    fn keep_session(&mut self) -> Result<(), Failed> {
        match self.tickets.as_ref().is_some_and(|tickets| tickets.has_some()) {
            true => Ok(()),
            false => Err(Failed::because("its server gave no ticket")),
        }
    }

    fn seal(&mut self, message: &[u8]) -> Result<(), Failed> {
        self.connection.writer().write_all(message).map_err(|_| Failed::of("write_all"))?;
        while self.connection.wants_write() {
            self.connection.write_tls(&mut self.sealed).map_err(|_| Failed::of("write_tls"))?;
        }
        Ok(())
    }

    fn take_records(&mut self, to_peer: &mut Vec<u8>) -> Result<(), Failed> {
        to_peer.append(&mut self.sealed);
        Ok(())
    }

    fn give_records(&mut self, from_peer: &[u8]) -> Result<(), Failed> {
        self.given.drain(..self.read);
        self.read = 0;
        self.given.extend_from_slice(from_peer);
        Ok(())
    }

    fn open(&mut self, message: &mut [u8]) -> Result<usize, Failed> {
        loop {
            match self.connection.reader().read(message) {
                Ok(bytes) if bytes > 0 => return Ok(bytes),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                _ => return Err(Failed::of("read")),
            }
            let mut rest = &self.given[self.read..];
            if rest.is_empty() {
                return Err(Failed::because("rustls wants more than one record for a message"));
            }
            self.read += self.connection.read_tls(&mut rest).map_err(|_| Failed::of("read_tls"))?;
            self.connection.process_new_packets().map_err(failed)?;
        }
    }
}

fn group_of(name: NamedGroup) -> Option<Group> {
    Group::ALL.into_iter().find(|group| group.code_point() == u16::from(name))
}

/// A client's tickets, each for one use (RFC 8446, appendix C.4).
#[derive(Default)]
struct Tickets(Mutex<Vec<Tls13ClientSessionValue>>);

impl Tickets {
    fn has_some(&self) -> bool {
        !self.0.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }
}

impl std::fmt::Debug for Tickets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tickets").finish_non_exhaustive()
    }
}

/// Only sessions of TLS 1.3 are resumed here; there is one server.
impl ClientSessionStore for Tickets {
    fn set_kx_hint(&self, _: ServerName<'static>, _: NamedGroup) {}

    fn kx_hint(&self, _: &ServerName<'_>) -> Option<NamedGroup> {
        None
    }

    fn set_tls12_session(&self, _: ServerName<'static>, _: Tls12ClientSessionValue) {}

    fn tls12_session(&self, _: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        None
    }

    fn remove_tls12_session(&self, _: &ServerName<'static>) {}

    fn insert_tls13_ticket(&self, _: ServerName<'static>, ticket: Tls13ClientSessionValue) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(ticket);
    }

    fn take_tls13_ticket(&self, _: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }
}
