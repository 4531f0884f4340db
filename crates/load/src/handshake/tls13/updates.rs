//! New keys on an established connection (RFC 8446, sections 4.6.3 and 7.2).

use ::tls::Suite;

use super::schedule::Secret;
use crate::failure::Failure;
use crate::handshake::{PostHandshake, Side};
use crate::record::Protection;

/// The secrets for application data of both sides.
pub(super) struct Updates {
    pub(super) suite: &'static Suite,
    pub(super) client: Secret,
    pub(super) server: Secret,
}

impl PostHandshake for Updates {
    fn take_ticket(&mut self, _: &[u8]) -> Result<(), Failure> {
        // This client never resumes.
        Ok(())
    }

    fn next_protection(&mut self, side: Side) -> Option<Protection> {
        let secret = match side {
            Side::Client => &mut self.client,
            Side::Server => &mut self.server,
        };
        *secret = secret.next();
        secret.protection(self.suite)
    }
}
