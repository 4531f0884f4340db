//! What is the same in all handshakes of a client.

use std::sync::Arc;

use rustls::crypto::SupportedKxGroup;
use tls::{Group, Suite};

use super::hello::Sessions;
use super::key_exchange::StaticRsa;
use super::sessions::KeptSession;
use crate::handshake::certificates::ServerCertificates;
use crate::handshake::client_certificate::ClientCertificate;
use crate::handshake::numbers::extension;

/// See the module.
pub(super) struct Common {
    /// The extensions that ClientHellos offer, by type, without session_ticket.
    pub(super) offered: Vec<u16>,
    /// The signature schemes that they offer.
    pub(super) schemes: Vec<u16>,
    /// The only application protocol that is offered.
    pub(super) protocol: &'static [u8],
    pub(super) suites: Vec<&'static Suite>,
    pub(super) groups: Vec<(Group, &'static dyn SupportedKxGroup)>,
    pub(super) server: ServerCertificates,
    pub(super) client: Option<Arc<ClientCertificate>>,
    pub(super) static_rsa: StaticRsa,
    pub(super) session: KeptSession,
}

impl Common {
    /// Whether a server may answer with an extension of this type.
    pub(super) fn offers(&self, kind: u16, sessions: Sessions<'_>) -> bool {
        match kind {
            extension::SESSION_TICKET => !matches!(sessions, Sessions::Unwanted),
            kind => self.offered.contains(&kind),
        }
    }
}
