//! What a library does of TLS: connections in memory, without sockets.

mod certificates;

use std::fmt;

use tls::{Group, Suite};

use crate::algorithm::{Algorithm, Handshake, Protection, Side};
use crate::routine::{Failed, Unavailable};
pub use certificates::Identity;
pub(crate) use certificates::NAME;

/// What a library does of TLS.
pub trait TlsStack {
    /// Reads certificates and settings, which a program does once.
    fn configure(
        &self,
        side: Side,
        wanted: ConnectionSpec,
        identity: &Identity,
    ) -> Result<Box<dyn Configuration>, Unavailable>;
}

/// One side of connections that are alike.
pub trait Configuration {
    /// The state of a new connection. A client resumes the last session that it kept, if
    /// [`ConnectionSpec::resumes`].
    fn connect(&self) -> Result<Box<dyn Endpoint>, Failed>;
}

pub trait Endpoint {
    /// Continues the handshake with what the other side sent, and appends what is for the other
    /// side. Says whether its own part is over.
    fn handshake(&mut self, from_peer: &[u8], to_peer: &mut Vec<u8>) -> Result<bool, Failed>;

    /// What this side says that it negotiated.
    fn negotiated(&self) -> Result<Negotiated, Failed>;

    /// Of a client: keeps the session, for connections that are made later.
    fn keep_session(&mut self) -> Result<(), Failed>;

    /// Seals a message, which fits one record.
    fn seal(&mut self, message: &[u8]) -> Result<(), Failed>;

    /// Appends the records that were sealed.
    fn take_records(&mut self, to_peer: &mut Vec<u8>) -> Result<(), Failed>;

    /// Has records ready for [`Endpoint::open`].
    fn give_records(&mut self, from_peer: &[u8]) -> Result<(), Failed>;

    /// Opens one record, and says how many bytes its message has.
    fn open(&mut self, message: &mut [u8]) -> Result<usize, Failed>;
}

/// What a connection is to be like. Both sides offer nothing else.
#[derive(Debug, Clone, Copy)]
pub struct ConnectionSpec {
    pub suite: &'static Suite,
    pub group: Group,
    /// Whether sessions are kept, and the server gives one ticket per handshake.
    pub resumes: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Full,
    Resumed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Negotiated {
    pub suite: &'static Suite,
    pub group: Group,
    pub kind: Kind,
}

impl ConnectionSpec {
    /// For an algorithm that takes a connection.
    pub(crate) fn of(algorithm: Algorithm) -> Result<Self, Unavailable> {
        let code_point = match algorithm {
            Algorithm::Record(Protection::Tls13Aes256Gcm, _) => 0x1302,
            Algorithm::Record(Protection::Tls13ChaCha20Poly1305, _) => 0x1303,
            Algorithm::Record(Protection::Tls12Aes128Gcm, _) => 0xc02f,
            Algorithm::Record(Protection::Tls12Aes128CbcSha, _) => 0xc013,
            _ => 0x1301,
        };
        let suite = Suite::by_code_point(code_point);
        let unknown = || Unavailable::because(format_args!("toll has no suite {code_point:#06x}"));
        Ok(Self {
            suite: suite.ok_or_else(unknown)?,
            group: match algorithm {
                Algorithm::Handshake(Handshake::Full(_, group), _) => group,
                _ => Group::X25519,
            },
            resumes: matches!(algorithm, Algorithm::Handshake(Handshake::Resumed, _)),
        })
    }

    /// What should come about in a handshake of that kind.
    pub(crate) fn with(self, kind: Kind) -> Negotiated {
        Negotiated { suite: self.suite, group: self.group, kind }
    }
}

impl fmt::Display for Negotiated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            Kind::Full => "full",
            Kind::Resumed => "resumed",
        };
        write!(f, "{kind} with {} and {}", self.suite, self.group.name())
    }
}
