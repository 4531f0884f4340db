//! What is the same in all handshakes of a client.

use std::sync::Arc;

use rustls::crypto::SupportedKxGroup;
use tls::{Group, Suite};

use super::hello::Hello;
use super::key_exchange::StaticRsa;
use super::sessions::KeptSession;
use crate::handshake::certificates::ServerCertificates;
use crate::handshake::client_certificate::ClientCertificate;

/// See the module.
pub(super) struct Common {
    pub(super) hello: Hello,
    /// The only application protocol that is offered.
    pub(super) protocol: &'static [u8],
    pub(super) suites: Vec<&'static Suite>,
    pub(super) groups: Vec<(Group, &'static dyn SupportedKxGroup)>,
    pub(super) server: ServerCertificates,
    pub(super) client: Option<Arc<ClientCertificate>>,
    pub(super) static_rsa: StaticRsa,
    pub(super) session: KeptSession,
}
