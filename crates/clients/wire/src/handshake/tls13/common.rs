//! What is the same in all handshakes of a client.

use std::sync::Arc;

use tls::{Group, Suite};

use super::hello::Hello;
use super::schedule::Beginning;
use crate::handshake::certificates::ServerCertificates;
use crate::handshake::client_certificate::ClientCertificate;
use crate::handshake::refusal::Refusal;

/// See the module.
pub(super) struct Common {
    pub(super) hello: Hello,
    pub(super) suites: Vec<(&'static Suite, Beginning)>,
    pub(super) groups: Vec<Group>,
    pub(super) schemes: Vec<u16>,
    pub(super) server: ServerCertificates,
    pub(super) client: Option<Arc<ClientCertificate>>,
    pub(super) follows_key_updates: bool,
    /// The only application protocol that is offered.
    pub(super) protocol: &'static [u8],
}

/// Cannot happen: the libraries accept all lengths used here.
pub(super) fn no_keys() -> Refusal {
    Refusal::internal("keys that could not be derived")
}
