//! What a client offers to a server, and how it takes part.

use std::path::PathBuf;

use tls::{Group, KeyExchange, Mac, Suite, Version};

/// An offer. A server can choose nothing else.
#[derive(Debug, Clone)]
pub struct Offer {
    /// The server's name or address.
    pub host: String,
    pub trust: Trust,
    /// The only version; `None` for TLS 1.2 and 1.3.
    pub version: Option<Version>,
    /// The only suite.
    pub suite: Option<&'static Suite>,
    /// The only group.
    pub group: Option<Group>,
    /// Whether the extension of RFC 7366 is offered.
    pub encrypt_then_mac: bool,
    /// Whether the client's part of the key exchange costs it nothing; see [`can_fix_key_exchange`].
    pub fixed_key_exchange: bool,
    /// How many of a hundred handshakes resume a session.
    pub resumed_percent: u8,
    /// Whether KeyUpdates are followed, so that secrets outlive the handshake.
    pub follows_key_updates: bool,
    /// The only application protocol (RFC 7301); `None` offers none, which servers take for HTTP/1.1.
    pub protocol: Option<&'static [u8]>,
}

/// Whose certificates are accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trust {
    /// Any certificate; signatures are still sampled.
    Anyone,
    /// The system's certificate authorities.
    System,
    /// The certificates in this PEM file.
    File(PathBuf),
}

/// Says of each handshake whether its signature is verified.
pub type Sampler = Box<dyn FnMut() -> bool + Send>;

/// An offer that cannot be made; one line that says what and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct OfferError(pub(super) String);

/// What does the handshakes, apart from those that are this crate's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Library {
    /// All of TLS 1.3, and the ECDHE AEAD suites of TLS 1.2.
    Rustls,
    /// CBC and static RSA.
    OpenSsl,
}

impl Library {
    fn of(suite: Option<&Suite>) -> Self {
        match suite {
            Some(suite) if suite.mac != Mac::Aead || suite.key_exchange == KeyExchange::Rsa => {
                Self::OpenSsl
            }
            _ => Self::Rustls,
        }
    }
}

/// Whether the key exchange can be fixed where this is the only suite: not that of the ECDHE suites
/// that go through OpenSSL.
#[must_use]
pub fn can_fix_key_exchange(suite: Option<&Suite>) -> bool {
    let is_static_rsa = suite.is_some_and(|suite| suite.key_exchange == KeyExchange::Rsa);
    Library::of(suite) == Library::Rustls || is_static_rsa
}

impl Offer {
    /// Offers all versions, suites and groups of rustls to this server, in full handshakes whose key
    /// exchange is fixed.
    #[must_use]
    pub fn to(host: &str, trust: Trust) -> Self {
        Self {
            host: host.to_owned(),
            trust,
            version: None,
            suite: None,
            group: None,
            encrypt_then_mac: false,
            fixed_key_exchange: true,
            resumed_percent: 0,
            follows_key_updates: false,
            protocol: None,
        }
    }

    pub(super) fn library(&self) -> Library {
        Library::of(self.suite)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_suite_has_its_library_and_may_have_a_fixed_key_exchange() {
        for (name, library, can_be_fixed) in [
            ("TLS_AES_128_GCM_SHA256", Library::Rustls, true),
            ("ECDHE-RSA-AES128-GCM-SHA256", Library::Rustls, true),
            ("ECDHE-RSA-AES128-SHA", Library::OpenSsl, false),
            ("AES128-GCM-SHA256", Library::OpenSsl, true),
            ("AES128-SHA", Library::OpenSsl, true),
        ] {
            let suite = Suite::parse(name).ok();
            assert_eq!((Library::of(suite), can_fix_key_exchange(suite)), (library, can_be_fixed));
        }
        assert_eq!((Library::of(None), can_fix_key_exchange(None)), (Library::Rustls, true));
    }
}
